//! The latest minutes of a cell, in as few octets as they need: a centre keeps those of tens of thousands of cells.

use std::collections::VecDeque;

use super::stream::Losses;

/// Steps of a cell that are kept, and slots of its requests.
const KEPT: usize = 128;

/// A step of a cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// Its last slot.
    pub slot: u64,
    /// Length of the step, a number of slots.
    pub slots: u32,
    /// Distance of the logarithm of its median from the level, to a 2,048th.
    pub off: f64,
    /// Answers above the former 99th percentile, and answers in all; 0 of 0 where the ends themselves were too often
    /// late. Numbers above 65,535 are scaled in proportion.
    pub tail: (u64, u64),
}

/// The grain of a logarithm: a fraction of the width of a bucket of [`crate::span::coarse`], and so fine that 16 bits hold a change by a factor of 8 million.
const GRAIN: f64 = 2_048.0;
/// Bits of a step's slots, of which it takes fewer than 128; the others have the slots between it and the step before.
const SLOTS: u32 = 7;

/// A step as it is kept.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Packed {
    slots: u16,
    off: i16,
    above: u16,
    of: u16,
}

impl Packed {
    /// Returns its length, and the distance to the step before, in slots.
    fn slots(self) -> (u32, u32) {
        let slots = u32::from(self.slots);
        (slots & ((1 << SLOTS) - 1), slots >> SLOTS)
    }
}

/// A logarithm as it is kept; one beyond what fits is the furthest that does.
fn grains(off: f64) -> i16 {
    (off * GRAIN).round() as i16
}

/// The latest steps.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Steps {
    kept: VecDeque<Packed>,
    /// Last slot of the latest.
    last: u64,
}

impl Steps {
    /// Keeps a step, which comes after all that are kept. Those before a pause of 42 minutes are forgotten.
    pub fn keep(&mut self, step: &Step) {
        let pause = step.slot.saturating_sub(self.last + u64::from(step.slots));
        let pause = u16::try_from(pause).ok().filter(|pause| pause.leading_zeros() >= SLOTS);
        if self.kept.len() == KEPT {
            self.kept.pop_front();
        }
        if pause.is_none() {
            self.kept.clear();
        }
        let (above, of) = step.tail;
        let number = |count: u64| (if of > 0xffff { count * 0xffff / of } else { count }) as u16;
        let slots = step.slots as u16 | pause.unwrap_or(0) << SLOTS;
        self.kept.push_back(Packed { slots, off: grains(step.off), above: number(above), of: number(of) });
        self.last = step.slot;
    }

    /// Those that are kept, the latest first.
    pub fn iter(&self) -> impl Iterator<Item = Step> {
        let mut slot = self.last;
        self.kept.iter().rev().map(move |kept| {
            let (slots, pause) = kept.slots();
            let (off, tail) = (f64::from(kept.off) / GRAIN, (kept.above.into(), kept.of.into()));
            let step = Step { slot, slots, off, tail };
            slot = slot.saturating_sub((slots + pause).into());
            step
        })
    }

    /// Has all of them further from the level by so much.
    pub fn shift(&mut self, by: f64) {
        self.kept.iter_mut().for_each(|kept| kept.off = kept.off.saturating_add(grains(by)));
    }

    /// Forgets them.
    pub fn clear(&mut self) {
        self.kept.clear();
    }
}

/// Requests of the latest slots. Most slots lose none: of these no more than how many were sent is kept.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Requests {
    /// The last 16 bits of the slot, and how many were sent.
    sound: VecDeque<(u16, u16)>,
    others: VecDeque<Other>,
    /// The latest slot.
    last: u32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Other {
    slot: u32,
    sent: u32,
    lost: u32,
    out: u32,
    back: u32,
}

impl Requests {
    /// Keeps those of a slot, which comes after all that are kept. Sound slots of three days ago are forgotten.
    pub fn keep(&mut self, slot: u64, losses: &Losses) {
        let slot = slot as u32;
        let is_far = |low: u16| slot.saturating_sub(self.slot(low)) > u16::MAX.into();
        let far = self.sound.iter().take_while(|(low, _)| is_far(*low)).count();
        self.sound.drain(..far);
        if self.sound.len() + self.others.len() == KEPT {
            let first = |slot: Option<u32>| slot.unwrap_or(u32::MAX);
            let sound = self.sound.front().map(|(low, _)| self.slot(*low));
            if first(sound) < first(self.others.front().map(|kept| kept.slot)) {
                self.sound.pop_front();
            } else {
                self.others.pop_front();
            }
        }
        let number = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
        let Losses { sent, lost, out, back, .. } = *losses;
        match u16::try_from(sent) {
            Ok(sent) if lost + out + back == 0 => self.sound.push_back((slot as u16, sent)),
            _ => {
                let [sent, lost, out, back] = [sent, lost, out, back].map(number);
                self.others.push_back(Other { slot, sent, lost, out, back });
            }
        }
        self.last = slot;
    }

    /// The slot that ends in these bits.
    fn slot(&self, low: u16) -> u32 {
        self.last - u32::from((self.last as u16).wrapping_sub(low))
    }

    /// Those of the slots that are kept, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (u64, Losses)> {
        let sound = self.sound.iter().map(|(low, sent)| (self.slot(*low), [u32::from(*sent), 0, 0, 0]));
        let others = self.others.iter().map(|kept| (kept.slot, [kept.sent, kept.lost, kept.out, kept.back]));
        sound.chain(others).map(|(slot, counts)| {
            let [sent, lost, out, back] = counts.map(u64::from);
            (u64::from(slot), Losses { sent, lost, out, back, ..Losses::default() })
        })
    }

    /// Forgets them.
    pub fn clear(&mut self) {
        self.sound.clear();
        self.others.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_slots_are_kept_as_they_were() {
        let mut kept = Requests::default();
        let losses = |slot: u64| match slot % 3 {
            0 => Losses { sent: 50, lost: 2, out: 1, back: 1, ..Losses::default() },
            _ => Losses { sent: slot, ..Losses::default() },
        };
        (0..1_000).for_each(|slot| kept.keep(slot, &losses(slot)));
        let mut found: Vec<(u64, Losses)> = kept.iter().collect();
        found.sort_unstable_by_key(|(slot, _)| *slot);
        assert_eq!(found, (872..1_000).map(|slot| (slot, losses(slot))).collect::<Vec<_>>());
        kept.clear();
        assert_eq!(kept.iter().count(), 0);
    }

    #[test]
    fn requests_are_found_at_their_slots_after_a_pause_and_however_many_they_are() {
        let mut kept = Requests::default();
        let slots = [(7_u64, 5_u64), (70_000, 70_000), (70_001, 6), (135_000, 7), (1 << 31, 8)];
        let mut found = |some: &[(u64, u64)]| {
            for (slot, sent) in some {
                kept.keep(*slot, &Losses { sent: *sent, ..Losses::default() });
            }
            let mut found: Vec<(u64, u64)> = kept.iter().map(|(slot, losses)| (slot, losses.sent)).collect();
            found.sort_unstable();
            found
        };
        assert_eq!(found(&slots[..4]), slots[1..4]);
        assert_eq!(found(&slots[4..]), [slots[1], slots[4]], "of three days before, what takes more room anyway");
    }

    #[test]
    fn the_latest_steps_are_kept_as_they_were() {
        let mut kept = Steps::default();
        let step = |k: u64| Step {
            slot: 1_000 + k * 40 + k % 2,
            slots: 6 + (k % 2) as u32,
            off: (k as f64 - 150.0) / 64.0,
            tail: (k % 3, 30 + k),
        };
        (0..200).for_each(|k| kept.keep(&step(k)));
        assert_eq!(kept.iter().collect::<Vec<_>>(), (72..200).rev().map(step).collect::<Vec<_>>());
        kept.shift(0.25);
        assert_eq!(kept.iter().next().unwrap().off, step(199).off + 0.25);
        // Values out of range become the furthest, large numbers of answers are scaled, and a long pause ends the steps before.
        kept.keep(&Step { slot: 20_000, slots: 1, off: -1e9, tail: (1_000, 100_000) });
        let found: Vec<Step> = kept.iter().collect();
        assert_eq!(found, [Step { slot: 20_000, slots: 1, off: -16.0, tail: (655, 65_535) }]);
    }

    #[test]
    fn a_kept_minute_takes_few_octets() {
        assert_eq!((size_of::<Packed>(), size_of::<(u16, u16)>(), size_of::<Other>()), (8, 4, 20));
    }
}
