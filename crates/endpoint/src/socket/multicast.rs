//! Multicast groups: joining one, and the settings of datagrams to one. IPv4 and IPv6.

use std::ffi::CString;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use libc::c_int;
use socket2::{InterfaceIndexOrAddress, SockAddr, Socket};

/// `MCAST_JOIN_SOURCE_GROUP` of include/uapi/linux/in.h, of either family (RFC 3678 §5.1).
const JOIN_SOURCE_GROUP: c_int = 46;

/// An interface, as the system takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interface {
    /// By an IPv4 address of its own.
    Address(Ipv4Addr),
    /// By its number.
    Index(u32),
}

impl Interface {
    /// The interface of a name (`eth0`), a number, or one of its addresses.
    pub fn of(word: &str) -> io::Result<Self> {
        if let Ok(index) = word.parse() {
            return Ok(Self::Index(index));
        }
        match word.parse() {
            Ok(IpAddr::V4(address)) => Ok(Self::Address(address)),
            Ok(IpAddr::V6(address)) => index_of_address(address).map(Self::Index),
            Err(_) => index_of_name(word).map(Self::Index),
        }
    }

    /// Its number; 0 lets the system choose.
    fn index(interface: Option<Self>) -> io::Result<u32> {
        match interface {
            None => Ok(0),
            Some(Self::Index(index)) => Ok(index),
            Some(Self::Address(_)) => {
                Err(io::Error::new(io::ErrorKind::InvalidInput, "an interface of IPv6 has no address of IPv4"))
            }
        }
    }
}

/// Settings of datagrams to a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// Interface they leave by; absent: the routing table's choice.
    pub interface: Option<Interface>,
    /// Time to live: the number of routers they pass, and one more.
    pub ttl: u8,
    /// True where members on this host receive them too.
    pub loopback: bool,
}

/// Returns true where `address` is that of a group.
pub fn is_group(address: SocketAddr) -> bool {
    address.ip().is_multicast()
}

/// Joins `group` at `interface`, to hear everybody or `source` alone.
pub fn join(socket: &Socket, group: IpAddr, interface: Option<Interface>, source: Option<IpAddr>) -> io::Result<()> {
    match (group, source) {
        (IpAddr::V4(group), None) => socket.join_multicast_v4_n(&group, &of_v4(interface)),
        (IpAddr::V6(group), None) => socket.join_multicast_v6(&group, Interface::index(interface)?),
        (IpAddr::V4(group), Some(IpAddr::V4(source))) => match interface {
            Some(Interface::Index(index)) => join_source(socket.as_fd(), group.into(), source.into(), index),
            Some(Interface::Address(address)) => socket.join_ssm_v4(&source, &group, &address),
            None => socket.join_ssm_v4(&source, &group, &Ipv4Addr::UNSPECIFIED),
        },
        (IpAddr::V6(_), Some(source @ IpAddr::V6(_))) => {
            join_source(socket.as_fd(), group, source, Interface::index(interface)?)
        }
        _ => Err(io::Error::new(io::ErrorKind::InvalidInput, "a group and its sender are of one IP version")),
    }
}

/// Sets how datagrams of `socket` leave for groups.
pub fn send_by(socket: &Socket, ipv6: bool, outgoing: &Outgoing) -> io::Result<()> {
    if ipv6 {
        socket.set_multicast_hops_v6(outgoing.ttl.into())?;
        socket.set_multicast_loop_v6(outgoing.loopback)?;
        if outgoing.interface.is_some() {
            socket.set_multicast_if_v6(Interface::index(outgoing.interface)?)?;
        }
        return Ok(());
    }
    socket.set_multicast_ttl_v4(outgoing.ttl.into())?;
    socket.set_multicast_loop_v4(outgoing.loopback)?;
    match outgoing.interface {
        None => Ok(()),
        Some(Interface::Address(address)) => socket.set_multicast_if_v4(&address),
        Some(Interface::Index(index)) => set_interface_v4(socket.as_fd(), index),
    }
}

/// Leaves `socket` the groups that it has joined itself: else it hears those that any program of this host has joined,
/// on its port.
pub fn hear_own_groups_alone(socket: &Socket, ipv6: bool) -> io::Result<()> {
    if ipv6 {
        socket.set_multicast_all_v6(false)?;
    }
    // A socket of IPv6 that takes IPv4 too has this option as well.
    socket.set_multicast_all_v4(false)
}

fn of_v4(interface: Option<Interface>) -> InterfaceIndexOrAddress {
    match interface {
        None => InterfaceIndexOrAddress::Address(Ipv4Addr::UNSPECIFIED),
        Some(Interface::Address(address)) => InterfaceIndexOrAddress::Address(address),
        Some(Interface::Index(index)) => InterfaceIndexOrAddress::Index(index),
    }
}

/// `struct group_source_req` of include/uapi/linux/in.h.
#[repr(C)]
struct GroupSource {
    interface: u32,
    group: libc::sockaddr_storage,
    source: libc::sockaddr_storage,
}

fn join_source(socket: BorrowedFd<'_>, group: IpAddr, source: IpAddr, interface: u32) -> io::Result<()> {
    let request = GroupSource { interface, group: storage(group), source: storage(source) };
    set(socket, if group.is_ipv6() { libc::IPPROTO_IPV6 } else { libc::IPPROTO_IP }, JOIN_SOURCE_GROUP, &request)
}

fn set_interface_v4(socket: BorrowedFd<'_>, index: u32) -> io::Result<()> {
    let any = libc::in_addr { s_addr: 0 };
    let request = libc::ip_mreqn { imr_multiaddr: any, imr_address: any, imr_ifindex: index.cast_signed() };
    set(socket, libc::IPPROTO_IP, libc::IP_MULTICAST_IF, &request)
}

/// Sets an option whose value is a C structure.
fn set<T>(socket: BorrowedFd<'_>, level: c_int, name: c_int, value: &T) -> io::Result<()> {
    // SAFETY: the descriptor is open for the borrow's life; pointer and length describe `value`, which outlives the call,
    // and which the kernel only reads.
    let result = unsafe {
        let value = std::ptr::from_ref(value).cast();
        libc::setsockopt(socket.as_raw_fd(), level, name, value, size_of::<T>() as libc::socklen_t)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn storage(address: IpAddr) -> libc::sockaddr_storage {
    let address = SockAddr::from(SocketAddr::new(address, 0));
    // SAFETY: a sockaddr_storage is large enough for any address, all-zero is valid, and as many bytes of the address are
    // copied as it says that it has.
    unsafe {
        let mut storage: libc::sockaddr_storage = std::mem::zeroed();
        let length = address.len() as usize;
        std::ptr::copy_nonoverlapping(address.as_ptr().cast::<u8>(), (&raw mut storage).cast::<u8>(), length);
        storage
    }
}

fn index_of_name(name: &str) -> io::Result<u32> {
    let unknown = || io::Error::new(io::ErrorKind::NotFound, format!("there is no interface {name} here"));
    let name = CString::new(name).map_err(|_| unknown())?;
    // SAFETY: the pointer is to a string that ends in a zero, and outlives the call.
    match unsafe { libc::if_nametoindex(name.as_ptr()) } {
        0 => Err(unknown()),
        index => Ok(index),
    }
}

fn index_of_address(address: Ipv6Addr) -> io::Result<u32> {
    // proc(5): address, interface's number, length of the prefix, scope, flags (all hexadecimal), name.
    let table = std::fs::read_to_string("/proc/net/if_inet6")?;
    index_in(&table, address)
        .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, format!("no interface here has the address {address}")))
}

fn index_in(table: &str, address: Ipv6Addr) -> Option<u32> {
    let address = format!("{:032x}", u128::from(address));
    table.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        (words.next()? == address).then(|| u32::from_str_radix(words.next()?, 16).ok())?
    })
}

#[cfg(test)]
mod tests {
    use socket2::{Domain, Protocol, Type};
    use test_case::test_case;

    use super::*;

    #[test]
    fn an_interface_is_found_by_name_number_and_address() {
        assert_eq!(Interface::of("127.0.0.1").unwrap(), Interface::Address(Ipv4Addr::LOCALHOST));
        assert!(matches!(Interface::of("lo").unwrap(), Interface::Index(1..)));
        assert_eq!(Interface::of("7").unwrap(), Interface::Index(7));
        assert!(Interface::of("no-such-0").unwrap_err().to_string().contains("no-such-0"));
        assert!(Interface::of("2001:db8::1").unwrap_err().to_string().contains("2001:db8::1"));
    }

    #[test]
    fn a_table_of_addresses_is_read() {
        let table = "00000000000000000000000000000001 01 80 10 80       lo\n\
                     fe80000000000000020c29fffe2b3c4d 0a 40 20 80     eth1\n";
        assert_eq!(index_in(table, "fe80::20c:29ff:fe2b:3c4d".parse().unwrap()), Some(10));
        assert_eq!(index_in(table, "::2".parse().unwrap()), None);
        assert_eq!(index_in("", Ipv6Addr::LOCALHOST), None);
    }

    #[test_case("239.1.2.3", None; "everybody")]
    #[test_case("232.1.2.3", Some("127.0.0.1"); "one sender alone")]
    #[test_case("ff15::1:2", None; "everybody, over v6")]
    #[test_case("ff35::1:2", Some("::1"); "one sender alone, over v6")]
    fn a_group_is_joined_at_an_interface(group: &str, source: Option<&str>) {
        let (group, source): (IpAddr, _) = (group.parse().unwrap(), source.map(|source| source.parse().unwrap()));
        let lo = Interface::of("lo").unwrap();
        let socket = Socket::new(Domain::for_address(SocketAddr::new(group, 0)), Type::DGRAM, Some(Protocol::UDP));
        let socket = socket.unwrap();
        join(&socket, group, Some(lo), source).unwrap();
        let again = join(&socket, group, Some(lo), source).unwrap_err();
        let member = if source.is_some() { libc::EADDRNOTAVAIL } else { libc::EADDRINUSE };
        assert_eq!(again.raw_os_error(), Some(member), "it is a member already: {again}");
        let outgoing = Outgoing { interface: Some(lo), ttl: 7, loopback: false };
        send_by(&socket, group.is_ipv6(), &outgoing).unwrap();
        let (ttl, looped) = if group.is_ipv6() {
            (socket.multicast_hops_v6().unwrap(), socket.multicast_loop_v6().unwrap())
        } else {
            (socket.multicast_ttl_v4().unwrap(), socket.multicast_loop_v4().unwrap())
        };
        assert_eq!((ttl, looped), (7, false));
    }

    #[test]
    fn a_sender_of_another_version_is_refused() {
        let socket = Socket::new(Domain::IPV4, Type::DGRAM, None).unwrap();
        let mixed = join(&socket, "239.1.2.3".parse().unwrap(), None, Some(Ipv6Addr::LOCALHOST.into()));
        assert_eq!(mixed.unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }
}
