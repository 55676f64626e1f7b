//! The series: each world laid once a run, each command asked in it, and a table of how they fared.
//!
//! Minutes a run: so not beside all other tests, but with `make planted`. Nothing that is not there may be claimed, and no number be false; how
//! often what is there is named, or said not to be established, the table shows.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::judge::{Fate, judge};
use super::place::Place;
use super::rows::{World, worlds};
use crate::scene::{installed, tell};

/// A setting of whoever runs the tests.
#[expect(clippy::disallowed_methods, reason = "how often, and which, is up to whoever runs the tests")]
fn asked(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

#[test]
fn nothing_is_claimed_of_a_world_that_is_not_so() {
    let Some(runs) = asked("SONDE_PLANTED").and_then(|runs| runs.parse::<usize>().ok()) else {
        return testbed::skip::aloud("worlds of other people's making, each asked by several commands: `make planted`");
    };
    let what = "worlds";
    if !["nft", "tc"].into_iter().all(|program| installed(program, "nftables or iproute2", what)) {
        return;
    }
    let only = asked("SONDE_WORLDS");
    let chosen = |name: &str| only.as_ref().is_none_or(|only| only.split(',').any(|one| one == name));
    let mut table: BTreeMap<(usize, usize), [usize; 4]> = BTreeMap::new();
    let mut wrong = Vec::new();
    let all: Vec<&World> = worlds().collect();
    assert!(all.iter().all(|world| !world.name.contains(',')), "so that each can be chosen");
    for (place, world) in all.iter().enumerate().filter(|(_, world)| chosen(world.name)) {
        if let Some(program) = world.needs.iter().find(|program| !installed(program, program, world.name)) {
            tell(&format!("{}: without {program}", world.name));
            continue;
        }
        for _ in 0..runs {
            // Left by a run before, whose processes have ended.
            for group in ["/sys/fs/cgroup/cpu/sonde-world", "/sys/fs/cgroup/sonde-world"] {
                let _ = std::fs::remove_dir(group);
            }
            let Some(laid) = Place::lay(world) else { return };
            for (number, ask) in world.asks.iter().enumerate() {
                let _begun = laid.begin(ask.events);
                let output = laid.ask(ask.before, ask.words).output().expect("started");
                let document: Result<Value, _> = serde_json::from_slice(&output.stdout);
                let (fate, why) = match &document {
                    Ok(document) => judge(ask, document),
                    Err(error) => (Fate::Wrong, format!("{error}: {}", String::from_utf8_lossy(&output.stderr))),
                };
                table.entry((place, number)).or_default()[fate as usize] += 1;
                tell(&format!("{} · sonde {}: {fate:?} {why}", world.name, ask.words));
                if fate == Fate::Wrong {
                    let kept = keep(wrong.len(), &output.stdout);
                    wrong.push(format!("{} · sonde {}: {why}; {}", world.name, ask.words, kept.display()));
                }
            }
        }
    }
    tell(&told(&all, &table));
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The document of a wrong answer, so that it can be read.
fn keep(number: usize, document: &[u8]) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("wrong-{number}.json"));
    std::fs::write(&path, document).expect("written");
    path
}

/// The table, one command a line.
fn told(all: &[&World], table: &BTreeMap<(usize, usize), [usize; 4]>) -> String {
    let mut text = format!("{:22} {:62} right open blind wrong\n", "world", "command");
    for ((place, number), counts) in table {
        let (world, ask) = (all[*place], &all[*place].asks[*number]);
        let [right, open, blind, wrong] = counts;
        let _ = writeln!(text, "{:22} {:62} {right:5} {open:4} {blind:5} {wrong:5}", world.name, ask.words);
    }
    text
}
