//! Plans that want machines: `sonde run` makes and removes them by its stages.

use std::fs;

use rustix::process::Signal;
use test_case::test_case;
use testbed::process::{Ended, LIMIT, ended, started};
use testbed::wait;

use crate::scene::{CLOUDS, Scene};
use crate::world::World;

const METHOD: &str = "[[methods]]\nname = \"rr\"\ncommand = \"rtt --udp -t 500ms\"\n";

/// Machines of one of the stand-ins, with these further lines.
fn table(cloud: usize, more: &str) -> String {
    let (cloud, zone, machine_type) = CLOUDS[cloud];
    format!(
        "[[machines]]\ncloud = \"{cloud}\"\nzones = [\"{zone}\"]\nmachine_type = \"{machine_type}\"\nfrom = \"198.51.100.1\"\n\
         public_key = \"key.pub\"\n{more}\n"
    )
}

fn kept(scene: &Scene) -> Vec<String> {
    let entries = fs::read_dir(scene.path("state/sonde/cloud")).into_iter().flatten();
    entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
}

fn assert_clean(scene: &Scene, ended: &Ended) {
    assert_eq!((scene.things(), kept(scene)), (vec![], vec![]), "{}\n{}", ended.told(), scene.calls());
}

#[test]
fn each_stage_by_itself() {
    let Some(world) = World::of("stages of a plan", 0) else { return };
    fs::write(world.scene.path("plan.toml"), table(0, "count = 2\n") + METHOD).unwrap();
    let run = |words: &[&str], code: i32| {
        let ended = ended(&mut world.sonde(&[&["run"], words].concat()), LIMIT);
        assert_eq!(ended.code, Some(code), "{words:?}: {}\n{}", ended.told(), world.scene.calls());
        ended
    };
    let dry = run(&["plan.toml", "--stage", "provision,prepare,run", "--dry-run"], 0);
    assert!(
        dry.said("makes 2 machines of gcp") && dry.said("2 hosts, 1 pair") && world.scene.count() == 0,
        "{}",
        dry.told()
    );
    let refused = run(&["plan.toml"], 2);
    assert!(
        refused.said("its machines are not made") && refused.said("the stage provision makes them"),
        "{}",
        refused.told()
    );
    let made = run(&["plan.toml", "--stage", "provision"], 0);
    assert!(made.said("its machines stay: `sonde run --resume "), "{}", made.told());
    assert_eq!((world.on(0).is_some(), world.on(1).is_some()), (true, true));
    let again = run(&["--resume", "last", "--stage", "provision,prepare"], 2);
    assert!(again.said("are made already"), "{}", again.told());
    let ran = run(&["--resume", "last", "--stage", "prepare,run", "--json"], 0);
    let document: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    let hosts: Vec<_> = document["plan"]["hosts"].as_array().unwrap().iter().map(|host| &host["external"]).collect();
    assert_eq!((hosts.len(), document["cells"].as_array().unwrap().len()), (2, 2), "{}", ran.stdout);
    assert_eq!(document["stages"], serde_json::json!(["provision", "prepare", "run"]));
    let gone = run(&["--resume", "last", "--stage", "cleanup,teardown"], 0);
    world.assert_nothing_left(&gone);
    assert!(run(&["--resume", "last"], 2).said("its machines were removed"));
}

#[test]
fn all_stages_in_one_with_a_signal_in_the_middle() {
    let Some(world) = World::of("a plan, interrupted", 2) else { return };
    let plan = table(2, "count = 2\n") + &METHOD.replace("500ms", "60s");
    fs::write(world.scene.path("plan.toml"), plan).unwrap();
    let stages = "provision,prepare,run,cleanup,teardown";
    let running = started(&mut world.sonde(&["run", "plan.toml", "--stage", stages]));
    wait::until("a cell", || world.measures(0, "--udp") || world.measures(1, "--udp"));
    running.signal(Signal::INT);
    let ended = running.end(LIMIT);
    assert_eq!(ended.code, Some(130), "{}", ended.told());
    world.assert_nothing_left(&ended);
}

#[test]
fn machines_of_several_clouds_are_made_and_removed_together() {
    let scene = Scene::of(CLOUDS[0]);
    fs::write(scene.path("plan.toml"), table(0, "") + &table(1, "") + METHOD).unwrap();
    let made = scene.sonde(&["run", "plan.toml", "--stage", "provision"]);
    assert_eq!(
        (made.code, kept(&scene).iter().filter(|name| name.contains(".json")).count()),
        (Some(0), 2),
        "{}",
        made.told()
    );
    let calls = scene.count();
    let gone = scene.sonde(&["run", "--resume", "last", "--stage", "teardown"]);
    assert_eq!(gone.code, Some(0), "{}", gone.told());
    assert_clean(&scene, &gone);
    // A refusal of the second cloud costs the first one's machines too.
    for number in [calls - 2, calls / 2] {
        scene.fault(number, "before", "says:(VcpuLimitExceeded) Quota exceeded");
        let refused = scene.sonde(&["run", "plan.toml", "--stage", "provision"]);
        let is_refused = matches!(refused.code, Some(1 | 2)) && refused.said("a quota is used up");
        assert!(is_refused, "{}", refused.told());
        assert_clean(&scene, &refused);
    }
    scene.fault(calls - 2, "after", "interrupt");
    let stopped = scene.sonde(&["run", "plan.toml", "--stage", "provision"]);
    assert_eq!(stopped.code, Some(130), "{}", stopped.told());
    assert_clean(&scene, &stopped);
}

#[test]
fn what_is_owed_comes_first() {
    let scene = Scene::of(CLOUDS[0]);
    fs::write(scene.path("plan.toml"), table(0, "count = 2") + METHOD).unwrap();
    let made = scene.sonde(&["run", "plan.toml", "--stage", "provision"]);
    assert_eq!(made.code, Some(0), "{}", made.told());
    scene.fault_of_removal("fail");
    let owed = scene.sonde(&["run", "--resume", "last", "--stage", "teardown"]);
    assert!(owed.code == Some(1) && owed.said("cannot remove machine"), "{}", owed.told());
    scene.heal();
    let before = scene.count();
    let refused = scene.sonde(&["run", "plan.toml", "--stage", "provision"]);
    assert_eq!((refused.code, scene.count()), (Some(2), before), "{}", refused.told());
    assert!(refused.said("a clean-up is owed") && refused.said("`sonde lab cloud down --run r"), "{}", refused.told());
    let gone = scene.sonde(&["run", "--resume", "last", "--stage", "teardown"]);
    assert_eq!(gone.code, Some(0), "{}", gone.told());
    assert_clean(&scene, &gone);
}

#[test_case("count = 2\nflavour = \"x\"", "line 8, column 1: unknown key `flavour`"; "an unknown key")]
#[test_case("count = 300", "line 7, column 9: 300 machines"; "too many")]
#[test_case("placement = \"near\"", "line 7, column 13: `near` is no placement of gcp"; "no placement")]
#[test_case("lifetime = \"1y\"", "line 7, column 12: `1y` is no time for machines to live"; "no lifetime")]
#[test_case("open = [\"tcp:99999@0.0.0.0/0\"]", "line 7, column 8: `tcp:99999@0.0.0.0/0` is no opening"; "no opening")]
#[test_case("image = \"$(x)\"", "line 7, column 9: `$(x)` has letters that no image has"; "no image")]
fn what_makes_no_sense_is_said_with_its_place(more: &str, said: &str) {
    let scene = Scene::of(CLOUDS[0]);
    fs::write(scene.path("plan.toml"), table(0, more) + METHOD).unwrap();
    let refused = scene.sonde(&["run", "plan.toml", "--stage", "provision"]);
    assert!(refused.code == Some(2) && refused.said(said), "{}", refused.told());
    assert_eq!(scene.count(), 0);
}
