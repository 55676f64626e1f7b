//! The exchanges kept as they came: all of them while there is room, then an even thinning.

/// One kept exchange: where it stood among the answered ones of its thread, and its times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// Its place among the answered, from 0, in order of arrival.
    pub index: u64,
    /// Response time in nanoseconds: from the intended instant in an open loop, from the send in a closed one.
    pub response: u64,
    /// Send instant minus intended instant, in nanoseconds; 0 in a closed loop. Service time is response minus slip.
    pub slip: u64,
    /// The connection that it went over, numbered within the measurement from 0.
    pub flow: u32,
}

/// Keeps every value while there is room, then every second, every fourth …: always an even thinning of the whole run.
///
/// Once full, slots whose index is no multiple of the new stride are overwritten one by one as new values come, so
/// no step ever costs more than a few slots: a pause here would be a pause in the measurement.
#[derive(Clone, Debug)]
pub(super) struct Thinning {
    slots: Box<[Kept]>,
    filled: usize,
    stride: u64,
    next: u64,
    cursor: usize,
    /// The connection of the values offered.
    flow: u32,
    /// The slots before this one say their connection; it is noted when another one's turn comes, and costs an exchange nothing.
    noted: usize,
}

impl Thinning {
    pub(super) fn new(capacity: usize) -> Self {
        // Written once now, so that no page fault falls into the measurement.
        let slots = vec![Kept { index: 1, ..Kept::default() }; capacity].into_boxed_slice();
        Self { slots, filled: 0, stride: 1, next: 0, cursor: capacity, flow: 0, noted: 0 }
    }

    /// Assigns the values from here on to connection `flow`.
    #[inline]
    pub(super) fn over(&mut self, flow: u32) {
        if flow != self.flow {
            self.note();
            self.flow = flow;
        }
    }

    fn note(&mut self) {
        for slot in &mut self.slots[self.noted..self.filled] {
            slot.flow = self.flow;
        }
        self.noted = self.filled;
    }

    #[inline]
    pub(super) fn offer(&mut self, index: u64, response: u64, slip: u64) {
        if index != self.next {
            return;
        }
        self.next += self.stride;
        if let Some(slot) = self.slots.get_mut(self.filled) {
            (slot.index, slot.response, slot.slip) = (index, response, slip);
            self.filled += 1;
        } else {
            self.replace(index, response, slip);
        }
    }

    /// Notes that the last of the `answered` so far has no time: if it was to be kept, the next one of the spacing is.
    pub(super) fn pass_over(&mut self, answered: u64) {
        if self.next < answered {
            self.next += self.stride;
        }
    }

    #[cold]
    fn replace(&mut self, index: u64, response: u64, slip: u64) {
        let kept = Kept { index, response, slip, flow: self.flow };
        loop {
            if self.cursor == self.slots.len() {
                // A round is over: from here on every second of those kept so far is given up.
                self.stride *= 2;
                self.cursor = 0;
            }
            self.next = kept.index.next_multiple_of(self.stride);
            if self.next != kept.index {
                return;
            }
            while let Some(slot) = self.slots.get_mut(self.cursor) {
                self.cursor += 1;
                if !slot.index.is_multiple_of(self.stride) {
                    *slot = kept;
                    self.next += self.stride;
                    return;
                }
            }
        }
    }

    /// Returns the latest kept values, at most so many; of a thinned series all.
    pub(super) fn latest(&self, most: usize) -> Series {
        let from = if self.stride == 1 { self.filled.saturating_sub(most) } else { 0 };
        self.ordered(self.slots[from..self.filled].to_vec())
    }

    pub(super) fn finish(mut self) -> Series {
        self.note();
        let mut samples = std::mem::take(&mut self.slots).into_vec();
        samples.truncate(self.filled);
        self.ordered(samples)
    }

    fn ordered(&self, mut samples: Vec<Kept>) -> Series {
        let stride = self.stride;
        if stride > 1 {
            samples.retain(|kept| kept.index.is_multiple_of(stride));
            samples.sort_unstable_by_key(|kept| kept.index);
        }
        Series { stride, samples }
    }
}

/// The kept exchanges of one thread in order of arrival: all of them (`stride` 1), or every `stride`-th.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Series {
    /// 1: every answered exchange is here. n: those whose index is a multiple of n.
    pub stride: u64,
    /// The exchanges, by index.
    pub samples: Vec<Kept>,
}
