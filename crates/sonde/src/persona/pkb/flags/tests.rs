//! Flags by absl's rules: what is taken, and what is refused.

use proptest::prelude::*;
use test_case::test_case;

use super::*;

fn no_file(path: &str) -> Result<String, String> {
    Err(format!("no {path} here"))
}

fn parsed(words: &[&str]) -> Result<Flags, Answer> {
    let words: Vec<String> = words.iter().map(ToString::to_string).collect();
    Flags::parse(&words, &no_file)
}

#[test_case(&["--cloud=GCP"], Some("GCP"); "glued")]
#[test_case(&["--cloud", "AWS"], Some("AWS"); "the next word")]
#[test_case(&["-cloud=GCP"], Some("GCP"); "one dash")]
#[test_case(&["--cloud=GCP", "--cloud=AWS"], Some("AWS"); "the last counts")]
#[test_case(&["--cloud", "--zone"], Some("--zone"); "whatever the next word is")]
#[test_case(&["--owner=a=b"], None; "another flag")]
#[test_case(&[], None; "nothing")]
fn texts_are_read(words: &[&str], expected: Option<&str>) {
    assert_eq!(parsed(words).unwrap().text("cloud"), expected);
}

#[test_case(&["--official"], true; "bare")]
#[test_case(&["--official=true"], true; "by a word")]
#[test_case(&["--official=F"], false; "by a letter")]
#[test_case(&["--official", "--noofficial"], false; "its opposite")]
fn switches_are_read(words: &[&str], expected: bool) {
    assert_eq!(parsed(words).unwrap().switch("official", !expected), expected);
}

#[test]
fn lists_take_the_last_and_texts_add_up() {
    let flags = parsed(&["--zones=a,b", "--zones=c", "--zone=d", "--zone", "e"]).unwrap();
    assert_eq!(
        (flags.list("zones"), flags.list("zone")),
        (&["c".to_owned()][..], &["d".to_owned(), "e".to_owned()][..])
    );
    let flags = parsed(&["--netperf_histogram_percentiles=50", "--netperf_histogram_percentiles=99.9"]).unwrap();
    assert_eq!(flags.numbers("netperf_histogram_percentiles"), Some(&[50.0, 99.9][..]));
}

#[test_case("1", &[1]; "one")]
#[test_case("1,3,5-7", &[1, 3, 5, 6, 7]; "a range")]
#[test_case("1-7-3", &[1, 4, 7]; "steps")]
#[test_case("4:8:2", &[4, 6, 8]; "colons")]
fn whole_numbers_are_read(text: &str, expected: &[u32]) {
    let flags = parsed(&[&format!("--netperf_num_streams={text}")]).unwrap();
    assert_eq!(flags.integers("netperf_num_streams"), Some(expected));
}

#[test_case(&["--zoen=a"], "Unknown command line flag 'zoen'. Did you mean: zone ?"; "a slip")]
#[test_case(&["--completely_else=a"], "Unknown command line flag 'completely_else'.\n"; "like no other")]
#[test_case(&["--nocloud"], "Unknown command line flag 'nocloud'"; "the opposite of what is no switch")]
#[test_case(&["--cloud"], "Missing value for flag --cloud"; "no value")]
#[test_case(&["--official=maybe"], "--official=maybe: is neither"; "a doubtful switch")]
#[test_case(&["--netperf_test_length=0"], "from 1 to"; "too small")]
#[test_case(&["--netperf_test_length=ten"], "no whole number"; "in words")]
#[test_case(&["--netperf_max_iter=2"], "from 3 to 30"; "too few")]
#[test_case(&["--ip_addresses=internal"], "none of INTERNAL, EXTERNAL, BOTH, REACHABLE"; "in small letters")]
#[test_case(&["--netperf_num_streams=8-4"], "no list"; "backwards")]
#[test_case(&["--netperf_num_streams=0-4000000000"], "more than 1000"; "far too many")]
#[test_case(&["--iperf_tcp_per_stream_bandwidth=-1"], "from 0 up"; "below zero")]
#[test_case(&["netperf"], "`netperf` is no flag"; "a bare word")]
#[test_case(&["--", "x"], "`x` is no flag"; "behind the end")]
#[test_case(&["--"], ""; "the end alone")]
#[test_case(&["--flagfile=f"], "--flagfile=f: no f here"; "no such file")]
#[test_case(&["--netperf_mss=1400"], "TCP_MAXSEG"; "what is not had")]
#[test_case(&["--netperf_thinktime=100"], "has no work"; "thinking")]
#[test_case(&["--sysctl=net.ipv4.x=1"], "nothing of their kernel"; "the kernel")]
#[test_case(&["--bigquery_table=t"], "PKB's own publisher"; "another sink")]
fn what_is_wrong_is_told(words: &[&str], says: &str) {
    match parsed(words) {
        Ok(_) => assert_eq!(says, ""),
        Err(answer) => assert!(answer.stderr.contains(says) && answer.status == 1, "{answer:?}"),
    }
}

#[test]
fn what_asks_for_nothing_is_taken() {
    let flags =
        parsed(&["--netperf_thinktime=0", "--nonetperf_perf_record", "--gce_nic_type=GVNIC", "--retries=0"]).unwrap();
    assert_eq!(flags.notes, Vec::<String>::new());
}

#[test]
fn what_does_nothing_here_is_noted() {
    let flags = parsed(&["--log_level=debug", "--noinstall_packages"]).unwrap();
    assert_eq!(flags.notes.len(), 2);
    assert!(flags.notes[1].starts_with("--install_packages: nothing is installed"), "{:?}", flags.notes);
}

#[test]
fn unknown_flags_may_be_forgiven() {
    assert!(parsed(&["--undefok=newer,other", "--newer=1", "--other"]).is_ok());
    assert!(parsed(&["--newer=1", "--undefok=newer"]).is_ok());
    assert!(parsed(&["--newer=1", "--undefok=other"]).is_err());
}

#[test]
fn files_of_flags_are_read() {
    let files = |path: &str| match path {
        "outer" => Ok("# ours\n\n--cloud=GCP\n// more\n--flagfile=inner\n--official\n".to_owned()),
        "inner" => Ok("--zone=a\n".to_owned()),
        "round" => Ok("--flagfile=round\n".to_owned()),
        _ => Err("is not there".to_owned()),
    };
    let words = |word: &str| vec![word.to_owned(), "--zone=b".to_owned()];
    let flags = Flags::parse(&words("--flagfile=outer"), &files).unwrap();
    assert_eq!(
        (flags.text("cloud"), flags.list("zone").join(" "), flags.switch("official", false)),
        (Some("GCP"), "a b".into(), true)
    );
    let answer = Flags::parse(&words("--flagfile=round"), &files).unwrap_err();
    assert!(answer.stderr.contains("deep"), "{answer:?}");
}

#[test]
fn every_flag_is_there_once() {
    let mut names: Vec<&str> = table::all().map(|flag| flag.name).collect();
    names.sort_unstable();
    let count = names.len();
    names.dedup();
    assert_eq!(names.len(), count);
    assert!(count > 150, "{count}");
}

#[test]
fn help_finds_flags_by_name_and_matter() {
    let iperf = help::matching("iperf");
    assert!(
        iperf.contains("--iperf_runtime_in_seconds") && iperf.contains("refused: nothing is waited for"),
        "{iperf}"
    );
    assert_eq!(help::matching("no such matter"), "");
    assert!(help::usage().contains("--netperf_num_streams") && !help::usage().contains("--netperf_mss"));
    assert!(help::full().contains("--netperf_mss") && !help::short().contains("--netperf_num_streams"));
}

proptest! {
    #[test]
    fn no_words_make_it_panic(words in prop::collection::vec("(--?)?[a-z_]{0,12}(=.{0,12})?", 0..6)) {
        let _ = Flags::parse(&words, &no_file);
    }

    #[test]
    fn no_value_of_a_flag_makes_it_panic(at in 0usize..200, text in ".{0,40}") {
        let all: Vec<&Flag> = table::all().collect();
        let name = all[at % all.len()].name;
        let _ = Flags::parse(&[format!("--{name}={text}")], &no_file);
    }

    #[test]
    fn what_was_written_is_what_is_read(values in prop::collection::vec(1u32..10_000, 1..20)) {
        let text = values.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
        let flags = Flags::parse(&[format!("--netperf_num_streams={text}")], &no_file).unwrap();
        prop_assert_eq!(flags.integers("netperf_num_streams"), Some(&values[..]));
    }
}

/// Flags here that the PKB of that commit does not have: our own, an older one's, and those that absl adds in another place.
const ELSEWHERE: [&str; 5] = ["ssh_from", "gce_nic_type", "help", "helpshort", "helpfull"];

#[test]
fn flags_are_those_that_the_real_one_has_and_take_what_they_take_there() {
    let real: Map<String, Json> =
        serde_json::from_str(include_str!("../../../../tests/fixtures/pkb/flags.json")).unwrap();
    for flag in table::all().filter(|flag| !ELSEWHERE.contains(&flag.name)) {
        let name = flag.name;
        let real = real.get(name).unwrap_or_else(|| panic!("--{name}: PKB has no such flag"));
        let kind = real["type"].as_str().unwrap();
        let fits = match flag.kind {
            Kind::Switch => kind == "bool",
            Kind::Integer(..) => kind == "int",
            Kind::Number => kind == "float",
            Kind::List => kind == "comma separated list of strings",
            Kind::Integers => kind == "integer list",
            Kind::Numbers => kind == "multi float",
            Kind::Texts => kind.starts_with("multi string"),
            Kind::Choice(words) => {
                let all = real["words"].as_array().unwrap();
                all.len() == words.len() && all.iter().all(|word| words.contains(&word.as_str().unwrap()))
            }
            // A flag that is refused, or does nothing, is not looked into.
            Kind::Text => !kind.starts_with("multi") && kind != "bool",
        };
        assert!(fits, "--{name}: is {:?} here, and `{kind}` in PKB", flag.kind);
        if let (Kind::Integer(least, most), Fate::Heeded(_)) = (flag.kind, flag.fate) {
            let bound = |key: &str| real.get(key).and_then(Json::as_i64);
            assert!(bound("least").is_none_or(|least_there| least == least_there), "--{name}: {least}");
            assert!(bound("most").is_none_or(|most_there| most == most_there), "--{name}: {most}");
        }
    }
}

#[test]
fn what_the_real_one_has_by_itself_is_taken_here_too() {
    let real: Map<String, Json> =
        serde_json::from_str(include_str!("../../../../tests/fixtures/pkb/flags.json")).unwrap();
    let mut taken = 0;
    for (name, about) in &real {
        let Some(usual) = about.get("default").and_then(Json::as_str) else { continue };
        // Python's words for a text, a list and nothing.
        let text = match usual.trim_matches('\'') {
            "None" => continue,
            "True" => "true".to_owned(),
            "False" => "false".to_owned(),
            list if list.starts_with('[') => list
                .trim_matches(['[', ']'])
                .split(", ")
                .map(|word| word.trim_matches('\''))
                .collect::<Vec<_>>()
                .join(","),
            other => other.to_owned(),
        };
        if SAID_OTHERWISE.contains(&name.as_str()) {
            continue;
        }
        let flags = parsed(&[&format!("--{name}={text}")]);
        assert!(flags.is_ok(), "--{name}={text} is what PKB does by itself: {flags:?}");
        taken += 1;
    }
    assert!(taken > 100, "{taken}");
}

/// Flags whose own value of PKB's is one that cannot be had here, or none of a command line.
const SAID_OTHERWISE: [&str; 11] = [
    "os_type",
    "netperf_num_streams",
    "iperf_sending_thread_count",
    "netperf_histogram_percentiles",
    "retry_substatuses",
    "run_stage",
    "vm_command_log_mode",
    "v",
    "verbosity",
    "zone",
    "metadata",
];
