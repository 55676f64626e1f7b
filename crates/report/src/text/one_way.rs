//! One-way delays and the clocks they depend on.

use measure::outcome::one_way::extension::Extensions;
use measure::outcome::one_way::{ClockDifference, ClockState, ClockStep, OneWay, Spread};

use crate::layout::{INDENT, Page, Piece, Tone};
use crate::number;
use crate::text::column::{APART, JOINT};

/// Delays there and back with the most that they may be off, and how that is known.
pub(super) fn both(page: &mut Page, both: &OneWay) {
    let rows = [
        ("to the peer", &both.forward),
        ("back", &both.reverse),
        ("both ways", &both.path),
        ("held by peer", &both.held),
    ];
    let rows: Vec<Vec<Piece>> = rows.iter().filter_map(|(name, spread)| Some(row(name, (*spread).as_ref()?))).collect();
    if rows.is_empty() {
        return;
    }
    page.gap();
    let head = [Piece::new("one-way delay", Tone::Strong), Piece::new(source(both), Tone::Faint)];
    page.flow(INDENT, INDENT, APART, &head);
    let columns = ["", "min", "p50", "p90", "p99", "max"].map(|name| Piece::new(name, Tone::Faint)).to_vec();
    let table: Vec<Vec<Piece>> = [columns].into_iter().chain(rows).collect();
    page.table(&table);
    match &both.clock {
        Some(clock) if both.agreement.is_some_and(|agreement| agreement.holds) => {
            let bound = format!("each direction ± {}, by clocks that agree as stated", clock.bound_ns);
            page.flow(INDENT, INDENT, APART, &[Piece::from(bound)]);
        }
        Some(clock) => clocks(page, clock),
        None => page.flow(
            INDENT,
            INDENT,
            APART,
            &[Piece::new("no steady clock explains the times: directions not established", Tone::Alarm)],
        ),
    }
    if let Some(agreement) = both.agreement.filter(|agreement| !agreement.holds) {
        let text = format!("the packets contradict clocks that agree within {}", agreement.within_ns);
        page.flow(INDENT, INDENT, APART, &[Piece::new(text, Tone::Alarm)]);
    }
    let kept = [kept("this host's clock", both.ours), kept("the peer's clock", both.theirs)];
    page.flow(INDENT, INDENT, JOINT, &kept);
    page.flow(INDENT, INDENT, APART, &numbers(both));
    if let Some(extensions) = &both.extensions {
        page.flow(INDENT, INDENT, APART, &told(extensions));
    }
}

/// Source of the times: the stamps that they are made of.
fn source(both: &OneWay) -> String {
    let exchanges = number::count(both.exchanges, "exchange", "exchanges");
    let by_kernel = both.left_by_kernel.min(both.came_by_kernel);
    match by_kernel {
        0 => format!("{exchanges}, user-space timestamps"),
        all if all == both.exchanges => format!("{exchanges}, kernel timestamps"),
        _ => format!("{exchanges}, {} of them with kernel timestamps", measure::unit::grouped(by_kernel)),
    }
}

fn row(name: &str, spread: &Spread) -> Vec<Piece> {
    let cells = [Some(spread.min_ns), spread.p50_ns, spread.p90_ns, spread.p99_ns, Some(spread.max_ns)];
    let cells = cells.map(|value| Piece::from(value.map(delay).unwrap_or_default()));
    [Piece::new(name, Tone::Faint)].into_iter().chain(cells).collect()
}

/// A time that should not be below zero, but is shown where it is: it tells of the clocks.
fn delay(ns: i64) -> String {
    let text = number::signed_time(ns);
    text.strip_prefix('+').map_or(text.clone(), str::to_owned)
}

fn clocks(page: &mut Page, clock: &ClockDifference) {
    let bound = format!("each direction ± {}, estimated", clock.bound_ns);
    let mut items = vec![Piece::from(bound)];
    if let Some(last) = clock.windows.last() {
        items.push(Piece::from(format!("peer's clock {} ± {}", number::signed_time(last.offset_ns), last.bound_ns)));
        let (low, high) = (ppm(last.drift_low_ppm), ppm(last.drift_high_ppm));
        items.push(Piece::from(format!("clock drift {} ppm ({low} … {high})", ppm(last.drift_ppm))));
    }
    if clock.windows.len() > 1 {
        items.push(Piece::from(format!("last of {} windows", clock.windows.len())));
    }
    if clock.rate_changes > 0 {
        let changes = number::count(clock.rate_changes, "change of the clock rate", "changes of the clock rate");
        items.push(Piece::new(changes, Tone::Alarm));
    }
    items.extend(clock.steps.iter().take(STEPS).map(|step| Piece::new(set(step), Tone::Alarm)));
    if clock.steps.len() > STEPS {
        items.push(Piece::new(format!("{} more clock steps", clock.steps.len() - STEPS), Tone::Alarm));
    }
    page.flow(INDENT, INDENT, APART, &items);
}

/// Steps that are told one by one.
const STEPS: usize = 4;

fn set(step: &ClockStep) -> String {
    let by = number::signed_time(step.by_ns);
    format!("clock step of {by} ± {} at {}", step.bound_ns, step.before_ns)
}

/// With its sign, to a thousandth where it is small.
fn ppm(ppm: f64) -> String {
    let text = match ppm.abs() {
        100.0.. => format!("{ppm:+.0}"),
        1.0.. => format!("{ppm:+.1}"),
        _ => format!("{ppm:+.3}"),
    };
    text.replace('-', "−")
}

fn kept(whose: &str, state: ClockState) -> Piece {
    let how = match (state.synchronised, state.error_ns) {
        (Some(true), Some(error)) => format!("is synchronised within {error}"),
        (Some(true), None) => "is synchronised".to_owned(),
        (Some(false), _) => "is not synchronised".to_owned(),
        (None, _) => "reports no synchronisation".to_owned(),
    };
    Piece::from(format!("{whose} {how}"))
}

/// The peer's answers to the optional parts of packets.
fn told(extensions: &Extensions) -> Vec<Piece> {
    let Extensions { asked: _, unknown, malformed, class, location, counters, follow_up } = extensions;
    let mut items = Vec::new();
    if let Some(class) = class {
        items.push(Piece::from(format!("arrived there with DSCP {}, ECN {}", class.code_point, class.marks)));
        items.extend(class.refused.then(|| Piece::new("the peer does not mark its replies as asked", Tone::Alarm)));
    }
    if let Some(location) = location {
        let at = |address: &Option<String>, port| match address {
            Some(address) if address.contains(':') => format!("[{address}]:{port}"),
            Some(address) => format!("{address}:{port}"),
            None => format!("port {port}"),
        };
        let from = at(&location.from_address, location.from_port);
        items.push(Piece::from(format!("seen there from {from} to {}", at(&location.to_address, location.to_port))));
    }
    if let Some(counters) = counters {
        let [sent, received, answered] =
            [counters.sent, counters.received, counters.answered].map(|count| measure::unit::grouped(count.into()));
        items.push(Piece::from(format!("{received} of {sent} packets received there, {answered} answered")));
    }
    if let Some(follow_up) = follow_up {
        let count = number::count(follow_up.count, "reply", "replies");
        let later = number::signed_time(follow_up.mean_later_ns.round() as i64);
        items.push(Piece::from(format!("{count} left {later} (mean) from when they said")));
    }
    let names = |names: &[String]| names.join(", ").replace('_', " ");
    if !unknown.is_empty() {
        items.push(Piece::from(format!("the peer does not know: {}", names(unknown))));
    }
    if !malformed.is_empty() {
        items.push(Piece::new(format!("came back malformed: {}", names(malformed)), Tone::Alarm));
    }
    items
}

fn numbers(both: &OneWay) -> Vec<Piece> {
    let counts = both.counts_answers.map(|counts| {
        if counts {
            "the peer numbers its replies: losses have a direction"
        } else {
            "the peer repeats the sender's numbers: losses have no direction"
        }
    });
    let either = both.lost_either_way.filter(|count| *count > 0);
    let either = either.map(|count| format!("{} lost in an unknown direction", measure::unit::grouped(count)));
    let hops = both.time_to_live.map(|left| format!("TTL {left} at the peer"));
    counts.map(str::to_owned).into_iter().chain(either).chain(hops).map(Piece::from).collect()
}
