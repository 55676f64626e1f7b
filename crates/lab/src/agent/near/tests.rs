//! The near end against agents that are scripts of the shell.

use std::process::Command;

use super::*;
use crate::transport::Program;

/// A host whose agent is a script of the shell.
#[derive(Debug)]
struct Script(&'static str);

impl Transport for Script {
    fn put(&self, _: &Program, _: Nanos, _: &Stop) -> Result<String, Failure> {
        Ok("sonde".to_owned())
    }

    fn command(&self, words: &[String]) -> Command {
        assert_eq!(words, ["sonde", "agent"]);
        let mut command = Command::new("sh");
        command.args(["-c", self.0]);
        command
    }

    fn clean(&self, _: Nanos, _: &Stop) -> Result<(), Failure> {
        Ok(())
    }
}

const HELLO: &str = r#"{"told":"hello","version":1,"program":"sonde","program_version":"0.1.0","kernel":null,"cpus":2,"boot_id":null,"wall_ns":0}"#;

fn start(script: &'static str, patience: Nanos) -> Result<Agent, String> {
    let due = Monotonic::now().after(patience);
    Agent::start("b", &Script(script), "sonde", (due, patience), &Stop::default())
        .map_err(|unstarted| unstarted.failure.what)
}

fn agent(script: &str) -> Agent {
    let script = format!("echo '{HELLO}'; {script}").leak();
    start(script, Nanos::secs(60)).unwrap()
}

fn words(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}

#[test]
fn a_host_may_greet_before_its_agent_does() {
    let script = format!("echo Welcome to b; echo; echo '{HELLO}'; cat >/dev/null").leak();
    let agent = start(script, Nanos::secs(60)).unwrap();
    assert_eq!((agent.hello().cpus, agent.hello().kernel.clone()), (Some(2), None));
    assert!(agent.clock_ahead_ns().unwrap() < -1_000_000_000, "a clock of 1970 is behind ours");
}

#[test]
fn who_does_not_say_hello_is_given_up_with_what_was_said() {
    let told = start("echo 'Permission denied (publickey).' >&2; exit 255", Nanos::secs(60)).unwrap_err();
    assert_eq!(told, "b: its agent is gone: Permission denied (publickey).");
    let told = start("exec sleep 600", Nanos::millis(50)).unwrap_err();
    assert_eq!(told, "b: its agent did not say hello in time");
    let told = start("yes rubbish", Nanos::secs(60)).unwrap_err();
    assert_eq!(told, "b: its agent tells what makes no sense: `rubbish`");
}

#[test]
fn another_version_is_refused() {
    let script = format!("echo '{}'; cat >/dev/null", HELLO.replace("\"version\":1", "\"version\":9")).leak();
    let told = start(script, Nanos::secs(60)).unwrap_err();
    assert_eq!(told, "b: its agent speaks version 9, and this program version 1");
}

#[test]
fn what_an_agent_tells_reaches_whom_it_is_for() {
    let agent = agent(
        r#"read a; read b; printf '%s\n' '{"told":"ended","job":2,"printed":"two","said":"","status":0,"not_started":null}'
        echo '{"told":"said","job":1,"line":"ready now"}'
        echo '{"told":"ended","job":1,"printed":"one","said":"","status":3,"not_started":null}'; cat >/dev/null"#,
    );
    let stop = Stop::default();
    let one = agent.begin(&words("rtt x"), Some("secret"), true).unwrap();
    let two = agent.begin(&words("rtt y"), None, false).unwrap();
    assert_eq!(one.wait_for_word("ready", Nanos::secs(60), &stop).unwrap(), "ready now");
    let (one, two) = (one.wait(Nanos::secs(60), &stop).unwrap(), two.wait(Nanos::secs(60), &stop).unwrap());
    assert_eq!((one.printed.as_str(), one.status), ("one", Some(3)));
    assert_eq!((two.printed.as_str(), two.status), ("two", Some(0)));
}

#[test]
fn what_was_not_started_and_what_ended_too_early_say_why() {
    let agent = agent(
        r#"read a; echo '{"told":"ended","job":1,"printed":"","said":"","status":null,"not_started":"no such file"}'
        read b; printf '%s\n' '{"told":"ended","job":2,"printed":"","said":"error: port 7663: taken\nhint: x","status":2,"not_started":null}'; cat >/dev/null"#,
    );
    let stop = Stop::default();
    let one = agent.begin(&words("rtt x"), None, false).unwrap();
    assert_eq!(one.wait(Nanos::secs(60), &stop).unwrap_err().what, "b: no such file");
    let two = agent.begin(&words("serve"), None, true).unwrap();
    let told = two.wait_for_word("listening", Nanos::secs(60), &stop).unwrap_err().what;
    assert_eq!(told, "b: port 7663: taken");
}

#[test]
fn a_host_that_is_lost_in_the_middle_ends_the_wait() {
    let agent = agent("read a; echo 'Connection to b closed.' >&2; exit 1");
    let run = agent.measure(&words("rtt x"), None, Nanos::secs(600), &Stop::default());
    let Run::Failed(failure) = run else { panic!("there was nothing to measure with") };
    assert!(failure.what.starts_with("b: its agent is gone"), "{}", failure.what);
    assert!(agent.gone().is_some());
    assert!(
        agent.begin(&words("rtt x"), None, false).is_err() || agent.gone().is_some(),
        "nothing more is asked of it"
    );
}

#[test]
fn rubbish_in_the_middle_gives_the_host_up() {
    let agent = agent("read a; echo 'Broadcast message: going down'; cat >/dev/null");
    let run = agent.measure(&words("rtt x"), None, Nanos::secs(600), &Stop::default());
    let Run::Failed(failure) = run else { panic!("there was nothing to measure with") };
    assert_eq!(failure.what, "b: its agent tells what makes no sense: `Broadcast message: going down`");
}

#[test]
fn a_stop_asks_for_what_there_is() {
    // The first order starts, the second ends.
    let agent = agent(
        r#"read a; read b; case $b in *end*) echo '{"told":"ended","job":1,"printed":"partial","said":"","status":130,"not_started":null}';; esac
        cat >/dev/null"#,
    );
    let stop = Stop::default();
    stop.request();
    let job = agent.begin(&words("rtt x"), None, false).unwrap();
    assert_eq!(job.wait(Nanos::secs(600), &stop).unwrap().printed, "partial");
}

#[test]
fn a_measurement_that_was_killed_is_said_to_be() {
    let agent = agent(
        r#"read a; echo '{"told":"ended","job":1,"printed":"","said":"","status":null,"not_started":null}'; cat >/dev/null"#,
    );
    let Run::Failed(failure) = agent.measure(&words("rtt x"), None, Nanos::secs(600), &Stop::default()) else {
        panic!("there was nothing to measure with")
    };
    assert_eq!(failure.what, "b: what measured there was killed before it told anything");
    assert!(failure.hint.unwrap().contains("30 s after it was asked to"));
}

#[test]
fn who_falls_silent_in_the_middle_is_given_up() {
    let script = format!("echo '{HELLO}'; exec sleep 600").leak();
    let agent = start(script, Nanos::millis(900)).unwrap();
    let begun = Monotonic::now();
    let Run::Failed(failure) = agent.measure(&words("rtt x"), None, Nanos::secs(600), &Stop::default()) else {
        panic!("there was nothing to measure with")
    };
    assert_eq!(failure.what, "b: its agent has said nothing for 900 ms, though it was asked");
    assert!(Monotonic::now().since(begun) < Some(Nanos::secs(60)));
    assert!(agent.gone().is_some());
}

#[test]
fn who_is_there_and_busy_is_waited_for() {
    // Twelve times as long as it may say nothing: each question is answered.
    let agent = {
        let script = format!(
            r#"echo '{HELLO}'; read a; n=0; while [ $n -lt 12 ]; do read b; case $b in *answer*) echo '{{"told":"here"}}';; esac; n=$((n + 1)); done
            echo '{{"told":"ended","job":1,"printed":"late","said":"","status":0,"not_started":null}}'; cat >/dev/null"#
        );
        start(script.leak(), Nanos::millis(300)).unwrap()
    };
    let job = agent.begin(&words("rtt x"), None, false).unwrap();
    assert_eq!(job.wait(Nanos::secs(600), &Stop::default()).unwrap().printed, "late");
}

#[test]
fn who_is_asked_answers_or_is_gone() {
    let answers = agent(r#"while read asked; do echo '{"told":"here"}'; done"#);
    assert_eq!(answers.ask(&Stop::default()), Ok(()));
    assert_eq!(answers.ask(&Stop::default()), Ok(()), "each asking wants a word of its own");

    let script = format!("echo '{HELLO}'; exec sleep 600").leak();
    let silent = start(script, Nanos::millis(500)).unwrap();
    let told = silent.ask(&Stop::default()).unwrap_err().what;
    assert!(told.starts_with("b: its agent "), "{told}");
    assert_eq!(silent.gone().map(|failure| failure.what), Some(told));
}

/// A line that has no end: as much is read as the largest record takes, and not held in memory beyond that.
#[test]
fn a_line_without_an_end_is_given_up() {
    let agent = agent("read a; tr '\\0' a </dev/zero");
    let job = agent.begin(&words("rtt x"), None, false).unwrap();
    let failure = job.wait(Nanos::secs(600), &Stop::default()).unwrap_err();
    assert!(failure.what.contains("tells a line of more than 96 MiB"), "{}", failure.what);
}

/// Ends of jobs that nobody began, and more words of one than anybody reads.
#[test]
fn what_nobody_asked_for_is_not_kept() {
    let agent = agent(
        r#"read a; for n in 7 8 9; do echo '{"told":"ended","job":'$n'7,"printed":"x","said":"","status":0,"not_started":null}'; done
        yes '{"told":"said","job":1,"line":"and on"}' | head -n 5000
        yes '{"told":"said","job":99,"line":"and on"}' | head -n 5000
        echo '{"told":"ended","job":1,"printed":"one","said":"","status":0,"not_started":null}'; cat >/dev/null"#,
    );
    let job = agent.begin(&words("rtt x"), None, true).unwrap();
    assert_eq!(job.wait(Nanos::secs(600), &Stop::default()).unwrap().printed, "one");
    let seen = lock(&agent.state.seen);
    assert!(seen.ended.is_empty() && seen.running.is_empty());
    assert_eq!((seen.said.len(), seen.said[&1].len()), (1, 1_000));
}
