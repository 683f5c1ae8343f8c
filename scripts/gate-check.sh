#!/usr/bin/env bash
# How often `optrace diff` is wrong: false alarms between runs of one binary, with and without load on a core, and
# planted slowdowns that it must find. Prints a table and fails if a rate is worse than promised.
#   scripts/gate-check.sh          about two minutes, with wider limits: few recordings vary more
#   scripts/gate-check.sh full     about half an hour: the rates in the documentation
#   scripts/gate-check.sh rates FOLDER COMPARISONS    the rates of runs that were recorded before
# Also runs the commands of docs/performance-gate.md.
set -euo pipefail
cd "$(dirname "$0")/.."

mode=${1:-short}
case $mode in
    short) runs=12 planted=8 comparisons=40 lenient=lenient ;;
    full) runs=60 planted=30 comparisons=200 lenient= ;;
    rates) cargo run --release -q -p trace-runtime --example gate_rates -- "$2" "$3"; exit ;;
    *) echo "usage: scripts/gate-check.sh [full]" >&2; exit 2 ;;
esac

cargo build --release -q -p trace-suite --example transformer --example train_mlp
cargo build --release -q -p trace-runtime --example gate_rates
cargo build --release -q -p trace-cli
bin=${CARGO_TARGET_DIR:-target}/release
folder=$(mktemp -d)
load=
trap 'test -z "$load" || kill "$load" 2>/dev/null || true; rm -rf "$folder"' EXIT

# record SERIES EXAMPLE NUMBER [PLANT]
record() {
    local file
    file=$(printf '%s/%s.%03d.json' "$folder" "$1" "$3")
    if [ -n "${4:-}" ]; then
        PLANT=$4 OPTRACE=$file "$bin/examples/$2"
    else
        OPTRACE=$file "$bin/examples/$2"
    fi
}

echo "gate-check: recording runs of transformer and train_mlp"
for ((run = 0; run < runs; run++)); do
    record transformer transformer $run
    record train_mlp train_mlp $run
    if ((run < planted)); then
        record 'transformer+10%-in-a-tenth' transformer $run 'matmul[1x1024]=+10%'
        record 'transformer+10%-in-matmul' transformer $run 'matmul=+10%'
        record 'train_mlp+10%-in-a-sixth' train_mlp $run 'matmul[64x128]=+10%'
        record 'train_mlp+10%-in-relu_backward' train_mlp $run 'relu_backward=+10%'
        record 'transformer+seen-four-calls-x10' transformer $run 'gelu[96x1024]=x10'
        record 'transformer+seen-called-twice' transformer $run 'sample=twice'
        record 'transformer+seen-tail' transformer $run 'matmul[1x1024]=tail'
        record 'transformer+seen-added-op' transformer $run added
    fi
done

echo "gate-check: the same with a load on one core"
core=$(($(nproc) - 1))
if command -v taskset >/dev/null; then
    taskset -c "$core" sh -c 'while :; do :; done' &
else
    sh -c 'while :; do :; done' &
fi
load=$!
for ((run = 0; run < runs; run++)); do
    record 'transformer-under-load' transformer $run
    record 'train_mlp-under-load' train_mlp $run
done
kill "$load"
wait "$load" 2>/dev/null || true
load=

echo "gate-check: the commands of docs/performance-gate.md"
"$bin/optrace" baseline -o "$folder/baseline" "$folder"/transformer.00[0-4].json
test "$(wc -c <"$folder/baseline")" -le 200000
"$bin/optrace" diff --before "$folder/baseline" --after "$folder"/transformer.00[5-9].json \
    --fail-over 5% --fail-op-over 10% --format md -o "$folder/comment.md"
test "$(wc -c <"$folder/comment.md")" -le 65536
code=0
"$bin/optrace" compare --runs 5 --fail-over 5% --fail-op-over 10% --format json -o "$folder/result.json" \
    -- "$bin/examples/transformer" -- env 'PLANT=gelu[96x1024]=x10' "$bin/examples/transformer" 2>/dev/null || code=$?
if [ "$code" != 1 ]; then
    echo "gate-check: compare ended with $code for an op that takes ten times as long, not with 1" >&2
    exit 1
fi

rm -f "$folder/baseline" "$folder/comment.md" "$folder/result.json"
"$bin/examples/gate_rates" "$folder" "$comparisons" show $lenient
