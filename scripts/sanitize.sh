#!/usr/bin/env bash
# The threaded tests under ThreadSanitizer and AddressSanitizer. Needs a nightly toolchain.
set -euo pipefail
cd "$(dirname "$0")/.."
if ! cargo +nightly --version >/dev/null 2>&1; then
    echo 'skipped: no nightly toolchain for the sanitizers'
    exit 0
fi
host=$(rustc -vV | sed -n 's/^host: //p')

under() {
    local sanitizer=$1
    shift
    printf '%s\n' "-- $sanitizer: $*"
    TSAN_OPTIONS="suppressions=$PWD/scripts/tsan-suppressions.txt halt_on_error=1" \
    RUSTFLAGS="-Zsanitizer=$sanitizer -Cunsafe-allow-abi-mismatch=sanitizer" \
    CARGO_TARGET_DIR="target/sanitize-$sanitizer" \
        cargo +nightly test --target "$host" -p trace-suite "$@"
}

under thread --test stress --test session
under address --test stress --test session
