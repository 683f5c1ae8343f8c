#!/usr/bin/env bash
# Checks `rust-version` of the published crates with their default features: no dependency needs a newer Rust,
# clippy finds no newer item of the standard library, and that version of Rust compiles them. Then prints the
# Rust version that each optional feature needs. Exits with 77 if the toolchain cannot be installed.
set -euo pipefail
cd "$(dirname "$0")/.."

crates=(trace-macros trace-core trace-runtime trace-cli)
minimum=$(sed -nE 's/^rust-version = "([0-9.]+)"/\1/p' Cargo.toml)
host=$(rustc -vV | sed -n 's/^host: //p')
metadata=$(cargo metadata --format-version 1 --locked --filter-platform "$host")

# The highest `rust-version` among the packages of a dependency tree, and its package: arguments of cargo tree.
needed() {
    cargo tree --locked --edges normal,build --prefix none --format '{p}' "$@" | python3 -c '
import json, os, sys
versions = {(p["name"], p["version"]): p["rust_version"] for p in json.load(open(os.environ["METADATA"]))["packages"]}
ours = set(os.environ["CRATES"].split())
highest = ((0,), "1.0", "-")
for line in sys.stdin:
    words = line.split()
    if len(words) >= 2 and words[0] not in ours:
        version = versions.get((words[0], words[1].lstrip("v")))
        if version:
            key = tuple(int(part) for part in version.split(".")[:2])
            highest = max(highest, (key, version, words[0]))
print(highest[1], highest[2])
'
}
at_most() { [ "$(printf '%s\n%s\n' "$1" "$2" | sort -V | tail -1)" = "$2" ]; }

if ! command -v python3 >/dev/null; then
    echo 'skipped: needs python3'
    exit 77
fi
METADATA=$(mktemp)
trap 'rm -f "$METADATA"' EXIT
printf '%s' "$metadata" >"$METADATA"
export METADATA CRATES="${crates[*]}"

echo "== dependencies with default features need at most Rust $minimum"
for crate in "${crates[@]}"; do
    needs=$(needed --package "$crate")
    read -r version by <<<"$needs"
    printf '%-14s %-8s (%s)\n' "$crate" "$version" "$by"
    if ! at_most "${version%.0}" "$minimum"; then
        echo "$crate: $by needs Rust $version, and \`rust-version\` is $minimum" >&2
        exit 1
    fi
done

echo '== features'
for feature in ndarray ndarray-0_16 nalgebra faer candle burn half num-complex flamegraph html parquet; do
    needs=$(needed --package trace-runtime --features "$feature")
    read -r version by <<<"$needs"
    printf '%-14s %-8s (%s)\n' "$feature" "$version" "$by"
done

packages=()
for crate in "${crates[@]}"; do
    packages+=(--package "$crate")
done
echo "== the standard library of Rust $minimum"
cargo clippy --quiet --locked "${packages[@]}" --lib --bins -- -A clippy::all -A clippy::pedantic \
    -D clippy::incompatible_msrv

echo "== compiling with Rust $minimum"
if ! cargo "+$minimum" --version >/dev/null 2>&1 &&
    ! rustup toolchain install "$minimum" --profile minimal; then
    echo "skipped: Rust $minimum cannot be installed"
    exit 77
fi
CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-target}/minimum-rust cargo "+$minimum" check --quiet --locked "${packages[@]}"
