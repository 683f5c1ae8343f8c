#!/usr/bin/env bash
# Tests interleavings of threads that write chunks, a thread that moves them out of a ring, and a thread that reads them.
set -euo pipefail
cd "$(dirname "$0")/.."
RUSTFLAGS='--cfg loom' CARGO_TARGET_DIR=target/loom \
    cargo test -p trace-core --release --lib loom_tests -- --nocapture
