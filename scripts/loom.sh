#!/usr/bin/env bash
# Tests every interleaving of a thread that writes a chunk and a thread that reads it.
set -euo pipefail
cd "$(dirname "$0")/.."
RUSTFLAGS='--cfg loom' CARGO_TARGET_DIR=target/loom \
    cargo test -p trace-core --release --lib loom_tests -- --nocapture
