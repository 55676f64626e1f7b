//! This host's own addresses.

use std::collections::BTreeSet;
use std::ffi::CStr;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};

/// An interface with one of its addresses, or without one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// True where it is up.
    pub is_up: bool,
    /// The address, with the scope of one that counts on its link alone, and port 0.
    pub address: Option<SocketAddr>,
}

/// All interfaces, each once with each of its addresses, and once without where the system has it so.
pub fn interfaces() -> io::Result<Vec<Interface>> {
    let mut first: *mut libc::ifaddrs = std::ptr::null_mut();
    // SAFETY: `first` is a valid place for the head of a list, which is freed below, once.
    if unsafe { libc::getifaddrs(&raw mut first) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let mut found = Vec::new();
    let mut next = first;
    // SAFETY: getifaddrs gave a list that ends in null; its entries, and the names and addresses that they point to where
    // they are not null, live until it is freed.
    while let Some(entry) = unsafe { next.as_ref() } {
        next = entry.ifa_next;
        // SAFETY: as above; a name ends in a zero.
        let name = unsafe { CStr::from_ptr(entry.ifa_name) }.to_string_lossy().into_owned();
        // SAFETY: as above.
        let address = unsafe { address_at(entry.ifa_addr) };
        found.push(Interface { name, is_up: entry.ifa_flags & libc::IFF_UP as u32 != 0, address });
    }
    // SAFETY: the head of the list as given; nothing of it is used any more.
    unsafe { libc::freeifaddrs(first) };
    Ok(found)
}

/// The addresses of interfaces that are up, without those of loopback and those that count on one link alone.
pub fn addresses() -> io::Result<BTreeSet<IpAddr>> {
    let all = interfaces()?.into_iter().filter(|interface| interface.is_up);
    Ok(all.filter_map(|interface| interface.address).map(|address| address.ip()).filter(|ip| !is_local(*ip)).collect())
}

/// Returns true where this host has several addresses of one IP version, so that its routes may choose another source
/// address than the one that was asked.
pub fn is_several(addresses: &BTreeSet<IpAddr>) -> bool {
    let v4 = addresses.iter().filter(|address| address.is_ipv4()).count();
    v4 > 1 || addresses.len() - v4 > 1
}

fn is_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_loopback(),
        IpAddr::V6(address) => address.is_loopback() || address.is_unicast_link_local(),
    }
}

/// The IP address at `name`.
///
/// # Safety
/// `name` is null, or points to an address as long as its family says, which lives through the call.
unsafe fn address_at(name: *const libc::sockaddr) -> Option<SocketAddr> {
    // SAFETY: as the caller promises; each family's structure is read where the family says so.
    unsafe {
        match i32::from(name.as_ref()?.sa_family) {
            libc::AF_INET => {
                let name = name.cast::<libc::sockaddr_in>().read_unaligned();
                Some((Ipv4Addr::from(name.sin_addr.s_addr.to_ne_bytes()), 0).into())
            }
            libc::AF_INET6 => {
                let name = name.cast::<libc::sockaddr_in6>().read_unaligned();
                Some(SocketAddrV6::new(Ipv6Addr::from(name.sin6_addr.s6_addr), 0, 0, name.sin6_scope_id).into())
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    #[test]
    fn ours_can_be_bound() {
        for address in addresses().unwrap() {
            assert!(!address.is_loopback());
            std::net::UdpSocket::bind((address, 0)).unwrap();
        }
    }

    #[test]
    fn the_loopback_interface_is_among_them() {
        let all = interfaces().unwrap();
        let loopback = |address: &SocketAddr| address.ip() == IpAddr::from([127, 0, 0, 1]);
        assert!(all.iter().any(|one| one.name == "lo" && one.is_up && one.address.as_ref().is_some_and(loopback)));
    }

    #[test_case(&[], false; "none")]
    #[test_case(&["10.0.0.1", "2001:db8::1"], false; "one of each")]
    #[test_case(&["10.0.0.1", "10.0.1.1"], true; "two of v4")]
    #[test_case(&["10.0.0.1", "2001:db8::1", "2001:db8::2"], true; "two of v6")]
    fn several_are_more_than_one_of_a_version(addresses: &[&str], several: bool) {
        assert_eq!(is_several(&addresses.iter().map(|address| address.parse().unwrap()).collect()), several);
    }
}
