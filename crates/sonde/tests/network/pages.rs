//! The commands of the README and of the how-to pages are run as their reader would run them, against a host that is made for it, and what a
//! page shows below a command has the lines that it prints.
//!
//! The names of hosts stand for the far one, and what would take minutes is shortened. Commands of many hosts, of a system's folders or of
//! servers that are not to be had are in [`NOT_RUN`], with the tests that hold them. Not here: the tutorials (`cli`).

mod world;

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use rustix::process::Signal;
use testbed::page::{self, Block};
use testbed::process::{self, Ended};

use crate::scene::{installed, tell};
use world::{DEFAULT, World};

/// So many pages are tried at once: their commands mostly wait.
const AT_ONCE: usize = 6;
/// Longest run of one command. Only one that hangs meets it.
const LIMIT: Duration = Duration::from_mins(3);

/// Beginnings of commands that are not run here, each with the suite that holds them.
const NOT_RUN: &[(&str, &str)] = &[
    ("sonde lab", "hosts"),
    ("sonde run --inventory", "hosts"),
    ("sonde matrix last", "hosts"),
    ("sonde compare 0199f2ab", "hosts"),
    ("sonde compare 01a203b4", "hosts"),
    ("sonde show last", "hosts"),
    ("sonde runs", "hosts"),
    ("sonde sweep", "cli: half a minute at least"),
    ("sonde why", "cli: a minute at least"),
    ("sonde study ping-or-netperf", "hosts: a minute at least"),
    ("sonde study claims.toml", "cli: half a minute"),
    ("sonde export last", "hosts"),
    ("sonde pkb", "cli"),
    ("sonde monitor", "centre"),
    ("sonde watch", "centre"),
    ("sonde history", "centre"),
    ("sonde accept", "centre"),
    ("sonde compare 'a>b", "centre"),
    ("sonde forward", "network forward"),
    ("sonde replay", "network replay"),
    ("sonde netserver", "cli: it goes on in the background"),
    ("sonde key /etc/sonde", "packages-tried"),
    ("sonde serve --stamp --stamp-port", "cli: for loopback alone"),
    ("sonde serve --key fleet.key --stamp", "network stamp"),
    ("sonde rtt db1 --peer stamp --stamp-key", "network stamp"),
    ("sonde serve --open --netperf --counters", "cli audit"),
    ("sonde rtt mqtts", "pairs applications"),
    ("sonde rtt ws", "pairs applications"),
    ("sonde rtt grpc", "pairs applications"),
    ("sonde rtt kafka", "pairs applications"),
    ("sonde rtt sip", "pairs applications"),
    ("sonde rtt postgres+tls", "pairs applications"),
    ("sonde rtt mysql+tls", "pairs applications"),
];

/// Commands that go on until they are interrupted.
const ENDLESS: &[&str] = &["sonde ping db1", "sonde httping"];

/// Screens of a page that another command prints than the last one before them.
const PRINTED_BY: &[(&str, &str)] = &[("replies", "sonde rtt http://api:8080/health")];

/// Screens that are shown, and whose command is run here.
const SHOWN: &[(&str, &str)] = &[
    ("docs/howto/applications.md", "look"),
    ("docs/howto/applications.md", "phases"),
    ("docs/howto/applications.md", "mix"),
    ("docs/howto/applications.md", "replies"),
    ("docs/howto/keys.md", "list"),
];

fn is_run(command: &str) -> bool {
    !NOT_RUN.iter().any(|(begin, _)| command.starts_with(begin))
}

/// A command without its remark.
fn typed(command: &str) -> &str {
    command.split("  #").next().expect("a first part").trim_end()
}

/// The pages, each with its blocks' commands of ours. Of the README also those of its tables.
fn pages() -> Vec<String> {
    let mut pages = vec!["README.md".to_owned()];
    pages.extend(["docs/howto", "docs/howto/programs"].iter().flat_map(|folder| page::pages_in(folder)));
    pages
}

/// The first column of a line of a screen, digits as `0`; `None` for a sentence and for a line that goes on.
fn label(line: &str) -> Option<String> {
    let text = line.trim_start();
    let is_row = text.contains("  ") && line.len() - text.len() < 6;
    text.split("  ").next().filter(|_| is_row).map(page::form)
}

/// The labels of a screen that `printed` has not.
fn missing(shown: &str, printed: &str) -> Vec<String> {
    let printed: BTreeSet<String> = printed.lines().filter_map(label).collect();
    shown.lines().filter_map(label).filter(|label| !printed.contains(label)).collect()
}

/// A command that was run, and what it said.
struct Run {
    command: String,
    ended: Ended,
}

/// Runs the commands of a page; what is wrong with them, and the screens that were held against what they printed.
fn tried(name: &str, world: &mut World<'_>) -> (Vec<String>, Vec<(String, String)>) {
    let text = page::read(name);
    let (mut wrong, mut held, mut runs) = (Vec::new(), Vec::new(), Vec::<Run>::new());
    for block in page::blocks(&text) {
        for (command, _) in block.commands() {
            let Some(ended) = run(name, command, world, &mut wrong) else { continue };
            runs.push(Run { command: typed(command).to_owned(), ended });
        }
        wrong.extend(screen_of(name, &block, &runs, &mut held));
    }
    // The README answers its table's questions by commands, which ask one who serves everybody.
    if name == "README.md" {
        world.serve(DEFAULT);
        for command in page::spans(&text).filter(|span| span.split(' ').count() > 2) {
            let _ended = run(name, command, world, &mut wrong);
        }
    }
    (wrong, held)
}

/// Runs a command of a page to its end, and adds what is wrong with that; `None` where it is not run, or is the server's.
fn run(name: &str, command: &str, world: &mut World<'_>, wrong: &mut Vec<String>) -> Option<Ended> {
    let command = page::of_ours(command).map(typed).filter(|command| is_run(command))?;
    if command.starts_with("sonde serve") {
        world.serve(command);
        return None;
    }
    let words = world.words(command)?;
    let is_endless = ENDLESS.iter().any(|begin| command.starts_with(begin));
    let running = process::started(&mut world.command(&words));
    world.runs += 1;
    if is_endless {
        let answers = running.comes_to(LIMIT, |said| said.lines().count() > 1);
        if !answers {
            wrong.push(format!("{name}: {command}: no answer: {}", running.told()));
        }
        running.signal(Signal::INT);
    }
    let ended = running.end(LIMIT);
    world.keep(command, &ended);
    // A limit that is exceeded, and ports of which none is open, have a status of their own.
    let is_a_gate = command.contains("--fail-if") || command.contains("--profile nightly");
    let fits = match ended.code {
        Some(0) => true,
        Some(1) => command.starts_with("sonde check"),
        Some(99) => is_a_gate,
        _ => false,
    };
    if ended.overdue || !fits {
        wrong.push(format!("{name}: {command}\n  as {words:?}: {}", ended.told()));
    }
    Some(ended)
}

/// The complaint about a screen of a block, below its command or behind it; `None` where it has the lines that were printed.
fn screen_of(name: &str, block: &Block<'_>, runs: &[Run], held: &mut Vec<(String, String)>) -> Option<String> {
    let screen = block.screen.filter(|screen| SHOWN.contains(&(name, *screen)))?;
    let shown = block.commands().into_iter().find(|(_, output)| !output.is_empty());
    let (typed, shown) = shown.unwrap_or(("", block.text.clone()));
    let by = PRINTED_BY.iter().find(|(printed, _)| *printed == screen).map(|(_, by)| *by);
    let by = by.unwrap_or(typed);
    let run = runs.iter().rev().find(|run| run.command.starts_with(by))?;
    held.push((name.to_owned(), screen.to_owned()));
    let missing = missing(&shown, &run.ended.stdout);
    (!missing.is_empty()).then(|| {
        format!("{name}: {screen} shows {missing:?}, which `{}` does not print: {}", run.command, run.ended.told())
    })
}

#[test]
#[ignore = "two minutes of both processors, as root: make pages"]
fn every_command_of_a_how_to_page_does_what_the_page_says() {
    let what = "commands of the pages";
    if !rustix::process::geteuid().is_root() || !installed("redis-server", "redis-server", what) {
        testbed::skip::aloud(&format!("{what}: servers in namespaces of their own, which takes root and them"));
        return;
    }
    let (pages, next) = (pages(), AtomicUsize::new(0));
    let (wrong, held, runs) = (Mutex::new(Vec::new()), Mutex::new(Vec::new()), AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(name) = pages.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let Some(mut world) = World::of(name) else { continue };
                    let (found, shown) = tried(name, &mut world);
                    runs.fetch_add(world.runs, Ordering::Relaxed);
                    wrong.lock().expect("sound").extend(found);
                    held.lock().expect("sound").extend(shown);
                }
            });
        }
    });
    let (wrong, held) = (wrong.into_inner().expect("sound"), held.into_inner().expect("sound"));
    let (runs, count) = (runs.into_inner(), pages.len());
    tell(&format!(
        "{runs} commands of {count} pages were run, and {} screens held against what they printed",
        held.len()
    ));
    assert!(runs > 100, "{runs} commands");
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    for (page, screen) in SHOWN {
        assert!(held.iter().any(|(of, name)| of == page && name == screen), "{page}: {screen} was not seen");
    }
}

#[test]
fn what_is_not_run_is_still_on_a_page() {
    let texts: Vec<String> = pages().iter().map(|name| page::read(name)).collect();
    for (begin, _) in NOT_RUN {
        assert!(texts.iter().any(|text| text.contains(begin)), "no page has `{begin}` any more");
    }
}

#[test]
fn a_line_is_known_by_its_first_column() {
    assert_eq!(label("  connect    127 µs    193 µs").as_deref(), Some("connect"));
    assert_eq!(label("  TCP :6379           Redis").as_deref(), Some("TCP :0"));
    assert_eq!(label("alice    all rights").as_deref(), Some("alice"));
    assert_eq!(label("! Busy (this host"), None);
    assert_eq!(label("  TCP connect: what is said of it"), None);
    assert_eq!(label("               goes  on"), None);
    assert_eq!(missing("  a  1\n  b  2\n", "  a  7\n"), ["b"]);
}
