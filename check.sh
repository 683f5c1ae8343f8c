#!/usr/bin/env bash
# Everything a change must pass, as CI runs it: formatting, lints, tests, docs, and the build with tracing
# compiled out. Needs a Rust toolchain and nothing else. The default members only: heavy libraries have
# `scripts/heavy.sh`, examples `scripts/examples.sh` and features `scripts/features.sh`.
set -euo pipefail
cd "$(dirname "$0")"

step() { printf '\n== %s (after %d s)\n' "$*" $SECONDS; }

step formatting
cargo fmt --all --check

step lints
cargo clippy --all-targets -- -D warnings

step tests
cargo test

step documentation
RUSTDOCFLAGS='-D warnings' cargo doc --no-deps

step 'tracing compiled out'
cargo clippy -p trace-runtime --no-default-features -- -D warnings
cargo test -p trace-suite --no-default-features
if cargo tree -p trace-runtime --no-default-features -e normal | grep -E ' (syn|quote|proc-macro2) v'; then
    echo 'the build without `enabled` must not compile syn, quote or proc-macro2' >&2
    exit 1
fi

printf '\nall checks passed in %d s\n' $SECONDS
