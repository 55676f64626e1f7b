//! The judge of a document: the world as its codes tell it, held against the world that was laid.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::rows::Ask;

/// The outcome of a command's run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fate {
    /// The cause that is there is said, or none where there is none.
    Right,
    /// It is said that the cause is not established.
    Undetermined,
    /// Nothing is said of it.
    Blind,
    /// Something is said that is not there, or a number is not true.
    Wrong,
}

/// Warnings of the method and of the machine, which are no claims about the world. Among them those of times in step with the schedule: they name no
/// cause, and clocks and idle processors of two hosts bring them about. With nothing in the world, and nothing beside, 4 of 30 runs of 600 requests
/// 2 to 10 ms apart had one (ranks correlated by 0.35 to 0.65, at 10, 12, 20 and 32 ms).
const NO_CLAIMS: [&str; 23] = [
    "rhythm",
    "handshake-is-not-the-application",
    "icmp-is-not-the-application",
    "idle-between",
    "mean-misleads",
    "stalled",
    "one-stream-one-cpu",
    "start-included",
    "too-short",
    "coarse-clock",
    "slow-clock-source",
    "too-few-for-quantile",
    "correlated",
    "behind-schedule",
    "rate-not-achieved",
    "ticks-missed",
    "disturbed",
    "not-settled",
    "no-stamps",
    "power-saving-governor",
    "no-report",
    "idle-restart",
    "one-cpu",
];

/// All that `document` claims, and true where it says that something is not established.
pub fn claims(document: &Value) -> (BTreeSet<String>, bool) {
    let mut said = BTreeSet::new();
    let mut open = false;
    let mut say = |word: &Value| match word.as_str() {
        Some("not-established" | "not-determined" | "not-shown" | "too-few-runs" | "unknown") => open = true,
        Some(word) => drop(said.insert(word.to_owned())),
        None => {}
    };
    // No measurement, for a reason that is told with what to try.
    if document.pointer("/error/hint").and_then(Value::as_str).is_some_and(|hint| hint.contains("path MTU")) {
        say(&"error-of-size".into());
    }
    let each = |at: &str| document.pointer(at).and_then(Value::as_array).into_iter().flatten();
    each("/look/judgement/findings").filter(|found| !is_of_threads(found)).for_each(|found| say(&found["cause"]));
    for (path, word) in [("/look/dark", "dark"), ("/look/change", "changed"), ("/look/periodic", "periodic")] {
        let found = document.pointer(path).filter(|found| !found.is_null());
        if found.is_some_and(|found| word != "changed" || !is_of_processors(&json!({ "kind": word, "change": found })))
        {
            say(&word.into());
        }
    }
    let warnings = each("/warnings").chain(each("/look/warnings"));
    for warning in warnings {
        let kind = warning["kind"].as_str().unwrap_or_default();
        match warning["by"].as_str() {
            // By whom is a claim of its own, and "unknown" that there is none.
            Some(by) if kind == "refused" => {
                say(&if by == "unknown" { by.into() } else { format!("refused-by-{by}").into() });
            }
            _ if NO_CLAIMS.contains(&kind) || is_of_processors(warning) => {}
            _ => say(&kind.into()),
        }
    }
    // Told beside the table, with the reason.
    let unasked = each("/look/legs").filter_map(|leg| leg["trouble"].as_str());
    for trouble in unasked.filter(|trouble| trouble.contains("first exchange over UDP")) {
        say(&if trouble.ends_with("answered instead") { "udp-elsewhere" } else { "udp-unanswered" }.into());
    }
    if each("/outcome/flows/groups").count() > 1 {
        say(&"groups".into());
    }
    if each("/outcome/flows/moved").count() > 0 {
        say(&"moved".into());
    }
    if each("/outcome/flows/losing").count() > 0 {
        say(&"losing".into());
    }
    if each("/outcome/hops/each").any(|flow| flow["circles"] == true) {
        say(&"circles".into());
    }
    if each("/look/addresses")
        .flat_map(ports)
        .any(|port| port["verdict"] == "reset" || port["service"]["answer"] == "reset")
    {
        say(&"reset".into());
    }
    say(document.pointer("/stream/detail/limit/limiter").unwrap_or(&Value::Null));
    for figure in each("/comparisons/0/figures") {
        let word = figure["compared"]["word"].as_str().unwrap_or_default();
        let differs = ["more", "less"].contains(&word);
        let of = figure["figure"].as_str().unwrap_or_default();
        say(&if differs { format!("{of}-{word}").into() } else { word.into() });
    }
    for cause in each("/explanation/causes") {
        say(if cause["doubt"].is_null() { &cause["cause"] } else { &Value::Null });
    }
    (said, open)
}

/// True of a difference between connections as threads of the peer make it, which is said along with paths and queues: each connection has a
/// thread that is woken on one processor or the other, in every world.
fn is_of_threads(finding: &Value) -> bool {
    const WAKE_UP_NS: f64 = 250_000.0;
    finding["cause"] == "flow" && finding["shift"]["value_ns"].as_f64().is_some_and(|shift| shift < WAKE_UP_NS)
}

/// True of another level by so little as processors bring about that sleep deeper, or less deep, than before. With nothing in the world, and nothing
/// beside, the median of 3 of those 30 runs moved: of 87 µs by 50, of 74 by 18, of 125 by 49.
fn is_of_processors(warning: &Value) -> bool {
    const DEEPER_NS: f64 = 100_000.0;
    let by = match warning["kind"].as_str() {
        Some("not-steady") => warning["shift_ns"].as_f64(),
        Some("changed") => levels(&warning["change"]),
        _ => None,
    };
    by.is_some_and(|by| by.abs() < DEEPER_NS)
}

/// Difference of a change's levels, nanoseconds.
fn levels(change: &Value) -> Option<f64> {
    Some(change["within_ns"].as_f64()? - change["before_ns"].as_f64()?)
}

fn ports(asked: &Value) -> impl Iterator<Item = &Value> {
    asked["ports"].as_array().into_iter().flatten()
}

/// Claims that the document itself puts down to a busy host, which may have brought them about.
fn spoiled(document: &Value) -> BTreeSet<&str> {
    let warnings = |at: &str| document.pointer(at).and_then(Value::as_array).into_iter().flatten();
    let busy = warnings("/warnings").chain(warnings("/look/warnings")).filter(|warning| warning["kind"] == "disturbed");
    busy.flat_map(|warning| warning["spoils"].as_array().into_iter().flatten().filter_map(Value::as_str)).collect()
}

/// The judgement of `document` as an answer to `ask`, with the reason where it is wrong.
pub fn judge(ask: &Ask, document: &Value) -> (Fate, String) {
    let (said, open) = claims(document);
    let spoiled = spoiled(document);
    let is_of = |list: &[&str], word: &String| list.contains(&word.as_str());
    let fine = |word: &&String| is_of(ask.right, word) || is_of(ask.fair, word) || spoiled.contains(word.as_str());
    let mut wrong: Vec<String> = said.iter().filter(|word| !fine(word)).cloned().collect();
    for (path, low, high) in ask.numbers {
        if let Some(value) =
            document.pointer(path).and_then(Value::as_f64).filter(|value| !(*low..=*high).contains(value))
        {
            wrong.push(format!("{path} = {value}"));
        }
    }
    let is_right = if ask.right.is_empty() { wrong.is_empty() } else { said.iter().any(|word| is_of(ask.right, word)) };
    let fate = match (wrong.is_empty(), is_right, open) {
        (false, ..) => Fate::Wrong,
        (_, true, _) => Fate::Right,
        (_, _, true) => Fate::Undetermined,
        _ => Fate::Blind,
    };
    (fate, wrong.join(", "))
}
