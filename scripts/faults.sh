#!/usr/bin/env bash
# The fault suite: each fault runs in a separate process, which prints a row with the ops that ended, those that are in its trace
# and those that the trace counts as lost. The last two add up to the first, or the row is marked and the script fails.
# `scripts/faults.sh disk` runs the faults whose name contains the word.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo test --quiet --release -p trace-suite --test faults -- "$@"
