//! The buffers behind the calls of a stream, used in turn.

/// Layout of the buffers in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Bytes of one buffer, at least 1.
    pub size: usize,
    /// Number of buffers, at least 1.
    pub buffers: usize,
    /// Each starts at a multiple of this many bytes, at least 1 …
    pub alignment: usize,
    /// … and this many behind it.
    pub offset: usize,
}

impl Shape {
    /// One buffer of `size` bytes, wherever it lies.
    pub fn of(size: usize) -> Self {
        Self { size: size.max(1), buffers: 1, alignment: 1, offset: 0 }
    }

    /// From one buffer to the next; `None` where that is beyond any memory.
    fn stride(&self) -> Option<usize> {
        self.size.checked_add(self.offset)?.checked_next_multiple_of(self.alignment)
    }

    /// Bytes of memory it takes; `None` where that is beyond any memory.
    pub fn memory(&self) -> Option<usize> {
        self.stride()?.checked_mul(self.buffers)?.checked_add(self.alignment)
    }
}

/// Buffers, used in turn.
#[derive(Debug)]
pub struct Ring {
    memory: Vec<u8>,
    /// Start of the first buffer.
    first: usize,
    stride: usize,
    shape: Shape,
    next: usize,
}

impl Ring {
    /// Buffers of this shape, all 0. Pages are touched by the first write.
    ///
    /// # Panics
    /// Where [`Shape::memory`] is `None`; ask before.
    pub fn new(shape: Shape) -> Self {
        let shape = Shape {
            size: shape.size.max(1),
            buffers: shape.buffers.max(1),
            alignment: shape.alignment.max(1),
            ..shape
        };
        let (memory, stride) = (shape.memory(), shape.stride());
        let (memory, stride) = memory.zip(stride).expect("a shape that memory can hold");
        let memory = vec![0; memory];
        let aligned = (memory.as_ptr() as usize).next_multiple_of(shape.alignment) - memory.as_ptr() as usize;
        Self { first: aligned + shape.offset, memory, stride, shape, next: 0 }
    }

    /// Buffers of this shape that hold `pattern` over and over, running on from one buffer to the next.
    pub fn filled(shape: Shape, pattern: &[u8]) -> Self {
        let mut ring = Self::new(shape);
        let mut octets = pattern.iter().copied().cycle();
        for _ in 0..ring.shape.buffers {
            ring.turn().iter_mut().zip(&mut octets).for_each(|(to, from)| *to = from);
        }
        ring
    }

    /// Buffers of this shape that hold what no compression makes smaller, the same for the same `seed`.
    pub fn random(shape: Shape, seed: u64) -> Self {
        let mut ring = Self::new(shape);
        let mut state = seed;
        for _ in 0..ring.shape.buffers {
            for eight in ring.turn().chunks_mut(8) {
                state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
                let drawn = mixed(state).to_ne_bytes();
                eight.copy_from_slice(&drawn[..eight.len()]);
            }
        }
        ring
    }

    /// The next buffer in turn.
    #[inline]
    pub fn turn(&mut self) -> &mut [u8] {
        let from = self.first + self.next * self.stride;
        self.next += 1;
        if self.next == self.shape.buffers {
            self.next = 0;
        }
        &mut self.memory[from..from + self.shape.size]
    }

    /// The last `count` octets of the buffer that was in turn last, at most all of it.
    #[cold]
    pub fn tail(&mut self, count: usize) -> &mut [u8] {
        let last = self.next.checked_sub(1).unwrap_or(self.shape.buffers - 1);
        let to = self.first + last * self.stride + self.shape.size;
        &mut self.memory[to - count.min(self.shape.size)..to]
    }
}

/// `SplitMix64`: good enough to be incompressible.
fn mixed(state: u64) -> u64 {
    let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use test_case::test_case;

    #[test]
    fn the_tail_is_of_the_buffer_that_was_in_turn_last() {
        let mut ring = Ring::filled(Shape { size: 3, buffers: 2, alignment: 8, offset: 1 }, b"abcdef");
        for whole in [b"abc", b"def", b"abc"] {
            assert_eq!(ring.turn(), whole);
            assert_eq!((ring.tail(1).to_vec(), ring.tail(9).to_vec()), (whole[2..].to_vec(), whole.to_vec()));
        }
    }

    #[test_case(Shape { size: 100, buffers: 3, alignment: 4_096, offset: 16 }; "pages")]
    #[test_case(Shape { size: 4_096, buffers: 2, alignment: 4_096, offset: 0 }; "exactly a page")]
    #[test_case(Shape { size: 1, buffers: 4, alignment: 8, offset: 3 }; "one byte")]
    #[test_case(Shape { size: 10, buffers: 1, alignment: 7, offset: 9 }; "an odd alignment and an offset beyond it")]
    fn each_buffer_lies_where_it_was_asked_for(shape: Shape) {
        let mut ring = Ring::new(shape);
        let places: Vec<usize> = (0..shape.buffers * 2).map(|_| ring.turn().as_ptr() as usize).collect();
        for place in &places {
            assert_eq!((place - shape.offset) % shape.alignment, 0);
        }
        assert_eq!(places[..shape.buffers], places[shape.buffers..], "in turn");
        assert!(places[..shape.buffers].windows(2).all(|pair| pair[1] - pair[0] >= shape.size));
        assert_eq!(ring.turn().len(), shape.size);
    }

    #[test]
    fn a_pattern_runs_on_from_buffer_to_buffer() {
        let mut ring = Ring::filled(Shape { buffers: 2, ..Shape::of(5) }, b"abc");
        assert_eq!((ring.turn().to_vec(), ring.turn().to_vec()), (b"abcab".to_vec(), b"cabca".to_vec()));
    }

    #[test]
    fn what_is_drawn_repeats_by_its_seed_alone() {
        let draw = |seed| Ring::random(Shape { buffers: 2, ..Shape::of(13) }, seed).turn().to_vec();
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
    }

    #[test]
    fn a_shape_beyond_memory_is_told_before() {
        assert_eq!(Shape { buffers: usize::MAX, ..Shape::of(2) }.memory(), None);
        assert_eq!(Shape { offset: usize::MAX, ..Shape::of(2) }.memory(), None);
    }
}
