//! Places of connections: where all are taken, the oldest connection of the source with most gives way, so that nobody is kept out by
//! those that stay.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};

use tokio::task::AbortHandle;

/// Connections at once.
pub const MOST: usize = 256;

/// Connections by their sources, in the order in which they came.
#[derive(Debug, Default)]
pub struct Places(Vec<(IpAddr, AbortHandle)>);

impl Places {
    /// Takes a place for a connection of `address`, which `task` serves.
    pub fn take(&mut self, address: IpAddr, task: AbortHandle) {
        self.0.retain(|(_, task)| !task.is_finished());
        self.0.push((source(address), task));
        if self.0.len() > MOST {
            let sources: Vec<IpAddr> = self.0.iter().map(|(source, _)| *source).collect();
            if let Some(place) = to_give_way(&sources) {
                self.0.remove(place).1.abort();
            }
        }
    }
}

/// The place of the oldest connection of the source with most, of connections in the order in which they came.
fn to_give_way(sources: &[IpAddr]) -> Option<usize> {
    let mut of: HashMap<IpAddr, usize> = HashMap::new();
    for source in sources {
        *of.entry(*source).or_default() += 1;
    }
    let most = of.values().copied().max()?;
    sources.iter().position(|source| of[source] == most)
}

/// The source that a connection counts for: its address, or of IPv6 the network of 64 bits.
fn source(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
        address @ IpAddr::V4(_) => address,
    }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    #[test_case(&["10.0.0.1", "10.0.0.2", "10.0.0.2"], Some(1); "of the source with most")]
    #[test_case(&["10.0.0.1", "10.0.0.2", "::ffff:10.0.0.2"], Some(1); "whichever way it is written")]
    #[test_case(&["10.0.0.1", "2001:db8::1", "2001:db8::2:0:0:1"], Some(1); "of one network")]
    #[test_case(&["2001:db8:0:1::1", "2001:db8:0:2::1"], Some(0); "the oldest of all where each has one")]
    #[test_case(&[], None; "of none")]
    fn the_oldest_gives_way(addresses: &[&str], place: Option<usize>) {
        let sources: Vec<IpAddr> = addresses.iter().map(|address| source(address.parse().unwrap())).collect();
        assert_eq!(to_give_way(&sources), place);
    }
}
