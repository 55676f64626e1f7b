//! Three hosts in a row made out of one machine: the middle one forwards between the others, and may do to their packets
//! what boxes on the way do.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::process::Stdio;
use std::sync::Arc;

use crate::namespace::{Entry, Namespace, NamespaceError, names};

/// The middle's end of the cable to the far host; the other is named as that of any namespace.
const TO_FAR: &str = "middle-far";
/// The middle's addresses there.
const BEYOND: (Ipv4Addr, Ipv6Addr) =
    (Ipv4Addr::new(10, 181, 9, 254), Ipv6Addr::new(0xfd00, 0x50de, 9, 0, 0, 0, 0, 254));

/// Near, middle and far, each pair of neighbours joined by a cable with networks of both families of their own.
///
/// As of a pair: end your processes before this is dropped.
#[derive(Debug)]
pub struct Chain {
    near: Namespace,
    far: Namespace,
    // Last, for both cables end in it.
    middle: Namespace,
}

impl Chain {
    /// Makes the three and the cables between them; near and far reach each other when this returns.
    pub fn new() -> Result<Self, NamespaceError> {
        let entry = Arc::new(Entry::open()?);
        entry.sweep();
        let names = names();
        let namespace = |end: &'static str, network: u8, host: u8| {
            let v6 = Ipv6Addr::new(0xfd00, 0x50de, network.into(), 0, 0, 0, 0, host.into());
            Namespace::at(&entry, names(end), end, Ipv4Addr::new(10, 181, network, host), v6)
        };
        let chain =
            Self { near: namespace("near", 8, 1)?, middle: namespace("middle", 8, 254)?, far: namespace("far", 9, 2)? };
        let Self { near, middle, far } = &chain;
        let cable = |from: &Namespace, end: &str| {
            from.ip(&["link", "add", from.interface(), "type", "veth", "peer", "name", end, "netns", middle.name()])
        };
        cable(near, middle.interface())?;
        cable(far, TO_FAR)?;
        near.plug()?;
        far.plug()?;
        middle.plug()?;
        middle.ip(&["link", "set", TO_FAR, "addrgenmode", "none", "up"])?;
        [near, middle, far].into_iter().try_for_each(Namespace::configure)?;
        middle.add_address_to(TO_FAR, BEYOND.0.into(), 24)?;
        middle.add_address_to(TO_FAR, BEYOND.1.into(), 64)?;
        // A router asks for its neighbours by an address of the link, which none has here by itself.
        for interface in [middle.interface(), TO_FAR] {
            middle.add_address_to(interface, Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 254).into(), 64)?;
        }
        for setting in ["ipv4/ip_forward", "ipv6/conf/all/forwarding"] {
            set(middle, setting, "1")?;
        }
        route(near, middle.v4(), middle.v6())?;
        route(far, BEYOND.0, BEYOND.1)?;
        // Errors of a hop are rationed; here each is to be counted.
        for host in [near, middle, far] {
            set(host, "ipv4/icmp_ratelimit", "0")?;
            set(host, "ipv6/icmp/ratelimit", "0")?;
        }
        Ok(chain)
    }

    /// The end a measurement is made from.
    pub fn near(&self) -> &Namespace {
        &self.near
    }

    /// The one that forwards; its addresses are those towards the near end.
    pub fn middle(&self) -> &Namespace {
        &self.middle
    }

    /// The end it is made to.
    pub fn far(&self) -> &Namespace {
        &self.far
    }
}

/// All that is not on its own network goes there.
fn route(from: &Namespace, v4: Ipv4Addr, v6: Ipv6Addr) -> Result<(), NamespaceError> {
    from.ip(&["route", "add", "default", "via", &v4.to_string()])?;
    from.ip(&["-6", "route", "add", "default", "via", &v6.to_string()])
}

/// Sets one of the network's settings of a namespace, below `/proc/sys/net`.
fn set(namespace: &Namespace, setting: &str, value: &str) -> Result<(), NamespaceError> {
    let words = format!("echo {value} > /proc/sys/net/{setting}");
    let output = namespace.command("sh").args(["-c", &words]).stdin(Stdio::null()).output();
    let failed = |said: String| Err(NamespaceError::Step { command: words.clone(), said });
    match output {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
        Err(error) => failed(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_reach_each_other_through_the_middle() {
        let chain = match Chain::new() {
            Ok(chain) => chain,
            Err(error @ NamespaceError::Step { .. }) => panic!("{error}"),
            Err(error) => return testbed::skip::aloud(&format!("three namespaces: {error}")),
        };
        if std::process::Command::new("ping").arg("-V").output().is_err() {
            return testbed::skip::aloud("ping through a namespace: no ping (iputils-ping)");
        }
        for target in [chain.far().v4().to_string(), chain.far().v6().to_string()] {
            let output = chain.near().command("ping").args(["-c", "1", "-W", "5", &target]).output().unwrap();
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            assert!(said.contains("ttl=63") && said.contains("1 received"), "{said}");
        }
    }
}
