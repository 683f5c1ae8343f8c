#!/usr/bin/env bash
# Runs every example of the root package in release mode, and one also with tracing compiled out. Each
# checks its results and fails if they are wrong. The traces that they write must match the graph.
set -euo pipefail
cd "$(dirname "$0")/.."

run() {
    echo "== cargo run --release --example $*"
    cargo run --quiet --release --example "$@" >/dev/null
}

run quickstart
run transformer
run train_mlp
run pipeline
echo '== the written traces'
cargo test --quiet --release --test graph_transformer --test graph_pipeline -- --ignored
run rayon_conv
run opt_out
run serving
run device_memory
run pipeline -- ranks
run opt_out --no-default-features
