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
#[test_case(&["--requests", "cpu=500m,memory=64Mi", "--limits", "cpu=1", "--toleration", "dedicated=bench:NoSchedule", "--toleration", "*", "--arch", "arm64", "--image-pull-secret", "registry", "--priority-class", "low"]; "with all that is asked of a cluster")]
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
fn pods_go_to_nodes_of_this_program_unless_others_are_named() {
    let scene = Scene::of(CLOUDS[0]);
    let selector = |more: &[&str]| {
        let printed = run(&scene, "print", &[&IMAGE[..], more].concat());
        let list: Value = serde_json::from_str(&printed.stdout).unwrap();
        list["items"][0]["spec"]["template"]["spec"]["nodeSelector"]["kubernetes.io/arch"].clone()
    };
    let own = if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" };
    assert_eq!((selector(&[]), selector(&["--arch", "any"])), (own.into(), Value::Null));
    let refused = run(&scene, "print", &[&IMAGE[..], &["--requests", "memory=64MB"]].concat());
    assert!(refused.code == Some(2) && refused.said("as cpu=500m or memory=64Mi"), "{}", refused.told());
}

/// The folder of packaging by kubectl itself, the pod in it by the program: what the one says of a pod the other says too.
#[test]
fn the_folder_for_kustomize_makes_the_pods_of_this_program() {
    let Some(kubectl) = program("kubectl") else {
        return skip::aloud("the folder for kustomize: no kubectl");
    };
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/kubernetes");
    let made = ended(Command::new(kubectl).args(["kustomize", folder]), LIMIT);
    assert_eq!(made.code, Some(0), "{}", made.told());
    assert!(made.stdout.contains("image: registry.example/sonde:1"), "{}", made.stdout);
    let scene = Scene::of(CLOUDS[0]);
    let words = ["--image", "registry.example/sonde:1", "--run", "fleet", "--arch", "amd64"];
    let resources = ["--requests", "cpu=50m,memory=64Mi", "--limits", "memory=512Mi"];
    let printed = run(&scene, "print", &[&words[..], &resources].concat());
    let list: Value =
        serde_json::from_str(&printed.stdout).unwrap_or_else(|error| panic!("{error}: {}", printed.told()));
    let mut item = list["items"][0].clone();
    // The time of its making and the owner are of a run alone.
    for metadata in ["/metadata", "/spec/template/metadata"] {
        item.pointer_mut(metadata).unwrap().as_object_mut().unwrap().remove("annotations");
    }
    let (mut own, mut theirs) = (Vec::new(), words_of_yaml(&made.stdout));
    words_of_json(&item, &mut own);
    own.sort();
    theirs.sort();
    assert_eq!(theirs, own);
}

/// The keys and values of a document, in any order.
fn words_of_json(value: &Value, into: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (key, value) in members {
                into.push(format!("{key}:"));
                words_of_json(value, into);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| words_of_json(item, into)),
        Value::String(text) => into.push(text.clone()),
        other => into.push(other.to_string()),
    }
}

/// The same of a document in YAML that has one key or value a line, as kubectl writes it.
fn words_of_yaml(text: &str) -> Vec<String> {
    let bare = |word: &str| word.trim().trim_matches('"').to_owned();
    let mut words = Vec::new();
    for line in text.lines().map(|line| line.trim().trim_start_matches("- ")) {
        match line.split_once(": ").or_else(|| line.strip_suffix(':').map(|key| (key, ""))) {
            Some((key, value)) => {
                words.push(format!("{key}:"));
                words.extend(Some(bare(value)).filter(|value| !value.is_empty()));
            }
            None => words.push(bare(line)),
        }
    }
    words
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
