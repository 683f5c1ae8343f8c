#!/usr/bin/env bash
# Runs `optrace top` and `optrace report --follow` in a real terminal (tmux) on a running example: the figures move, the
# keys work, and the terminal is restored after `q`, SIGINT, SIGTERM and a panic. Installs tmux from Debian if it is
# missing and this is root; exit code 77 if it cannot be installed. Takes half a minute after the build.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! command -v tmux >/dev/null; then
    if ! { test "$(id -u)" = 0 && apt-get update -q >/dev/null && apt-get install -y -q tmux >/dev/null; }; then
        echo 'skipped: needs the Debian package tmux'
        exit 77
    fi
fi

target=${CARGO_TARGET_DIR:-$PWD/target}
work=$(mktemp -d)
server=optrace-$$
export LC_ALL=C.UTF-8
program=
finish() {
    tmux -L "$server" kill-server 2>/dev/null || true
    if [ -n "$program" ]; then kill "$program" 2>/dev/null || true; fi
    rm -rf "$work"
}
trap finish EXIT

echo '== build'
cargo build --quiet -p trace-cli
cargo build --quiet -p trace-suite --example serving
panics=$(cargo test --quiet -p trace-cli --bin optrace --no-run --message-format=json |
    sed -n 's/.*"executable":"\([^"]*\)".*/\1/p' | tail -1)
ln -s "$target/debug/optrace" "$work/optrace"
ln -s "$panics" "$work/panics"

screen() { tmux -L "$server" capture-pane -p -t term; }
keys() { tmux -L "$server" send-keys -t term "$@"; }
fail() {
    printf 'FAILED: %s\n' "$1" >&2
    screen >&2
    exit 1
}
# Waits until the screen has a text.
shows() {
    for _ in $(seq 200); do
        if screen | grep -qF -- "$1"; then return; fi
        sleep 0.1
    done
    fail "the screen does not show \`$1\`"
}
# Checks the terminal after a command: the first screen, a cursor, and the settings from before.
is_intact() {
    # Keys that are typed before the command has restored the terminal are lost.
    for _ in $(seq 200); do pgrep -P "$(shell_process)" >/dev/null || break; sleep 0.1; done
    keys "stty -g >$work/after; echo done-$1" Enter
    shows "done-$1"
    for _ in $(seq 50); do test -s "$work/after" && break || sleep 0.1; done
    state=$(tmux -L "$server" display-message -p -t term '#{alternate_on} #{cursor_flag}')
    test "$state" = '0 1' || fail "after $1: second screen and cursor are \`$state\`"
    cmp -s "$work/before" "$work/after" || fail "after $1: the settings of the terminal differ"
    rm "$work/after"
    echo "ok: the terminal is as it was after $1"
}
shell_process() { tmux -L "$server" display-message -p -t term '#{pane_pid}'; }
# The process of `optrace top` in the terminal.
top_process() { pgrep -P "$(shell_process)" -x optrace; }

OPTRACE=$work/run.optrace "$target/debug/examples/serving" 300 >/dev/null &
program=$!
tmux -L "$server" -f /dev/null new-session -d -s term -x 120 -y 30 "env PS1='> ' sh"
keys "cd $work; stty -g >before; echo rea''dy" Enter
shows ready

echo '== top'
keys 'clear; ./optrace top run.optrace --every 0.3' Enter
shows 'q quits'
shows layer
shows request
shows "process $program"
first=$(screen | sed -n 2p)
sleep 1.5
test "$first" != "$(screen | sed -n 2p)" || fail 'the figures do not move'
keys s
shows 'sorts: calls/s'
keys p
shows 'paused'
sleep 0.5
first=$(screen)
sleep 1
test "$first" = "$(screen)" || fail 'the figures move while it is paused'
keys p
shows 'p pauses'
tmux -L "$server" resize-window -t term -x 50 -y 12
shows 'q quits'
tmux -L "$server" resize-window -t term -x 120 -y 30
keys q
is_intact q

for signal in INT TERM; do
    keys "clear; ./optrace top $program" Enter
    shows 'q quits'
    kill -s "$signal" "$(top_process)"
    is_intact "SIG$signal"
done
keys 'clear; ./optrace top run.optrace' Enter
shows 'q quits'
keys C-c
is_intact Ctrl-C

keys 'clear; ./panics --ignored --nocapture --exact commands::top::terminal::tests::a_panic_leaves_the_terminal' Enter
shows 'a panic in the second screen'
shows 'test result: ok. 1 passed'
is_intact 'a panic'

echo '== report --follow'
keys 'clear; ./optrace report run.optrace --follow=0.5' Enter
shows 'layer'
keys C-c
is_intact 'report --follow'

echo '== the end of the program'
keys 'clear; ./optrace top run.optrace --every 0.3' Enter
shows 'recording'
kill -KILL "$program"
wait "$program" 2>/dev/null || true
program=
shows 'the process has ended without finishing the recording'
keys q
is_intact 'the end of the program'
