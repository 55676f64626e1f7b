//! Cells as they are now: what their latest minutes showed, and what is usual of them.

use std::collections::{BTreeMap, VecDeque};

use measure::outcome::replies::Kind;
use measure::span::{Distribution, Span};

use super::picture::{ProbeNow, State};

/// Minutes of which the median is kept, and hours.
const MINUTES: usize = 60;
const HOURS: usize = 24;
/// Fewest answers of a minute whose median is taken.
const FEWEST: u64 = 10;
/// Fewest minutes of which it is said what is usual.
const USUAL: usize = 10;
/// Ratio from which on a median is called slower, or faster, than usual.
const RATIO: f64 = 1.25;
/// Seconds without any answer after which a cell is silent.
const SILENT: u64 = 3;
/// Seconds without any word of its agent after which nothing is known of a cell.
const UNKNOWN: u64 = 10;
/// Disturbed seconds of a minute beyond which nothing is said of its network.
const HALF: u64 = 30;

/// One cell.
#[derive(Clone, Debug, Default)]
pub struct Live {
    minute: u64,
    /// Times of that minute so far: a whole [`Span`] would be mostly zeros.
    times: Distribution,
    scheduled: u64,
    sent: u64,
    answered: u64,
    disturbed: u64,
    /// The latest whole minute.
    pub last: Option<Minute>,
    /// The latest second that was told, and the latest in which something was answered, and from which on nothing was.
    told: u64,
    unanswered: u64,
    /// True once anything was answered since it is watched.
    pub was_answered: bool,
    /// Medians, nanoseconds, exactly: the middle of a bucket has few bits.
    minutes: VecDeque<f32>,
    hours: VecDeque<f32>,
    /// The usual median: of the hours of the last day, else of the minutes of the last hour. `None`: not known yet.
    pub usual: Option<u64>,
    /// The latest second in which something was due.
    pub probe: Option<ProbeNow>,
}

/// Figures of a whole minute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Minute {
    /// Its first second.
    pub at: u64,
    /// Median and 99th percentile, nanoseconds; absent: too few answers.
    pub p50: Option<u64>,
    /// See `p50`.
    pub p99: Option<u64>,
    /// Requests that left.
    pub sent: u64,
    /// Requests among these that were not answered in time.
    pub lost: u64,
    /// Seconds in which the host that asks was late itself.
    pub disturbed: u64,
}

impl Minute {
    /// Figures of `span`, the minute at `at`.
    pub fn of(at: u64, span: &Span) -> Self {
        let sent = span.counts.messages_sent();
        Self::new(at, &span.times, (sent, sent.saturating_sub(span.counts.answered)), span.disturbed)
    }

    fn new(at: u64, times: &Distribution, (sent, lost): (u64, u64), disturbed: u64) -> Self {
        let enough = times.count() >= FEWEST;
        Self {
            at,
            p50: times.quantile(0.5).filter(|_| enough),
            p99: times.printed(0.99).map(|(value, _)| value),
            sent,
            lost,
            disturbed,
        }
    }
}

impl Live {
    /// Takes a second; those before the minute that is gathered are for the store alone.
    pub fn take(&mut self, at: u64, span: &Span) {
        let minute = at - at % 60;
        if minute < self.minute {
            return;
        }
        if minute > self.minute {
            self.turn();
            self.minute = minute;
        }
        let sent = span.counts.messages_sent();
        self.times.add(&span.times);
        self.scheduled += span.counts.scheduled;
        self.sent += sent;
        self.answered += span.counts.answered;
        self.disturbed += span.disturbed;
        self.told = self.told.max(at);
        if span.counts.answered > 0 {
            (self.unanswered, self.was_answered) = (0, true);
        } else if sent > 0 {
            self.unanswered += 1;
        }
    }

    /// Takes what a second says beside its sums.
    pub fn hear(&mut self, at: u64, span: &Span, (replies, certified_until_s): (&BTreeMap<String, Kind>, Option<u64>)) {
        if at < self.told || span.counts.scheduled == 0 {
            return;
        }
        // A reply that refuses, else the most frequent one, stands for several of a second.
        let reply = replies.iter().max_by_key(|(_, kind)| (!kind.answers, kind.count)).map(|(name, _)| name.clone());
        let before = self.probe.take();
        // A second without a reply leaves the latest there was.
        let reply = reply.or_else(|| before.and_then(|before| before.reply).filter(|_| span.counts.answered == 0));
        let success = span.counts.answered == span.counts.scheduled;
        self.probe = Some(ProbeNow { success, took_ns: span.max, reply, certified_until_s });
    }

    /// True where its agent tells of it at `now`.
    pub fn is_told(&self, now: u64) -> bool {
        self.told > 0 && now <= self.told + UNKNOWN
    }

    fn turn(&mut self) {
        let times = std::mem::take(&mut self.times);
        let fields = [&mut self.scheduled, &mut self.sent, &mut self.answered, &mut self.disturbed];
        let [scheduled, sent, answered, disturbed] = fields.map(std::mem::take);
        if scheduled == 0 {
            return;
        }
        let minute = Minute::new(self.minute, &times, (sent, sent.saturating_sub(answered)), disturbed);
        self.last = Some(minute);
        if let Some(p50) = minute.p50.filter(|_| minute.disturbed == 0) {
            let p50 = p50 as f32;
            push(&mut self.minutes, p50, MINUTES);
            if self.minute % 3_600 == 3_540 {
                push(&mut self.hours, median(&self.minutes).unwrap_or(p50), HOURS);
            }
            let of_hours = median(&self.hours);
            let usual = of_hours.or_else(|| median(&self.minutes).filter(|_| self.minutes.len() >= USUAL));
            self.usual = usual.map(|usual| usual as u64);
        }
    }

    /// State of the cell at `now`.
    pub fn state(&self, now: u64) -> State {
        if self.told == 0 || now > self.told + UNKNOWN {
            return State::Unknown;
        }
        if self.unanswered >= SILENT {
            return State::Silent;
        }
        let Some(last) = self.last else { return State::Unknown };
        if last.disturbed > HALF {
            return State::Disturbed;
        }
        if last.lost > 0 {
            return State::Loses;
        }
        match (last.p50, self.usual) {
            (Some(now), Some(usual)) if now as f64 > usual as f64 * RATIO => State::Slower,
            (Some(now), Some(usual)) if (now as f64) < usual as f64 / RATIO => State::Faster,
            _ => State::Fine,
        }
    }
}

fn push(values: &mut VecDeque<f32>, value: f32, most: usize) {
    values.push_back(value);
    if values.len() > most {
        values.pop_front();
    }
}

fn median(values: &VecDeque<f32>) -> Option<f32> {
    let mut values: Vec<f32> = values.iter().copied().collect();
    values.sort_unstable_by(f32::total_cmp);
    values.get(values.len().saturating_sub(1) / 2).copied()
}

#[cfg(test)]
mod tests {
    use measure::event::Fate;
    use measure::unit::Nanos;

    use super::*;

    fn second(took: Option<u64>) -> Span {
        let mut span = Span::default();
        match took {
            Some(took) => span.answer(Nanos(took)),
            None => span.counts.end(Fate::Lost),
        }
        span
    }

    fn lived(seconds: impl Iterator<Item = (u64, Option<u64>)>) -> (Live, u64) {
        let mut live = Live::default();
        let mut last = 0;
        for (at, took) in seconds {
            live.take(at, &second(took));
            last = at;
        }
        (live, last)
    }

    #[test]
    fn what_is_usual_is_known_after_ten_minutes_and_what_differs_is_told() {
        let steady = (60..1_000).map(|at| (at, Some(100_000)));
        let (live, now) = lived(steady.clone());
        assert_eq!((live.state(now), live.usual), (State::Fine, Some(measure::span::coarse(100_000))));
        let (slower, now) = lived(steady.clone().chain((1_000..1_100).map(|at| (at, Some(140_000)))));
        assert_eq!(slower.state(now), State::Slower);
        let (few, now) = lived((60..400).map(|at| (at, Some(100_000))));
        assert_eq!((few.usual, few.state(now)), (None, State::Fine));
        assert_eq!(live.state(now + 10_000), State::Unknown);
    }

    #[test]
    fn three_seconds_without_an_answer_are_silence_and_one_loss_is_a_loss() {
        let steady = (60..180).map(|at| (at, Some(100_000)));
        let (silent, now) = lived(steady.clone().chain((180..183).map(|at| (at, None))));
        assert_eq!(silent.state(now), State::Silent);
        let (lossy, now) = lived(steady.chain([(180, None)]).chain((181..245).map(|at| (at, Some(100_000)))));
        assert_eq!(lossy.state(now), State::Loses);
        assert_eq!(lossy.last.unwrap().lost, 1);
    }
}
