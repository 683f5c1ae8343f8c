#!/usr/bin/env bash
# With the feature off an annotated function is compiled like the plain one: the release assembly of
# tests/crates/kernels.rs is the same, byte for byte, with the attributes and without them. With the feature on
# it must differ, otherwise the comparison would prove nothing. Once with trace-runtime and once with trace-core.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
work=${CARGO_TARGET_DIR:-$root/target}/off-assembly
mkdir -p "$work/src"
export CARGO_TARGET_DIR="$work/target" CARGO_INCREMENTAL=0

assembly() { # output file, further arguments of cargo
    local out=$1
    shift
    find "$work/target" -name 'kernels-*.s' -delete 2>/dev/null || true
    (cd "$work" && cargo rustc --quiet --release "$@" -- --emit asm -C codegen-units=1)
    # Some names contain a hash of the source, which differs.
    sed -E 's/17h[0-9a-f]{16}E/17hE/g; s/\.Lanon\.[0-9a-f]{32}/.Lanon/g' \
        "$(find "$work/target" -name 'kernels-*.s' | head -1)" >"$out"
}

compare() { # crate
    local crate=$1 source count
    cat >"$work/Cargo.toml" <<TOML
[package]
name = "kernels"
version = "0.0.0"
edition = "2021"

[workspace]

[features]
enabled = ["$crate/enabled"]

[dependencies]
$crate = { path = "$root/$crate", default-features = false }
TOML
    echo 'pub mod kernels;' >"$work/src/lib.rs"

    source=$work/kernels.rs
    sed "s/^use trace_runtime::/use ${crate/-/_}::/" "$root/tests/crates/kernels.rs" >"$source"
    # `inline(never)`, because small functions are not compiled in their own crate.
    kept='s/^(\s*)(pub (?:async )?fn|fn) /$1#[inline(never)] $2 /mg'
    perl -0pe "$kept" "$source" >"$work/src/kernels.rs"
    assembly "$work/annotated.s"
    assembly "$work/recorded.s" --features enabled
    # Every attribute is replaced by as many empty lines, so that panics have the same line numbers.
    perl -0pe "$kept"'; s/#\[traced_op(\((?:[^()]|(?1))*\))?\]/"\n" x ($& =~ tr|\n||)/ge' \
        "$source" | sed 's/, traced_op, /, /' >"$work/src/kernels.rs"
    assembly "$work/plain.s"

    count=$(grep -c '@function' "$work/plain.s")
    if [ "$count" -lt 20 ]; then
        echo "only $count functions in the assembly: too few to compare" >&2
        return 1
    fi
    if cmp -s "$work/plain.s" "$work/recorded.s"; then
        echo "the assembly is the same with the feature on: the attributes did nothing" >&2
        return 1
    fi
    if ! diff -u "$work/plain.s" "$work/annotated.s" >"$work/difference"; then
        head -40 "$work/difference"
        echo "with the feature off the annotated functions differ from the plain ones" >&2
        return 1
    fi
    echo "$crate: $count functions, $(wc -l <"$work/plain.s") lines of assembly: identical"
}

compare trace-runtime
compare trace-core
