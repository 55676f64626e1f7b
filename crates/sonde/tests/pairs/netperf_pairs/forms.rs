//! Comparison of forms where netperf's output follows rules of its own: interim results come as often as time allows, a
//! confidence that was missed is told, and the columns of `-O` are as wide as their values.

use std::net::IpAddr;

use testbed::form::{columns, differences, same_line};

/// Parts of an output; those that come as they like apart from the rest.
#[derive(Debug, Default)]
struct Parts {
    /// Each interim result.
    interims: Vec<String>,
    /// The lines that a missed confidence is told by, with the empty one behind them.
    missed: String,
    /// All else.
    rest: String,
}

impl Parts {
    fn of(text: &str) -> Self {
        let mut parts = Self::default();
        let mut lines = text.split_inclusive('\n').peekable();
        while let Some(line) = lines.next() {
            if line.starts_with("!!!") {
                parts.missed.push_str(line);
                if lines.peek() == Some(&"\n") {
                    parts.missed.push_str(lines.next().unwrap_or_default());
                }
            } else if line.starts_with("NETPERF_INTERIM_RESULT[") {
                let mut four = line.to_owned();
                four.extend((0..3).map_while(|_| lines.next_if(|line| line.starts_with("NETPERF_"))));
                parts.interims.push(four);
            } else if line.starts_with("Interim result:") || is_interim_csv(line) {
                parts.interims.push(line.to_owned());
            } else {
                parts.rest.push_str(line);
            }
        }
        parts
    }
}

/// Rate, unit, seconds and the instant at which they ended.
fn is_interim_csv(line: &str) -> bool {
    let cells: Vec<&str> = line.trim_end().split(',').collect();
    let [_, unit, _, ending] = cells[..] else { return false };
    unit.ends_with("/s") && ending.parse().is_ok_and(|ending: f64| ending > 1e9)
}

/// Layout of an output's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// In lines of their own form.
    Lines,
    /// In the columns of `-O`, in blocks, under four lines of headings.
    Columns,
}

/// Returns true where there are interim results.
pub fn has_interims(text: &str) -> bool {
    !Parts::of(text).interims.is_empty()
}

/// The text without interim results.
pub fn without_interims(text: &str) -> String {
    Parts::of(text).rest
}

/// The text without durations, which a build without a histogram does not tell.
pub fn without_histogram(text: &str) -> String {
    let Some((before, histogram)) = text.split_once("\nHistogram of ") else { return text.to_owned() };
    // Two empty lines stand in front of that of a stream over TCP.
    let title = histogram.lines().next().unwrap_or_default();
    let before = if title.ends_with("call.") { before.strip_suffix('\n').unwrap_or(before) } else { before };
    let after = histogram.split_once("HIST_TOTAL:").and_then(|(_, after)| after.split_once('\n'));
    format!("{before}{}", after.map_or("", |(_, after)| after))
}

/// All that differs in form between `model` and `seen`. The command line is not compared: it has another port; nor is the
/// address in a banner, which the original leaves empty where it is longer than seven characters, by mistake.
pub fn compared(model: &str, seen: &str, layout: Layout) -> Vec<String> {
    let [model, seen] = [model, seen].map(|text| Parts::of(&without_addresses(&without_command(text))));
    let mut wrong = interims(&model.interims, &seen.interims);
    if !model.missed.is_empty() && !seen.missed.is_empty() {
        wrong.extend(differences(&model.missed, &seen.missed).iter().map(|found| format!("what was missed: {found}")));
    }
    match layout {
        Layout::Lines => wrong.extend(differences(&model.rest, &seen.rest).iter().map(ToString::to_string)),
        Layout::Columns => wrong.extend(in_columns(&model.rest, &seen.rest)),
    }
    wrong
}

/// The text with nothing in the parentheses of a banner that hold an address.
fn without_addresses(text: &str) -> String {
    let banner = |line: &str| {
        let mut pieces = line.split('(').map(str::to_owned).collect::<Vec<_>>();
        for piece in pieces.iter_mut().skip(1) {
            if let Some((inside, behind)) = piece.split_once(')')
                && inside.parse::<IpAddr>().is_ok()
            {
                *piece = format!("){behind}");
            }
        }
        pieces.join("(")
    };
    let line = |line: &str| if line.contains(" TEST from ") { banner(line) } else { line.to_owned() };
    text.split_inclusive('\n').map(line).collect()
}

/// The text with the program's own command line cut to its name. In columns it stands last, and as wide as it is.
fn without_command(text: &str) -> String {
    let Some((before, rest)) = text.split_once("\"netperf ") else { return text.to_owned() };
    let Some((command, after)) = rest.split_once('"') else { return text.to_owned() };
    // Its own column is that much narrower, in each of its lines.
    let cut = command.chars().count() + 1;
    let Some(block) = before.rfind("\n\n").filter(|_| before.contains("Command ")) else {
        return format!("{before}\"netperf\"{after}");
    };
    let (head, lines) = before.split_at(block + 2);
    let shorter = |line: &str| {
        let line = line.trim_end_matches('\n');
        format!("{}\n", line.get(..line.len().saturating_sub(cut)).unwrap_or_default())
    };
    let whole: Vec<&str> = lines.split_inclusive('\n').collect();
    let (value, headings) = whole.split_last().unwrap_or((&"", &[]));
    format!("{head}{}{value}\"netperf\"{after}", headings.iter().map(|line| shorter(line)).collect::<String>())
}

fn interims(model: &[String], seen: &[String]) -> Vec<String> {
    let Some(first) = model.first() else {
        return seen
            .first()
            .map(|line| format!("an interim result that is not in the model: {line}"))
            .into_iter()
            .collect();
    };
    if seen.is_empty() {
        return vec!["no interim result".to_owned()];
    }
    let of = |text: &String| {
        differences(first, text).iter().map(|found| format!("interim result: {found}")).collect::<Vec<_>>()
    };
    seen.iter().flat_map(of).collect()
}

/// Lines of headings above a line of values.
const HEADINGS: usize = 4;

/// Banner, blocks in columns, and what follows them.
fn in_columns(model: &str, seen: &str) -> Vec<String> {
    let split = |text| str::split_inclusive(text, '\n').collect::<Vec<_>>();
    let (models, lines) = (split(model), split(seen));
    let mut wrong = Vec::new();
    let mut at = 0;
    // The banner, where there is one.
    if models.first().is_some_and(|line| line.contains(" TEST from ")) {
        wrong.extend(same_line(models[0], lines.first().copied().unwrap_or_default()).err());
        at = 1;
    }
    loop {
        let block = |lines: &[&str]| -> Result<Vec<columns::Column>, String> {
            let block = lines.get(at..=at + HEADINGS).ok_or("a block of five lines is not there")?;
            if !block.iter().all(|line| line.ends_with('\n')) {
                return Err("a line is not ended".to_owned());
            }
            columns::columns(&block.iter().map(|line| line.trim_end_matches('\n')).collect::<Vec<_>>())
        };
        match (block(&models), block(&lines)) {
            (Ok(model), Ok(seen)) => wrong.extend(same_columns(&model, &seen)),
            (Err(what), _) => wrong.push(format!("the model at line {}: {what}", at + 1)),
            (_, Err(what)) => wrong.push(format!("line {}: {what}", at + 1)),
        }
        at += HEADINGS + 1;
        // Another block follows behind an empty line; a histogram does so too, and is of another form.
        let more = |lines: &[&str]| {
            lines.get(at) == Some(&"\n") && lines.get(at + 1).is_some_and(|line| !line.starts_with("Histogram"))
        };
        if !wrong.is_empty() || !more(&models) || !more(&lines) {
            break;
        }
        at += 1;
    }
    let rest = |lines: &[&str]| lines.get(at..).unwrap_or_default().concat();
    wrong.extend(differences(&rest(&models), &rest(&lines)).iter().map(|found| format!("behind line {at}: {found}")));
    wrong
}

fn same_columns(model: &[columns::Column], seen: &[columns::Column]) -> Vec<String> {
    if model.len() != seen.len() {
        return vec![format!("{} columns, not {}", seen.len(), model.len())];
    }
    let pairs = model.iter().zip(seen);
    let wrong = pairs.filter_map(|(model, seen)| {
        if model.headings != seen.headings {
            return Some(format!("headings {:?}, not {:?}", seen.headings, model.headings));
        }
        same_line(&model.value, &seen.value).err().map(|what| format!("{:?}: {what}", model.headings))
    });
    wrong.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use Layout::{Columns, Lines};

    fn fixture(name: &str) -> String {
        crate::netperf_pairs::transcripts::fixture(name).stdout
    }

    #[test]
    fn interims_come_as_often_as_they_like_in_one_form() {
        for name in ["27_demo_rr", "29_demo_stream_neg_keyval", "30_demo_csv"] {
            let model = fixture(name);
            let interims = Parts::of(&model).interims;
            assert!(interims.len() > 1, "{name}");
            let one_more = model.replacen(&interims[0], &interims[0].repeat(2), 1);
            assert_eq!(compared(&model, &one_more, Lines), [""; 0], "{name}");
            // A decimal more in the last one.
            let last = interims.last().unwrap();
            let changed = model.replace(last.as_str(), &format!("{}0\n", last.trim_end()));
            assert!(!compared(&model, &changed, Lines).is_empty(), "{name}");
            let none = interims.iter().fold(model.clone(), |text, interim| text.replacen(interim.as_str(), "", 1));
            assert_eq!(compared(&model, &none, Lines), ["no interim result"], "{name}");
            assert_eq!(compared(&none, &model, Lines).len(), 1, "{name}");
        }
    }

    #[test]
    fn a_confidence_may_be_missed_or_not_but_is_told_in_one_form() {
        let missed = fixture("24_tcp_rr_confidence");
        let told = Parts::of(&missed).missed;
        let reached = missed.replace(&told, "");
        assert_ne!(missed, reached);
        assert_eq!(compared(&missed, &reached, Lines), [""; 0]);
        assert_eq!(compared(&reached, &missed, Lines), [""; 0]);
        let other = missed.replace("59.990%", "59.99%");
        assert_eq!(compared(&missed, &other, Lines).len(), 1);
        assert!(!compared(&missed, &missed.replace("%\n\nLocal", "%\nLocal"), Lines).is_empty());
    }

    #[test]
    fn columns_follow_their_values() {
        let model = fixture("37_human_blocks");
        assert_eq!(compared(&model, &model, Columns), [""; 0]);
        // Wider than its headings, and all lines with it.
        let wide = fixture("42_human_P0");
        assert!(!compared(&model, &wide, Columns).is_empty());
        assert!(!compared(&model, &model.replace("112513.51", "112513.5 "), Columns).is_empty());
        assert!(!compared(&model, &model.replace("112513.51  ", "112513.51 "), Columns).is_empty());
        assert!(!compared(&model, &model.replace("Percentile", "Percentage"), Columns).is_empty());
        assert!(!compared(&model, &model.replacen("\n\n", "\n", 1), Columns).is_empty());
        let all = fixture("38_human_all");
        assert_eq!(compared(&all, &all, Columns), [""; 0]);
        assert!(!compared(&all, &all.replacen("-1.00  ", "-1.000 ", 1), Columns).is_empty());
    }

    #[test]
    fn a_banner_may_hold_an_address_and_nothing_else() {
        let model = fixture("02_tcp_rr");
        assert_eq!(compared(&model, &model.replace("localhost ()", "localhost (127.0.0.1)"), Lines), [""; 0]);
        assert_eq!(compared(&model, &model.replace("localhost ()", "localhost (::1)"), Lines), [""; 0]);
        for other in ["localhost (127)", "localhost ( )", "localhost", "localhost (somewhere)"] {
            assert_eq!(compared(&model, &model.replace("localhost ()", other), Lines).len(), 1, "{other}");
        }
    }

    #[test]
    fn a_histogram_may_stand_behind_columns() {
        let model = fixture("seed000_4");
        assert_eq!(compared(&model, &model, Columns), [""; 0]);
        assert!(!compared(&model, &model.replace("HIST_TOTAL:      ", "HIST_TOTAL:     "), Columns).is_empty());
    }
}
