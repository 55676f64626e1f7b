# What the scripts here share: finding cargo, running a step and remembering how it ended. Sourced, never run.

# A service or a CI job often starts without the user's PATH.
if ! command -v cargo >/dev/null && [ -r "$HOME/.cargo/env" ]; then
    # shellcheck source=/dev/null
    . "$HOME/.cargo/env"
fi

failed=()

# step NAME COMMAND…: runs it, says how long it took, remembers a failure; the steps after it run all the same.
step() {
    local name=$1 begin=$SECONDS
    shift
    printf '\n== %s\n' "$name"
    if "$@"; then
        printf '== %s: ok (%s s)\n' "$name" $((SECONDS - begin))
    else
        failed+=("$name")
        printf '== %s: FAILED (%s s)\n' "$name" $((SECONDS - begin))
    fi
}

# skipped REASON: one line for the list that a run ends with.
skipped() {
    printf '%s\n' "$1" >>"$SONDE_SKIPS"
}

have() {
    command -v "$1" >/dev/null
}
