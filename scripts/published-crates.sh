#!/usr/bin/env bash
# Puts the attribute on every function of published crates, and compares the crates' own tests plain, annotated
# and annotated while recording. `--short` for the selection that CI runs, or names of crates. Needs the package
# registry; the full list builds for more than an hour on two cores.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo run --quiet --manifest-path annotate/Cargo.toml -- "$PWD/target/published" "$@"
