# What the cases of make/drivers share. A case is a file of functions: `name`, `words` (what is run) and `advice` (what its user sets) print a cell of
# the table, `prepare` fetches and may say `cannot`, `run` runs in namespaces with sonde's names first in PATH. Sourced, never run.
# shellcheck disable=SC2154  # case, kept and names come from make/drivers

# cannot REASON: this case is not run here.
cannot() {
    printf '%s\n' "$1" >"$kept/reason"
    exit 77
}

need() {
    command -v "$1" >/dev/null || cannot "no \`$1\`; install $2"
}

version() {
    printf '%s\n' "$1" >"$kept/version"
}

# seen WORDS: what came out, behind "works".
seen() {
    printf '%s\n' "$1" >"$kept/seen"
}

# venv PACKAGE…: from PyPI into a virtual environment of the case; the first one's version is the driver's.
venv() {
    [ -x "$kept/venv/bin/python" ] || "${PYTHON:-python3}" -m venv "$kept/venv" || cannot "Python makes no virtual environment here (package python3-venv)"
    "$kept/venv/bin/pip" install --quiet --disable-pip-version-check "$@" || cannot "PyPI gives no $1 here, or it does not build"
    version "$("$kept/venv/bin/pip" show "$1" 2>/dev/null | sed -n 's/^Version: //p')"
}

# checkout NAME: whether SOURCES has it; its folder is $source then, and its commit the driver's version.
checkout() {
    source=${SOURCES:-}/$1
    [ -n "${SOURCES:-}" ] && [ -d "$source" ] || return
    version "$(git -C "$source" rev-parse --short=8 HEAD 2>/dev/null || echo 'a checkout')"
}

# go_install MODULE PATH: the program at that path of a Go module, built into $kept.
go_install() {
    local name
    need go "Go (https://go.dev)"
    name=$(basename "$1")
    if checkout "$name"; then
        (cd "$source" && go build -o "$kept/$name" "./$2") || cannot "the checkout of $name does not build here"
        return
    fi
    mkdir -p "$kept/main"
    (
        cd "$kept/main" || exit 1
        [ -f go.mod ] || go mod init driver
        go get "$1@latest" && go build -o "$kept/$name" "$1/$2"
    ) || cannot "the Go module proxy gives no $1 here, or it does not build; SOURCES may hold a checkout"
    version "$(cd "$kept/main" && go list -m -f '{{.Version}}' "$1")"
}

# go_main MODULE PROGRAM: a small main of ours that uses a module, built into $kept/driver; the module's folder is $module.
go_main() {
    need go "Go (https://go.dev)"
    mkdir -p "$kept/main"
    printf '%s\n' "$2" >"$kept/main/main.go"
    cd "$kept/main" || exit 1
    rm -f go.mod go.sum
    go mod init driver
    if checkout "$(basename "$1")"; then
        go mod edit -require "$1@v0.0.0" -replace "$1=$source"
        # Its own choice of versions, for the newest of each may not fit together.
        sed -n '/^require (/,/^)/p; /^replace /p' "$source/go.mod" >>go.mod
    else
        go get "$1@latest" || cannot "the Go module proxy gives no $1 here; SOURCES may hold a checkout"
        version "$(go list -m -f '{{.Version}}' "$1")"
    fi
    go mod tidy && go build -o ../driver . || cannot "$1 does not build here"
    module=$(go list -m -f '{{.Dir}}' "$1")
    cd - >/dev/null || exit 1
}

# debian_source PACKAGE COMPONENT…: its source below $kept/source ($source), with lists of apt of our own; the system's stay as they are.
debian_source() {
    local package=$1
    shift
    local own=$kept/apt options codename
    for program in apt-get dpkg-source; do need "$program" dpkg-dev; done
    if ! ls "$kept/source/$package"_*.dsc >/dev/null 2>&1; then
        codename=$(make/distribution codename) || cannot "only Debian and Ubuntu are known here"
        mkdir -p "$own/lists/partial" "$kept/source"
        for component; do make/apt-component --all deb-src "$component" "$codename"; echo; done >"$own/own.sources"
        options=(-o "Dir::State::lists=$own/lists" -o "Dir::Etc::sourcelist=$own/own.sources" -o Dir::Etc::sourceparts=/dev/null
            -o APT::Sandbox::User=root -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache=)
        apt-get update -q "${options[@]}" || cannot "apt's lists of sources cannot be had here"
        (cd "$kept/source" && apt-get source -q "${options[@]}" "$package") || cannot "no mirror of apt has the source of $package here; SOURCES may hold a checkout"
    fi
    source=$(find "$kept/source" -mindepth 1 -maxdepth 1 -type d -name "$package-*")
    version "$(sed -n 's/^Version: //p' "$kept/source/$package"_*.dsc | head -n 1) (Debian)"
}

# listens PORT WORD…: starts a server and waits until the port is there.
listens() {
    local port=$1
    shift
    "$@" &
    local serving=$!
    until ss -lntu 2>/dev/null | grep -q ":$port "; do
        kill -0 "$serving" 2>/dev/null || { wait "$serving"; ss -lntu | grep -q ":$port " && return; echo "$*: ended"; exit 1; }
        sleep 0.05
    done
}

# get PORT PATH: a page of a server on this host, by Python, for curl may not be there.
get() {
    python3 - "http://127.0.0.1:$1$2" <<'PY'
import sys, urllib.request
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
print(opener.open(sys.argv[1], timeout=60).read().decode())
PY
}

# above NAME LEAST < metrics: the sample of that name is there and above.
above() {
    awk -v name="$1" -v least="$2" 'index($1, name) == 1 { found = 1; if ($2 <= least) wrong = 1 } END { exit !found || wrong }' ||
        { echo "$1 is not above $2"; exit 1; }
}

# debian_package PACKAGE…: their files into $kept/root, installed nowhere.
debian_package() {
    need dpkg-deb dpkg
    local own=$kept/apt package
    mkdir -p "$kept/root" "$own"
    for package; do
        [ -e "$own/$package" ] && continue
        (cd "$own" && rm -f "$package"_*.deb && apt-get download -q -o APT::Sandbox::User=root "$package" && dpkg-deb -x "$package"_*.deb "$kept/root") ||
            cannot "apt has no $package here ('apt-get update' renews its lists)"
        touch "$own/$package"
    done
}
