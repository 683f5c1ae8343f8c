#!/usr/bin/env bash
# Everything that a change must pass: formatting, lints, tests, docs, and the build with tracing compiled
# out. Needs a Rust toolchain and nothing else. Builds the default members only: `.ci/run` adds the heavy
# libraries (`scripts/heavy.sh`), the examples (`scripts/examples.sh`) and the features (`scripts/features.sh`).
set -euo pipefail
cd "$(dirname "$0")"

step() { printf '\n== %s (after %d s)\n' "$*" $SECONDS; }

step formatting
cargo fmt --all --check

step 'which folder uses which'
scripts/layers.sh

step lints
cargo clippy --all-targets -- -D warnings

step tests
cargo test

step documentation
RUSTDOCFLAGS='-D warnings' cargo doc --no-deps

step 'tracing compiled out'
cargo clippy -p trace-core -p trace-runtime --no-default-features -- -D warnings
cargo clippy -p trace-core --no-default-features -- -D warnings
cargo test -p trace-suite --no-default-features
for crate in trace-core trace-runtime; do
    # In a variable, so that a failure of `cargo tree` fails the check.
    tree=$(cargo tree -p "$crate" --no-default-features -e normal)
    if ! grep -q "^$crate v" <<<"$tree"; then
        printf 'unexpected output of `cargo tree`:\n%s\n' "$tree" >&2
        exit 1
    fi
    if grep -E ' (syn|quote|proc-macro2) v' <<<"$tree"; then
        echo "$crate: without the feature \`enabled\`, syn, quote and proc-macro2 must not be built" >&2
        exit 1
    fi
done
tree=$(cargo tree -p trace-core --no-default-features -e normal --prefix none)
if [ "$(wc -l <<<"$tree")" != 2 ]; then
    printf 'without features, trace-core depends on trace-macros and nothing else:\n%s\n' "$tree" >&2
    exit 1
fi

printf '\nall checks passed in %d s\n' $SECONDS
