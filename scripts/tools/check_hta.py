"""Analyzes the ranks of an export with HolisticTraceAnalysis and compares its figures with ours.

    check_hta.py FOLDER

FOLDER is the output of the `export_all` example. HTA rounds shares to two decimals of a percent. A job without devices has
no kernels, so only its ops are compared.
"""

import collections
import json
import os
import pathlib
import sys
import warnings

# By default HTA rounds to whole microseconds; the exports have nanoseconds.
os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"
warnings.filterwarnings("ignore")

from hta.trace_analysis import TraceAnalysis  # noqa: E402

folder = pathlib.Path(sys.argv[1])
figures = json.loads((folder / "expected.json").read_text())
expected = {row["rank"]: row for row in figures["ranks"]}
analysis = TraceAnalysis(trace_dir=str(folder / "ranks"))
failures = 0


def compare(what, theirs, ours, within):
    global failures
    same = abs(theirs - ours) <= within
    failures += not same
    print(f"{'ok  ' if same else 'FAIL'} {what}: HTA {theirs}, ours {ours}")


ranks = sorted(analysis.t.get_all_traces())
print(f"{'ok  ' if ranks == sorted(expected) else 'FAIL'} ranks found: {ranks}")
failures += ranks != sorted(expected)

frames = analysis.t.get_all_traces()
if all((frame["stream"] < 0).all() for frame in frames.values()):
    names = analysis.t.symbol_table.get_sym_table()
    found = collections.Counter(names[index] for frame in frames.values() for index in frame["name"])
    for name, row in figures["ops"].items():
        compare(f"calls of {name}", found[name], row["count"], 0)
    sys.exit(failures > 0)

breakdown = analysis.get_temporal_breakdown(visualize=False).set_index("rank")
overlap = analysis.get_comm_comp_overlap(visualize=False).set_index("rank")
for rank, ours in expected.items():
    theirs = breakdown.loc[rank]
    for column, figure in [
        ("idle_time(us)", ours["idle_ns"]),
        ("compute_time(us)", ours["compute_ns"]),
        ("non_compute_time(us)", ours["busy_ns"] - ours["compute_ns"]),
        ("kernel_time(us)", ours["span_ns"]),
    ]:
        compare(f"rank {rank} {column}", round(float(theirs[column]), 6), figure / 1000, 0.001)
    share = 100 * ours["overlap_ns"] / ours["communication_ns"]
    theirs = float(overlap.loc[rank]["comp_comm_overlap_pctg"])
    compare(f"rank {rank} overlap in percent", theirs, round(share, 2), 0.0051)

# Steps are HTA's iterations: device work belongs to the one in which it was launched.
if "steps" in figures:
    # By default HTA leaves out the last step.
    analysis = TraceAnalysis(trace_dir=str(folder / "steps"), include_last_profiler_step=True)
    for rank in sorted(expected):
        kernels = analysis.t.get_trace(rank)
        kernels = kernels[kernels["stream"] > 0]
        theirs = kernels.groupby("iteration")["dur"].sum().to_dict()
        ours = {row["step"]: row["device_ns"] for row in figures["steps"] if row["rank"] == rank}
        same = sorted(theirs) == sorted(ours)
        failures += not same
        print(f"{'ok  ' if same else 'FAIL'} rank {rank} steps: HTA {sorted(theirs)}, ours {sorted(ours)}")
        for step in sorted(set(theirs) & set(ours)):
            compare(f"rank {rank} step {step} device time", round(float(theirs[step]), 6), ours[step] / 1000, 0.001)
sys.exit(failures > 0)
