//! The rounds: every way is asked once in each, in an order and at instants that are drawn anew for each.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use endpoint::control::Credential;
use endpoint::stop::Stop;
use measure::event::Exchange;
use measure::look::course::Course;
use measure::look::{Leg, Sums, together};
use measure::method::{Carrier, Method, Schedule, Stop as StopAt};
use measure::outcome::change::Change;
use measure::outcome::dark::Dark;
use measure::outcome::periodic::Periodic;
use measure::unit::Nanos;
use measure::verdict::Warning;
use measure::verdict::judge::{self, SentAgain};

use crate::command::look::asking::{Pace, Told, ask, method};
use crate::command::look::ways::Way;
use crate::output::Output;
use crate::system::drawn_seed;

/// The interval at which the line on the terminal is renewed.
const RENEWED: Duration = Duration::from_millis(250);
/// Connections of a way in each part, asked in turn. All of a part go the same of two equal paths once in eight times; two parts have eight.
const FLOWS: u32 = 4;

/// All ways, and what is known of each so far.
#[derive(Debug)]
pub struct Rounds {
    interval: Nanos,
    tracks: Vec<Track>,
    /// Parts that were begun.
    parts: u32,
    live: Arc<Mutex<Live>>,
}

/// The facts of one way beside its exchanges.
#[derive(Clone, Debug)]
struct Track {
    way: Way,
    method: Option<Method>,
    told: Told,
    trouble: Option<String>,
}

/// The exchanges so far, for whoever looks meanwhile.
#[derive(Debug)]
pub struct Live {
    names: Vec<String>,
    courses: Vec<Course>,
}

/// The means of asking.
#[derive(Clone, Copy)]
pub struct Means<'a> {
    /// The key of a reflector.
    pub key: Option<&'a Credential>,
    /// True where the user wants the end.
    pub stop: &'a Stop,
    /// Output of the line on the terminal.
    pub output: &'a Output,
}

impl Rounds {
    /// No round yet, of these ways.
    pub fn new(ways: Vec<Way>, interval: Nanos, live: Arc<Mutex<Live>>) -> Self {
        let track = |way: Way| Track { trouble: way.trouble.clone(), way, method: None, told: Told::default() };
        let tracks: Vec<Track> = ways.into_iter().map(track).collect();
        {
            let mut live = live.lock().unwrap_or_else(PoisonError::into_inner);
            live.courses = vec![Course::new(interval); tracks.len()];
            live.names = tracks.iter().map(Track::name).collect();
        }
        Self { interval, tracks, parts: 0, live }
    }

    /// The ways that can be asked, by their places: one that fell silent is not waited for again.
    fn open(&self) -> Vec<usize> {
        let live = lock(&self.live);
        let answers = |place: usize| {
            let course = std::slice::from_ref(&live.courses[place]);
            !together::dark(course).is_some_and(|dark| dark.to_the_end)
        };
        (0..self.tracks.len()).filter(|place| self.tracks[*place].trouble.is_none() && answers(*place)).collect()
    }

    /// True where the way of a leg can be asked.
    pub fn is_open(&self, leg: usize) -> bool {
        self.open().contains(&leg)
    }

    /// Asks by all ways that can be, for so long, over connections of its own.
    pub fn part(&mut self, length: Nanos, means: Means<'_>) {
        let open = self.open();
        // The parts have the two halves of the intervals by turns.
        let seed = drawn_seed() & !1 | u64::from(self.parts % 2);
        let paces = self.paces(open.len(), length, seed);
        let first_flow = FLOWS * self.parts;
        self.parts += 1;
        let errand = |(place, pace): (&usize, Pace)| {
            let way = self.tracks[*place].way.clone();
            Errand { place: *place, method: method(&way, &pace), way, first_flow }
        };
        let errands: Vec<Errand> = open.iter().zip(paces).map(errand).collect();
        for End { place, asked } in carry_out(errands, &self.live, means) {
            self.tracks[place].took(asked);
        }
    }

    /// Times at which each of so many ways is asked: in slots that none of them keeps, so that what comes with the clock does not meet one alone.
    fn paces(&self, count: usize, length: Nanos, seed: u64) -> Vec<Pace> {
        let slots = u32::try_from(count).unwrap_or(u32::MAX);
        // Rounds begin with intervals of the clock: the first with the next one.
        let end = StopAt {
            count: Some((length.0 / self.interval.0.max(1)).max(1)),
            after_ns: Some(Nanos(length.0.saturating_add(self.interval.0))),
            ..StopAt::default()
        };
        let pace = |slot: u32| Pace {
            schedule: Schedule::Slots { interval_ns: self.interval, slots, slot },
            end: end.clone(),
            seed,
            flows: FLOWS,
        };
        (0..slots).map(pace).collect()
    }

    /// The legs as they stand.
    pub fn legs(&self) -> Vec<Leg> {
        let live = lock(&self.live);
        let dark = together::dark_apart(&live.courses);
        self.tracks.iter().zip(&live.courses).zip(dark).map(|((track, course), dark)| track.leg(course, dark)).collect()
    }

    /// Time in which nobody answered, and replies that came back at even distances.
    pub fn together(&self) -> (Option<Dark>, Option<Periodic>) {
        let live = lock(&self.live);
        (together::dark(&live.courses), together::periodic(&live.courses))
    }

    /// A period that so few rounds do not show surely.
    pub fn supposed_period(&self) -> Option<Periodic> {
        together::supposed_period(&lock(&self.live).courses)
    }

    /// Moment at which the leg `believed`, and others with it, took another time.
    pub fn change(&self, believed: usize) -> Option<Change> {
        together::change(&lock(&self.live).courses, believed)
    }

    /// The hosts' effects on the rounds, each once for each reason, and the losses that TCP hid.
    pub fn warnings(&self) -> Vec<Warning> {
        let mut machines: Vec<Warning> = Vec::new();
        for warning in self.tracks.iter().flat_map(|track| &track.told.machines) {
            let alike = |other: &Warning| (other.kind(), other.busy_end()) == (warning.kind(), warning.busy_end());
            if !machines.iter().any(alike) {
                machines.push(warning.clone());
            }
        }
        machines.extend(self.retransmitted());
        machines
    }

    /// True where a program that was asked at an address of this host says that it runs on another.
    pub fn is_carried_on(&self) -> bool {
        let mut told = self.tracks.iter().flat_map(|track| &track.told.machines);
        told.any(|warning| matches!(warning, Warning::CarriedOn { .. }))
    }

    fn retransmitted(&self) -> Option<Warning> {
        let live = lock(&self.live);
        let over_tcp = self.tracks.iter().zip(&live.courses).filter(|(track, _)| track.way.carrier == Carrier::Tcp);
        let (again, asked) = over_tcp.fold((SentAgain::default(), 0), |(again, asked), (track, course)| {
            (again.and(track.told.again), asked + course.ended())
        });
        judge::retransmitted(again, asked)
    }

    /// The way of a leg.
    pub fn way(&self, leg: usize) -> &Way {
        &self.tracks[leg].way
    }

    /// True where any way can be asked.
    pub fn has_open(&self) -> bool {
        !self.open().is_empty()
    }
}

/// A way that is to be asked.
struct Errand {
    place: usize,
    way: Way,
    method: Result<Method, String>,
    /// The number of its first connection.
    first_flow: u32,
}

/// The result.
struct End {
    place: usize,
    asked: Result<(Method, Told), String>,
}

/// Asks by all ways at once, each on a thread of its own, and renews the line on the terminal meanwhile.
fn carry_out(errands: Vec<Errand>, live: &Mutex<Live>, means: Means<'_>) -> Vec<End> {
    let (done, ended) = channel();
    let mut ends = Vec::new();
    thread::scope(|scope| {
        let mut running = 0;
        for Errand { place, way, method, first_flow } in errands {
            let done = done.clone();
            let body = move || {
                let asked = method.and_then(|method| {
                    let mut hear =
                        |exchange: Exchange| lock(live).courses[place].take(&exchange, first_flow + exchange.flow);
                    let told = ask(&way, &method, means.key, means.stop, &mut hear);
                    told.map(|told| (method, told)).map_err(|error| error.to_string())
                });
                // The other end waits until all have sent.
                let _ = done.send(End { place, asked });
            };
            match thread::Builder::new().name(format!("sonde-look-{place}")).spawn_scoped(scope, body) {
                Ok(_) => running += 1,
                Err(error) => ends.push(End { place, asked: Err(format!("no thread to ask with: {error}")) }),
            }
        }
        while running > 0 {
            match ended.recv_timeout(RENEWED) {
                Ok(end) => {
                    ends.push(end);
                    running -= 1;
                }
                Err(RecvTimeoutError::Timeout) if means.output.shows_progress() => {
                    means.output.progress(&lock(live).line(means.output.style().width));
                }
                Err(_) => {}
            }
        }
    });
    ends
}

fn lock(live: &Mutex<Live>) -> std::sync::MutexGuard<'_, Live> {
    live.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Track {
    fn name(&self) -> String {
        let leg = self.leg(&Course::new(Nanos(1)), None);
        leg.port.map_or_else(|| leg.name().to_owned(), |port| format!("{} :{port}", leg.name()))
    }

    fn took(&mut self, result: Result<(Method, Told), String>) {
        match result {
            Ok((method, told)) => {
                self.method.get_or_insert(method);
                let (peer, ttl) = (told.peer.or(self.told.peer), told.ttl.or(self.told.ttl));
                let machines = self.told.machines.drain(..).chain(told.machines).collect();
                let again = self.told.again.and(told.again);
                let reply = told.reply.or(self.told.reply.take());
                self.told = Told { peer, ttl, reply, machines, again };
            }
            Err(why) => self.trouble = Some(why),
        }
    }

    fn leg(&self, course: &Course, dark: Option<Dark>) -> Leg {
        let Self { way, method, told, trouble } = self;
        Leg {
            address: way.address,
            carrier: way.carrier,
            who: way.who,
            port: way.port(),
            method: method.clone().map(Box::new),
            trouble: trouble.clone(),
            sums: if course.ended() > 0 { course.sums() } else { Sums::default() },
            peer_ns: told.peer,
            ttl: told.ttl,
            reply: told.reply.clone(),
            dark,
            exchanges: course.exchanges(),
        }
    }
}

impl Live {
    /// Nothing yet.
    pub fn nothing() -> Arc<Mutex<Self>> {
        Arc::new(Mutex::new(Self { names: Vec::new(), courses: Vec::new() }))
    }

    /// The medians so far, within so many cells.
    pub fn line(&self, width: usize) -> String {
        let medians = self.names.iter().zip(&self.courses);
        let medians = medians.filter_map(|(name, course)| Some(format!("{name} {}", course.median()?)));
        let mut line = String::new();
        for item in medians {
            if line.chars().count() + item.chars().count() + 8 > width {
                break;
            }
            line.push_str(if line.is_empty() { "" } else { " · " });
            line.push_str(&item);
        }
        if line.is_empty() { "asking".to_owned() } else { line }
    }

    /// The same with a line end, for whoever asked by a signal.
    pub fn interim(live: &Mutex<Self>) -> String {
        format!("so far: {}\n", lock(live).line(usize::MAX))
    }
}
