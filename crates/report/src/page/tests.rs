//! Pages read back as a browser would: that they hold together, say what the records say, and keep foreign words words.

use std::collections::BTreeSet;

use serde_json::Value;
use test_case::test_case;

use super::*;
use crate::fixture;
use crate::words::warning::seen;

fn source(record: Record) -> Source {
    Source { name: "run.json".to_owned(), document: Document::Record(Box::new(record)) }
}

fn alone(record: Record) -> String {
    render(&[source(record)], &[], None)
}

/// The contents of a page, as far as tests ask: elements with their attributes, and the text outside of scripts.
#[derive(Default)]
struct Parsed {
    elements: Vec<(String, Vec<(String, String)>)>,
    text: String,
    scripts: Vec<String>,
}

impl Parsed {
    fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.elements
            .iter()
            .flat_map(|(_, attributes)| attributes)
            .filter(move |(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }

    fn count(&self, tag: &str) -> usize {
        self.elements.iter().filter(|(name, _)| name == tag).count()
    }
}

/// Elements without an end.
const VOID: [&str; 2] = ["meta", "input"];

/// Reads `page`; panics where elements are not nested, or a letter stands where none may.
fn parsed(page: &str) -> Parsed {
    let mut parsed = Parsed::default();
    let mut open: Vec<String> = Vec::new();
    let mut rest = page.strip_prefix("<!doctype html>\n").expect("it says what it is");
    while let Some(at) = rest.find('<') {
        parsed.text.push_str(&unescaped(&rest[..at]));
        let end = rest[at..].find('>').map(|end| at + end).expect("a tag ends");
        let tag = &rest[at + 1..end];
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name), "nested as opened, near {rest:.80}");
            continue;
        }
        let (tag, closed) = tag.strip_suffix('/').map_or((tag, false), |tag| (tag, true));
        let (name, attributes) = tag.split_once([' ', '\n']).unwrap_or((tag, ""));
        parsed.elements.push((name.to_owned(), attributes_of(attributes)));
        if name == "script" || name == "style" {
            let end = rest.find(&format!("</{name}>")).expect("it ends");
            if name == "script" {
                parsed.scripts.push(rest[..end].to_owned());
            }
            rest = &rest[end + name.len() + 3..];
        } else if !closed && !VOID.contains(&name) {
            open.push(name.to_owned());
        }
    }
    assert_eq!(open, [""; 0], "every element ends");
    parsed
}

fn attributes_of(text: &str) -> Vec<(String, String)> {
    let mut attributes = Vec::new();
    let mut rest = text.trim();
    while let Some((name, after)) = rest.split_once("=\"") {
        let (value, after) = after.split_once('"').expect("a value ends");
        attributes.push((name.trim().to_owned(), unescaped(value)));
        rest = after.trim_start();
    }
    attributes
}

fn unescaped(text: &str) -> String {
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&#39;", "'").replace("&amp;", "&")
}

/// That what refers to a part of the page refers to one that is there, once.
fn holds_together(page: &str) -> Parsed {
    let parsed = parsed(page);
    let ids: Vec<&str> = parsed.all("id").collect();
    let known: BTreeSet<&str> = ids.iter().copied().collect();
    assert_eq!(ids.len(), known.len(), "every id once");
    let links = parsed.all("href").map(|link| link.strip_prefix('#').expect("links stay in the page"));
    let labels = parsed.all("aria-labelledby").flat_map(|names| names.split(' '));
    for name in links.chain(labels) {
        assert!(known.contains(name), "{name} is referred to");
    }
    let heads = parsed.elements.iter().filter(|(name, _)| name == "th");
    assert!(heads.clone().all(|(_, attributes)| attributes.iter().any(|(key, _)| key == "scope")), "heads say of what");
    assert_eq!(parsed.count("table"), parsed.count("caption"), "every table says what it is");
    assert_eq!(parsed.count("svg"), parsed.count("desc"), "every chart has words");
    parsed
}

fn data(parsed: &Parsed) -> Value {
    serde_json::from_str(&parsed.scripts[0]).expect("the data is JSON")
}

#[test]
fn every_kind_of_record_makes_a_page_that_holds_together() {
    for record in fixture::all() {
        let page = alone(record.clone());
        let parsed = holds_together(&page);
        assert_eq!((parsed.count("h1"), parsed.count("main")), (1, 1));
        assert!(parsed.text.contains(&record.head.command.join(" ")), "the command is there");
        for warning in &record.warnings {
            assert!(parsed.text.contains(&seen(warning)), "{warning:?}");
        }
        let count = number::count(record.warnings.len() as u64, "warning", "warnings");
        assert_eq!(parsed.text.contains(&format!("⚠ {count}")), !record.warnings.is_empty(), "{count}");
    }
}

#[test]
fn connections_stand_by_group_and_by_port() {
    let page = holds_together(&alone(fixture::grouped()));
    for told in ["p50 [95 %]", "14.0 µs [13.5, 14.5]", "344 µs [344, 345]", "3 of 100", "source ports 40008, 40024"] {
        assert!(page.text.contains(told), "{told}: {}", page.text);
    }
    let series = data(&page)["charts"]["r1-c"]["series"].clone();
    let points: Vec<usize> =
        series.as_array().unwrap().iter().map(|series| series["points"].as_array().unwrap().len()).collect();
    assert_eq!(points, [2, 2], "{series}");
    assert!(!page.text.contains("Hops"));
    assert!(!holds_together(&alone(fixture::closed())).text.contains("Each connection"), "of one connection nothing");
}

#[test]
fn several_stand_side_by_side() {
    let sources: Vec<Source> = fixture::all().into_iter().map(source).collect();
    let parsed = holds_together(&render(&sources, &[], None));
    assert_eq!(parsed.count("article"), sources.len());
    assert!(parsed.text.contains("Settings that differ"));
    assert!(parsed.text.contains("target address"));
    let same = [source(fixture::closed()), source(fixture::closed())];
    assert!(render(&same, &[], None).contains("None that was recorded"));
}

#[test]
fn a_search_has_its_curve_and_every_rate() {
    let search = fixture::search();
    let rates = crate::search::rows(&search).len();
    let found = Source { name: "found.json".to_owned(), document: Document::Search(Box::new(search.clone())) };
    let page = render(std::slice::from_ref(&found), &[], None);
    let parsed = holds_together(&page);
    assert!(parsed.text.contains(&crate::search::sentence(&search)));
    assert!(
        data(&parsed)["charts"]["r1-c"]["series"][0]["points"].as_array().is_some_and(|points| points.len() == rates)
    );
    let mixed = holds_together(&render(&[found, source(fixture::closed())], &[], None));
    assert_eq!(mixed.count("article"), 2);
}

#[test]
fn a_study_says_what_was_found_and_every_trial() {
    let of = |study: &logbook::study::StudyDocument| {
        let document = Document::Study(Box::new(study.clone()));
        holds_together(&render(&[Source { name: "study.json".to_owned(), document }], &[], None))
    };
    let compared = fixture::comparison();
    let page = of(&compared);
    assert!(page.text.contains("B's p50 is ") && page.text.contains(" % higher ["), "{}", page.text);
    assert!(page.text.contains("Difference by percentile") && page.text.contains("Percentiles of every run"));
    assert_eq!(data(&page)["charts"]["r1-r"]["series"].as_array().map(Vec::len), Some(compared.trials.len()));
    let swept = of(&fixture::sweep());
    assert!(swept.text.contains("p50 over interval"));
    assert_eq!(data(&swept)["charts"]["r1-c"]["series"].as_array().map(Vec::len), Some(2));
}

#[test]
fn a_look_both_directions_and_the_wire_have_more_than_words() {
    let look = Source { name: "look.json".to_owned(), document: Document::Look(Box::new(fixture::look())) };
    let page = holds_together(&render(&[look], &[], None));
    let bars = data(&page)["charts"]["r1-y"]["series"][0]["points"].as_array().map(Vec::len);
    let answered = fixture::look().look.legs.iter().filter(|leg| leg.answers()).count();
    assert_eq!(bars, Some(answered));
    for told in ["shorter interval", "no program woken: the kernel answers by itself", "⚠ 1 warning"] {
        assert!(page.text.contains(told), "{told}: {}", page.text);
    }
    let apart = holds_together(&alone(fixture::one_way()));
    assert_eq!(data(&apart)["charts"]["r1-o"]["series"].as_array().map(Vec::len), Some(3), "there, back, both");
    for record in [fixture::verified(), fixture::contradicted()] {
        let wire = record.wire.clone().unwrap();
        let page = holds_together(&alone(record));
        for check in &wire.checks {
            assert!(page.text.contains(check.subject.name()), "{check:?}");
        }
        assert!(page.text.contains("On the wire") && page.text.contains(&wire.interface));
    }
}

#[test]
fn numbers_are_those_of_the_record() {
    let record = fixture::closed();
    let parsed = holds_together(&alone(record.clone()));
    let outcome = record.outcome.as_ref().unwrap();
    let data = data(&parsed);
    let points = data["charts"]["r1-p"]["series"][0]["points"].as_array().unwrap();
    for quantile in &outcome.response.quantiles {
        let Some(text) = number::quantile(quantile) else { continue };
        assert!(parsed.text.contains(&text) && parsed.text.contains(&number::interval(quantile).unwrap_or_default()));
        let value = quantile.value_ns.unwrap();
        let name = measure::unit::quantile_name(quantile.q);
        let words = format!("{name} {}", number::short_time(value.0 as f64).unwrap());
        assert!(
            points.iter().any(|point| point[2].as_str().is_some_and(|told| told.starts_with(&words))),
            "{words} can be read out"
        );
    }
    let values: Vec<&str> = parsed.all("data-v").collect();
    assert!(values.contains(&outcome.response.min_ns.unwrap().0.to_string().as_str()));
    for facts in [&record.ours, &record.theirs] {
        assert!(parsed.text.contains(facts.as_ref().unwrap().host.as_deref().unwrap()));
    }
}

#[test]
fn words_of_others_stay_words() {
    let mut record = fixture::closed();
    let evil = "</script><img src=x onerror=\"alert('1')\">\u{1b}[2J\u{202e}\0";
    record.target.host = Some(evil.to_owned());
    record.head.command = vec!["sonde".to_owned(), evil.to_owned()];
    record.ours.as_mut().unwrap().host = Some(evil.to_owned());
    record.ours.as_mut().unwrap().counters.insert(evil.to_owned(), 1);
    record.ended = logbook::record::Ended::PeerLost { reason: evil.to_owned() };
    let unread = [Unread { name: evil.to_owned(), why: evil.to_owned(), hint: evil.to_owned() }];
    let evil_source = || Source { name: evil.to_owned(), ..source(record.clone()) };
    for page in
        [render(&[evil_source()], &unread, None), render(&[evil_source(), source(fixture::icmp())], &unread, None)]
    {
        let parsed = holds_together(&page);
        assert_eq!(parsed.count("img"), 0);
        assert!(parsed.text.contains("<img src=x onerror"), "it is told as it is");
        assert_eq!(parsed.scripts.len(), 2);
        data(&parsed);
        assert!(!page.contains('\u{1b}') && !page.contains('\u{202e}') && !page.contains('\0'));
    }
}

#[test]
fn nothing_is_loaded_from_anywhere() {
    let page = alone(fixture::closed());
    assert!(page.contains("default-src 'none'"));
    for word in ["http:", "https:", "src=", "@import", "url(h", "//cdn", "fetch(", "import("] {
        assert!(!page.replace("http://www.w3.org/2000/svg", "").contains(word), "{word}");
    }
}

#[test]
fn what_could_not_be_read_is_listed_with_why() {
    let unread = [Unread {
        name: "broken.json".to_owned(),
        why: "broken.json: not JSON at line 1, column 2: key must be a string".to_owned(),
        hint: "the file may be cut short".to_owned(),
    }];
    let parsed = holds_together(&render(&[source(fixture::icmp())], &unread, None));
    assert!(parsed.text.contains("broken.json: not JSON at line 1") && parsed.text.contains("cut short"));
    assert!(holds_together(&render(&[], &unread, None)).text.contains("No measurement could be read"));
}

#[test]
fn a_record_has_a_heat_map_and_samples_a_finer_one() {
    let record = fixture::load();
    let mut old = record.clone();
    old.outcome.as_mut().unwrap().stretches = None;
    assert!(!alone(old).contains("r1-w"), "records were written without");
    assert!(alone(record.clone()).contains("Response over time</h3>"));
    let row = |n: u64| format!("{0},{0},{1},answered\n", n * 1_000_000, 20_000 + n);
    let rows = (0..1_000).map(row).collect::<Vec<_>>().concat();
    let grid = Grid::read(format!("intended_ns,sent_ns,response_ns,fate\n{rows}").as_bytes()).unwrap();
    let parsed = holds_together(&render(&[source(record)], &[], Some(&grid)));
    assert!(parsed.text.contains("Response over time, from samples"));
}

#[test_case(41, 1_600_000; "more than are told whole")]
#[test_case(1_000, 12_000_000; "a thousand")]
fn many_make_a_page_that_can_be_opened(count: usize, most: usize) {
    let record = fixture::closed();
    let one = |number: usize| {
        let mut record = record.clone();
        record.target.host = Some(format!("db{number}"));
        source(record)
    };
    let sources: Vec<Source> = (0..count).map(one).collect();
    let page = render(&sources, &[], None);
    assert!(page.len() < most, "{} bytes", page.len());
    let parsed = holds_together(&page);
    assert_eq!((parsed.count("article"), data(&parsed)["curves"].as_array().map(Vec::len)), (count, Some(count)));
    assert_eq!(parsed.text.matches("Machine 1").count() + parsed.text.matches("Machine 2").count(), 2, "each once");
}
