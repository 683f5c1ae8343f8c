#!/usr/bin/env bash
# Lints and tests the crates in tests/crates, which turn on strict lints, with the feature on and off.
set -euo pipefail
cd "$(dirname "$0")/../tests/crates"
cargo clippy --quiet --all-targets
cargo clippy --quiet --all-targets --no-default-features
cargo test --quiet
cargo test --quiet --no-default-features
# Only trace-core is in the dependency graph, as when a library is built alone.
cargo clippy --quiet --package library
cargo clippy --quiet --package library --no-default-features
cargo clippy --quiet --manifest-path off-inside-on/Cargo.toml --target-dir "${CARGO_TARGET_DIR:-target}"
