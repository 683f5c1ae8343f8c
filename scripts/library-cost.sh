#!/usr/bin/env bash
# Measures the build cost of a tracer for a library: crates, and seconds of a clean `cargo build`, for an empty library
# and for the same library with each tracer. Seconds are processor time, which other work on the machine changes little;
# `wall` is elapsed time.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
work=${CARGO_TARGET_DIR:-$root/target}/library-cost
mkdir -p "$work/src"
export CARGO_INCREMENTAL=0 CARGO_TARGET_DIR=$work/target
echo 'pub fn nothing() {}' >"$work/src/lib.rs"

measure() { # label, dependency in Cargo.toml or nothing
    cat >"$work/Cargo.toml" <<TOML
[package]
name = "measured"
version = "0.0.0"
edition = "2021"

[workspace]

[dependencies]
$2
TOML
    (
        cd "$work"
        cargo fetch --quiet
        rm -rf "$work/target"
        local crates times
        crates=$(cargo tree -e normal,build --prefix none --no-dedupe | sort -u | grep -cv '^measured ') || true
        TIMEFORMAT='%U %S %R'
        times=$({ time cargo build --quiet --offline; } 2>&1 | tail -1)
        awk -v label="$1" -v crates="$crates" -v times="$times" 'BEGIN {
            split(times, t, " ")
            printf "%-34s %6d %9.2f %9.2f\n", label, crates, t[1] + t[2], t[3]
        }'
    )
}

printf '%-34s %6s %9s %9s\n' dependency crates cpu wall
measure 'nothing' ''
measure 'trace-core, off' "trace-core = { path = \"$root/trace-core\", default-features = false }"
measure 'trace-core' "trace-core = { path = \"$root/trace-core\" }"
measure 'trace-runtime' "trace-runtime = { path = \"$root/trace-runtime\" }"
measure 'tracing' 'tracing = "0.1"'
measure 'tracing, without its attribute' 'tracing = { version = "0.1", default-features = false, features = ["std"] }'
measure 'fastrace, off' 'fastrace = "0.7"'
measure 'fastrace' 'fastrace = { version = "0.7", features = ["enable"] }'
