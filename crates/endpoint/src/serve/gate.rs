//! From where somebody may come to a server at all.

use std::net::IpAddr;

use ipnet::IpNet;

/// Networks whose hosts are served; none: every network.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gate(pub Vec<IpNet>);

impl Gate {
    /// Whether a host at `address` is served.
    pub fn admits(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.0.is_empty() || self.0.iter().any(|network| network.contains(&address))
    }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    #[test_case("", "192.0.2.1" => true; "every network")]
    #[test_case("10.0.0.0/8 192.0.2.0/24", "192.0.2.1" => true; "one of two")]
    #[test_case("10.0.0.0/8 192.0.2.0/24", "192.0.3.1" => false; "none of two")]
    #[test_case("192.0.2.0/24", "::ffff:192.0.2.1" => true; "a mapped address is that of IPv4")]
    #[test_case("2001:db8::/32", "2001:db8:1::1" => true; "of ipv6")]
    #[test_case("::/0", "192.0.2.1" => false; "all of ipv6 is nothing of ipv4")]
    fn it_admits(networks: &str, address: &str) -> bool {
        Gate(networks.split_whitespace().map(|one| one.parse().unwrap()).collect()).admits(address.parse().unwrap())
    }
}
