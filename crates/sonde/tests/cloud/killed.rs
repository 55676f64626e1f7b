//! SIGKILL and signals at each step: what there is is known, and goes by `down` and by `clean`.

use std::fs;

use rustix::process::{Pid, Signal, kill_process};
use test_case::test_case;
use testbed::process::LIMIT;
use testbed::wait;

use crate::scene::{CLOUDS, Scene, moments, steps};

#[test_case(0; "gcp")]
#[test_case(1; "aws")]
#[test_case(2; "azure")]
fn killed_at_each_step_of_making(cloud: usize) {
    let calls = Scene::of(CLOUDS[cloud]).calls_of(|scene| scene.up(&[]));
    for number in 1..=calls {
        for when in moments(cloud) {
            let what = format!("killed {when} call {number} of {calls}");
            let scene = Scene::of(CLOUDS[cloud]);
            scene.fault(number, when, "kill");
            let up = scene.up(&[]);
            assert_eq!(up.code, None, "{what}: {}", up.told());
            assert!(scene.owes(), "{what}: {}", up.told());
            let listed = scene.run("list", &[]);
            assert!(listed.said("cut off") && listed.said("clean-up owed"), "{what}: {}", listed.told());
            scene.heal();
            // By one way and by the other.
            let down = if number % 2 == 0 { scene.down(&[]) } else { scene.run("clean", &[]) };
            assert_eq!(down.code, Some(0), "{what}: {}", down.told());
            scene.assert_clean(&what, &down);
        }
    }
}

#[test_case(0; "gcp")]
#[test_case(1; "aws")]
#[test_case(2; "azure")]
fn killed_at_each_step_of_removing(cloud: usize) {
    let made = Scene::of(CLOUDS[cloud]);
    made.calls_of(|scene| scene.up(&[]));
    let calls = made.copy().calls_of(|scene| scene.down(&[]));
    for number in steps(cloud, calls) {
        for when in moments(cloud) {
            let what = format!("killed {when} call {number} of {calls}");
            let scene = made.copy();
            scene.fault(number, when, "kill");
            assert_eq!(scene.down(&[]).code, None, "{what}");
            assert!(scene.owes(), "{what}");
            scene.heal();
            let down = if number % 2 == 0 { scene.down(&[]) } else { scene.run("clean", &[]) };
            assert_eq!(down.code, Some(0), "{what}: {}", down.told());
            scene.assert_clean(&what, &down);
        }
    }
}

#[test_case(0; "gcp")]
#[test_case(1; "aws")]
#[test_case(2; "azure")]
fn interrupted_at_each_step_of_making(cloud: usize) {
    let calls = Scene::of(CLOUDS[cloud]).calls_of(|scene| scene.up(&[]));
    // At the last call everything is there before the signal is looked at, or it is not: both are an end in order.
    for number in steps(cloud, calls - 1) {
        let what = format!("SIGINT at call {number} of {calls}");
        let scene = Scene::of(CLOUDS[cloud]);
        scene.fault(number, "after", "interrupt");
        let up = scene.up(&[]);
        if up.code == Some(0) {
            assert!(number + 1 >= calls, "{what}: {}", up.told());
            assert_eq!(scene.down(&[]).code, Some(0));
            continue;
        }
        assert_eq!(up.code, Some(130), "{what}: {}", up.told());
        scene.assert_clean(&what, &up);
    }
}

#[test]
fn a_call_that_outlives_its_killed_caller_is_ended_and_what_it_made_is_removed() {
    let scene = Scene::of(CLOUDS[0]);
    // The network is made, and the call that made it never ends.
    scene.fault(1, "after", "hang");
    let up = scene.start_up(&[]);
    wait::until("a call that hangs, its work done", || scene.count() == 1 && !scene.things().is_empty());
    let listed = scene.run("list", &[]);
    assert!(listed.said("being made") && !listed.said("owed"), "{}", listed.told());
    let refused = scene.down(&[]);
    assert!(refused.code == Some(2) && refused.said(&format!("process {} works on it", up.id())), "{}", refused.told());
    kill_process(Pid::from_raw(up.id().cast_signed()).unwrap(), Signal::KILL).unwrap();
    // Its outputs are held by the call it left.
    wait::until("its end", || {
        !fs::exists(format!("/proc/{}/exe", up.id())).unwrap()
            || fs::read_link(format!("/proc/{}/exe", up.id())).is_err()
    });
    scene.heal();
    let words = Scene::words("down", &["--run", "r1"]);
    let words: Vec<&str> = words.iter().map(|word| if *word == "20s" { "500ms" } else { word }).collect();
    let down = testbed::process::ended(&mut scene.command(&words), LIMIT);
    assert_eq!(down.code, Some(0), "{}", down.told());
    scene.assert_clean("after down", &down);
    drop(up);
}
