#!/usr/bin/env bash
# Merges and analyses a job of 64 ranks with 100,000 events each, and fails if that takes too much processor time or
# memory: in one process by the library, and from files by `optrace`. Needs 2 GB of disk and some minutes.
#
#   scripts/many-ranks.sh [RANKS EVENTS]
set -euo pipefail
cd "$(dirname "$0")/.."
ranks=${1:-64} events=${2:-100000}
target=${CARGO_TARGET_DIR:-$PWD/target}
work=$target/many-ranks
cargo build --quiet --release -p trace-runtime --example many_ranks
cargo build --quiet --release -p trace-cli
rm -rf "$work" && mkdir -p "$work"
trap 'rm -rf "$work"' EXIT

echo "== library: merge, report, wait states, what if"
"$target/release/examples/many_ranks" measure "$ranks" "$events"
echo "== files"
"$target/release/examples/many_ranks" write "$work/ranks" "$ranks" "$events"
python3 - "$target/release/optrace" "$work" <<'PYTHON'
import os
import sys

optrace, work = sys.argv[1:]
files = sorted(os.path.join(work, "ranks", name) for name in os.listdir(os.path.join(work, "ranks")))
job = os.path.join(work, "job.json")
# Bounds for 64 ranks × 100,000 events, on any machine: seconds of processor time, and bytes of memory.
SECONDS, BYTES = 10, 1_000_000_000
wrong = []


def measure(what, command):
    pid = os.posix_spawn(command[0], command, os.environ, file_actions=[
        (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0), (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0)])
    _, status, used = os.wait4(pid, 0)
    seconds, memory = used.ru_utime + used.ru_stime, used.ru_maxrss * 1024
    holds = status == 0 and seconds <= SECONDS and memory <= BYTES
    print(f"{'ok    ' if holds else 'WRONG '} {seconds:6.2f} s {memory / 1e6:6.0f} MB  {what}", flush=True)
    if not holds:
        wrong.append(what)


measure("optrace merge", [optrace, "merge", *files, "-o", job])
for command in ["report", "path", "what-if"]:
    measure(f"optrace {command}", [optrace, command, job])
sys.exit(bool(wrong))
PYTHON
