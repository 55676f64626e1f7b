//! Intervals of streams, each of which comes by itself, put together by their number.

use std::collections::VecDeque;

use crate::persona::iperf3::facts::{Datagrams, Slice};

/// Intervals of each stream that are not printed yet.
#[derive(Clone, Debug, Default)]
pub struct Groups {
    waiting: Vec<VecDeque<Slice>>,
}

impl Groups {
    /// For so many streams.
    pub fn new(streams: usize) -> Self {
        Self { waiting: vec![VecDeque::new(); streams] }
    }

    /// An interval of a stream, from 0, went by.
    pub fn push(&mut self, stream: usize, slice: Slice) {
        if let Some(waiting) = self.waiting.get_mut(stream) {
            waiting.push_back(slice);
        }
    }

    /// The next interval of which every stream has told.
    pub fn next(&mut self) -> Option<Vec<Slice>> {
        if self.waiting.is_empty() || self.waiting.iter().any(VecDeque::is_empty) {
            return None;
        }
        Some(self.waiting.iter_mut().filter_map(VecDeque::pop_front).collect())
    }

    /// The next interval once nothing more comes: a stream that tells nothing of it carried nothing, and `nothing` says how
    /// that is told. An interval shorter than a tenth of `interval_ns`, in which nothing was carried, is none.
    pub fn rest(&mut self, interval_ns: u64, nothing: impl Fn(usize, Slice) -> Slice) -> Option<Vec<Slice>> {
        loop {
            let model = self.waiting.iter().find_map(|waiting| waiting.front().copied())?;
            let next = |(stream, waiting): (usize, &mut VecDeque<Slice>)| {
                waiting.pop_front().unwrap_or_else(|| nothing(stream, blank(&model)))
            };
            let slices: Vec<Slice> = self.waiting.iter_mut().enumerate().map(next).collect();
            let short = slices.iter().all(|slice| slice.bytes == 0 && slice.length_ns < interval_ns / 10);
            if !short {
                return Some(slices);
            }
        }
    }
}

fn blank(model: &Slice) -> Slice {
    Slice {
        start_ns: model.start_ns,
        end_ns: model.end_ns,
        length_ns: model.length_ns,
        omitted: model.omitted,
        datagrams: Datagrams { lost: Some(0), ..Datagrams::default() },
        ..Slice::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slice(start: u64, length: u64, bytes: u64) -> Slice {
        Slice { start_ns: start, end_ns: start + length, length_ns: length, bytes, ..Slice::default() }
    }

    fn same(_: usize, slice: Slice) -> Slice {
        slice
    }

    #[test]
    fn an_interval_is_told_when_every_stream_has_told_of_it() {
        let mut groups = Groups::new(2);
        groups.push(0, slice(0, 10, 1));
        groups.push(0, slice(10, 10, 2));
        assert_eq!(groups.next(), None);
        groups.push(1, slice(0, 10, 3));
        groups.push(7, slice(0, 10, 9));
        assert_eq!(groups.next(), Some(vec![slice(0, 10, 1), slice(0, 10, 3)]));
        assert_eq!(groups.next(), None);
        assert_eq!(groups.rest(10, same), Some(vec![slice(10, 10, 2), blank(&slice(10, 10, 9))]));
        assert_eq!(groups.rest(10, same), None);
    }

    #[test]
    fn a_short_end_without_data_is_none_and_one_with_data_is() {
        let mut groups = Groups::new(1);
        groups.push(0, slice(0, 9, 0));
        assert_eq!(groups.rest(100, same), None);
        groups.push(0, slice(0, 9, 1));
        groups.push(0, slice(9, 10, 0));
        assert_eq!(
            (groups.rest(100, same), groups.rest(100, same)),
            (Some(vec![slice(0, 9, 1)]), Some(vec![slice(9, 10, 0)]))
        );
    }

    #[test]
    fn without_streams_there_is_nothing() {
        assert_eq!((Groups::default().next(), Groups::default().rest(1, same)), (None, None));
    }
}
