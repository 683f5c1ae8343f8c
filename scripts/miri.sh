#!/usr/bin/env bash
# Runs the tests of the futures with `unsafe` code under Miri. Needs a nightly toolchain with the component `miri`;
# exits with 77 without it.
set -euo pipefail
cd "$(dirname "$0")/.."
if ! cargo +nightly miri --version >/dev/null 2>&1; then
    echo 'skipped: no Miri; `rustup component add miri --toolchain nightly`'
    exit 77
fi
cargo +nightly miri test --quiet --package trace-core --lib futures
