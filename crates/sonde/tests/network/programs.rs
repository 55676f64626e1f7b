//! Programs at work on the far host, whose truth is known: what passed their network is captured beside, and delays are planted in them and on
//! the path to them.
//!
//! A program is a row of [`row::ROWS`], and is started once for both. Not here: what of it is asked and said (`pairs`).

mod captured;
mod delayed;
mod looked;
mod row;

use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use testbed::certificate::Signed;
use testbed::servers::{Place, Server};

use crate::plant::FORWARDED;
use crate::scene::{Scene, before_others, installed};
use row::{ROWS, Row};

/// So many rows are tried at once: they mostly wait.
const AT_ONCE: usize = 6;

/// A scene for servers, and their certificates; `None` where the user may not have them, which was said aloud.
fn scene(what: &str, make: fn(&str) -> Option<Scene>) -> Option<(Scene, Signed)> {
    if !rustix::process::geteuid().is_root() {
        testbed::skip::aloud(&format!("{what}: servers in namespaces of their own, which takes root"));
        return None;
    }
    let scene = make(what)?;
    let names = [&*scene.target(false), FORWARDED];
    let signed = Signed::new(&names, 4_000);
    Some((scene, signed))
}

/// The far host, as servers are started there.
fn far(scene: &Scene) -> Place<'_> {
    Place::all_of(|name| -> Command { scene.far().command(name) })
}

/// A program that runs, and how it is asked.
struct Asked<'a> {
    scene: &'a Scene,
    signed: &'a Signed,
    row: &'a Row,
    servers: &'a [Server],
}

impl Asked<'_> {
    /// The port that is asked.
    fn port(&self) -> u16 {
        self.servers[self.servers.len() - 1].port
    }

    /// The words that ask it at this address of its host, as often as is wished.
    fn words(&self, host: &str) -> Vec<String> {
        let mut words = self.row.asking(&format!("{host}:{}", self.port()), self.signed);
        words.push("--force".to_owned());
        words
    }
}

#[test]
fn each_program_is_timed_as_on_the_wire_and_shows_delays_where_they_were_planted() {
    let [captured, delayed] = [
        installed("tcpdump", "tcpdump", "programs beside a packet capture"),
        installed("strace", "strace", "delays of programs"),
    ];
    let Some((scene, signed)) = scene("programs at work", Scene::beside) else { return };
    let _forward = delayed::longer_path(&scene);
    let capture = captured.then(|| captured::Beside::start(&scene));
    let runs = delayed::runs();
    let (next, wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let try_one = |row: &Row| {
        let Some(servers) = (row.start)(&far(&scene), &signed) else { return };
        let asked = Asked { scene: &scene, signed: &signed, row, servers: &servers };
        let mut found: Vec<String> = capture.iter().filter_map(|capture| capture.complaints(&asked)).collect();
        if delayed {
            found.extend(delayed::complaints(&asked, runs));
        }
        wrong.lock().expect("sound").extend(found);
    };
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                before_others();
                while let Some(row) = ROWS.get(next.fetch_add(1, Ordering::Relaxed)) {
                    try_one(row);
                }
            });
        }
    });
    let wrong = wrong.into_inner().expect("sound");
    assert!(wrong.is_empty(), "{wrong:#?}");
}
