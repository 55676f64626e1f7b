//! The split of a first look: the row of the handshake says the path, and its difference from the program's row is the program's.

use std::thread;

use serde_json::{Value, json};
use testbed::servers::Server;
use testbed::slow::{HELD_NS, Slow};

use super::delayed::Judged;
use super::{far, scene};
use crate::plant::{FORWARDED, Forward};
use crate::scene::{Scene, before_others, document, installed, number, run, sonde_in, tell};

/// The shortest times of a first look at one port, nanoseconds, and the cause that it names for their difference.
#[derive(Debug)]
struct Looked {
    program: f64,
    handshake: f64,
    /// The difference as it is estimated.
    share: f64,
    cause: Value,
}

fn looked(scene: &Scene, host: &str, port: &str) -> Looked {
    let words = ["look", host, "--port", port, "-t", "3", "--json", "-q"];
    let look = document(&sonde_in(scene.near()).args(words).output().expect("started"))["look"].clone();
    let legs = look["legs"].as_array().expect("legs");
    let place = |carrier: &str| legs.iter().position(|leg| leg["carrier"] == carrier);
    let [program, handshake] =
        ["tcp", "tcp-connect"].map(|carrier| place(carrier).unwrap_or_else(|| panic!("{carrier}: {legs:#?}")));
    let shortest = |place: usize| number(&legs[place], "/sums/min_ns") as f64;
    let findings = look["judgement"]["findings"].as_array().expect("findings");
    let of = json!({ "kind": "leg", "leg": handshake });
    let finding =
        findings.iter().find(|finding| finding["of"] == of).expect("the handshake is held against the program");
    let share = -finding["shift"]["value_ns"].as_f64().unwrap_or_else(|| panic!("{finding}"));
    Looked { program: shortest(program), handshake: shortest(handshake), share, cause: finding["cause"].clone() }
}

/// Returns true where a time is by so many delays longer, or, on a busy machine, by less than another one more.
fn is_about(found: f64, delays: u32) -> bool {
    Judged::of(found / HELD_NS as f64, delays) != Judged::Wrong
}

#[test]
fn a_look_lays_a_delay_on_the_path_or_on_the_program() {
    let what = "a first look at slowed programs";
    if !installed("strace", "strace", what) {
        return;
    }
    let Some((scene, _signed)) = scene(what, Scene::beside) else { return };
    before_others();
    let _forward = Forward::start(&scene, &["--delay", "10ms"]);
    let (place, near) = (far(&scene), scene.target(false));
    let programs = [("redis", "write", place.redis(&[])), ("http", "writev", place.nginx("", ""))];
    let hold = &|name: &str, calls: &str, server: Server| {
        let port = format!("{}={name}", server.port);
        let [plain, path] = [&*near, FORWARDED].map(|host| looked(&scene, host, &port));
        let program = {
            let _slow = Slow::hold(&server, calls);
            looked(&scene, &near, &port)
        };
        tell(&format!("{name}: plain {plain:?}, a longer path {path:?}, a slowed program {program:?}"));
        assert!(is_about(path.handshake - plain.handshake, 1) && is_about(path.program - plain.program, 1));
        assert!(is_about(path.share - plain.share, 0), "the program's share stays");
        assert!(is_about(program.share - plain.share, 1), "it has the delay");
        assert!(is_about(program.handshake - plain.handshake, 0), "the path's does not");
        assert_ne!(program.cause, "nobody-woken", "waking takes no such time");
    };
    thread::scope(|scope| {
        for (name, calls, server) in programs {
            scope.spawn(move || server.into_iter().for_each(|server| hold(name, calls, server)));
        }
    });
}

/// A proxy on the way takes the connection, and the program is far behind it.
#[test]
fn a_proxy_on_the_way_is_told() {
    let what = "a proxy before a program";
    let Some((scene, _signed)) = scene(what, Scene::beside) else { return };
    before_others();
    let _forward = Forward::start(&scene, &["--delay", "10ms"]);
    let Some(program) = far(&scene).nginx("", "") else { return };
    let lines = format!(" default_backend b\nbackend b\n server s {FORWARDED}:{}\n", program.port);
    let here = testbed::servers::Place::all_of(|name| scene.near().command(name));
    let Some(proxy) = here.haproxy(&lines) else { return };
    let port = testbed::port::free();
    let rules = format!(
        "table ip way {{ chain output {{ type nat hook output priority -100; ip daddr {FORWARDED} tcp dport {port} redirect to :{}; }}; }}",
        proxy.port
    );
    run(scene.near(), &["nft", &rules]);
    let found = looked(&scene, FORWARDED, &format!("{port}=http"));
    tell(&format!("a proxy on the way: {found:?}"));
    assert!(is_about(found.share, 1) && found.handshake < HELD_NS as f64 / 2.0, "{found:?}");
    assert_eq!(found.cause, "nearer-handshake", "{found:?}");
}
