//! Scripts for the shell of a host, in the words of POSIX. One line each, and no backslash: the login shell that hands it to
//! `sh` may be another.

/// Beginning of every answer.
pub(super) const MARK: &str = "sonde-put ";

/// `$d` is the folder in the cache, `$f` the program in it.
const PLACE: &str = r#"d="${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/sonde/$1"; f="$d/sonde"; "#;

/// `say` answers; `sum` tells the SHA-256 of its input, by whatever can.
const WORDS: &str = r#"say() { echo "sonde-put $*"; }; has() { command -v "$1" >/dev/null 2>&1; }; sum() { if has sha256sum; then sha256sum; elif has shasum; then shasum -a 256; elif has openssl; then openssl dgst -sha256 -r; fi; }; "#;

/// Runs what is there, to see whether it can be run.
const RUN: &str = r#""$f" --version >/dev/null </dev/null; say ran $?; [ -f "$f" ] || say vanished; "#;

/// Tells what is there, and the best of what can unpack last. Busybox has an xz that knows no filters for programs, and no versions.
pub(super) fn look() -> String {
    let ask = r#"say machine "$(uname -sm)"; say file "$f"; say check "$(sum </dev/null)"; if has gzip; then say gzip; fi; if xz --version >/dev/null 2>&1 </dev/null; then say xz; fi; if [ -f "$f" ]; then s=$(sum <"$f"); say sum "$s"; if [ "${s%% *}" = "$2" ]; then "#;
    format!("{PLACE}{WORDS}{ask}{RUN}fi; fi; exit 0")
}

/// Puts its input there, unpacked where `$3` says how: beside first, and in its place when it is known to be whole. The rest
/// of an upload that was cut off long ago is removed.
pub(super) fn put() -> String {
    let put = r#"fail() { say failed "$1"; exit 1; }; umask 077; mkdir -p "$d" || fail folder; find "$d" -name "part.*" -mmin +60 -exec rm -f {} + 2>/dev/null; p="$d/part.$$"; trap "exit 1" HUP INT TERM PIPE; trap 'rm -f "$p"' EXIT; if [ "$3" = plain ]; then cat >"$p"; else "$3" -dc >"$p"; fi || fail write; s=$(sum <"$p"); [ "${s%% *}" = "$2" ] || fail sum; chmod 700 "$p" || fail mode; if [ -d "$f" ]; then rm -rf "$f"; fi; mv -f "$p" "$f" || fail move; say put; "#;
    format!("{PLACE}{WORDS}{put}{RUN}exit 0")
}

/// Takes the program away, and the folder above where nothing else is in it.
pub(super) fn clean() -> String {
    format!(r#"{PLACE}rm -rf "$d" || exit 1; rmdir "${{d%/*}}" 2>/dev/null; exit 0"#)
}
