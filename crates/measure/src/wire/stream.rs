//! Octets of one direction of a TCP connection that were seen, and those seen more than once.

/// Holes that are remembered at once: more are given up, and counted.
const HOLES: usize = 256;

/// The octets of one direction, by sequence number. Counts go on over connections that follow each other on one pair of
/// ports; places do not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Octets {
    /// Sequence number of octet 0; absent before anything was seen.
    base: Option<u32>,
    /// Place behind the last octet seen.
    next: u64,
    /// Places between octets seen that were not: start and end, in order.
    holes: Vec<(u64, u64)>,
    /// Octets seen so far.
    pub count: Counted,
}

/// Counts of the octets seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Different octets.
    pub distinct: u64,
    /// Octets that had been seen before.
    pub repeated_bytes: u64,
    /// Segments with such octets.
    pub repeated_segments: u64,
    /// Segments that brought octets in front of some that had been seen.
    pub late_segments: u64,
    /// Octets never seen, though later ones of their connection were.
    pub missing: u64,
}

impl Octets {
    /// A connection begins whose first octet has this number.
    pub fn open(&mut self, first: u32) {
        self.close();
        (self.base, self.next) = (Some(first), 0);
    }

    /// Counts the missing octets of the present connection, which stay missing.
    fn close(&mut self) {
        self.count.missing += self.holes.drain(..).map(|(start, end)| end - start).sum::<u64>();
    }

    /// All counts, with the octets that are missing at present.
    pub fn counted(&self) -> Counted {
        let missing: u64 = self.holes.iter().map(|(start, end)| end - start).sum();
        Counted { missing: self.count.missing + missing, ..self.count }
    }

    /// A segment passed with `length` octets from `number` on; how many of them were new.
    pub fn take(&mut self, number: u32, length: u32) -> u64 {
        if length == 0 {
            return 0;
        }
        let base = *self.base.get_or_insert(number);
        let (start, end) = self.place(base, number, length);
        let mut fresh = 0;
        if start > self.next {
            self.leave_hole(self.next, start);
        }
        let old_end = end.min(self.next);
        if start < self.next {
            let filled = self.fill(start, old_end);
            let repeated = old_end - start - filled;
            self.count.late_segments += u64::from(filled > 0);
            self.count.repeated_segments += u64::from(repeated > 0);
            self.count.repeated_bytes += repeated;
            fresh += filled;
        }
        if end > self.next {
            fresh += end - start.max(self.next);
            self.next = end;
        }
        self.count.distinct += fresh;
        fresh
    }

    /// Returns the places of octets: numbers wrap around, places do not. Octets in front of the first one ever seen are at 0.
    fn place(&self, base: u32, number: u32, length: u32) -> (u64, u64) {
        let expected = base.wrapping_add(self.next as u32);
        let ahead = i64::from(number.wrapping_sub(expected).cast_signed());
        let start = self.next as i64 + ahead;
        let end = start + i64::from(length);
        (start.max(0) as u64, end.max(0) as u64)
    }

    fn leave_hole(&mut self, start: u64, end: u64) {
        if self.holes.len() == HOLES {
            let (first, last) = self.holes.remove(0);
            self.count.missing += last - first;
        }
        self.holes.push((start, end));
    }

    /// Takes the octets in between out of the holes, and returns the number of them that was missing.
    fn fill(&mut self, start: u64, end: u64) -> u64 {
        if self.holes.is_empty() {
            return 0;
        }
        let mut filled = 0;
        let mut left = Vec::with_capacity(self.holes.len() + 1);
        for &(from, to) in &self.holes {
            let (low, high) = (from.max(start), to.min(end));
            if low >= high {
                left.push((from, to));
                continue;
            }
            filled += high - low;
            left.extend([(from, low), (high, to)].into_iter().filter(|(from, to)| from < to));
        }
        self.holes = left;
        filled
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use test_case::test_case;

    fn counted(segments: &[(u32, u32)]) -> Counted {
        let mut octets = Octets::default();
        octets.open(1_000);
        for &(number, length) in segments {
            octets.take(number, length);
        }
        octets.counted()
    }

    #[test_case(&[(1_000, 10), (1_010, 10)], Counted { distinct: 20, ..Counted::default() }; "in order")]
    #[test_case(&[(1_000, 10), (1_000, 10)], Counted { distinct: 10, repeated_bytes: 10, repeated_segments: 1, ..Counted::default() }; "the same again")]
    #[test_case(&[(1_000, 10), (1_005, 10)], Counted { distinct: 15, repeated_bytes: 5, repeated_segments: 1, ..Counted::default() }; "half of it again")]
    #[test_case(&[(1_010, 10), (1_000, 10)], Counted { distinct: 20, late_segments: 1, ..Counted::default() }; "the second before the first")]
    #[test_case(&[(1_010, 10)], Counted { distinct: 10, missing: 10, ..Counted::default() }; "the first never")]
    #[test_case(&[(1_030, 10), (1_010, 10), (1_000, 40)], Counted { distinct: 40, repeated_bytes: 20, repeated_segments: 1, late_segments: 2, ..Counted::default() }; "two islands, then all")]
    #[test_case(&[(1_000, 0)], Counted::default(); "nothing in it")]
    fn octets_are_counted_once(segments: &[(u32, u32)], expected: Counted) {
        assert_eq!(counted(segments), expected);
    }

    #[test]
    fn numbers_wrap_around() {
        let mut octets = Octets::default();
        octets.open(u32::MAX - 4);
        assert_eq!(octets.take(u32::MAX - 4, 10), 10);
        assert_eq!(octets.take(5, 10), 10);
        assert_eq!(octets.take(u32::MAX - 4, 10), 0);
        assert_eq!((octets.counted().distinct, octets.counted().repeated_bytes), (20, 10));
    }

    #[test]
    fn a_connection_after_another_starts_anywhere() {
        let mut octets = Octets::default();
        octets.open(7);
        octets.take(7, 10);
        octets.take(27, 10);
        octets.open(3_000_000_000);
        octets.take(3_000_000_000, 10);
        assert_eq!(octets.counted(), Counted { distinct: 30, missing: 10, ..Counted::default() });
    }

    #[test]
    fn a_capture_that_began_late_counts_from_there() {
        let mut octets = Octets::default();
        octets.take(500, 10);
        assert_eq!(octets.take(490, 10), 0, "in front of all that is known");
        assert_eq!(octets.counted().distinct, 10);
    }

    #[test]
    fn holes_without_end_take_no_memory_without_end() {
        let mut octets = Octets::default();
        octets.open(0);
        for place in 0..10_000_u32 {
            octets.take(place * 20 + 10, 10);
        }
        assert!(octets.holes.len() <= HOLES);
        assert_eq!(octets.counted(), Counted { distinct: 100_000, missing: 100_000, ..Counted::default() });
    }
}
