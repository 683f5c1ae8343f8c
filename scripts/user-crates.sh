#!/usr/bin/env bash
# Checks the crates in tests/crates with every lint they turn on, with the feature on and off, and runs them.
set -euo pipefail
cd "$(dirname "$0")/../tests/crates"
cargo clippy --quiet --all-targets
cargo clippy --quiet --all-targets --no-default-features
cargo test --quiet
cargo test --quiet --no-default-features
