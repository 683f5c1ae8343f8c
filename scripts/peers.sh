#!/usr/bin/env bash
# Measures the cost of recording an op here, in other tracers, and the lowest possible cost (peers/).
# `scripts/peers.sh` measures time and memory; `scripts/peers.sh --instructions` counts with callgrind.
# Further options go to the program: `scripts/peers.sh --rounds 31`.
set -euo pipefail
cd "$(dirname "$0")/../peers"

# Without this, hotpath starts an HTTP server.
export HOTPATH_METRICS_SERVER_OFF=1

cargo build --quiet --release --locked
peers=${CARGO_TARGET_DIR:-target}/release/peers

if [ "${1:-}" != --instructions ]; then
    exec "$peers" "$@"
fi

# Instructions of the timed loop on its thread, for the given number of calls.
instructions() {
    valgrind --tool=callgrind --callgrind-out-file=/dev/null --toggle-collect='*subject*repeat*' \
        "$peers" calls "$1" "$2" "$3" 2>&1 | awk '/Collected/ { print $NF }'
}

short=2000
long=8000
plain=
printf '%-20s %-8s %22s\n' subject calls 'instructions per call'
"$peers" list | while IFS=$'\t' read -r subject column; do
    few=$(instructions "$subject" "$column" $short)
    many=$(instructions "$subject" "$column" $long)
    # The difference of two runs removes costs that occur once.
    count=$(awk "BEGIN { print ($many - $few) / ($long - $short) }")
    plain=${plain:-$count}
    printf '%-20s %-8s %22s\n' "$subject" "$column" \
        "$(awk "BEGIN { printf \"%.1f\", $count - $plain }")"
done
