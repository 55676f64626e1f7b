//! Arguments of `kubectl`, with a stand-in that runs things here.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use test_case::test_case;

use super::*;

/// Runs what comes behind `--`, notes what came before, and fails as it is told.
const STAND_IN: &str = "#!/bin/sh
here=${0%/*}
echo \"$*\" >>\"$here/asked\"
if [ -f \"$here/fault\" ]; then cat \"$here/fault\" >&2; exit 1; fi
while [ \"$1\" != -- ]; do shift; done
shift
HOME=$here/home exec \"$@\"
";

fn stand_in(folder: &Path) -> PathBuf {
    let path = folder.join("kubectl");
    std::fs::write(&path, STAND_IN).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

fn pod(folder: &Path) -> Pod {
    let told = host::Pod {
        pod: "sonde-7".into(),
        namespace: Some("lab".into()),
        container: Some("agent".into()),
        context: Some("east".into()),
    };
    Pod::new(told, stand_in(folder).to_str().unwrap().to_owned()).unwrap()
}

fn program(folder: &Path) -> Program {
    let path = folder.join("program");
    std::fs::write(&path, "#!/bin/sh\necho \"$@\"\n").unwrap();
    let output = Command::new("sha256sum").arg(&path).output().unwrap();
    let octets = std::fs::read(&path).unwrap();
    Program::new(path, &octets, &String::from_utf8(output.stdout).unwrap()[..64])
}

#[test]
fn the_program_goes_into_a_pod_and_runs_there() {
    let folder = tempfile::tempdir().unwrap();
    let (pod, program) = (pod(folder.path()), program(folder.path()));
    let file = pod.put(&program, Nanos::secs(60), &Stop::default()).unwrap();
    let output = pod.command(&[file.clone(), "two words".into(), "$HOME'".into()]).output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "two words $HOME'\n");
    pod.clean(Nanos::secs(60), &Stop::default()).unwrap();
    assert!(!Path::new(&file).exists());
    let asked = std::fs::read_to_string(folder.path().join("asked")).unwrap();
    assert!(asked.lines().all(|line| line.starts_with("exec -i --context east -n lab -c agent ")), "{asked}");
}

#[test_case("Error from server (NotFound): pods \"sonde-7\" not found", "no such pod", Some(Side::Ours))]
#[test_case("Error from server (Forbidden): pods \"sonde-7\" is forbidden", "does not permit", Some(Side::Theirs))]
#[test_case("error: context \"east\" does not exist", "does not know that cluster", Some(Side::Ours))]
#[test_case(
    "The connection to the server localhost:8080 was refused - did you specify the right host or port?",
    "API does not answer",
    Some(Side::Path)
)]
#[test_case(
    "error: Internal error occurred: exec: \"sh\": executable file not found in $PATH: unknown",
    "has no shell",
    Some(Side::Theirs)
)]
#[test_case(
    "OCI runtime exec failed: exec: \"sh\": executable file not found in $PATH: unknown",
    "has no shell",
    Some(Side::Theirs);
    "as a runtime says it"
)]
#[test_case("error: never heard of", "never heard of", None)]
fn what_kubectl_says_is_a_kind(said: &str, kind: &str, side: Option<Side>) {
    let folder = tempfile::tempdir().unwrap();
    let pod = pod(folder.path());
    std::fs::write(folder.path().join("fault"), said).unwrap();
    let failure = pod.put(&program(folder.path()), Nanos::secs(60), &Stop::default()).unwrap_err();
    assert!(failure.what.starts_with("sonde-7: cannot look for the program there: "), "{failure:?}");
    assert!(failure.what.contains(kind) && failure.what.ends_with(said), "{failure:?}");
    assert_eq!(failure.side, side);
}

#[test]
fn a_kubectl_that_is_not_there_is_said() {
    let told = host::Pod { pod: "a".into(), namespace: None, container: None, context: None };
    let pod = Pod::new(told, "/nowhere/kubectl".into()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let failure = pod.put(&program(folder.path()), Nanos::secs(60), &Stop::default()).unwrap_err();
    assert!(failure.what.contains("`kubectl` does not start"), "{failure:?}");
}
