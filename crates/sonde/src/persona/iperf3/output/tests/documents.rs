//! Documents of the original come out again, to the byte, from their own numbers.

use protocol::iperf3::results::Output;

use crate::persona::iperf3::options::usage::{VERSION, system_info};
use crate::persona::iperf3::options::{self, Common};
use crate::persona::iperf3::output::document::{Whole, end, event, interval, start};
use crate::persona::iperf3::output::failure;
use crate::persona::iperf3::output::tests::fields::Facts;
use crate::persona::iperf3::run::telling::Telling;
use crate::persona::iperf3::transcript::{file, names};

/// Version and system are our own.
fn as_ours(text: &str) -> String {
    let begin = text.find("Linux vm ").unwrap();
    let length = text[begin..].find('"').unwrap();
    text.replace(&text[begin..begin + length], &system_info()).replace("iperf 3.21", VERSION)
}

fn is_new(text: &str) -> bool {
    text.contains("iperf 3.21")
}

/// Texts are the same to the byte; only a number of seventeen digits may differ in the last, which the original computes
/// from times that came as text.
fn assert_same(model: &str, seen: &str, name: &str) {
    let number = |line: &str| {
        let (key, value) = line.split_once(":\t")?;
        let digits = value.trim_end_matches(',').parse::<f64>().ok()?;
        (digits.fract() != 0.0).then(|| (key.to_owned(), digits))
    };
    for (place, (model, seen)) in model.lines().zip(seen.lines()).enumerate() {
        if let Some(((key, expected), (same, value))) = number(model).zip(number(seen))
            && (expected - value).abs() <= 2.0 * f64::EPSILON * expected.abs()
        {
            assert_eq!(same, key, "{name}: line {}", place + 1);
            continue;
        }
        assert_eq!(seen, model, "{name}: line {}", place + 1);
    }
    assert_eq!(seen.lines().count(), model.lines().count(), "{name}");
}

fn document(facts: &Facts, output: Option<&Output>) -> String {
    let whole = Whole {
        test: facts.test.as_ref(),
        intervals: &facts.intervals,
        summary: facts.summary.as_ref(),
        error: facts.error.as_deref(),
        server_output: output,
    };
    whole.value().document()
}

/// Output of the server, as it came over the control connection.
fn server_output(text: &str) -> Option<Output> {
    let json: serde_json::Value = serde_json::from_str(text).unwrap();
    if let Some(text) = json["server_output_text"].as_str() {
        return Some(Output::Text(text.to_owned()));
    }
    let (_, printed) = text.split_once("\"server_output_json\":\t")?;
    let printed = printed.strip_suffix("\n}\n").unwrap();
    // Without the blanks between its parts: none of them stands in a string.
    Some(Output::Json(printed.replace(['\t', '\n'], "").replace("}, {", "},{")))
}

#[test]
fn documents_are_those_of_the_original() {
    let mut count = 0;
    for name in names(".json") {
        let text = file(&name);
        if !is_new(&text) {
            continue;
        }
        let output = server_output(&text);
        let seen = document(&Facts::of(&text), output.as_ref());
        // Version and system in the server's own document stay as they are.
        let model = match text.split_once("\"server_output_json\"") {
            Some((ours, theirs)) => as_ours(ours) + "\"server_output_json\"" + theirs,
            None => as_ours(&text),
        };
        assert_same(&model, &seen, &name);
        count += 1;
    }
    assert!(count >= 14, "{count}");
}

#[test]
fn an_interrupted_run_has_what_it_came_to_and_why_it_ended() {
    let text = file("16-interrupt.txt");
    let (_, rest) = text.split_once("-J & P=$!").unwrap();
    let begin = rest.find("{\n").unwrap();
    let length = rest.find("\n}\n").unwrap() + 3 - begin;
    let document_text = &rest[begin..begin + length];
    assert_same(&as_ours(document_text), &document(&Facts::of(document_text), None), "16-interrupt");
}

/// Each run there, as lines and as one document behind them.
#[test]
fn events_are_those_of_the_original() {
    let text = file("12-json-stream.txt");
    let full = &text[text.find("{\n").unwrap()..];
    let full = &full[..full.find("\n}\n").unwrap() + 3];
    let facts = Facts::of(full);
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("{\"event\"")).collect();
    let begin = lines.iter().rposition(|line| line.contains("\"start\",")).unwrap();
    let test = facts.test.as_ref().unwrap();
    let mut seen = event("start", start(Some(test)));
    for slices in &facts.intervals {
        seen += &event("interval", interval(test, slices));
    }
    seen += &event("end", end(test, facts.summary.as_ref().unwrap()));
    let last = lines[begin..].iter().position(|line| line.contains("\"end\",")).unwrap();
    let model: String = lines[begin..=begin + last].iter().flat_map(|line| [line, "\n"]).collect();
    assert_same(&as_ours(&model), &seen, "12-json-stream");
    assert_same(&as_ours(full), &document(&facts, None), "12-json-stream, full");
}

fn common(form: &str) -> Common {
    options::parse(&["-s".to_owned(), form.to_owned()]).unwrap().common
}

#[test]
fn a_server_that_is_not_there_is_an_error_in_either_form() {
    let text = file("15-errors.txt");
    let said = failure::unconnected("Connection refused");
    assert!(text.contains(&failure::line(&said)));
    let begin = text.find("{\n").unwrap();
    let length = text.find("\n}\n").unwrap() + 3 - begin;
    assert_same(
        &as_ours(&text[begin..begin + length]),
        &Telling::new(&common("-J")).over(Some(&said), None),
        "15-errors",
    );
    let events = Telling::new(&common("--json-stream")).over(Some(&said), None);
    assert!(events.starts_with("{\"event\":\"error\",\"data\":\"unable to connect"));
    assert!(events.ends_with("{\"event\":\"end\",\"data\":{}}\n"));
}
