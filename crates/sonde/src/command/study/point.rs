//! A value of an axis put into a measuring command, in place of what was said of that axis.

use measure::study::range::{self, NoRange, Step, Values};
use measure::unit::Rate;

use crate::command::study::axis::{AXES, Axis};
use crate::command::study::words::{Said, Words};
use crate::command::throughput::words::BitRate;
use crate::command::value;
use crate::failure::Failure;

/// Options of an axis that a value of it does not replace: how long is measured, how many at once, and by which secret.
const STAYS: [&str; 6] = ["--time", "--count", "--burst", "--passphrase", "--stamp-key", "--irtt-key"];
/// The interval's value that is none.
const BACK_TO_BACK: &str = "0";

/// Options that say something of the instants at which requests are due: back to back there are none.
const OF_INSTANTS: [&str; 2] = ["--pace", "--burst"];

/// The axis and the text of its points in `AXIS=RANGE`.
///
/// # Errors
/// No `=`, and a name that is no axis.
pub fn over(text: &str) -> Result<(Axis, String), Failure> {
    let (name, range) = text.split_once('=').ok_or_else(|| {
        Failure::usage(format!("--over {text} has no range"))
            .hint("--over SETTING=RANGE, as in --over interval=1us..1s")
    })?;
    let axis = Axis::named(name.trim()).ok_or_else(|| {
        let name_of = |axis: &Axis| if axis.name == "carrier" { "protocol" } else { axis.name };
        let names: Vec<&str> = AXES.iter().map(name_of).chain(["rate", "cores"]).collect();
        Failure::usage(format!("unknown setting `{name}` in --over {text}"))
            .hint(format!("--over interval=1us..1s, or one of {}", names.join(", ")))
    })?;
    Ok((axis, range.to_owned()))
}

/// The type of the values of `axis` with this command: a rate is one of payload where streams are measured.
pub fn values(axis: &Axis, command: &str) -> Values {
    match (axis.values, command) {
        (Values::Rates, "throughput") => Values::BitRates,
        (values, _) => values,
    }
}

/// The points that `range` names.
///
/// # Errors
/// The part of it that names none.
pub fn steps(range: &str, values: Values) -> Result<Vec<Step>, NoRange> {
    range::points(range, values, &|text| number(text, values))
}

/// The number of a typed value, as [`Values::typed`] counts it.
fn number(text: &str, values: Values) -> Result<u64, String> {
    match values {
        Values::Times if text == BACK_TO_BACK => Ok(0),
        Values::Times => value::time(text).map(|time| time.0),
        Values::Sizes => value::size(text).map(|size| size.0),
        Values::Rates => value::rate(text).map(|rate| rate.0.get()),
        Values::BitRates => text.parse::<BitRate>().map(|rate| rate.0),
        Values::Counts => value::count(text),
        Values::Words => Err("is a word".to_owned()),
    }
}

/// The number of a step in the unit that is kept: nanoseconds, bytes, events or bits a second, or a count.
pub fn kept(step: &Step, values: Values) -> Option<f64> {
    let number = step.number?;
    match values {
        Values::Rates => number.try_into().ok().map(|rate| Rate(rate).as_per_second()),
        _ => Some(number as f64),
    }
}

/// `words` without what they say of `axis`, but for what stays beside any value of it.
pub fn without(axis: &Axis, words: &Words) -> Words {
    let mut left = words.clone();
    if axis.name != "address" {
        left.options.retain(|said| !axis.owns(&said.name) || STAYS.contains(&said.name.as_str()));
    }
    left
}

/// `words` with `value` on `axis`.
///
/// # Errors
/// An axis that the command does not have, and a word that is none of its own.
pub fn put(axis: &Axis, words: &Words, value: &str) -> Result<Words, Failure> {
    let mut put = without(axis, words);
    if let Some(option) = axis.option.or_else(|| axis.options.first().copied()).filter(|_| axis.name != "address")
        && !words.has(option)
    {
        return Err(missing(axis, words, option));
    }
    match (axis.name, axis.option, value) {
        ("address", ..) => put.host = Some(value.to_owned()),
        ("cores", ..) => {
            let last = value::count(value).ok().and_then(|count| count.checked_sub(1));
            let last = last.ok_or_else(|| Failure::usage(format!("cores={value}: is not a number of CPUs from 1")))?;
            put.say("--cpu", Some(format!("0-{last}")));
            put.say("--peer-cpu", Some(format!("0-{last}")));
        }
        ("interval", _, BACK_TO_BACK) => back_to_back(&mut put),
        ("direction", _, "forward") | ("nagle" | "discard", _, "off") => {}
        ("direction", _, "reverse" | "bidir") => put.say(&format!("--{value}"), None),
        ("nagle" | "discard", _, "on") => put.say(axis.options[0], None),
        (_, Some(option), _) => put.say(option, Some(value.to_owned())),
        (_, None, _) => {
            let there = if axis.name == "direction" { "forward, reverse and bidir" } else { "on and off" };
            return Err(Failure::usage(format!("{}={value}: there are {there}", axis.name)));
        }
    }
    Ok(put)
}

/// Takes away what has no meaning without instants: pacing and bursts, and a window of any number, in whose place one request waits
/// for the reply to the one before.
fn back_to_back(words: &mut Words) {
    let unbounded = |said: &Said| said.name == "--window" && said.value.as_deref() == Some("0");
    words.options.retain(|said| !OF_INSTANTS.contains(&said.name.as_str()) && !unbounded(said));
}

fn missing(axis: &Axis, words: &Words, option: &str) -> Failure {
    let others = ["rtt", "load", "throughput"].into_iter().filter(|command| {
        let other = Words { command: (*command).to_owned(), host: None, options: Vec::new() };
        other.has(option)
    });
    let others: Vec<&str> = others.collect();
    let what = format!("`{words}` has no axis {}: {} has no {option}", axis.name, words.command);
    Failure::usage(what).hint(format!(
        "begin the method with the command that has it ({}), as in --method {}",
        others.join(" or "),
        others.first().copied().unwrap_or("rtt")
    ))
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    fn put_into(axis: &str, words: &str, value: &str) -> Result<String, Failure> {
        let axis = Axis::named(axis).expect("an axis");
        put(&axis, &Words::read(words).unwrap(), value).map(|words| words.words().join(" "))
    }

    #[test_case("interval", "db1 --rate 5/s -t 2", "10ms", "rtt db1 --time 2 --every 10ms"; "how long stays")]
    #[test_case("interval", "ping db1", "0", "rtt db1 --icmp --size 56"; "back to back")]
    #[test_case("interval", "db1 --every 1ms --burst 4 --pace spin --window 0", "0", "rtt db1"; "back to back there are no instants")]
    #[test_case("rate", "load db1 --every 1ms", "5k/s", "load db1 --rate 5k/s"; "by its other word")]
    #[test_case("size", "db1 --request-size 9", "1kB", "rtt db1 --size 1kB"; "all of its options")]
    #[test_case("carrier", "db1 --udp", "icmp", "rtt db1 --protocol icmp"; "a word")]
    #[test_case("address", "db1 --port 9", "db2", "rtt db2 --port 9"; "the far side alone")]
    #[test_case("cores", "throughput db1 -P 4", "2", "throughput db1 --streams 4 --cpu 0-1 --peer-cpu 0-1"; "the first CPUs")]
    #[test_case("direction", "throughput db1 --reverse", "bidir", "throughput db1 --bidir"; "a switch")]
    #[test_case("direction", "throughput db1 --reverse", "forward", "throughput db1"; "no switch")]
    #[test_case("nagle", "db1", "on", "rtt db1 --nagle"; "on")]
    fn a_value_takes_the_place_of_what_was_said(axis: &str, words: &str, value: &str, expected: &str) {
        assert_eq!(put_into(axis, words, value).unwrap(), expected);
    }

    #[test_case("streams", "db1", "2", "`rtt db1` has no axis streams"; "another command's")]
    #[test_case("reply-every", "throughput db1", "2", "has no axis reply-every"; "of a load")]
    #[test_case("direction", "throughput db1", "up", "forward, reverse and bidir"; "no direction")]
    #[test_case("cores", "db1", "0", "not a number of CPUs"; "no core")]
    fn what_a_command_does_not_have_is_refused(axis: &str, words: &str, value: &str, said: &str) {
        let failure = put_into(axis, words, value).unwrap_err();
        assert!(failure.told.what.contains(said), "{}", failure.told.what);
    }

    #[test]
    fn an_axis_is_named_before_its_range() {
        let (axis, range) = over("interval=1us..1s").unwrap();
        assert_eq!((axis.name, range.as_str()), ("interval", "1us..1s"));
        assert!(over("interval").is_err());
        assert!(over("colour=red").unwrap_err().told.hint.unwrap().contains("congestion"));
    }

    /// Every axis can be swept: it has an option of its own, or is one of those that are put in another way.
    #[test]
    fn every_axis_takes_a_value() {
        for axis in AXES {
            let command = ["rtt", "load", "throughput"].into_iter().find(|command| {
                let words = Words { command: (*command).to_owned(), host: None, options: Vec::new() };
                axis.option.or(axis.options.first().copied()).is_some_and(|option| words.has(option))
            });
            let words = Words::read(command.expect("a command that has it")).unwrap();
            let value = match axis.name {
                "direction" => "reverse",
                "nagle" | "discard" => "on",
                _ => "1",
            };
            assert!(put(&axis, &words, value).is_ok(), "{}", axis.name);
        }
    }
}
