//! Causes of a round trip: what each is worth and the switch that shows it, what remains, and what it rests on.

mod evidence;

use logbook::study::StudyDocument;
use measure::comparison::Interval;
use measure::unit::Nanos;
use measure::why::{BUSY, Cause, Doubt, Examined, Explanation, PROMPT_NS};

use super::incomplete;
use crate::layout::{INDENT, Page, Piece, Tone};
use crate::number;

/// Where text behind a label starts.
const LABEL: usize = 25;

/// What was asked.
pub struct Asked<'a> {
    /// The interval at which causes were looked for.
    pub interval: Nanos,
    /// The words of what was looked at.
    pub method: &'a [String],
    /// The causes that have a switch.
    pub switches: &'a [Cause],
}

/// The question in words, with what was measured where something was.
pub fn question(study: &StudyDocument, interval: Nanos) -> String {
    let measured = study.explanation.as_ref().and_then(|found| found.measured);
    let took = measured.and_then(|measured| number::time(measured.value)).unwrap_or_else(|| "so long".to_owned());
    format!("why does it take {took}, at {interval}?")
}

/// The screen for causes.
pub fn render(page: &mut Page, study: &StudyDocument, asked: &Asked<'_>) {
    let found = study.explanation.as_ref();
    page.line(0, &[Piece::new(question(study, asked.interval), Tone::Strong)]);
    page.paragraph(INDENT, &Piece::default(), INDENT, &asked.method.join(" "));
    page.gap();
    incomplete(page, study);
    if let Some(found) = found {
        causes(page, found);
        doubts(page, found);
    } else {
        page.paragraph(
            INDENT,
            &Piece::default(),
            INDENT,
            "no causes were looked for yet: it was written while it went on",
        );
    }
    page.gap();
    evidence::intervals(page, study);
    evidence::corners(page, study, asked);
    page.gap();
    let blocks = number::count(study.blocks.into(), "block", "blocks");
    let how = format!(
        "medians of trials in {blocks} of random order, each trial a process of its own; intervals by signed ranks over the blocks, each \
         of 95 % by itself; a cause is named where its switch shows it with all causes judged together (Holm, 5 %) and it is worth {} \
         of what was measured",
        number::percent(measure::why::SHARE)
    );
    page.paragraph(INDENT, &Piece::new("how", Tone::Faint), INDENT + 5, &how);
}

/// The causes that are named, and what remains.
fn causes(page: &mut Page, found: &Explanation) {
    let head = ["", "takes", "95 % interval", "share", "shown by"];
    let mut rows = vec![head.map(|cell| Piece::new(cell, Tone::Faint)).to_vec()];
    let named = found.causes.iter().filter(|cause| cause.is_established());
    rows.extend(named.clone().map(row));
    let rest = |interval: Option<Interval>| {
        let share = interval.zip(found.measured).map(|(rest, measured)| percent(rest.value / measured.value));
        [
            interval.map_or_else(absent, |rest| time(rest.value)),
            ends(interval.as_ref()),
            share.unwrap_or_else(absent),
            String::new(),
        ]
    };
    rows.push(with_name(Piece::new("unexplained", Tone::Strong), rest(found.unexplained)));
    rows.push(with_name(Piece::new("measured (p50)", Tone::Faint), rest(found.measured)));
    page.table(&rows);
    page.gap();
    for cause in named.clone() {
        page.paragraph(INDENT, &Piece::new(name(cause.cause), Tone::Strong), LABEL, &told(cause));
    }
    if named.count() == 0 {
        page.paragraph(
            INDENT,
            &Piece::new("no cause", Tone::Strong),
            LABEL,
            "none was established: what follows says why not",
        );
    }
    if let Some(floor) = found.floor.and_then(|floor| number::time(floor.value)) {
        let told = format!(
            "{floor}: back to back with every switch moved; it is part of the unexplained, and holds the path, both kernels and the work itself"
        );
        page.paragraph(INDENT, &Piece::new("at its best", Tone::Faint), LABEL, &told);
    }
}

fn with_name(name: Piece, cells: [String; 4]) -> Vec<Piece> {
    std::iter::once(name).chain(cells.into_iter().map(Piece::from)).collect()
}

fn row(cause: &Examined) -> Vec<Piece> {
    let takes = cause.takes.map_or_else(absent, |takes| time(takes.value));
    let share = cause.share.map_or_else(absent, |share| percent(share.value));
    with_name(Piece::new(name(cause.cause), Tone::Strong), [takes, ends(cause.takes.as_ref()), share, switch(cause)])
}

/// A share to a whole percent.
fn percent(share: f64) -> String {
    let sign = if share < 0.0 { "−" } else { "" };
    format!("{sign}{:.0} %", share.abs() * 100.0)
}

fn absent() -> String {
    "–".to_owned()
}

fn time(ns: f64) -> String {
    number::time(ns).unwrap_or_else(absent)
}

fn ends(interval: Option<&Interval>) -> String {
    let ends = interval.and_then(|interval| Some((interval.low?, interval.high?)));
    ends.map_or_else(absent, |(low, high)| format!("{} … {}", time(low), time(high)))
}

/// What a cause is called.
pub fn name(cause: Cause) -> &'static str {
    match cause {
        Cause::SleepPacing => "sleep pacing",
        Cause::OurWakeUp => "our wake-up",
        Cause::PeerWakeUp => "the peer's wake-up",
        Cause::ColdPath => "the interval itself",
        Cause::PeerHolds => "the peer holds replies",
        Cause::PeerCpuBusy => "the peer's CPU is busy",
    }
}

/// The switch that shows it.
fn switch(cause: &Examined) -> String {
    match cause.cause {
        Cause::SleepPacing => "--pace spin".to_owned(),
        Cause::OurWakeUp => "--wait spin".to_owned(),
        Cause::PeerWakeUp => "--peer-wait spin".to_owned(),
        Cause::ColdPath => "no --every".to_owned(),
        Cause::PeerHolds => "none here".to_owned(),
        Cause::PeerCpuBusy => cause.cpu.map_or_else(absent, |cpu| format!("--peer-cpu {cpu}")),
    }
}

/// What a named cause is.
fn told(cause: &Examined) -> String {
    match cause.cause {
        Cause::SleepPacing => "this end sleeps until a request is due: its CPU goes idle, and is woken late and cold".to_owned(),
        Cause::OurWakeUp => "this end sleeps until the reply is there, and the kernel has to wake it".to_owned(),
        Cause::PeerWakeUp => "the peer's program sleeps until a request is there, and its kernel has to wake it".to_owned(),
        Cause::ColdPath => {
            "with every switch moved an exchange now and then still takes longer than one after the other: caches and clocks of CPUs \
             go cold between them, links save power"
                .to_owned()
        }
        Cause::PeerHolds => {
            "the peer's program keeps each reply that long, by its own kernel's stamps, also back to back: no switch on this side \
             changes it"
                .to_owned()
        }
        Cause::PeerCpuBusy => {
            let waited = cause.waited.map_or(String::new(), |waited| {
                format!(": its threads were ready and waited for it {} of the time", number::percent(waited))
            });
            format!("others run there{waited}; on another CPU it is faster by that much, which is part of the causes above and not added to them")
        }
    }
}

/// The causes that are not named, and why.
fn doubts(page: &mut Page, found: &Explanation) {
    let not_named: Vec<&Examined> = found.causes.iter().filter(|cause| !cause.is_established()).collect();
    if not_named.is_empty() {
        return;
    }
    page.gap();
    page.line(0, &[Piece::new("not established", Tone::Strong)]);
    for cause in not_named {
        page.paragraph(INDENT, &Piece::from(name(cause.cause)), LABEL, &doubt(cause, found.fewest_blocks));
    }
}

/// Blocks that have an interval at all.
const LEAST: u32 = 6;

/// `fewest`: blocks in which one of so many causes can be shown.
fn doubt(cause: &Examined, fewest: Option<u32>) -> String {
    let takes = cause.takes.map_or(String::new(), |takes| match ends(Some(&takes)).as_str() {
        "–" => format!(": {}", time(takes.value)),
        ends => format!(": {} [{ends}]", time(takes.value)),
    });
    let switch = switch(cause);
    match cause.doubt {
        Some(Doubt::NotMeasured) => "not measured: nothing to move here, or nobody who tells".to_owned(),
        Some(Doubt::TooFewBlocks) => {
            let needed = fewest.filter(|_| cause.cause.has_switch()).unwrap_or(LEAST);
            format!("too few blocks to tell{takes}; it takes {needed} (--blocks)")
        }
        Some(Doubt::NotShown) => match cause.takes.and_then(|takes| takes.low) {
            Some(low) if low > 0.0 => format!("{switch} shows it by itself, and not as one of several{takes}"),
            _ => format!("{switch} shows nothing{takes}"),
        },
        Some(Doubt::Small) => format!("less than {}{takes}", number::percent(measure::why::SHARE)),
        Some(Doubt::AsAnyProgram) => {
            format!("no more than any program needs, which is {} at most{takes}", time(PROMPT_NS))
        }
        Some(Doubt::NotBusy) => {
            let waited = cause.waited.map_or_else(absent, number::percent);
            format!("its threads waited for it {waited} of the time, which is less than {}", number::percent(BUSY))
        }
        Some(Doubt::NoOtherCpu) => {
            let waited = cause.waited.map_or_else(absent, number::percent);
            format!(
                "its threads waited for it {waited} of the time, and no other CPU is to be had there that is less busy"
            )
        }
        None => String::new(),
    }
}

#[cfg(test)]
mod tests;
