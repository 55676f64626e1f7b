//! Names of the command line as addresses: of the control connection and of the data connection, at both ends.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use endpoint::error::EndpointError;
use endpoint::name::{self, Family};
use endpoint::random;
use endpoint::stop::Stop;

use crate::persona::answer::Answer;
use crate::persona::netperf::facts::Path;
use crate::persona::netperf::options::{DataAddress, Options};
use crate::persona::netperf::output::failure;

/// Addresses of a run's connections, at both ends.
#[derive(Clone, Debug)]
pub struct Places {
    /// Addresses of the server: tried in turn.
    pub servers: Vec<SocketAddr>,
    /// Local address and port of the control connection; `None`: any.
    pub control_local: Option<SocketAddr>,
    /// The server's data address; `None`: that of the control connection.
    pub data_server: Option<Drawn>,
    /// Our data address; `None`: any.
    pub data_local: Option<Drawn>,
    /// Ends as banner and selectors name them.
    pub path: Path,
}

/// An address, or a network out of which one is drawn for each iteration.
#[derive(Clone, Copy, Debug)]
pub struct Drawn {
    address: IpAddr,
    /// Bits of the network part; `None`: always this address.
    mask: Option<u8>,
}

impl Places {
    /// The places that `options` name.
    ///
    /// # Errors
    /// A name that nobody knows, in the real program's words, status 255.
    pub fn of(options: &Options, stop: &Stop) -> Result<Self, Answer> {
        let control = &options.control;
        Self::towards(options, addresses(control.target(), control.port, control.family, stop)?, stop)
    }

    fn towards(options: &Options, servers: Vec<SocketAddr>, stop: &Stop) -> Result<Self, Answer> {
        let control = &options.control;
        let family = family_of(options, servers.first());
        let data_server = drawn(options.data.address.remote.as_ref(), family, stop)?;
        let other_family = servers.first().is_some_and(|server| !fits(server.ip(), family));
        let data_server = match data_server {
            None if other_family => {
                drawn(Some(&DataAddress { host: control.target().to_owned(), mask: None }), family, stop)?
            }
            said => said,
        };
        let general = control.local_host.as_ref().map(|host| DataAddress { host: host.clone(), mask: None });
        let local = options.data.address.local.clone().or(general);
        let data_local = drawn(local.as_ref(), family, stop)?;
        let path = path(options, &servers, data_server, data_local, local.as_ref(), family);
        let control_local = control_local(options, servers.first(), stop)?;
        Ok(Self { servers, control_local, data_server, data_local, path })
    }

    /// The control connection went to `server`: where nothing else is said the data go there too.
    ///
    /// # Errors
    /// No address of the family that was asked for the data.
    pub fn settle(&mut self, options: &Options, server: SocketAddr, stop: &Stop) -> Result<(), Answer> {
        if self.servers.first().is_some_and(|first| first.ip() == server.ip()) {
            return Ok(());
        }
        self.servers = vec![server];
        let settled = Self::towards(options, self.servers.clone(), stop)?;
        *self = settled;
        Ok(())
    }
}

impl Drawn {
    /// The address of the next iteration.
    pub fn next(self) -> IpAddr {
        let Some(mask) = self.mask else { return self.address };
        let draw = random::bytes::<16>().unwrap_or_default();
        match self.address {
            IpAddr::V4(address) => {
                let host = u32::MAX.checked_shr(u32::from(mask)).unwrap_or(0);
                let drawn = u32::from_ne_bytes([draw[0], draw[1], draw[2], draw[3]]);
                IpAddr::V4(Ipv4Addr::from_bits(address.to_bits() & !host | drawn & host))
            }
            IpAddr::V6(address) => {
                let host = u128::MAX.checked_shr(u32::from(mask)).unwrap_or(0);
                IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !host | u128::from_ne_bytes(draw) & host))
            }
        }
    }
}

/// The family of the data connection: its own option's, else that of the control connection.
fn family_of(options: &Options, server: Option<&SocketAddr>) -> Family {
    match (options.data.family, server) {
        (Family::Any, Some(SocketAddr::V6(_))) => Family::V6,
        (Family::Any, _) => Family::V4,
        (asked, _) => asked,
    }
}

fn fits(address: IpAddr, family: Family) -> bool {
    match family {
        Family::Any => true,
        Family::V4 => address.is_ipv4(),
        Family::V6 => address.is_ipv6(),
    }
}

/// All that a name stands for, of IPv4 first where either will do: a netserver listens at both.
fn addresses(host: &str, port: u16, family: Family, stop: &Stop) -> Result<Vec<SocketAddr>, Answer> {
    let mut found = name::look_up_all(host, port, family, stop).map_err(|error| unknown(host, family, &error))?;
    found.sort_by_key(SocketAddr::is_ipv6);
    Ok(found)
}

fn drawn(said: Option<&DataAddress>, family: Family, stop: &Stop) -> Result<Option<Drawn>, Answer> {
    let Some(DataAddress { host, mask }) = said else { return Ok(None) };
    let address = name::look_up(host, 0, family, stop).map_err(|error| unknown(host, family, &error))?.ip();
    Ok(Some(Drawn { address, mask: *mask }))
}

fn control_local(options: &Options, server: Option<&SocketAddr>, stop: &Stop) -> Result<Option<SocketAddr>, Answer> {
    let control = &options.control;
    let ipv6 = server.is_some_and(SocketAddr::is_ipv6);
    match &control.local_host {
        Some(host) => {
            let family = match control.local_family {
                Family::Any if ipv6 => Family::V6,
                Family::Any => Family::V4,
                asked => asked,
            };
            name::look_up(host, control.local_port, family, stop)
                .map(Some)
                .map_err(|error| unknown(host, family, &error))
        }
        None if control.local_port > 0 => Ok(Some(SocketAddr::new(unspecified(ipv6), control.local_port))),
        None => Ok(None),
    }
}

fn unspecified(ipv6: bool) -> IpAddr {
    if ipv6 { Ipv6Addr::UNSPECIFIED.into() } else { Ipv4Addr::UNSPECIFIED.into() }
}

fn path(
    options: &Options,
    servers: &[SocketAddr],
    data_server: Option<Drawn>,
    data_local: Option<Drawn>,
    local: Option<&DataAddress>,
    family: Family,
) -> Path {
    let ipv6 = family == Family::V6;
    let any = unspecified(ipv6);
    let source = data_local.map_or(any, |drawn| drawn.address);
    let destination = data_server.map_or_else(|| servers.first().map_or(any, SocketAddr::ip), |drawn| drawn.address);
    let source_name = match local {
        Some(said) => said.host.clone(),
        // The original's name for any address of IPv6.
        None if ipv6 => "::0".to_owned(),
        None => any.to_string(),
    };
    let named = options.data.address.remote.as_ref().map_or(options.control.target(), |said| &said.host);
    Path {
        source_name,
        source: SocketAddr::new(source, options.data.port.local),
        destination_name: named.to_owned(),
        destination: SocketAddr::new(destination, options.data.port.remote),
    }
}

fn unknown(host: &str, family: Family, error: &EndpointError) -> Answer {
    failure::unresolved(host, family, &error.cause.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use test_case::test_case;

    #[test_case("10.1.2.3", 24, "10.1.2."; "a network of IPv4")]
    #[test_case("10.1.2.3", 32, "10.1.2.3"; "one host")]
    #[test_case("fd00::1", 64, "fd00::"; "a network of IPv6")]
    fn only_the_host_part_is_drawn(address: &str, mask: u8, front: &str) {
        let drawn = Drawn { address: address.parse().unwrap(), mask: Some(mask) };
        for _ in 0..20 {
            assert!(drawn.next().to_string().starts_with(front), "{}", drawn.next());
        }
    }

    #[test]
    fn without_a_mask_nothing_is_drawn() {
        let address = "192.0.2.7".parse().unwrap();
        assert_eq!(Drawn { address, mask: None }.next(), address);
    }
}
