#!/usr/bin/env bash
# Checks the figures of real profiler traces in ../shared/traces next to the repository, or in the folder
# given as the first argument. Exits with 77 if the folder has no expected figures.
set -euo pipefail
cd "$(dirname "$0")/.."

traces=${1:-../shared/traces}
if [ ! -f "$traces/expected.json" ]; then
  echo "skipped: $traces/expected.json does not exist"
  exit 77
fi

plain=$(mktemp -d)
trap 'rm -rf "$plain"' EXIT
for file in "$traces"/*.json.gz; do
  gzip -dc "$file" > "$plain/$(basename "${file%.gz}")"
done

cargo build --quiet --release -p trace-runtime --example check_traces
check=${CARGO_TARGET_DIR:-target}/release/examples/check_traces
"$check" "$traces/expected.json" "$plain"
"$check" "$plain/torch_cpu_block.json" "$traces/torch_cpu_block.key_averages.json"
