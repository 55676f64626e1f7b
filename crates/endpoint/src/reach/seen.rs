//! From what a socket says to what a probe saw.

use std::io;
use std::net::IpAddr;

use measure::reach::{Reporter, Says, Seen};
use measure::unit::Nanos;
use protocol::icmp::echo::Family;
use protocol::icmp::error::IcmpError;

use crate::error::plain;
use crate::socket::report::Report;

/// Outcome that an ICMP error reports for a probe from `local` to `peer`; `None` where the error is advice and ends
/// nothing.
pub(super) fn of_report(report: &Report, peer: IpAddr, local: Option<IpAddr>, after: Nanos) -> Option<Seen> {
    let says = match icmp(report, peer) {
        Some(error) if !error.is_final() => return None,
        Some(error) => says(error),
        None => of_errno(report.errno)?,
    };
    let by = match report.from {
        Some(from) if from == peer => Reporter::Host,
        Some(from) if local != Some(from) => Reporter::Hop,
        _ => Reporter::Ourselves,
    };
    Some(Seen::Error { says, from: report.from.map(|from| from.to_string()), by, after_ns: after })
}

/// The ICMP error that a report stands for; `None`: our kernel's own.
pub(crate) fn icmp(report: &Report, peer: IpAddr) -> Option<IcmpError> {
    report.from?;
    let family = if peer.is_ipv4() { Family::V4 } else { Family::V6 };
    IcmpError::of(family, report.kind, report.code, report.info)
}

/// Outcome of a probe that could not leave or ended without a report, from the error of its system call.
pub(super) fn of_error(error: &io::Error, after: Nanos) -> Seen {
    match error.raw_os_error().and_then(of_errno) {
        Some(says) => Seen::Error { says, from: None, by: Reporter::Ourselves, after_ns: after },
        None if error.kind() == io::ErrorKind::PermissionDenied => {
            Seen::NotAsked { why: "a filter or a policy of this machine forbids it".into() }
        }
        None => Seen::NotAsked { why: plain(error) },
    }
}

fn of_errno(errno: i32) -> Option<Says> {
    Some(match errno {
        libc::EHOSTUNREACH | libc::EHOSTDOWN => Says::HostUnreachable,
        libc::ENETUNREACH => Says::NetworkUnreachable,
        libc::EMSGSIZE => Says::TooBig,
        _ => return None,
    })
}

fn says(error: IcmpError) -> Says {
    match error {
        IcmpError::PortUnreachable => Says::PortUnreachable,
        IcmpError::ProtocolUnreachable => Says::ProtocolUnreachable,
        IcmpError::HostUnreachable => Says::HostUnreachable,
        IcmpError::NetworkUnreachable | IcmpError::BeyondScope => Says::NetworkUnreachable,
        IcmpError::Prohibited | IcmpError::SourcePolicy | IcmpError::RouteRejected => Says::Prohibited,
        IcmpError::TooBig { .. } => Says::TooBig,
        IcmpError::HopLimit => Says::HopLimit,
        _ => Says::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PEER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 2));

    fn report(from: Option<[u8; 4]>, kind: u8, code: u8, errno: i32) -> Report {
        let from = from.map(IpAddr::from);
        Report { from, errno, kind, code, info: 0, about: [0; 8], quoted: 0, stamp: None, time_to_live: None }
    }

    fn who(seen: Option<&Seen>) -> (Says, Reporter) {
        let Some(Seen::Error { says, by, .. }) = seen else { panic!("{seen:?}") };
        (*says, *by)
    }

    #[test]
    fn who_says_it_is_told_by_the_address() {
        let local = Some(IpAddr::from([10, 0, 0, 1]));
        let seen = |from| who(of_report(&report(from, 3, 3, libc::ECONNREFUSED), PEER, local, Nanos(1)).as_ref());
        assert_eq!(seen(Some([10, 0, 0, 2])), (Says::PortUnreachable, Reporter::Host));
        assert_eq!(seen(Some([10, 0, 0, 254])), (Says::PortUnreachable, Reporter::Hop));
        assert_eq!(seen(Some([10, 0, 0, 1])), (Says::PortUnreachable, Reporter::Ourselves));
        let own = of_report(&report(None, 0, 0, libc::EHOSTUNREACH), PEER, local, Nanos(1));
        assert_eq!(who(own.as_ref()), (Says::HostUnreachable, Reporter::Ourselves));
    }

    #[test]
    fn advice_is_no_end() {
        assert_eq!(of_report(&report(Some([10, 0, 0, 254]), 5, 1, 0), PEER, None, Nanos(1)), None);
    }

    #[test]
    fn what_cannot_leave_is_not_asked() {
        let seen = of_error(&io::Error::from_raw_os_error(libc::EPERM), Nanos(1));
        assert!(matches!(&seen, Seen::NotAsked { why } if why.contains("filter")), "{seen:?}");
        let seen = of_error(&io::Error::from_raw_os_error(libc::ENETUNREACH), Nanos(1));
        assert_eq!(who(Some(&seen)), (Says::NetworkUnreachable, Reporter::Ourselves));
    }
}
