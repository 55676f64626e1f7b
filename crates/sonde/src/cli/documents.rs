//! The commands that the pages of documentation show: each is one that the command line takes. Nothing is run here.

use std::ffi::OsString;

use clap::error::ErrorKind;
use endpoint::reflector::permit::Permit;
use protocol::native::limits::Limits;
use report::layout::Style;
use testbed::page::{self, Block};

use super::{definition, parse};
use crate::command::argv::Bare;
use crate::command::key_list::{self, Listed};
use crate::command::run::plan;
use crate::command::study;
use crate::persona;

/// The pages whose commands a reader types.
fn pages() -> Vec<String> {
    let mut pages =
        ["README.md", "README.ja.md", "docs/tutorial.md", "docs/tutorial-redis.md"].map(str::to_owned).to_vec();
    pages.extend(
        ["docs/howto", "docs/howto/programs", "docs/explain", "docs/ja", "docs/studies"]
            .iter()
            .flat_map(|folder| page::pages_in(folder)),
    );
    pages
}

/// The commands of ours in a page: after a prompt in a `console` block, and in spans of code that hold more than a name.
fn commands(page: &str) -> Vec<String> {
    let blocks = page::blocks(page);
    let typed = blocks.iter().flat_map(Block::commands).map(|(command, _)| command);
    let spans = page::spans(page).filter(|span| span.split(' ').count() > 2);
    typed.chain(spans).filter_map(page::of_ours).map(str::to_owned).collect()
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
        for command in commands(&page::read(&page)) {
            seen += 1;
            refused.extend(refusal(&command).map(|why| format!("{page}: {command}\n{why}")));
        }
    }
    assert!(seen > 100, "only {seen} commands were found");
    assert!(refused.is_empty(), "{}", refused.join("\n"));
}

#[test]
fn every_plan_of_a_page_is_read_or_refused_as_the_page_says() {
    let (mut read, mut refused) = (0, 0);
    for page in ["docs/plans.md", "docs/run.md", "docs/clouds.md", "docs/lab.md", "docs/howto/many-hosts.md"] {
        let text = page::read(page);
        let blocks = page::blocks(&text);
        for (at, Block { text: plan, .. }) in blocks.iter().enumerate().filter(|(_, block)| block.mark == "toml") {
            let is_refusal = |block: &&Block<'_>| block.mark == "text" && block.text.starts_with("error: plan.toml");
            let said = blocks.get(at + 1).filter(is_refusal);
            if said.is_none() && !plan.contains("methods") {
                continue;
            }
            let told = plan::parse(plan, "plan.toml")
                .map_err(|failure| failure.lines(&Style { width: usize::MAX, ..Style::default() }));
            match (said, told) {
                (None, Ok(_)) => read += 1,
                (Some(said), Err(told)) => {
                    assert_eq!(told.trim(), said.text.trim(), "{page}");
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
    let text = page::read("docs/howto/keys.md");
    let blocks = page::blocks(&text);
    let list = &blocks.iter().find(|block| block.mark == "toml").unwrap().text;
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
    assert_eq!(commands(page), ["sonde lab list", "sonde serve # there", "sonde rtt db1 --udp"]);
}

#[test]
fn a_command_that_is_not_taken_says_why() {
    assert_eq!(refusal("sonde rtt db1 --every 10ms  # once in a while"), None);
    assert_eq!(refusal("sonde netperf -H db1"), None);
    assert_eq!(refusal("sonde db1"), None);
    assert!(refusal("sonde rtt db1 --evry 10ms").is_some());
    assert!(refusal("sonde rtt 'db1").is_some());
}
