//! Past of a store with known content, as a person and a machine read it.

use clap::Parser;
use logbook::monitor::talk::Over;
use measure::event::Fate;
use measure::unit::Nanos;
use serde_json::Value;
use tempfile::{TempDir, tempdir};
use uuid::Uuid;

use super::*;
use crate::options::{Arguments, Command, MonitorCommand, MonitorOptions};
use crate::store::sqlite::SqliteStore;
use crate::store::{Batch, Part};

fn now() -> Zoned {
    "2026-11-26T02:10:30+01:00[Europe/Berlin]".parse().unwrap()
}

fn at(text: &str) -> u64 {
    time::instant(text, &now()).unwrap().from
}

/// A minute of 60 requests about `level` ns, of which `lost` are lost, half of them (rounded up) on the way out.
fn minute(level: u64, lost: u64, disturbed: u64) -> Span {
    let mut span = Span { lost_out: lost.div_ceil(2), lost_back: lost / 2, disturbed, ..Span::default() };
    (0..60 - lost).for_each(|k| span.answer(Nanos(level + k * level / 500)));
    (0..lost).for_each(|_| span.counts.end(Fate::Lost));
    span
}

/// Two days from a to b, the second slower; nothing on the first from 05:00 to before 07:00. The other way by ICMP for an hour.
fn store() -> TempDir {
    let folder = tempdir().unwrap();
    let mut store = SqliteStore::open(&folder.path().join("m.db"), Purpose::Keep).unwrap();
    let cell = |from: &str, to: &str, over| Cell { from: from.to_owned(), to: to.to_owned(), over };
    let first = at("2026-11-24");
    let mut minutes = Vec::new();
    for k in 0..2 * 1_440 {
        let (hour, is_second) = (k / 60 % 24, k >= 1_440);
        if !is_second && (5..7).contains(&hour) {
            continue;
        }
        let level = if is_second { 65_000 } else { 50_000 } + (k * 7_919 % 997) * 3;
        let lost = u64::from(k % 97 == 0) + if is_second && hour == 14 { 3 } else { 0 };
        minutes.push((cell("a", "b", Over::Udp), first + k * 60, minute(level, lost, u64::from(k == 1_500) * 7)));
    }
    minutes
        .extend((0..60).map(|k| (cell("b", "a", Over::Icmp), at("2026-11-26T01:00") + k * 60, minute(30_000, 0, 0))));
    let incident = Incident {
        id: Uuid::from_u128(1),
        kind: "loss".to_owned(),
        hosts: vec!["a".to_owned(), "b".to_owned()],
        onset: at("2026-11-25T14:00"),
        begun: at("2026-11-25T14:01"),
        ended: Some(at("2026-11-25T15:00")),
        silent_until: None,
        told: Value::Null,
    };
    let open = Incident { id: Uuid::from_u128(2), kind: "slower".to_owned(), ended: None, ..incident.clone() };
    let mark =
        Mark { id: Uuid::from_u128(3), at: at("2026-11-25T00:00"), text: "changed qdisc".to_owned(), hosts: vec![] };
    let parts = vec![Part { instance: Uuid::from_u128(9), first: 1, last: 2, minutes }];
    store.keep(&Batch { parts, incidents: vec![incident, open], marks: vec![mark] }).unwrap();
    folder
}

/// Output of these words.
fn said(folder: &TempDir, words: &[&str]) -> Result<Told> {
    let path = folder.path().join("m.db").display().to_string();
    let words = ["sonde-monitor"].iter().chain(words).copied().chain(["--store", &path]);
    match Arguments::try_parse_from(words).unwrap().command {
        Command::History(options) => told(&options, &now()),
        Command::Compare(options) => compared(&options, &now()),
        Command::Accept(options) => accept::told(&options, &now()),
        Command::Monitor(MonitorOptions { command: Some(MonitorCommand::Silence(options)), .. }) => {
            silence::told(&options, &now())
        }
        _ => panic!("no words of this"),
    }
}

fn fits(text: &str) {
    for line in text.lines() {
        assert!(line.chars().count() <= 80, "{} letters: {line}", line.chars().count());
    }
}

#[test]
fn hours_with_a_gap_are_a_screen() {
    let folder = store();
    let words = ["history", "a", "b", "--since", "2026-11-24T22:00Z", "--until", "2026-11-25T16:00", "--by", "hour"];
    let (text, is_known) = said(&folder, &words).unwrap();
    assert!(is_known);
    fits(&text);
    insta::assert_snapshot!("history_by_hour", text);
    let (gap, _) =
        said(&folder, &["history", "a", "b", "--since", "2026-11-24", "--until", "2026-11-24T12:00"]).unwrap();
    fits(&gap);
    assert!(gap.contains(" 2026-11-24 05:00 no data until 2026-11-24 07:00\n"), "{gap}");
    // Nothing is known yet of the last day, which is said too.
    let (late, _) = said(&folder, &["history", "a", "b", "--since", "2d"]).unwrap();
    assert!(late.contains(" 2026-11-26 00:00 no data until 2026-11-26 02:10\n"), "{late}");
}

#[test]
fn the_answer_is_of_all_intervals() {
    let folder = store();
    let (text, _) =
        said(&folder, &["history", "a", "b", "--since", "2026-11-25", "--until", "2026-11-26", "--by", "hour"])
            .unwrap();
    let (json, _) = said(
        &folder,
        &["history", "a", "b", "--since", "2026-11-25", "--until", "2026-11-26", "--by", "hour", "--json"],
    )
    .unwrap();
    let json: Value = serde_json::from_str(&json).unwrap();
    let [cell] = &json["cells"].as_array().unwrap()[..] else { panic!("{json}") };
    assert_eq!((&cell["from"], &cell["to"], &cell["over"]), (&"a".into(), &"b".into(), &"udp".into()));
    let sum = |of: &str| {
        cell["intervals"].as_array().unwrap().iter().map(|row| row["counts"][of].as_u64().unwrap()).sum::<u64>()
    };
    let lost = 60 * 3 + (1_440..2_880).filter(|k| k % 97 == 0).count() as u64;
    assert_eq!((sum("scheduled"), sum("lost")), (86_400, lost));
    assert_eq!(cell["whole"]["counts"]["lost"], lost);
    assert!(
        text.starts_with("a to b over udp: p50 70.4")
            && text.contains(&format!("{lost} of 86 400 requests not answered: {} lost", cell["whole"]["lost_out"])),
        "{text}"
    );
    assert_eq!(json["incidents"].as_array().unwrap().len(), 2);
    assert_eq!(json["marks"][0]["text"], "changed qdisc");
    let (csv, _) = said(
        &folder,
        &["history", "a", "b", "--since", "2026-11-25", "--until", "2026-11-26", "--by", "hour", "--csv"],
    )
    .unwrap();
    let lines: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(lines.len(), 25);
    let column = |name: &str| lines[0].iter().position(|head| *head == name).unwrap();
    let total: u64 = lines[1..].iter().map(|line| line[column("lost")].parse::<u64>().unwrap()).sum();
    assert_eq!(total, lost);
    assert!(lines.iter().all(|line| line.len() == lines[0].len()));
    assert_eq!(lines[1][column("p999_ns")], "", "too few answers beyond it");
}

#[test]
fn days_are_of_utc() {
    let folder = store();
    let (text, _) = said(&folder, &["history", "a", "b", "--since", "7d"]).unwrap();
    fits(&text);
    assert!(text.contains("\n 2026-11-23 00:00 ") && text.contains(" UTC\n"), "{text}");
}

#[test]
fn all_hosts_and_what_is_wrong_are_a_screen() {
    let folder = store();
    let (text, is_known) = said(&folder, &["history"]).unwrap();
    assert!(is_known);
    fits(&text);
    insta::assert_snapshot!("history_overview", text);
    let (json, _) = said(&folder, &["history", "a", "--over", "icmp", "--json"]).unwrap();
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["cells"].as_array().unwrap().len(), 1);
    assert_eq!(json["cells"][0]["hour"]["counts"]["answered"], 3_600);
}

#[test]
fn two_days_are_compared() {
    let folder = store();
    let (text, is_known) =
        said(&folder, &["history", "a", "b", "--since", "wed", "--until", "thu", "--against", "tue"]).unwrap();
    assert!(is_known);
    fits(&text);
    insta::assert_snapshot!("history_against", text);
    let (same, _) = said(&folder, &["compare", "a>b@tue", "a>b@wed"]).unwrap();
    assert_eq!(same, text, "one procedure");
    let (json, _) = said(&folder, &["compare", "a>b@tue", "a>b@wed", "--json"]).unwrap();
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["compared"]["p50_ns"]["word"], "more");
    let change = &json["compared"]["p50_ns"]["change"];
    assert!(change["low"].as_f64().unwrap() < 0.295 && change["high"].as_f64().unwrap() > 0.285, "{change}");
    let (short, is_known) = said(&folder, &["compare", "a>b@2026-11-24T03:00..2026-11-24T03:04", "a>b@wed"]).unwrap();
    assert!(!is_known && short.starts_with("Too little to compare: 4 and 1439"), "{short}");
    assert!(short.contains("Different times of day"), "{short}");
    let (days, _) =
        said(&folder, &["compare", "a>b@2026-11-24T22:00..2026-11-24T23:00", "a>b@2026-11-25T23:00..2026-11-26"])
            .unwrap();
    assert!(!days.contains("Different times of day"), "an hour apart\n{days}");
}

#[test]
fn a_baseline_is_accepted_compared_with_and_removed() {
    let folder = store();
    assert_eq!(said(&folder, &["accept"]).unwrap(), ("No baseline was accepted yet\n".to_owned(), false));
    let (text, _) = said(&folder, &["accept", "good", "tue"]).unwrap();
    assert_eq!(text, "Accepted: good: 2026-11-24 00:00 to 2026-11-25 00:00, all hosts\n");
    let against =
        |word: &str| said(&folder, &["history", "a", "b", "--since", "wed", "--until", "thu", "--against", word]);
    assert_eq!(against("good").unwrap(), against("tue").unwrap());
    said(&folder, &["accept", "good", "mon..wed", "--host", "a"]).unwrap();
    assert_eq!(said(&folder, &["accept"]).unwrap().0, "good: 2026-11-23 00:00 to 2026-11-25 00:00, a\n");
    let json: Value = serde_json::from_str(&said(&folder, &["accept", "--json"]).unwrap().0).unwrap();
    assert_eq!(json[0]["hosts"][0], "a");
    assert!(said(&folder, &["accept", "good", "--withdraw"]).unwrap().1);
    assert!(
        said(&folder, &["accept", "good", "--withdraw"])
            .unwrap_err()
            .to_string()
            .ends_with("there is no baseline good")
    );
    assert!(said(&folder, &["accept", "good"]).unwrap_err().to_string().contains("no time"));
    assert!(against("good").unwrap_err().to_string().contains("`good` is no time"));
}

const PLAN: &str = "[[hosts]]\nname = \"a\"\nreach = \"local\"\ninternal = \"10.0.0.1\"\nlabels = { zone = \"z\" }\n\
    [[hosts]]\nname = \"new\"\nreach = \"local\"\ninternal = \"10.0.0.2\"\n\
    [[silence]]\nhosts = [\"a\"]\nuntil = 2026-11-26T12:00:00Z\n\
    [[silence]]\nuntil = 2026-11-26T01:10:30Z\n";

#[test]
fn a_silence_is_asked_for_listed_and_ended() {
    let folder = store();
    let path = folder.path().join("plan.toml");
    std::fs::write(&path, PLAN).unwrap();
    let plan = path.to_str().unwrap();
    let silence = |words: &[&str]| said(&folder, &[&["monitor", "silence"], words].concat());
    assert_eq!(silence(&["--list"]).unwrap(), ("No silence is active\n".to_owned(), false));
    let (text, _) = silence(&["--host", "a", "--pair", "b", "a", "--for", "2h", "--why", "kernel"]).unwrap();
    assert!(text.starts_with("Silenced: a, b ↔ a, until 2026-11-26 04:10 (kernel)\nIt is silence 1 in "), "{text}");
    let words = [plan, "--host", "new", "--zone", "z", "--kind", "loss", "--kind", "agent-silent", "--for", "1d"];
    silence(&words).unwrap();
    silence(&["--everything", "--for", "90s"]).unwrap();
    let first = "1: a, b ↔ a, until 2026-11-26 04:10 (kernel)\n";
    let second = "2: new, zone z, only loss and agent-silent, until 2026-11-27 02:10\n";
    let third = "3: all hosts, until 2026-11-26 02:12\n";
    let planned = "plan: a, until 2026-11-26 13:00\n";
    assert_eq!(silence(&["--list"]).unwrap(), (format!("{first}{second}{third}"), true));
    assert_eq!(silence(&[plan, "--list"]).unwrap().0, format!("{first}{second}{third}{planned}"));
    assert_eq!(silence(&["--end", "2"]).unwrap().0, "Ended: silence 2\n");
    assert_eq!(silence(&["--list"]).unwrap().0, format!("{first}{third}"));
    let json: Value = serde_json::from_str(&silence(&[plan, "--list", "--json"]).unwrap().0).unwrap();
    assert_eq!(json[0]["silence"]["pairs"], serde_json::json!([["b", "a"]]));
    assert_eq!(json[0]["silence"]["until"], "2026-11-26T03:10:30Z");
    assert_eq!((&json[1]["number"], &json[2]["number"]), (&3.into(), &Value::Null));
    // A silence of nothing is refused.
    let fails = |words: &[&str]| failure(&folder, &[&["monitor", "silence"], words].concat());
    assert!(fails(&["--host", "c", "--for", "2h"]).text.ends_with("c: no host of this name was ever measured"));
    assert!(fails(&["--pair", "a", "c", "--for", "2h"]).hint.contains("`sonde history`"));
    assert_eq!(fails(&[plan, "--host", "b", "--for", "2h"]).text, "no host is called `b`");
    assert_eq!(fails(&[plan, "--zone", "y", "--for", "2h"]).text, "no host is in a zone `y`");
    assert!(fails(&["--zone", "z", "--for", "2h"]).text.contains("zones are defined in a plan"));
    assert!(fails(&["--for", "2h"]).hint.contains("--everything"));
    assert_eq!(fails(&["--host", "a", "--for", "soon"]).text, "`soon` is no length of time");
    assert!(fails(&["--end", "2"]).text.ends_with("silence 2 is not active"));
    for wrong in [&["--host", "a"][..], &["--host", "a", "--for", "1h", "--kind", "slow"], &["--list", "--for", "1h"]] {
        assert!(Arguments::try_parse_from([&["sonde-monitor", "monitor", "silence"], wrong].concat()).is_err());
    }
}

#[test]
fn an_incident_is_accepted_by_its_number() {
    let folder = store();
    let (text, _) = said(&folder, &["accept", "moved", "--incident", "2"]).unwrap();
    assert_eq!(text, "Accepted: moved: 2026-11-25 14:00 to 2026-11-26 02:10, a, b, incident 2\n");
    assert_eq!(
        said(&folder, &["accept"]).unwrap().0,
        "moved: 2026-11-25 14:00 to 2026-11-26 02:10, a, b, incident 2\n"
    );
    let id = Uuid::from_u128(2).to_string();
    assert_eq!(said(&folder, &["accept", "moved", "--incident", &id]).unwrap().0, text, "by its name in the store");
    let fails = |words: &[&str]| failure(&folder, &[&["accept", "moved", "--incident"], words].concat());
    assert!(fails(&["1"]).text.ends_with("incident 1 ended at 2026-11-25 15:00"));
    assert!(fails(&["3"]).text.ends_with("incident 3: no open incident has this number"));
    assert!(fails(&["twelve"]).hint.contains("`sonde history`"));
    // Another monitor has one of this number too, and one that is never as it should be.
    let mut store = SqliteStore::open(&folder.path().join("m.db"), Purpose::Keep).unwrap();
    let mut other = store.incidents(&IncidentFilter::default()).unwrap().remove(0);
    other.id = Uuid::from_u64_pair(9, 2);
    let silent = Incident { id: Uuid::from_u128(4), kind: "silent".to_owned(), ..other.clone() };
    store
        .keep(&Batch { incidents: vec![Incident { ended: None, ..other.clone() }, silent], ..Batch::default() })
        .unwrap();
    let both = fails(&["2"]);
    assert!(both.text.ends_with("2 monitors have one of this number"), "{both}");
    assert!(both.hint.contains(&id) && both.hint.contains(&other.id.to_string()), "{}", both.hint);
    assert_eq!(said(&folder, &["accept", "moved", "--incident", &id]).unwrap().0, text);
    assert!(fails(&["4"]).text.contains("has the kind silent"));
}

/// Failure of these words.
fn failure(folder: &TempDir, words: &[&str]) -> Failure {
    let error = said(folder, words).unwrap_err();
    error.downcast::<Failure>().expect("with a hint")
}

#[test]
fn what_is_not_known_is_an_error_with_a_way_out() {
    let folder = store();
    let fails = |words: &[&str]| {
        let Failure { text, hint } = failure(&folder, words);
        (text, hint)
    };
    let (text, hint) = fails(&["history", "a", "c"]);
    assert!(text.ends_with("c: no host of this name was ever measured") && hint.contains("lists the hosts"), "{text}");
    let (text, hint) = fails(&["history", "b", "a", "--over", "udp"]);
    assert!(text.ends_with("b never asked a over udp") && hint.starts_with("`sonde history a b`"), "{text} {hint}");
    assert!(fails(&["history", "a", "b", "--since", "soon"]).0.contains("`soon` is no time"));
    assert!(fails(&["history", "a", "b", "--since", "1h", "--until", "2h"]).0.contains("not before"));
    assert!(fails(&["history", "a", "b", "--since", "1971-01-01", "--by", "minute"]).1.contains("--by"));
    assert!(fails(&["history", "--against", "tue"]).1.contains("two hosts"));
    assert!(fails(&["history", "--csv"]).1.contains("two hosts"));
    assert!(fails(&["compare", "a>b@tue", "b>a@tue"]).0.contains("same protocol"));
    let nothing = tempdir().unwrap();
    let error = said(&nothing, &["history"]).unwrap_err();
    assert!(error.to_string().contains("no monitor store exists here yet"), "{error}");
    assert!(!nothing.path().join("m.db").exists(), "reading makes nothing");
}
