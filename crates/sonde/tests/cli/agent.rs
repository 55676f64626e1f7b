//! `sonde agent`: orders on standard input, what came of them on standard output; it never outlives who gives the orders, nor what
//! it runs it.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use testbed::wait;

struct Agent {
    child: Child,
    orders: Option<ChildStdin>,
    told: BufReader<ChildStdout>,
}

impl Agent {
    fn start() -> Self {
        let mut child = Command::new(assert_cmd::cargo::cargo_bin!("sonde"))
            .arg("agent")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (orders, told) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, orders, told }
    }

    fn order(&mut self, order: &Value) {
        writeln!(self.orders.as_mut().unwrap(), "{order}").unwrap();
    }

    fn start_job(&mut self, job: u64, words: &[&str], input: Option<&str>) {
        self.order(&json!({"do": "start", "job": job, "words": words, "input": input, "watch": true}));
    }

    /// The next thing that is told of this kind.
    fn told(&mut self, kind: &str) -> Value {
        loop {
            let mut line = String::new();
            assert_ne!(self.told.read_line(&mut line).unwrap(), 0, "it tells more than that");
            let told: Value = serde_json::from_str(&line).unwrap();
            if told["told"] == kind {
                return told;
            }
        }
    }

    /// Processes that it started and that go on.
    fn running(&self) -> Vec<Pid> {
        let all = format!("/proc/{0}/task/{0}/children", self.child.id());
        let all = std::fs::read_to_string(all).unwrap_or_default();
        all.split_whitespace().filter_map(|pid| Pid::from_raw(pid.parse().ok()?)).collect()
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        drop(self.orders.take());
        self.child.wait().unwrap();
    }
}

fn lives(pid: Pid) -> bool {
    let state = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap_or_default();
    !state.is_empty() && !state.contains(") Z")
}

#[test]
fn a_measurement_comes_back_as_it_was_printed() {
    let mut agent = Agent::start();
    let hello = agent.told("hello");
    assert_eq!((&hello["version"], &hello["program"]), (&json!(1), &json!("sonde")));
    agent.start_job(1, &["rtt", "--tcp", "-c", "20", "--json", "--quiet"], None);
    let ended = agent.told("ended");
    let record: Value = serde_json::from_str(ended["printed"].as_str().unwrap()).unwrap();
    assert_eq!((&record["format"], &record["outcome"]["counts"]["answered"]), (&json!("sonde-record"), &json!(20)));
    assert_eq!((&ended["job"], &ended["status"], &ended["not_started"]), (&json!(1), &json!(0), &Value::Null));
}

#[test]
fn a_key_goes_by_standard_input_alone() {
    let key = format!("sonde-key-1:{}\n", "5a".repeat(32));
    let mut agent = Agent::start();
    let serve = ["serve", "--key", "/dev/stdin", "--listen", "127.0.0.1", "--port", "0"];
    agent.start_job(1, &serve, Some(&key));
    let said = agent.told("said")["line"].as_str().unwrap().to_owned();
    let address = said.split_once("listening on ").unwrap().1.split(',').next().unwrap().to_owned();
    for (job, secret, status) in [(2, key.clone(), 0), (3, key.replace("5a", "5b"), 1)] {
        agent.start_job(job, &["rtt", &address, "--udp", "-c", "5", "--json", "--key", "/dev/stdin"], Some(&secret));
        let ended = agent.told("ended");
        assert_eq!((&ended["job"], &ended["status"]), (&json!(job), &json!(status)), "{ended}");
    }
    for pid in agent.running() {
        let line = std::fs::read_to_string(format!("/proc/{}/cmdline", pid.as_raw_nonzero())).unwrap();
        assert!(!line.contains("5a5a"), "{line}");
    }
    agent.order(&json!({"do": "end", "job": 1}));
    assert_eq!(agent.told("ended")["job"], 1);
}

#[test]
fn what_makes_no_sense_is_answered_and_the_next_order_done() {
    let mut agent = Agent::start();
    for rubbish in ["nonsense", "{}", r#"{"do":"dance"}"#, ""] {
        writeln!(agent.orders.as_mut().unwrap(), "{rubbish}").unwrap();
        let why = agent.told("ended")["not_started"].as_str().unwrap().to_owned();
        assert!(why.starts_with("not an order of this version"), "{why}");
    }
    agent.order(&json!({"do": "end", "job": 77}));
    agent.start_job(5, &["--version"], None);
    let ended = agent.told("ended");
    assert_eq!((&ended["job"], &ended["status"]), (&json!(5), &json!(0)));
}

#[test]
fn its_end_is_the_end_of_all_it_runs() {
    let mut agent = Agent::start();
    for job in 1..=3 {
        agent.start_job(job, &["serve", "--port", "0"], None);
        agent.told("said");
    }
    let running = agent.running();
    assert_eq!(running.len(), 3);
    drop(agent.orders.take());
    assert!(agent.child.wait().unwrap().success());
    assert!(!running.into_iter().any(lives));
}

#[test]
fn killed_it_leaves_nothing_behind() {
    let mut agent = Agent::start();
    agent.start_job(1, &["serve", "--port", "0"], None);
    agent.told("said");
    let running = agent.running();
    assert_eq!(running.len(), 1);
    kill_process(Pid::from_raw(i32::try_from(agent.child.id()).unwrap()).unwrap(), Signal::KILL).unwrap();
    agent.child.wait().unwrap();
    wait::until("the reflector has ended too", || !running.iter().any(|pid| lives(*pid)));
}
