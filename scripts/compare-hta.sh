#!/usr/bin/env bash
# Times `optrace` and HolisticTraceAnalysis on the same files in one run: loading, time by kernel or op,
# busy and idle time, communication overlap. Then repeats a file to larger sizes, to show how time and
# memory grow. Needs python3, network access for the first run, and ../shared/traces (or the folder given).
set -euo pipefail
cd "$(dirname "$0")/.."

traces=${1:-../shared/traces}
if [ ! -f "$traces/diff_control.json.gz" ]; then
  echo "skipped: $traces/diff_control.json.gz does not exist"
  exit 77
fi
venv=${HTA_VENV:-${TMPDIR:-/tmp}/hta-venv}
if [ ! -x "$venv/bin/python" ]; then
  python3 -m venv "$venv"
  "$venv/bin/pip" --quiet install 'HolisticTraceAnalysis==0.5.0' 'pandas<3'
fi

cargo build --quiet --release -p trace-cli --bins --examples
release=${CARGO_TARGET_DIR:-target}/release

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for name in diff_control diff_test; do
  gzip -dc "$traces/$name.json.gz" > "$work/$name.json"
done

"$venv/bin/python" -W ignore scripts/compare_hta.py "$traces" "$work" "$release"
