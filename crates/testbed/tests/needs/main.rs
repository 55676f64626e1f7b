//! Additions of the test set-up to a system's package sources: only the component that lacks, of the system's own
//! distribution, with the keys it has there.

use std::path::Path;
use std::process::{Command, Stdio};

const DEB822: &str = "\
Types: deb
# a remark
URIs: http://deb.debian.org/debian
Suites: bookworm bookworm-updates
Components: main contrib
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
URIs: https://packages.example.org/apt
Suites: stable
Components: main

Enabled: no
Types: deb
URIs: http://old.example.org/debian
Suites: bookworm
Components: main
";

/// Output of `make/apt-component` for a system with these files below `/etc/apt`.
fn printed(kind: &str, component: &str, codename: &str, files: &[(&str, &str)]) -> Option<String> {
    printed_for(&[kind, component, codename], files)
}

fn printed_for(words: &[&str], files: &[(&str, &str)]) -> Option<String> {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("sources.list.d")).unwrap();
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let mut command = Command::new("bash");
    command.arg(root.join("make/apt-component")).args(words).arg(folder.path());
    let Ok(output) = command.stdin(Stdio::null()).output() else {
        testbed::skip::aloud("the package sources that the tests would add: no bash");
        return None;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap())
}

fn stanza(kind: &str, suite: &str, component: &str, rest: &str) -> String {
    format!("Types: {kind}\nURIs: http://deb.debian.org/debian\nSuites: {suite}\nComponents: {component}\n{rest}\n")
}

const SIGNED: &str = "Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg\n";

#[test]
fn the_component_is_added_to_the_suites_of_the_distribution_alone() {
    let Some(text) = printed("deb", "non-free", "bookworm", &[("sources.list.d/debian.sources", DEB822)]) else {
        return;
    };
    let of = |suite| stanza("deb", suite, "non-free", SIGNED);
    assert_eq!(text, of("bookworm") + &of("bookworm-updates"));
}

#[test]
fn a_source_of_one_line_keeps_its_options() {
    let line = "deb [arch=amd64,arm64 signed-by=/keys/a.gpg] http://deb.debian.org/debian noble main restricted # hi\n\
                deb-src http://deb.debian.org/debian noble main\n# deb http://deb.debian.org/debian jammy main\n";
    let Some(text) = printed("deb-src", "multiverse", "noble", &[("sources.list", line)]) else { return };
    let options = "Architectures: amd64 arm64\nSigned-By: /keys/a.gpg\n";
    assert_eq!(text, stanza("deb-src", "noble", "multiverse", options));
}

#[test]
fn what_is_enabled_is_not_added_again() {
    let enabled = DEB822.replace("main contrib", "main non-free");
    let Some(text) = printed("deb", "non-free", "bookworm", &[("sources.list.d/debian.sources", &enabled)]) else {
        return;
    };
    assert_eq!(text, "");
    let own = ("sources.list.d/sonde-tests.sources", &*stanza("deb", "bookworm", "non-free", SIGNED));
    let files = [("sources.list.d/debian.sources", DEB822), own];
    let text = printed("deb", "non-free", "bookworm", &files).unwrap();
    assert_eq!(text, stanza("deb", "bookworm-updates", "non-free", SIGNED));
    let text = printed("deb-src", "non-free", "bookworm", &[("sources.list.d/debian.sources", &enabled)]).unwrap();
    assert_eq!(text.matches("Types: deb-src").count(), 2, "packages are enabled, their sources are not");
}

#[test]
fn all_suites_are_printed_for_lists_that_stand_in_for_the_systems() {
    let own = ("sources.list.d/own.sources", &*stanza("deb-src", "bookworm", "non-free", SIGNED));
    let files = [("sources.list.d/debian.sources", DEB822), own];
    let Some(text) = printed_for(&["--all", "deb-src", "non-free", "bookworm"], &files) else { return };
    let of = |suite| stanza("deb-src", suite, "non-free", SIGNED);
    assert_eq!(text, of("bookworm") + &of("bookworm-updates"));
}

#[test]
fn a_key_in_the_file_goes_along() {
    let key = "Signed-By:\n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n mDME\n -----END PGP PUBLIC KEY BLOCK-----\n";
    let file = DEB822.replace(SIGNED, key);
    let Some(text) = printed("deb", "non-free", "bookworm", &[("sources.list.d/debian.sources", &file)]) else {
        return;
    };
    assert!(text.starts_with(&stanza("deb", "bookworm", "non-free", key)), "{text}");
}
