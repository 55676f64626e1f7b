//! The commands that the pages of documentation show: each is one that the command line takes. Nothing is run here.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use clap::error::ErrorKind;
use endpoint::reflector::permit::Permit;
use protocol::native::limits::Limits;
use report::layout::Style;

use super::{definition, parse};
use crate::command::argv::Bare;
use crate::command::key_list::{self, Listed};
use crate::command::run::plan;
use crate::command::study;
use crate::persona;

/// The pages whose commands a reader types.
fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut pages = ["README.md", "README.ja.md", "docs/tutorial.md", "docs/tutorial-redis.md"]
        .map(|page| root.join(page))
        .to_vec();
    for folder in ["docs/howto", "docs/howto/programs", "docs/explain", "docs/ja", "docs/studies"] {
        let entries = fs::read_dir(root.join(folder)).unwrap().map(|entry| entry.unwrap().path());
        pages.extend(entries.filter(|page| page.is_file()));
    }
    pages
}

/// The commands of ours in a page: after a prompt in a `console` block, and in spans of code that hold more than a name.
fn commands(page: &str) -> Vec<String> {
    let mut commands = Vec::new();
    let mut block = None;
    for line in page.lines() {
        if let Some(mark) = line.strip_prefix("```") {
            block = if block.is_none() { Some(mark) } else { None };
        } else if block == Some("console") {
            commands.extend(line.strip_prefix("$ ").and_then(of_ours));
        } else if block.is_none() {
            let spans = line.split('`').skip(1).step_by(2);
            commands.extend(spans.filter(|span| span.split(' ').count() > 2).filter_map(of_ours));
        }
    }
    commands
}

/// A command line from our name on, whoever runs it and wherever.
fn of_ours(line: &str) -> Option<String> {
    let line = line.strip_prefix("sudo ").unwrap_or(line);
    let in_namespace = line.strip_prefix("ip netns exec ").and_then(|rest| rest.split_once(' '));
    let line = in_namespace.map_or(line, |(_, command)| command);
    line.starts_with("sonde ").then(|| line.to_owned())
}

/// The reason why a command is none that is taken.
pub(super) fn refusal(command: &str) -> Option<String> {
    let Some(words) = shlex::split(command) else { return Some("a quote is left open".to_owned()) };
    let argv: Vec<OsString> = words.iter().map(OsString::from).collect();
    if persona::asked(&argv).is_some() {
        return None;
    }
    let definition = definition();
    let argv = study::argv::arranged(argv, &definition);
    let bare = Bare::at(&argv, &definition);
    let error = parse(&argv, bare.as_ref()).err()?;
    let is_answer = [ErrorKind::DisplayHelp, ErrorKind::DisplayVersion].contains(&error.kind());
    (!is_answer).then(|| error.to_string())
}

#[test]
fn every_command_of_a_page_is_taken() {
    let mut seen = 0;
    let mut refused = Vec::new();
    for page in pages() {
        for command in commands(&fs::read_to_string(&page).unwrap()) {
            seen += 1;
            refused.extend(refusal(&command).map(|why| format!("{}: {command}\n{why}", page.display())));
        }
    }
    assert!(seen > 100, "only {seen} commands were found");
    assert!(refused.is_empty(), "{}", refused.join("\n"));
}

/// The blocks of a page, each with its mark.
fn blocks(page: &str) -> Vec<(&str, String)> {
    let mut blocks: Vec<(&str, String)> = Vec::new();
    let mut inside = false;
    for line in page.lines() {
        match line.strip_prefix("```") {
            Some(mark) if !inside => {
                blocks.push((mark, String::new()));
                inside = true;
            }
            None if inside => blocks.last_mut().unwrap().1.extend([line, "\n"]),
            Some(_) => inside = false,
            None => {}
        }
    }
    blocks
}

#[test]
fn every_plan_of_a_page_is_read_or_refused_as_the_page_says() {
    let (mut read, mut refused) = (0, 0);
    for page in ["docs/plans.md", "docs/run.md", "docs/clouds.md", "docs/lab.md", "docs/howto/many-hosts.md"] {
        let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(page)).unwrap();
        let blocks = blocks(&text);
        for (at, (_, plan)) in blocks.iter().enumerate().filter(|(_, (mark, _))| *mark == "toml") {
            let said =
                blocks.get(at + 1).filter(|(mark, said)| *mark == "text" && said.starts_with("error: plan.toml"));
            if said.is_none() && !plan.contains("methods") {
                continue;
            }
            let told = plan::parse(plan, "plan.toml")
                .map_err(|failure| failure.lines(&Style { width: usize::MAX, ..Style::default() }));
            match (said, told) {
                (None, Ok(_)) => read += 1,
                (Some((_, said)), Err(told)) => {
                    assert_eq!(told.trim(), said.trim(), "{page}");
                    refused += 1;
                }
                (_, told) => panic!("{page}: {told:?} of\n{plan}"),
            }
        }
    }
    assert!(read >= 4 && refused >= 4, "{read} plans and {refused} faults were found");
}

#[test]
fn the_list_of_keys_that_a_page_shows_is_read() {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/howto/keys.md")).unwrap();
    let blocks = blocks(&text);
    let (_, list) = blocks.iter().find(|(mark, _)| *mark == "toml").unwrap();
    assert!(key_list::is_list(list));
    let keys = key_list::read(list, "keys.toml", &Permit::within(Limits::default())).unwrap();
    assert_eq!(keys.iter().map(Listed::name).collect::<Vec<_>>(), ["nightly"]);
    // Each word of the list is in the table below it.
    for word in list.lines().filter_map(|line| line.split_once(" = ")).map(|(word, _)| word) {
        assert!(text.contains(&format!("| `{word}` |")), "{word}");
    }
}

#[test]
fn commands_are_found_where_a_reader_types_them() {
    let page = "`sonde rtt db1 --udp` and `sonde rtt`\n```console\n$ sudo sonde lab list\nsonde 1\n$ ls\n\
                $ sudo ip netns exec a sonde serve # there\n```\n```\nsonde no --such\n```\n";
    assert_eq!(commands(page), ["sonde rtt db1 --udp", "sonde lab list", "sonde serve # there"]);
}

#[test]
fn a_command_that_is_not_taken_says_why() {
    assert_eq!(refusal("sonde rtt db1 --every 10ms  # once in a while"), None);
    assert_eq!(refusal("sonde netperf -H db1"), None);
    assert_eq!(refusal("sonde db1"), None);
    assert!(refusal("sonde rtt db1 --evry 10ms").is_some());
    assert!(refusal("sonde rtt 'db1").is_some());
}
