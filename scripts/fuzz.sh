#!/usr/bin/env bash
# Runs each fuzz target for a bounded time: the reader of any trace, our formats to every export, damaged recordings, and the
# recorder driven by random sequences of ops. Prints the executions of each. Needs a nightly toolchain, a C++ compiler
# and cargo-fuzz, which it installs; exit code 77 without them.
#
#   scripts/fuzz.sh [SECONDS]    for each target; 30 by default
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-30}
target=${CARGO_TARGET_DIR:-$PWD/target}

if ! cargo +nightly --version >/dev/null 2>&1; then
    echo 'skipped: no nightly toolchain; `rustup toolchain install nightly`'
    exit 77
fi
if ! command -v c++ >/dev/null; then
    echo 'skipped: libfuzzer needs a C++ compiler'
    exit 77
fi
export PATH=$target/tools/cargo-fuzz/bin:$PATH
if ! cargo fuzz --version >/dev/null 2>&1 &&
    ! cargo install --quiet --locked --root "$target/tools/cargo-fuzz" cargo-fuzz; then
    echo 'skipped: cargo-fuzz cannot be installed'
    exit 77
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
for name in read exports optrace recorder; do
    mkdir -p "$work/$name"
    # Random bytes alone are rarely a trace.
    case $name in
        optrace) (cd fuzz && CARGO_TARGET_DIR=$target/fuzz cargo run --quiet --example recordings -- "$work/$name") ;;
        read | exports) cp tests/data/*.json "$work/$name" ;;
        recorder)
            # A few sequences with every kind of op, on the heap and in a file.
            for settings in 0 1 2 241; do
                perl -e "print chr($settings), map { chr } 0 .. 255, reverse 0 .. 255" >"$work/$name/$settings"
            done ;;
    esac
    echo "== $name"
    if cargo +nightly fuzz run --fuzz-dir fuzz --target-dir "$target/fuzz" "$name" "$work/$name" -- \
        -max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 -max_len=32768 -print_final_stats=1 \
        >"$work/log" 2>&1; then
        grep -E 'stat::number_of_executed_units' "$work/log"
        # Edges that were reached.
        grep -oE 'cov: [0-9]+' "$work/log" | tail -1
    else
        failed=1
        echo "FAILED: fuzz/artifacts/$name has the input"
        tail -40 "$work/log"
    fi
done
exit $failed
