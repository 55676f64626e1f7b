//! Causes of a round trip: the answer, the effect and verdict of each, what remains, and the evidence.

mod evidence;

use logbook::study::StudyDocument;
use measure::comparison::Interval;
use measure::unit::Nanos;
use measure::why::{BUSY, Cause, Doubt, Examined, Explanation, PROMPT_NS, SHARE};

use super::{busy, failed, incomplete};
use crate::layout::{INDENT, Page, Piece, Tone};
use crate::number::{self, absent};

/// The request.
pub struct Asked<'a> {
    /// The interval at which causes were looked for.
    pub interval: Nanos,
    /// The words of what was looked at.
    pub method: &'a [String],
    /// The causes that have a switch.
    pub switches: &'a [Cause],
}

/// The answer: what was measured, and the shares of the causes that are established.
pub fn answer(study: &StudyDocument, interval: Nanos) -> String {
    let missing = super::missing(study);
    let Some(found) = &study.explanation else { return format!("Causes are not judged yet{missing}") };
    let Some(measured) = found.measured.and_then(|measured| number::time(measured.value)) else {
        return format!("No round trip was measured at one request per {interval}{missing}");
    };
    let mut named: Vec<&Examined> = found.causes.iter().filter(|cause| cause.is_established()).collect();
    // The peer's busy CPU is part of its wake-up: its share does not add to the others.
    if named.iter().any(|cause| cause.cause.adds()) {
        named.retain(|cause| cause.cause.adds());
    }
    let share = |cause: &Examined| cause.share.map_or(0.0, |share| share.value);
    named.sort_by(|one, other| share(other).total_cmp(&share(one)));
    let causes: Vec<String> = named
        .into_iter()
        .enumerate()
        .map(|(place, cause)| {
            let is = if place == 0 { " is" } else { "" };
            let the = if cause.cause == Cause::SleepPacing { "" } else { "the " };
            format!("{}{is} {the}{}", percent(share(cause)), name(cause.cause))
        })
        .collect();
    let causes = if causes.is_empty() { "no cause established".to_owned() } else { causes.join(", ") };
    format!("{measured} (p50) at one request per {interval}: {causes}{missing}")
}

/// The screen for causes.
pub fn render(page: &mut Page, study: &StudyDocument, asked: &Asked<'_>) {
    let found = study.explanation.as_ref();
    page.answer(&answer(study, asked.interval));
    page.paragraph(INDENT, &Piece::default(), INDENT, &asked.method.join(" "));
    page.gap();
    if let Some(found) = found {
        causes(page, found);
    }
    if page.style().verbose {
        page.gap();
        evidence::intervals(page, study);
        evidence::corners(page, study, asked);
        page.gap();
        page.paragraph(INDENT, &Piece::new("test", Tone::Faint), INDENT + 6, &test(study));
    }
    page.gap();
    incomplete(page, study, "");
    failed(page, study);
    busy(page, study);
    let few = found.filter(|found| found.causes.iter().any(|cause| cause.doubt == Some(Doubt::TooFewBlocks)));
    if let Some(found) = few {
        let needed = found.fewest_blocks.unwrap_or(LEAST);
        let action = if study.blocks < needed { format!("--blocks {needed}") } else { "raise --budget".to_owned() };
        page.warning(&format!("Too few complete blocks to establish a cause: it takes {needed} → {action}"));
    }
}

fn test(study: &StudyDocument) -> String {
    format!(
        "medians of trials in {} of random order, one process per trial; intervals by signed ranks over the blocks, each of 95 % by itself; \
         a cause is established where its switch shows it with all causes judged together (Holm, 5 %) and its share is at least {}",
        number::count(study.blocks.into(), "block", "blocks"),
        number::percent(SHARE)
    )
}

/// Every cause with its effect and verdict, and what is left.
fn causes(page: &mut Page, found: &Explanation) {
    let mut rows = vec![HEAD.map(|cell| Piece::new(cell, Tone::Faint)).to_vec()];
    let (named, others): (Vec<&Examined>, Vec<&Examined>) =
        found.causes.iter().partition(|cause| cause.is_established());
    rows.extend(named.iter().chain(&others).map(|cause| row(cause)));
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
    let say = |page: &mut Page, text: &str| page.paragraph(INDENT, &Piece::default(), INDENT, text);
    say(page, "effect: time that the switch saves (below 0: costs)");
    let alone = |cause: &&&Examined| {
        cause.doubt == Some(Doubt::NotShown) && cause.takes.and_then(|takes| takes.low).is_some_and(|low| low > 0.0)
    };
    if others.iter().any(|cause| alone(&cause)) {
        say(page, "Each interval is of one cause by itself; the verdict allows for all causes together.");
    }
    if let Some(floor) = found.floor.and_then(|floor| number::time(floor.value)) {
        // Where CPUs lack, spinning takes them from whoever is waited for.
        let better = found.floor.zip(found.measured).is_none_or(|(floor, measured)| floor.value < measured.value);
        let text = if better {
            format!("Best case {floor}: no pause, every wait spinning.")
        } else {
            format!("Without pause and with every wait spinning it took {floor}, which is not less.")
        };
        say(page, &text);
    }
    page.gap();
    for cause in named {
        page.paragraph(INDENT, &Piece::new(format!("{}:", name(cause.cause)), Tone::Strong), INDENT * 2, &told(cause));
    }
    if page.style().verbose {
        for cause in others {
            page.paragraph(INDENT, &Piece::from(format!("{}:", name(cause.cause))), INDENT * 2, &doubt(cause));
        }
    }
}

fn with_name(name: Piece, cells: [String; 4]) -> Vec<Piece> {
    std::iter::once(name).chain(cells.into_iter().map(Piece::from)).collect()
}

fn row(cause: &Examined) -> Vec<Piece> {
    let tone = if cause.is_established() { Tone::Strong } else { Tone::Plain };
    with_name(Piece::new(name(cause.cause), tone), cells(cause))
}

/// The heads of a cause's name and its cells.
pub(crate) const HEAD: [&str; 5] = ["possible cause", "effect", "95 % interval", "share", "verdict"];

/// Effect, interval, share and verdict of a cause.
pub(crate) fn cells(cause: &Examined) -> [String; 4] {
    let takes = cause.takes.map_or_else(absent, |takes| time(takes.value));
    // A saving of more than all that was measured is noise, and no share of it.
    let share = cause.share.filter(|share| cause.is_established() || share.value.abs() <= 1.0);
    let share = share.map_or_else(absent, |share| percent(share.value));
    [takes, ends(cause.takes.as_ref()), share, verdict(cause)]
}

/// The verdict in as few words as a column has room for.
fn verdict(cause: &Examined) -> String {
    match cause.doubt {
        None => "established".to_owned(),
        Some(Doubt::NotMeasured) => "not measured".to_owned(),
        Some(Doubt::TooFewBlocks) => "too few blocks".to_owned(),
        Some(Doubt::NotShown) => match cause.takes.and_then(|takes| takes.high) {
            Some(high) if high < 0.0 && cause.cause != Cause::ColdPath => "did not help".to_owned(),
            _ => "not established".to_owned(),
        },
        Some(Doubt::BeyondMeasured) => "more than all".to_owned(),
        Some(Doubt::Small) => format!("below {}", number::percent(SHARE)),
        Some(Doubt::AsAnyProgram) if is_prompt(cause) => format!("normal (≤ {})", prompt()),
        Some(Doubt::AsAnyProgram) => "not established".to_owned(),
        Some(Doubt::NotBusy) => "CPU not busy".to_owned(),
        Some(Doubt::NoOtherCpu) => "no better CPU".to_owned(),
    }
}

/// A share to a whole percent.
fn percent(share: f64) -> String {
    let sign = if share < 0.0 { "−" } else { "" };
    format!("{sign}{:.0} %", share.abs() * 100.0)
}

fn time(ns: f64) -> String {
    number::time(ns).unwrap_or_else(absent)
}

/// Returns true where the time is one that any program needs.
fn is_prompt(cause: &Examined) -> bool {
    cause.takes.and_then(|takes| takes.low).is_none_or(|low| low < PROMPT_NS)
}

/// The time that any program may take: a set value, in its short form.
fn prompt() -> String {
    number::short_time(PROMPT_NS).unwrap_or_else(absent)
}

/// `26.8 … 32.8 µs`: the unit once, where both have it.
fn ends(interval: Option<&Interval>) -> String {
    let ends = interval.and_then(|interval| Some((interval.low?, interval.high?)));
    ends.map_or_else(absent, |(low, high)| {
        let (low, high) = (time(low), time(high));
        let unit = |time: &str| time.rsplit_once(' ').map(|(_, unit)| unit.to_owned());
        let low = match low.rsplit_once(' ') {
            Some((value, of)) if Some(of) == unit(&high).as_deref() => value,
            _ => &low,
        };
        format!("{low} … {high}")
    })
}

/// The name of a cause.
pub fn name(cause: Cause) -> &'static str {
    match cause {
        Cause::SleepPacing => "sleep pacing",
        Cause::OurWakeUp => "local wake-up",
        Cause::PeerWakeUp => "peer's wake-up",
        Cause::ColdPath => "interval itself",
        Cause::PeerHolds => "peer holds replies",
        Cause::PeerCpuBusy => "peer's CPU is busy",
    }
}

/// The switch that shows it.
fn switch(cause: &Examined) -> String {
    match cause.cause {
        Cause::SleepPacing => "--pace spin".to_owned(),
        Cause::OurWakeUp => "--wait spin".to_owned(),
        Cause::PeerWakeUp => "--peer-wait spin".to_owned(),
        Cause::ColdPath => "no pause (without --every)".to_owned(),
        Cause::PeerHolds => "no switch".to_owned(),
        Cause::PeerCpuBusy => cause.cpu.map_or_else(absent, |cpu| format!("--peer-cpu {cpu}")),
    }
}

/// An established cause, and the switch that shows it.
fn told(cause: &Examined) -> String {
    let what = match cause.cause {
        Cause::SleepPacing => "This host sleeps until the next send; its CPU goes idle.".to_owned(),
        Cause::OurWakeUp => "This host sleeps until the reply arrives; the kernel wakes it.".to_owned(),
        Cause::PeerWakeUp => "The peer's program sleeps until a request arrives; its kernel wakes it.".to_owned(),
        Cause::ColdPath => {
            "Even when nothing sleeps, occasional requests take longer than requests without pause: caches go cold, links save power."
                .to_owned()
        }
        Cause::PeerHolds => {
            "The peer's program holds each reply that long, by its kernel's timestamps, also without pause.".to_owned()
        }
        Cause::PeerCpuBusy => {
            let waited = cause.waited.map_or(String::new(), |waited| {
                format!("; the peer's threads waited for it {} of the time", number::percent(waited))
            });
            format!("Others use that CPU{waited}. This effect is part of the others, not added to them.")
        }
    };
    match cause.cause {
        Cause::PeerHolds => format!("{what} No switch on this host changes it."),
        _ => format!("{what} → {}", switch(cause)),
    }
}

/// Blocks that have an interval at all.
const LEAST: u32 = 6;

/// The reason why a cause is not established.
fn doubt(cause: &Examined) -> String {
    let switch = switch(cause);
    let waited = || cause.waited.map_or_else(absent, number::percent);
    match cause.doubt {
        Some(Doubt::NotMeasured) => "not measured: no switch to change here, or the peer does not report it".to_owned(),
        Some(Doubt::TooFewBlocks) => "too few blocks for a test".to_owned(),
        Some(Doubt::NotShown) => match cause.takes.and_then(|takes| takes.low) {
            Some(low) if low > 0.0 => {
                format!("significant with {switch} by itself, not with all causes judged together")
            }
            _ => format!("{switch}: no significant saving"),
        },
        Some(Doubt::BeyondMeasured) => {
            format!(
                "{switch} would save more than was measured: it undoes what other switches cost, and is no part of this time"
            )
        }
        Some(Doubt::Small) => format!("{switch}: the saving is below {} of what was measured", number::percent(SHARE)),
        Some(Doubt::AsAnyProgram) if is_prompt(cause) => format!("any program needs up to {}", prompt()),
        Some(Doubt::AsAnyProgram) => "requests without a pause are answered sooner than that".to_owned(),
        Some(Doubt::NotBusy) => {
            format!("the peer's threads waited for a CPU {} of the time, below {}", waited(), number::percent(BUSY))
        }
        Some(Doubt::NoOtherCpu) => {
            format!("the peer's threads waited for a CPU {} of the time; no less busy CPU is available there", waited())
        }
        None => String::new(),
    }
}

#[cfg(test)]
mod tests;
