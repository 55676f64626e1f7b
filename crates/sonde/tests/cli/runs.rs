//! Runs that are kept: listed, shown, compared, exported, told of; by the names and from the places that people give.

use std::path::{Path, PathBuf};
use std::time::Duration;

use assert_cmd::Command;
use logbook::document::Head;
use logbook::document::Tool;
use logbook::failure::Failure;
use logbook::host::Address;
use logbook::moment::Moment;
use logbook::record::{Ended, Record};
use logbook::run::{Cell, Figures, Place, RunDocument};
use logbook::shelf::Progress;
use logbook::shelf::item::Item;
use logbook::shelf::spool::Spool;
use logbook::shelf::sqlite::SqliteShelf;
use measure::unit::Nanos;
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;
use tempfile::TempDir;
use test_case::test_case;

use crate::{document, printed, sonde_in};

const PLAN: &str = r#"
name = "mesh"
hosts = [
    { name = "a", reach = "local", internal = "10.0.0.1", labels = { zone = "z1" } },
    { name = "b", reach = "local", internal = "10.0.0.2", labels = { zone = "z2" } },
]
methods = [{ name = "tcp_rr", command = "rtt --tcp" }]
repeats = 7
seed = 4
"#;
/// Repeats of each cell: enough to show something of two.
const REPEATS: u32 = 7;

/// A run that was begun so many hours after the first, its median times `factor`; the last repeat from b to a failed.
struct Scene {
    run: RunDocument,
    cells: Vec<(Cell, Option<Record>)>,
}

fn scene(hour: i64, factor: u64) -> Scene {
    let started = Moment::utc(jiff::Timestamp::from_second(1_760_000_000 + hour * 3_600).unwrap());
    let id = |kind: u64| format!("{:016x}{kind:016x}", 0x0199_f2ab_0000_7000 | (hour as u64) << 16).parse().unwrap();
    let tool = Tool { name: "sonde".to_owned(), version: "0.1.0".to_owned() };
    let command = ["sonde", "run", "mesh.toml"].map(str::to_owned).to_vec();
    let planned = 2 * u64::from(REPEATS);
    let run = RunDocument::new(Head::new(id(0), tool, command, started), toml::from_str(PLAN).unwrap(), Some(planned));
    let mut cells = Vec::new();
    for (number, (from, to)) in [("a", "b"), ("b", "a")].into_iter().enumerate() {
        for repeat in 0..REPEATS {
            let mut record = Record::read(include_str!("../../../logbook/fixtures/record.json")).unwrap();
            record.head.id = id(1 + u64::from(repeat) + 100 * number as u64);
            record.head.started = started;
            let ns = (20_000 + u64::from(repeat) * 37) * if number == 0 { factor } else { 100 } / 100;
            let failed = number == 1 && repeat == REPEATS - 1;
            let what = "a: the agent is gone".to_owned();
            let failure = Failure { what, to_whom: None, side: None, hint: None, partial: None };
            let place =
                Place { from: from.into(), to: to.into(), over: Address::Internal, method: "tcp_rr".into(), repeat };
            let cell = Cell {
                place,
                round: 0,
                beside: 0,
                started,
                record: (!failed).then_some(record.head.id),
                figures: (!failed).then(|| Figures { p50_ns: Some(Nanos(ns)), ..Figures::of(&record) }),
                failure: failed.then_some(failure),
                host_lost: failed,
            };
            cells.push((cell, (!failed).then_some(record)));
        }
    }
    Scene { run, cells }
}

impl Scene {
    fn items(self) -> Vec<Item> {
        let run = self.run.head.id;
        let progress = Progress { ended: Some(Ended::Complete), ..Progress::default() };
        let cells = self.cells.into_iter().map(|(cell, record)| Item::Cell {
            run,
            cell: Box::new(cell),
            record: record.map(Box::new),
        });
        let begin = Item::Begin { run: Box::new(self.run) };
        let end = Item::Advance { run, progress: Box::new(progress) };
        std::iter::once(begin).chain(cells).chain([end]).collect()
    }
}

/// A folder with a store of two runs, an hour and two after the first hour, the second slower from a to b by a quarter.
fn folder() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("runs.db");
    let mut shelf = SqliteShelf::open(&file, Duration::ZERO).unwrap();
    for item in [scene(1, 100), scene(2, 125)].into_iter().flat_map(Scene::items) {
        item.put(&mut shelf).unwrap();
    }
    (folder, file)
}

/// `sonde` with these words and the store of the folder.
fn stored(folder: &Path, words: &[&str]) -> Command {
    sonde_in(folder, &[words, &["--store", "runs.db"]].concat())
}

#[test]
fn runs_are_listed_the_latest_first() {
    let (folder, _) = folder();
    let text = printed(&mut stored(folder.path(), &["runs"]));
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 3, "{text}");
    let words: Vec<&str> = lines[1].split_whitespace().collect();
    assert_eq!(words[0], "0199f2ab-0002");
    assert_eq!(words[3..], ["2", "13", "1", "14", "complete", "mesh"]);
    let json = printed(&mut stored(folder.path(), &["runs", "--json", "--limit", "1"]));
    let found = document(json.as_bytes());
    jsonschema::validate(&logbook::schema::runs_schema(), &found).unwrap();
    assert_eq!(found["runs"].as_array().unwrap().len(), 1);
    assert_eq!((&found["runs"][0]["done"], &found["runs"][0]["failed"]), (&13.into(), &1.into()));
}

#[test_case(&["--since", "2025-10-09T10:30:00Z"], 1; "since an instant")]
#[test_case(&["--since", "2025-01-01"], 2; "since a date")]
#[test_case(&["--since", "1s"], 0; "since a second ago")]
#[test_case(&["--plan", "MES"], 2; "by name")]
#[test_case(&["--plan", "star"], 0; "by another name")]
fn runs_are_listed_by_what_is_asked(words: &[&str], count: usize) {
    let (folder, _) = folder();
    let text = printed(&mut stored(folder.path(), &[&["runs"], words].concat()));
    assert_eq!(text.matches("0199f2ab").count(), count, "{text}");
}

#[test]
fn a_run_is_shown_by_its_name_and_from_its_file_alike() {
    let (folder, _) = folder();
    let at = folder.path();
    let text = printed(&mut stored(at, &["show", "last", "-o", "run.json"]));
    assert!(text.contains("\n  run 0199f2ab-0002 · mesh · "), "{text}");
    for said in ["13 of 14 cells measured, 1 failed", "a: the agent is gone", "b → a tcp_rr #6", "a → b #0"] {
        assert!(text.contains(said), "{said} in {text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert_eq!(printed(&mut stored(at, &["show", "0199f2ab0002"])), text);
    assert_eq!(printed(&mut sonde_in(at, &["show", "run.json"])), text);
    let found = document(&std::fs::read(at.join("run.json")).unwrap());
    jsonschema::validate(&logbook::schema::run_schema(), &found).unwrap();
    let line = printed(&mut stored(at, &["show", "last", "--json-lines"]));
    assert_eq!(document(line.as_bytes())["data"], found);
    jsonschema::validate(&logbook::schema::event_schema(), &document(line.as_bytes())).unwrap();
}

#[test]
fn a_record_is_shown_by_its_name() {
    let (folder, _) = folder();
    let listed = printed(&mut stored(folder.path(), &["runs", "--records", "--limit", "1"]));
    let id = listed.lines().nth(1).unwrap().split_whitespace().next().unwrap();
    let found = printed(&mut stored(folder.path(), &["show", id, "--json"]));
    assert_eq!(document(found.as_bytes())["id"], id);
    let text = printed(&mut stored(folder.path(), &["show", id]));
    assert!(text.contains("to 127.0.0.1:") && text.contains("3 round trips"), "{text}");
}

#[test_case(&["show", "0199"], "is the start of several names: run 0199f2ab-0001-"; "several")]
#[test_case(&["show", "beef"], "no stored run and no file `beef`: "; "none")]
#[test_case(&["show", "no-such.json"], "there is no such file"; "a file")]
#[test_case(&["export", "feedbeef"], "no run or record starts with `feedbeef`"; "none to export")]
#[test_case(&["compare", "last", "127.0.0.1"], "127.0.0.1: is not a run of a plan"; "a run beside a host")]
#[test_case(&["compare", "last", "last", "--runs", "3"], "--runs: nothing is measured"; "what live sides have")]
#[test_case(&["compare", "last", "last", "last"], "two at a time"; "three")]
#[test_case(&["runs", "--since", "soon"], "how long ago"; "no moment")]
#[test_case(&["export", "last", "-o", "a.xls"], ".csv, .parquet, .jsonl or .md"; "no form")]
#[test_case(&["export", "last", "--format", "parquet"], "it goes into a file"; "columns on a screen")]
fn what_cannot_be_done_is_said(words: &[&str], said: &str) {
    let (folder, _) = folder();
    stored(folder.path(), words).assert().code(2).stdout("").stderr(contains(said));
}

#[test]
fn a_store_that_is_not_there_is_named_and_not_made() {
    let folder = tempfile::tempdir().unwrap();
    for words in [&["runs"][..], &["show", "last"], &["export", "last"]] {
        let told = contains("no run store exists yet").and(contains("runs.db"));
        stored(folder.path(), words).assert().code(2).stderr(told);
    }
    assert!(!folder.path().join("runs.db").exists());
    let error = stored(folder.path(), &["show", "last", "--json"]).assert().code(2).get_output().stdout.clone();
    assert_eq!(document(&error)["format"], "sonde-error");
}

#[test]
fn the_store_is_where_the_environment_says() {
    let (folder, file) = folder();
    let home = folder.path().join("home/sonde");
    std::fs::create_dir_all(&home).unwrap();
    std::fs::copy(&file, home.join("runs.db")).unwrap();
    let lines = |command: &mut Command| printed(command).lines().count();
    let mut by_file = sonde_in(folder.path(), &["runs"]);
    assert_eq!(lines(by_file.env("SONDE_STORE", &file)), 3);
    let mut by_home = sonde_in(folder.path(), &["runs"]);
    assert_eq!(lines(by_home.env("XDG_DATA_HOME", folder.path().join("home"))), 3);
    let mut neither = sonde_in(folder.path(), &["runs"]);
    neither.env_remove("XDG_DATA_HOME").env("HOME", folder.path()).assert().code(2).stderr(contains(".local/share"));
}

#[test]
fn two_runs_are_compared_cell_by_cell() {
    let (folder, _) = folder();
    let words = ["compare", "0199f2ab-0001", "last"];
    let text = printed(&mut stored(folder.path(), &words));
    let row = |pair: &str| text.lines().find(|line| line.contains(pair)).unwrap_or_else(|| panic!("{text}"));
    assert!(row("a → b").contains("+25.0 %") && row("a → b").ends_with("slower"), "{text}");
    assert!(row("b → a").ends_with("not significant"), "{text}");
    assert!(text.contains("2 values judged together by their repeats"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let json = printed(&mut stored(folder.path(), &[&words[..], &["--json"]].concat()));
    let found = document(json.as_bytes());
    jsonschema::validate(&logbook::schema::run_comparison_schema(), &found).unwrap();
    assert_eq!((&found["cells"][0]["spot"]["from"], &found["judged_together"]), (&"a".into(), &2.into()));
    assert_eq!(found["cells"][1]["figures"][0]["compared"]["runs"], serde_json::json!([6, 6]), "one repeat failed");
}

#[test]
fn runs_of_few_repeats_show_nothing() {
    let (folder, file) = folder();
    let mut shelf = SqliteShelf::open(&file, Duration::ZERO).unwrap();
    let few = scene(3, 200);
    for item in few.items().into_iter().filter(|item| !matches!(item, Item::Cell { cell, .. } if cell.place.repeat > 1))
    {
        item.put(&mut shelf).unwrap();
    }
    let text = printed(&mut stored(folder.path(), &["compare", "0199f2ab-0001", "last"]));
    assert_eq!(text.matches("too few runs").count(), 2, "{text}");
    // However its lines are broken.
    let words: Vec<&str> = text.split_whitespace().collect();
    assert!(words.join(" ").contains("takes 5 repeats of each cell"), "{text}");
}

#[test_case(&["p50>+10%"], &[], 99; "exceeded")]
#[test_case(&["p50>+40%"], &[], 0; "kept")]
#[test_case(&["p50>+25.001%"], &["--strict"], 99; "not shown to be kept")]
fn a_limit_decides_the_status(limits: &[&str], more: &[&str], status: i32) {
    let (folder, _) = folder();
    let limits: Vec<&str> = limits.iter().flat_map(|limit| ["--fail-if", limit]).collect();
    let words = [&["compare", "0199f2ab-0001", "last"][..], &limits, more].concat();
    stored(folder.path(), &words).assert().code(status).stdout(contains("limits"));
}

#[test]
fn a_figure_that_the_cells_do_not_keep_comes_from_their_records() {
    let (folder, _) = folder();
    let text = printed(&mut stored(folder.path(), &["compare", "0199f2ab-0001", "last", "--figures", "min,p99"]));
    assert!(text.contains("tcp_rr · internal · min") && text.contains("tcp_rr · internal · p99"), "{text}");
    assert_eq!(text.matches("not significant").count(), 2, "the records of the two are the same: {text}");
}

#[test]
fn the_records_of_a_run_are_exported_with_their_places() {
    let (folder, _) = folder();
    let csv = printed(&mut stored(folder.path(), &["export", "last"]));
    let head: Vec<&str> = csv.lines().next().unwrap().split(',').collect();
    for name in ["run_from", "run_to", "run_over", "run_method", "run_repeat", "run_from_labels"] {
        assert!(head.contains(&name), "{name}");
    }
    assert_eq!(csv.lines().count(), 14, "13 cells were measured");
    assert!(csv.contains(r#""{""zone"":""z1""}""#), "{csv}");
    let files = ["export", "last", "-o", "all.parquet", "-o", "all.jsonl"];
    stored(folder.path(), &files).assert().success().stderr(contains("all.parquet: 13 rows"));
    assert!(std::fs::read(folder.path().join("all.parquet")).unwrap().starts_with(b"PAR1"));
    let lines = std::fs::read_to_string(folder.path().join("all.jsonl")).unwrap();
    assert_eq!(lines, printed(&mut stored(folder.path(), &["export", "last", "--format", "jsonl"])));
    let first = document(lines.lines().next().unwrap().as_bytes());
    assert_eq!((&first["from"], &first["repeat"], &first["to_labels"]["zone"]), (&"a".into(), &0.into(), &"z2".into()));
    jsonschema::validate(&logbook::schema::json_schema(), &first["record"]).unwrap();
}

#[test]
fn a_run_is_shown_host_by_host_and_beside_an_earlier_one() {
    let (folder, _) = folder();
    let at = folder.path();
    let text = printed(&mut stored(at, &["matrix", "last"]));
    assert!(text.contains("\n\ntcp_rr · internal · p50 in µs\n"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    let both = printed(&mut stored(at, &["matrix", "last", "--before", "0199f2ab-0001"]));
    assert!(both.starts_with(&text) && both.contains("+25.0 %"), "{both}");
    let files = ["-o", "m.html", "-o", "m.svg", "-o", "m.png"];
    stored(at, &[&["matrix", "last", "--before", "0199f2ab-0001"][..], &files].concat()).assert().success();
    let page = std::fs::read_to_string(at.join("m.html")).unwrap();
    assert!(page.contains("Before beside after") && page.contains("+25 %"), "the verdict of a cell");
    assert!(std::fs::read_to_string(at.join("m.svg")).unwrap().starts_with("<svg"));
    assert!(std::fs::read(at.join("m.png")).unwrap().starts_with(b"\x89PNG"));
    stored(at, &["matrix", "last", "--method", "nonsense", "-o", "n.png"])
        .assert()
        .code(2)
        .stderr(contains("no cells"));
    stored(at, &["matrix", "0000000f"]).assert().code(2);
}

#[test]
fn samples_are_those_of_a_run_alone() {
    let (folder, _) = folder();
    let at = folder.path();
    let lines = printed(&mut stored(at, &["export", "last", "--format", "pkb"]));
    let samples: Vec<serde_json::Value> = lines.lines().map(|line| document(line.as_bytes())).collect();
    let rates = samples.iter().filter(|sample| sample["metric"] == "UDP_RR_Transaction_Rate").count();
    assert_eq!(rates, 13, "one of each cell that was measured: {lines}");
    assert!(samples.iter().all(|sample| sample["unit"].is_string() && sample["value"].is_number()));
    std::fs::write(at.join("record.json"), include_str!("../../../logbook/fixtures/record.json")).unwrap();
    stored(at, &["export", "record.json", "--format", "pkb"])
        .assert()
        .code(2)
        .stderr(contains("is not a run of a plan"));
}

#[test]
fn a_page_is_made_of_the_records_of_a_run_and_of_its_document() {
    let (folder, _) = folder();
    let at = folder.path();
    stored(at, &["report", "last", "-o", "page.html"]).assert().success().stderr(contains("page.html: "));
    let page = std::fs::read_to_string(at.join("page.html")).unwrap();
    assert!(page.contains("13 measurements"), "{page}");
    printed(&mut stored(at, &["show", "last", "-o", "run.json"]));
    sonde_in(at, &["report", "run.json", "-o", "run.html"]).assert().success();
    let page = std::fs::read_to_string(at.join("run.html")).unwrap();
    assert!(page.contains("run mesh · ") && page.contains("a: the agent is gone"));
}

#[test]
fn what_waited_is_taken_in_by_the_next_that_looks_and_when_asked() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let mut spool = Spool::beside(&at.join("runs.db"));
    scene(1, 100).items().iter().for_each(|item| drop(spool.add(item).unwrap()));
    stored(at, &["runs"]).assert().success().stdout(contains("0199f2ab-0001")).stderr(contains("16 things"));
    assert!(!spool.folder().exists());
    let mut copied = Spool::new(at.join("copied.spool"));
    scene(2, 100).items().iter().for_each(|item| drop(copied.add(item).unwrap()));
    std::fs::write(copied.folder().join("9-notes.json"), "{").unwrap();
    let taken = stored(at, &["runs", "--import", "copied.spool"]).assert().code(2);
    taken.stdout(contains("copied.spool: 16 things taken in")).stderr(contains("9-notes.json stays: not JSON"));
    assert_eq!(printed(&mut stored(at, &["runs"])).lines().count(), 3);
    stored(at, &["runs", "--import"]).assert().success().stdout(contains("0 things taken in"));
}

#[test]
fn a_file_that_is_no_store_is_left_and_said() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("runs.db");
    std::fs::write(&file, "something else of mine, of more than a hundred bytes".repeat(4)).unwrap();
    stored(folder.path(), &["runs"]).assert().code(2).stderr(contains("this is not a sonde store"));
    assert!(std::fs::read_to_string(&file).unwrap().starts_with("something else"));
}

/// Number of lines of `sonde runs` below its head, with these words.
fn listed(folder: &Path, words: &[&str]) -> usize {
    printed(&mut stored(folder, &[&["runs"], words].concat())).matches("0199f2ab").count()
}

#[test]
fn a_run_is_deleted_with_its_records_and_no_other() {
    let (folder, file) = folder();
    let told = printed(&mut stored(folder.path(), &["runs", "--delete", "last", "--dry-run"]));
    assert!(told.starts_with("run 0199f2ab-0002 would be deleted: mesh, "), "{told}");
    assert_eq!(listed(folder.path(), &[]), 2);
    let told = printed(&mut stored(folder.path(), &["runs", "--delete", "0199f2ab-0002", "last"]));
    assert!(told.starts_with("run 0199f2ab-0002 deleted: mesh, ") && told.trim_end().ends_with(", 14 cells"), "{told}");
    assert_eq!(told.lines().count(), 1, "named twice, deleted once");
    assert_eq!(listed(folder.path(), &[]), 1);
    let records = printed(&mut stored(folder.path(), &["runs", "--records"]));
    assert!(!records.contains("0199f2ab-0002") && records.contains("0199f2ab-0001"), "{records}");
    assert_eq!(SqliteShelf::open(&file, Duration::ZERO).unwrap().complaints().unwrap(), [""; 0]);
    stored(folder.path(), &["runs", "--delete", "0199f2ab-0002"]).assert().code(2);
}

#[test]
fn runs_that_are_older_are_pruned() {
    let (folder, _) = folder();
    let words = ["runs", "--prune", "--older-than", "2025-10-09T10:30:00Z"];
    let told = printed(&mut stored(folder.path(), &[&words[..], &["--dry-run"]].concat()));
    assert!(told.starts_with("run 0199f2ab-0001 would be deleted: "), "{told}");
    assert_eq!(listed(folder.path(), &[]), 2);
    assert!(printed(&mut stored(folder.path(), &words)).starts_with("run 0199f2ab-0001 deleted: "));
    assert_eq!(listed(folder.path(), &[]), 1);
    assert_eq!(printed(&mut stored(folder.path(), &words)), "no stored run matches\n");
    stored(folder.path(), &["runs", "--prune"]).assert().code(2);
}
