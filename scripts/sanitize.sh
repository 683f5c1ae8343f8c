#!/usr/bin/env bash
# Runs the tests with threads, including those of recordings in a file and of the heap, under ThreadSanitizer and
# AddressSanitizer. Needs a nightly toolchain. ThreadSanitizer also needs the component `rust-src`, which is installed
# if it is missing. What cannot run is reported, and the exit code is then 77.
#
# For ThreadSanitizer the standard library is compiled with it too (`-Zbuild-std`): without that it does
# not see the synchronisation in `Mutex`, `OnceLock`, `Arc` and channels, and reports races that do not
# exist: 181 in the test `stress`, in our modules, rayon, hashbrown and quanta. A suppression for them would hide
# real races. With it, no suppressions are needed.
set -euo pipefail
cd "$(dirname "$0")/.."
if ! cargo +nightly --version >/dev/null 2>&1; then
    echo 'skipped: no nightly toolchain; `rustup toolchain install nightly`'
    exit 77
fi
host=$(rustc -vV | sed -n 's/^host: //p')

under() { # sanitizer, arguments of cargo test
    local sanitizer=$1
    shift
    printf '%s\n' "-- $sanitizer: $*"
    RUSTFLAGS="-Zsanitizer=$sanitizer -Cunsafe-allow-abi-mismatch=sanitizer" \
    CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/sanitize-$sanitizer" \
        cargo +nightly test --target "$host" -p trace-suite "$@"
}

export TSAN_OPTIONS=halt_on_error=1
tests=(--test stress --test session --test follow --test flight_recorder --test heap --test heap_totals)
# Most of `optrace_files` reads damaged files on one thread. That would take minutes, and has no races to find.
under address "${tests[@]}" --test optrace_files
if [ ! -d "$(rustc +nightly --print sysroot)/lib/rustlib/src/rust/library" ] &&
    ! rustup component add rust-src --toolchain nightly; then
    echo 'skipped: ThreadSanitizer needs the source of the standard library; `rustup component add rust-src --toolchain nightly`'
    exit 77
fi
under thread -Zbuild-std "${tests[@]}"
