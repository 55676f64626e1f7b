//! The judge of a document: the world as its codes tell it, held against the world that was laid.

use std::collections::BTreeSet;

use serde_json::Value;

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

/// Warnings of the method and of the machine, which are no claims about the world.
const NO_CLAIMS: [&str; 22] = [
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

/// Claims that a machine which is busy, and says so, brings about by itself: times that change, connections on one CPU or another.
const OF_A_BUSY_MACHINE: [&str; 8] =
    ["changed", "not-steady", "rhythm", "flow", "groups", "sender-cpu", "receiver-cpu", "retransmitted"];

/// All that `document` claims, and true where it says that something is not established.
pub fn claims(document: &Value) -> (BTreeSet<String>, bool) {
    let mut said = BTreeSet::new();
    let mut open = false;
    let mut say = |word: &Value| match word.as_str() {
        Some("not-established" | "not-determined" | "not-shown" | "too-few-runs") => open = true,
        Some(word) => drop(said.insert(word.to_owned())),
        None => {}
    };
    let each = |at: &str| document.pointer(at).and_then(Value::as_array).into_iter().flatten();
    each("/look/judgement/findings").for_each(|found| say(&found["cause"]));
    for (path, word) in [("/look/dark", "dark"), ("/look/change", "changed"), ("/look/periodic", "periodic")] {
        if document.pointer(path).is_some_and(|found| !found.is_null()) {
            say(&word.into());
        }
    }
    let warnings = each("/warnings").chain(each("/look/warnings"));
    warnings
        .map(|warning| &warning["kind"])
        .filter(|kind| !kind.as_str().is_some_and(|kind| NO_CLAIMS.contains(&kind)))
        .for_each(&mut say);
    if each("/outcome/flows/groups").count() > 1 {
        say(&"groups".into());
    }
    if each("/outcome/flows/losing").count() > 0 {
        say(&"losing".into());
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

/// True where the document itself says that a host was busy.
fn is_busy(document: &Value) -> bool {
    let warnings = |at: &str| document.pointer(at).and_then(Value::as_array).into_iter().flatten();
    let trials = warnings("/trials").flat_map(|trial| trial["record"]["warnings"].as_array().into_iter().flatten());
    warnings("/warnings").chain(warnings("/look/warnings")).chain(trials).any(|warning| warning["kind"] == "disturbed")
}

/// The judgement of `document` as an answer to `ask`, with the reason where it is wrong.
pub fn judge(ask: &Ask, document: &Value) -> (Fate, String) {
    let (said, open) = claims(document);
    let busy = is_busy(document);
    let is_of = |list: &[&str], word: &String| list.contains(&word.as_str());
    let fine =
        |word: &&String| is_of(ask.right, word) || is_of(ask.fair, word) || (busy && is_of(&OF_A_BUSY_MACHINE, word));
    let mut wrong: Vec<String> = said.iter().filter(|word| !fine(word)).cloned().collect();
    for (path, low, high) in ask.numbers {
        if let Some(value) =
            document.pointer(path).and_then(Value::as_f64).filter(|value| !(*low..=*high).contains(value))
        {
            wrong.push(format!("{path} = {value}"));
        }
    }
    let is_right = if ask.right.is_empty() { wrong.is_empty() } else { said.iter().any(|word| is_of(ask.right, word)) };
    let fate = match (wrong.is_empty(), is_right, open || busy) {
        (false, ..) => Fate::Wrong,
        (_, true, _) => Fate::Right,
        (_, _, true) => Fate::Undetermined,
        _ => Fate::Blind,
    };
    (fate, wrong.join(", "))
}
