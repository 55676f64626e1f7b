//! Without a ledger: what carries the tags is found by asking the cloud.

use std::fs;

use test_case::test_case;

use crate::scene::{CLOUDS, Scene, steps};

/// A lab whose ledger is lost.
fn lost(cloud: usize, more: &[&str]) -> Scene {
    let scene = Scene::of(CLOUDS[cloud]);
    let up = scene.up(more);
    assert_eq!(up.code, Some(0), "{}", up.told());
    fs::remove_dir_all(scene.path("state/sonde")).unwrap();
    scene
}

#[test_case(0; "gcp")]
#[test_case(1; "aws")]
#[test_case(2; "azure")]
fn a_run_is_removed_by_its_tags(cloud: usize) {
    let scene = lost(cloud, &[]);
    let refused = scene.down(&[]);
    assert!(refused.code == Some(2) && refused.said("--cloud CLOUD"), "{}", refused.told());
    let name = CLOUDS[cloud].0;
    let listed = scene.run("list", &["--cloud", name]);
    assert!(listed.stdout.starts_with("r1\t"), "{}", listed.told());
    let other = scene.run("down", &["--run", "r2", "--cloud", name]);
    assert!(other.code == Some(0) && !scene.things().is_empty(), "another's run: {}", other.told());
    let dry = scene.down(&["--cloud", name, "--dry-run"]);
    assert!(dry.stdout.contains("delete") && !scene.things().is_empty(), "{}", dry.told());
    let down = scene.down(&["--cloud", name]);
    assert_eq!(down.code, Some(0), "{}", down.told());
    scene.assert_clean("by tags", &down);
}

#[test_case(0; "gcp")]
#[test_case(1; "aws")]
#[test_case(2; "azure")]
fn what_is_over_is_cleaned_and_nothing_else(cloud: usize) {
    let name = CLOUDS[cloud].0;
    let scene = lost(cloud, &["--owner", "alice"]);
    let things = scene.things();
    for kept in
        [&["--cloud", name, "--older-than", "1h", "--owner", "alice"][..], &["--cloud", name, "--older-than", "1ms"]]
    {
        let clean = scene.run("clean", kept);
        assert_eq!((clean.code, scene.things()), (Some(0), things.clone()), "{kept:?}: {}", clean.told());
    }
    let clean = scene.run("clean", &["--cloud", name, "--older-than", "1ms", "--any-owner"]);
    assert_eq!(clean.code, Some(0), "{}", clean.told());
    scene.assert_clean("cleaned", &clean);
}

#[test_case(0; "gcp")]
#[test_case(1; "aws")]
#[test_case(2; "azure")]
fn a_fault_at_each_step_is_told_and_goes_the_next_time(cloud: usize) {
    let name = CLOUDS[cloud].0;
    let lost = lost(cloud, &[]);
    let calls = lost.copy().calls_of(|scene| scene.down(&["--cloud", name]));
    for number in steps(cloud, calls) {
        let hows = if cloud == 0 { &["fail", "rubbish"][..] } else { &["fail"] };
        for how in hows {
            let scene = lost.copy();
            scene.fault(number, "before", how);
            let down = scene.down(&["--cloud", name]);
            assert_ne!(down.code, Some(0), "{how} at call {number} of {calls}: {}", down.told());
            scene.heal();
            let down = scene.down(&["--cloud", name]);
            assert_eq!(down.code, Some(0), "{}", down.told());
            scene.assert_clean("the next time", &down);
        }
    }
}
