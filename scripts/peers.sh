#!/usr/bin/env bash
# What recording an op costs here, in other tracers and at the least: peers/.
# `scripts/peers.sh` measures times and memory; `scripts/peers.sh --instructions` has callgrind count.
# Options of the program follow: `scripts/peers.sh --rounds 31`.
set -euo pipefail
cd "$(dirname "$0")/../peers"

# hotpath would serve its figures over HTTP.
export HOTPATH_METRICS_SERVER_OFF=1

cargo build --quiet --release --locked
peers=${CARGO_TARGET_DIR:-target}/release/peers

if [ "${1:-}" != --instructions ]; then
    exec "$peers" "$@"
fi

# Instructions of the loop that is timed, on its thread, for so many calls.
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
    # The difference leaves out whatever happens once.
    count=$(awk "BEGIN { print ($many - $few) / ($long - $short) }")
    plain=${plain:-$count}
    printf '%-20s %-8s %22s\n' "$subject" "$column" \
        "$(awk "BEGIN { printf \"%.1f\", $count - $plain }")"
done
