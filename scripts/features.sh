#!/usr/bin/env bash
# Lints trace-core and trace-runtime without features, with each feature alone and with all of them, and tests the
# features of `optrace` that are off by default.
# `scripts/features.sh light` leaves out the libraries that take minutes to build.
set -euo pipefail
cd "$(dirname "$0")/.."

light=(enabled flamegraph html ndarray ndarray-0_16 nalgebra half num-complex)
heavy=(faer candle burn parquet)

features=("${light[@]}")
if [ "${1:-all}" != light ]; then
    features+=("${heavy[@]}")
fi

# In the release profile, for which `scripts/heavy.sh` has built the libraries' build scripts and macros.
check() {
    echo "trace-runtime, features: ${1:-none} (after $SECONDS s)"
    cargo clippy --quiet --release --package trace-runtime --no-default-features --features "$1" -- -D warnings
}

echo "trace-core, features: none, engine, serde"
for feature in "" engine serde; do
    cargo clippy --quiet --release --package trace-core --no-default-features --features "$feature" -- -D warnings
done
check ""
for feature in "${features[@]}"; do
    check "$feature"
done
check "$(IFS=,; echo "${features[*]}")"
if [ "${1:-all}" != light ]; then
    echo "trace-cli, features: parquet"
    cargo test --quiet --release --package trace-cli --features parquet --test convert tables
fi
