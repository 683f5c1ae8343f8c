#!/usr/bin/env bash
# Compares the device share of the critical path with HolisticTraceAnalysis 0.5.0, on each trace in
# ../shared/traces (or the folder given) that has launches. Shares may differ by 5 points; a larger
# difference needs a reason that the script can check. Needs python3 and, for the first run, network access.
set -euo pipefail
cd "$(dirname "$0")/.."

traces=${1:-../shared/traces}
if ! compgen -G "$traces/*.json.gz" > /dev/null; then
  echo "skipped: there is no *.json.gz in $traces"
  exit 77
fi
venv=${HTA_VENV:-${TMPDIR:-/tmp}/hta-venv}
if [ ! -x "$venv/bin/python" ]; then
  python3 -m venv "$venv"
  "$venv/bin/pip" --quiet install 'HolisticTraceAnalysis==0.5.0' 'pandas<3'
fi

cargo build --quiet --release -p trace-cli --bins
release=${CARGO_TARGET_DIR:-target}/release
"$venv/bin/python" -W ignore scripts/compare_critical_path.py "$traces" "$release/optrace"
