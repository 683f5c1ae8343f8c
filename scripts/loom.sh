#!/usr/bin/env bash
# Every interleaving of one thread writing a chunk and another one reading it.
set -euo pipefail
cd "$(dirname "$0")/.."
RUSTFLAGS='--cfg loom' CARGO_TARGET_DIR=target/loom \
    cargo test -p trace-runtime --release --lib loom_tests -- --nocapture
