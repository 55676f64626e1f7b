//! Labs that are cut short: by a signal at a step that is known, and killed at one. Whatever was made by then is removed.
//!
//! The programs that a lab is made by are stood in for by a script that counts, sends the signal at its step, and then does what it
//! was called for: so the moment is exact, and what was in flight goes on behind the back of the killed.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::Command;

use test_case::test_case;

use crate::lab::scene::{Left, User, left, name, said};

/// A folder that can be made once is a number that is taken once: calls may come at the same time.
const STAND_IN: &str = "#!/bin/sh
here=${0%/*}
call=1
until mkdir \"$here/calls/$call\" 2>/dev/null || [ \"$call\" -gt 999 ]; do call=$((call + 1)); done
if [ \"$call\" = \"$(cat \"$here/at\")\" ]; then kill -\"$(cat \"$here/signal\")\" $PPID; fi
PATH=${PATH#*:}
exec \"${0##*/}\" \"$@\"
";

/// Programs of which calls are counted.
struct Steps(PathBuf);

impl Steps {
    fn new(user: &User) -> Self {
        let folder = user.home().join("steps");
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("stand-in"), STAND_IN).unwrap();
        fs::set_permissions(folder.join("stand-in"), fs::Permissions::from_mode(0o755)).unwrap();
        for name in ["ip", "tc", "ssh-keygen"] {
            symlink("stand-in", folder.join(name)).unwrap();
        }
        Self(folder)
    }

    /// `command` with them; at the call of this number, from 1, `signal` is sent to it.
    fn at<'a>(&self, command: &'a mut Command, call: u32, signal: &str) -> &'a mut Command {
        let calls = self.0.join("calls");
        if calls.exists() {
            fs::remove_dir_all(&calls).unwrap();
        }
        fs::create_dir(calls).unwrap();
        for (name, text) in [("at", &*call.to_string()), ("signal", signal)] {
            fs::write(self.0.join(name), text).unwrap();
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{}", self.0.display(), path.display()))
    }

    /// Calls since the last [`Self::at`].
    fn calls(&self) -> u32 {
        fs::read_dir(self.0.join("calls")).unwrap().count() as u32
    }
}

/// Words of a lab with every kind of step.
fn words() -> Vec<&'static str> {
    let mut words = vec!["up", "--hosts", "3", "--rate", "1G", "--worse", "h2", "--delay", "1ms", "-q"];
    if std::path::Path::new("/usr/sbin/sshd").exists() {
        words.push("--ssh");
    } else {
        testbed::skip::aloud("labs with sshds that are cut short: no sshd (openssh-server)");
    }
    words
}

/// All calls where there are few, else the first, the last and some between them, drawn with a seed.
fn moments(calls: u32, seed: u64) -> Vec<u32> {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut moments: Vec<u32> = (0..8).map(|_| random.u32(2..calls)).chain([1, 2, calls]).collect();
    moments.sort_unstable();
    moments.dedup();
    moments
}

fn nothing_is_left(user: &User, id: &str, when: u32) {
    assert_eq!(left(id), Left::default(), "at call {when}");
    assert_eq!(user.noted(), [""; 0], "at call {when}");
}

/// Calls of one whole `up`.
fn calls_of(user: &User, steps: &Steps) -> u32 {
    let id = name();
    let output = steps.at(user.lab(&words()).args(["--name", &id]), 0, "0").output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    let calls = steps.calls();
    user.done(&["down", &id]);
    nothing_is_left(user, &id, 0);
    calls
}

#[test_case("INT", 130, 1; "Ctrl-C")]
#[test_case("TERM", 143, 2; "terminated")]
#[test_case("HUP", 129, 3; "its terminal gone")]
fn a_signal_in_the_middle_leaves_nothing(signal: &str, status: i32, seed: u64) {
    let Some(user) = User::new("a lab that a signal ends") else { return };
    let steps = Steps::new(&user);
    // Behind the last calls nobody looks any more whether there was a signal.
    for moment in moments(calls_of(&user, &steps) - 2, seed) {
        let id = name();
        let output = steps.at(user.lab(&words()).args(["--name", &id]), moment, signal).output().unwrap();
        assert_eq!(output.status.code(), Some(status), "at call {moment}: {}", said(&output));
        nothing_is_left(&user, &id, moment);
    }
}

#[test]
fn a_kill_in_the_middle_leaves_nothing_that_clean_does_not_find() {
    let Some(user) = User::new("a lab whose maker is killed") else { return };
    let steps = Steps::new(&user);
    for moment in moments(calls_of(&user, &steps), 4) {
        let id = name();
        let output = steps.at(user.lab(&words()).args(["--name", &id]), moment, "KILL").output().unwrap();
        assert_eq!(output.status.code(), None, "killed at call {moment}: {}", said(&output));
        let listed = user.done(&["list"]);
        assert!(listed.contains(&id) && listed.contains("cut short"), "at call {moment}: {listed}");
        // Calls in flight may come to their end only now.
        user.done(&["clean"]);
        nothing_is_left(&user, &id, moment);
    }
}

#[test]
fn a_kill_while_it_is_removed_leaves_nothing_that_clean_does_not_find() {
    let Some(user) = User::new("a lab whose remover is killed") else { return };
    let steps = Steps::new(&user);
    for moment in 1..=4 {
        let id = name();
        user.done(&[&words()[..], &["--name", &id]].concat());
        let output = steps.at(&mut user.lab(&["down", &id]), moment, "KILL").output().unwrap();
        assert_eq!(output.status.code(), None, "killed at call {moment}: {}", said(&output));
        user.done(&["clean"]);
        nothing_is_left(&user, &id, moment);
    }
}

#[test]
fn a_step_that_fails_leaves_nothing_and_is_said() {
    let Some(user) = User::new("a lab of which a step fails") else { return };
    let steps = Steps::new(&user);
    for moment in moments(calls_of(&user, &steps), 5) {
        // The step is killed in place of the program: it fails, and says nothing.
        let stand_in = STAND_IN.replace("$PPID", "$$");
        fs::write(steps.0.join("stand-in"), stand_in).unwrap();
        let id = name();
        let output = steps.at(user.lab(&words()).args(["--name", &id]), moment, "KILL").output().unwrap();
        assert_eq!(output.status.code(), Some(2), "at call {moment}");
        assert!(said(&output).starts_with(&format!("error: lab {id}: ")), "{}", said(&output));
        nothing_is_left(&user, &id, moment);
    }
}

#[test]
fn who_makes_a_lab_is_not_disturbed_by_clean() {
    let Some(user) = User::new("clean beside a lab that is made") else { return };
    let steps = Steps::new(&user);
    let id = name();
    // It is stopped in the middle, and goes on when others have looked.
    let mut maker = crate::lab::scene::apart(steps.at(user.lab(&words()).args(["--name", &id]), 4, "STOP"));
    let stopped = |pid: u32| fs::read_to_string(format!("/proc/{pid}/stat")).unwrap().contains(") T ");
    while !stopped(maker.id()) {
        assert!(maker.try_wait().unwrap().is_none());
    }
    user.done(&["clean", "--older-than", "0"]);
    assert!(user.done(&["list"]).contains("in work"));
    let output = user.lab(&["down", &id]).output().unwrap();
    assert!(said(&output).contains("somebody makes or removes it right now"), "{}", said(&output));
    let pid = rustix::process::Pid::from_child(&maker);
    rustix::process::kill_process(pid, rustix::process::Signal::CONT).unwrap();
    assert!(maker.wait().unwrap().success());
    user.done(&["down", &id]);
    nothing_is_left(&user, &id, 4);
}
