//! Every command line of the transcripts on ours: it prints what the original printed, and its values agree.
//!
//! The runs of one number are a scene: a server, and the clients that asked it one after another. Each is played by ours
//! against ours, and where the original can by ours against the original. Commands are those of the transcripts, but for
//! ports and the folder of files. Where ours differs on purpose, the plan says how; `docs/sockperf.md` tells why.

mod judged;
mod read;

use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use rustix::process::Signal;
use testbed::port;
use testbed::process::{Ended, LIMIT};
use testbed::wait;

use crate::sockperf_pairs::ends::{End, Server};
use read::{Transcript, names};

/// Way in which a scene is played, and the differences of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Plan {
    /// As it stands.
    Same,
    /// As it stands, but the original that is installed does not know IPv6.
    Six,
    /// Nothing listens: the text is the same, the status 1.
    NoServer,
    /// The first line alone, where it is not the version's own; help is in words of ours.
    FirstLine,
    /// Refused on standard error with the original's first line, and status 1.
    Complaint,
    /// Refused with this sentence.
    Refused(&'static str),
    /// Interrupted after some seconds, which are far from the end.
    Interrupted,
    /// The server is killed meanwhile: what was measured is printed in front of the error.
    Killed,
    /// A server whose port is taken.
    Taken,
    /// Messages by hand to a server that looks for gaps.
    Gaps,
    /// The server goes into the background.
    Daemon,
}

use Plan::{Complaint, Daemon, FirstLine, Gaps, Interrupted, Killed, NoServer, Refused, Same, Six, Taken};

/// Those of every test: what takes no second, and one of each kind that does.
const SHORT: [(&str, Plan); 16] = [
    ("01-help-version", FirstLine),
    ("01-help-version-3.7", FirstLine),
    ("02-pingpong-udp-3.7", Same),
    ("07-underload-defaults-3.7", Same),
    ("09-pingpong-number", Same),
    ("15-throughput-tcp", Same),
    ("17-playback", Same),
    ("17-playback-3.7", Same),
    ("20-server-down-udp", NoServer),
    ("21-server-down-tcp", NoServer),
    ("24-bad-arguments", Complaint),
    ("25-server-gaps-3.10", Gaps),
    ("25-server-gaps-3.7", Gaps),
    ("29-unix-dgram", Refused("unix socket")),
    ("30-unix-stream", Refused("unix socket")),
    ("36-bind-failure", Taken),
];

/// The others.
const LONG: [(&str, Plan); 30] = [
    ("02-pingpong-udp", Same),
    ("03-underload-udp-10k", Same),
    ("04-underload-udp-100k", Same),
    ("05-underload-tcp-10k", Same),
    ("06-underload-tcp-100k", Same),
    ("08-pingpong-full-rtt", Same),
    ("10-pingpong-burst", Same),
    ("11-pingpong-full-log", Same),
    ("11-pingpong-full-log-3.7", Same),
    ("12-pingpong-histogram", Same),
    ("13-pingpong-tcp-data-integrity", Same),
    ("14-throughput-udp-max", Same),
    ("16-throughput-range", Same),
    ("18-feedfile", Same),
    ("19-feedfile-threads", Same),
    ("22-underload-max", Same),
    ("23-activity", Same),
    ("26-underload-tcp-skip-blocking", Same),
    ("27-sigint", Interrupted),
    ("28-ipv6-unix", Six),
    ("31-aliases", Same),
    ("32-client-bind", Same),
    ("33-debug", Same),
    ("34-interop-37client-310server", Same),
    ("35-interop-310client-37server", Same),
    ("37-tcp-server-killed", Killed),
    ("38-daemonize", Daemon),
    ("39-no-rdtsc-pingpong", Same),
    ("40-no-rdtsc-underload", Same),
    ("41-no-rdtsc-underload-3.7", Same),
];

/// Answers of their server were dropped, doubled and delayed: here they are not.
const LOSSY: [(&str, Plan); 2] = [("42-lossy-underload", Same), ("43-lossy-underload", Same)];

/// Parts of a scene.
struct Scene {
    server: Option<Transcript>,
    clients: Vec<Transcript>,
}

impl Scene {
    fn of(name: &str) -> Self {
        let part = |of: &str| of.strip_prefix(name).map(str::to_owned);
        let own = |of: &&String| {
            part(of).is_some_and(|rest| rest.is_empty() || rest[1..].parse::<u32>().is_ok() || rest == "-server")
        };
        let own: Vec<String> = names().iter().filter(own).cloned().collect();
        let (servers, clients): (Vec<_>, Vec<_>) = own.iter().partition(|of| of.ends_with("-server"));
        let read = |names: Vec<&String>| names.into_iter().map(|name| Transcript::of(name)).collect::<Vec<_>>();
        Self { server: read(servers).pop(), clients: read(clients) }
    }

    fn transcripts(&self) -> impl Iterator<Item = &Transcript> {
        self.server.iter().chain(&self.clients)
    }
}

#[test]
fn every_transcript_has_its_scene() {
    let told = |(name, _): &(&str, Plan)| Scene::of(name).transcripts().map(|of| of.name.clone()).collect::<Vec<_>>();
    let mut told: Vec<String> = SHORT.iter().chain(&LONG).chain(&LOSSY).flat_map(told).collect();
    told.sort_unstable();
    assert_eq!(told, names());
}

#[test]
fn the_short_ones_print_the_same_and_agree() {
    assert_played(&SHORT);
}

#[test]
fn the_long_ones_print_the_same_and_agree() {
    if std::env::var_os("SONDE_TRANSCRIPTS").is_none() {
        let longer = LONG.len() + LOSSY.len();
        let what = "scenes of sockperf's transcripts that take seconds: `make transcripts` runs their command lines";
        return testbed::skip::aloud(&format!("{longer} {what}"));
    }
    assert_played(&[&LONG[..], &LOSSY].concat());
}

/// Plays all of them, two at a time.
fn assert_played(scenes: &[(&'static str, Plan)]) {
    let (next, complaints) = (Mutex::new(scenes.iter()), Mutex::new(Vec::new()));
    let work = || {
        loop {
            let taken = next.lock().expect("the others go on").next();
            let Some((name, plan)) = taken else { break };
            complaints.lock().expect("the others go on").extend(played(name, *plan));
        }
    };
    thread::scope(|scope| {
        scope.spawn(work);
        scope.spawn(work);
    });
    let complaints = complaints.into_inner().expect("all have gone on");
    assert!(complaints.is_empty(), "{}", complaints.join("\n\n"));
}

/// Returns true where a test by number took longer than sockperf allows: half as long again as its warm-up lets expect
/// (`RunTime Estimate`). Both ends then tell so instead, as on a host that got slower meanwhile. The timer runs before the
/// first message leaves, so that the time of the messages alone (`RunTime`) may be shorter.
fn ended_by_its_timer(told: &str) -> bool {
    let number =
        |before: &str, behind: &str| -> Option<f64> { told.split_once(before)?.1.split_once(behind)?.0.parse().ok() };
    let over = number("Time out in ", " sec").zip(number(") after ", "s\n"));
    told.contains("Test end (interrupted by timer)") && over.is_some_and(|(most, took)| took >= most)
}

#[test]
fn a_timer_runs_from_before_the_first_message() {
    let told = |took: &str| {
        let lines = "Time out in 1.916 sec\nTest end (interrupted by timer)\n[Total Run] RunTime=1.818 sec;";
        ended_by_its_timer(&format!("status Some(8) after {took}\n--- stdout\n{lines}"))
    };
    assert!(told("1.99s") && !told("1.50s") && !told("999.99ms"));
}

/// Faults of a scene, with the end that has them.
fn played(name: &str, plan: Plan) -> Vec<String> {
    let scene = Scene::of(name);
    let alone = matches!(plan, NoServer | FirstLine | Complaint | Refused(_) | Taken | Gaps | Daemon | Six);
    let what = format!("the transcript {name}, ours against the original");
    let ends = if alone || !End::Real.is_here(&what) { vec![End::Ours] } else { vec![End::Ours, End::Real] };
    let of = |with: End| {
        let mut wrong = Play::new(with).scene(&scene, plan);
        let played = wrong.len();
        wrong.retain(|wrong| !ended_by_its_timer(wrong));
        if wrong.len() < played {
            let why = "this host took half as long again as its warm-up, which ends a test by number";
            testbed::skip::aloud(&format!("the transcript {name}, ours against {with}: {why}"));
        }
        wrong.into_iter().map(|wrong| format!("{name}, ours against {with}: {wrong}")).collect::<Vec<_>>()
    };
    thread::scope(|scope| {
        let running: Vec<_> = ends.into_iter().map(|with| scope.spawn(move || of(with))).collect();
        running.into_iter().flat_map(|thread| thread.join().expect("a thread of this test")).collect()
    })
}

/// A scene in the hands of one pair.
struct Play {
    with: End,
    port: String,
    folder: tempfile::TempDir,
}

impl Play {
    fn new(with: End) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("pb.csv"), read::file("17-playback.pb.csv")).expect("written");
        let lines = ["U", "U", "T", "T"].map(|letter| format!("{letter}:127.0.0.1:{}\n", port::free()));
        std::fs::write(folder.path().join("feed.txt"), lines.concat()).expect("written");
        Self { with, port: port::free().to_string(), folder }
    }

    /// The words of a command as it is run here.
    fn words(&self, of: &Transcript) -> Vec<String> {
        let mut words = of.words.clone();
        if let Some(at) = words.iter().position(|word| word == "-p") {
            words.drain(at..=at + 1);
        }
        for word in &mut words {
            if [".csv", "feed.txt"].iter().any(|end| word.ends_with(end)) {
                *word = self.folder.path().join(&*word).display().to_string();
            } else if word == "4321" {
                *word = port::free().to_string();
            }
        }
        if !words.iter().any(|word| word == "-f") {
            words.extend(["-p".to_owned(), self.port.clone()]);
        }
        words
    }

    fn scene(&self, scene: &Scene, plan: Plan) -> Vec<String> {
        match plan {
            FirstLine | Complaint | Refused(_) => scene.transcripts().filter_map(|of| refused(of, plan)).collect(),
            NoServer => scene.clients.iter().flat_map(|of| self.client(of, plan, &mut 0.0)).collect(),
            Taken => self.taken(&scene.clients),
            Gaps => self.gaps(scene.server.as_ref().expect("a server")),
            Daemon => self.daemon(&scene.clients),
            Killed => scene.clients.iter().flat_map(|of| self.killed(of)).collect(),
            Same | Six | Interrupted => self.served(scene, plan),
        }
    }

    /// A server with its clients.
    fn served(&self, scene: &Scene, plan: Plan) -> Vec<String> {
        let mut sent = 0.0;
        // A client without a server of its own was run against one of others.
        let words = scene.server.as_ref().map(|of| self.words(of));
        let usual = || ["server", "-i", "127.0.0.1", "-p", &self.port].map(str::to_owned).to_vec();
        let server = Server::of(self.with, &words.unwrap_or_else(usual));
        let mut wrong: Vec<String> = scene.clients.iter().flat_map(|of| self.client(of, plan, &mut sent)).collect();
        let (counted, said) = server.end_told();
        if let (Some(of), End::Ours) = (&scene.server, self.with) {
            wrong.extend(judged::server(of, &said));
        }
        let tcp = scene.clients.iter().any(|of| of.has("--tcp"));
        wrong.extend(judged::counted(counted, sent, tcp, scene.clients.len()));
        wrong
    }

    /// A run of our client; what it sent is added to `sent`.
    fn client(&self, of: &Transcript, plan: Plan, sent: &mut f64) -> Vec<String> {
        let words = self.words(of);
        let running = End::Ours.running(&words);
        if plan == Interrupted {
            pause(3);
            running.signal(Signal::INT);
        }
        let ended = running.end(LIMIT);
        let status = if plan == NoServer { 1 } else { of.status };
        *sent += judged::sent(&ended).unwrap_or(0.0);
        let mut wrong = judged::client(of, &ended, status, plan == NoServer);
        wrong.extend(judged::log(of, &words));
        told(of, &wrong, &ended)
    }

    /// The server goes while it is asked: the error's line comes behind what was measured.
    fn killed(&self, of: &Transcript) -> Vec<String> {
        let server = Server::of(self.with, &["server", "--tcp", "-i", "127.0.0.1", "-p", &self.port]);
        let running = End::Ours.running(&self.words(of));
        pause(2);
        server.kill();
        let ended = running.end(LIMIT);
        drop(server);
        told(of, &judged::cut_short(of, &ended), &ended)
    }

    fn taken(&self, of: &[Transcript]) -> Vec<String> {
        let _first = Server::of(End::Ours, &["server", "-i", "127.0.0.1", "--tcp", "-p", &self.port]);
        let run = |of: &Transcript| {
            let ended = End::Ours.client(&self.words(of));
            told(of, &judged::client(of, &ended, 1, true), &ended)
        };
        of.iter().flat_map(run).collect()
    }

    /// Sends the messages of the transcript's notes, from two sockets, the last of which asks: then all have been seen.
    fn gaps(&self, of: &Transcript) -> Vec<String> {
        let server = Server::of(End::Ours, &self.words(of));
        let message =
            |number: u64, flags: u16| [&number.to_be_bytes()[..], &flags.to_be_bytes(), &[0, 0, 0, 14]].concat();
        let first =
            [(1, 1), (2, 1), (5, 1), (3, 1), (6, 1), (6, 1), (10, 1), (4, 1), (11, 1), (0, 5), (1, 1), (2, 1), (4, 3)];
        for messages in [&first[..], &[(5, 1), (6, 1), (9, 3)]] {
            let socket = std::net::UdpSocket::bind("127.0.0.1:0").expect("a port");
            socket.connect(format!("127.0.0.1:{}", self.port)).expect("connected");
            socket.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
            for (number, flags) in messages {
                socket.send(&message(*number, *flags)).expect("sent");
            }
            socket.recv(&mut [0; 14]).expect("answered");
        }
        let (counted, said) = server.end_told();
        let mut wrong = judged::server(of, &said);
        wrong.extend((counted != Some(15)).then(|| format!("{}: {counted:?} messages, not 15", of.name)));
        wrong
    }

    /// A server in the background and its client.
    fn daemon(&self, of: &[Transcript]) -> Vec<String> {
        let out = self.folder.path().join("out.txt");
        let file = std::fs::OpenOptions::new().append(true).create(true).open(&out).expect("a file");
        let mut command = End::Ours.program();
        let started = command.args(self.words(&of[0])).stdin(std::process::Stdio::null()).stdout(file).status();
        assert!(started.expect("started").success());
        let said = || std::fs::read_to_string(&out).expect("its output");
        wait::until("it serves", || said().split_once("[tid ").is_some_and(|(_, rest)| rest.contains('\n')));
        let wrong = self.client(&of[1], Same, &mut 0.0);
        let text = said();
        let thread = text.split_once("[tid ").and_then(|(_, rest)| rest.split_once(']')).expect("a thread").0;
        // Its first thread has its number.
        let process = thread.parse().ok().and_then(rustix::process::Pid::from_raw).expect("a number");
        rustix::process::kill_process(process, Signal::INT).expect("a server of this test");
        wait::until("its end", || said().contains("cleanupAfterLoop() exit"));
        [wrong, judged::server(&of[0], &said())].concat()
    }
}

/// Fault of a run that is to end before anything is sent.
fn refused(of: &Transcript, plan: Plan) -> Option<String> {
    let ended = End::Ours.client(&of.words);
    told(of, &judged::refusal(of, &ended, plan), &ended).pop()
}

/// Faults, with the run that has them.
fn told(of: &Transcript, wrong: &[String], ended: &Ended) -> Vec<String> {
    let run = || format!("{}, `{}`: {}\n{}", of.name, of.words.join(" "), wrong.join("\n"), ended.told());
    (!wrong.is_empty()).then(run).into_iter().collect()
}

/// Before a stimulus that may come at any time of a long run.
fn pause(seconds: u64) {
    let (_keep, never) = std::sync::mpsc::channel::<()>();
    let _ = never.recv_timeout(Duration::from_secs(seconds));
}
