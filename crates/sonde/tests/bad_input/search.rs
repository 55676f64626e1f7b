//! A search that is ended early: by hand, or because the far side went away. The results until then are kept.

use endpoint::clock::Monotonic;
use rustix::process::Signal;
use serde_json::Value;

use crate::{Running, SOON, Serve, since, sonde};

/// A search that has made its first probe and is at its second.
fn searching(serve: &Serve) -> Running {
    let words = ["load", "--json-lines", &serve.address, "--warm-up", "0"];
    let search = ["--find", "p50<1s,achieved>=1%", "--rate", "2k", "--probe", "600ms"];
    let mut running = Running::of(&mut sonde(&[&words[..], &search].concat()));
    running.event("probe");
    running
}

/// End of a search that was stopped, from its last line, which holds what was found by then.
fn kept(last: &Value) -> &Value {
    assert_eq!(last["event"], "found", "{last:#}");
    let found = &last["data"];
    assert_eq!(found["bracket"]["reached"], "stopped", "{}", found["bracket"]);
    assert!(found["probes"].as_array().is_some_and(|probes| !probes.is_empty()));
    assert!(found["bracket"]["met"]["rate_per_1000s"].as_u64().is_some_and(|rate| rate >= 2_000_000));
    &found["ended"]
}

#[test]
fn ctrl_c_ends_it_with_what_was_found() {
    let serve = Serve::start(&[]);
    let running = searching(&serve);
    running.signal(Signal::INT);
    let asked = Monotonic::now();
    let (code, last, said) = running.end();
    assert!(since(asked) < SOON, "{:?} {said}", since(asked));
    assert_eq!((code, &kept(&last)["signal"]), (Some(130), &"SIGINT".into()), "{said}");
}

#[test]
fn a_far_side_that_dies_ends_it_with_what_was_found() {
    let serve = Serve::start(&[]);
    let running = searching(&serve);
    serve.signal(Signal::KILL);
    let (code, last, said) = running.end();
    assert_eq!((code, &kept(&last)["how"]), (Some(1), &"peer-lost".into()), "{said}");
}

#[test]
fn nobody_there_is_an_error_and_no_search() {
    let words = ["load", "--json", "127.0.0.1:1", "--find", "p50<1s"];
    let output = sonde(&words).output().unwrap();
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((output.status.code(), &document["format"]), (Some(1), &"sonde-error".into()));
    assert!(
        document["error"]["what"]
            .as_str()
            .is_some_and(|what| what.contains("127.0.0.1:1: cannot open the control connection"))
    );
}
