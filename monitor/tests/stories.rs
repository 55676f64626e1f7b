//! A lab of twenty hosts, reached by ssh, and four things that happen there one after the other: terminal, page, metrics, Prometheus, webhook and
//! history tell the same four stories, and before them nothing.
//!
//! The stories take a quiet machine, root, and the programs that are installed: `make stories`.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "a timetable of the world goes by its clock, and the story is told as it happens"
)]

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;
use testbed::port;
use testbed::process::{Ended, Running, ended, started};

/// The kind of what became better.
const BETTER: &str = "faster";
/// Longest run of one command of the stage.
const LIMIT: Duration = Duration::from_mins(3);
/// Longest wait until all agents measure.
const STARTING: Duration = Duration::from_mins(3);
/// Time in which the lookout learns what is usual, and after which it judges: a quarter of an hour of a timetable has to
/// leave room for the rest.
const LEARNING: Duration = Duration::from_mins(4);
/// Time in which nothing happens, and nothing may be told.
const QUIET: Duration = Duration::from_mins(1);
/// Likewise, where nothing happens at all.
const HOUR: Duration = Duration::from_hours(1);
/// Time for which something is made wrong: long enough to be noticed by the promised limit.
const WRONG: Duration = Duration::from_secs(80);
/// Longest time that it may go on to be told after it is right again: a loss ends after three quiet minutes in which it
/// would have shown itself.
const OVER: Duration = Duration::from_mins(7);

/// A lab, which is taken down at the end however that comes.
struct Lab {
    folder: tempfile::TempDir,
    name: String,
    programs: PathBuf,
    listen: u16,
}

impl Drop for Lab {
    fn drop(&mut self) {
        let plan = self.at("plan.toml");
        let mut ending = self.monitor(&["monitor", "end", "--purge"]);
        let agents = ended(ending.arg(plan), LIMIT);
        let down = ended(self.sonde().args(["lab", "down", &self.name]), LIMIT);
        if agents.code != Some(0) || down.code != Some(0) {
            testbed::skip::aloud(&format!("what is left of the lab: {} {}", agents.told(), down.told()));
        }
    }
}

impl Lab {
    fn up(hook: u16) -> Self {
        let beside = Path::new(env!("CARGO_BIN_EXE_sonde-monitor")).parent().expect("a folder").to_owned();
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a folder");
        let programs = std::env::var_os("SONDE_STORIES").map_or(beside, |folder| root.join(folder));
        let name = format!("st{}", std::process::id() % 1_000_000);
        let lab = Self { folder: tempfile::tempdir().unwrap(), name, programs, listen: port::free() };
        let hosts = lab.at("hosts.toml");
        let words = ["lab", "up", "--hosts", "20", "--zones", "4", "--ssh", "--name", &lab.name, "-o"];
        let up = ended(lab.sonde().args(words).arg(&hosts), LIMIT);
        assert_eq!(up.code, Some(0), "{}", up.told());
        let plan = format!(
            "name = \"stories\"\ninventory = [\"hosts.toml\"]\n[measure]\nevery = \"100ms\"\npairs = {{ random = 6 }}\n\
             [[tell]]\nto = \"webhook\"\nurl = \"http://127.0.0.1:{hook}/\"\n"
        );
        fs::write(lab.at("plan.toml"), plan).unwrap();
        lab
    }

    /// A monitor of the lab, once all its agents measure.
    fn watched(&self) -> Running {
        let listen = self.listen.to_string();
        let monitor = started(self.monitor(&["monitor"]).arg(self.at("plan.toml")).args(["--listen", &listen]));
        let begun = Instant::now();
        let measuring = || {
            let now = self.now();
            let hosts = now["hosts"].as_array().unwrap().iter();
            hosts.filter(|host| host["agent"]["standing"] == "measuring").count()
        };
        monitor.until("the page is served", |said| said.contains("page and metrics"));
        while measuring() < 20 {
            assert!(begun.elapsed() < STARTING, "{}", monitor.told());
            pass(Duration::from_secs(1));
        }
        println!("20 agents measure after {:.0?}", begun.elapsed());
        monitor
    }

    /// The monitor's store as `history` tells it.
    fn history(&self) -> Ended {
        ended(self.monitor(&["history"]).arg("--store").arg(self.at("state/sonde/monitor.db")), LIMIT)
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn sonde(&self) -> Command {
        let mut command = Command::new(self.programs.join("sonde"));
        command.env("XDG_STATE_HOME", self.at("state"));
        command
    }

    fn monitor(&self, words: &[&str]) -> Command {
        let mut command = Command::new(self.programs.join("sonde-monitor"));
        command.args(words).env("XDG_STATE_HOME", self.at("state"));
        command
    }

    /// Does `words` in a host.
    fn within(&self, host: &str, words: &[&str]) {
        let namespace = format!("sondelab-{}-{host}", self.name);
        let done = ended(Command::new("ip").args(["netns", "exec", &namespace]).args(words), LIMIT);
        assert_eq!(done.code, Some(0), "{}", done.told());
    }

    /// Loses a share of what goes out of a host, by chance: behind its interface, for a rule in the host itself would be told to who sends.
    fn lose(&self, host: &str, percent: u32, to: Option<&str>) {
        let to = to.map(|to| format!("ip daddr {to} ")).unwrap_or_default();
        let rules = format!(
            "table netdev story {{ chain out {{ type filter hook ingress device \"{host}\" priority 0; \
             {to}udp dport 7665 numgen random mod 100 < {percent} drop; {to}udp sport 7665 numgen random mod 100 < {percent} drop; }}; }}"
        );
        let file = self.at("rules");
        fs::write(&file, rules).unwrap();
        self.within("switch", &["nft", "-f", file.to_str().expect("a name")]);
    }

    fn lose_no_more(&self) {
        self.within("switch", &["nft", "delete", "table", "netdev", "story"]);
    }

    /// The agent of a host.
    fn agent(&self, host: &str) -> String {
        let namespace = format!("sondelab-{}-{host}", self.name);
        let listed = ended(Command::new("ip").args(["netns", "pids", &namespace]), LIMIT).stdout;
        let is_agent = |pid: &&str| {
            fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| {
                String::from_utf8_lossy(&line).contains("agent\0--monitor")
                    || String::from_utf8_lossy(&line).contains("\0--monitor\0")
            })
        };
        listed.lines().find(is_agent).expect("an agent").to_owned()
    }

    fn get(&self, path: &str) -> String {
        fetch(self.listen, path)
    }

    fn now(&self) -> Value {
        serde_json::from_str(&self.get("/api/v1/now")).unwrap()
    }

    fn address(&self, host: &str) -> String {
        let text = fs::read_to_string(self.at("hosts.toml")).unwrap();
        let at = text.find(&format!("name = \"{host}\"\n")).expect("a host");
        let line = text[at..].lines().find(|line| line.starts_with("internal")).expect("an address");
        line.split('"').nth(1).expect("an address").to_owned()
    }
}

/// The body of an answer.
fn fetch(port: u16, path: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    write!(stream, "GET {path} HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let answer = String::from_utf8_lossy(&answer).into_owned();
    answer.split_once("\r\n\r\n").expect("a head").1.to_owned()
}

/// Takes what a webhook is told.
fn hook() -> (u16, Arc<Mutex<Vec<Value>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let told = Arc::<Mutex<Vec<Value>>>::default();
    let keeps = Arc::clone(&told);
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let mut reader = BufReader::new(stream);
            let mut length = 0;
            loop {
                let mut line = String::new();
                if reader.read_line(&mut line).is_err() || line.trim().is_empty() {
                    break;
                }
                if let Some(octets) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                    length = octets.trim().parse().unwrap();
                }
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            keeps.lock().unwrap().push(serde_json::from_slice(&body).unwrap());
            let _answered =
                reader.into_inner().write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        }
    });
    (port, told)
}

/// Debian's Prometheus, where it is installed, on the monitor's metrics.
fn prometheus(lab: &Lab) -> Option<(Running, u16)> {
    if Command::new("prometheus").arg("--version").output().is_err() {
        testbed::skip::aloud("the four stories as Prometheus has them: it is not installed");
        return None;
    }
    let port = port::free();
    let config = lab.at("prometheus.yml");
    let text = format!(
        "global: {{scrape_interval: 2s}}\nscrape_configs:\n- job_name: sonde\n  static_configs: [{{targets: ['127.0.0.1:{}']}}]\n",
        lab.listen
    );
    fs::write(&config, text).unwrap();
    let mut command = Command::new("prometheus");
    command.arg(format!("--config.file={}", config.display()));
    command.arg(format!("--storage.tsdb.path={}", lab.at("tsdb").display()));
    command.arg(format!("--web.listen-address=127.0.0.1:{port}"));
    Some((started(&mut command), port))
}

/// Incidents that are told at a moment, by every way: kind and scope.
type Told = BTreeSet<(String, String)>;

fn by_page(lab: &Lab) -> Told {
    let now = lab.now();
    let text = |incident: &Value, key: &str| incident[key].as_str().unwrap().to_owned();
    now["incidents"].as_array().unwrap().iter().map(|each| (text(each, "kind"), text(each, "scope"))).collect()
}

/// A story: what is made wrong, and what has to be told of it.
struct Story {
    what: &'static str,
    kind: &'static str,
    /// Kinds that may be told of the same place beside it.
    with_it: &'static [&'static str],
    /// One of these.
    scopes: Vec<String>,
    begins: Box<dyn Fn(&Lab)>,
    ends: Box<dyn Fn(&Lab)>,
}

fn stories(lossy: (&str, &str)) -> Vec<Story> {
    let (from, to) = (lossy.0.to_owned(), lossy.1.to_owned());
    let group = format!("/sys/fs/cgroup/cpu/sonde-story-{}", std::process::id());
    let gone = group.clone();
    vec![
        Story {
            what: "h3 loses 5 % of what it sends",
            kind: "loss",
            with_it: &[],
            scopes: vec!["host=h3".to_owned()],
            begins: Box::new(|lab| lab.lose("h3", 5, None)),
            ends: Box::new(Lab::lose_no_more),
        },
        Story {
            what: "one pair loses a fifth",
            kind: "loss",
            with_it: &[],
            scopes: vec![format!("pair={from}>{to}"), format!("pair={to}>{from}")],
            begins: Box::new({
                let from = from.clone();
                move |lab| lab.lose(&from, 20, Some(&lab.address(&to)))
            }),
            ends: Box::new(Lab::lose_no_more),
        },
        Story {
            what: "h9 has too little of a processor",
            kind: "overloaded",
            // With a millisecond of each half second it falls behind, and then neither tells nor answers for a while.
            with_it: &["agent-silent", "silent"],
            scopes: ["client=h9", "server=h9", "host=h9"].map(str::to_owned).to_vec(),
            begins: Box::new(move |lab| {
                fs::create_dir(&group).unwrap();
                fs::write(format!("{group}/cpu.cfs_period_us"), "500000").unwrap();
                fs::write(format!("{group}/cpu.cfs_quota_us"), "1000").unwrap();
                fs::write(format!("{group}/cgroup.procs"), lab.agent("h9")).unwrap();
            }),
            ends: Box::new(move |lab| {
                fs::write("/sys/fs/cgroup/cpu/cgroup.procs", lab.agent("h9")).unwrap();
                fs::remove_dir(&gone).unwrap();
            }),
        },
        Story {
            what: "h12 is off the network",
            kind: "silent",
            with_it: &[],
            scopes: vec!["host=h12".to_owned(), "server=h12".to_owned()],
            begins: Box::new(|lab| lab.within("h12", &["ip", "link", "set", "eth0", "down"])),
            ends: Box::new(|lab| lab.within("h12", &["ip", "link", "set", "eth0", "up"])),
        },
    ]
}

/// Waits that long: a timetable is of the world, not of what is tested.
fn pass(time: Duration) {
    thread::sleep(time);
}

/// An hour in which nothing is done to twenty hosts: nothing is told in it, nothing is said to be wrong, and every cell was asked all the time. A machine
/// may become faster by itself, which is no story, and is printed.
#[test]
#[ignore = "an hour of a quiet machine, as root: make quiet-hour"]
fn a_quiet_hour_tells_nothing() {
    let (hook_port, told) = hook();
    let lab = Lab::up(hook_port);
    let monitor = lab.watched();
    pass(LEARNING + HOUR);
    let mut open = by_page(&lab);
    open.retain(|(kind, _)| kind != BETTER);
    let asked = lab.get("/metrics");
    let asked = asked.lines().filter(|line| line.starts_with("sonde_agent_requests_total")).count();
    let said = monitor.told();
    monitor.signal(Signal::TERM);
    assert_eq!(monitor.end(LIMIT).code, Some(0));
    let history = lab.history();
    println!("{said}\n{}", history.told());
    assert_eq!(asked, 20, "hosts that asked");
    let told = told.lock().unwrap();
    assert!(open.is_empty() && told.is_empty(), "{open:?} {told:?}");
    let incidents = history.stdout.lines().filter(|line| line.contains("(incident "));
    let (better, worse): (Vec<_>, Vec<_>) =
        incidents.partition(|line| line.trim_start_matches(['!', ' ']).starts_with(BETTER));
    println!("for the better: {better:?}");
    assert!(worse.is_empty(), "{}", history.stdout);
}

#[test]
#[ignore = "a quarter of an hour of a quiet machine, as root: make stories"]
fn four_things_that_happen_are_told_the_same_by_every_way() {
    let (hook_port, told) = hook();
    let lab = Lab::up(hook_port);
    let monitor = lab.watched();
    let prometheus = prometheus(&lab);
    pass(LEARNING + QUIET);
    let quiet = by_page(&lab);
    let mut faults: Vec<String> = Vec::new();
    if !quiet.is_empty() || !told.lock().unwrap().is_empty() {
        faults.push(format!("nothing happened, and told was {quiet:?}: {}", monitor.told()));
    }
    // A pair that is measured, of hosts that have no other story.
    let now = lab.now();
    let name = |place: &Value| now["hosts"][place.as_u64().unwrap() as usize]["name"].as_str().unwrap().to_owned();
    let pairs = now["cells"].as_array().unwrap().iter().map(|cell| (name(&cell["from"]), name(&cell["to"])));
    let busy = ["h3", "h9", "h12"];
    let pair = pairs.into_iter().find(|(from, to)| !busy.contains(&&**from) && !busy.contains(&&**to)).expect("a pair");
    for story in stories((&pair.0, &pair.1)) {
        let before = told.lock().unwrap().len();
        let begun = Instant::now();
        (story.begins)(&lab);
        let mut seen = Told::new();
        let mut first = None;
        while begun.elapsed() < WRONG {
            pass(Duration::from_secs(1));
            for each in by_page(&lab) {
                if seen.insert(each.clone()) {
                    println!("{}: {:?} after {:.0?}", story.what, each, begun.elapsed());
                    let is_it = each.0 == story.kind && story.scopes.contains(&each.1);
                    first = first.or(is_it.then(|| begun.elapsed()));
                }
            }
        }
        let metrics = lab.get("/metrics");
        let line = format!("sonde_incidents{{kind=\"{}\"}}", story.kind);
        let counted = metrics.lines().find(|each| each.starts_with(&line)).map(str::to_owned);
        let queried = prometheus.as_ref().map(|(_, port)| {
            let query =
                format!("/api/v1/query?query=max_over_time(sonde_incidents%7Bkind%3D%22{}%22%7D%5B90s%5D)", story.kind);
            fetch(*port, &query)
        });
        (story.ends)(&lab);
        let hook: Vec<String> = told.lock().unwrap()[before..]
            .iter()
            .map(|each| each["alerts"][0]["labels"]["scope"].to_string())
            .collect();
        println!("{}: metrics {counted:?}; webhook {hook:?}", story.what);
        let mut missed = |what: &str| faults.push(format!("{}: {what}; the page had {seen:?}", story.what));
        if first.is_none() {
            missed("not told by its kind and place");
        }
        let is_of_it = |each: &(String, String)| {
            (each.0 == story.kind || story.with_it.contains(&each.0.as_str())) && story.scopes.contains(&each.1)
        };
        if !seen.iter().all(is_of_it) {
            missed("something else was told too");
        }
        if !hook.iter().any(|scope| story.scopes.iter().any(|wanted| scope.contains(wanted))) {
            missed(&format!("the webhook heard {hook:?}"));
        }
        if counted.as_deref().is_none_or(|line| line.ends_with(" 0")) {
            missed(&format!("/metrics has {counted:?}"));
        }
        if queried.as_ref().is_some_and(|answer| !answer.contains("\"value\"") || answer.contains("\"0\"]")) {
            missed(&format!("Prometheus has {queried:?}"));
        }
        let right = Instant::now();
        let mut open = by_page(&lab);
        while !open.is_empty() && right.elapsed() < OVER {
            pass(Duration::from_secs(1));
            open = by_page(&lab);
        }
        println!("{}: over {:.0?} after it is right again", story.what, right.elapsed());
        if !open.is_empty() {
            faults.push(format!("{}: it is over, and told is {open:?}", story.what));
        }
    }
    let said = monitor.told();
    monitor.signal(Signal::TERM);
    assert_eq!(monitor.end(LIMIT).code, Some(0));
    let history = lab.history();
    println!("{said}\n{}", history.told());
    if let Some((running, _)) = prometheus {
        running.signal(Signal::TERM);
        let _ended = running.end(LIMIT);
    }
    for (place, kind) in [("h3", "loss"), (pair.1.as_str(), "loss"), ("h9", "overloaded"), ("h12", "silent")] {
        let is_told = |line: &str| line.trim_start().starts_with(kind) && line.contains(place);
        if !said.contains(place) || !history.stdout.lines().any(is_told) {
            faults.push(format!("{place}: not in the terminal or in the history"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
