#!/usr/bin/env bash
# Measures how often `optrace diff` is wrong: false alarms between runs of one binary, with and without load on a core,
# and planted slowdowns that it must find. Prints a table and fails if a rate is worse than documented.
#   scripts/gate-check.sh                about two minutes, with wider limits: few recordings vary more
#   scripts/gate-check.sh full [FOLDER]  the rates in the documentation; ten minutes on two quiet cores. Keeps the
#                                        figures of the runs in FOLDER, if it is given
#   scripts/gate-check.sh rates FOLDER COMPARISONS    the rates of runs that were recorded before
# Also runs the commands of docs/performance-gate.md.
set -euo pipefail
cd "$(dirname "$0")/.."

mode=${1:-short}
case $mode in
    short) runs=12 planted=8 comparisons=40 lenient=lenient ;;
    full) runs=110 planted=40 comparisons=200 lenient= ;;
    rates) cargo run --release -q -p trace-runtime --example gate_rates -- "$2" "$3"; exit ;;
    *) echo "usage: scripts/gate-check.sh [full [FOLDER]]" >&2; exit 2 ;;
esac

cargo build --release -q -p trace-suite --example transformer --example train_mlp
cargo build --release -q -p trace-runtime --example gate_rates
cargo build --release -q -p trace-cli
bin=${CARGO_TARGET_DIR:-target}/release
temporary=$(mktemp -d)
folder=${2:-$temporary}
mkdir -p "$folder"
load=
trap 'test -z "$load" || kill "$load" 2>/dev/null || true; rm -rf "$temporary"' EXIT

# record SERIES EXAMPLE NUMBER [PLANT]
record() {
    PLANT=${4:-_=+10%} OPTRACE=$temporary/run.json "$bin/examples/$2"
    mv "$temporary/run.json" "$(printf '%s/%s.%03d.json' "$folder" "$1" "$3")"
}

# plant SERIES CASE EXAMPLE NUMBER PLANT CONTROL The control is a planted change without effect, of the same length and
# form. The addresses of the program's data depend on the length of its environment and on its allocations, and an op of
# `train_mlp` takes twice as long at some addresses.
plant() {
    record "$1" "$3" "$4" "$6"
    record "$1+$2" "$3" "$4" "$5"
}

# A trace takes megabytes. Its figures, which are all that a comparison needs, take a few kilobytes.
reduce() { "$bin/examples/gate_rates" reduce "$folder"; }

echo "gate-check: recording runs of transformer and train_mlp"
uptime
for ((run = 0; run < runs; run++)); do
    record transformer transformer $run
    record train_mlp train_mlp $run
    if ((run < planted)); then
        plant tenth 10% transformer $run 'matmul[1x1024]=+10%' '_atmul[1x1024]=+10%'
        plant matmul 10% transformer $run 'matmul=+10%' '_atmul=+10%'
        plant sixth 10% train_mlp $run 'matmul[64x128]=+10%' '_atmul[64x128]=+10%'
        plant relu_backward 10% train_mlp $run 'relu_backward=+10%' '_elu_backward=+10%'
        plant four-calls seen-x10 transformer $run 'gelu[96x1024]=x10' '_elu[96x1024]=x10'
        plant sample seen-twice transformer $run 'sample=twice' '_ample=twice'
        plant tail seen-tail transformer $run 'matmul[1x1024]=tail' '_atmul[1x1024]=tail'
        plant nothing seen-added-op transformer $run added '=+10%'
    fi
    if ((run % 10 == 9)); then reduce; fi
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
    if ((run % 10 == 9)); then reduce; fi
done
kill "$load"
wait "$load" 2>/dev/null || true
load=

uptime
rates=0
"$bin/examples/gate_rates" "$folder" "$comparisons" show $lenient || rates=$?

echo "gate-check: the commands of docs/performance-gate.md"
commands=$temporary/commands
mkdir "$commands"
for run in 0 1 2 3 4 5 6 7 8 9; do
    OPTRACE=$commands/run.$run.json "$bin/examples/transformer"
done
"$bin/optrace" baseline -o "$commands/baseline" "$commands"/run.[0-4].json
test "$(wc -c <"$commands/baseline")" -le 200000
"$bin/optrace" diff --before "$commands/baseline" --after "$commands"/run.[5-9].json \
    --fail-over 5% --fail-op-over 10% --format md -o "$commands/comment.md"
test "$(wc -c <"$commands/comment.md")" -le 65536
code=0
"$bin/optrace" compare --runs 5 --fail-over 5% --fail-op-over 10% --format json -o "$commands/result.json" \
    -- env 'PLANT=_elu[96x1024]=x10' "$bin/examples/transformer" -- env 'PLANT=gelu[96x1024]=x10' "$bin/examples/transformer" 2>/dev/null || code=$?
if [ "$code" != 1 ]; then
    echo "gate-check: compare ended with $code for an op that takes ten times as long, not with 1" >&2
    exit 1
fi
exit $rates
