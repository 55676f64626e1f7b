//! The latest minutes of a cell, in as few octets as they need: a centre keeps those of tens of thousands of cells.

use std::collections::VecDeque;

use super::stream::Losses;

/// Steps of a cell that are kept, and slots of its requests.
const KEPT: usize = 128;

/// A step of a cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    slot: u32,
    slots: u16,
    above: u16,
    /// How far the logarithm of its median was from the level.
    pub off: f32,
    of: u32,
}

impl Step {
    /// The one that ended with `slot` and took so many slots, with its median's distance from the level, and its tail as [`Step::tail`] gives it.
    pub fn new(slot: u64, slots: u32, off: f64, (above, of): (u64, u64)) -> Self {
        let above = u16::try_from(above).unwrap_or(u16::MAX);
        Self { slot: slot as u32, slots: slots as u16, above, off: off as f32, of: of as u32 }
    }

    /// Its last slot.
    pub fn slot(&self) -> u64 {
        self.slot.into()
    }

    /// How many slots it took.
    pub fn slots(&self) -> u32 {
        self.slots.into()
    }

    /// Answers above the former 99th percentile, and of how many; 0 of 0 where the ends themselves were too often late.
    pub fn tail(&self) -> (u64, u64) {
        (self.above.into(), self.of.into())
    }
}

/// The latest steps.
pub type Steps = VecDeque<Step>;

/// Requests of the latest slots. Most slots lose none: of these no more than how many were sent is kept.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Requests {
    sound: VecDeque<(u32, u32)>,
    lossy: VecDeque<Lossy>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Lossy {
    slot: u32,
    sent: u32,
    lost: u32,
    out: u32,
    back: u32,
}

impl Requests {
    /// Keeps those of a slot, which comes after all that are kept.
    pub fn keep(&mut self, slot: u64, losses: &Losses) {
        if self.sound.len() + self.lossy.len() == KEPT {
            let first = |slot: Option<u32>| slot.unwrap_or(u32::MAX);
            if first(self.sound.front().map(|kept| kept.0)) < first(self.lossy.front().map(|kept| kept.slot)) {
                self.sound.pop_front();
            } else {
                self.lossy.pop_front();
            }
        }
        let number = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
        let Losses { sent, lost, out, back, .. } = *losses;
        if lost + out + back == 0 {
            self.sound.push_back((slot as u32, number(sent)));
        } else {
            let [sent, lost, out, back] = [sent, lost, out, back].map(number);
            self.lossy.push_back(Lossy { slot: slot as u32, sent, lost, out, back });
        }
    }

    /// Those of the slots that are kept, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (u64, Losses)> {
        let sound = self.sound.iter().map(|(slot, sent)| (*slot, [*sent, 0, 0, 0]));
        let lossy = self.lossy.iter().map(|kept| (kept.slot, [kept.sent, kept.lost, kept.out, kept.back]));
        sound.chain(lossy).map(|(slot, counts)| {
            let [sent, lost, out, back] = counts.map(u64::from);
            (u64::from(slot), Losses { sent, lost, out, back, ..Losses::default() })
        })
    }

    /// Forgets them.
    pub fn clear(&mut self) {
        self.sound.clear();
        self.lossy.clear();
    }
}

/// Keeps a step, and the latest before it.
pub fn keep(steps: &mut Steps, step: Step) {
    if steps.len() == KEPT {
        steps.pop_front();
    }
    steps.push_back(step);
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
    fn a_kept_minute_takes_few_octets() {
        assert_eq!((size_of::<Step>(), size_of::<(u32, u32)>(), size_of::<Lossy>()), (16, 8, 20));
    }
}
