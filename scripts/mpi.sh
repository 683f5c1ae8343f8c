#!/usr/bin/env bash
# Records examples/mpi_training on 4 ranks of Open MPI, with a straggler (rank 2 computes 30 % longer) and a wall clock
# that is wrong by 50 ms (rank 1), with calls that block and with calls that do not, and checks what `optrace` finds. Then
# opens the merged trace in Perfetto and HTA. Installs Open MPI and libclang from Debian if they are missing and this is
# root; exit code 77 if they cannot be installed. Takes a minute after the build.
#
#   scripts/mpi.sh [--without-tools]
set -euo pipefail
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-$PWD/target}
work=$target/mpi-run

if ! command -v mpirun >/dev/null || ! ls /usr/lib/llvm-*/lib/libclang*.so* >/dev/null 2>&1; then
    if ! { test "$(id -u)" = 0 && apt-get update -q >/dev/null && apt-get install -y -q openmpi-bin libopenmpi-dev libclang-dev >/dev/null; }; then
        echo 'skipped: needs the Debian packages openmpi-bin, libopenmpi-dev and libclang-dev'
        exit 77
    fi
fi

echo '== build'
(cd trace-mpi && CARGO_TARGET_DIR=$target/mpi cargo build --quiet --release --workspace)
cargo build --quiet -p trace-cli
optrace=$target/debug/optrace

as_root=()
test "$(id -u)" = 0 && as_root=(--allow-run-as-root)
rm -rf "$work"
for overlap in no yes; do
    run=$work/overlap-$overlap
    mkdir -p "$run"
    echo "== run, overlap: $overlap"
    OPTRACE="$run/traces/{rank}.json" MPI_TRAINING_CLOCK_OFFSET=1=50 timeout 300 \
        mpirun "${as_root[@]}" --oversubscribe --mca mpi_yield_when_idle 1 -n 4 \
        "$target/mpi/release/mpi_training" --straggler 2 --steps 20 --overlap $overlap
    "$optrace" merge "$run"/traces/*.json -o "$run/job.json"
    # Step 0 is the time before the training.
    "$optrace" what-if "$run/job.json" --steps 1.. --usual median --heatmap "$run/heatmap.svg"
    "$optrace" what-if "$run/job.json" --steps 1.. --usual median --format json -o "$run/what-if.json"
    "$optrace" what-if "$run/job.json" --steps 1.. --usual median --usual-rank 2 --format json -o "$run/rank-2.json"
    "$optrace" path "$run/job.json" --format json -o "$run/path.json"
    "$optrace" report "$run/job.json" --steps 1.. --format json -o "$run/report.json"
    python3 - "$run" <<'PYTHON'
import json
import pathlib
import statistics
import sys

folder = pathlib.Path(sys.argv[1])
read = lambda name: json.loads((folder / name).read_text())
facts, slowdown, waits = read("job.json")["metadata"], read("what-if.json")["slowdown"], read("path.json")["wait_states"]
report, fixed = read("report.json"), read("rank-2.json")
wrong = []


def check(what, holds):
    print(("ok    " if holds else "WRONG ") + what)
    if not holds:
        wrong.append(what)


error = int(facts["rank.1.clock.offset_ns"]) - 50_000_000
check(f"the offset of 50 ms is found, {error / 1000:+.1f} us", abs(error) <= 20_000)
check(f"rank 2 is named: {slowdown['cause']}", "the cause is rank 2" in slowdown["cause"])
check(f"the report names it: {report['answer']}", "rank 2 is the slowest" in report["answer"])
# Medians over the steps, because on a busy machine a few steps may take much longer.
planted = statistics.median(map(int, facts["rank.2.planted_ns"].split()))
steps = zip(fixed["recorded"]["steps"], fixed["replayed"]["steps"])
cost = statistics.median(recorded[1] - replayed[1] for recorded, replayed in steps)
check(
    f"it costs {cost / 1e6:.1f} ms a step, planted are {planted / 1e6:.1f} ms ({cost / planted - 1:+.1%})",
    abs(cost / planted - 1) <= 0.1,
)
check("every send matches its receive", waits["unmatched_messages"] == 0)
sums = [rank for rank in waits["ranks"] if rank["working_ns"] + rank["waiting_ns"] + rank["idle_ns"] != rank["span_ns"]]
check("work, waiting and idle time of each rank add up to its span", len(waits["ranks"]) == 4 and not sums)
rows = report["rank_steps"]
slowest = max(zip(rows["cells"], rows["ranks"]), key=lambda row: statistics.median(row[0]))[1]
check(f"rank {slowest} works most in the heatmap of {len(rows['steps'])} steps", slowest == 2)
sys.exit(bool(wrong))
PYTHON
done

if [ "${1:-}" != --without-tools ]; then
    scripts/tools/check.sh --only perfetto,hta,chakra "$work/overlap-yes/job.json"
fi
