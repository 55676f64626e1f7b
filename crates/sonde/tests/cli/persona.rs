//! The binary in other programs' places: by its first word, and by links of their names.

use std::os::unix::fs::symlink;
use std::path::Path;

use assert_cmd::Command;
use predicates::str::{contains, is_match, starts_with};
use test_case::test_case;

use crate::{sonde, sonde_in};

fn called(folder: &Path, name: &str, words: &[&str]) -> Command {
    let mut command = Command::new(folder.join(name));
    command.args(words);
    command
}

#[test]
fn links_are_made_once_and_stay() {
    let folder = tempfile::tempdir().unwrap();
    let made = sonde_in(folder.path(), &["install-names", "."]).assert().success().get_output().stdout.clone();
    let made = String::from_utf8(made).unwrap();
    assert_eq!(made.lines().filter(|line| line.ends_with(" now")).count(), 13, "{made}");
    sonde_in(folder.path(), &["install-names", "."]).assert().success().stdout(contains("./netserver is a link to"));
    called(folder.path(), "netperf", &["-V"]).assert().success().stdout("Netperf version 2.7.1\n");
    called(folder.path(), "netserver", &["-h"]).assert().code(1).stderr(starts_with("\nUsage: netserver [options] \n"));
    called(folder.path(), "iperf3", &["-v"]).assert().success().stdout(starts_with("iperf 3.21 (sonde "));
    called(folder.path(), "sockperf", &["--version"]).assert().success().stdout(contains("sockperf, version 3.10"));
    called(folder.path(), "ping", &["-V"]).assert().success().stdout(starts_with("ping from sonde "));
    called(folder.path(), "iperf", &["--version"]).assert().code(1).stderr(starts_with("iperf version 2.2.1"));
    sonde_in(folder.path(), &["redis-cli", "get", "x"]).assert().code(1).stdout("").stderr(contains("no latency mode"));
    assert!(!folder.path().join("redis-cli").exists(), "a program most of whose uses are refused takes nobody's place");
}

#[test_case("netperf"; "the first name")]
#[test_case("netserver"; "the second name")]
#[test_case("sockperf"; "the third name")]
#[test_case("iperf"; "the fourth name")]
#[test_case("iperf3"; "the fifth name")]
#[test_case("hping3"; "the sixth name")]
#[test_case("ping"; "the seventh name")]
#[test_case("pkb"; "the eighth name")]
#[test_case("fping"; "the ninth name")]
#[test_case("mtr"; "the tenth name")]
#[test_case("traceroute"; "the eleventh name")]
#[test_case("twping"; "the twelfth name")]
#[test_case("irtt"; "the thirteenth name")]
fn what_is_there_of_other_origin_is_left_alone(name: &str) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(name), "theirs").unwrap();
    sonde_in(folder.path(), &["install-names", "."]).assert().code(2).stdout("").stderr(contains(name));
    assert_eq!(std::fs::read_to_string(folder.path().join(name)).unwrap(), "theirs");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "no link was made");
}

#[test]
fn a_link_to_something_else_is_of_other_origin_too() {
    let folder = tempfile::tempdir().unwrap();
    symlink("nowhere", folder.path().join("netperf")).unwrap();
    sonde_in(folder.path(), &["install-names", "."]).assert().code(2).stderr(contains("is left alone"));
    sonde_in(folder.path(), &["install-names", "nofolder"]).assert().code(2).stderr(contains("is not a folder"));
}

#[test]
fn the_first_word_is_enough_and_the_rest_is_untouched() {
    // -v, -V and -h are its own here, not those of sonde.
    sonde(&["netperf", "-V"]).assert().success().stdout("Netperf version 2.7.1\n").stderr(contains("sonde"));
    sonde(&["netperf", "-h"]).assert().code(1).stdout("").stderr(starts_with("\nUsage: netperf "));
    sonde(&["netperf", "--help"]).assert().success().stdout(starts_with("\nUsage: netperf ")).stderr("");
    sonde(&["netperf", "-t", "TCP_RR", "--", "-h"]).assert().code(1).stdout(contains("OMNI and Migrated")).stderr("");
    sonde(&["netserver", "-V"]).assert().success().stdout("Netperf version 2.7.1\n");
    sonde(&["--quiet", "netperf", "-V"]).assert().code(2).stderr(contains("first word"));
}

#[test]
fn words_that_cannot_be_end_as_the_original_ends() {
    sonde(&["netperf", "-X"])
        .assert()
        .code(1)
        .stdout("")
        .stderr(starts_with("netperf: invalid option -- 'X'\n\nUsage"));
    let unknown = sonde(&["netperf", "-t", "NO_SUCH"]).assert().code(1);
    unknown.stdout(starts_with("The test you requested (NO_SUCH) is unknown to this netperf.\n"));
    let level = sonde(&["netperf", "-I", "90"]).assert().code(255);
    level.stdout("Only 95% and 99% confidence level is supported\n");
    let names = sonde(&["netperf", "-t", "omni", "--", "-k", "?"]).assert().code(1);
    names.stdout(is_match("^OUTPUT_NONE,SOCKET_TYPE,.*,COMMAND_LINE,.*P999_LATENCY,.*LOST,OUTPUT_END\n$").unwrap());
}

#[test]
fn a_selection_file_that_is_not_there_is_told_before_anything_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    sonde_in(folder.path(), &["netperf", "-t", "TCP_RR", "--", "-k", "NO_SUCH_THING"])
        .assert()
        .code(255)
        .stdout("Could not open output selection file 'NO_SUCH_THING' errno 2\n");
}
