"""Runs HTA and optrace on the same traces, one after the other, and prints the ratio.

Called by compare-hta.sh with the folder of the traces, a folder for plain copies and the folder of
the built programs. Rounds alternate, so that a busy machine slows both, and medians are compared.

Both read the same `.json.gz` files and compute the same figures for each: time by kernel or op, busy
and idle time, overlap. HTA runs in this process, one file after the other, and its imports are not
counted; it uses several processes only for the ranks of one job. optrace is a new process each time,
its start is counted, and it uses one thread per file. Processor time is the sum over threads.
"""

import json
import logging
import os
import resource
import statistics
import subprocess
import sys
import time
import warnings

TRACES, WORK, RELEASE = sys.argv[1:4]
FILES = [("diff_control", 3), ("diff_test", 1)]
ROUNDS = 5
SCALES = [1, 2, 5, 10, 20]

warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)
from hta.trace_analysis import TraceAnalysis  # noqa: E402  (its import is not part of the time)


def events(name):
    with open(f"{WORK}/{name}.json") as file:
        return len(json.load(file)["traceEvents"])


def children_cpu():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def timed(work):
    """Wall-clock and processor seconds of `work`, including child processes that ended."""
    wall, cpu, children = time.perf_counter(), time.process_time(), children_cpu()
    work()
    cpu = time.process_time() - cpu + children_cpu() - children
    return time.perf_counter() - wall, cpu


def hta():
    for name, rank in FILES:
        analysis = TraceAnalysis(trace_files={rank: f"{TRACES}/{name}.json.gz"}, trace_dir="")
        analysis.get_gpu_kernel_breakdown(visualize=False)
        analysis.get_temporal_breakdown(visualize=False)
        analysis.get_comm_comp_overlap(visualize=False)


def run(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout


def ours():
    """The same four figures in one process, including its start and decompression."""
    run(f"{RELEASE}/examples/time_read", *(f"{TRACES}/{name}.json.gz" for name, _ in FILES))


def whole_report():
    for name, _ in FILES:
        run(f"{RELEASE}/optrace", "report", f"{TRACES}/{name}.json.gz")


def scaled(name, times):
    """A trace repeated `times` times, each copy after the previous one."""
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
rounds = [[timed(work) for work in (hta, ours, whole_report)] for _ in range(ROUNDS)]
middle = [tuple(statistics.median(times) for times in zip(*of_one)) for of_one in zip(*rounds)]
print(f"{count:,} events in two files, gzip; medians of {ROUNDS} alternating rounds")
print(f"  {'':42} {'clock':>10} {'processor':>10}   {'events/s':>10}   faster by clock, processor")
for name, (wall, cpu) in zip(("HTA 0.5.0", "ours: load, by op, busy/idle, overlap", "optrace report, complete"), middle):
    print(
        f"  {name:42} {wall * 1e3:7.0f} ms {cpu * 1e3:7.0f} ms   {count / wall:10,.0f}"
        f"   {middle[0][0] / wall:5.0f} ×  {middle[0][1] / cpu:5.0f} ×"
    )

print("diff_control repeated, plain JSON, the same figures")
for scale in SCALES:
    path, number = scaled("diff_control", scale)
    size = os.path.getsize(path)
    printed = []
    wall, cpu = min(timed(lambda: printed.append(run(f"{RELEASE}/examples/time_read", path))) for _ in range(2))
    peak = int(printed[-1].split()[-1]) * 1024
    print(
        f"  {number:9,} events {size / 1e6:6.0f} MB {wall * 1e3:7.0f} ms {cpu * 1e3:7.0f} ms"
        f"   {number / cpu:10,.0f} events per processor second   peak {peak / size:.2f} × the file"
    )
