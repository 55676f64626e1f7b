//! Plans read from TOML: what is wrong is found at its place, and the page tells what is read and printed.

use std::path::PathBuf;

use proptest::prelude::*;
use test_case::test_case;

use super::*;
use crate::host::{Reach, Ssh};

const HOSTS: &str = "
[[hosts]]
name = \"a\"
reach = \"local\"
internal = \"10.0.0.1\"

[[hosts]]
name = \"b\"
reach.ssh = { to = \"root@b\", port = 2222 }
internal = \"10.0.0.2\"
labels = { zone = \"x\" }
";

const METHODS: &str = "
[[methods]]
name = \"rr\"
command = \"rtt -t 1s\"
";

fn read(text: &str) -> Result<Plan, PlanError> {
    Plan::read(text, "plan.toml")
}

#[test]
fn a_short_plan_has_the_usual_of_everything_else() {
    let plan = read(&format!("{HOSTS}{METHODS}")).unwrap();
    assert_eq!((plan.repeats, plan.check, plan.seed, plan.port), (1, true, None, None));
    assert_eq!((&plan.pairs, plan.directions, plan.addresses), (&Pairs::All, Directions::Both, Addresses::Internal));
    assert_eq!((plan.order, plan.at_once), (Order::Random, AtOnce::Rounds));
    let ssh = Ssh { to: "root@b".to_owned(), port: Some(2222), key_file: None, options: vec![], through: vec![] };
    assert_eq!(plan.hosts[1].reach, Reach::Ssh(ssh));
    assert_eq!(plan.hosts[1].label("zone"), Some("x"));
}

#[test_case("pairs = \"all\"", &Pairs::All; "all")]
#[test_case("pairs.one-to-all = \"a\"", &Pairs::OneToAll("a".to_owned()); "one to all")]
#[test_case("pairs = { between = \"zone\" }", &Pairs::Between("zone".to_owned()); "between")]
#[test_case("pairs.within = \"zone\"", &Pairs::Within("zone".to_owned()); "within")]
#[test_case("pairs.labels = [\"zone=x\", \"zone=y\"]", &Pairs::Labels("zone=x".to_owned(), "zone=y".to_owned()); "labels")]
#[test_case("pairs.listed = [[\"a\", \"b\"]]", &Pairs::Listed(vec![("a".to_owned(), "b".to_owned())]); "listed")]
fn pairs_are_written_so(line: &str, expected: &Pairs) {
    assert_eq!(&read(&format!("{line}\n{HOSTS}{METHODS}")).unwrap().pairs, expected);
}

// Where: the line and column in the text; the lines before are those above it.
#[test_case("repeat = 3\n", "", (1, 1), "unknown key `repeat`"; "an unknown key")]
#[test_case("repeats = \"3\"\n", "", (1, 11), "invalid type: string \"3\""; "a wrong kind")]
#[test_case("repeats = 0\n", "", (1, 11), "0 repeats"; "no repeats")]
#[test_case("repeats = 1_001\n", "", (1, 11), "1001 repeats"; "too many repeats")]
#[test_case("repeats = -1\n", "", (1, 11), "invalid value: integer `-1`"; "fewer than no repeats")]
#[test_case("port = 0\n", "", (1, 8), "port 0 is none"; "port 0")]
#[test_case("port = 65536\n", "", (1, 8), "invalid value: integer `65536`"; "no port")]
#[test_case("order = \"randm\"\n", "", (1, 9), "unknown word `randm`"; "an unknown word")]
#[test_case("pairs = \"al\"\n", "", (1, 9), "unknown word `al`"; "an unknown choice of pairs")]
#[test_case("pairs.between = 3\n", "", (1, 17), "invalid type: integer `3`"; "a label that is a number")]
#[test_case("pairs.one-to-all = \"c\"\n", "", (1, 20), "no host is named `c`"; "one that is not there")]
#[test_case("pairs.listed = [[\"a\", \"b\"],\n [\"b\", \"c\"]]\n", "", (2, 8), "no host is named `c`"; "a listed one that is not there")]
#[test_case("pairs.listed = [[\"a\", \"a\"]]\n", "", (1, 23), "`a` is paired with itself"; "a host with itself")]
#[test_case("pairs.labels = [\"zone=x\", \"zone\"]\n", "", (1, 27), "`zone` is no label with its value"; "no value")]
#[test_case("", "[[hosts]]\nname = \"a\"\nreach = \"local\"\n", (17, 8), "a second host `a`: the first has this name"; "a host named twice")]
#[test_case("", "[[hosts]]\nname = \"c\"\nreach = \"lokal\"\n", (18, 9), "unknown word `lokal`"; "an unknown way")]
#[test_case("", "[[hosts]]\nname = \"c\"\nreach.ssh = { two = \"c\" }\n", (18, 15), "unknown key `two`"; "an unknown key of a way")]
#[test_case("", "[[hosts]]\nname = \"c\"\nreach.ssh = { to = \"-oProxyCommand=x\" }\n", (18, 20), "`-oProxyCommand=x` is nothing that host `c` could be reached by"; "an option for a host")]
#[test_case("", "[[hosts]]\nname = \"c\"\n", (16, 1), "missing key `reach`"; "no way")]
#[test_case("", "[[hosts]]\nname = \"c\"\nreach = \"local\"\ninternal = \"10.0.0\"\n", (19, 12), "`10.0.0` is neither an address nor a host name"; "no address")]
#[test_case("", "[[hosts]]\nname = \" \"\nreach = \"local\"\n", (17, 8), "a host without a name"; "no name")]
#[test_case("", "[[methods]]\nname = \"rr\"\ncommand = \"rtt\"\n", (17, 8), "a second method `rr`: the first has this name"; "a method named twice")]
#[test_case("", "[[methods]]\nname = \"x\"\ncommand = \"\"\n", (18, 11), "method `x` has no command"; "no command")]
#[test_case("", "[[hosts]]\nname = \"c\"\nreach.ssh = { to = \"c\" }\ninternal = \"127.0.0.1\"\n", (19, 12), "`127.0.0.1` is loopback: other hosts do not reach `c` by it"; "loopback of another machine")]
#[test_case("", "[[hosts]]\nname = \"c\"\nreach = \"local\"\ninternal = \"10.0.0.300\"\n", (19, 12), "`10.0.0.300` is neither an address nor a host name"; "an address beyond its range")]
#[test_case("", "[[hosts]]\nname = \"c\"\nreach.ssh = { to = \"root@10.0.0.300\" }\n", (18, 20), "`root@10.0.0.300` is no address of host `c`"; "a destination beyond its range")]
#[test_case("", "[[machines]]\ncloud = \"gcp\"\nzones = [\"us-central1-b\", \"us-central1\"]\nmachine_type = \"n4-standard-2\"\nfrom = \"203.0.113.7\"\n", (18, 27), "`us-central1` is a region of gcp, not a zone"; "a region of gcp")]
#[test_case("", "[[machines]]\ncloud = \"aws\"\nzones = [\"us-east-1\"]\nmachine_type = \"m7i.large\"\nfrom = \"203.0.113.7\"\n", (18, 10), "`us-east-1` is a region of aws, not a zone"; "a region of aws")]
#[test_case("name = \"x\"\nname = \"y\"\n", "", (2, 1), "duplicate key"; "a key twice")]
#[test_case("name = \n", "", (1, 8), "string values must be quoted"; "no TOML")]
fn a_fault_is_told_with_its_place(before: &str, after: &str, place: (usize, usize), what: &str) {
    let text = format!("{before}{HOSTS}{METHODS}{after}");
    let error = read(&text).unwrap_err();
    assert_eq!(((error.line, error.column), error.what.as_str()), (place, what), "{error}\n{}", error.excerpt);
    assert!(!error.hint.is_empty());
}

#[test]
fn a_plan_without_methods_or_hosts_says_what_to_write() {
    let error = read(HOSTS).unwrap_err();
    assert_eq!(error.what, "missing key `methods`");
    assert!(error.hint.contains("`[[methods]]`"), "{}", error.hint);
    assert_eq!(read("methods = []\n").unwrap_err().what, "a plan without a method measures nothing");
    assert_eq!(read(METHODS).unwrap_err().what, "the plan has no hosts and names no inventory");
    assert!(read(&format!("inventory = [\"hosts.csv\"]\n{METHODS}")).is_ok());
    assert_eq!(read(&format!("inventory = [\"\"]\n{METHODS}")).unwrap_err().what, "an inventory without a name");
}

#[test]
fn an_inventory_may_have_the_hosts_that_pairs_name() {
    assert!(read(&format!("inventory = [\"hosts.csv\"]\npairs.one-to-all = \"z\"\n{METHODS}")).is_ok());
}

#[test]
fn what_is_printed_shows_the_line() {
    let error = read(&format!("repeats = 0 # Ü\n{HOSTS}{METHODS}")).unwrap_err();
    assert_eq!(error.to_string(), "plan.toml, line 1, column 11: 0 repeats");
    assert_eq!(error.excerpt, "  1 | repeats = 0 # Ü\n    |           ^");
    assert_eq!(error.hint, "expected a count from 1 to 1000");
}

#[test]
fn a_long_line_is_shown_in_part() {
    let error = read(&format!("name = \"{}\" x\n", "ü".repeat(500))).unwrap_err();
    assert!(error.excerpt.lines().all(|line| line.chars().count() < 120), "{}", error.excerpt);
}

#[test]
fn a_plan_is_read_as_it_was_written() {
    let text = format!("seed = 7\nrepeats = 3\npairs.listed = [[\"a\", \"b\"]]\n{HOSTS}{METHODS}");
    let plan = read(&text).unwrap();
    assert_eq!(read(&plan.to_toml().unwrap()).unwrap(), plan);
    let largest = Plan { seed: Some(u64::MAX), ..plan };
    assert_eq!(read(&largest.to_toml().unwrap()).unwrap(), largest);
}

#[test]
fn an_endless_text_is_refused() {
    let error = read(&"#".repeat((16 << 20) + 1)).unwrap_err();
    assert_eq!(error.what, "a plan has at most 16 MiB, and this has more");
}

/// The fenced blocks of the page, each with its language.
fn blocks(page: &str) -> Vec<(&str, &str)> {
    page.split("```").skip(1).step_by(2).filter_map(|block| block.split_once('\n')).collect()
}

#[test]
fn the_page_tells_plans_that_are_read_and_errors_that_are_printed() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/plans.md");
    let page = std::fs::read_to_string(path).unwrap();
    let blocks = blocks(&page);
    let (mut plans, mut errors) = (0, 0);
    for (at, (language, text)) in blocks.iter().enumerate() {
        let said = blocks.get(at + 1).filter(|(_, said)| said.starts_with("error: ")).map(|(_, said)| *said);
        match (*language, said) {
            ("toml", None) => {
                plans += 1;
                assert_eq!(read(text).map_err(|error| format!("{error}\n{}", error.excerpt)).err(), None);
            }
            ("toml", Some(said)) => {
                errors += 1;
                let error = read(text).unwrap_err();
                assert_eq!(said, format!("error: {error}\n{}\ntry:   {}\n", error.excerpt, error.hint));
            }
            _ => {}
        }
    }
    assert!(plans >= 4 && errors >= 4, "{plans} plans, {errors} errors");
}

#[test]
fn the_page_names_every_key() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/plans.md");
    let page = std::fs::read_to_string(path).unwrap();
    let schema = crate::schema::plan_schema();
    let mut objects = vec![&schema];
    objects.extend(["Host", "Ssh", "Pod", "PlannedMethod"].map(|name| &schema["$defs"][name]));
    let keys = objects.iter().flat_map(|object| object["properties"].as_object().unwrap().keys());
    let missing: Vec<&String> = keys.filter(|key| !page.contains(&format!("`{key}`"))).collect();
    assert_eq!(missing, [""; 0]);
}

proptest! {
    #[test]
    fn no_text_is_a_panic(text in "(?s).{0,300}") {
        let _ = read(&text);
    }

    #[test]
    fn no_change_of_a_plan_is_a_panic(at in 0_usize..400, with in "(?s).{0,8}", cut in 0_usize..6) {
        let text = format!("repeats = 3\npairs.listed = [[\"a\", \"b\"]]\n{HOSTS}{METHODS}");
        let start = text.char_indices().map(|(place, _)| place).nth(at % text.len()).unwrap_or(0);
        let end = (start + cut).min(text.len());
        let _ = read(&format!("{}{with}{}", &text[..start], &text[end..]));
    }
}

#[test]
fn machines_that_the_program_cannot_run_on_are_refused_at_their_line() {
    let machines = "[[machines]]\ncloud = \"aws\"\nzones = [\"us-east-1a\"]\nmachine_type = \"m7g.large\"\nfrom = \"203.0.113.7\"\n";
    let found = read(&format!("{HOSTS}{METHODS}{machines}"));
    if std::env::consts::ARCH == "aarch64" {
        assert!(found.is_ok());
        return;
    }
    let error = found.unwrap_err();
    assert_eq!(error.line, 19, "{error}");
    assert!(error.what.starts_with("`m7g.large` has an ARM processor, and this program is for "), "{error}");
}
