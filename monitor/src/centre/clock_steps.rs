//! Effects of steps of an agent's clock on its history, in virtual time: the machine that schedules the requests, the
//! centre's reading of its seconds, and a real store.

use logbook::monitor::talk::{CellBeat, Health, Hello, Over};
use measure::prober::Prober;
use measure::prober::second::Tally;
use measure::unit::{Instant, Nanos};
use tempfile::TempDir;
use test_case::test_case;
use uuid::Uuid;

use super::host::Host;
use super::pending::{Pending, Taken};
use crate::store::sqlite::SqliteStore;
use crate::store::{Batch, Cell, LATEST, Level, Purpose, Store};

const SECOND: u64 = 1_000_000_000;
/// Begin of the story, by a clock that is right: at the start of a minute.
const BEGIN: u64 = 1_764_115_200;
/// The step comes after so many seconds.
const STEP: u64 = 600;
/// Time for which a line is away, seconds.
const AWAY: u64 = 20;

/// An agent whose clock is stepped, and a centre whose clock is right.
struct Story {
    /// Seconds by which the clock is stepped, forward or back.
    by: i64,
    prober: Prober,
    host: Host,
    pending: Pending,
    store: SqliteStore,
    _folder: TempDir,
    /// Beats that the agent has, by their numbers from 1.
    beats: Vec<(u64, CellBeat)>,
    /// The last of them that the centre heard, and the last that the store has.
    heard: u64,
    kept: u64,
}

impl Story {
    fn new(by: i64) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(&folder.path().join("monitor.db"), Purpose::Keep).unwrap();
        let mut prober = Prober::new(Nanos(SECOND), 7);
        prober.add(0, Nanos(SECOND));
        prober.begin(0, Instant(0));
        let mut story = Self {
            by,
            prober,
            host: Host::new(0, BEGIN),
            pending: Pending::default(),
            store,
            _folder: folder,
            beats: Vec::new(),
            heard: 0,
            kept: 0,
        };
        story.connect(Instant(0));
        story
    }

    /// Distance of the agent's wall clock ahead of its monotonic one, nanoseconds.
    fn ahead(&self, now: Instant) -> i128 {
        let step = if now.0 >= STEP * SECOND { self.by } else { 0 };
        (i128::from(BEGIN) + i128::from(step)) * i128::from(SECOND)
    }

    /// The centre comes, first or again: what is not kept is told anew.
    fn connect(&mut self, now: Instant) {
        let centre_ns = BEGIN * SECOND + now.0;
        let hello = Hello {
            version: 1,
            program: "sonde".to_owned(),
            program_version: "0.1.0".to_owned(),
            instance: Uuid::nil(),
            oldest: None,
            given_up: 0,
            revision: None,
            boot_id: None,
            wall_ns: u64::try_from(self.ahead(now) + i128::from(now.0)).unwrap(),
        };
        self.host.hello(&hello, centre_ns);
        self.pending.begin(Uuid::nil(), self.kept);
        for seq in self.kept + 1..=self.beats.len() as u64 {
            self.tell(seq, now);
        }
    }

    fn tell(&mut self, seq: u64, now: Instant) {
        let (at, cell) = &self.beats[seq as usize - 1];
        let now = BEGIN + now.0 / SECOND;
        let second = self.host.second_of(*at, now);
        assert!(second <= now + 5, "{second} is in the future of {now}");
        let span = cell.span(&Health::default());
        let named = [(cell.to.as_str(), Over::Udp, &span)].into_iter();
        let taken = if seq > self.heard { Taken::Gathered } else { Taken::Again };
        assert_eq!(self.pending.take(Uuid::nil(), (seq, second), "a", named), taken);
        self.heard = self.heard.max(seq);
    }

    fn keep(&mut self) {
        let parts = self.pending.hand_over();
        self.kept = parts.iter().map(|part| part.last).max().unwrap_or(self.kept);
        let count = parts.len();
        self.store.keep(&Batch { parts, ..Batch::default() }).unwrap();
        self.pending.settled(count);
    }

    /// Goes on for so many seconds; the last [`AWAY`] of each `broken` seconds there is no line. Returns the requests that
    /// were due, and those of them that were lost.
    fn run(&mut self, seconds: u64, broken: Option<u64>) -> (u64, u64) {
        let (mut due, mut lost, mut was_away) = (0, 0, false);
        loop {
            let now = self.prober.next();
            if now >= Instant(seconds * SECOND) {
                break;
            }
            let ahead = self.ahead(now);
            while let Some(request) = self.prober.due(now, || ahead) {
                self.prober.sent(request.cell, request.seq, now);
                due += 1;
                if request.seq % 10 == 3 {
                    lost += 1;
                } else {
                    self.prober.reply(request.cell, request.seq, now.after(Nanos::millis(1)), None);
                }
            }
            let is_away = broken.is_some_and(|every| now.0 / SECOND % every >= every - AWAY);
            self.book(now);
            if !is_away {
                if was_away {
                    self.connect(now);
                }
                (self.heard + 1..=self.beats.len() as u64).for_each(|seq| self.tell(seq, now));
                self.keep();
            }
            was_away = is_away;
        }
        // Requests under way come to their end.
        let end = Instant((seconds + 3) * SECOND);
        self.prober.remove(0);
        self.book(end);
        self.connect(end);
        self.pending.close_before(u64::MAX);
        self.keep();
        (due, lost)
    }

    /// Makes beats of the seconds that are over.
    fn book(&mut self, now: Instant) {
        let ahead = self.ahead(now);
        while let Some(second) = self.prober.told(now, || ahead) {
            let cell = second.tallies.get(&0).map(told).unwrap_or_default();
            self.beats.push((second.at, CellBeat { to: "b".to_owned(), ..cell }));
            assert_eq!(second.number + 1, self.beats.len() as u64);
        }
    }
}

fn told(tally: &Tally) -> CellBeat {
    let times_ns = tally.times.iter().map(|took| took.0).collect();
    CellBeat { lost: tally.lost, times_ns, ..CellBeat::default() }
}

#[test_case(86_400, 3_000, None; "a day forward")]
#[test_case(-3_600, 6_000, None; "an hour back")]
#[test_case(-3, 1_500, None; "three seconds back")]
#[test_case(86_400, 3_000, Some(170); "a day forward, over many lines")]
#[test_case(-3_600, 6_000, Some(170); "an hour back, over many lines")]
fn each_beat_is_kept_once_whatever_the_clock_of_its_agent_does(by: i64, seconds: u64, broken: Option<u64>) {
    let mut story = Story::new(by);
    let (due, lost) = story.run(seconds, broken);
    assert!((seconds - 3..=seconds).contains(&due) && lost > due / 11, "{due}, {lost}");
    let cell = Cell { from: "a".to_owned(), to: "b".to_owned(), over: Over::Udp };
    let rows = story.store.history(&cell, Level::Minute, 0, LATEST).unwrap();
    let sum = |of: fn(&measure::event::Counts) -> u64| rows.iter().map(|(_, span)| of(&span.counts)).sum::<u64>();
    assert_eq!((sum(|counts| counts.scheduled), sum(|counts| counts.lost)), (due, lost));
    let minutes: Vec<u64> = rows.iter().map(|(at, _)| *at).collect();
    assert!(minutes.iter().all(|at| (BEGIN..BEGIN + seconds + 60).contains(at)), "none in another time: {minutes:?}");
    if broken.is_none() {
        // And each is in its minute, but for those next to a boundary.
        assert_eq!(minutes, (0..minutes.len() as u64).map(|minute| BEGIN + minute * 60).collect::<Vec<_>>());
        let whole = &rows[..rows.len() - 1];
        assert!(whole.iter().all(|(_, span)| span.counts.scheduled.abs_diff(60) <= 4), "{rows:?}");
    }
}
