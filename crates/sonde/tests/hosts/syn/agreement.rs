//! ping, fping, hping3 and ours on the same pair of hosts at the same time, and tcpdump, which sees what each of them sent
//! and got: the counts are the same, and no time is shorter than what passed the wire. The comparison of times is for
//! optimised programs on a quiet machine: these are neither.

use std::collections::BTreeMap;
use std::fs;
use std::process::Stdio;

use rustix::process::geteuid;
use testbed::process::{Ended, LIMIT, Running, started};

use crate::syn::scene::{Scene, installed, sonde_in};

/// Requests of each, a tenth of a second apart.
const COUNT: usize = 20;

/// Results of a run in a program's own words.
#[derive(Clone, Debug, Default, PartialEq)]
struct Told {
    sent: u64,
    received: u64,
    /// Each round trip, ns.
    times: Vec<u64>,
}

fn nanos(millis: &str) -> u64 {
    (millis.trim().parse::<f64>().unwrap_or_else(|_| panic!("no time: {millis}")) * 1e6).round() as u64
}

/// The times behind `mark`, in milliseconds, and the counts of the line about packets.
fn of_lines(stdout: &str, stderr: &str, mark: &str) -> Told {
    let behind = |line: &str| Some(nanos(line.split_once(mark)?.1.split(' ').next()?));
    let line = stdout.lines().chain(stderr.lines()).find(|line| line.contains("packets transmitted"));
    let line = line.unwrap_or_else(|| panic!("{stdout}{stderr}"));
    let numbers: Vec<u64> = line.split(' ').filter_map(|word| word.parse().ok()).collect();
    Told { sent: numbers[0], received: numbers[1], times: stdout.lines().filter_map(behind).collect() }
}

/// `10.0.0.1 : 0.061 - 0.096`, on standard error: a dash is a request without a reply.
fn of_fping(stderr: &str) -> Told {
    let line = stderr.lines().rfind(|line| line.contains(" : ")).unwrap_or_else(|| panic!("{stderr}"));
    let words: Vec<&str> = line.split_once(" : ").expect("times").1.split_whitespace().collect();
    let times: Vec<u64> = words.iter().filter(|word| **word != "-").map(|word| nanos(word)).collect();
    Told { sent: words.len() as u64, received: times.len() as u64, times }
}

/// A packet of tcpdump's: when, from whom, and which echo.
fn of_tcpdump(stdout: &str) -> BTreeMap<u16, Told> {
    let mut runs: BTreeMap<u16, (Told, BTreeMap<u16, u64>)> = BTreeMap::new();
    for line in stdout.lines() {
        let number = |name: &str| line.split_once(name)?.1.split(',').next()?.parse::<u16>().ok();
        let (Some(id), Some(seq)) = (number(", id "), number(", seq ")) else { continue };
        let (secs, fraction) = line.split(' ').next().and_then(|time| time.split_once('.')).expect("a time");
        let at = secs.parse::<u64>().expect("seconds") * 1_000_000_000 + fraction.parse::<u64>().expect("nanoseconds");
        let (told, out) = runs.entry(id).or_default();
        if line.contains("echo request") {
            told.sent += 1;
            out.insert(seq, at);
        } else if let Some(left) = out.remove(&seq) {
            told.received += 1;
            told.times.push(at - left);
        }
    }
    runs.into_iter().map(|(id, (told, _))| (id, told)).collect()
}

fn done(running: Running) -> Ended {
    let ended = running.end(LIMIT);
    assert!(!ended.overdue && ended.code == Some(0), "{}", ended.told());
    ended
}

#[test]
fn all_of_them_agree_on_one_path_at_one_time() {
    let what = "ping, fping, hping3 and tcpdump beside ours";
    let needed = [("ping", "iputils-ping"), ("fping", "fping"), ("hping3", "hping3"), ("tcpdump", "tcpdump")];
    if !needed.into_iter().all(|(program, package)| installed(program, package, what)) {
        return;
    }
    if !geteuid().is_root() {
        // tcpdump gives up the groups it has, which nobody may inside a user namespace.
        return testbed::skip::aloud(&format!("{what}: only root can run tcpdump"));
    }
    let Some(scene) = Scene::new(what) else { return };
    let (near, host, count) = (scene.near(), scene.far().v4().to_string(), COUNT.to_string());
    let mut watching = near.command("tcpdump");
    let all = (5 * COUNT * 2).to_string();
    watching.args(["-n", "-tt", "--nano", "-Z", "root", "-i", near.interface(), "-c", &all]);
    let watching = started(watching.args(["--immediate-mode", "-l", "icmp"]).stdin(Stdio::null()));
    testbed::wait::until("tcpdump listens", || watching.stderr().contains("listening on"));
    let run = |program: &str, words: &[&str]| started(near.command(program).args(words).arg(&host));
    let ours = |words: &[&str]| started(sonde_in(near).args(words).arg(&host));
    let ping = ["-n", "-c", &count, "-i", "0.1"];
    let hping3 = ["-1", "-n", "-c", &count, "-i", "u100000"];
    let running = [
        run("ping", &ping),
        run("hping3", &hping3),
        run("fping", &["-q", "-C", &count, "-p", "100"]),
        ours(&[&["ping"], &ping[..]].concat()),
        ours(&[&["hping3"], &hping3[..]].concat()),
    ];
    let [ping, hping3, fping, our_ping, our_hping3] = running.map(done);
    let seen = of_tcpdump(&done(watching).stdout);
    let ping = of_lines(&ping.stdout, &ping.stderr, " time=");
    let our_ping = of_lines(&our_ping.stdout, &our_ping.stderr, " time=");
    let hping3 = of_lines(&hping3.stdout, &hping3.stderr, " rtt=");
    let our_hping3 = of_lines(&our_hping3.stdout, &our_hping3.stderr, " rtt=");
    let fping = of_fping(&fping.stderr);
    let told = [&ping, &our_ping, &hping3, &our_hping3, &fping];
    for told in told {
        assert_eq!((told.sent, told.received, told.times.len()), (COUNT as u64, COUNT as u64, COUNT), "{told:?}");
    }
    // Five programs, each told apart by its identifier.
    assert_eq!(seen.len(), 5, "{seen:?}");
    assert!(seen.values().all(|told| (told.sent, told.received) == (COUNT as u64, COUNT as u64)), "{seen:?}");
    // hping3 tells tenths of a millisecond.
    let tenth = 100_000;
    // A program's time contains the time on the wire.
    let least = seen.values().flat_map(|told| &told.times).min().expect("times");
    assert!(told.iter().all(|told| told.times.iter().all(|time| time + tenth >= *least)), "{least}: {told:?}");
}

#[test]
fn the_lines_of_fping_are_read_as_it_wrote_them() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/fping");
    let stderr = |name: &str| {
        let text = fs::read_to_string(format!("{folder}/{name}.txt")).expect("a transcript");
        let said = text.split_once("----- stderr\n").expect("both streams").1;
        said.split_once("----- exit status").expect("a status").0.to_owned()
    };
    let times = vec![61_000, 65_000, 96_000, 117_000, 74_000];
    assert_eq!(of_fping(&stderr("times-quiet")), Told { sent: 5, received: 5, times });
    assert_eq!(of_fping("10.0.0.1 : 0.050 - 0.070\n"), Told { sent: 3, received: 2, times: vec![50_000, 70_000] });
}
