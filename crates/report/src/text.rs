//! A record as the screen a person reads.
//!
//! The answer first, then its evidence (quantiles, mean, method, parts of the round trip), then the warnings; with `-v` also the
//! distribution and all that the record knows of both ends. An absent value is not shown, never as 0.

pub(crate) mod column;
mod facts;
mod figures;
pub(crate) mod flows;
pub mod hops;
mod load;
mod one_way;
mod probes;
pub(crate) mod replies;
mod stream;
mod wire;

use logbook::record::{Ended, Record};
use measure::outcome::{Distribution, Split};
use measure::statistics::payload;
use measure::unit::Nanos;
use measure::verdict::Warning;
use unicode_width::UnicodeWidthStr;

use crate::answer;
use crate::histogram;
use crate::layout::{INDENT, Page, Piece, Style, Tone};
use crate::number;
use crate::text::column::LABEL;
use crate::words::{self, command::Command, warning};

/// Its hops alone; absent where none were traced.
pub(crate) fn hops(record: &Record, style: &Style) -> Option<String> {
    record.outcome.as_ref()?.hops.as_ref()?;
    let mut page = Page::new(*style);
    hops::tell(&mut page, record);
    Some(page.finish())
}

/// The screen for `record`: lines of at most `style.width` cells, none with spaces at its end.
pub fn render(record: &Record, style: &Style) -> String {
    let (mut page, answer) = (Page::new(*style), answer::of(record));
    page.answer(&answer);
    if let Some(outcome) = &record.outcome {
        figures::quantiles(&mut page, outcome, &record.method);
        figures::figures(&mut page, outcome, &record.method);
    }
    if let Some(stream) = &record.stream {
        stream::figures(&mut page, stream);
    }
    flows::tell(&mut page, record);
    hops::tell(&mut page, record);
    page.paragraph(INDENT, &Piece::new("method", Tone::Faint), LABEL, &method(record, &answer));
    if let Some(outcome) = &record.outcome {
        if let Some(split) = &outcome.split {
            let sent_again = record.warnings.iter().any(|warning| matches!(warning, Warning::Retransmitted { .. }));
            parts(&mut page, split, sent_again);
        }
        if style.verbose {
            shape(&mut page, &outcome.response);
        }
        if let Some(both) = &outcome.one_way {
            one_way::both(&mut page, both);
        }
    }
    if let Some((outcome, replies)) =
        record.outcome.as_ref().and_then(|outcome| Some((outcome, outcome.replies.as_ref()?)))
    {
        replies::tell(&mut page, replies, outcome.counts.lost);
    }
    if let Some(probes) = &record.probes {
        probes::answers(&mut page, probes);
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

/// The method, and the protocol and the peer where the answer does not name them.
fn method(record: &Record, answer: &str) -> String {
    let address = words::target::address(&record.target);
    let method: Vec<String> = std::iter::once(words::method::of(&record.method)).chain(drained(record)).collect();
    let method = method.join(", ");
    if answer.contains(&address) {
        method
    } else {
        format!("{} to {address}, {method}", words::method::named(&record.method))
    }
}

/// The time that streams took beyond that for which they sent, where it is no small part: what had been handed over was still on its way.
fn drained(record: &Record) -> Option<String> {
    let (elapsed, lasts) = (record.stream.as_ref()?.elapsed_ns, record.method.stop.after_ns?);
    let more = Nanos(elapsed.0.saturating_sub(lasts.0));
    (more.0 >= (lasts.0 / DRAINED).max(BRIEF.0)).then(|| format!("and {more} more until all had arrived"))
}

/// Part of a stream's time, and shortest time, for which it may drain without a word.
const DRAINED: u64 = 10;
const BRIEF: Nanos = Nanos::millis(500);

pub(crate) use stream::limiter;

/// The distribution as bars, where there are values enough for a shape and more than one row of them.
fn shape(page: &mut Page, distribution: &Distribution) {
    let values = match payload::decode(&distribution.histogram) {
        Ok(values) => values,
        // Without one there is nothing to be shown; one that is refused is a fault of the record, whose numbers nobody can check.
        Err(_) if distribution.histogram.is_empty() => return,
        Err(error) => {
            page.gap();
            page.paragraph(2, &Piece::new("values", Tone::Faint), 10, &format!("not shown: {error}"));
            return;
        }
    };
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

/// The parts of a round trip between kernel timestamps, each with its name.
fn named_parts(split: &Split) -> Vec<String> {
    let part = |name: &str, time: Option<Nanos>| time.map(|time| format!("{name} {time}"));
    let whole_path = split.path_ns.is_some() && split.peer_ns.is_some();
    let outside = if whole_path { None } else { split.outside_ns };
    let parts = [
        part("send", split.send_to_sched_ns),
        part("queue", split.sched_to_driver_ns),
        part("path", split.path_ns.filter(|_| whole_path)),
        part("peer", split.peer_ns.filter(|_| whole_path)),
        part("path and peer", outside),
        part("wake-up", split.wake_up_ns),
    ];
    parts.into_iter().flatten().collect()
}

/// The parts of all round trips, and of the slowest. Where TCP sent segments again, what waits behind a lost one waits in the kernel of a host, and
/// the path is what made it slow: no place is named then.
fn parts(page: &mut Page, split: &Split, sent_again: bool) {
    if split.clock_stepped {
        return;
    }
    let parts = named_parts(split);
    if parts.is_empty() {
        return;
    }
    if let Some(dearer) = words::split::not_shown(split) {
        page.paragraph(INDENT, &Piece::new("parts", Tone::Faint), LABEL, &dearer);
        return;
    }
    page.items(INDENT, &Piece::new("parts", Tone::Faint), LABEL, &parts);
    page.paragraph(INDENT, &Piece::default(), LABEL, &words::split::source(split));
    let mostly = |page: &mut Page, split: &Split| {
        if let Some(place) = words::split::mostly(split) {
            page.paragraph(INDENT, &Piece::default(), LABEL, &place);
        }
    };
    mostly(page, split);
    if let Some(slowest) = &split.slowest {
        page.items(INDENT, &Piece::new("slowest", Tone::Faint), LABEL, &named_parts(slowest));
        page.paragraph(INDENT, &Piece::default(), LABEL, &words::split::source_of_slowest(split, slowest));
        if sent_again {
            page.paragraph(INDENT, &Piece::default(), LABEL, words::split::BEHIND_LOST);
        } else {
            mostly(page, slowest);
        }
    }
}

/// The warnings with their advice, the most important first. The answer has said already that the run was interrupted.
fn warnings(page: &mut Page, record: &Record) {
    let texts: Vec<String> = if page.style().verbose {
        record.warnings.iter().filter_map(|one| whole(one, record)).collect()
    } else {
        brief(record)
    };
    for text in texts {
        page.warning(&text);
    }
}

/// A warning with its advice; `None` where the answer says the same.
fn whole(warning: &Warning, record: &Record) -> Option<String> {
    let is_told = match warning {
        Warning::Interrupted => record.ended != Ended::Complete,
        Warning::PeerLost { .. } => answer::is_closed(record),
        _ => false,
    };
    if is_told {
        return None;
    }
    let seen = warning::seen(warning);
    let advice = warning::advice(warning, Command::of(&record.method));
    Some(advice.map_or_else(|| seen.clone(), |advice| format!("{seen} → {advice}")))
}

/// The warnings without those that only explain an interval or a column, those of both hosts in one.
fn brief(record: &Record) -> Vec<String> {
    let both = warning::busy_hosts(&record.warnings, Command::of(&record.method));
    let mut texts = Vec::new();
    for warning in &record.warnings {
        match (warning, &both) {
            (Warning::Correlated { .. } | Warning::TooFewForQuantile { .. }, _) => {}
            (Warning::Disturbed { end, .. }, Some(_)) if end != "our" => {}
            (Warning::Disturbed { .. }, Some(both)) => texts.push(both.clone()),
            _ => texts.extend(whole(warning, record)),
        }
    }
    texts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use crate::layout::tests::without_colour;
    use crate::words::warning::example::examples;
    use insta::assert_snapshot;
    use measure::outcome::OfSent;
    use measure::unit::Nanos;
    use test_case::test_case;

    fn quiet(record: &Record) -> String {
        render(record, &Style::default())
    }

    fn verbose(record: &Record) -> String {
        render(record, &Style { verbose: true, ..Style::default() })
    }

    /// The lines of the screen that are warnings.
    fn warned(record: &Record, verbose: bool) -> String {
        let text = render(record, &Style { verbose, ..Style::default() });
        text.find("\n! ").map(|start| text[start + 1..].to_owned()).unwrap_or_default()
    }

    #[test]
    fn a_stream_that_drains_long_says_how_long() {
        let mut record = fixture::stream();
        let lasts = record.stream.as_ref().unwrap().elapsed_ns;
        record.method.stop.after_ns = Some(lasts);
        assert!(!quiet(&record).contains("until all had arrived"));
        record.stream.as_mut().unwrap().elapsed_ns = Nanos(lasts.0 + 25_000_000_000);
        let text = quiet(&record);
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(&format!("for {lasts}, and 25 s more until all had arrived")), "{text}");
    }

    #[test]
    fn three_warnings_are_shown_and_the_others_counted() {
        let mut record = fixture::closed();
        record.ended = Ended::Complete;
        let seven = examples().into_iter().map(|example| example.warning).filter(|one| {
            !matches!(one, Warning::Interrupted | Warning::Correlated { .. } | Warning::TooFewForQuantile { .. })
        });
        record.warnings = seven.step_by(9).take(7).collect();
        let (short, long) = (warned(&record, false), warned(&record, true));
        let marks = |text: &str| text.lines().filter(|line| line.starts_with("! ")).count();
        assert_eq!((marks(&short), marks(&long)), (3, 7));
        assert!(short.lines().chain(long.lines()).all(|line| line.width() <= 80), "{short}{long}");
        assert!(short.ends_with("\n  4 more: -v\n"), "{short}");
        record.warnings.truncate(3);
        assert_eq!(warned(&record, false), warned(&record, true));
    }

    #[test]
    fn busy_hosts_are_one_line_and_notes_need_v() {
        let mut record = fixture::closed();
        let busy = |end: &str, by: &str| Warning::Disturbed {
            end: end.to_owned(),
            by: vec![by.to_owned()],
            waited_share: None,
            spoils: vec![],
        };
        record.warnings = vec![
            busy("our", "run-queue delay 34.0 %"),
            busy("the peer's", "steal 29.0 %"),
            Warning::Correlated { count: 40_000, effective: 9_000.0 },
            Warning::TooFewForQuantile { q: 0.9999, needed: 100_000, seen: 40_000, run_for_ns: None },
        ];
        let short = warned(&record, false);
        assert!(
            short.starts_with("! Hosts busy (here run-queue delay 34.0 %, peer steal 29.0 %)")
                && short.matches("! ").count() == 1,
            "{short}"
        );
        assert_eq!(warned(&record, true).lines().filter(|line| line.starts_with("! ")).count(), 4);
    }

    #[test]
    fn parts_of_dearer_round_trips_are_not_told() {
        let said = |samples: u64, stamped: Nanos| {
            let mut record = fixture::closed();
            let split = record.outcome.as_mut().and_then(|outcome| outcome.split.as_mut()).expect("a split");
            split.samples = samples;
            (split.round_trip_ns, split.round_trip_unstamped_ns) = (Some(stamped), Some(Nanos::micros(30)));
            quiet(&record)
        };
        let (same, longer) = (said(10, Nanos::micros(33)), said(10, Nanos::micros(34)));
        assert!(same.contains("wake-up 6.01 µs") && same.contains("(medians of 10 timestamped"), "{same}");
        assert!(
            longer.contains("wake-up 6.01 µs") && longer.contains("Upper limits: medians of 10 timestamped"),
            "{longer}"
        );
        let (far, few) = (said(10, Nanos::micros(46)), said(9, Nanos::micros(30)));
        assert!(far.contains("not shown: round trips with timestamps took 46 µs (p50)"), "{far}");
        assert!(few.contains("not shown: 9 round trips have timestamps"), "{few}");
        assert!(!far.contains("wake-up") && !few.contains("wake-up"), "{far}{few}");
    }

    #[test]
    fn the_slowest_have_parts_of_their_own() {
        let mut record = fixture::closed();
        assert!(!quiet(&record).contains("slowest"));
        let split = record.outcome.as_mut().and_then(|outcome| outcome.split.as_mut()).expect("a split");
        let (peer_ns, round_trip_ns) = (Some(Nanos::millis(12)), Some(Nanos::micros(12_050)));
        let slowest = Split { samples: 51, peer_ns, round_trip_ns, slowest: None, ..split.clone() };
        split.slowest = Some(Box::new(slowest));
        let told = quiet(&record).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            told.contains("slowest send 970 ns · queue 180 ns · path 8.62 µs · peer 12 ms · wake-up 6.01 µs"),
            "{told}"
        );
        assert!(
            told.contains("(medians of the 51 slowest of 512, whose p50 is 12.1 ms) Mostly the peer's host (100 %)"),
            "{told}"
        );
        record.warnings.push(Warning::Retransmitted { segments: 23, had_already: Some(2), requests: 1_600 });
        let told = quiet(&record).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(told.contains(words::split::BEHIND_LOST) && !told.contains("Mostly the peer's host (100 %)"), "{told}");
    }

    #[test]
    fn what_to_try_is_the_commands_own() {
        let mut record = fixture::load();
        record.warnings = vec![
            Warning::BehindSchedule { share: 0.5 },
            Warning::Disturbed { end: "our".to_owned(), by: vec![], waited_share: None, spoils: vec![] },
        ];
        let command = Command::of(&record.method);
        assert_eq!(command, Command::Load);
        let advice = warning::advice(&record.warnings[0], command).unwrap();
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words(&warned(&record, false)).contains(&words(&advice)));
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
    fn a_peer_that_sees_another_address_of_this_host_says_so() {
        let seen_as = |route: &str, seen: &str| {
            let mut record = fixture::closed();
            let with = |name: &str, address: &str| {
                let mut end = measure::environment::Environment::default();
                end.settings.insert(name.to_owned(), address.to_owned());
                Some(end)
            };
            (record.ours, record.theirs) = (with("route.source", route), with("route.to", seen));
            verbose(&record).split_whitespace().collect::<Vec<_>>().join(" ")
        };
        let text = seen_as("10.181.8.1", "10.181.9.254");
        assert!(
            text.contains("sees this host as 10.181.9.254: a device on the path translates addresses (NAT)"),
            "{text}"
        );
        for same in ["10.181.8.1", "::ffff:10.181.8.1", "no address"] {
            assert!(!seen_as("10.181.8.1", same).contains("NAT"), "{same}");
        }
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
    fn a_random_moment_that_is_another_one_than_the_median_has_its_row() {
        let mut record = fixture::closed();
        let outcome = record.outcome.as_mut().unwrap();
        outcome.stalls = None;
        let median = outcome.response.quantiles[0].value_ns.unwrap();
        let of = |times| Some(vec![OfSent { q: 0.5, value_ns: Some(Nanos(median.0 * times)) }]);
        outcome.time_weighted = of(1);
        assert!(!quiet(&record).contains("random arrival"), "{}", quiet(&record));
        record.outcome.as_mut().unwrap().time_weighted = of(5);
        assert!(quiet(&record).contains("random arrival"), "{}", quiet(&record));
    }

    #[test]
    fn quantiles_without_refusals_are_not_said_to_be_of_all() {
        let mut record = fixture::closed();
        let outcome = record.outcome.as_mut().unwrap();
        outcome.of_sent = Some(vec![OfSent { q: 0.5, value_ns: Some(Nanos::micros(20)) }]);
        assert!(quiet(&record).contains("of all sent"), "{}", quiet(&record));
        // Of few values no quantile has a column.
        let quantiles = std::mem::take(&mut record.outcome.as_mut().unwrap().response.quantiles);
        assert!(!quiet(&record).contains("of all sent"), "{}", quiet(&record));
        record.outcome.as_mut().unwrap().response.quantiles = quantiles;
        record.outcome.as_mut().unwrap().counts.refused = 9;
        assert!(
            quiet(&record).contains("  not refused ") && !quiet(&record).contains("of all sent"),
            "{}",
            quiet(&record)
        );
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
