#!/usr/bin/env bash
# Tests the packages that depend on a library that takes minutes to build: integrations/ and the examples
# that are separate packages. All in one command and one profile, so that each library is built once.
# `scripts/features.sh` checks each feature alone.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=()
for package in integration-{elements,ndarray_0_16,nalgebra,faer,candle,burn} candle_model burn_model; do
    packages+=(--package "$package")
done
step() { printf '== %s (after %d s)\n' "$*" "$SECONDS"; }

step lints
cargo clippy --quiet --release "${packages[@]}" --all-targets -- -D warnings
step tests
cargo test --quiet --release "${packages[@]}"
step 'unit tests of each library'
cargo test --quiet --release "${packages[@]}" --package trace-core --lib tensors::
# Not by `cargo run`, which would select the features of one package and build its library again.
for example in candle_model burn_model; do
    step "$example"
    "${CARGO_TARGET_DIR:-target}/release/$example"
done
step done
