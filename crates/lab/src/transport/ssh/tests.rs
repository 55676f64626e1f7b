//! Arguments of `ssh` and the reading of its end, with stand-ins for it. The real one is asked where the labs are tested.

use std::path::Path;

use super::*;

/// Stand-in for `ssh` here: it runs the command that `ssh` would have run there, in this environment.
const STAND_IN: &str = r#"for word; do last=$word; done; HOME=$0 exec sh -c "$last""#;

fn told(through: &[&str]) -> host::Ssh {
    host::Ssh {
        to: "root@h1".into(),
        port: Some(2222),
        key_file: Some("/keys/id".into()),
        options: vec!["ProxyJump=bastion".into()],
        through: through.iter().map(ToString::to_string).collect(),
    }
}

fn way(folder: &Path, through: &[&str]) -> Ssh {
    Ssh::new(told(through), Arc::new(Sockets::below(folder).unwrap())).unwrap()
}

#[test]
fn what_the_user_set_stands_before_what_is_set_here() {
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    let way = way(folder.path(), &["ip", "netns", "exec", "switch"]);
    let command = way.command(&["/c/sonde".into(), "agent".into(), "it's".into()]);
    let words: Vec<_> =
        std::iter::once(command.get_program()).chain(command.get_args()).map(|word| word.to_str().unwrap()).collect();
    assert_eq!(words[..9], ["ip", "netns", "exec", "switch", "ssh", "-T", "-o", "BatchMode=yes", "-o"]);
    assert_eq!(words[9], "ProxyJump=bastion");
    let end =
        ["-p", "2222", "-i", "/keys/id", "-o", "IdentitiesOnly=yes", "--", "root@h1", r"exec /c/sonde agent 'it'\''s'"];
    assert!(words.ends_with(&end), "{words:?}");
    assert!(words.contains(&"ControlMaster=auto") && words.contains(&"ConnectTimeout=10"), "{words:?}");
}

#[test]
fn hosts_of_one_address_by_two_ways_share_no_connection() {
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    let sockets = Arc::new(Sockets::below(folder.path()).unwrap());
    let [one, two, again] =
        [&["a"][..], &["b"], &["a"]].map(|through| Ssh::new(told(through), Arc::clone(&sockets)).unwrap().socket());
    assert_ne!(one, two);
    assert_eq!(one, again);
    assert!(one.len() + 40 + 18 - "%C".len() <= 108, "{one}");
}

#[test]
fn an_option_is_no_destination() {
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    let sockets = Arc::new(Sockets::below(folder.path()).unwrap());
    for to in ["", "-oProxyCommand=reboot"] {
        let failure = Ssh::new(host::Ssh { to: to.into(), ..told(&[]) }, Arc::clone(&sockets)).unwrap_err();
        assert!(failure.what.contains("is no destination"), "{failure:?}");
    }
}

#[test]
fn the_program_goes_through_ssh_whole() {
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    let home = folder.path().join("a home");
    let way = way(folder.path(), &["sh", "-c", STAND_IN, home.to_str().unwrap()]);
    let path = folder.path().join("program");
    std::fs::write(&path, "#!/bin/sh\necho \"$@\"\n").unwrap();
    let output = Command::new("sha256sum").arg(&path).output().unwrap();
    let sha256 = String::from_utf8(output.stdout).unwrap()[..64].to_owned();
    let file = way
        .put(&Program::new(&path, &std::fs::read(&path).unwrap(), sha256), Nanos::secs(60), &Stop::default())
        .unwrap();
    assert!(Path::new(&file).starts_with(&home), "{file}");
    let output = way.command(&[file.clone(), "two words".into(), "$HOME".into()]).output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "two words $HOME\n");
    way.clean(Nanos::secs(60), &Stop::default()).unwrap();
    assert!(!Path::new(&file).exists());
}

#[test]
fn a_hang_is_bounded_and_said() {
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    let way = way(folder.path(), &["sh", "-c", "echo stuck >&2; exec sleep 600"]);
    let program = Program::new("/bin/true", &[], "0".repeat(64));
    let begun = endpoint::clock::Monotonic::now();
    let failure = way.put(&program, Nanos::millis(300), &Stop::default()).unwrap_err();
    let took = endpoint::clock::Monotonic::now().since(begun).unwrap();
    assert!(took < Nanos::secs(60), "{took}");
    assert!(failure.what.contains("nothing came of it for 300 ms") && failure.what.ends_with("stuck"), "{failure:?}");
    let stop = Stop::default();
    stop.request();
    assert!(way.put(&program, Nanos::secs(600), &stop).unwrap_err().what.contains("asked to stop"));
}

#[test]
fn what_stands_in_front_and_is_not_there_is_said() {
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    let way = way(folder.path(), &["/nowhere/wrapper"]);
    let program = Program::new("/bin/true", &[], "0".repeat(64));
    let failure = way.put(&program, Nanos::secs(60), &Stop::default()).unwrap_err();
    assert!(failure.what.contains("`ssh` does not start"), "{failure:?}");
}

#[test]
fn an_error_of_ssh_is_told_as_its_kind() {
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    let way =
        way(folder.path(), &["sh", "-c", "echo 'root@h1: Permission denied (publickey,password).' >&2; exit 255"]);
    let program = Program::new("/bin/true", &[], "0".repeat(64));
    let failure = way.put(&program, Nanos::secs(60), &Stop::default()).unwrap_err();
    assert!(failure.what.starts_with("root@h1: cannot look for the program there: it wants a password"), "{failure:?}");
    assert!(failure.hint.unwrap().contains("ssh-copy-id root@h1"));
}
