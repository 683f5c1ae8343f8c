"""Queries the Parquet tables of two ranks with DuckDB and Polars and compares the results with ours.

    check_parquet.py FOLDER

FOLDER is the output of the `export_all` example, built with the feature `parquet`.
"""

import json
import pathlib
import sys

import duckdb
import polars

folder = pathlib.Path(sys.argv[1])
expected = json.loads((folder / "expected.json").read_text())
entries = str(folder / "entries*.parquet")
shapes = str(folder / "shapes*.parquet")
failures = 0


def compare(what, theirs, ours):
    global failures
    same = theirs == ours
    failures += not same
    detail = "" if same else f"\n  theirs {theirs}\n  ours   {ours}"
    print(f"{'ok  ' if same else 'FAIL'} {what}{detail}")


def by_op(rows):
    return {name: {"count": count, "total_ns": int(ns)} for name, count, ns in rows}


rows = duckdb.sql(
    f"SELECT operation, count(*), sum(duration_ns) FROM '{entries}' GROUP BY operation"
).fetchall()
compare("DuckDB: entries by op over all ranks", by_op(rows), expected["ops"])

rows = duckdb.sql(f"""
    SELECT above.operation || ' > ' || inside.operation, count(*)
    FROM '{entries}' inside JOIN '{entries}' above
      ON inside.parent = above.step AND inside.thread = above.thread
     AND inside.rank IS NOT DISTINCT FROM above.rank
    GROUP BY ALL
""").fetchall()
compare("DuckDB: which op runs inside which", dict(rows), expected["nesting"])

rows = duckdb.sql(f"""
    SELECT operation || ' ' || input_shapes, count(*), sum((input_shapes::BIGINT[][])[1][1])
    FROM '{entries}' WHERE input_shapes <> '[]' GROUP BY ALL
""").fetchall()
compare("DuckDB: shapes, which cast to lists", {r[0]: r[1] for r in rows}, expected["shapes"])

rows = duckdb.sql(f"SELECT operation, sum(count), sum(sum_ns) FROM '{shapes}' GROUP BY operation").fetchall()
compare("DuckDB: the op x shape tables of all ranks", by_op(rows), expected["ops"])

frame = (
    polars.scan_parquet(entries)
    .group_by("operation")
    .agg(polars.len(), polars.col("duration_ns").sum())
    .collect()
)
compare("Polars: entries by op over all ranks", by_op(frame.rows()), expected["ops"])
ranks = polars.scan_parquet(entries).select("rank").unique().collect()["rank"].to_list()
compare("Polars: ranks", sorted(r for r in ranks if r is not None), sorted(
    row["rank"] for row in expected["ranks"] if "rank" in row))
sys.exit(failures > 0)
