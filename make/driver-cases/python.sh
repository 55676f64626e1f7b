# Small Python packages that run a program and read its text.
# shellcheck disable=SC2154
name() { echo '[pingparsing](https://pypi.org/project/pingparsing/), [vaping](https://pypi.org/project/vaping/)'; }
words() { echo 'pingparsing: ping of 5; vaping: `fping -u -C5 -p20 -e`'; }
advice() { echo 'nothing: the names in `PATH`'; }

prepare() {
    venv pingparsing vaping
    version "$("$kept/venv/bin/pip" list --format freeze 2>/dev/null | sed -nE 's/^(pingparsing|vaping)==//p' | paste -sd, | sed 's/,/, /g')"
}

run() {
    "$kept/venv/bin/python" "$cases/python.py"
}
