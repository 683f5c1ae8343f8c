#!/usr/bin/env bash
# Records examples/mpi_training on 4 ranks of Open MPI, with a straggler (rank 2 computes 30 % longer) and a wall clock
# that is wrong by 50 ms (rank 1), and checks that both are found. Installs Open MPI and libclang from Debian if they
# are missing and this is root; exit code 77 if they cannot be installed. Takes half a minute after the build.
#
#   scripts/mpi.sh [--with-tools]    also opens the merged trace in Perfetto and HTA (see scripts/tools/check.sh)
set -euo pipefail
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-$PWD/target}
work=$target/mpi-run

if ! command -v mpirun >/dev/null || ! ls /usr/lib/llvm-*/lib/libclang*.so* >/dev/null 2>&1; then
    if ! { test "$(id -u)" = 0 && apt-get install -y -q openmpi-bin libopenmpi-dev libclang-dev >/dev/null; }; then
        echo 'skipped: needs the Debian packages openmpi-bin, libopenmpi-dev and libclang-dev'
        exit 77
    fi
fi

echo '== build'
(cd trace-mpi && CARGO_TARGET_DIR=$target/mpi cargo build --quiet --release --workspace)
cargo build --quiet -p trace-cli
optrace=$target/debug/optrace

echo '== run'
rm -rf "$work" && mkdir -p "$work"
as_root=()
test "$(id -u)" = 0 && as_root=(--allow-run-as-root)
OPTRACE="$work/traces/{rank}.json" MPI_TRAINING_CLOCK_OFFSET=1=50 timeout 300 \
    mpirun "${as_root[@]}" --oversubscribe --mca mpi_yield_when_idle 1 -n 4 \
    "$target/mpi/release/mpi_training" --straggler 2 --steps 30

echo '== analyse'
"$optrace" merge "$work"/traces/*.json -o "$work/job.json"
# Step 0 is the time before the training.
"$optrace" what-if "$work/job.json" --steps 1.. --usual median --heatmap "$work/heatmap.svg"
"$optrace" what-if "$work/job.json" --steps 1.. --usual median --format json -o "$work/what-if.json"
"$optrace" path "$work/job.json" --format json -o "$work/path.json"

python3 - "$work" <<'PYTHON'
import json
import pathlib
import sys

folder = pathlib.Path(sys.argv[1])
facts = json.loads((folder / "job.json").read_text())["metadata"]
slowdown = json.loads((folder / "what-if.json").read_text())["slowdown"]
waits = json.loads((folder / "path.json").read_text())["wait_states"]
wrong = []


def check(what, holds):
    print(("ok    " if holds else "WRONG ") + what)
    if not holds:
        wrong.append(what)


error = int(facts["rank.1.clock.offset_ns"]) - 50_000_000
check(f"the offset of 50 ms is found, {error / 1000:+.1f} us", abs(error) <= 20_000)
check(f"rank 2 is named: {slowdown['cause']}", "the cause is rank 2" in slowdown["cause"])
cost = {part["name"]: part["cost_ns"] for part in slowdown["ranks"]}["rank 2"]
planted = int(facts["rank.2.planted_ns"])
check(
    f"its cost is {cost / 1e6:.0f} ms, planted are {planted / 1e6:.0f} ms ({cost / planted - 1:+.1%})",
    abs(cost / planted - 1) <= 0.1,
)
check("every send matches its receive", waits["unmatched_messages"] == 0)
sys.exit(bool(wrong))
PYTHON

if [ "${1:-}" = --with-tools ]; then
    scripts/tools/check.sh "$work/job.json"
fi
