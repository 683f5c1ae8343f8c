#!/usr/bin/env bash
# Packages the published crates as `cargo publish` would, checks the files in each package, and compiles each
# from its package alone. Uncommitted changes are packaged too. Needs cargo 1.90, which can package crates
# together that depend on each other and are not in a registry yet.
set -euo pipefail
cd "$(dirname "$0")/.."

crates=(trace-macros trace-core trace-runtime trace-cli)
packages=()
for crate in "${crates[@]}"; do
    packages+=(--package "$crate")
done

failed=0
for crate in "${crates[@]}"; do
    list=$(cargo package --allow-dirty --list --package "$crate")
    for file in Cargo.toml README.md LICENSE-MIT LICENSE-APACHE; do
        if ! grep -qx "$file" <<<"$list"; then
            echo "$crate: the package has no $file" >&2
            failed=1
        fi
    done
    if grep -E '^(benches|examples|target)/|\.(gz|pftrace)$' <<<"$list"; then
        echo "$crate: the package has the files above, which are not for users" >&2
        failed=1
    fi
done
test $failed = 0

cargo package --quiet --allow-dirty "${packages[@]}"
target=$(cargo metadata --format-version 1 --no-deps | sed -E 's/.*"target_directory":"([^"]*)".*/\1/')
for crate in "${crates[@]}"; do
    package=$(ls "$target/package/$crate"-[0-9]*.crate)
    # A symbolic link in the repository must be the text in the package.
    if ! tar -xzOf "$package" --wildcards '*/LICENSE-MIT' | grep -q 'Permission is hereby granted'; then
        echo "$crate: LICENSE-MIT in the package is not the licence" >&2
        exit 1
    fi
    printf '%-14s %6d bytes, %d files\n' "$crate" "$(stat -c %s "$package")" "$(tar -tzf "$package" | wc -l)"
done
