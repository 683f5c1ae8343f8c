#!/usr/bin/env bash
# The peak memory and the processor time of `optrace report` on each real trace in ../shared/traces (or the folder
# given), uncompressed, and on one that is repeated ten times, with other times and ids. Needs python3. Exits with 77
# if the folder has no traces.
set -euo pipefail
cd "$(dirname "$0")/.."

traces=${1:-../shared/traces}
if [ ! -f "$traces/diff_control.json.gz" ]; then
  echo "skipped: $traces/diff_control.json.gz does not exist"
  exit 77
fi

cargo build --quiet --release -p trace-cli --bin optrace
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for file in "$traces"/*.json.gz; do
  gzip -dc "$file" > "$work/$(basename "${file%.gz}")"
done
python3 scripts/report_memory.py "$work" "${CARGO_TARGET_DIR:-target}/release/optrace"
