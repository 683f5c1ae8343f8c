"""Opens our memory snapshot with Python's unpickler and with torch's own functions, and compares the figures with ours.

    check_memory.py FOLDER MEMORY_VIZ

FOLDER is the output of the `export_all` example. MEMORY_VIZ is the file `torch/cuda/_memory_viz.py` of a torch package: it
needs nothing else of torch. The page pytorch.org/memory_viz reads the same keys; its script is in no package.
"""

import importlib.util
import json
import pathlib
import pickle
import sys

folder, module = pathlib.Path(sys.argv[1]), sys.argv[2]
expected = json.loads((folder / "expected.json").read_text())["memory_peaks"]
failures = 0


def compare(what, theirs, ours):
    global failures
    same = theirs == ours
    failures += not same
    detail = "" if same else f"\n  theirs {theirs}\n  ours   {ours}"
    print(f"{'ok  ' if same else 'FAIL'} {what}{detail}")


class Plain(pickle.Unpickler):
    """Reads values, and refuses every class: a snapshot must not need one."""

    def find_class(self, module, name):
        raise pickle.UnpicklingError(f"the snapshot names {module}.{name}")


with open(folder / "trace.pickle", "rb") as file:
    snapshot = Plain(file).load()

spec = importlib.util.spec_from_file_location("memory_viz", module)
memory_viz = importlib.util.module_from_spec(spec)
spec.loader.exec_module(memory_viz)

peaks, left = [], []
for segment, events in zip(snapshot["segments"], snapshot["device_traces"]):
    blocks = [block for block in segment["blocks"] if block["state"] == "active_allocated"]
    left.append(sum(block["size"] for block in blocks))
    # Replays the events backwards from the state at the end, as the page does.
    live = peak = left[-1]
    for event in reversed(events):
        live += {"alloc": -event["size"], "free_completed": event["size"]}.get(event["action"], 0)
        peak = max(peak, live)
    peaks.append(peak)
compare("peak of each device", peaks, expected)
compare("memory at the end", [memory_viz.calc_active(one) for one in snapshot["segments"]], left)
summary = memory_viz.segsum(snapshot)
compare("torch's summary has every segment", f"segments: {len(expected)}\n" in summary, True)
replay = memory_viz.trace(snapshot)
frees = sum(event["action"] == "free_completed" for events in snapshot["device_traces"] for event in events)
compare("torch's replay frees every block that is freed", replay.count("del "), frees)
sys.exit(failures > 0)
