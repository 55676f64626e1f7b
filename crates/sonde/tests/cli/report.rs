//! `sonde report` and `sonde export`: files made of files, and what is said of those that cannot be read.

use std::path::Path;

use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;
use test_case::test_case;

use crate::sonde_in;

/// A record of another measurement.
const OTHER: &str = include_str!("../../../logbook/fixtures/record.json");

/// A folder with a record of today, its samples, and one of another measurement.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let words = ["rtt", "-q", "-c", "2000", "--warm-up", "0", "-o", "run.json", "--samples", "run.csv"];
    sonde_in(folder.path(), &words).assert().success();
    std::fs::write(folder.path().join("other.json"), OTHER).unwrap();
    folder
}

fn read(folder: &Path, name: &str) -> Vec<u8> {
    std::fs::read(folder.join(name)).unwrap()
}

#[test]
fn a_page_is_made_and_nothing_else_is_printed() {
    let folder = folder();
    let made = sonde_in(folder.path(), &["report", "run.json", "other.json", "-o", "page.html"]).assert().success();
    made.stdout("").stderr(contains("page.html: "));
    let page = String::from_utf8(read(folder.path(), "page.html")).unwrap();
    assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
    assert!(page.contains("2 measurements") && page.contains("Settings that differ"));
}

#[test]
fn pictures_are_what_their_endings_say() {
    let folder = folder();
    let words = ["report", "run.json", "--plot", "histogram", "-o", "shape.svg", "-o", "shape.png"];
    sonde_in(folder.path(), &words).assert().success();
    assert!(read(folder.path(), "shape.svg").starts_with(b"<svg xmlns"));
    assert!(read(folder.path(), "shape.png").starts_with(b"\x89PNG\r\n"));
    let words = ["report", "run.json", "--samples", "run.csv", "-o", "heat.svg"];
    sonde_in(folder.path(), &words).assert().success();
    assert!(String::from_utf8(read(folder.path(), "heat.svg")).unwrap().contains("from samples"));
}

/// A measuring command makes its pages and charts itself: each is as its ending says.
#[test_case(&["rtt", "-c", "2000", "--warm-up", "0"], "Percentiles"; "round trips")]
#[test_case(&["sweep", "--over", "size=64,1kB", "--blocks", "2", "-c", "40", "--warm-up", "0", "--tcp"], "p50 over size"; "a sweep")]
#[test_case(&["compare", "rtt -c 300", "rtt --udp -c 300", "--runs", "2", "--no-moves"], "Difference by percentile"; "a comparison")]
#[test_case(&["why", "--intervals", "0", "--blocks", "1", "-c", "30", "--warm-up", "0", "--every", "2ms"], "Effect of each cause"; "causes")]
fn a_measurement_writes_its_own_page_and_charts(words: &[&str], chart: &str) {
    let folder = tempfile::tempdir().unwrap();
    let files = ["-q", "-o", "it.svg", "-o", "it.png", "-o", "it.html", "-o", "it.json"];
    sonde_in(folder.path(), &[words, &files].concat()).assert().success();
    let text = |name: &str| String::from_utf8(read(folder.path(), name)).unwrap();
    assert!(text("it.svg").starts_with("<svg xmlns") && text("it.svg").contains(chart), "{:.600}", text("it.svg"));
    assert!(read(folder.path(), "it.png").starts_with(b"\x89PNG\r\n"));
    let page = text("it.html");
    assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n") && page.contains(chart));
    // As the record is told afterwards, but for the name of the file.
    sonde_in(folder.path(), &["report", "-q", "it.json", "-o", "again.svg"]).assert().success();
    assert_eq!(text("again.svg"), text("it.svg"));
}

#[test]
fn a_first_look_writes_its_own_page_and_chart() {
    let folder = tempfile::tempdir().unwrap();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let host = listener.local_addr().unwrap().to_string();
    let words = ["look", &host, "-t", "1", "-q", "-o", "look.html", "-o", "look.svg"];
    sonde_in(folder.path(), &words).assert().success();
    for name in ["look.html", "look.svg"] {
        let text = String::from_utf8(read(folder.path(), name)).unwrap();
        assert!(text.contains("Each protocol, measured in the same rounds"), "{name}: {text:.600}");
    }
}

#[test_case(&["rtt", "-c", "9", "-o", "run.pdf"]; "round trips")]
#[test_case(&["sweep", "--over", "size=64,1kB", "-o", "run.pdf"]; "a sweep")]
#[test_case(&["why", "-o", "run"]; "causes")]
#[test_case(&["look", "127.0.0.1", "-o", "run.csv"]; "a first look")]
fn an_ending_that_nobody_knows_is_refused_with_those_that_are(words: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let refused = sonde_in(folder.path(), words).assert().code(2);
    refused.stderr(contains(".json (record), .jsonl (events), .txt, .html (a page), .svg or .png (a chart)"));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test_case(&["run.json"], "--output"; "nowhere to")]
#[test_case(&["run.json", "-o", "page.pdf"], ".html (a page), .svg or .png"; "no such form")]
#[test_case(&["run.json", "-o", "absent/page.html"], "its folder is not there"; "no folder")]
#[test_case(&["run.json", "-o", "a.svg", "--plot", "pie"], "percentiles, histogram, series, heat, curve, shift"; "no such chart")]
#[test_case(&["other.json", "-o", "a.svg", "--plot", "heat"], "--samples FILE.csv"; "no samples")]
#[test_case(&["run.json", "-o", "a.svg", "--plot", "curve"], "--find"; "no search")]
#[test_case(&["other.json", "-o", "a.html", "--samples", "run.csv"], "samples of another measurement"; "other samples")]
#[test_case(&["run.json", "-o", "a.html", "--samples", "run.json"], "not sonde samples"; "samples that are none")]
#[test_case(&["run.json", "other.json", "-o", "a.html", "--samples", "run.csv"], "belong to one record"; "samples of which")]
#[test_case(&["absent.json", "-o", "a.html"], "there is no such file"; "no record")]
#[test_case(&["empty", "-o", "a.html"], "no .json or .jsonl in this folder"; "a folder without")]
fn what_cannot_be_made_is_said_and_nothing_is_written(words: &[&str], said: &str) {
    let folder = folder();
    std::fs::create_dir(folder.path().join("empty")).unwrap();
    let before = std::fs::read_dir(folder.path()).unwrap().count();
    let refused = sonde_in(folder.path(), &[&["report"], words].concat()).assert().code(2);
    refused.stderr(contains(said));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), before);
}

#[test]
fn a_page_is_made_of_those_that_can_be_read_and_lists_the_others() {
    let folder = folder();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("broken.json", "{\"format\": \"sonde-rec");
    write("foreign.json", "{\"start\": {}, \"end\": {}}");
    write("future.json", "{\"format\": \"sonde-record\", \"version\": 99}");
    let made = sonde_in(folder.path(), &["report", ".", "-o", "page.html"]).assert().success();
    let (broken, foreign, future) =
        ("broken.json: not JSON", "foreign.json: JSON, but not a sonde record", "version 99, which is newer");
    made.stderr(contains(broken).and(contains(foreign)).and(contains(future)));
    let page = String::from_utf8(read(folder.path(), "page.html")).unwrap();
    assert!(page.contains("Not read") && page.contains("2 measurements"));
    assert!([broken, foreign, future].iter().all(|said| page.contains(said)));
    let none = ["report", "broken.json", "foreign.json", "-o", "none.html"];
    sonde_in(folder.path(), &none).assert().code(2).stderr(contains(broken).and(contains(foreign)));
    assert!(!folder.path().join("none.html").exists());
}

#[test]
fn a_disk_that_is_full_is_told() {
    let folder = folder();
    std::os::unix::fs::symlink("/dev/full", folder.path().join("full.html")).unwrap();
    let refused = sonde_in(folder.path(), &["report", "run.json", "-o", "full.html"]).assert();
    refused.code(2).stderr(contains("full.html").and(contains("the disk is full")));
}

#[test]
fn records_become_rows() {
    let folder = folder();
    let told = sonde_in(folder.path(), &["export", "run.json", "other.json"]).assert().success();
    let text = String::from_utf8(told.get_output().stdout.clone()).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 3);
    let place = lines[0].split(',').position(|name| name == "answered").unwrap();
    // A field with a comma stands in quotes, and no field before this has one.
    assert_eq!(lines[1].split(',').nth(place), Some("2000"));
    let words = ["export", "run.json", "-o", "all.csv", "-o", "all.parquet"];
    sonde_in(folder.path(), &words).assert().success().stdout("").stderr(contains("all.parquet: 1 row"));
    assert!(read(folder.path(), "all.parquet").starts_with(b"PAR1"));
    assert_eq!(String::from_utf8(read(folder.path(), "all.csv")).unwrap().lines().count(), 2);
    let table = crate::printed(&mut sonde_in(folder.path(), &["export", "run.json", "--format", "markdown"]));
    assert!(table.starts_with("| host | method | p50 |") && table.lines().count() == 3, "{table}");
    let refused = sonde_in(folder.path(), &["export", "run.json", "-o", "all.xlsx"]).assert().code(2);
    refused.stderr(contains(".csv, .parquet, .jsonl or .md"));
}

#[test]
fn a_record_comes_through_a_pipe() {
    let folder = folder();
    let mut made = sonde_in(folder.path(), &["report", "-", "-o", "page.html"]);
    made.write_stdin(read(folder.path(), "run.json")).assert().success();
    assert!(String::from_utf8(read(folder.path(), "page.html")).unwrap().contains("tcp exchange"));
}
