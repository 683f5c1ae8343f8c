#!/usr/bin/env bash
# Measures the cost of recording into a mapped file, compared with memory that is used again and memory that grows:
# instructions per op if valgrind is installed, and times of interleaved rounds in one process.
#
#   scripts/stream-cost.sh [ROUNDS]     31 by default
#   scripts/stream-cost.sh --long OPS   OPS ops through a ring of 64 MiB: memory, bytes on disk, losses
set -euo pipefail
cd "$(dirname "$0")/.."
cargo build --quiet --release -p trace-runtime --example stream_cost
program=${CARGO_TARGET_DIR:-target}/release/examples/stream_cost

if [ "${1:-}" = --long ]; then
    exec "$program" long "$2"
fi
if command -v valgrind >/dev/null; then
    instructions() {
        valgrind --tool=callgrind --callgrind-out-file=/dev/null --toggle-collect='*repeat*' \
            "$program" calls "$1" "$2" 2>&1 | awk '/Collected/ { print $NF }'
    }
    # The difference of two numbers of calls removes costs that occur once.
    for how in idle memory stream; do
        few=$(instructions $how 20000) many=$(instructions $how 80000)
        awk "BEGIN { printf \"%-8s %8.1f instructions per call\n\", \"$how\", ($many - $few) / 60000 }"
    done
fi
"$program" rounds "${1:-31}"
