//! The command line, by cases, and against runs of the original.

use super::*;
use crate::persona::ping::transcript;
use test_case::test_case;

fn read(line: &str) -> Result<Options, Answer> {
    parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
}

fn options(line: &str) -> Options {
    read(line).unwrap_or_else(|answer| panic!("{line}: {}", answer.stderr))
}

#[test]
fn words_stand_before_and_behind_the_destination_alone_or_together() {
    let all = [
        "-c 1000 -i 0.010 10.0.0.2",
        "10.0.0.2 -c 1000 -i 0.010",
        "-c1000 -i0.010 -- 10.0.0.2",
        "-nqc 1000 10.0.0.2 -i .01",
    ];
    for line in all {
        let options = options(line);
        assert_eq!(options.destination, "10.0.0.2", "{line}");
        assert_eq!((options.count, options.interval), (Some(1_000), Some(Nanos::millis(10))), "{line}");
    }
    assert!(options("-nqc 1 h").quiet && options("-nqc 1 h").numeric);
}

#[test]
fn what_is_not_said_is_as_in_the_original() {
    let options = options("host");
    assert_eq!(options, Options { destination: "host".into(), ..Options::default() });
    assert_eq!((options.size, options.preload, options.interval()), (56, 1, Nanos::secs(1)));
    assert!(options.times() && !options.floods());
}

#[test]
fn every_letter_has_its_meaning() {
    let line = "-4 -a -A -b -B -C -d -D -e 77 -f -I eth0 -I 10.0.0.1 -l 3 -L -m 5 -M do -n -O -p ff0 -q -Q 0x10 -r -R -s 8 -S 9000 -t 3 -U -v -w 7 -W 0.5 h";
    let asked = options(line);
    assert_eq!(asked.family, Family::V4);
    assert!(asked.audible && asked.adaptive && asked.broadcast && asked.sticky && asked.connect && asked.debug);
    assert!(asked.timestamps && asked.flood && asked.no_loopback && asked.numeric && asked.outstanding && asked.quiet);
    assert!(asked.link_only && asked.user_to_user && asked.verbose && !asked.times());
    assert_eq!((asked.identifier, asked.preload, asked.mark, asked.tos), (Some(77), 3, Some(5), Some(16)));
    assert_eq!((asked.interface.as_deref(), asked.source), (Some("eth0"), Some("10.0.0.1".parse().unwrap())));
    assert_eq!((asked.fragments, asked.asked_of_hops), (Some(Fragments::Never), Some(AskedOfHops::Route)));
    assert_eq!((asked.pattern, asked.size, asked.send_buffer, asked.ttl), (vec![0xFF, 0], 8, Some(9_000), Some(3)));
    assert_eq!((asked.deadline, asked.linger), (Some(Nanos::secs(7)), Some(Nanos::millis(500))));
    assert_eq!(options("-T tsonly h").asked_of_hops, Some(AskedOfHops::Times));
    assert_eq!(options("-w 0 h").deadline, None);
}

#[test_case("-f h", true; "a flood")]
#[test_case("-f -i 0.2 h", false; "dots at an interval")]
#[test_case("-i 0 h", true; "no interval")]
#[test_case("-i 0.000001 h", false; "a microsecond")]
#[test_case("-A -i 0 h", false; "adaptive")]
fn a_flood_is_what_has_no_interval(line: &str, floods: bool) {
    assert_eq!(options(line).floods(), floods);
}

#[test_case("--record r.json h" ; "a word")]
#[test_case("--record=r.json h" ; "glued")]
fn options_of_ours_are_long(line: &str) {
    assert_eq!(options(line).own.record, Some("r.json".into()));
    assert!(options("--json h").own.json);
    assert_eq!(options("--pacing spin h").own.pacing, Some(Pacing::Spin));
}

/// Runs of the original that end before anything is sent: the same words on the same stream, with the same status.
#[test_case("both")]
#[test_case("count-0")]
#[test_case("count-big")]
#[test_case("count-neg")]
#[test_case("count-word")]
#[test_case("hex-count")]
#[test_case("interval-too-big")]
#[test_case("mark-word")]
#[test_case("mtu-word")]
#[test_case("no-destination")]
#[test_case("pattern-bad")]
#[test_case("preload-big")]
#[test_case("size-neg")]
#[test_case("size-word")]
#[test_case("sndbuf-0")]
#[test_case("stamp-word")]
#[test_case("timeout-neg")]
#[test_case("tos-big")]
#[test_case("ttl-256")]
fn wrong_values_are_told_as_by_the_original(name: &str) {
    let original = transcript::of(name);
    let answer = parse(original.arguments()).unwrap_err();
    assert_eq!((answer.stdout, answer.stderr), (original.stdout, original.stderr));
    assert_eq!(i32::from(answer.status), original.status);
}

/// The original takes these for something else than what was meant, or not at all.
#[test_case("-i x h", 2, "bad timing interval: x"; "a word floods there")]
#[test_case("-i 0,2 h", 2, "bad timing interval: 0,2"; "a comma floods there")]
#[test_case("-i -1 h", 2, "bad timing interval: -1"; "a negative one floods there")]
#[test_case("-i nan h", 2, "bad timing interval: nan"; "no number")]
#[test_case("-i inf h", 2, "bad timing interval: inf"; "no end")]
#[test_case("-W x h", 2, "bad linger time: x"; "no time")]
#[test_case("-Q 0x1g h", 2, "bad TOS value: 0x1g"; "no octet")]
#[test_case("-s 65508 h", 1, "-s 65508: a packet takes 65507 octets of payload at most"; "beyond a packet")]
#[test_case("-N name h", 2, "-N: node information"; "node information")]
#[test_case("-F 5 h", 2, "-F: flow labels"; "flow label")]
#[test_case("a b", 2, "several destinations"; "a source route")]
#[test_case("-R -T tsonly h", 2, "only one of -T or -R may be used"; "two options of hops")]
#[test_case("-T tsprespec h", 2, "-T tsprespec"; "named hops")]
#[test_case("-c", 2, "option requires an argument -- 'c'"; "no value")]
#[test_case("-Z h", 2, "invalid option -- 'Z'"; "no such letter")]
#[test_case("--foo h", 2, "no option --foo"; "no such word")]
#[test_case("--record", 2, "--record takes a value"; "no file")]
#[test_case("--pacing fast h", 2, "--pacing fast: takes"; "no pacing")]
#[test_case("--pacing spin -f h", 2, "--pacing: there is nothing to pace"; "nothing to pace")]
#[test_case("-c 65536x h", 1, "invalid argument: '65536x'"; "a count with a tail")]
fn what_is_not_honoured_is_refused(line: &str, status: u8, begins: &str) {
    let answer = read(line).unwrap_err();
    assert!(answer.stderr.starts_with(&format!("ping: {begins}")), "{}", answer.stderr);
    assert_eq!((answer.stdout.as_str(), answer.status), ("", status));
}

#[test]
fn help_and_version_are_ours() {
    let help = read("-h").unwrap_err();
    assert_eq!((help.stdout.as_str(), help.status), ("", 2), "as the original has it");
    assert_eq!(read("--help").unwrap_err().status, 0);
    assert!(read("-V").unwrap_err().stdout.starts_with("ping from sonde "));
}

#[test]
fn the_command_lines_of_the_original_s_runs_are_understood() {
    // Names of runs whose words are refused, here or there.
    let refused: Vec<String> = transcript::names()
        .into_iter()
        .filter(|name| parse(transcript::of(name).arguments()).is_err())
        .filter(|name| transcript::of(name).status == 0 && name != "version")
        .collect();
    assert_eq!(refused, ["decimal-comma", "flow-label", "flow-label-4", "interval-neg", "interval-word"]);
}
