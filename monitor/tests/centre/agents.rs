//! A centre with many agents. Each is a `cat` that the centre started as the way to it; what it tells comes from here by a pipe with a name.

use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write as _};
use std::path::PathBuf;
use std::process::Command;
use std::{fs, iter};

use jiff::Timestamp;
use serde_json::{Value, json};
use testbed::process::Running;
use testbed::wait;

use super::{LIMIT, Stage, orders};

/// Cells that each agent is assigned.
pub const CELLS: usize = 40;
/// The most that `/metrics` may have, octets.
const MOST: usize = 2_000_000;

/// An agent: the pipe into it, and whom it was told to ask.
pub struct Played {
    into: File,
    asks: Vec<String>,
    seq: u64,
    heard: PathBuf,
}

/// So many hosts in zones of 25, whose agents are played.
pub fn stage(hosts: usize) -> Stage {
    let stage = Stage::new("");
    let at = |name: &str| stage.at(name).display().to_string();
    let script = format!(
        "#!/bin/sh\ncase \"$1\" in key) echo played > \"$2\"; exit 0;; esac\nread -r host\nname=${{host#*'\"name\":\"'}}\nname=${{name%%'\"'*}}\nexec 3<&0\ncat <&3 > {orders}.$name &\nexec cat {told}.$name\n",
        told = at("told"),
        orders = at("orders"),
    );
    fs::write(stage.at("sonde"), script).unwrap();
    let each = (0..hosts).map(|host| {
        format!(
            "[[hosts]]\nname = \"h{host:04}\"\nreach = \"local\"\ninternal = \"10.0.{}.{}\"\nlabels = {{ zone = \"z{:02}\" }}\n",
            host / 250,
            host % 250 + 1,
            host / 25
        )
    });
    let head = format!("name = \"many\"\n[measure]\npairs = {{ random = {CELLS} }}\n");
    fs::write(stage.at("plan.toml"), iter::once(head).chain(each).collect::<String>()).unwrap();
    let pipes = (0..hosts).map(|host| format!("{}.h{host:04}", at("told")));
    assert!(Command::new("mkfifo").args(pipes).status().unwrap().success());
    stage
}

/// Opens the ways into all agents, each of which says hello as soon as the centre comes.
pub fn agents(stage: &Stage, hosts: usize) -> Vec<Played> {
    let open = |host: usize| {
        let path = stage.at(&format!("told.h{host:04}"));
        // For both directions: opening waits for nobody then.
        let mut into = OpenOptions::new().read(true).write(true).open(path).unwrap();
        let hello = json!({"told": "hello", "version": 1, "program": "sonde", "program_version": "0.1.0",
            "instance": format!("018f0000-0000-7000-8000-{host:012}"), "oldest": 1, "given_up": 0, "revision": null,
            "boot_id": null, "wall_ns": Timestamp::now().as_nanosecond() as u64});
        writeln!(into, "{hello}").unwrap();
        Played { into, asks: Vec::new(), seq: 0, heard: stage.at(&format!("orders.h{host:04}")) }
    };
    (0..hosts).map(open).collect()
}

impl Played {
    /// Waits until it is assigned.
    pub fn assigned(&mut self) {
        let path = self.heard.clone();
        wait::until("each agent is assigned", || {
            let found = orders(&path);
            let cells = found.iter().find_map(|order| order["cells"].as_array());
            self.asks = cells.into_iter().flatten().map(|cell| cell["to"].as_str().unwrap().to_owned()).collect();
            !self.asks.is_empty()
        });
    }

    /// A second in which each cell was answered once.
    fn beat(&mut self, at: u64, random: &mut fastrand::Rng) {
        self.seq += 1;
        let mut cells = String::new();
        for to in &self.asks {
            let took = 80_000 + random.u64(0..40_000) + if random.u32(0..100) == 0 { 900_000 } else { 0 };
            let comma = if cells.is_empty() { "" } else { "," };
            write!(cells, "{comma}{{\"to\":\"{to}\",\"times_ns\":[{took}]}}").unwrap();
        }
        let own = r#"{"slip_ns":80000,"cpu_pressure":0.01,"own_cpu":0.002}"#;
        writeln!(self.into, r#"{{"told":"beat","seq":{},"at":{at},"own":{own},"cells":[{cells}]}}"#, self.seq).unwrap();
    }
}

/// A second of all.
pub fn beat(played: &mut [Played], at: u64, random: &mut fastrand::Rng) {
    for each in played {
        each.beat(at, random);
    }
}

fn now() -> u64 {
    Timestamp::now().as_second().unsigned_abs()
}

/// Number of requests of all hosts that were answered, by `/metrics`.
fn answered(metrics: &str) -> u64 {
    let each =
        metrics.lines().filter(|line| line.starts_with("sonde_host_requests_total{") && line.contains("\"answered\""));
    each.map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap()).sum()
}

#[test]
fn a_hundred_agents_are_counted_to_the_last_request() {
    const HOSTS: usize = 100;
    const SECONDS: u64 = 20;
    let stage = stage(HOSTS);
    let mut played = agents(&stage, HOSTS);
    let monitor = stage.start();
    played.iter_mut().for_each(Played::assigned);
    let (mut random, from) = (fastrand::Rng::with_seed(1), super::earlier(5));
    for at in from..from + SECONDS {
        beat(&mut played, at, &mut random);
    }
    let cells: usize = played.iter().map(|each| each.asks.len()).sum();
    assert_eq!(cells, HOSTS * CELLS);
    wait::until("all is counted", || answered(&stage.get("/metrics", "").1) == cells as u64 * SECONDS);
    assert!(stage.get("/metrics", "").1.len() <= MOST);
    let packed = stage.octets("GET /metrics HTTP/1.0\r\nAccept-Encoding: gzip\r\n\r\n").unwrap();
    let end = packed.windows(4).position(|each| each == b"\r\n\r\n").unwrap();
    let head = String::from_utf8_lossy(&packed[..end]).to_ascii_lowercase();
    assert!(head.contains("content-encoding: gzip"), "{head}");
    let mut plain = String::new();
    flate2::read::GzDecoder::new(&packed[end + 4..]).read_to_string(&mut plain).unwrap();
    assert_eq!(answered(&plain), cells as u64 * SECONDS);
    let picture: Value = serde_json::from_str(&stage.get("/api/v1/now", "").1).unwrap();
    assert_eq!(picture["cells"].as_array().unwrap().len(), cells);
    // All of it is long over, and kept: each agent hears up to which beat.
    let heard = |each: &Played| {
        orders(&each.heard)
            .iter()
            .filter(|order| order["do"] == "kept")
            .filter_map(|order| order["upto"].as_u64())
            .max()
    };
    wait::until("each agent hears what is kept", || played.iter().all(|each| heard(each) == Some(SECONDS)));
    monitor.signal(rustix::process::Signal::TERM);
    assert_eq!(monitor.end(LIMIT).code, Some(0));
}

/// Resources of a process so far: processor seconds, and the most memory, octets.
fn taken(process: &Running) -> (f64, u64) {
    let read = |name: &str| fs::read_to_string(format!("/proc/{}/{name}", process.id())).unwrap();
    let stat = read("stat");
    let ticks = stat.rsplit_once(") ").unwrap().1.split(' ').skip(11).take(2).map(|word| word.parse::<f64>().unwrap());
    let status = read("status");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    (ticks.sum::<f64>() / 100.0, peak.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10)
}

/// A thousand agents, each with a beat a second, as time goes by: how much the centre takes. `make agents` says it.
#[test]
#[ignore = "minutes of a machine of its own, and an optimised build: make agents"]
#[expect(clippy::disallowed_macros, reason = "it says what it measured")]
fn a_thousand_agents_take_less_than_a_core() {
    const HOSTS: usize = 1_000;
    /// The most that it may take, octets.
    const MEMORY: u64 = 200_000_000;
    /// Two minutes are kept meanwhile.
    const SECONDS: u64 = 130;
    let stage = stage(HOSTS);
    let mut played = agents(&stage, HOSTS);
    let monitor = stage.start();
    played.iter_mut().for_each(Played::assigned);
    let (mut random, from) = (fastrand::Rng::with_seed(1), now());
    let (begun, _) = taken(&monitor);
    let mut slowest = [(0.0_f64, 0_usize); 2];
    let seconds = || Timestamp::now().as_millisecond() as f64 / 1e3;
    for at in from..from + SECONDS {
        // A second is told when it is over, by one agent after the other.
        wait::until("the second is over", || now() > at);
        beat(&mut played, at, &mut random);
        if at % 5 == 0 {
            for (path, (took, size)) in ["/metrics", "/api/v1/now"].into_iter().zip(&mut slowest) {
                let asked = seconds();
                let (head, body) = stage.get(path, "");
                assert!(head.starts_with("HTTP/1.1 200"), "{path}: {head}");
                (*took, *size) = (took.max(seconds() - asked), body.len());
            }
        }
    }
    let due = played.iter().map(|each| each.asks.len() as u64).sum::<u64>() * SECONDS;
    let all = || wait::within(4 * LIMIT, || answered(&stage.get("/metrics", "").1) == due);
    assert!(all(), "not all is counted");
    let behind = seconds() - (from + SECONDS) as f64;
    let (took, memory) = taken(&monitor);
    // The share is of the time that was told: on a busy machine it may have taken longer.
    let share = (took - begun) / SECONDS as f64;
    eprintln!(
        "{HOSTS} agents with {CELLS} cells each for {SECONDS} s, {due} requests, all counted {behind:.1} s after the last"
    );
    eprintln!("  processor {:.0} %, memory at most {:.0} MB", 100.0 * share, memory as f64 / 1e6);
    for (path, (took, size)) in ["/metrics", "/api/v1/now"].into_iter().zip(slowest) {
        eprintln!("  {path}: {size} octets, at most {took:.2} s");
    }
    monitor.signal(rustix::process::Signal::TERM);
    assert_eq!(monitor.end(LIMIT).code, Some(0));
    assert!(share <= 1.0 && memory <= MEMORY, "more than it was");
}
