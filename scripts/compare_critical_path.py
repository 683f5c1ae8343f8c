"""Compares the device share of the critical path of optrace with that of HTA.

Called by compare-critical-path.sh with the folder of the traces and the `optrace` program.

Share: device work / (device work + host work) on the path. HTA's edges of the kinds `cpu_bound`,
`gpu_compute_bound` and `gpu_communication_bound` are work; its launch and kernel-kernel overheads are
delays, which optrace lists apart. HTA runs on the whole trace, not on one step.

Where the shares differ by more than 5 points, the reason is looked up in this order:
- HTA cannot build its graph for the trace.
- HTA's path is not the longest one: it is shorter than the work that optrace's path adds up. Both tools
  look for the longest chain of work, and a chain of dependent work is never longer than the trace, so the
  longer one is right. This is what happens in traces without `cuda_sync` rows: HTA takes the edge from the
  device to the waiting host from these rows alone, and counts the synchronisation itself as 0. Then its
  path stays on the host and leaves out the device work that the host waited for. optrace takes the edge
  from the runtime call and the work that ended in it.
Anything else fails the script.
"""

import glob
import gzip
import json
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import warnings

TRACES, OPTRACE = sys.argv[1:3]
POINTS = 5.0

warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)
from hta.trace_analysis import TraceAnalysis  # noqa: E402  (after the warnings are off)


def launches(path):
    """Device rows that share a correlation with a runtime call, and `cuda_sync` rows."""
    with gzip.open(path) as file:
        trace = json.load(file)
    events = trace["traceEvents"] if isinstance(trace, dict) else trace
    calls, device, syncs = set(), set(), 0
    for event in events:
        category = str(event.get("cat", "")).lower()
        correlation = event.get("args", {}).get("correlation") if event.get("ph") == "X" else None
        if category.endswith(("runtime", "driver")):
            calls.add(correlation)
        elif category in ("kernel", "gpu_memcpy", "gpu_memset", "memcpy", "memset"):
            device.add(correlation)
        syncs += category == "cuda_sync"
    return len((calls & device) - {None}), syncs


def ours(path):
    command = [OPTRACE, "path", path, "--format", "json"]
    out = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout
    path = json.loads(out)["critical_path"]
    return path["device_ns"] / 1000, path["host_ns"] / 1000, path["span_ns"] / 1000


def hta(path):
    """Device and host work on HTA's path, in microseconds."""
    with tempfile.TemporaryDirectory() as folder:
        # HTA writes its results next to the trace.
        copy = os.path.join(folder, os.path.basename(path))
        shutil.copyfile(path, copy)
        shown, quiet = os.dup(1), os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        try:
            analysis = TraceAnalysis(trace_files={0: copy}, trace_dir=folder)
            graph, found = analysis.critical_path_analysis(rank=0, annotation="", instance_id=None)
            if not found:
                raise ValueError("it found no path")
            edges = graph.get_critical_path_breakdown().groupby("bound_by").duration.sum().to_dict()
        finally:
            os.dup2(shown, 1)
            os.close(shown)
            os.close(quiet)
    device = edges.get("gpu_compute_bound", 0) + edges.get("gpu_communication_bound", 0)
    return device, edges.get("cpu_bound", 0)


def share(device, host):
    return 100 * device / (device + host) if device + host else 0.0


def reason(device, host, hta_device, hta_host, syncs):
    work, hta_work = device + host, hta_device + hta_host
    if hta_work < work:
        rows = "no `cuda_sync` rows" if syncs == 0 else f"{syncs} `cuda_sync` rows"
        return (
            f"ours: HTA's path has {hta_work / 1000:.1f} ms of work and is not the longest; "
            f"ours has {work / 1000:.1f} ms (the trace has {rows})"
        )
    return None


def main():
    failed = 0
    print(f"{'trace':28} {'optrace':>8} {'HTA':>8}  who is right where they differ")
    for path in sorted(glob.glob(f"{TRACES}/*.json.gz")):
        name = os.path.basename(path).removesuffix(".json.gz")
        count, syncs = launches(path)
        if count == 0:
            continue
        device, host, span = ours(path)
        if device + host > span + 0.001:
            print(f"{name:28} a path of {device + host} us in a trace of {span} us")
            failed += 1
        own = share(device, host)
        try:
            theirs = hta(path)
        except Exception as error:  # HTA asserts on traces that it does not understand.
            words = str(error).split(",")[0][:60]
            print(f"{name:28} {own:7.1f}% {'-':>8}  HTA fails: {words}")
            continue
        other = share(*theirs)
        note = ""
        if abs(own - other) > POINTS:
            note = reason(device, host, *theirs, syncs)
            failed += note is None
        print(f"{name:28} {own:7.1f}% {other:7.1f}%  {'NO REASON KNOWN' if note is None else note}")
    sys.exit(1 if failed else 0)


main()
