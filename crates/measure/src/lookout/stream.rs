//! Memory of one cell, and of the cells of a part together: levels, evidence and the last minutes.

use serde::{Deserialize, Serialize};

use super::agent::{Own, Punctuality};
use super::culprit::median;
use super::evidence::Evidence;
use super::kept::{Requests, Step, Steps};
use super::level::Level;
use super::slot::SLOT;
use crate::span::Span;

/// Answers that a step needs for its median.
pub const ENOUGH: u64 = 30;
/// Slots after which a step that never got enough begins anew.
pub const PATIENCE: u32 = 120;
/// Rate of loss that is normal everywhere.
pub const NORMAL_LOSS: f64 = 1e-3;
/// Requests after which the loss of a cell is forgotten by half or more.
const LOSS_MEMORY: f64 = 50_000.0;
/// Most that one slot's losses multiply the evidence by: e cubed. A blip of all cells at once is no lasting loss.
pub const SLOT_MOST: f64 = 20.0;
/// Share of responses above the former 99th percentile that is normal, and that at most is no change.
pub const TAIL: (f64, f64) = (0.01, 0.03);
/// Smoothed distance beyond the slack that scores 1, a share of the slack: narrow, since normal fluctuation seldom goes
/// beyond the slack, and not far.
const WIDTH: f64 = 0.35;
/// Slots between two looks at how far a level is from its reference.
pub const CREEPS: u64 = 60;
/// Smallest distance of a level from its reference that is a change, as a logarithm; twice as far scores 1.
const CREPT: f64 = 0.15;
/// The same in mean distances of the last day: 3.5 standard deviations, where it strays by chance.
const STRAYED: f64 = 3.5 * 1.2533;
/// Looks of a day, and fewest of which it is known how far a level strays: six hours.
const STRAYS: (f64, u32) = (288.0, 72);
/// Evidence below which nothing is growing yet.
const GROWING: f64 = 100.0;

/// Slots that may be gathered at the same time.
pub const PENDING: u64 = 4;

/// Answers of one second that took as long.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Value {
    /// Logarithm of the response time.
    log: f32,
    count: u16,
    /// Number of the second among those that are gathered at the same time.
    second: u8,
    /// An end of the cell was late itself, so that it may be slow by that.
    is_blurred: bool,
}

/// Values and losses of a cell in the slots that are not judged yet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Gathered {
    values: Vec<Value>,
    /// By slot, as [`Losses::packed`] has them.
    losses: [[u32; 6]; PENDING as usize],
}

/// Requests of a stretch of time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Losses {
    pub sent: u64,
    pub lost: u64,
    pub out: u64,
    pub back: u64,
    /// Requests of seconds in which none was lost.
    pub clean: u64,
    /// Seconds in which some were.
    pub lossy: u64,
}

impl Losses {
    /// Those of one slot of one cell in half the room; of more than four billion as many.
    fn packed(self) -> [u32; 6] {
        [self.sent, self.lost, self.out, self.back, self.clean, self.lossy]
            .map(|count| u32::try_from(count).unwrap_or(u32::MAX))
    }

    fn of(packed: [u32; 6]) -> Self {
        let [sent, lost, out, back, clean, lossy] = packed.map(u64::from);
        Self { sent, lost, out, back, clean, lossy }
    }

    pub fn add(&mut self, other: &Self) {
        self.sent += other.sent;
        self.lost += other.lost;
        self.out += other.out;
        self.back += other.back;
        self.clean += other.clean;
        self.lossy += other.lossy;
    }

    fn step(&self, evidence: &mut Evidence, normal: f64) -> f64 {
        let size = if self.lossy == 0 { 1.0 } else { (self.sent - self.clean) as f64 / self.lossy as f64 };
        evidence.losses(self.clean, self.lossy, size, normal, SLOT_MOST)
    }
}

impl Gathered {
    /// Takes a second, which is this one since 1970.
    pub fn take(&mut self, second: u64, span: &Span, goes_on_silent: bool) {
        for (nanos, count) in span.times.buckets().filter(|(nanos, _)| *nanos > 0) {
            let (log, count) = ((nanos as f64).ln() as f32, u16::try_from(count).unwrap_or(u16::MAX));
            // Few seconds are gathered at a time; room for more would stay empty.
            if self.values.len() == self.values.capacity() {
                self.values.reserve_exact(SLOT as usize);
            }
            self.values.push(Value { log, count, second: (second % (PENDING * SLOT)) as u8, is_blurred: false });
        }
        let sent = span.counts.messages_sent();
        let lost = sent.saturating_sub(span.counts.answered);
        let kept = &mut self.losses[(second / SLOT % PENDING) as usize];
        let mut losses = Losses::of(*kept);
        (losses.out, losses.back) = (losses.out + span.lost_out, losses.back + span.lost_back);
        losses.sent += sent;
        losses.lost += lost;
        match lost {
            0 => losses.clean += sent,
            // Silence is told as such; its seconds count for the rate only while it might be chance.
            _ if goes_on_silent => losses.sent -= sent,
            _ => losses.lossy += 1,
        }
        if goes_on_silent {
            losses.lost -= lost;
        }
        *kept = losses.packed();
    }

    /// Takes out the answers of a slot into `values`, without those that the ends themselves disturbed, the one that
    /// asks and the one that answers: an end that answers late may be overloaded as much as one that asks late.
    pub fn take_out(&mut self, slot: u64, (near, far): (Own, Own), values: &mut Vec<Value>) -> Losses {
        let place = slot % PENDING;
        self.values.retain_mut(|value| {
            let second = u64::from(value.second);
            if second / SLOT != place {
                return true;
            }
            let second = (second % SLOT) as usize;
            value.is_blurred = near[second].max(far[second]) > Punctuality::Punctual;
            if far[second] < Punctuality::Disturbed {
                values.push(*value);
            }
            false
        });
        let losses = Losses::of(std::mem::take(&mut self.losses[place as usize]));
        if far.contains(&Punctuality::Disturbed) { Losses::default() } else { losses }
    }
}

fn count(values: &[Value]) -> u64 {
    values.iter().map(|value| u64::from(value.count)).sum()
}

/// The logarithm at a quantile of counted values; sorts them. `None` of none.
fn quantile(values: &mut [Value], q: f64) -> Option<f64> {
    values.sort_unstable_by(|one, other| one.log.total_cmp(&other.log));
    let rank = ((count(values) as f64 * q).ceil() as u64).max(1);
    let mut upto = 0;
    values.iter().find_map(|value| {
        upto += u64::from(value.count);
        (upto >= rank).then_some(f64::from(value.log))
    })
}

/// One kind of evidence of a stream, and the slot since which it grows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Growing {
    evidence: Evidence,
    /// The slot before which nothing grew.
    pub since: u64,
}

impl Growing {
    fn step(&mut self, slot: u64, by: impl FnOnce(&mut Evidence) -> f64) -> f64 {
        let held = by(&mut self.evidence);
        if held < GROWING {
            self.since = slot;
        }
        held
    }

    fn grows(&self) -> bool {
        self.evidence.mean() >= GROWING
    }

    /// Forgets everything.
    pub fn clear(&mut self, slot: u64) {
        self.evidence.clear();
        self.since = slot;
    }
}

/// Evidence of all kinds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Growth {
    pub slower: Growing,
    pub faster: Growing,
    pub tail: Growing,
    pub loss: Growing,
    pub drift: Growing,
}

impl Growth {
    /// Takes how far a median is from its level: the evidence that it is above, and below.
    fn shift(&mut self, slot: u64, off: f64, slack: f64) -> (f64, f64) {
        let score = |off: f64| (off - slack) / (slack * WIDTH);
        let slower = self.slower.step(slot, |sum| sum.score(score(off)));
        (slower, self.faster.step(slot, |sum| sum.score(score(-off))))
    }

    /// Returns true where a change of the median may be under way.
    fn shifts(&self) -> bool {
        self.slower.grows() || self.faster.grows()
    }
}

/// The highest evidence of each kind after a slot.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Held {
    pub slower: f64,
    pub faster: f64,
    pub tail: f64,
    pub loss: f64,
    /// That the level crept away from its reference.
    pub drift: f64,
}

impl Held {
    /// Returns true where any reached the limit.
    pub fn any(&self, limit: f64) -> bool {
        self.slower >= limit || self.faster >= limit || self.tail >= limit || self.loss >= limit
    }
}

/// Rate of loss as it usually is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Usual {
    sent: f64,
    lost: f64,
}

impl Usual {
    fn take(&mut self, losses: &Losses) {
        if self.sent > LOSS_MEMORY {
            (self.sent, self.lost) = (self.sent / 2.0, self.lost / 2.0);
        }
        self.sent += losses.sent as f64;
        self.lost += losses.lost as f64;
    }

    /// Highest rate that is no change.
    pub fn normal(&self) -> f64 {
        if self.sent < 1.0 { NORMAL_LOSS } else { (2.0 * self.lost / self.sent).clamp(NORMAL_LOSS, 0.5) }
    }
}

/// Distance that a level strays from its reference while nothing changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Stray {
    mean: f64,
    looks: u32,
}

impl Stray {
    fn is_known(&self) -> bool {
        self.looks >= STRAYS.1
    }

    /// The distance that is no change.
    fn slack(&self) -> f64 {
        (STRAYED * self.mean).max(CREPT)
    }

    /// Takes a look at the level, while no change grows. A large distance counts no more than the largest that is no
    /// change: a change is not to become usual before it was noticed.
    fn take(&mut self, at: f64) {
        let most = if self.is_known() { self.slack() } else { f64::INFINITY };
        self.looks = self.looks.saturating_add(1);
        self.mean += (at.abs().min(most) - self.mean) * (1.0 / f64::from(self.looks)).max(1.0 / STRAYS.0);
    }
}

/// One cell.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stream {
    pub level: Level,
    /// Logarithm of the 99th percentile over the median.
    tail: Option<f64>,
    pub growth: Growth,
    pub usual: Usual,
    warm_losses: u32,
    /// Logarithms of the median that is normal in each hour of the week.
    pub season: Option<Vec<f32>>,
    /// Its level does not follow, and it is in no part's stream: an incident is open.
    pub held: bool,
    /// Its 99th percentile does not follow either: the incident is of how fast is answered. One of loss may last while the tail that is usual
    /// becomes another, as it does everywhere else.
    #[serde(skip)]
    pub tail_held: bool,
    /// Slot before which its level was at its reference, if it crept away.
    pub crept: Option<u64>,
    looked: u64,
    #[serde(default)]
    stray: Stray,
    #[serde(skip)]
    step: Vec<Value>,
    #[serde(skip)]
    slots: u32,
    #[serde(skip)]
    pub steps: Steps,
    #[serde(skip)]
    pub requests: Requests,
}

impl Stream {
    /// Takes these logarithms as the usual medians of each hour of the week. The level is the one of the slot `slot`,
    /// seen from there.
    pub fn refer(&mut self, hours: Vec<f32>, slot: u64) {
        let before = self.season(slot);
        self.season = Some(hours);
        let by = before - self.season(slot);
        self.level.at.iter_mut().for_each(|at| *at += by);
        self.step.iter_mut().for_each(|value| value.log += by as f32);
    }

    /// Takes a slot that is over, with its answers, of which it leaves none. Tells the evidence, and the median's distance from the level for the streams
    /// of its parts.
    pub fn close(&mut self, slot: u64, values: &mut Vec<Value>, losses: &Losses) -> (Held, Option<f64>) {
        let season = self.season(slot);
        for value in values.iter_mut() {
            value.log -= season as f32;
        }
        let held = Held { loss: self.close_losses(slot, losses), ..Held::default() };
        if values.is_empty() && self.step.is_empty() {
            return (held, None);
        }
        let of_slot = quantile(values, 0.5);
        let off = self.level.at.filter(|_| self.level.is_warm()).zip(of_slot).map(|(at, median)| median - at);
        self.slots += 1;
        // A slot that is a step by itself needs no room here.
        let mut step = std::mem::take(&mut self.step);
        let whole = if step.is_empty() && count(values) >= ENOUGH {
            &mut *values
        } else {
            // A cell that is asked once a second always has one under way.
            step.reserve_exact(values.len());
            step.append(values);
            &mut step
        };
        let is_enough = count(whole) >= ENOUGH;
        let held = if is_enough { self.close_step(slot, whole, held) } else { held };
        if is_enough || self.slots > PATIENCE {
            whole.clear();
            self.slots = 0;
        }
        self.step = step;
        (held, off)
    }

    fn close_step(&mut self, slot: u64, step: &mut Vec<Value>, mut held: Held) -> Held {
        let Some(median) = quantile(step, 0.5) else { return held };
        let seconds = f64::from(self.slots) * SLOT as f64;
        let (slack, warm) = (self.level.slack(), self.level.is_warm());
        let off = self.level.step(median, seconds, self.growth.shifts(), self.held);
        let tail = self.close_tail(step, median, warm);
        if warm && self.season.is_some() && slot >= self.looked + CREEPS && !self.held {
            self.looked = slot;
            if let Some(at) = self.level.at {
                let slack = self.stray.slack();
                if self.stray.is_known() {
                    held.drift = self.growth.drift.step(slot, |sum| sum.score((at - slack) / slack));
                }
                if !self.growth.drift.grows() {
                    self.stray.take(at);
                }
            }
        }
        if warm {
            (held.slower, held.faster) = self.growth.shift(slot, self.level.smooth, slack);
        }
        if let (true, (above, of @ 1..)) = (warm, tail) {
            let slow = above as f64 / of as f64;
            held.tail = self.growth.tail.step(slot, |sum| sum.score((slow - TAIL.1) / (2.0 * TAIL.1)));
        }
        self.steps.keep(&Step { slot, slots: self.slots, off, tail });
        held
    }

    /// Judges by the reference from now on, if the level is far above it: its way there since about slot `since` was too slow to show.
    pub fn fall_back(&mut self, since: u64) {
        let is_far = |at: &f64| self.season.is_some() && self.stray.is_known() && *at > self.stray.slack();
        let Some(at) = self.level.at.filter(is_far) else { return };
        self.level.at = Some(0.0);
        self.crept = Some(since);
        self.growth.drift.clear(since);
        self.steps.shift(at);
    }

    /// Counts the answers above the former 99th percentile, relative to the median, and all answers, and lets that
    /// percentile follow. 0 of 0 where most of the step came while an end was late itself.
    fn close_tail(&mut self, step: &mut Vec<Value>, median: f64, warm: bool) -> (u64, u64) {
        let all = count(step);
        step.retain(|value| !value.is_blurred);
        let of = count(step);
        if of * 2 < all {
            return (0, 0);
        }
        let Some(tail) = self.tail else {
            self.tail = quantile(step, 0.99).map(|high| high - median);
            return (0, of);
        };
        let limit = (median + tail) as f32;
        let above = step.iter().filter(|value| value.log > limit).map(|value| u64::from(value.count)).sum();
        let slow = above as f64 / of as f64;
        let gain = match (warm, self.growth.tail.grows()) {
            (false, _) => 1.0,
            (true, false) => 0.2,
            (true, true) => 0.0,
        };
        if !self.tail_held {
            self.tail = Some((tail + gain * (slow.min(10.0 * TAIL.0) - TAIL.0)).max(0.0));
        }
        (above, of)
    }

    fn close_losses(&mut self, slot: u64, losses: &Losses) -> f64 {
        if losses.sent == 0 {
            return 0.0;
        }
        self.requests.keep(slot, losses);
        self.warm_losses = self.warm_losses.saturating_add(1);
        let (normal, warm) = (self.usual.normal(), self.warm_losses > 60);
        if !self.held {
            self.usual.take(losses);
        }
        if !warm {
            return 0.0;
        }
        self.growth.loss.step(slot, |sum| losses.step(sum, normal))
    }

    /// Logarithm of the median that is normal now, between the middles of two hours; 0 where none is known.
    fn season(&self, slot: u64) -> f64 {
        let Some(hours) = &self.season else { return 0.0 };
        // 1970 began on a Thursday, 72 hours after Monday 00:00.
        let hours_now = (slot * SLOT) as f64 / 3_600.0 + 72.0 - 0.5;
        let (before, part) = (hours_now.floor(), hours_now.fract());
        let at = |hour: f64| f64::from(hours[hour.rem_euclid(168.0) as usize]);
        at(before) * (1.0 - part) + at(before + 1.0) * part
    }

    /// Forgets all evidence.
    pub fn calm(&mut self, slot: u64) {
        let growth = &mut self.growth;
        for kind in [&mut growth.slower, &mut growth.faster, &mut growth.tail, &mut growth.loss] {
            kind.clear(slot);
        }
    }

    /// Takes the level of the slots since `since` as normal, or of the last step where that took longer.
    pub fn accept(&mut self, since: u64) {
        let latest = self.steps.iter().next().map_or(since, |step| step.slot.saturating_sub(1).min(since));
        let mut off: Vec<f64> = self.steps.iter().filter(|step| step.slot > latest).map(|step| step.off).collect();
        if let (Some(at), Some(off)) = (self.level.at.as_mut(), median(&mut off)) {
            *at += off;
            // With a reference, the reference moves.
            if let Some(hours) = &mut self.season {
                for hour in hours {
                    *hour += *at as f32;
                }
                *at = 0.0;
            }
        }
        self.crept = None;
        self.growth.drift.clear(since);
        let mut usual = Losses::default();
        self.requests.iter().filter(|kept| kept.0 > since).for_each(|kept| usual.add(&kept.1));
        if usual.sent > 0 {
            self.usual = Usual::default();
            self.usual.take(&usual);
        }
        (self.tail, self.held, self.tail_held) = (None, false, false);
        self.steps.clear();
        self.requests.clear();
    }
}

/// The cells of a part together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Together {
    level: Level,
    pub growth: Growth,
    usual: Usual,
    warm_losses: u32,
    #[serde(skip)]
    offs: Vec<f64>,
    #[serde(skip)]
    losses: Losses,
}

impl Together {
    /// Takes the distance and losses of a cell in this slot.
    pub fn take(&mut self, off: Option<f64>, losses: &Losses) {
        self.offs.extend(off);
        self.losses.add(losses);
    }

    /// The slot is over.
    pub fn close(&mut self, slot: u64) -> Held {
        let mut held = Held::default();
        if let Some(middle) = median(&mut self.offs) {
            let (slack, warm) = (self.level.slack(), self.level.is_warm());
            self.level.step(middle, SLOT as f64, self.growth.shifts(), false);
            if warm {
                (held.slower, held.faster) = self.growth.shift(slot, self.level.smooth, slack);
            }
        }
        let losses = std::mem::take(&mut self.losses);
        self.offs.clear();
        if losses.sent > 0 {
            self.warm_losses = self.warm_losses.saturating_add(1);
            let normal = self.usual.normal();
            self.usual.take(&losses);
            if self.warm_losses > 60 {
                held.loss = self.growth.loss.step(slot, |sum| losses.step(sum, normal));
            }
        }
        held
    }

    /// Forgets all evidence.
    pub fn calm(&mut self, slot: u64) {
        let growth = &mut self.growth;
        for kind in [&mut growth.slower, &mut growth.faster, &mut growth.loss] {
            kind.clear(slot);
        }
    }
}
