"""Runs HTA and optrace on the same traces, one after the other, and prints the ratio.

Called by compare-hta.sh with the folder of the traces, a folder for plain copies and the folder of
the built programs. Rounds alternate, so that a busy machine slows both; the best round of each counts.
"""

import json
import logging
import os
import subprocess
import sys
import time
import warnings

TRACES, WORK, RELEASE = sys.argv[1:4]
FILES = [("diff_control", 3), ("diff_test", 1)]
ROUNDS = 3
SCALES = [1, 2, 5, 10, 20]

warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)
from hta.trace_analysis import TraceAnalysis  # noqa: E402  (its import is not part of the time)


def events(name):
    with open(f"{WORK}/{name}.json") as file:
        return len(json.load(file)["traceEvents"])


def hta():
    start = time.perf_counter()
    for name, rank in FILES:
        analysis = TraceAnalysis(trace_files={rank: f"{TRACES}/{name}.json.gz"}, trace_dir="")
        analysis.get_gpu_kernel_breakdown(visualize=False)
        analysis.get_temporal_breakdown(visualize=False)
        analysis.get_comm_comp_overlap(visualize=False)
    return time.perf_counter() - start


def run(*command):
    """Seconds, and the peak memory in bytes, of a process."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    out = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    assert status == 0, command
    return time.perf_counter() - start, usage.ru_maxrss * 1024, out


def ours():
    """The same four answers in one process, gunzip, start and all."""
    paths = [f"{TRACES}/{name}.json.gz" for name, _ in FILES]
    return run(f"{RELEASE}/examples/time_read", *paths)[0]


def whole_report():
    return sum(run(f"{RELEASE}/optrace", "report", f"{TRACES}/{name}.json.gz")[0] for name, _ in FILES)


def scaled(name, times):
    """A trace repeated one after the other, each copy later by its span."""
    with open(f"{WORK}/{name}.json") as file:
        text = file.read()
    head, body = text.split('"traceEvents": [', 1)
    body = body[: body.rindex("]")].strip()
    path = f"{WORK}/scaled.json"
    parsed = json.loads(f"[{body}]")
    first = min(event["ts"] for event in parsed if "ts" in event)
    last = max(event["ts"] + event.get("dur", 0) for event in parsed if "ts" in event)
    step = last - first + 1000
    pieces = body.split('"ts": ')
    with open(path, "w") as out:
        out.write(head + '"traceEvents": [\n')
        for copy in range(times):
            out.write(",\n" if copy else "")
            out.write(pieces[0])
            for piece in pieces[1:]:
                digits = len(piece) - len(piece.lstrip("0123456789"))
                out.write(f'"ts": {int(piece[:digits]) + copy * step}{piece[digits:]}')
        out.write("\n]}\n")
    return path, len(parsed) * times


count = sum(events(name) for name, _ in FILES)
rounds = [(hta(), ours(), whole_report()) for _ in range(ROUNDS)]
theirs, own, report = (min(times) for times in zip(*rounds))
print(f"{count:,} events in two files, gzip; best of {ROUNDS} alternating rounds")
print(f"  HTA 0.5.0                                {theirs * 1e3:8.0f} ms  {count / theirs:12,.0f} events/s")
print(f"  ours: load, by op, busy/idle, overlap    {own * 1e3:8.0f} ms  {count / own:12,.0f} events/s  {theirs / own:.0f} ×")
print(f"  optrace report, everything it tells      {report * 1e3:8.0f} ms  {count / report:12,.0f} events/s  {theirs / report:.0f} ×")

print("diff_control repeated, plain JSON, `time_read` as a process")
for scale in SCALES:
    path, number = scaled("diff_control", scale)
    size = os.path.getsize(path)
    seconds, peak, _ = min(run(f"{RELEASE}/examples/time_read", path) for _ in range(2))
    print(
        f"  {number:9,} events {size / 1e6:7.0f} MB  {seconds * 1e3:7.0f} ms  {number / seconds:10,.0f} events/s"
        f"  peak {peak / size:.2f} × the file"
    )
