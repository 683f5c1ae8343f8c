#!/usr/bin/env bash
# Tests and runs what needs a heavy library: the integrations, and the examples that are packages of
# their own. All packages in one go and in one profile, so that each library is built once; what a
# feature brings by itself is seen by `scripts/features.sh`.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=()
for package in integration-{elements,nalgebra,faer,candle,burn} candle_model burn_model; do
    packages+=(--package "$package")
done
step() { printf '== %s (after %d s)\n' "$*" "$SECONDS"; }

step lints
cargo clippy --quiet --release "${packages[@]}" --all-targets -- -D warnings
step tests
cargo test --quiet --release "${packages[@]}"
step 'what each library says, inside the crate'
cargo test --quiet --release "${packages[@]}" --package trace-runtime --lib tensors::
# `cargo run` would choose the features of one package alone, and build its library again.
for example in candle_model burn_model; do
    step "$example"
    "${CARGO_TARGET_DIR:-target}/release/$example"
done
step done
