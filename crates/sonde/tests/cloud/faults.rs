//! A fault at each step, before and after its effect: nothing is left behind, or it is owed and known.

use std::fs;

use serde_json::Value;
use test_case::test_case;

use crate::scene::{CLOUDS, RUN, Scene, moments, steps};

/// Either nothing is there and nothing owed, or it is owed, refuses others, and goes by `down`.
fn settled(scene: &Scene, what: &str, ended: &testbed::process::Ended) {
    if scene.owes() {
        assert!(ended.said("sonde lab cloud down --run r1"), "{what}: the way out is told: {}", ended.told());
        scene.heal();
        let down = scene.down(&[]);
        assert_eq!(down.code, Some(0), "{what}: {}", down.told());
        scene.assert_clean(what, &down);
    } else {
        scene.assert_clean(what, ended);
    }
}

#[test_case(0, "fail"; "gcp")]
#[test_case(1, "fail"; "aws")]
#[test_case(2, "fail"; "azure")]
#[test_case(0, "rubbish"; "gcp rubbish")]
fn a_fault_at_each_step_of_making_leaves_nothing(cloud: usize, how: &str) {
    let calls = Scene::of(CLOUDS[cloud]).calls_of(|scene| scene.up(&[]));
    assert!(calls > 10, "{calls}");
    let moments = if how == "fail" { &["before", "after"][..] } else { &["before"] };
    for number in 1..=calls {
        for when in moments {
            let what = format!("{how} {when} call {number} of {calls}");
            let scene = Scene::of(CLOUDS[cloud]);
            scene.fault(number, when, how);
            let ended = scene.up(&[]);
            if ended.code == Some(0) {
                // Rubbish in place of what a creating call prints is nobody's loss.
                assert_eq!(how, "rubbish", "{what}: {}", ended.told());
                assert!(scene.owes(), "{what}: a lab that is up has a ledger");
                scene.heal();
                let down = scene.down(&[]);
                scene.assert_clean(&what, &down);
                continue;
            }
            assert!(ended.said("error: "), "{what}: {}", ended.told());
            settled(&scene, &what, &ended);
        }
    }
}

#[test_case(0; "gcp")]
#[test_case(1; "aws")]
#[test_case(2; "azure")]
fn a_fault_at_each_step_of_removing_is_owed_and_goes_the_next_time(cloud: usize) {
    let made = Scene::of(CLOUDS[cloud]);
    made.calls_of(|scene| scene.up(&[]));
    let calls = made.copy().calls_of(|scene| scene.down(&[]));
    for number in steps(cloud, calls) {
        for when in moments(cloud) {
            let what = format!("fail {when} call {number} of {calls}");
            let scene = made.copy();
            scene.fault(number, when, "fail");
            let down = scene.down(&[]);
            assert_eq!(down.code, Some(1), "{what}: {}", down.told());
            assert!(scene.owes(), "{what}: {}", down.told());
            settled(&scene, &what, &down);
        }
    }
}

#[test]
fn nothing_is_begun_while_a_clean_up_is_owed() {
    let scene = Scene::of(CLOUDS[0]);
    scene.up(&[]);
    scene.fault_of_removal("fail");
    let down = scene.down(&[]);
    assert!(down.code == Some(1) && down.said("cannot remove machine sonde-r1-0"), "{}", down.told());
    let listed = scene.run("list", &[]);
    assert!(listed.said("clean-up owed: gcp: cannot remove machine"), "{}", listed.told());
    scene.heal();
    let (before, made) = (scene.count(), ["--cloud", "gcp", "--zone", "us-central1-a", "--machine-type", "e2-small"]);
    let made = [&made[..], &["--from", "203.0.113.7", "--public-key", "key.pub", "--run", "r2"]].concat();
    let refused = scene.run("up", &made);
    assert_eq!((refused.code, scene.count()), (Some(2), before), "{}", refused.told());
    assert!(refused.said("run r1: ") && refused.said("`sonde lab cloud down --run r1`"), "{}", refused.told());
    assert_eq!(scene.run("up", &[&made[..], &["--despite-owed"]].concat()).code, Some(0));
    let clean = scene.run("clean", &[]);
    assert!(clean.code == Some(0) && !scene.owes(), "{}", clean.told());
    assert!(scene.things().iter().all(|thing| thing.contains("r2")) && !scene.things().is_empty(), "r2 is not over");
    assert_eq!(scene.run("down", &["--run", "r2"]).code, Some(0));
    assert_eq!(scene.things(), [""; 0]);
}

#[test_case(0, "You do not currently have an active account selected.", &["not logged in", "gcloud auth login"]; "gcp login")]
#[test_case(0, "Quota 'CPUS' exceeded. Limit: 24.0 in region us-central1.", &["a quota is used up", "ask for more"]; "gcp quota")]
#[test_case(0, "ZONE_RESOURCE_POOL_EXHAUSTED", &["no capacity", "another zone"]; "gcp capacity")]
#[test_case(0, "Required 'compute.networks.create' permission for 'projects/p'", &["not permitted", "roles/compute.admin"]; "gcp permission")]
#[test_case(1, "Unable to locate credentials. You can configure credentials by running \"aws configure\".", &["not logged in", "aws configure"]; "aws login")]
#[test_case(1, "An error occurred (VcpuLimitExceeded) when calling the RunInstances operation", &["a quota is used up"]; "aws quota")]
#[test_case(1, "An error occurred (InsufficientInstanceCapacity) when calling the RunInstances operation", &["no capacity"]; "aws capacity")]
#[test_case(1, "An error occurred (UnauthorizedOperation) when calling the CreateVpc operation", &["not permitted"]; "aws permission")]
#[test_case(2, "ERROR: Please run 'az login' to setup account.", &["not logged in", "az login"]; "azure login")]
#[test_case(2, "(QuotaExceeded) Operation could not be completed as it results in exceeding approved cores quota.", &["a quota is used up"]; "azure quota")]
#[test_case(2, "(SkuNotAvailable) The requested VM size is currently not available in location 'eastus'.", &["no capacity"]; "azure capacity")]
#[test_case(2, "(AuthorizationFailed) The client does not have authorization to perform action", &["not permitted", "Contributor"]; "azure permission")]
fn what_a_program_says_is_understood(cloud: usize, says: &str, told: &[&str]) {
    let scene = Scene::of(CLOUDS[cloud]);
    scene.fault(4, "before", &format!("says:{says}"));
    let ended = scene.up(&[]);
    assert_eq!(ended.code.map(|code| code == 1 || code == 2), Some(true), "{}", ended.told());
    for told in told {
        assert!(ended.stderr.contains(told), "`{told}`: {}", ended.told());
    }
    settled(&scene, says, &ended);
}

#[test_case(0, "Rate Limit Exceeded"; "gcp")]
#[test_case(1, "An error occurred (RequestLimitExceeded) when calling"; "aws")]
#[test_case(2, "(TooManyRequests) The request is being throttled"; "azure")]
fn too_many_requests_are_tried_again(cloud: usize, says: &str) {
    let calls = Scene::of(CLOUDS[cloud]).calls_of(|scene| scene.up(&[]));
    for number in [1, 2, calls / 2, calls] {
        let scene = Scene::of(CLOUDS[cloud]);
        scene.fault(number, "before", &format!("says:{says}"));
        let again = scene.calls_of(|scene| scene.up(&[]));
        assert_eq!(again, calls + 1, "call {number}, once more");
        scene.fault(1, "before", &format!("says:{says}"));
        let down = scene.down(&[]);
        scene.assert_clean(says, &down);
    }
}

#[test]
fn a_program_that_is_not_there_is_said() {
    for (cloud, program) in CLOUDS.into_iter().zip(["gcloud", "aws", "az"]) {
        let scene = Scene::of(cloud);
        let mut command = scene.command(&scene.up_words(&[]));
        let ended = testbed::process::ended(command.env("PATH", scene.path("nowhere")), testbed::process::LIMIT);
        assert_eq!(ended.code, Some(2), "{}", ended.told());
        assert!(ended.said(&format!("there is no `{program}`")) && ended.said("install it"), "{}", ended.told());
        // A thing that was begun without the program cannot be looked for without it either: it stays owed until the program
        // is there.
        settled(&scene, program, &ended);
    }
}

#[test_case(0; "gcp")]
#[test_case(1; "aws")]
#[test_case(2; "azure")]
fn a_call_that_hangs_is_ended(cloud: usize) {
    let calls = Scene::of(CLOUDS[cloud]).calls_of(|scene| scene.up(&[]));
    for (number, when) in [(calls / 2, "after"), (calls - 1, "before")] {
        let scene = Scene::of(CLOUDS[cloud]);
        scene.fault(number, when, "hang");
        let words = scene.up_words(&[]);
        let words: Vec<&str> = words.iter().map(|word| if *word == "20s" { "4s" } else { word }).collect();
        let ended = testbed::process::ended(&mut scene.command(&words), testbed::process::LIMIT);
        let what = format!("call {number} of {calls} hangs, {when}");
        assert!(ended.code == Some(1) && ended.said("no end in time"), "{what}: {}", ended.told());
        settled(&scene, &what, &ended);
    }
}

#[test]
fn a_ledger_that_cannot_be_written_has_nothing_begun() {
    let scene = Scene::of(CLOUDS[0]);
    fs::write(scene.path("state/sonde"), "in the way").unwrap();
    let ended = scene.up(&[]);
    assert!(ended.code == Some(2) && ended.said("XDG_STATE_HOME"), "{}", ended.told());
    assert_eq!(scene.count(), 0);
}

#[test]
fn a_ledger_that_cannot_be_read_is_owed() {
    let scene = Scene::of(CLOUDS[0]);
    scene.up(&[]);
    fs::write(scene.path("state/sonde/cloud/r1.json"), "{\"version\": 1").unwrap();
    assert!(scene.run("list", &[]).said("its ledger cannot be read"));
    let down = scene.down(&[]);
    assert!(down.code == Some(2) && down.said("--by-tags"), "{}", down.told());
    let down = scene.down(&["--by-tags", "--cloud", "gcp"]);
    assert_eq!((down.code, scene.things()), (Some(0), vec![]), "{}", down.told());
    fs::remove_file(scene.path(&format!("state/sonde/cloud/{RUN}.json"))).unwrap();
}

#[test_case(0, "GCP", "Quota 'CPUS' exceeded. Limit: 24.0 in region us-central1.", "QUOTA_EXCEEDED"; "gcp quota")]
#[test_case(0, "GCP", "ZONE_RESOURCE_POOL_EXHAUSTED", "INSUFFICIENT_CAPACITY"; "gcp capacity")]
#[test_case(1, "AWS", "An error occurred (VcpuLimitExceeded) when calling the RunInstances operation", "QUOTA_EXCEEDED"; "aws quota")]
#[test_case(1, "AWS", "An error occurred (InsufficientInstanceCapacity) when calling", "INSUFFICIENT_CAPACITY"; "aws capacity")]
#[test_case(2, "Azure", "(SkuNotAvailable) The requested VM size is currently not available", "INSUFFICIENT_CAPACITY"; "azure capacity")]
#[test_case(1, "AWS", "An error occurred (UnauthorizedOperation) when calling", "UNCATEGORIZED"; "no right")]
fn pkb_calls_a_failure_by_its_own_name(cloud: usize, name: &str, says: &str, substatus: &str) {
    let scene = Scene::of(CLOUDS[cloud]);
    scene.fault(4, "before", &format!("says:{says}"));
    let cloud = format!("--cloud={name}");
    let words = ["pkb", "--benchmarks=ping", &cloud, "--ssh_public_key=key.pub", "--run_uri=f1", "--temp_dir=pkb"];
    let ended = scene.sonde(&words);
    assert_eq!(ended.code, Some(1), "{}", ended.told());
    assert!(ended.said(substatus), "{}", ended.told());
    let statuses = fs::read_to_string(scene.path("pkb/runs/f1/completion_statuses.json")).unwrap();
    let status: Value = serde_json::from_str(&statuses).unwrap();
    assert_eq!((&status["status"], &status["failed_substatus"]), (&"FAILED".into(), &substatus.into()), "{statuses}");
}
