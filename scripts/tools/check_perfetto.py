"""Queries the exports of a trace with Perfetto's trace processor and compares the results with ours.

    check_perfetto.py FOLDER WEB_DIST

FOLDER is the output of the `export_all` example; WEB_DIST has the trace processor's WebAssembly module.
"""

import collections
import json
import pathlib
import subprocess
import sys

folder, web_dist = map(pathlib.Path, sys.argv[1:3])
expected = json.loads((folder / "expected.json").read_text())
here = pathlib.Path(__file__).parent

# The device rows of a Chrome trace repeat ops that the thread rows have.
OPS = "(select * from slice where category is null or category not in ('kernel', 'gpu_memcpy', 'cuda_runtime'))"
QUERIES = {
    "ops": f"select name, count(*) as count, sum(dur) as total_ns from {OPS} group by name",
    "nesting": f"""select above.name || ' > ' || op.name as pair, count(*) as count
        from {OPS} op join {OPS} above on op.parent_id = above.id group by pair""",
    "args": f"""select op.id, op.name, args.key, args.int_value, args.string_value
        from {OPS} op join args using (arg_set_id)
        where args.flat_key in ('debug.Input Dims', 'args.Input Dims') order by op.id""",
    "flows": "select count(*) as count from flow",
    "counters": "select count(*) as count from counter",
    "errors": """select name, value from stats
        where severity in ('error', 'data_loss') and value > 0""",
}


def shapes(rows):
    """Dims as text; the Perfetto trace has them as nested numbers, the Chrome trace as text."""
    dims = {}
    for row in rows:
        op = dims.setdefault((row["id"], row["name"]), {})
        if row["string_value"] is not None:
            dims[(row["id"], row["name"])] = row["string_value"]
        elif row["key"].count("[") == 2:
            tensor, dim = row["key"].split("[", 1)[1].rstrip("]").split("][")
            op.setdefault(int(tensor), {})[int(dim)] = row["int_value"]
    counts = collections.Counter()
    for (_, name), value in dims.items():
        if isinstance(value, dict):
            tensors = [list(value[index].values()) for index in sorted(value)]
            value = json.dumps(tensors, separators=(",", ":"))
        counts[f"{name} {value}"] += 1
    return dict(counts)


failures = 0


def compare(file, what, theirs, ours):
    global failures
    same = theirs == ours
    failures += not same
    detail = "" if same else f"\n  theirs {theirs}\n  ours   {ours}"
    print(f"{'ok  ' if same else 'FAIL'} {file}: {what}{detail}")


for file in ["chrome.json", "trace.pftrace"]:
    process = subprocess.run(
        ["node", here / "trace_processor.mjs", web_dist, folder / file],
        input=json.dumps(QUERIES), capture_output=True, text=True,
    )
    if process.returncode != 0:
        sys.exit(f"FAIL {file}: {process.stderr[-2000:]}")
    result = json.loads(process.stdout)
    ops = {row["name"]: {k: row[k] for k in ("count", "total_ns")} for row in result["ops"]}
    compare(file, "slices and summed durations by op", ops, expected["ops"])
    nesting = {row["pair"]: row["count"] for row in result["nesting"]}
    compare(file, "which op runs inside which", nesting, expected["nesting"])
    compare(file, "input shapes", shapes(result["args"]), expected["shapes"])
    compare(file, "arrows between threads", result["flows"][0]["count"], expected["handoffs"])
    compare(file, "no error in the stats", result["errors"], [])
    print(f"     {file}: {result['counters'][0]['count']} points of memory curves")
sys.exit(failures > 0)
