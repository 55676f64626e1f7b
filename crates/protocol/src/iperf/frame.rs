//! Frames of isochronous datagrams: each datagram says of which frame it is, and how much of that is left.
//!
//! | octets of the block | |
//! |---|---|
//! | 0-3 | period, µs |
//! | 4-11 | when the first frame was begun: seconds and microseconds of the wall clock |
//! | 12-15 | number of the frame before; 0: there is none |
//! | 16-19 | number of the frame, from 1; one left out has a number too |
//! | 20-23 | octets of the frame |
//! | 24-27 | octets of it that are left, this datagram's included |
//! | 28-31 | |
//!
//! It stands where its client's version has it: see [`Layout`].

use measure::frames::{FrameCount, Frames};
use measure::unit::Nanos;

use super::time::{self, Stamp};
use super::word;

/// Octets of a block.
pub const BLOCK: usize = 32;

/// Place of the block in a datagram: 2.1 and 2.2 do not understand each other's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// At octet 76, as in 2.1.
    Plain,
    /// At octet 80, behind 2.2's barrier.
    Barred,
}

impl Layout {
    /// The block's first octet.
    pub const fn offset(self) -> usize {
        match self {
            Self::Plain => 76,
            Self::Barred => 80,
        }
    }

    /// The first octet behind the block: no datagram of a frame is shorter.
    pub const fn end(self) -> usize {
        self.offset() + BLOCK
    }
}

/// Frame of a datagram.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// Time from frame to frame, µs.
    pub period_us: u32,
    /// When the first was begun.
    pub start: Stamp,
    /// Number of the frame that was sent before; 0: none was.
    pub previous: u32,
    /// Number of the frame.
    pub number: u32,
    /// Octets of the frame.
    pub size: u32,
    /// Octets of it that are left, this datagram's included.
    pub left: u32,
}

impl Block {
    /// Reads the block of a datagram; `None` where there is none, or where it contradicts itself.
    pub fn read(datagram: &[u8], layout: Layout) -> Option<Self> {
        let [period_us, seconds, micros, previous, number, size, left] =
            word::read_all(datagram.get(layout.offset()..layout.end())?)?;
        let block = Self { period_us, start: Stamp { seconds, micros }, previous, number, size, left };
        let is_sound = previous < number && left > 0 && left <= size && micros < 1_000_000;
        is_sound.then_some(block)
    }

    /// Writes it into a datagram that has room for it.
    pub fn write(&self, datagram: &mut [u8], layout: Layout) {
        let Self { period_us, start, previous, number, size, left } = *self;
        let Some(place) = datagram.get_mut(layout.offset()..layout.end()) else { return };
        word::write_all(place, 0, &[period_us, start.seconds, start.micros, previous, number, size, left]);
    }
}

/// Frames that came to one end of a flow.
#[derive(Clone, Debug)]
pub struct Arrived {
    layout: Layout,
    latest: u32,
    count: FrameCount,
}

impl Arrived {
    /// Nothing has come yet of a flow whose blocks stand so.
    pub fn new(layout: Layout) -> Self {
        Self { layout, latest: 0, count: FrameCount::default() }
    }

    /// A datagram came at `arrived` by the wall clock. One that says nothing sound of a frame, or is of an earlier frame than
    /// the latest that came to its end, counts for none.
    pub fn arrive(&mut self, datagram: &[u8], arrived: Nanos) {
        let Some(block) = Block::read(datagram, self.layout) else { return };
        if block.left as usize != datagram.len() || block.number <= self.latest {
            return;
        }
        self.count.frames.carried += 1;
        // Those between that the client sent; what it left out itself nobody missed here.
        self.count.frames.missed += u64::from(block.previous.saturating_sub(self.latest));
        self.latest = block.number;
        let due = u64::from(block.period_us) * 1_000 * (u64::from(block.number) - 1);
        let due = Nanos(block.start.nanos().0.saturating_add(due));
        self.count.took(time::difference(arrived, due));
    }

    /// Returns the counts so far, with the times since this was asked last.
    pub fn sight(&mut self) -> Frames {
        self.count.sight()
    }

    /// Returns the counts so far, with all times.
    pub fn total(&self) -> Frames {
        self.count.total()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Nanos = Nanos(1_000_000_000_000);

    fn last(previous: u32, number: u32) -> Vec<u8> {
        let mut datagram = vec![0; 200];
        let start = Stamp::of(START);
        Block { period_us: 20_000, start, previous, number, size: 5_000, left: 200 }
            .write(&mut datagram, Layout::Barred);
        datagram
    }

    fn after(millis: u64) -> Nanos {
        Nanos(START.0 + millis * 1_000_000)
    }

    #[test]
    fn a_frame_has_come_with_its_last_datagram() {
        let mut frames = Arrived::new(Layout::Barred);
        let mut amid = last(0, 1);
        amid.push(0);
        frames.arrive(&amid, after(0));
        assert_eq!(frames.total(), Frames::default());
        frames.arrive(&last(0, 1), after(2));
        // The second never came to its end; the fourth was left out by its sender.
        frames.arrive(&last(2, 3), after(41));
        frames.arrive(&last(3, 5), after(80));
        let seen = frames.sight();
        assert_eq!((seen.carried, seen.missed), (3, 1));
        let transit = seen.transit.unwrap();
        assert_eq!((transit.count, transit.min_ns, transit.max_ns), (3, 0, 2_000_000));
        assert_eq!(frames.sight().transit, None);
        assert_eq!(frames.total().transit, Some(transit));
    }

    #[test]
    fn what_contradicts_itself_or_runs_backwards_counts_for_none() {
        let mut frames = Arrived::new(Layout::Barred);
        frames.arrive(&last(6, 7), after(120));
        let before = frames.total();
        for (previous, number) in [(6, 7), (4, 5), (0, 0), (9, 9), (9, 8), (u32::MAX, 0)] {
            frames.arrive(&last(previous, number), after(150));
        }
        for (place, value) in [(20, 0), (20, 199), (24, 0), (24, u32::MAX), (8, u32::MAX)] {
            let mut datagram = last(7, 8);
            word::write_all(&mut datagram, Layout::Barred.offset() + place, &[value]);
            frames.arrive(&datagram, after(150));
        }
        let whole = last(7, 8);
        (0..112).for_each(|length| frames.arrive(&whole[..length], after(150)));
        assert_eq!(frames.total(), before);
        frames.arrive(&last(u32::MAX - 1, u32::MAX), Nanos(u64::MAX));
        assert_eq!(frames.total().carried, 2);
    }
}
