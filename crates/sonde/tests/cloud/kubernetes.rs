//! `sonde lab kubernetes`: manifests by a schema, and a cluster that is a stand-in.

use std::fs;
use std::process::Command;

use serde_json::Value;
use test_case::test_case;
use testbed::process::{Ended, LIMIT, ended};
use testbed::skip;

use crate::real::program;
use crate::scene::{CLOUDS, Scene};

const IMAGE: [&str; 4] = ["--image", "registry.example/sonde:1", "--run", "k1"];

fn run(scene: &Scene, verb: &str, more: &[&str]) -> Ended {
    ended(&mut scene.command(&[&["kubernetes", verb], more].concat()), LIMIT)
}

#[test_case(&[]; "on every node")]
#[test_case(&["--network", "both", "--raw"]; "with both networks")]
#[test_case(&["--network", "host", "--zone", "a,b", "--per-zone", "2"]; "by zone")]
#[test_case(&["--zone", "a", "--once", "--", "rtt", "db1", "--json"]; "once")]
fn manifests_fit_the_schema(more: &[&str]) {
    let scene = Scene::of(CLOUDS[0]);
    let printed = run(&scene, "print", &[&IMAGE[..], more].concat());
    let list: Value =
        serde_json::from_str(&printed.stdout).unwrap_or_else(|error| panic!("{error}: {}", printed.told()));
    let Some(validate) = program("kubernetes-validate") else {
        return skip::aloud("Kubernetes manifests by their schema: no kubernetes-validate (PyPI)");
    };
    for (number, item) in list["items"].as_array().unwrap().iter().enumerate() {
        let file = scene.path(&format!("{number}.json"));
        fs::write(&file, item.to_string()).unwrap();
        let checked = ended(Command::new(&validate).arg("--strict").arg(&file), LIMIT);
        assert_eq!(checked.code, Some(0), "{}", checked.told());
        // It would say so where they did not.
        let mut wrong = item.clone();
        wrong["spec"]["template"]["spec"]["hostNetwrok"] = true.into();
        fs::write(&file, wrong.to_string()).unwrap();
        let checked = ended(Command::new(&validate).arg("--strict").arg(&file), LIMIT);
        assert_ne!(checked.code, Some(0), "{}", checked.told());
    }
}

#[test]
fn applied_read_back_and_removed() {
    let scene = Scene::of(CLOUDS[0]);
    let up = run(&scene, "up", &[&IMAGE[..], &["--network", "both", "-o", "hosts.toml", "--context", "c1"]].concat());
    assert_eq!(up.code, Some(0), "{}\n{}", up.told(), scene.calls());
    let hosts: toml::Table = fs::read_to_string(scene.path("hosts.toml")).unwrap().parse().unwrap();
    let hosts = hosts["hosts"].as_array().unwrap();
    assert_eq!(hosts.len(), 2);
    assert_eq!(hosts[0]["reach"]["pod"]["pod"].as_str(), Some("sonde-k1-host-x"));
    assert_eq!(hosts[0]["reach"]["pod"]["context"].as_str(), Some("c1"));
    assert_eq!((hosts[0]["labels"]["zone"].as_str(), hosts[0]["machine"].as_str()), (Some("z1"), Some("n1")));
    let applied: Value = serde_json::from_slice(&fs::read(scene.path("cloud/applied")).unwrap()).unwrap();
    assert_eq!(applied["kind"], "List");
    let down = run(&scene, "down", &["--run", "k1"]);
    assert_eq!((down.code, scene.things()), (Some(0), vec![]), "{}", down.told());
}

#[test]
fn pods_that_never_come_are_told_and_removed() {
    let scene = Scene::of(CLOUDS[0]);
    fs::write(scene.path("cloud/unready"), "").unwrap();
    let quick = ["--ready-timeout", "1s", "--look-every", "20ms"];
    let up = run(&scene, "up", &[&IMAGE[..], &quick].concat());
    assert!(up.code == Some(1) && up.said("0 of 1 pods are ready") && up.said("ErrImagePull"), "{}", up.told());
    assert_eq!(scene.things(), [""; 0]);
    let calls = scene.count();
    for number in 1..calls {
        let scene = Scene::of(CLOUDS[0]);
        fs::write(scene.path("cloud/unready"), "").unwrap();
        scene.fault(number.min(4), "after", "fail");
        let up = run(&scene, "up", &[&IMAGE[..], &quick].concat());
        assert_eq!((up.code, scene.things()), (Some(1), vec![]), "{}", up.told());
        if number >= 4 {
            break;
        }
    }
}

#[test]
fn one_shot_prints_what_the_job_printed() {
    let scene = Scene::of(CLOUDS[0]);
    let once = run(&scene, "up", &[&IMAGE[..], &["--once", "--", "rtt", "db1", "--json"]].concat());
    assert_eq!(
        (once.code, once.stdout.as_str(), scene.things()),
        (Some(0), "{\"the\": \"record\"}\n", vec![]),
        "{}",
        once.told()
    );
}
