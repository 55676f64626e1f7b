//! The gates that are packaged for machines that build: each is read as YAML, and its commands are taken with the values that it has by itself.

use std::collections::BTreeMap;
use std::path::Path;

use lab::document::{Node, Value, yaml};

use super::documents::refusal;

fn read(file: &str) -> Node {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging").join(file);
    yaml::read(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn text<'a>(node: &'a Node, path: &[&str]) -> &'a str {
    path.iter().fold(node, |node, name| node.get(name).unwrap_or_else(|| panic!("no {name}"))).text().unwrap()
}

fn items(node: &Node) -> &[Node] {
    match &node.value {
        Value::List(items) => items,
        _ => panic!("no list in line {}", node.line),
    }
}

/// The command of ours in a line of a script, its variables replaced.
fn command(line: &str, values: &BTreeMap<String, String>) -> Option<String> {
    let line = line.trim().strip_suffix("|| status=$?").unwrap_or(line).trim();
    let replaced = values
        .iter()
        .fold(line.to_owned(), |line, (name, value)| line.replace(&format!("${name}\""), &format!("{value}\"")));
    line.starts_with("sonde ").then_some(replaced)
}

fn is_taken(commands: &[String]) {
    assert_eq!(commands.len(), 2, "{commands:?}");
    for line in commands {
        assert!(!line.contains('$'), "{line}");
        assert_eq!(refusal(line), None, "{line}");
    }
}

#[test]
fn the_action_for_github_is_read_and_its_commands_are_taken() {
    let action = read("github/action.yml");
    assert_eq!(text(&action, &["runs", "using"]), "composite");
    let inputs: BTreeMap<&str, &str> = action
        .get("inputs")
        .unwrap()
        .entries()
        .iter()
        .map(|(name, input)| (name.as_str(), text(input, &["default"])))
        .collect();
    // Empty by themselves: what is given in their place leads to a program, and names a plan.
    let usual = |name: &str| match name {
        "runner-a" | "runner-b" => "ip netns exec a sonde",
        "study" => "ping-or-netperf",
        _ => inputs[name],
    };
    let mut commands = Vec::new();
    for step in items(action.get("runs").unwrap().get("steps").unwrap()) {
        assert_eq!(text(step, &["shell"]), "bash");
        let values = step.get("env").unwrap().entries().iter().map(|(name, value)| {
            let input =
                value.text().unwrap().strip_prefix("${{ inputs.").and_then(|rest| rest.strip_suffix(" }}")).unwrap();
            (name.clone(), usual(input).to_owned())
        });
        let values = values.collect();
        let script = text(step, &["run"]);
        assert!(!script.contains("${{"), "an input within a script would be read by the shell");
        commands.extend(script.lines().filter_map(|line| command(line, &values)));
    }
    is_taken(&commands);
}

#[test]
fn the_example_for_gitlab_is_read_and_its_commands_are_taken() {
    let example = read("gitlab/sonde.gitlab-ci.yml");
    let values = example.get("variables").unwrap().entries().iter();
    let values = values.map(|(name, value)| (name.clone(), value.text().unwrap().to_owned())).collect();
    let mut commands = Vec::new();
    for job in ["sonde-gate", "sonde-claims"] {
        let script = items(example.get(job).unwrap().get("script").unwrap());
        commands.extend(script.iter().filter_map(|line| command(line.text().unwrap(), &values)));
    }
    is_taken(&commands);
    assert_eq!(text(&example, &["sonde-claims", "artifacts", "reports", "junit"]), "sonde-study.xml");
    assert_eq!(
        text(&example, &["sonde-claims", "allow_failure", "exit_codes"]),
        crate::exit::Exit::NotShown.code().to_string()
    );
}
