#!/usr/bin/env bash
# Builds trace-runtime without any feature, with each feature alone, and with all of them together.
# `scripts/features.sh light` leaves out the libraries that take minutes to build.
set -euo pipefail
cd "$(dirname "$0")/.."

light=(enabled flamegraph ndarray nalgebra half num-complex)
heavy=(faer candle burn parquet)

features=("${light[@]}")
if [ "${1:-all}" != light ]; then
    features+=("${heavy[@]}")
fi

check() {
    echo "trace-runtime, features: ${1:-none}"
    cargo check --quiet --package trace-runtime --no-default-features --features "$1"
}

check ""
for feature in "${features[@]}"; do
    check "$feature"
done
check "$(IFS=,; echo "${features[*]}")"
