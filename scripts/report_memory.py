"""Prints the peak memory and the processor time of `optrace report` on the traces in a folder, and on one of them
repeated. Called by report-memory.sh with the folder and the program.

A process counts the memory of the process that started it, up to the moment at which it became another program. So
the trace is repeated in a process of its own; peaks below 15 MB are those of this one.
"""

import os
import re
import subprocess
import sys

WORK, PROGRAM = sys.argv[1:3]
REPEATED = "diff_control"
COPIES = 10
ROUNDS = 3


def repeat():
    """Writes the trace with its events COPIES times, each copy after the previous one and with ids of its own."""
    with open(f"{WORK}/{REPEATED}.json") as file:
        text = file.read()
    head, body = text.split('"traceEvents": [', 1)
    body = body[: body.rindex("]")].strip()
    times = [float(time) for time in re.findall(r'"ts": (\d+(?:\.\d+)?)', body)]
    step = int(max(times) - min(times)) + 1_000_000
    with open(f"{WORK}/{REPEATED}-{COPIES}-times.json", "w") as out:
        out.write(head + '"traceEvents": [\n')
        for copy in range(COPIES):
            shifted = re.sub(r'("ts": )(\d+)', lambda found: found[1] + str(int(found[2]) + copy * step), body)
            shifted = re.sub(
                r'("(?:correlation|id)": )([1-9]\d*)',
                lambda found: found[1] + str(int(found[2]) + copy * 10_000_000),
                shifted,
            )
            out.write((",\n" if copy else "") + shifted)
        out.write("\n]}\n")


def report(path):
    """Peak memory in bytes and processor seconds."""
    child = subprocess.Popen([PROGRAM, "report", path], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    if status != 0:
        sys.exit(f"optrace report {path} failed")
    return usage.ru_maxrss * 1024, usage.ru_utime + usage.ru_stime


if PROGRAM == "repeat":
    repeat()
    sys.exit()
subprocess.run([sys.executable, __file__, WORK, "repeat"], check=True)
print(f"{'trace':32} {'size':>9} {'peak':>9} {'of the file':>12} {'processor':>10}")
for file in sorted(os.listdir(WORK), key=lambda file: os.path.getsize(f"{WORK}/{file}")):
    size = os.path.getsize(f"{WORK}/{file}")
    rounds = [report(f"{WORK}/{file}") for _ in range(ROUNDS)]
    peak, cpu = max(round[0] for round in rounds), min(round[1] for round in rounds)
    print(f"{file:32} {size / 1e6:6.1f} MB {peak / 1e6:6.1f} MB {peak / size:10.2f} × {cpu * 1e3:7.0f} ms")
