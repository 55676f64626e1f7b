//! A search for the highest rate as the screen a person reads: what was asked, what was found in one sentence, the
//! curve of latency against rate, and a row for each rate.

use logbook::record::Ended;
use logbook::search::{Probe, SearchDocument};
use measure::search::condition::Verdict;
use measure::search::seen::Seen;
use measure::search::{End, Reached};
use measure::unit::{Nanos, Rate};
use measure::wire::finding::Verdict as Wired;

use crate::curve::{self, Curve, Series};
use crate::layout::{INDENT, Page, Piece, Style, Tone};
use crate::words::target;
use crate::{number, words};

/// The quantiles of the table and the plot.
pub(crate) const SHOWN: [f64; 2] = [0.5, 0.99];

/// The screen for `search`: lines of at most `style.width` cells, none with spaces at its end.
pub fn render(search: &SearchDocument, style: &Style) -> String {
    let mut page = Page::new(*style);
    page.answer(&sentence(search));
    page.paragraph(INDENT, &Piece::new("method", Tone::Faint), FOUND, &method_of(search));
    page.paragraph(INDENT, &Piece::new("probes", Tone::Faint), FOUND, &how_surely(search));
    if let Some(wire) = wire(search) {
        page.paragraph(INDENT, &Piece::new("wire", Tone::Faint), FOUND, &wire);
    }
    page.gap();
    let rows = rows(search);
    plot(&mut page, search, &rows);
    table(&mut page, &rows);
    page.finish()
}

/// The wire's verdicts on the probes, where it was watched.
fn wire(search: &SearchDocument) -> Option<String> {
    let of = |probe: &Probe| probe.record.wire.as_ref().map(|wire| wire.verdict());
    let told: Vec<(Rate, Wired)> =
        search.probes.iter().filter_map(|probe| Some((probe.rate_per_1000s, of(probe)?))).collect();
    if told.is_empty() {
        return None;
    }
    let of = |verdict: Wired| told.iter().filter(move |(_, other)| *other == verdict);
    let verified = number::count(of(Wired::Verified).count() as u64, "probe", "probes");
    let mut parts = vec![format!("{verified} verified")];
    for (verdict, word) in [(Wired::Contradicted, "contradicted"), (Wired::NotEstablished, "not established")] {
        let rates: Vec<String> = of(verdict).map(|(at, _)| rate(*at)).collect();
        if !rates.is_empty() {
            parts.push(format!("{word}: at {}", rates.join(", ")));
        }
    }
    Some(parts.join("; "))
}

/// Column at which the sentence starts.
const FOUND: usize = 10;

/// The end of a search that did not end by itself.
fn early(search: &SearchDocument) -> String {
    match &search.ended {
        Ended::Interrupted { signal } => format!(" (interrupted by {signal})"),
        Ended::PeerLost { reason } => format!(" (broke off: {reason})"),
        Ended::Complete => String::new(),
    }
}

/// `UDP to 10.0.0.2:7663, open loop with a reply per message, …`: the method of the probes without what differs from one to the next.
pub(crate) fn method_of(search: &SearchDocument) -> String {
    let target = target::address(&search.target);
    let Some(method) = search.probes.first().map(|probe| &probe.record.method) else { return target };
    format!("{} to {target}, {}", words::method::named(method), words::method::of_search(method))
}

/// The result in one sentence.
pub(crate) fn sentence(search: &SearchDocument) -> String {
    let bracket = &search.bracket;
    let at = |end: &End| rate(end.rate_per_1000s);
    let met = search.condition.to_string().replace(',', ", ");
    let found = match (&bracket.met, &bracket.missed, bracket.reached) {
        (None, None, _) => "No rate was tested: no probe was made".to_owned(),
        (Some(end), None, Reached::Highest) => {
            format!("At least {} met {met}: no higher rate was allowed (--up-to)", at(end))
        }
        (Some(end), None, _) => format!("{} met {met}; no failing rate was found", at(end)),
        (None, Some(end), Reached::Lowest) => {
            format!("No rate met {met}: {}, the lowest that can be judged here, {}", at(end), failed(search, end))
        }
        (None, Some(end), _) => format!("No rate met {met} so far: {} {}", at(end), failed(search, end)),
        (Some(end), Some(missed), reached) => {
            let so_far = if reached == Reached::Width { "" } else { " so far" };
            let apart = missed.rate_per_1000s.0.get() as f64 / end.rate_per_1000s.0.get() as f64 - 1.0;
            let whose = match missed {
                _ if missed.is_spoilt() => ". This host was late there repeatedly: the path may carry more",
                _ if missed.is_ours() => ". This host was the limit: the peer may answer more",
                _ => "",
            };
            let (above, failed) = (number::percent(apart), failed(search, missed));
            // A limit at which chance decides is found elsewhere the next time.
            let doubt = if end.tally.missed > 0 || missed.tally.met > 0 {
                ". Probes at the same rate disagreed: another search may find another rate"
            } else {
                ""
            };
            let limit = format!("{} ({above} above) {failed}{whose}{doubt}", at(missed));
            format!("Highest rate{so_far} that met {met}: {}. {limit}", at(end))
        }
    };
    format!("{found}{}{}", early(search), busy(search))
}

/// `. Hosts were busy in 11 of 11 probes: quiet hosts may carry more`, where some were.
fn busy(search: &SearchDocument) -> String {
    let is_busy = |probe: &&Probe| probe.record.warnings.iter().any(|warning| warning.busy_end().is_some());
    let busy = search.probes.iter().filter(is_busy).count();
    let of = number::count(search.probes.len() as u64, "probe", "probes");
    if busy > 0 && search.bracket.missed.is_some() {
        format!(". Hosts were busy in {busy} of {of}: quiet hosts may carry more")
    } else {
        String::new()
    }
}

/// `failed: p99 3.2 ms`, `failed in 3 of its 5 probes, in the last by p99 3.2 ms`: the table has the middle of several probes, and one's
/// figures are others.
fn failed(search: &SearchDocument, end: &End) -> String {
    let at = |probe: &&Probe| probe.rate_per_1000s == end.rate_per_1000s;
    let last = search.probes.iter().filter(at).rfind(|probe| probe.verdict != Verdict::Met);
    let why = last.map_or(String::new(), |probe| match (probe.verdict, probe.missed.is_empty()) {
        (Verdict::TooFew, _) => "too few messages for a verdict".to_owned(),
        (_, true) => "no reason recorded".to_owned(),
        _ => probe.missed.join(", "),
    });
    match (end.tally.missed, end.tally.met + end.tally.missed) {
        (missed @ 1.., of @ 2..) => format!("failed in {missed} of its {of} probes, in the last by {why}"),
        _ => format!("failed: {why}"),
    }
}

/// Number and length of the probes at the ends, and the limits of what they can have seen.
pub(crate) fn how_surely(search: &SearchDocument) -> String {
    let bracket = &search.bracket;
    let agree = |end: &End| {
        let of = u64::from(end.tally.met) + u64::from(end.tally.missed);
        format!("{} of {of}", end.tally.met.max(end.tally.missed))
    };
    let ends: Vec<String> = bracket.met.iter().chain(&bracket.missed).map(agree).collect();
    let rates = if ends.len() == 1 { "that rate" } else { "the two rates" };
    let probes = number::count(search.probes.len() as u64, "probe", "probes");
    let told = format!("{} agree at {rates}; {probes} of {} in all", ends.join(" and "), search.probe_ns);
    let unsettled = bracket.reached == Reached::Probes;
    let limit = if unsettled { ": no more were allowed (--probes), so the result is not settled" } else { "" };
    format!("{told}{limit}{}{}", spoilt(search).unwrap_or_default(), unseen(search).unwrap_or_default())
}

/// Probes that told nothing, because our own side was late.
fn spoilt(search: &SearchDocument) -> Option<String> {
    let spoilt = search.probes.iter().filter(|probe| probe.verdict == Verdict::Bunched).count() as u64;
    let probes = number::count(spoilt, "probe", "probes");
    (spoilt > 0).then(|| format!("; {probes} repeated: this host was late and sent in bunches"))
}

/// The overload that a probe cannot have seen where only losses count: a queue had room for it.
fn unseen(search: &SearchDocument) -> Option<String> {
    let met = search.bracket.met.filter(|_| search.bracket.missed.is_some() && !search.condition.asks_a_time())?;
    let width = number::percent(search.bounds.width);
    let room = search.bounds.width * met.rate_per_1000s.as_per_second() * search.probe_ns.as_secs_f64();
    let room = number::count(room.round() as u64, "message", "messages");
    Some(format!(
        "; a queue with room for {room} hides an overload of {width}: add a time to the condition, or use longer probes"
    ))
}

pub(crate) fn rate(rate: Rate) -> String {
    number::rate(rate.as_per_second()).unwrap_or_default()
}

/// The figures of one rate: medians where it was probed more than once.
pub(crate) struct Row {
    pub(crate) rate: Rate,
    pub(crate) quantiles: [Option<Nanos>; SHOWN.len()],
    pub(crate) lost: f64,
    pub(crate) refused: f64,
    pub(crate) achieved: f64,
    pub(crate) met: usize,
    pub(crate) ours: usize,
    pub(crate) bunched: usize,
    pub(crate) probes: usize,
}

pub(crate) fn rows(search: &SearchDocument) -> Vec<Row> {
    let probes = search.by_rate();
    probes.chunk_by(|left, right| left.rate_per_1000s == right.rate_per_1000s).map(row).collect()
}

fn row(probes: &[&Probe]) -> Row {
    let outcomes = probes.iter().filter_map(|probe| Some((probe.record.outcome.as_ref()?, &probe.record.method)));
    let seen: Vec<Seen> = outcomes.map(|(outcome, method)| Seen::of(outcome, method)).collect();
    let quantile = |q: f64| {
        let found = probes.iter().filter_map(|probe| {
            let quantiles = &probe.record.outcome.as_ref()?.response.quantiles;
            quantiles
                .iter()
                .find(|quantile| quantile.q == q)
                .filter(|found| number::quantile(found).is_some())?
                .value_ns
        });
        median(found.collect())
    };
    let of_sent = |seen: &Seen, count: u64| count as f64 / seen.sent.max(1) as f64;
    let share = |of: &dyn Fn(&Seen) -> f64| {
        let mut shares: Vec<f64> = seen.iter().map(of).collect();
        shares.sort_unstable_by(f64::total_cmp);
        shares.get(shares.len().saturating_sub(1) / 2).copied().unwrap_or_default()
    };
    let count = |verdict| probes.iter().filter(|probe| probe.verdict == verdict).count();
    Row {
        rate: probes[0].rate_per_1000s,
        quantiles: SHOWN.map(quantile),
        lost: share(&|seen| of_sent(seen, seen.lost)),
        refused: share(&|seen| of_sent(seen, seen.declined)),
        achieved: share(&|seen| seen.achieved),
        met: count(Verdict::Met),
        ours: count(Verdict::OurSide),
        bunched: count(Verdict::Bunched),
        probes: probes.len() - count(Verdict::Bunched),
    }
}

fn median(mut values: Vec<Nanos>) -> Option<Nanos> {
    values.sort_unstable();
    values.get(values.len().checked_sub(1)? / 2).copied()
}

fn plot(page: &mut Page, search: &SearchDocument, rows: &[Row]) {
    let series = |index: usize| Series {
        name: measure::unit::quantile_name(SHOWN[index]),
        sign: curve::SIGNS[index],
        points: rows
            .iter()
            .filter_map(|row| Some((row.rate.as_per_second(), row.quantiles[index]?.0 as f64)))
            .collect(),
    };
    let curve = Curve {
        series: (0..SHOWN.len()).map(series).collect(),
        mark: search.bracket.met.map(|end| end.rate_per_1000s.as_per_second()),
        ..Curve::default()
    };
    let lines = curve::lines(&curve, page.style());
    if lines.is_empty() {
        return;
    }
    let signs = curve::legend(&curve, page.style());
    let what = Piece::new("of the response time by rate", Tone::Faint);
    page.flow(INDENT, INDENT, "   ", &[Piece::new(signs, Tone::Faint), what]);
    for line in lines {
        page.line(0, &[Piece::from(line)]);
    }
    page.gap();
}

fn table(page: &mut Page, rows: &[Row]) {
    let refused = rows.iter().any(|row| row.refused > 0.0);
    let names = ["rate", "p50", "p99", "lost"].into_iter().chain(refused.then_some("refused")).chain(["sent", "met"]);
    let mut table = vec![names.map(|text| Piece::new(text, Tone::Faint)).collect::<Vec<Piece>>()];
    for row in rows {
        let time = |index: usize| Piece::from(row.quantiles[index].map_or(String::new(), number::measured));
        let tone = if row.met * 2 > row.probes { Tone::Plain } else { Tone::Faint };
        let whose = match (row.ours, row.bunched) {
            (0, 0) => String::new(),
            (0, bunched) => format!(", {bunched} void"),
            _ => ", limited by this host".to_owned(),
        };
        let mut cells =
            vec![Piece::new(rate(row.rate), tone), time(0), time(1), Piece::from(number::percent(row.lost))];
        cells.extend(refused.then(|| Piece::from(number::percent(row.refused))));
        cells.push(Piece::from(number::percent(row.achieved)));
        cells.push(Piece::new(format!("{} of {}{whose}", row.met, row.probes), tone));
        table.push(cells);
    }
    if table.len() > 1 {
        page.table(&table);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use crate::layout::tests::without_colour;
    use insta::assert_snapshot;
    use measure::search::Bracket;
    use unicode_width::UnicodeWidthStr;

    fn quiet(search: &SearchDocument) -> String {
        render(search, &Style::default())
    }

    #[test]
    fn a_search_that_found() {
        assert_snapshot!(quiet(&fixture::search()));
    }

    #[test]
    fn a_search_in_ascii() {
        let text = render(&fixture::search(), &Style { ascii: true, ..Style::default() });
        assert!(text.is_ascii());
        assert_snapshot!(text);
    }

    #[test]
    fn the_sentence_says_that_hosts_were_busy() {
        let mut found = fixture::search();
        assert!(!sentence(&found).contains("busy"));
        let busy = measure::verdict::Warning::Disturbed {
            end: "our".into(),
            by: vec!["steal 4 %".into()],
            waited_share: None,
            spoils: vec![],
        };
        found.probes[0].record.warnings = vec![busy];
        assert!(
            sentence(&found).ends_with(". Hosts were busy in 1 of 15 probes: quiet hosts may carry more"),
            "{}",
            sentence(&found)
        );
    }

    #[test]
    fn the_sentence_says_what_ended_the_search() {
        let found = fixture::search();
        let with = |change: &dyn Fn(&mut Bracket)| {
            let mut changed = found.clone();
            change(&mut changed.bracket);
            sentence(&changed)
        };
        let above = with(&|bracket| (bracket.missed, bracket.reached) = (None, Reached::Highest));
        assert!(above.starts_with("At least ") && above.ends_with(": no higher rate was allowed (--up-to)"), "{above}");
        let below = with(&|bracket| (bracket.met, bracket.reached) = (None, Reached::Lowest));
        assert!(
            below.starts_with("No rate met ") && below.contains("/s, the lowest that can be judged here, failed"),
            "{below}"
        );
        let unsettled = with(&|bracket| bracket.reached = Reached::Probes);
        assert!(unsettled.starts_with("Highest rate so far") && unsettled.contains(" above) failed"), "{unsettled}");
        let ours = with(&|bracket| bracket.missed.iter_mut().for_each(|end| end.tally.ours = end.tally.missed));
        assert!(ours.contains("This host was the limit"), "{ours}");
        let early = with(&|bracket| (bracket.missed, bracket.reached) = (None, Reached::Stopped));
        assert!(early.contains("no failing rate was found"), "{early}");
        let nothing = with(&|bracket| (bracket.met, bracket.missed) = (None, None));
        assert_eq!(nothing, "No rate was tested: no probe was made");
    }

    #[test]
    fn what_probes_cannot_see_is_told() {
        let found = fixture::search();
        assert!(!how_surely(&found).contains("queue"), "a time was asked for");
        let blind = SearchDocument { condition: "loss<0.1%".parse().unwrap(), ..found };
        // 2 % of some 4000/s for half a second.
        let told = how_surely(&blind);
        assert!(
            told.contains("a queue with room for 3")
                && told.contains("messages")
                && told.contains("hides an overload of 2 %"),
            "{told}"
        );
    }

    #[test]
    fn a_search_without_probes_is_told_too() {
        let found = fixture::search();
        let bracket = Bracket { met: None, missed: None, reached: Reached::Stopped };
        let ended = Ended::PeerLost { reason: "connection reset".to_owned() };
        let text = quiet(&SearchDocument { probes: vec![], bracket, ended, ..found });
        assert!(text.contains("broke off: connection reset") && text.contains("no probe was made"), "{text}");
    }

    #[test]
    fn no_line_is_too_wide_or_ends_in_a_space() {
        let search = fixture::search();
        for width in [40, 60, 80, 120] {
            let plain = render(&search, &Style { width, ..Style::default() });
            assert!(plain.lines().all(|line| line.width() <= width && line.trim_end() == line), "{plain}");
            assert_eq!(without_colour(&render(&search, &Style { width, colour: true, ..Style::default() })), plain);
        }
    }
}
