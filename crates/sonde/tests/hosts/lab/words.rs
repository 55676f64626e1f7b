//! Words of `sonde lab`, and its refusals.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use testbed::process::copy_program;

use crate::lab::scene::{User, said};

#[test]
fn labs_are_listed_for_people_and_for_programs() {
    let Some(user) = User::new("the list of labs") else { return };
    let output = user.lab(&["list"]).output().unwrap();
    assert!(output.status.success() && output.stdout.is_empty(), "{}", said(&output));
    assert!(said(&output).contains("no lab stands here"));
    let lab = user.up(&["--hosts", "2"]);
    let text = user.done(&["list"]);
    let line: Vec<_> = text.lines().nth(1).unwrap().split_whitespace().take(4).map(str::to_owned).collect();
    assert_eq!(line, [&lab.id, "2", "namespaces", "ready"]);
    let document: serde_json::Value = serde_json::from_str(&user.done(&["list", "--json"])).unwrap();
    assert_eq!((&document["format"], &document["labs"][0]["hosts"]), (&"sonde-labs".into(), &2.into()));
    assert_eq!(document["labs"][0]["listed"][1]["internal"], "10.182.0.2");
}

#[test]
fn down_without_a_name_means_the_one_there_is() {
    let Some(user) = User::new("removing the one lab") else { return };
    let output = user.lab(&["down"]).output().unwrap();
    assert!(said(&output).contains("no lab stands here"));
    let [one, two] = [(); 2].map(|()| user.up(&["--hosts", "1"]));
    let output = user.lab(&["down"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains(&one.id) && said(&output).contains(&two.id), "{}", said(&output));
    one.down();
    user.done(&["down"]);
    assert_eq!(user.noted(), [""; 0]);
}

#[test]
fn labs_that_stand_are_cleaned_by_their_age_alone() {
    let Some(user) = User::new("cleaning by age") else { return };
    let lab = user.up(&["--hosts", "1"]);
    user.done(&["clean"]);
    user.done(&["clean", "--older-than", "1h"]);
    assert!(user.done(&["list"]).contains("ready"));
    // As if it had been made two hours ago.
    let note = lab.files().with_extension("json");
    let text = fs::read_to_string(&note).unwrap();
    let mut document: serde_json::Value = serde_json::from_str(&text).unwrap();
    let made = document["made_ns"].as_u64().unwrap();
    document["made_ns"] = (made - 7_200_000_000_000).into();
    fs::write(&note, document.to_string()).unwrap();
    user.done(&["clean", "--older-than", "1h"]);
    assert_eq!(user.noted(), [""; 0]);
}

#[test]
fn what_is_left_of_before_the_machine_was_started_is_files_alone() {
    let Some(user) = User::new("a lab of before the machine was started") else { return };
    let lab = user.up(&["--hosts", "1"]);
    let note = lab.files().with_extension("json");
    let text = fs::read_to_string(&note).unwrap();
    let mut document: serde_json::Value = serde_json::from_str(&text).unwrap();
    document["boot"] = "another".into();
    // Whoever has this number now is somebody else.
    document["processes"] = serde_json::json!([{ "pid": std::process::id(), "started": 1, "what": "sshd of h1" }]);
    fs::write(&note, document.to_string()).unwrap();
    assert!(user.done(&["list"]).contains("gone"));
    // Here the machine was not started anew, and its namespace has to go too.
    fs::write(&note, text).unwrap();
    lab.down();
}

#[test]
fn a_note_that_is_damaged_is_no_obstacle() {
    let Some(user) = User::new("a lab whose note is damaged") else { return };
    let lab = user.up(&["--hosts", "2"]);
    fs::write(lab.files().with_extension("json"), "{ \"format\": ").unwrap();
    assert!(user.done(&["list"]).contains("cut short"));
    user.done(&["clean"]);
    lab.on("h1", &["true"]).output().map(|output| assert!(!output.status.success())).unwrap();
    assert_eq!(user.noted(), [""; 0]);
}

#[test]
fn without_a_home_it_is_said_where_labs_are_noted() {
    let program = assert_cmd::cargo::cargo_bin!("sonde");
    let output = Command::new(program).args(["lab", "list"]).env_clear().output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("XDG_STATE_HOME"), "{}", said(&output));
}

#[test]
fn what_makes_no_sense_is_refused_before_anything_is_made() {
    let Some(user) = User::new("labs that make no sense") else { return };
    for words in [
        &["up"][..],
        &["up", "--hosts", "0"],
        &["up", "--hosts", "101"],
        &["up", "--hosts", "2", "--zones", "3"],
        &["up", "--hosts", "2", "--worse", "h3"],
        &["up", "--hosts", "2", "--name", "../../etc"],
        &["up", "--hosts", "2", "--output", "/nowhere/hosts.toml"],
        &["down", "../../etc"],
        &["clean", "--older-than", "yesterday"],
    ] {
        let output = user.lab(words).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{words:?}: {}", said(&output));
        assert!(said(&output).contains("error: ") && output.stdout.is_empty(), "{words:?}: {}", said(&output));
    }
    assert!(!user.home().join("state").exists());
}

/// Returns true where the device that a worse path takes is open to all users, as it is on most systems.
fn everybody_may_make_tunnels() -> bool {
    fs::metadata("/dev/net/tun").is_ok_and(|device| device.permissions().mode() & 0o006 == 0o006)
}

#[test]
fn without_root_a_lab_takes_a_user_namespace_and_no_sshd() {
    let Some(user) = User::new("a lab without root") else { return };
    let home = user.home().join("nobody");
    fs::create_dir(&home).unwrap();
    let program = home.join("sonde");
    copy_program(assert_cmd::cargo::cargo_bin!("sonde"), &program);
    let allow = Command::new("chown").args(["-R", "65534:65534"]).arg(user.home()).status().unwrap();
    assert!(allow.success());
    let as_nobody = |words: &[&str]| {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]).arg(&program);
        command.arg("lab").args(words).env("XDG_STATE_HOME", home.join("state")).env_remove("XDG_RUNTIME_DIR");
        command.output().expect("setpriv (util-linux)")
    };
    let output = as_nobody(&["up", "--hosts", "2", "--ssh"]);
    assert!(said(&output).contains("takes root"), "{}", said(&output));
    let id = crate::lab::scene::name();
    let mut up = vec!["up", "--hosts", "2", "--name", &id];
    if everybody_may_make_tunnels() {
        up.extend(["--worse", "h2", "--delay", "1ms"]);
    } else {
        testbed::skip::aloud("a worse path in a lab without root: /dev/net/tun is closed to users here");
    }
    let output = as_nobody(&up);
    if !output.status.success() {
        assert!(said(&output).contains("user namespace"), "{}", said(&output));
        return testbed::skip::aloud("a lab without root: no user namespaces for users here");
    }
    let way = lab::transport::ways::Ways::new("/tmp", Some(home.join("state/sonde/lab")));
    let list: toml::Table = toml::from_str(&String::from_utf8(output.stdout).unwrap()).unwrap();
    let hosts: Vec<logbook::host::Host> = list["hosts"].clone().try_into().unwrap();
    // As the same user: another's user namespace is not to be gone into as one's own.
    let way = way.to(&hosts[0]).unwrap().command(&["ip".into(), "-o".into(), "address".into()]);
    let mut command = Command::new("setpriv");
    command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]).arg(way.get_program());
    let output = command.args(way.get_args()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("10.182.0.1/24"), "{text}{}", String::from_utf8_lossy(&output.stderr));
    let output = as_nobody(&["down"]);
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(fs::read_dir(home.join("state/sonde/lab")).unwrap().count(), 0);
}
