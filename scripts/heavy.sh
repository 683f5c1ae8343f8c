#!/usr/bin/env bash
# Tests and runs what needs a heavy library: the integrations, and the examples that are packages of
# their own. One package at a time, so that each has the features that it asks for and no others.
set -euo pipefail
cd "$(dirname "$0")/.."

for library in elements nalgebra faer candle burn; do
    echo "== integration-$library"
    cargo clippy --quiet --package "integration-$library" --all-targets -- -D warnings
    cargo test --quiet --package "integration-$library"
done
for example in candle_model burn_model; do
    echo "== $example"
    cargo clippy --quiet --package "$example" --all-targets -- -D warnings
    cargo test --quiet --package "$example"
    cargo run --quiet --release --package "$example" >/dev/null
done
