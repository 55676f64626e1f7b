//! Ways whose payload is frames: each leaves when its time has come, in as many calls as it takes.

use measure::frames::{FrameClock, FrameCount, Sizes, Tick};
use measure::throughput::Sight;
use measure::unit::{Instant, Nanos};
use measure::varying::Spread;
use protocol::bulk::{Bulk, Call};
use protocol::iperf::frame::{Block, Layout};
use protocol::iperf::time::Stamp;
use protocol::link::Fault;

use super::tcp::wall;
use crate::clock::Monotonic;
use crate::pace;
use crate::random;
use crate::stop::GLANCE;

/// Frames of a test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frames {
    /// Frames a second.
    pub per_second: f64,
    /// Octets of each.
    pub content: Content,
    /// Time from datagram to datagram within a frame; zero: none.
    pub gap: Nanos,
}

/// Octets of frames, and what is said of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Isochronous: drawn about a rate. Datagrams say of which frame they are, where the layout has it.
    Varying(Spread, Layout),
    /// Bursts of so many octets, of which datagrams say nothing.
    Fixed(u32),
}

impl Frames {
    /// Time from frame to frame: whole microseconds, as the wire has them, and one at least.
    pub fn period(&self) -> Nanos {
        Nanos(((1e6 / self.per_second) as u64).max(1) * 1_000)
    }

    fn sizes(&self) -> Sizes {
        match self.content {
            Content::Fixed(octets) => Sizes::Same(octets),
            // The sizes need not be secret: a kernel without random octets gives the same ones each time.
            Content::Varying(spread, _) => {
                let seed = u64::from_be_bytes(random::bytes().unwrap_or_default());
                Sizes::drawn(spread, self.per_second, seed)
            }
        }
    }
}

/// A way that can send frames.
pub trait Cut: Bulk {
    /// Begins a frame, of which the calls that follow send the octets.
    fn begin_frame(&mut self, frame: &Block);

    /// Returns true where all of it has left.
    fn is_whole(&self) -> bool;
}

/// A way that sends frames.
pub struct Framed<W> {
    /// The way itself.
    pub way: W,
    clock: FrameClock,
    sizes: Sizes,
    gap: Nanos,
    block: Block,
    /// The present frame: its time, and whether it has begun.
    present: Option<(Tick, bool)>,
    /// The next call of it is no earlier.
    due: Instant,
    count: FrameCount,
}

impl<W: Cut> Framed<W> {
    /// Frames over `way`, the first when it is first called.
    pub fn new(way: W, frames: &Frames) -> Self {
        let period = frames.period();
        let block = Block { period_us: u32::try_from(period.0 / 1_000).unwrap_or(u32::MAX), ..Block::default() };
        Self {
            way,
            clock: FrameClock::new(period),
            sizes: frames.sizes(),
            gap: frames.gap,
            block,
            present: None,
            due: Instant(0),
            count: FrameCount::default(),
        }
    }

    fn begin_frame(&mut self, tick: Tick, late: Nanos) {
        let count = &mut self.count;
        count.frames.missed += u64::from(tick.missed);
        count.frames.slips += u64::from(tick.missed > 0);
        count.took(i64::try_from(late.0).unwrap_or(i64::MAX));
        let size = self.sizes.draw();
        let start = if self.block.number == 0 { Stamp::of(wall()) } else { self.block.start };
        self.block = Block { start, previous: self.block.number, number: tick.number, size, left: size, ..self.block };
        self.way.begin_frame(&self.block);
        self.present = Some((tick, true));
    }

    fn completed(&mut self) {
        if self.present.take_if(|(_, begun)| *begun).is_some() {
            self.count.frames.carried += 1;
        }
    }
}

impl<W: Cut> Bulk for Framed<W> {
    fn call(&mut self) -> Result<Call, Fault> {
        let now = Monotonic::now();
        let (tick, begun) = *self.present.get_or_insert_with(|| {
            let tick = self.clock.next(now);
            self.due = tick.due;
            (tick, false)
        });
        if let Some(early) = self.due.since(now).filter(|early| *early > Nanos::ZERO) {
            // No further than to the engine's next look.
            pace::sleep_until(now.after(early.min(GLANCE)));
            return Ok(Call::Nothing);
        }
        if !begun {
            self.begin_frame(tick, now.since(tick.due).unwrap_or_default());
        }
        let called = self.way.call()?;
        if let Call::Moved(_) = called {
            self.due = self.due.after(self.gap);
            if self.way.is_whole() {
                self.completed();
            }
        }
        Ok(called)
    }

    fn sight(&mut self) -> Sight {
        Sight { frames: Some(self.count.sight()), ..self.way.sight() }
    }

    fn begin(&mut self) -> Sight {
        Sight { frames: Some(self.count.sight()), ..self.way.begin() }
    }

    fn total(&mut self) -> Sight {
        Sight { frames: Some(self.count.total()), ..self.way.total() }
    }

    fn now(&self) -> Instant {
        Monotonic::now()
    }

    // The wait for a frame ends at an edge as often as not: an instant of some milliseconds ago would let it go by.

    fn sleep(&self, until: Instant) {
        pace::sleep_until(until);
    }

    fn spin(&self, _until: Instant) {
        std::hint::spin_loop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock;
    use crate::link::bulk::by_the_machines_clocks;

    /// A way that takes half of each frame at a time, and remembers the frames.
    #[derive(Default)]
    struct Halves {
        frames: Vec<Block>,
        left: u32,
    }

    impl Bulk for Halves {
        fn call(&mut self) -> Result<Call, Fault> {
            let taken = self.frames.last().map_or(0, |frame| frame.size / 2);
            self.left -= taken;
            Ok(Call::Moved(taken as usize))
        }

        by_the_machines_clocks!();
    }

    impl Cut for Halves {
        fn begin_frame(&mut self, frame: &Block) {
            self.frames.push(*frame);
            self.left = frame.size;
        }

        fn is_whole(&self) -> bool {
            self.left == 0
        }
    }

    #[test]
    fn a_sender_that_is_held_up_leaves_frames_out_and_counts_them() {
        let frames = Frames { per_second: 100.0, content: Content::Fixed(1_000), gap: Nanos::ZERO };
        let mut framed = Framed::new(Halves::default(), &frames);
        let two = |framed: &mut Framed<Halves>| {
            let mut moved = 0;
            while moved < 2 {
                moved += u32::from(matches!(framed.call(), Ok(Call::Moved(500))));
            }
        };
        two(&mut framed);
        // Three periods and more pass.
        pace::sleep_until(framed.due.after(Nanos::millis(35)));
        two(&mut framed);
        let told = framed.total().frames.unwrap();
        assert_eq!((told.carried, told.slips), (2, 1));
        let numbers: Vec<_> = framed.way.frames.iter().map(|frame| (frame.previous, frame.number)).collect();
        let second = 2 + u32::try_from(told.missed).unwrap();
        assert!(second >= 5, "{told:?}");
        assert_eq!(numbers, [(0, 1), (1, second)]);
        assert_eq!(told.transit.unwrap().count, 2);
    }
}
