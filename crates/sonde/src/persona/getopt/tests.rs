//! Words by the rules of GNU's getopt, and by each rule that a tool has in its place.

use super::*;
use test_case::test_case;

const ENTRIES: &[Entry<u8>] = &[
    valued(1, "t", &["time"], (), "seconds  how long"),
    flag(2, "u", &["udp"], (), "over UDP"),
    flag(3, "R", &["reverse"], (), "the server sends"),
    perhaps(4, "d", &["debug"], (), "level  1 to 4"),
    valued(5, "", &["congestion", "congestion-control"], (), "name  of TCP"),
    flag(6, "", &["timestamps"], (), "the time"),
    Entry { key: 7, letters: "c", names: &[], takes: Takes::NextNumber, place: (), help: "" },
    Entry { key: 8, letters: "o", names: &["list"], takes: Takes::NextWord, place: (), help: "" },
];

/// One option in a word, each once, and no operands.
const ALONE: Rules = Rules {
    bundles: false,
    abbreviations: false,
    dashed_values: false,
    repeats: false,
    dashes: Dashes::Nothing,
    operands: 0,
};

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

fn of(line: &str, rules: Rules) -> Result<Given<u8>, Fault> {
    Given::all(Scan::new(&words(line), ENTRIES, rules))
}

#[test_case("-t 5", GNU; "the next word")]
#[test_case("-t5", GNU; "the same word")]
#[test_case("-uRt5", GNU; "at the end of a bundle")]
#[test_case("--time 5", GNU; "long")]
#[test_case("--time=5", GNU; "long, behind an equals sign")]
#[test_case("-t 9 -t 5", GNU; "the last of two")]
#[test_case("-t 5", ALONE; "alone: the next word")]
#[test_case("-t5", ALONE; "alone: the same word")]
#[test_case("-t=5", ALONE; "alone: behind an equals sign")]
#[test_case("--time 5", ALONE; "alone: long")]
#[test_case("--time=5", ALONE; "alone: long, behind an equals sign")]
fn a_value_stands_in_many_places(line: &str, rules: Rules) {
    assert_eq!(of(line, rules).unwrap().text(1), Some("5"));
}

#[test_case("--time=", GNU, Some(""); "nothing")]
#[test_case("-t=", GNU, Some("="); "a letter knows no equals sign")]
#[test_case("-t -5", GNU, Some("-5"); "a dash")]
#[test_case("--time=", ALONE, Some("="); "alone: an equals sign is a value")]
#[test_case("-t=-5", ALONE, Some("-5"); "alone: a dash behind it")]
fn values_are_what_stands_there(line: &str, rules: Rules, expected: Option<&str>) {
    assert_eq!(of(line, rules).unwrap().text(1), expected);
}

#[test_case("-d 2", 4, None; "never the next word")]
#[test_case("-d2", 4, Some("2"); "the same word")]
#[test_case("--debug=2", 4, Some("2"); "behind an equals sign")]
#[test_case("-c 500", 7, Some("500"); "a number")]
#[test_case("-c x", 7, None; "no number")]
#[test_case("-cu 500", 7, None; "a bundle goes on")]
#[test_case("-o x", 8, Some("x"); "a word")]
#[test_case("-o -u", 8, None; "an option")]
#[test_case("--list x", 8, Some("x"); "a word behind a name")]
fn optional_values(line: &str, key: u8, expected: Option<&str>) {
    let given = of(line, GNU).unwrap();
    assert_eq!((given.has(key), given.text(key)), (true, expected));
}

#[test]
fn letters_go_together_and_operands_stand_anywhere() {
    let given = of("a -uRt 1 - b", GNU).unwrap();
    assert_eq!(given.keys().collect::<Vec<_>>(), [2, 3, 1]);
    assert_eq!((given.operands, given.options.len()), (words("a - b"), 3));
}

#[test]
fn names_are_cut_short_where_that_is_clear() {
    assert!(of("--rev", GNU).unwrap().has(3), "one name");
    assert_eq!(of("--cong=bbr", GNU).unwrap().text(5), Some("bbr"), "two names of one option");
    assert_eq!(of("--time=1", GNU).unwrap().text(1), Some("1"), "a whole name that another begins with");
}

#[test]
fn two_dashes_end_the_options() {
    let given = of("-u -- -R -- x", GNU).unwrap();
    assert_eq!((given.keys().collect::<Vec<_>>(), given.operands), (vec![2], words("-R -- x")));
}

#[test]
fn two_dashes_begin_another_section() {
    let words = words("-u -- -R -- x");
    let mut scan = Scan::new(&words, ENTRIES, Rules { dashes: Dashes::Section, ..GNU });
    assert_eq!(scan.by_ref().count(), 1);
    assert_eq!(scan.behind(), &words[2..]);
}

#[test]
fn a_scan_goes_on_behind_a_fault() {
    let words = words("-zu --bogus -R");
    let found: Vec<_> = Scan::new(&words, ENTRIES, GNU).map(|item| item.is_ok()).collect();
    assert_eq!(found, [false, true, false, true]);
}

#[test_case("-z", "invalid option -- 'z'", "unrecognized option `-z'"; "an unknown letter")]
#[test_case("-t", "option requires an argument -- 't'", "option `-t' requires an argument"; "no value")]
#[test_case("--tim", "option '--tim' is ambiguous; possibilities: '--time' '--timestamps'", "option `--tim' is ambiguous"; "two")]
#[test_case("--time", "option '--time' requires an argument", "option `--time' requires an argument"; "no value, long")]
#[test_case("--ud=1", "option '--udp' doesn't allow an argument", "option `--ud' doesn't allow an argument"; "a value too many")]
#[test_case("--bogus", "unrecognized option '--bogus'", "unrecognized option `--bogus'"; "an unknown name")]
#[test_case("--bogus=3", "unrecognized option '--bogus=3'", "unrecognized option `--bogus=3'"; "an unknown name with a value")]
fn faults(line: &str, glibc: &str, old_gnu: &str) {
    let fault = of(line, GNU).unwrap_err();
    assert_eq!((fault.glibc(), fault.old_gnu()), (glibc.to_owned(), old_gnu.to_owned()));
}

#[test_case("-t", Why::NoValue; "no value")]
#[test_case("-t -1", Why::NoValue; "a value that begins with a dash")]
#[test_case("--udp=1", Why::Value; "a value too many")]
#[test_case("-uR", Why::Value; "a bundle")]
#[test_case("-u -u", Why::Again; "twice")]
#[test_case("-t 1 -t", Why::Again; "twice, the second without its value")]
#[test_case("--tim 1", Why::Unknown; "an abbreviation")]
#[test_case("-z", Why::Unknown; "an unknown letter")]
#[test_case("--", Why::Unknown; "two dashes")]
#[test_case("-t 1 2", Why::Operand; "an operand")]
#[test_case("-", Why::Operand; "a dash")]
fn faults_by_other_rules(line: &str, expected: Why) {
    assert_eq!(of(line, ALONE).unwrap_err().why, expected);
}

#[test]
fn the_help_has_the_value_behind_the_name_and_the_text_in_its_column() {
    assert_eq!(ENTRIES[0].line(1, 20), "  -t, --time seconds how long\n");
    assert_eq!(ENTRIES[3].line(1, 24), "  -d, --debug[=level]    1 to 4\n");
    assert_eq!(ENTRIES[4].line(9, 0), "      --congestion, --congestion-control name of TCP\n");
    assert_eq!(ENTRIES[5].line(1, 0), "      --timestamps the time\n");
    assert_eq!((ENTRIES[0].name(), ENTRIES[6].name()), ("--time".to_owned(), "-c".to_owned()));
}
