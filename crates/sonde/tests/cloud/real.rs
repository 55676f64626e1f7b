//! The vendors' real programs, as far as they go without an account: they read our words, and refuse only the login.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use test_case::test_case;
use testbed::process::{LIMIT, ended};
use testbed::skip;

use crate::scene::{CLOUDS, Scene, path};

/// A program in the PATH, or among the tools that `make/cloud-tools` installs.
pub fn program(name: &str) -> Option<PathBuf> {
    let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/cloud-tools/bin");
    let folders = std::iter::once(tools).chain(std::env::split_paths(&path()).collect::<Vec<_>>());
    folders.map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// Every call that `up` and `down` make, by the stand-in, once each; given to the real program with no login.
#[test_case(0, "gcloud", &["active account", "credential"]; "gcloud")]
#[test_case(1, "aws", &["locate credentials"]; "aws")]
#[test_case(2, "az", &["az login"]; "az")]
fn the_real_program_reads_our_words_up_to_the_login(cloud: usize, name: &str, refusals: &[&str]) {
    let Some(real) = program(name) else {
        return skip::aloud(&format!("the words for {name} by the real program: it is not installed"));
    };
    let scene = Scene::of(CLOUDS[cloud]);
    let script = scene.up(&["--dry-run", "--open", "tcp:7000-7100@0.0.0.0/0"]);
    let whole = commands(&script.stdout);
    let calls: BTreeSet<&str> =
        whole.iter().map(|line| line.trim_start_matches(['#', ' '])).filter(|line| line.starts_with(name)).collect();
    assert!(calls.len() > 5, "{}", script.told());
    fs::create_dir(scene.path("real")).unwrap();
    std::os::unix::fs::symlink(&real, scene.path("real").join(name)).unwrap();
    // A line of the page's own words begins with no program.
    for call in calls.into_iter().filter(|call| call.contains(" --")) {
        let mut command = Command::new("sh");
        let path = format!("{}:{}", scene.path("real").display(), path());
        command.args(["-c", call]).env_clear().env("PATH", path).env("HOME", scene.path("state"));
        // Placeholders have some value or other; nobody is asked for a login, and nowhere.
        for variable in ["VPC_0", "GATEWAY_0", "TABLE_0", "GROUP_0", "SUBNET_0", "ATTACHED_0", "ATTACHED_TO_0"] {
            command.env(variable, "x-1");
        }
        for variable in ["INSTANCE_0", "KEY_0", "PLACEMENT_0"] {
            command.env(variable, "x-1");
        }
        command.env("CLOUDSDK_CONFIG", scene.path("state")).env("CLOUDSDK_CORE_CHECK_GCE_METADATA", "false");
        command.env("CLOUDSDK_CORE_PROJECT", "p").env("CLOUDSDK_CORE_DISABLE_PROMPTS", "1");
        command.env("AWS_EC2_METADATA_DISABLED", "true").env("AZURE_CONFIG_DIR", scene.path("state"));
        let said = ended(command.current_dir(scene.path("")), LIMIT);
        let refused = refusals.iter().any(|refusal| said.stderr.contains(refusal));
        assert!(said.code != Some(0) && refused, "{call}\n{}", said.told());
    }
}

/// The commands of a script, also those with a line end between quotes.
fn commands(script: &str) -> Vec<String> {
    let mut commands: Vec<String> = Vec::new();
    let is_open = |command: &String| command.matches('\'').count() % 2 == 1;
    for line in script.lines() {
        match commands.last_mut().filter(|command| is_open(command)) {
            Some(command) => *command = format!("{command}\n{line}"),
            None => commands.push(line.to_owned()),
        }
    }
    commands
}
