//! The whole life of a lab, where nothing goes wrong.

use std::fs;

use serde_json::Value;
use test_case::test_case;
use testbed::process::{LIMIT, ended};

use crate::scene::{CLOUDS, Scene};

fn hosts(text: &str) -> Vec<toml::Value> {
    text.parse::<toml::Table>().unwrap_or_else(|error| panic!("{error}: {text}"))["hosts"].as_array().unwrap().clone()
}

#[test_case(0, &[("nic", "GVNIC"), ("accelerated_networking", "true"), ("region", "us-central1"), ("cpus", "4")]; "gcp")]
#[test_case(1, &[("nic", "ENA"), ("accelerated_networking", "true"), ("region", "us-east-1"), ("cpus", "2")]; "aws")]
#[test_case(2, &[("accelerated_networking", "true"), ("region", "eastus"), ("zone", "eastus-1")]; "azure")]
fn made_listed_and_removed(cloud: usize, labels: &[(&str, &str)]) {
    let scene = Scene::of(CLOUDS[cloud]);
    fs::write(scene.path("cloud/addresses"), "10.9.0.1 192.0.2.1\n10.9.0.2 192.0.2.2\n").unwrap();
    let ended = scene.up(&["--count", "2", "-o", "hosts.toml"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), ""), "{}\n{}", ended.told(), scene.calls());
    let hosts = hosts(&fs::read_to_string(scene.path("hosts.toml")).unwrap());
    assert_eq!(hosts.len(), 2);
    for (number, host) in hosts.iter().enumerate() {
        let n = number + 1;
        assert_eq!(host["internal"].as_str(), Some(&*format!("10.9.0.{n}")));
        assert_eq!(host["external"].as_str(), Some(&*format!("192.0.2.{n}")));
        let user = if cloud == 1 { "admin" } else { "sonde" };
        assert_eq!(host["reach"]["ssh"]["to"].as_str(), Some(&*format!("{user}@192.0.2.{n}")));
        assert!(host["reach"]["ssh"]["key_file"].as_str().unwrap().ends_with("/key"));
        for (key, value) in labels {
            assert_eq!(host["labels"][key].as_str(), Some(*value), "{key}");
        }
        assert!(host["labels"]["placement_group"].as_str().is_some_and(|name| name.starts_with("sonde-r1")));
    }
    let ledger: Value = serde_json::from_slice(&fs::read(scene.path("state/sonde/cloud/r1.json")).unwrap()).unwrap();
    assert_eq!((&ledger["phase"], &ledger["run"]), (&"up".into(), &"r1".into()));
    let listed = scene.run("list", &[]);
    assert!(listed.said("\tup\t2 machines\t") && !listed.said("owed"), "{}", listed.told());
    // A lab that is up is owed nothing: another may be begun.
    let other = scene.up(&["--run", "r2"]);
    assert!(other.said("cannot be used multiple times"), "one id a run: {}", other.told());
    let ended = scene.down(&[]);
    assert_eq!(ended.code, Some(0), "{}", ended.told());
    scene.assert_clean("after down", &ended);
}

#[test_case(0; "gcp")]
#[test_case(1; "aws")]
#[test_case(2; "azure")]
fn several_at_once_come_to_the_same(cloud: usize) {
    let scene = Scene::of(CLOUDS[cloud]);
    let words: Vec<&str> = scene.up_words(&["--count", "6"]);
    let words: Vec<&str> = words[..words.len() - 2].iter().copied().chain(["--at-once", "8"]).collect();
    let up = ended(&mut scene.command(&words), LIMIT);
    assert_eq!((up.code, hosts(&up.stdout).len()), (Some(0), 6), "{}", up.told());
    let down = scene.down(&[]);
    scene.assert_clean("after down", &down);
}

#[test_case(0; "gcp")]
#[test_case(1; "aws")]
#[test_case(2; "azure")]
fn a_dry_run_prints_what_is_run_and_runs_nothing(cloud: usize) {
    let scene = Scene::of(CLOUDS[cloud]);
    let printed = scene.up(&["--dry-run"]);
    assert_eq!((printed.code, scene.count(), scene.owes()), (Some(0), 0, false), "{}", printed.told());
    scene.up(&[]);
    // Every call that made something stands in the dry run, in the same order, with a variable for what an answer told; times
    // differ.
    let verbs = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let makes = |line: &&str| {
            let verb = |word: &str| {
                ["create", "import", "run", "authorize", "attach"].iter().any(|verb| word.starts_with(verb))
            };
            !line.contains("=$(") && !line.starts_with("until") && line.split(' ').any(verb)
        };
        lines
            .filter(makes)
            .map(|line| {
                line.split(' ')
                    .take_while(|word| !word.contains(['$', '"', '\'']))
                    .take(5)
                    .collect::<Vec<_>>()
                    .join(" ")
            })
            .collect()
    };
    let (dry, real) = (verbs(&printed.stdout), verbs(&scene.calls()));
    assert_eq!(dry.len(), real.len(), "{dry:#?}\n{real:#?}");
    for (dry, real) in dry.iter().zip(&real) {
        assert!(real.starts_with(dry.as_str()), "{dry} is not {real}");
    }
    let before = scene.count();
    let printed = scene.down(&["--dry-run"]);
    assert!(
        printed.code == Some(0) && printed.stdout.contains("delete") && !printed.stdout.contains('$'),
        "{}",
        printed.told()
    );
    assert_eq!(scene.count(), before);
    let down = scene.down(&[]);
    scene.assert_clean("after down", &down);
}

#[test]
fn every_thing_carries_the_run_its_end_and_its_owner() {
    for cloud in CLOUDS {
        let scene = Scene::of(cloud);
        scene.up(&["--owner", "alice"]);
        for file in scene.things() {
            let text = fs::read_to_string(scene.path("cloud/things").join(&file)).unwrap();
            // Azure's lie in a group that carries the tags, and AWS' routes in a VPC that does.
            if cloud.0 == "azure" && !file.starts_with("-group") || file.starts_with("route") {
                continue;
            }
            for mark in ["sonde-run", "sonde-expires", "sonde-owner", "alice"] {
                assert!(text.contains(mark), "{file} has no {mark}: {text}");
            }
        }
    }
}

#[test]
fn placement_words_of_old_are_taken_with_a_note() {
    let scene = Scene::of(CLOUDS[0]);
    let words: Vec<&str> = scene.up_words(&["--dry-run"]);
    let words: Vec<&str> =
        words.iter().map(|word| if *word == "closest_supported" { "cluster" } else { word }).collect();
    let printed = ended(&mut scene.command(&words), LIMIT);
    assert!(printed.stderr.contains("COLLOCATED, as gcp calls it today"), "{}", printed.told());
    assert!(printed.stdout.contains("--collocation COLLOCATED"), "{}", printed.told());
}

#[test_case(&["--zone", "x;y"], "letters that no zone"; "a zone that is none")]
#[test_case(&["--zone", "a-b", "--machine-type", "t", "--machine-type", "u"], "machine types for"; "too many types")]
#[test_case(&["--image", "$(x)"], "letters that no zone"; "an image that is a command")]
#[test_case(&["--lifetime", "1y"], "lifetime"; "a lifetime without end")]
#[test_case(&["--open", "tcp:99999@0.0.0.0/0"], "is no opening"; "a port that is none")]
#[test_case(&["--owner", "-"], "unknown"; "an owner of no letters is unknown")]
fn what_makes_no_sense_is_refused_before_any_call(more: &[&str], said: &str) {
    let scene = Scene::of(CLOUDS[0]);
    let ended = scene.up(&[more, &["--dry-run"]].concat());
    assert!(ended.said(said), "{}", ended.told());
    assert_eq!(scene.count(), 0);
}
