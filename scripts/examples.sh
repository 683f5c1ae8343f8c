#!/usr/bin/env bash
# Runs every example of the root package in release mode, with tracing and one without; each checks its
# own numbers and fails if they are wrong.
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
run pipeline -- ranks
run rayon_conv
run opt_out
run opt_out --no-default-features
