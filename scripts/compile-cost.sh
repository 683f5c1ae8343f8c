#!/usr/bin/env bash
# Measures the compile time of an attribute: `cargo check` of the same 1,000 functions, plain and annotated with
# `#[traced_op]` (on and off), `#[tracing::instrument]`, `#[fastrace::trace]` and `#[hotpath::measure]`, in
# alternating rounds, and a clean build of each macro crate. Prints medians of processor time.
#
# usage: scripts/compile-cost.sh [rounds, default 7] [functions, default 1000]
set -euo pipefail
rounds=${1:-7}
functions=${2:-1000}
root=$(cd "$(dirname "$0")/.." && pwd)
work=${CARGO_TARGET_DIR:-$root/target}/compile-cost
mkdir -p "$work"
export CARGO_TARGET_DIR="$work/target" CARGO_INCREMENTAL=0 CARGO_TERM_COLOR=never

# name | dependency | attribute
variants=(
    "plain||"
    "traced_op|trace-runtime = { path = \"$root/trace-runtime\" }|#[trace_runtime::traced_op]"
    "traced_op-off|trace-runtime = { path = \"$root/trace-runtime\", default-features = false }|#[trace_runtime::traced_op]"
    "tracing|tracing = \"0.1\"|#[tracing::instrument]"
    "fastrace|fastrace = { version = \"0.7\", features = [\"enable\"] }|#[fastrace::trace]"
    "hotpath|hotpath = { version = \"0.30\", features = [\"hotpath\"] }|#[hotpath::measure]"
)
macro_crates=(
    "trace-macros|trace-macros = { path = \"$root/trace-macros\", features = [\"enabled\"] }"
    "tracing-attributes|tracing-attributes = \"0.1\""
    "fastrace-macro|fastrace-macro = { version = \"0.7\", features = [\"enable\"] }"
    "hotpath-macros|hotpath-macros = { version = \"0.30\", features = [\"hotpath\"] }"
)

# Five shapes of function in turn: a tensor out, in place, fallible, early return, nested arrays.
functions() {
    awk -v attribute="$1" -v count="$2" 'BEGIN {
        for (i = 0; i < count; i++) {
            print attribute
            shape = i % 5
            if (shape == 0) print \
"pub fn f" i "(a: &[f32], b: &[f32], bias: f32) -> Vec<f32> {\n" \
"    let mut out = Vec::with_capacity(a.len());\n" \
"    for (a, b) in a.iter().zip(b) {\n        let product = a * b;\n        out.push(product + bias);\n    }\n" \
"    out\n}"
            if (shape == 1) print \
"pub fn f" i "(x: &mut [f32], by: f32) {\n" \
"    for value in x.iter_mut() {\n        *value *= by;\n        if *value < 0.0 {\n            *value = 0.0;\n        }\n    }\n}"
            if (shape == 2) print \
"pub fn f" i "(x: &[f32], rows: usize) -> Result<Vec<f32>, String> {\n" \
"    let columns = x.len().checked_div(rows).ok_or_else(|| String::from(\"no rows\"))?;\n" \
"    let mut sums = vec![0.0; columns];\n" \
"    for row in x.chunks(columns.max(1)) {\n        for (sum, value) in sums.iter_mut().zip(row) {\n            *sum += value;\n        }\n    }\n" \
"    Ok(sums)\n}"
            if (shape == 3) print \
"pub fn f" i "(x: &[f32], y: &[f32]) -> f32 {\n" \
"    if x.is_empty() {\n        return 0.0;\n    }\n" \
"    let dot: f32 = x.iter().zip(y).map(|(x, y)| x * y).sum();\n" \
"    let norm: f32 = x.iter().map(|x| x * x).sum::<f32>().sqrt();\n    dot / norm\n}"
            if (shape == 4) print \
"pub fn f" i "(a: &[[f32; 4]; 4], b: &[[f32; 4]; 4]) -> [[f32; 4]; 4] {\n" \
"    let mut out = [[0.0; 4]; 4];\n" \
"    for i in 0..4 {\n        for j in 0..4 {\n            for k in 0..4 {\n                out[i][j] += a[i][k] * b[k][j];\n            }\n        }\n    }\n    out\n}"
        }
    }'
}

crate() { # directory, dependency line, source on stdin
    mkdir -p "$1/src"
    printf '[package]\nname = "%s"\nversion = "0.0.0"\nedition = "2021"\n\n[workspace]\n\n[dependencies]\n%s\n' \
        "cost-$(basename "$1")" "$2" >"$1/Cargo.toml"
    cat >"$1/src/lib.rs"
}

# Processor time of the command and its children, which other load on the machine hardly changes.
seconds() {
    local TIMEFORMAT='%U %S'
    { time "$@" >/dev/null 2>&1; } 2>&1 | awk '{ printf "%.3f\n", $1 + $2 }'
}

median() { sort -n | awk '{ values[NR] = $1 } END { print values[int((NR + 1) / 2)] }'; }

for variant in "${variants[@]}"; do
    IFS='|' read -r name dependency attribute <<<"$variant"
    functions "$attribute" "$functions" | crate "$work/$name" "$dependency"
    (cd "$work/$name" && cargo check --quiet)
    : >"$work/$name.times"
done
for _ in $(seq "$rounds"); do
    for variant in "${variants[@]}"; do
        name=${variant%%|*}
        touch "$work/$name/src/lib.rs"
        (cd "$work/$name" && seconds cargo check --quiet) >>"$work/$name.times"
    done
done
plain=$(median <"$work/plain.times")
printf '%-20s %10s %28s\n' "cargo check" "median s" "ms per function over plain"
for variant in "${variants[@]}"; do
    name=${variant%%|*}
    median=$(median <"$work/$name.times")
    awk -v name="$name" -v s="$median" -v plain="$plain" -v n="$functions" \
        'BEGIN { printf "%-20s %10.3f %28.2f\n", name, s, (s - plain) * 1000 / n }'
done

for macro in "${macro_crates[@]}"; do
    IFS='|' read -r name dependency <<<"$macro"
    crate "$work/clean-$name" "$dependency" </dev/null
    (cd "$work/clean-$name" && cargo fetch --quiet)
    : >"$work/clean-$name.times"
done
for _ in $(seq 3); do
    for macro in "${macro_crates[@]}"; do
        name=${macro%%|*}
        rm -rf "$work/clean-target"
        (cd "$work/clean-$name" && CARGO_TARGET_DIR="$work/clean-target" seconds cargo build --quiet) \
            >>"$work/clean-$name.times"
    done
done
printf '\n%-20s %10s\n' "clean build" "median s"
for macro in "${macro_crates[@]}"; do
    name=${macro%%|*}
    printf '%-20s %10s\n' "$name" "$(median <"$work/clean-$name.times")"
done
rm -rf "$work/clean-target"
