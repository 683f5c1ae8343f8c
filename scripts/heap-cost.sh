#!/usr/bin/env bash
# Measures the cost that `TracedAlloc` adds to an allocation and to a free, compared with stats_alloc, hotpath and dhat:
# medians of interleaved rounds, in nanoseconds. `scripts/heap-cost.sh --instructions` counts with callgrind.
#
# usage: scripts/heap-cost.sh [rounds, default 9 | --instructions]
set -euo pipefail
cd "$(dirname "$0")/../peers"

cargo build --quiet --release -p trace-peers-heap
target=${CARGO_TARGET_DIR:-target}/release
programs=(heap_plain heap_idle heap_sampled heap_recording heap_other_op heap_stats_alloc heap_hotpath heap_dhat)

if [ "${1:-}" = --instructions ]; then
    count() {
        valgrind --tool=callgrind --callgrind-out-file=/dev/null --toggle-collect="$2" "$target/$1" "$3" 2>&1 |
            awk '/Collected/ { print $NF }'
    }
    printf '%-28s %12s %12s\n' 'instructions per' allocation free
    for program in "${programs[@]}"; do
        printf '%-28s' "$program"
        for part in 'trace_peers_heap::allocate*' 'trace_peers_heap::free*'; do
            # The difference of two runs removes costs that occur once.
            few=$(count "$program" "$part" 4) many=$(count "$program" "$part" 12)
            printf ' %12s' "$(awk "BEGIN { printf \"%.1f\", ($many - $few) / (8 * 4096) }")"
        done
        echo
    done
    exit
fi

rounds=${1:-9}
for _ in $(seq "$rounds"); do
    for program in "${programs[@]}"; do
        "$target/$program"
    done
done | python3 -c '
import statistics, sys
rows = {}
for line in sys.stdin:
    name, allocation, free = line.rstrip("\n").split("\t")
    rows.setdefault(name, []).append((float(allocation), float(free)))
plain = [statistics.median(column) for column in zip(*rows["System"])]
print(f"{\"ns over the plain call\":28} {\"allocation\":>12} {\"free\":>12}")
for name, values in rows.items():
    over = [statistics.median(column) - base for column, base in zip(zip(*values), plain)]
    if name == "System":
        over = plain
        name = "System (ns)"
    print(f"{name:28} {over[0]:12.2f} {over[1]:12.2f}")
'
