#!/usr/bin/env bash
# Checks the page that `optrace html` writes: types, format and lint of its script, then the page itself in Chromium.
#
#   scripts/page.sh [TRACE...]     checks; each TRACE is compared with `optrace report --format json` too
#   scripts/page.sh pictures       writes the pictures of the page in docs/
#
# The tools are installed from the package registries into $TRACE_TOOLS (target/tools). With SIZES=1 sizes and times
# are checked with 10^6 entries. OPTRACE_BIN names a binary that is built already.
set -euo pipefail
cd "$(dirname "$0")/.."
tools=${TRACE_TOOLS:-target/tools}/page
web=trace-runtime/web
out=${TRACE_EXPORTS:-target/exports}/page

has_command() { command -v "$1" >/dev/null || { apt-get update && apt-get install -y --no-install-recommends "$2"; }; }
install_tools() {
    has_command npm npm && has_command chromium chromium &&
        npm install --no-save --no-audit --no-fund --prefix "$tools" \
            typescript@5.9.3 prettier@3.10.1 eslint@9.39.5 playwright-core@1.65.1
}
if ! [ -e "$tools/.installed" ]; then
    mkdir -p "$tools"
    if install_tools >"$tools/install.log" 2>&1; then
        touch "$tools/.installed"
    else
        echo "skipped: the tools cannot be installed here; the log is $tools/install.log"
        exit 77
    fi
fi
bin=$tools/node_modules/.bin
CHROMIUM=$(command -v chromium)
export CHROMIUM

if [ -z "${OPTRACE_BIN:-}" ]; then
    cargo build --quiet --release -p trace-cli
    OPTRACE_BIN=target/release/optrace
fi
mkdir -p "$out"

if [ "${1:-}" = pictures ]; then
    cargo run --quiet --release --example transformer >/dev/null
    cargo run --quiet --release --example pipeline -- ranks >/dev/null
    node scripts/tools/picture_page.mjs "$OPTRACE_BIN" "$tools/node_modules" docs
    exit
fi

echo '== types, format, lint'
"$bin/tsc" -p $web
"$bin/prettier" --check $web/*.js $web/*.css $web/*.ts $web/*.mjs
(cd $web && "$OLDPWD/$bin/eslint" ./*.js)
echo '== the page in Chromium'
node scripts/tools/check_page.mjs "$OPTRACE_BIN" "$tools/node_modules" "$out" "$@"
