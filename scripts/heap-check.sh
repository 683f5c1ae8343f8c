#!/usr/bin/env bash
# Compares the figures of `TracedAlloc` with those of other tools in the same program: the peak with the peak resident set
# of the process and with dhat (within 2 %), and allocations per function with hotpath and dhat (equal).
set -euo pipefail
cd "$(dirname "$0")/../peers"
cargo build --quiet --release -p trace-peers-heap
target=${CARGO_TARGET_DIR:-target}/release

echo '== peak of a program that allocates one large tensor after another, in bytes'
"$target/peak"
echo '== allocations per function'
HOTPATH_ALLOC_METRIC=count "$target/counts"
