//! Pre-shared keys.

use std::os::unix::fs::PermissionsExt;

use predicates::str::contains;
use protocol::native::key::Key;

use crate::sonde_in;

#[test]
fn a_key_is_new_each_time_sound_and_for_its_owner_alone() {
    let folder = tempfile::tempdir().unwrap();
    let made = |name: &str| {
        sonde_in(folder.path(), &["key", name]).assert().success().stdout("");
        let path = folder.path().join(name);
        let mode = std::fs::metadata(&path).unwrap().permissions().mode() & 0o7777;
        assert_eq!(mode, 0o600);
        Key::parse(&std::fs::read_to_string(path).unwrap()).unwrap()
    };
    assert_ne!(made("a.key"), made("b.key"));
}

#[test]
fn a_key_in_use_is_never_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    sonde_in(folder.path(), &["key", "a.key"]).assert().success();
    let before = std::fs::read(folder.path().join("a.key")).unwrap();
    sonde_in(folder.path(), &["key", "a.key"]).assert().code(2).stderr(contains("exists already"));
    assert_eq!(std::fs::read(folder.path().join("a.key")).unwrap(), before);
}

#[test]
fn a_folder_that_is_not_there_is_told() {
    let folder = tempfile::tempdir().unwrap();
    sonde_in(folder.path(), &["key", "no/a.key"]).assert().code(2).stderr(contains("no/a.key: cannot make"));
}
