//! Transcripts whose text is not a matter of form: usage, lists, versions, what a resolver says; and what ours makes of
//! input that the original passes over.

use test_case::test_case;
use testbed::console::Console;
use testbed::form::columns::columns;
use testbed::process::Ended;

use crate::netperf_pairs::ends::{End, Server};
use crate::netperf_pairs::forms::{Layout, compared};
use crate::netperf_pairs::transcripts::fixture;

/// Ours, called as the transcript says, and the transcript.
fn called(name: &str) -> (Console, Ended) {
    let console = fixture(name);
    let server = Server::start(End::Ours, &[]);
    let ended = End::Ours.client(server.port, console.arguments());
    assert_eq!((ended.overdue, ended.code), (false, Some(console.status)), "{name}: {}", ended.told());
    (console, ended)
}

/// Options of the original that ours refuses, or takes without effect: its usage need not explain them.
const WITHOUT_EFFECT: &[char] = &['d', 'n', 'N', 'F'];

/// The letters of the options that a usage text explains: `-x` as a word of its own in a line that is indented.
pub fn explained(usage: &str) -> Vec<char> {
    let lines = usage.lines().filter(|line| line.starts_with("    "));
    let letter = |word: &str| {
        let mut letters = word.strip_prefix('-')?.chars();
        letters.next().filter(|letter| letters.as_str().is_empty() && letter.is_ascii_alphanumeric())
    };
    lines.flat_map(|line| line.split_whitespace().filter_map(letter).collect::<Vec<_>>()).collect()
}

#[test_case("63_err_unknown_option", "netperf: invalid option -- 'X'\n\nUsage: netperf [global options] -- [test options] \n"; "an unknown option")]
#[test_case("65_usage_h", "\nUsage: netperf [global options] -- [test options] \n"; "asked for")]
fn usage_goes_to_standard_error_and_explains_every_option(name: &str, opening: &str) {
    let (console, ended) = called(name);
    assert!(ended.stderr.starts_with(opening) && ended.stdout.is_empty(), "{}", ended.told());
    let ours = explained(&ended.stderr);
    let lacking: Vec<char> = explained(&console.stderr).into_iter().filter(|option| !ours.contains(option)).collect();
    let lacking: Vec<char> = lacking.into_iter().filter(|option| !WITHOUT_EFFECT.contains(option)).collect();
    assert!(lacking.is_empty(), "{lacking:?}: {}", ended.stderr);
}

#[test]
fn usage_of_a_test_goes_to_standard_output_and_explains_every_option() {
    let (console, ended) = called("66_test_usage_h");
    assert!(ended.stdout.starts_with("\nUsage: netperf [global options] -- [test options] \n"), "{}", ended.told());
    let ours = explained(&ended.stdout);
    let lacking: Vec<char> = explained(&console.stdout).into_iter().filter(|option| !ours.contains(option)).collect();
    let lacking: Vec<char> = lacking.into_iter().filter(|option| !WITHOUT_EFFECT.contains(option)).collect();
    assert!(lacking.is_empty() && ended.stderr.is_empty(), "{lacking:?}: {}", ended.told());
}

#[test_case("47_selector_list", "\n"; "one to a line")]
#[test_case("C2_csv_list", ","; "by commas")]
fn selectors_are_listed_with_all_of_the_original_in_their_order(name: &str, between: &str) {
    let (console, ended) = called(name);
    let names = |text: &str| text.trim_end().split(between).map(str::to_owned).collect::<Vec<_>>();
    let ours = names(&ended.stdout);
    let mut rest = ours.iter();
    for selector in names(&console.stdout) {
        assert!(rest.any(|ours| *ours == selector), "{selector} is not in its place: {}", ended.stdout);
    }
    assert!(ended.stderr.is_empty(), "{}", ended.stderr);
}

#[test_case("67_version", "netperf", "-V"; "of the client")]
#[test_case("netserver_2_V", "netserver", "-V"; "of the server")]
fn a_version_is_told_in_one_line(name: &str, program: &str, option: &str) {
    let console = fixture(name);
    let output = End::Ours.program(program).unwrap().arg(option).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let version = |text: &str| text.strip_prefix("Netperf version ").map(|rest| rest.split('.').count());
    assert_eq!((output.status.code(), version(&text)), (Some(console.status), version(&console.stdout)), "{text}");
    assert!(text.ends_with('\n') && text.lines().count() == 1, "{text}");
}

#[test]
fn an_unknown_host_is_told_in_the_original_s_words() {
    let (console, ended) = called("62_err_unknown_host");
    // The resolver's answer is a matter of the network.
    let told = |text: &str| text.lines().filter(|line| !line.starts_with('\t')).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(told(&ended.stdout), told(&console.stdout), "{}", ended.told());
    assert!(ended.stdout.contains("\tgetaddrinfo returned -"), "{}", ended.told());
}

/// The original passes over a name it does not know, and shifts what stands behind it. Ours says so and keeps columns.
#[test]
fn an_unknown_selector_is_told_and_shifts_nothing() {
    let (console, ended) = called("45_unknown_selector_keyval");
    assert_eq!(compared(&console.stdout, &ended.stdout, Layout::Lines), [""; 0], "{}", ended.told());
    assert!(ended.stderr.contains("NO_SUCH_THING"), "{}", ended.told());

    let (_, ended) = called("44_unknown_selector_csv");
    let [_, header, values] = ended.stdout.lines().collect::<Vec<_>>()[..] else { panic!("{}", ended.told()) };
    let cells = |line: &str| line.split(',').map(str::trim).map(str::to_owned).collect::<Vec<_>>();
    let (header, values) = (cells(header), cells(values));
    assert_eq!(header.len(), values.len(), "{}", ended.told());
    let of = |title: &str| &values[header.iter().position(|cell| cell == title).unwrap()];
    assert!(of("Throughput").parse::<f64>().is_ok_and(|rate| rate > 1.0), "{}", ended.told());
    assert!(of("Mean Latency Microseconds").parse::<f64>().is_ok_and(|mean| mean > 1.0), "{}", ended.told());
    assert!(ended.stderr.contains("NO_SUCH_THING"), "{}", ended.told());
}

#[test]
fn an_unknown_selector_shifts_no_column() {
    let (_, ended) = called("d33_human_unknown_brand");
    let lines: Vec<&str> = ended.stdout.lines().skip(1).collect();
    let columns = columns(&lines).unwrap_or_else(|error| panic!("{error}: {}", ended.told()));
    let titles: Vec<&str> = columns.iter().map(|column| column.headings[0].as_str()).collect();
    assert_eq!(titles, ["Throughput", "Mean", "Result", "Throughput"], "{}", ended.told());
    assert_eq!((columns[2].value.as_str(), &columns[0].value), ("\"my brand\"", &columns[3].value), "{}", ended.told());
    assert!(ended.stderr.contains("NOSUCH"), "{}", ended.told());
}

/// A test that the original dies of has a result here.
#[test]
fn a_burst_by_count_is_exact() {
    let (console, server) = (fixture("89_neg_l_trans_burst"), Server::start(End::Ours, &[]));
    let ended = End::Ours.client(server.port, console.arguments());
    let fields = crate::netperf_pairs::fields::Fields::of(&ended.stdout);
    assert_eq!((ended.code, fields.number("LOCAL_RECV_CALLS").is_ok()), (Some(0), true), "{}", ended.told());
    let asked = console.arguments().last().unwrap().split(',');
    assert_eq!(asked.filter(|name| fields.number(name).is_err()).collect::<Vec<_>>(), [""; 0], "{}", ended.told());
    assert_eq!(fields.text("BURST_SIZE"), Ok("4"));
}

/// Recorded, and compared as text by the tests of the output alone: their form is that of fixed ports, of what falls into a
/// thousandth of a second, or differs on purpose (`docs/netperf.md`).
const TEXT_ALONE: [&str; 4] =
    ["d25_tcp_sendfile_v2", "d33_human_unknown_brand", "d37_demo_csv_u", "d38_ports_and_addresses"];

#[test]
fn every_transcript_is_in_a_test() {
    let tests = [include_str!("transcripts.rs"), include_str!("odd.rs"), include_str!("servers.rs")].concat();
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/netperf");
    let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let names: Vec<String> = names.filter_map(|name| name.strip_suffix(".txt").map(str::to_owned)).collect();
    assert!(names.len() > 100, "{}", names.len());
    let is_run = |name: &&String| *name != "about" && !TEXT_ALONE.contains(&name.as_str());
    let forgotten: Vec<&String> =
        names.iter().filter(is_run).filter(|name| !tests.contains(&format!("\"{name}\""))).collect();
    assert_eq!(forgotten, [""; 0]);
}
