#!/usr/bin/env bash
# Compiles the workspaces that no other script builds: peers/ (measurements), annotate/ (the program of
# published-crates.sh) and fuzz/ (fuzz targets).
# They use the public API, so a change to it must not break them.
set -euo pipefail
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-$PWD/target}

echo '== peers'
(cd peers && CARGO_TARGET_DIR=$target/peers cargo check --quiet --locked --workspace --all-targets)

echo '== annotate'
(cd annotate && CARGO_TARGET_DIR=$target/annotate cargo check --quiet --all-targets)

echo '== fuzz'
# libfuzzer-sys compiles C++.
if ! command -v c++ >/dev/null; then
    echo 'skipped: fuzz/ needs a C++ compiler'
    exit 77
fi
(cd fuzz && CARGO_TARGET_DIR=$target/fuzz cargo check --quiet --all-targets)
