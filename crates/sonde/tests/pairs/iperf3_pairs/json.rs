//! Documents of `-J`: their keys, and whether their values agree with each other.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::iperf3_pairs::forms::fixture;

/// Every key with those above it; elements of an array have one place.
fn places(value: &Value, at: &str, all: &mut BTreeSet<String>) {
    match value {
        Value::Object(entries) => {
            for (key, value) in entries {
                let place = format!("{at}/{key}");
                places(value, &place, all);
                all.insert(place);
            }
        }
        Value::Array(values) => values.iter().for_each(|value| places(value, &format!("{at}[]"), all)),
        _ => {}
    }
}

fn of(text: &str) -> Result<BTreeSet<String>, String> {
    let document: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let mut all = BTreeSet::new();
    places(&document, "", &mut all);
    Ok(all)
}

/// Tests that a document has the keys of a fixture, all of them and no other.
pub fn same_keys(text: &str, model: &str) -> Result<(), String> {
    let (seen, model) = (of(text)?, of(&fixture(model))?);
    let (missing, more): (Vec<_>, Vec<_>) = (model.difference(&seen).collect(), seen.difference(&model).collect());
    if missing.is_empty() && more.is_empty() { Ok(()) } else { Err(format!("lacks {missing:?}, has {more:?}")) }
}

/// Tests that the numbers of a test that ended well agree. `exact`: both ends wait for messages on their way.
pub fn sound(text: &str, exact: bool) -> Result<(), String> {
    let document: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let (start, end) = (&document["start"]["test_start"], &document["end"]);
    let tcp = start["protocol"] == "TCP";
    let sums: &[(&str, &str)] = match start["bidir"].as_u64() {
        Some(1) => &[("sum_sent", "sum_received"), ("sum_sent_bidir_reverse", "sum_received_bidir_reverse")],
        _ => &[("sum_sent", "sum_received")],
    };
    for (sent, received) in sums {
        let bytes = |name: &str| end[name]["bytes"].as_u64().ok_or_else(|| format!("{name} has no bytes"));
        let (sent_bytes, received_bytes) = (bytes(sent)?, bytes(received)?);
        // A stream that is received is cut off where its receiver ends it.
        let whole = tcp && exact && end[sent]["sender"] == true && start["omit"] == 0;
        if sent_bytes == 0 || whole && sent_bytes != received_bytes {
            return Err(format!("{sent} {sent_bytes} bytes, {received} {received_bytes}"));
        }
        if tcp && start["omit"] == 0 && received_bytes > sent_bytes {
            return Err(format!("{received} {received_bytes} bytes of {sent_bytes}"));
        }
    }
    let asked = start["bytes"].as_u64().unwrap_or(0);
    let sent = end["sum_sent"]["bytes"].as_u64().unwrap_or(0);
    if asked > sent {
        return Err(format!("{asked} bytes were asked for, {sent} sent"));
    }
    intervals_add_up(&document, sent)
}

fn intervals_add_up(document: &Value, sent: u64) -> Result<(), String> {
    if document["end"]["sum_sent"]["sender"] != true || document["start"]["test_start"]["reverse"] == 1 {
        return Ok(());
    }
    let intervals = document["intervals"].as_array().ok_or("no intervals")?;
    let counted = intervals.iter().filter(|interval| interval["sum"]["omitted"] == false);
    let sum: u64 = counted.filter_map(|interval| interval["sum"]["bytes"].as_u64()).sum();
    if sum == sent { Ok(()) } else { Err(format!("the intervals have {sum} bytes, the end {sent}")) }
}

#[test]
fn keys_are_compared_both_ways() {
    let model = fixture("02-tcp.json");
    assert_eq!(same_keys(&model, "02-tcp.json"), Ok(()));
    assert_eq!(sound(&model, true), Ok(()));
    assert!(same_keys(&model.replace("rttvar", "rtt_var"), "02-tcp.json").unwrap_err().contains("rttvar"));
    assert!(sound(&model.replace("9754902528", "9754902527"), true).is_err());
}
