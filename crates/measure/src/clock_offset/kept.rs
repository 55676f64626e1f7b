//! Exchanges as they come, of any number, in a bounded room.

use super::FourTimes;

/// Exchanges of a kind that are kept at the most.
const MOST: usize = 65_536;

/// Exchanges: evenly thinned ones, which stand for all, and of each stretch the shortest, which tell of the clocks.
#[derive(Clone, Debug, Default)]
pub struct Gathered {
    evenly: Vec<FourTimes>,
    tightest: Vec<FourTimes>,
    /// The shortest of the stretch that is not over.
    open: Option<FourTimes>,
    /// Exchanges seen, a count.
    pub seen: u64,
    stride: u64,
}

impl Gathered {
    /// Takes an exchange.
    pub fn add(&mut self, exchange: FourTimes) {
        let stride = self.stride.max(1);
        if self.seen.is_multiple_of(stride) {
            self.close();
            if self.evenly.len() >= MOST {
                self.thin();
            }
            self.evenly.push(exchange);
        }
        self.open = Some(self.open.map_or(exchange, |open| shorter(open, exchange)));
        self.seen += 1;
    }

    /// Ends the stretch that is open; before [`Gathered::tightest`] is asked for.
    pub(super) fn close(&mut self) {
        self.tightest.extend(self.open.take());
    }

    fn thin(&mut self) {
        self.stride = self.stride.max(1) * 2;
        let mut place = 0;
        self.evenly.retain(|_| {
            place += 1;
            place % 2 == 1
        });
        let pairs = self.tightest.chunks(2);
        self.tightest = pairs.map(|pair| pair.iter().copied().reduce(shorter).unwrap_or(pair[0])).collect();
    }

    /// Every so manyth.
    pub(super) fn evenly(&self) -> &[FourTimes] {
        &self.evenly
    }

    /// From each group of consecutive exchanges, all of one size, the one with the shortest round trip without the far side.
    pub(super) fn tightest(&self) -> &[FourTimes] {
        &self.tightest
    }
}

fn shorter(one: FourTimes, other: FourTimes) -> FourTimes {
    if other.path() < one.path() { other } else { one }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_room_is_bounded_and_the_shortest_stay() {
        let mut gathered = Gathered::default();
        let count = 3 * MOST as u64 + 7;
        for at in 0..count {
            let path = if at == 70_001 { 5 } else { 100 + at % 7 };
            gathered.add(FourTimes {
                sent: at * 1_000,
                received: at * 1_000 + path,
                left: at * 1_000 + path,
                came: at * 1_000 + path,
            });
        }
        gathered.close();
        assert_eq!(gathered.seen, count);
        for kept in [gathered.evenly(), gathered.tightest()] {
            assert!(kept.len() <= MOST + 1 && kept.len() > MOST / 4, "{}", kept.len());
            assert!(kept.is_sorted_by_key(|exchange| exchange.sent));
        }
        assert!(gathered.tightest().iter().any(|exchange| exchange.path() == 5));
        let gaps: Vec<u64> = gathered.evenly().windows(2).map(|pair| pair[1].sent - pair[0].sent).collect();
        assert!(gaps.iter().all(|gap| *gap == gaps[0]), "evenly");
    }
}
