#!/usr/bin/env bash
# Checks that each folder of trace-runtime and trace-core uses only the folders that it may: ARCHITECTURE.md has the reasons.
# Reads the source text. Paths are written as `crate::folder::…`; in trace-core also as `super::folder::…` from the files
# at the top of the crate.
set -euo pipefail
cd "$(dirname "$0")/.."

failed=0
fail() { echo "layers: $*" >&2; failed=1; }

# Source without comments, as `file:line:text`. Names in documentation are not uses.
code() { grep -rnH --include='*.rs' '' "$@" | sed -E 's,^([^:]*:[0-9]+:)[[:space:]]*//.*,\1,; s,[[:space:]]//[[:space:]].*,,'; }

# `super::` in a file at the top of a crate means the crate itself.
follow_super() { if [ -d "$1" ]; then cat; else sed 's/super::/crate::/g'; fi; }

# check CRATE FOLDER ALLOWED...: a folder or file may use itself and the allowed ones.
check() {
    local crate=$1 folder=$2 path uses
    shift 2
    path=$crate/src/$folder
    [ -d "$path" ] || path=$path.rs
    [ -e "$path" ] || { fail "$crate/src/$folder does not exist; correct scripts/layers.sh"; return; }
    uses=$(code "$path" | follow_super "$path" | grep -oE "^[^:]*:[0-9]+:|crate::[a-z_]+" |
        awk -v own="$folder" -v allowed=" $* " -v tops=" ${tops[$crate]} " '
            /^crate::/ { split($0, part, "::"); name = part[2]
                if (name != own && index(tops, " " name " ") && !index(allowed, " " name " ")) print place " uses `" name "`"
                next }
            { place = $0; sub(/:$/, "", place) }')
    if [ -n "$uses" ]; then
        fail "\`$folder\` may use: ${*:-no other folder}"
        echo "$uses" >&2
    fi
}

# Modules by their names at the top of each crate.
declare -A tops
for crate in trace-runtime trace-core; do
    tops[$crate]=$(cd "$crate/src" && ls | sed 's/\.rs$//' | grep -vE '^lib$|\.md$' | tr '\n' ' ')
    # These forms would hide a use from `check`; lists of types at the top of the crate are fine.
    if code "$crate/src" | grep -E 'crate::(\*|\{$|\{([A-Za-z_, ]*[, ])?[a-z_]+(::|,|\}))' >&2; then
        fail "$crate: write one \`use crate::folder::…\` per folder"
    fi
done
for crate in trace-runtime trace-core; do
    # In a folder, a chain of `super::` that leaves it would hide a use from `check`.
    names=$(echo ${tops[$crate]} | tr ' ' '|')
    for folder in "$crate"/src/*/; do
        if code "$folder"*.rs | grep -E "super::($names)::" | grep -vE "super::($(ls "$folder" | sed 's/\.rs$//' | tr '\n' '|')-)::" >&2; then
            fail "$crate: name another folder by \`crate::\`, not by \`super::\`"
        fi
    done
    if code "$crate"/src/*/ | grep -E "(super::)+($names)::" | grep -E 'super::super::super::' >&2; then
        fail "$crate: a chain of \`super::\` leaves its folder; name it by \`crate::\`"
    fi
done

check trace-runtime model
check trace-runtime record model export
check trace-runtime read model
check trace-runtime analyze model units
check trace-runtime report analyze model units csv_text printable
check trace-runtime export analyze model report csv_text printable
check trace-runtime units
check trace-runtime printable
check trace-runtime csv_text analyze printable units

# Only `record` and `model` may use the recorder.
if code trace-runtime/src/{read,analyze,report,export} | grep -E 'trace_core::__engine' >&2; then
    fail '`trace_core::__engine` is for `model` and `record`'
fi

# The files that describe tensors do not use the recorder, and neither uses the tensor libraries.
for file in device dtype element kind slices describe pointers library; do
    check trace-core "$file" describe slices library containers
done
check trace-core engine describe device dtype element kind library site_name slices tensor_like
check trace-core tensors containers describe element slices

[ $failed = 0 ] || exit 1
echo 'layers: every folder uses only what it may'
