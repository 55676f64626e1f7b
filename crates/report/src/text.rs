//! A record as the screen a person reads.
//!
//! From what matters most to what explains it: the method, the quantiles, the figures, the shape, where the time went,
//! what to be warned of; verbose, also all that the record knows of both ends. What is absent is not shown, never as 0.

pub(crate) mod column;
mod facts;
mod figures;
mod load;
mod one_way;
mod probes;
mod stream;
mod wire;

use logbook::record::{Ended, Record, Target};
use measure::outcome::{Distribution, Split};
use measure::statistics::payload;
use measure::unit::Nanos;
use measure::verdict::Warning;
use unicode_width::UnicodeWidthStr;

use crate::histogram;
use crate::layout::{INDENT, Page, Piece, Style, Tone};
use crate::number;
use crate::text::column::{APART, JOINT, LABEL};
use crate::words::command::Command;
use crate::words::warning;

/// The screen for `record`: lines of at most `style.width` cells, none with spaces at its end.
pub fn render(record: &Record, style: &Style) -> String {
    let mut page = Page::new(*style);
    headline(&mut page, record);
    page.gap();
    ended(&mut page, record);
    if let Some(outcome) = &record.outcome {
        figures::quantiles(&mut page, outcome, &record.method);
        figures::figures(&mut page, outcome, &record.method);
        shape(&mut page, &outcome.response);
        page.gap();
        if let Some(split) = &outcome.split {
            where_the_time_went(&mut page, split);
        }
        if let Some(both) = &outcome.one_way {
            one_way::both(&mut page, both);
        }
    }
    if let Some(probes) = &record.probes {
        probes::answers(&mut page, probes);
    }
    if let Some(stream) = &record.stream {
        stream::figures(&mut page, stream);
    }
    if let Some(wire) = &record.wire {
        wire::tell(&mut page, wire);
    }
    if style.verbose {
        facts::all(&mut page, record);
    }
    page.gap();
    warnings(&mut page, record);
    page.finish()
}

/// `tcp exchange · 10.0.0.2:7663 · window 1 · …`: the method, with the target behind its first word.
fn headline(page: &mut Page, record: &Record) {
    let method = record.method.to_string();
    let mut parts = method.split(JOINT);
    let first = parts.next().map(|part| Piece::new(part, Tone::Strong));
    let target = Piece::new(address(&record.target), Tone::Strong);
    let items: Vec<Piece> = first.into_iter().chain([target]).chain(parts.map(Piece::from)).collect();
    page.flow(0, INDENT, JOINT, &items);
}

pub(crate) use stream::limiter;

/// Whom it was asked of, by name and address.
pub(crate) fn address(target: &Target) -> String {
    let address = match target.port {
        Some(port) => std::net::SocketAddr::new(target.address, port).to_string(),
        None => target.address.to_string(),
    };
    if target.own_reflector {
        return format!("{address} (own reflector)");
    }
    let host = target.host.as_deref().filter(|host| *host != target.address.to_string());
    host.map_or(address.clone(), |host| format!("{host} ({address})"))
}

/// How the run ended, where it did not end as planned.
fn ended(page: &mut Page, record: &Record) {
    let elapsed = record.elapsed().unwrap_or(Nanos::ZERO);
    let (how, advice) = match &record.ended {
        Ended::Complete => return,
        Ended::Interrupted { signal } => (format!("by {signal} after {elapsed}"), None),
        Ended::PeerLost { reason } => (
            format!("after {elapsed}, the peer is gone: {reason}"),
            warning::advice(&Warning::PeerLost { reason: reason.clone() }, Command::of(&record.method)),
        ),
    };
    let told = format!("{how}; what was measured until then stands here");
    let text = advice.map_or(told.clone(), |advice| format!("{told} → {advice}"));
    page.paragraph(INDENT, &Piece::new("ended early", Tone::Alarm), LABEL, &text);
    page.gap();
}

/// The distribution as bars, where there are values enough for a shape and more than one row of them.
fn shape(page: &mut Page, distribution: &Distribution) {
    let Ok(values) = payload::decode(&distribution.histogram) else { return };
    let bins = histogram::bins(&payload::buckets(&values));
    if bins.len() < 2 || distribution.count < SHAPE {
        return;
    }
    page.gap();
    let total: u64 = bins.iter().map(|bin| bin.count).sum();
    let most = bins.iter().map(|bin| bin.count).max().unwrap_or(1);
    let edges: Vec<String> = bins.iter().map(|bin| page.style().say(&edge_text(bin))).collect();
    let widest = edges.iter().map(|edge| edge.width()).max().unwrap_or(0);
    let cells = page.style().width.saturating_sub(INDENT + widest + SHARE + 1).min(BAR);
    for (bin, edge) in bins.iter().zip(edges) {
        let share = if bin.count > 0 { number::percent(bin.count as f64 / total as f64) } else { String::new() };
        let bar = histogram::bar(bin.count as f64 / most as f64, cells);
        let space = " ".repeat(widest - edge.width());
        page.line(
            INDENT,
            &[
                Piece::new(format!("{space}{edge}"), Tone::Faint),
                Piece::new(format!("{share:>SHARE$} "), Tone::Faint),
                Piece::from(bar),
            ],
        );
    }
}

/// Values from which their shape says something.
const SHAPE: u64 = 100;
/// Room for `   0.012 %`.
const SHARE: usize = 10;
/// The longest bar.
const BAR: usize = 40;

fn edge_text(bin: &histogram::Bin) -> String {
    let above = if bin.open { "≥ " } else { "" };
    format!("{above}{}", bin.from)
}

fn where_the_time_went(page: &mut Page, split: &Split) {
    if split.clock_stepped {
        return;
    }
    let part = |name: &str, time: Option<Nanos>| time.map(|time| Piece::from(format!("{name} {time}")));
    let whole_path = split.path_ns.is_some() && split.peer_ns.is_some();
    let outside = if whole_path { None } else { split.outside_ns };
    let parts: Vec<Piece> = [
        part("send", split.send_to_sched_ns),
        part("queue", split.sched_to_driver_ns),
        part("path", split.path_ns.filter(|_| whole_path)),
        part("peer", split.peer_ns.filter(|_| whole_path)),
        part("path and peer", outside),
        part("wake-up", split.wake_up_ns),
    ]
    .into_iter()
    .flatten()
    .collect();
    if parts.is_empty() {
        return;
    }
    let exchanges = number::count(split.samples, "exchange", "exchanges");
    let source = format!("medians of {exchanges}, kernel timestamps");
    let head = [Piece::new("where the time went", Tone::Strong), Piece::new(source, Tone::Faint)];
    page.flow(INDENT, INDENT, APART, &head);
    page.flow(INDENT * 2, INDENT * 2, JOINT, &parts);
    // Stamping costs time itself: the parts explain the stamped round trip, not the one above.
    let wholes = [part("round trip, stamped", split.round_trip_ns), part("all", split.round_trip_unstamped_ns)];
    let wholes: Vec<Piece> = wholes.into_iter().flatten().collect();
    page.flow(INDENT * 2, INDENT * 2, JOINT, &wholes);
}

/// The warnings with their advice, which weigh most first; those that the screen has told already, as how the run ended, are
/// left away. A reader who has not asked for all is told so many, and the others by name.
fn warnings(page: &mut Page, record: &Record) {
    let told = |warning: &&Warning| {
        !matches!(warning, Warning::Interrupted | Warning::PeerLost { .. }) || record.ended == Ended::Complete
    };
    let all: Vec<&Warning> = record.warnings.iter().filter(told).collect();
    // One that is left over takes no more room than to say so.
    let most = if page.style().verbose || all.len() <= MOST + 1 { all.len() } else { MOST };
    let command = Command::of(&record.method);
    for warning in &all[..most] {
        let text = match warning::advice(warning, command) {
            Some(advice) => format!("{} → {advice}", warning::seen(warning)),
            None => warning::seen(warning),
        };
        page.paragraph(INDENT, &Piece::new("warning", Tone::Alarm), WARNING, &text);
    }
    let rest: Vec<&str> = all[most..].iter().map(|warning| warning.kind()).collect();
    if !rest.is_empty() {
        let text = format!("{} more, told by -v: {}", rest.len(), rest.join(", "));
        page.paragraph(INDENT, &Piece::new("warnings", Tone::Faint), WARNING, &text);
    }
}

/// Warnings that are told with their advice where nobody asked for all.
const MOST: usize = 5;

/// Where a warning's text starts.
const WARNING: usize = 11;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use crate::layout::tests::without_colour;
    use crate::words::warning::example::examples;
    use insta::assert_snapshot;
    use test_case::test_case;

    fn quiet(record: &Record) -> String {
        render(record, &Style::default())
    }

    fn verbose(record: &Record) -> String {
        render(record, &Style { verbose: true, ..Style::default() })
    }

    /// The lines of the screen that tell of warnings.
    fn told(record: &Record, verbose: bool) -> String {
        let text = render(record, &Style { verbose, ..Style::default() });
        text.find("  warning").map(|start| text[start..].to_owned()).unwrap_or_default()
    }

    #[test]
    fn five_warnings_are_told_and_the_others_named() {
        let mut record = fixture::closed();
        record.ended = Ended::Complete;
        let seven = examples().into_iter().map(|example| example.warning).filter(|one| one.kind() != "interrupted");
        record.warnings = seven.step_by(9).take(7).collect();
        let (short, long) = (told(&record, false), told(&record, true));
        assert_eq!((short.matches("  warning  ").count(), long.matches("  warning  ").count()), (5, 7));
        assert!(short.lines().chain(long.lines()).all(|line| line.width() <= 80), "{short}{long}");
        let rest: Vec<&str> = record.warnings[5..].iter().map(Warning::kind).collect();
        assert!(short.contains("2 more, told by -v: ") && rest.iter().all(|kind| short.contains(kind)), "{short}");
        // Six take no more lines than five and the name of the sixth.
        record.warnings.pop();
        assert_eq!(told(&record, false), told(&record, true));
    }

    #[test]
    fn what_to_try_is_the_commands_own() {
        let mut record = fixture::load();
        record.warnings =
            vec![Warning::BehindSchedule { share: 0.5 }, Warning::Disturbed { end: "our".to_owned(), by: vec![] }];
        let command = Command::of(&record.method);
        assert_eq!(command, Command::Load);
        let advice = warning::advice(&record.warnings[0], command).unwrap();
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words(&told(&record, false)).contains(&words(&advice)));
    }

    #[test]
    fn a_closed_loop() {
        assert_snapshot!(quiet(&fixture::closed()));
    }

    #[test]
    fn a_closed_loop_verbosely() {
        assert_snapshot!(verbose(&fixture::closed()));
    }

    #[test]
    fn an_open_loop_with_losses() {
        assert_snapshot!(quiet(&fixture::open_with_losses()));
    }

    #[test]
    fn an_open_loop_with_losses_verbosely() {
        assert_snapshot!(verbose(&fixture::open_with_losses()));
    }

    #[test]
    fn icmp() {
        assert_snapshot!(quiet(&fixture::icmp()));
    }

    #[test]
    fn an_interrupted_run() {
        assert_snapshot!(quiet(&fixture::interrupted()));
    }

    #[test]
    fn nothing_answered() {
        assert_snapshot!(quiet(&fixture::silent()));
    }

    #[test]
    fn a_stream() {
        assert_snapshot!(quiet(&fixture::stream()));
    }

    #[test]
    fn a_stream_verbosely() {
        assert_snapshot!(verbose(&fixture::stream()));
    }

    #[test]
    fn a_load() {
        assert_snapshot!(quiet(&fixture::load()));
    }

    #[test]
    fn a_load_verbosely() {
        assert_snapshot!(verbose(&fixture::load()));
    }

    #[test]
    fn a_load_as_fast_as_it_could() {
        assert_snapshot!(quiet(&fixture::load_at_max()));
    }

    #[test]
    fn each_direction_apart() {
        assert_snapshot!(quiet(&fixture::one_way()));
    }

    #[test]
    fn a_clock_that_was_set() {
        assert_snapshot!(quiet(&fixture::one_way_with_a_step()));
    }

    #[test]
    fn a_measurement_that_was_verified() {
        assert_snapshot!(quiet(&fixture::verified()));
    }

    #[test]
    fn a_measurement_that_the_wire_contradicts() {
        assert_snapshot!(quiet(&fixture::contradicted()));
    }

    #[test]
    fn in_ascii() {
        let text = render(&fixture::interrupted(), &Style { ascii: true, ..Style::default() });
        assert!(text.is_ascii());
        assert_snapshot!(text);
    }

    #[test_case(60)]
    #[test_case(80)]
    #[test_case(100)]
    fn no_line_is_too_wide_or_ends_in_a_space(width: usize) {
        for (record, verbose, ascii) in fixture::all()
            .iter()
            .flat_map(|record| [(record, false, false), (record, true, false), (record, true, true)])
        {
            for line in render(record, &Style { width, verbose, ascii, colour: false }).lines() {
                assert!(line.width() <= width, "{} cells: {line}", line.width());
                assert_eq!(line, line.trim_end());
            }
        }
    }

    #[test]
    fn colour_is_all_that_colour_adds() {
        for record in fixture::all() {
            let coloured = render(&record, &Style { colour: true, ..Style::default() });
            assert!(coloured.contains('\u{1b}'));
            assert_eq!(without_colour(&coloured), quiet(&record));
        }
    }
}
