//! State of the screen: the ways, their past, the marks, and the choices of a person. Nothing here draws, waits or reads a
//! clock.

use std::time::Duration;

use jiff::Timestamp;
use logbook::event::{Line, ThreadSecond};
use logbook::failure::Failure;

use measure::lookout::incident::Change;
use measure::span::{Distribution, Span};

use crate::breakdown::Breakdown;
use crate::history::{History, MINUTE};
use crate::notices::Notices;
use crate::options::Protocol;
use crate::refusals::Refusals;
use crate::way::Way;

/// Seconds of the columns that say how it is now.
pub const NOW: u64 = 10;
/// Seconds of the columns beside them.
pub const LATELY: u64 = 300;
/// From the end of a way that failed to the next try.
pub const AGAIN: Duration = Duration::from_secs(5);
/// The longest that is waited for it where a program at work is asked: who guards one counts denied logins.
const LONGEST: Duration = Duration::from_mins(2);
/// Percentiles that can be chosen, 0 to 1.
const PERCENTILES: [f64; 4] = [0.5, 0.9, 0.99, 0.999];
/// Seconds of a column that can be chosen.
const STEPS: [u64; 4] = [1, 10, MINUTE, 10 * MINUTE];

/// State of a way.
#[derive(Clone, Debug, PartialEq)]
pub enum Standing {
    /// It was started, and has said nothing.
    Starting,
    /// It measures.
    Measuring,
    /// It failed, and is tried again.
    Failed(String),
    /// It came to its end.
    Over,
}

/// One way, and what was seen of it.
#[derive(Clone, Debug)]
pub struct Row {
    /// The way.
    pub way: Way,
    /// Its state.
    pub standing: Standing,
    /// Its past.
    pub history: History,
    /// Breakdown of its round trips, and the disturbance of this host.
    pub breakdown: Breakdown,
    /// Changes of it that were noticed.
    pub notices: Notices,
    /// True where it is measured with kernel timestamps.
    pub is_stamped: bool,
    /// Replies of a program at work that refused their requests, by kind.
    pub refusals: Refusals,
    /// Processes in a row that failed without an answer.
    failures: u32,
    /// Start of the process that measures, from which its seconds count.
    began: Option<Timestamp>,
}

/// Something that somebody did, at a second of the watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Second of the mark.
    pub at: u64,
    /// Change that somebody made, as it was typed.
    pub text: String,
}

/// The order of the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// As they were named.
    Named,
    /// The greatest latency first.
    Slowest,
    /// The greatest loss first.
    Lossiest,
}

/// All that is shown.
#[derive(Clone, Debug)]
pub struct View {
    /// Start of the watch, from which seconds count.
    pub began: Timestamp,
    /// Time zone of the begin, for a clock of the screen.
    pub zone: jiff::tz::TimeZone,
    /// The hosts in the order in which they were named.
    pub hosts: Vec<String>,
    /// The ways, in the order in which they were found.
    pub rows: Vec<Row>,
    /// Marks of people, in order.
    pub marks: Vec<Mark>,
    /// Mark that is being typed, with its second.
    pub typing: Option<Mark>,
    /// Text at the bottom until there is another one.
    pub notice: Option<String>,
    /// Place of the row that was chosen, from the top.
    pub chosen: usize,
    /// The end of what is shown, where it stands still.
    pub frozen: Option<u64>,
    /// True where the table gives way.
    pub is_large: bool,
    /// True where the histogram is shown in place of the map.
    pub shows_histogram: bool,
    /// True where the keys are shown.
    pub shows_help: bool,
    /// The order of the rows.
    pub order: Order,
    percentile: usize,
    step: usize,
}

impl View {
    /// View of these hosts, from now on.
    pub fn new(hosts: &[String], began: Timestamp, zone: jiff::tz::TimeZone) -> Self {
        Self {
            began,
            zone,
            hosts: hosts.to_vec(),
            rows: Vec::new(),
            marks: Vec::new(),
            typing: None,
            notice: None,
            chosen: 0,
            frozen: None,
            is_large: false,
            shows_histogram: false,
            shows_help: false,
            order: Order::Named,
            percentile: 0,
            step: 0,
        }
    }

    /// A further way; its number.
    pub fn add(&mut self, way: Way) -> usize {
        let (breakdown, notices) = (Breakdown::default(), Notices::default());
        let (standing, history) = (Standing::Starting, History::default());
        let refusals = Refusals::default();
        self.rows.push(Row {
            way,
            standing,
            history,
            breakdown,
            notices,
            is_stamped: false,
            refusals,
            failures: 0,
            began: None,
        });
        self.rows.len() - 1
    }

    /// Takes in what the process of way `number` said. Returns the changes that are noticed by that.
    pub fn take(&mut self, number: usize, line: Line) -> Vec<Change> {
        let began = self.began;
        let Some(row) = self.rows.get_mut(number) else { return Vec::new() };
        match line {
            Line::Start(start) => row.began = Some(start.started.timestamp()),
            Line::Second(second) => return row.second(began, &second),
            Line::End(_) => row.standing = Standing::Over,
            Line::Error(failure) => row.standing = Standing::Failed(told(&failure)),
            _ => {}
        }
        Vec::new()
    }

    /// The second before which all is known, or at which the screen stands still.
    pub fn end(&self) -> u64 {
        let latest = self.rows.iter().filter_map(|row| row.history.latest()).max();
        self.frozen.unwrap_or_else(|| latest.map_or(0, |at| at + 1))
    }

    /// The rows as they are ordered.
    pub fn ordered(&self) -> Vec<&Row> {
        let end = self.end();
        let now = |row: &Row| row.history.between(end.saturating_sub(NOW), end);
        let mut rows: Vec<&Row> = self.rows.iter().collect();
        match self.order {
            Order::Named => rows.sort_by_key(|row| self.hosts.iter().position(|host| *host == row.way.host)),
            Order::Slowest => {
                rows.sort_by_cached_key(|row| std::cmp::Reverse(now(row).times.quantile(self.percentile())));
            }
            Order::Lossiest => rows.sort_by(|one, other| {
                let share = |row: &Row| now(row).lost_share().unwrap_or(-1.0);
                share(other).total_cmp(&share(one))
            }),
        }
        rows
    }

    /// The row that was chosen.
    pub fn chosen(&self) -> Option<&Row> {
        self.ordered().get(self.chosen).copied()
    }

    /// The percentile that was chosen, 0 to 1.
    pub fn percentile(&self) -> f64 {
        PERCENTILES[self.percentile]
    }

    /// Seconds of a column.
    pub fn step(&self) -> u64 {
        STEPS[self.step]
    }

    /// The second of the watch that is `second` since 1970; 0 before it.
    pub fn second(&self, second: u64) -> u64 {
        second.saturating_sub(unix(self.began))
    }

    /// The wall-clock time of second `at`, as `14:02:10`.
    pub fn clock(&self, at: u64) -> String {
        let moment = self.began.saturating_add(Duration::from_secs(at)).unwrap_or(self.began);
        moment.to_zoned(self.zone.clone()).strftime("%H:%M:%S").to_string()
    }

    /// Goes to another row.
    pub fn move_by(&mut self, by: isize) {
        self.chosen = self.chosen.saturating_add_signed(by).min(self.rows.len().saturating_sub(1));
    }

    /// Takes the next percentile.
    pub fn next_percentile(&mut self) {
        self.percentile = (self.percentile + 1) % PERCENTILES.len();
    }

    /// More time in a column, or less.
    pub fn zoom(&mut self, by: isize) {
        self.step = self.step.saturating_add_signed(by).min(STEPS.len() - 1);
    }

    /// Takes the next order.
    pub fn next_order(&mut self) {
        self.order = match self.order {
            Order::Named => Order::Slowest,
            Order::Slowest => Order::Lossiest,
            Order::Lossiest => Order::Named,
        };
    }

    /// Stands still, or goes on.
    pub fn freeze(&mut self) {
        self.frozen = if self.frozen.is_some() { None } else { Some(self.end()) };
    }

    /// Begins a mark at `now`, whose words are typed next.
    pub fn begin_mark(&mut self, now: Timestamp) {
        self.typing = Some(Mark { at: since(self.began, now), text: String::new() });
    }

    /// Keeps the mark that was typed.
    pub fn keep_mark(&mut self) {
        let Some(mut mark) = self.typing.take() else { return };
        if mark.text.trim().is_empty() {
            mark.text = format!("mark {}", self.marks.len() + 1);
        }
        self.marks.push(mark);
    }
}

impl Row {
    /// A process of it has failed: so long is waited before the next is started.
    pub fn pause(&mut self) -> Duration {
        let doublings = self.failures.min(16);
        self.failures = self.failures.saturating_add(1);
        match self.way.protocol {
            Protocol::Application => AGAIN.saturating_mul(1 << doublings).min(LONGEST),
            Protocol::Tcp | Protocol::Udp | Protocol::Icmp | Protocol::TcpConnect => AGAIN,
        }
    }

    /// Takes in a second; `began` is when the watch did.
    fn second(&mut self, began: Timestamp, told: &ThreadSecond) -> Vec<Change> {
        let Some(start) = self.began else { return Vec::new() };
        let at = start.saturating_add(Duration::from_nanos(told.second.at_ns.0)).unwrap_or(start);
        let times = told.histogram.as_deref().and_then(Distribution::of).unwrap_or_default();
        let span = Span { counts: told.second.counts, times, max: told.second.max_ns, ..Span::default() };
        self.standing = Standing::Measuring;
        let second = since(began, at);
        if told.second.counts.answered > 0 {
            self.failures = 0;
        }
        self.refusals.push(second, &told.replies);
        self.history.push(second, &span);
        let is_disturbed = self.breakdown.push(second, told);
        self.notices.take(unix(began) + second, is_disturbed, &span)
    }
}

/// Seconds since 1970; 0 before.
fn unix(at: Timestamp) -> u64 {
    u64::try_from(at.as_second()).unwrap_or(0)
}

/// Whole seconds from `began` to `at`; 0 where that is before.
fn since(began: Timestamp, at: Timestamp) -> u64 {
    u64::try_from(at.duration_since(began).as_secs()).unwrap_or(0)
}

/// A failure in one line.
fn told(failure: &Failure) -> String {
    failure.what.lines().next().unwrap_or("failed").to_owned()
}
