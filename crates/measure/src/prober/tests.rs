//! The machine over a path whose every fault is known, in virtual time.

use super::*;

const TIMEOUT: Nanos = Nanos::millis(400);
const RTT: Nanos = Nanos::millis(3);
/// The wall clock's start: 300 ms before a second ends.
const WALL: i128 = 1_000_000_700_000_000;

/// Planted result of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Path {
    Sound,
    Twice,
    LostOut,
    LostBack,
    After(Nanos),
    Refused,
    Corrupt,
    NoRoom,
}

/// A far end that counts, behind a path: request `seq` of cell `cell` meets `path(cell, seq)`.
struct World<F> {
    prober: Prober,
    path: F,
    now: Instant,
    replies: BTreeMap<(Instant, u64), (Request, u32)>,
    received: BTreeMap<CellId, u32>,
    told: Vec<Second>,
}

impl<F: Fn(CellId, u64) -> Path> World<F> {
    fn new(cells: u32, every: Nanos, path: F) -> Self {
        let mut prober = Prober::new(TIMEOUT, 5);
        for cell in 0..cells {
            prober.add(cell, every);
            prober.count_from(cell, Some(0));
            prober.begin(cell, Instant(0));
        }
        let (replies, received) = (BTreeMap::new(), BTreeMap::new());
        Self { prober, path, now: Instant(0), replies, received, told: Vec::new() }
    }

    fn run(&mut self, until: Instant, ahead: impl Fn(Instant) -> i128) {
        loop {
            let reply = self.replies.first_key_value().map_or(Instant::NEVER, |((at, _), _)| *at);
            self.now = reply.min(self.prober.next());
            if self.now > until {
                return;
            }
            while let Some((key, (request, count))) = self.replies.first_key_value().map(|(key, reply)| (*key, *reply))
            {
                if key.0 > self.now {
                    break;
                }
                self.replies.remove(&key);
                self.prober.reply(request.cell, request.seq, key.0, Some(count));
            }
            let now = self.now;
            while let Some(request) = self.prober.due(now, || ahead(now)) {
                self.ask(request);
            }
            while let Some(second) = self.prober.told(now, || ahead(now)) {
                self.told.push(second);
            }
        }
    }

    fn ask(&mut self, request: Request) {
        self.prober.sent(request.cell, request.seq, self.now);
        let path = (self.path)(request.cell, request.seq);
        let mut count = || {
            let received = self.received.entry(request.cell).or_default();
            *received += 1;
            *received
        };
        match path {
            Path::NoRoom => self.prober.end(request.cell, request.seq, End::Unsent(Fate::SendFailed)),
            Path::Refused => self.prober.end(request.cell, request.seq, End::Refused),
            Path::LostOut => {}
            Path::LostBack => drop(count()),
            Path::Corrupt => {
                count();
                self.prober.end(request.cell, request.seq, End::Corrupt);
            }
            Path::Sound | Path::Twice | Path::After(_) => {
                let took = if let Path::After(took) = path { took } else { RTT };
                let copies = if path == Path::Twice { 2 } else { 1 };
                let count = count();
                for copy in 0..copies {
                    let key = (self.now.after(took).after(Nanos(copy)), request.seq << 8 | u64::from(request.cell));
                    self.replies.insert(key, (request, count));
                }
            }
        }
    }

    /// All of a cell together.
    fn sum(&self, cell: CellId) -> Tally {
        let mut sum = Tally::default();
        for tally in self.told.iter().filter_map(|second| second.tallies.get(&cell)) {
            sum.lost += tally.lost;
            sum.lost_out += tally.lost_out;
            sum.lost_back += tally.lost_back;
            sum.late += tally.late;
            sum.refused += tally.refused;
            sum.corrupt += tally.corrupt;
            sum.send_failed += tally.send_failed;
            sum.duplicated += tally.duplicated;
            sum.times.extend(&tally.times);
        }
        sum
    }
}

fn usual(_: Instant) -> i128 {
    WALL
}

#[test]
fn each_request_has_the_fate_that_was_injected_and_losses_their_direction() {
    let path = |_: CellId, seq: u64| match seq % 20 {
        // In a run with losses both ways, the first ones count as lost out.
        2 | 17 => Path::LostOut,
        5 | 6 | 18 => Path::LostBack,
        9 => Path::Twice,
        10 => Path::After(Nanos::millis(500)),
        13 => Path::Refused,
        14 => Path::Corrupt,
        16 => Path::NoRoom,
        _ => Path::Sound,
    };
    let mut world = World::new(3, Nanos::millis(20), path);
    world.run(Instant(61_000_000_000), usual);
    for cell in 0..3 {
        let sum = world.sum(cell);
        let due = sum.due();
        assert!((2_900..=3_050).contains(&due), "{due}");
        // Several whole rounds of 20, and a part of one.
        let injected = |fates: &[u64]| (0..due).filter(|seq| fates.contains(&(seq % 20))).count() as u64;
        assert_eq!(sum.lost, injected(&[2, 5, 6, 17, 18]));
        assert_eq!((sum.lost_out, sum.lost_back), (injected(&[2, 17]), injected(&[5, 6, 18])));
        assert_eq!((sum.late, sum.refused), (injected(&[10]), injected(&[13])));
        assert_eq!((sum.corrupt, sum.send_failed, sum.duplicated), (injected(&[14]), injected(&[16]), injected(&[9])));
        assert!(sum.times.iter().all(|took| *took == RTT));
    }
}

#[test]
fn seconds_are_told_once_in_order_each_as_soon_as_all_in_it_has_its_fate() {
    let mut world = World::new(2, Nanos::millis(100), |_, _| Path::Sound);
    world.run(Instant(5_000_000_000), usual);
    let names: Vec<(u64, u64)> = world.told.iter().map(|second| (second.number, second.at)).collect();
    assert_eq!(names, [(0, 1_000_000), (1, 1_000_001), (2, 1_000_002), (3, 1_000_003), (4, 1_000_004)]);
    assert_eq!(world.told[1].tallies[&0].due(), 10, "ten a second");
    assert!(world.told.iter().all(|second| second.slip == Some(Nanos::ZERO)));
    // A silent peer has them told two timeouts later.
    let mut silent = World::new(1, Nanos::millis(100), |_, _| Path::LostOut);
    silent.run(Instant(2_000_000_000), usual);
    assert_eq!(silent.told.len(), 1);
    silent.run(Instant(2_200_000_000), usual);
    assert_eq!(silent.told.len(), 2, "its end at 1.3 s and 0.8 s");
    let unknown = silent.sum(0);
    assert_eq!((unknown.lost_out, unknown.lost_back, unknown.lost), (0, 0, unknown.due()), "nobody told which way");
}

#[test]
fn a_wall_clock_that_steps_moves_no_request() {
    let step =
        |seconds: i128| move |now: Instant| if now.0 < 3_000_000_000 { WALL } else { WALL + seconds * 1_000_000_000 };
    let told = |seconds| {
        let mut world = World::new(1, Nanos::millis(50), |_, _| Path::Sound);
        world.run(Instant(8_000_000_000), step(seconds));
        world.told
    };
    let plain: Vec<u64> = told(0).iter().map(|second| second.tallies[&0].due()).collect();
    for seconds in [3_600, -2, -3_600] {
        let told = told(seconds);
        assert_eq!(told.iter().map(|second| second.tallies[&0].due()).collect::<Vec<_>>(), plain, "{seconds} s");
        assert!(told.windows(2).all(|pair| pair[0].at <= pair[1].at && pair[0].number + 1 == pair[1].number));
        let last = told[7].at;
        assert_eq!(
            last,
            if seconds > 0 {
                1_003_607
            } else if seconds == -2 {
                1_000_005
            } else {
                1_000_003
            }
        );
    }
}

#[test]
fn a_prober_that_was_held_up_says_so_and_sends_no_burst() {
    let mut prober = Prober::new(TIMEOUT, 1);
    prober.add(7, Nanos::millis(100));
    prober.begin(7, Instant(0));
    let take = |prober: &mut Prober, now: u64| {
        let (mut sent, mut told) = (0, Vec::new());
        while let Some(request) = prober.due(Instant(now), || WALL) {
            prober.sent(7, request.seq, Instant(now));
            prober.reply(7, request.seq, Instant(now + 1_000), None);
            sent += 1;
        }
        while let Some(second) = prober.told(Instant(now), || WALL) {
            told.push(second);
        }
        (sent, told)
    };
    let (sent, told) = take(&mut prober, 5_000_000_000);
    let failed: u64 = told.iter().map(|second| second.tallies[&7].send_failed).sum();
    assert!(sent <= 5 && failed >= 42, "{sent} sent, {failed} not");
    assert!(told.iter().all(|second| second.slip > Some(Nanos::millis(100))));
    // Longer: nothing was measured, and nothing is made up.
    let (sent, told) = take(&mut prober, 3_600_000_000_000);
    assert_eq!((sent, told.len()), (0, 1), "what had begun before");
    assert!(prober.next() <= Instant(3_600_200_000_000));
}

#[test]
fn a_host_that_is_asked_no_more_is_told_to_its_end_and_forgotten() {
    let mut world = World::new(2, Nanos::millis(100), |cell, _| if cell == 1 { Path::LostBack } else { Path::Sound });
    world.run(Instant(1_000_000_000), usual);
    world.prober.remove(1);
    world.run(Instant(9_000_000_000), usual);
    assert!(world.sum(1).lost >= 9 && !world.prober.knows(1) && world.prober.knows(0));
    assert!(world.told.last().unwrap().tallies.keys().eq([&0]));
    world.prober.remove(0);
    assert!(world.prober.next() <= Instant(10_000_000_000), "what is under way is told");
    world.run(Instant(20_000_000_000), usual);
    assert!(world.told.iter().all(|second| !second.tallies.is_empty()), "and nothing is told of nobody");
    assert_eq!(world.prober.next(), Instant::NEVER, "nothing is left to wait for");
}

#[test]
fn memory_does_not_grow_with_time() {
    let mut world = World::new(4, Nanos::millis(10), |_, seq| if seq % 3 == 0 { Path::LostOut } else { Path::Sound });
    for minute in 1..=5 {
        world.run(Instant(minute * 60_000_000_000), usual);
        world.told.clear();
        assert!(world.prober.seconds.len() <= 3);
        assert!(world.prober.cells.values().all(|cell| cell.requests.len() <= 300));
        assert!(world.prober.due.len() <= 4);
    }
}
