//! Errors that others send about a packet of a socket: kind, packet and sender (`IP_RECVERR`).

use std::net::IpAddr;

/// An error of a socket's error queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// Sender of the ICMP error; `None`: our own kernel, for a local reason.
    pub from: Option<IpAddr>,
    /// The error number it stands for.
    pub errno: i32,
    /// ICMP type.
    pub kind: u8,
    /// ICMP code.
    pub code: u8,
    /// The MTU, bytes, of a packet too big.
    pub info: u32,
    /// The first octets of what it is about, from the header of the socket's protocol or from its payload on; zeros beyond
    /// what was quoted.
    pub about: [u8; 8],
    /// Octets of them that were quoted.
    pub quoted: usize,
    /// Kernel's receive stamp, wall clock, nanoseconds since 1970; absent where the socket does not stamp.
    pub stamp: Option<u64>,
    /// Its time to live on arrival, where the socket delivers it (`option::tell_time_to_live`).
    pub time_to_live: Option<u8>,
}

impl Report {
    /// The start of what it is about, as it was quoted.
    pub fn quote(&self) -> &[u8] {
        &self.about[..self.quoted]
    }
}

/// `struct sock_extended_err` (include/uapi/linux/errqueue.h) with the sender's socket address behind it. `None`: no error, or
/// cut short.
pub(super) fn read(data: &[u8]) -> Option<Report> {
    let (data, name) = data.split_first_chunk::<16>()?;
    let word = |at: usize| data.get(at..)?.first_chunk().map(|octets| u32::from_ne_bytes(*octets));
    let remote = match data[4] {
        libc::SO_EE_ORIGIN_LOCAL => false,
        libc::SO_EE_ORIGIN_ICMP | libc::SO_EE_ORIGIN_ICMP6 => true,
        _ => return None,
    };
    Some(Report {
        from: sender(name).filter(|_| remote),
        errno: word(0)?.cast_signed(),
        kind: data[5],
        code: data[6],
        info: word(8)?,
        about: [0; 8],
        quoted: 0,
        stamp: None,
        time_to_live: None,
    })
}

/// The address within a `sockaddr_in` or a `sockaddr_in6`.
fn sender(name: &[u8]) -> Option<IpAddr> {
    match i32::from(u16::from_ne_bytes(*name.first_chunk()?)) {
        libc::AF_INET => name.get(4..)?.first_chunk::<4>().map(|octets| IpAddr::from(*octets)),
        libc::AF_INET6 => name.get(8..)?.first_chunk::<16>().map(|octets| IpAddr::from(*octets)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extended(origin: u8, name: &[u8]) -> Vec<u8> {
        let mut data = vec![0; 16];
        data[..4].copy_from_slice(&libc::EMSGSIZE.to_ne_bytes());
        data[4..7].copy_from_slice(&[origin, 3, 4]);
        data[8..12].copy_from_slice(&1_300_u32.to_ne_bytes());
        data.extend_from_slice(name);
        data
    }

    fn name(family: i32, at: usize, address: &[u8]) -> Vec<u8> {
        let mut name = vec![0; 28];
        name[..2].copy_from_slice(&(family as u16).to_ne_bytes());
        name[at..at + address.len()].copy_from_slice(address);
        name
    }

    #[test]
    fn who_sent_an_error_stands_behind_it() {
        let v4 = read(&extended(libc::SO_EE_ORIGIN_ICMP, &name(libc::AF_INET, 4, &[10, 0, 0, 9]))).unwrap();
        assert_eq!((v4.from, v4.kind, v4.code, v4.info), (Some([10, 0, 0, 9].into()), 3, 4, 1_300));
        let six = std::net::Ipv6Addr::LOCALHOST;
        let v6 = read(&extended(libc::SO_EE_ORIGIN_ICMP6, &name(libc::AF_INET6, 8, &six.octets()))).unwrap();
        assert_eq!(v6.from, Some(six.into()));
        let own = read(&extended(libc::SO_EE_ORIGIN_LOCAL, &name(0, 4, &[]))).unwrap();
        assert_eq!((own.from, own.errno), (None, libc::EMSGSIZE));
        assert_eq!(read(&extended(libc::SO_EE_ORIGIN_TIMESTAMPING, &[])), None);
        for cut in 0..16 {
            assert_eq!(read(&extended(libc::SO_EE_ORIGIN_ICMP, &[])[..cut]), None, "cut at {cut}");
        }
    }
}
