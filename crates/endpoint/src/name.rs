//! From a host's name to the address that is measured.

use std::ffi::CStr;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;

use socket2::SockAddr;

use crate::error::hint::Hint;
use crate::error::{Cause, EndpointError, Step};
use crate::stop::{GLANCE, Stop};

/// IP versions that are accepted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Family {
    /// The first the resolver gives.
    #[default]
    Any,
    /// IPv4 only.
    V4,
    /// IPv6 only.
    V6,
}

/// The first address of `host` in the wanted family. `host` may be a name, an IPv4 or an IPv6 address, the latter also
/// in brackets and with a scope (`fe80::1%eth0`). A resolver that takes its time is not waited for once `stop` is asked
/// for.
pub fn look_up(host: &str, port: u16, family: Family, stop: &Stop) -> Result<SocketAddr, EndpointError> {
    // There is at least one.
    look_up_all(host, port, family, stop).map(|addresses| addresses[0])
}

/// All addresses of `host` in the wanted family, at least one, each once, as the resolver orders them.
pub fn look_up_all(host: &str, port: u16, family: Family, stop: &Stop) -> Result<Vec<SocketAddr>, EndpointError> {
    use_files_and_dns_when_static();
    let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host).to_owned();
    let found = match bare.parse::<IpAddr>() {
        // An address needs no resolver, and no thread for it.
        Ok(address) => Ok(vec![SocketAddr::new(address, port)]),
        Err(_) => unless_stopped(stop, move || (bare, port).to_socket_addrs().map(Iterator::collect::<Vec<_>>)),
    };
    let found = found.map_err(|cause| EndpointError::new(Step::LookUp, host, cause))?;
    let fail = |words: &str| EndpointError::new(Step::LookUp, host, io::Error::new(io::ErrorKind::NotFound, words));
    if found.is_empty() {
        return Err(fail("the resolver knows no address of that name"));
    }
    let fits = |address: &SocketAddr| match family {
        Family::Any => true,
        Family::V4 => address.is_ipv4(),
        Family::V6 => address.is_ipv6(),
    };
    let mut addresses = Vec::new();
    for address in found.into_iter().filter(fits) {
        if !addresses.contains(&address) {
            addresses.push(address);
        }
    }
    if addresses.is_empty() {
        let kind = if family == Family::V4 { "IPv4" } else { "IPv6" };
        return Err(fail(&format!("it has no {kind} address")).with_hint(Hint::NoAddressOfVersion));
    }
    Ok(addresses)
}

/// Returns the result of `resolve`. It blocks for any time, and nothing can interrupt it: so it has a thread of its
/// own, which is left behind where the user asks to stop first.
fn unless_stopped<T: Send + 'static>(
    stop: &Stop,
    resolve: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, Cause> {
    let (answer, answered) = channel();
    // Nobody waits for an answer that comes too late.
    let body = move || drop(answer.send(resolve()));
    thread::Builder::new().name("sonde-look-up".into()).spawn(body)?;
    while !stop.requested() {
        match answered.recv_timeout(GLANCE.into()) {
            Ok(found) => return Ok(found?),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Err(io::Error::other("the resolver gave up").into()),
        }
    }
    Err(Cause::Stopped)
}

/// In a static binary glibc would load the host's name service modules into a process that has its own libc, which is
/// known to crash: there, files and DNS answer, both built in.
fn use_files_and_dns_when_static() {
    #[cfg(all(target_feature = "crt-static", target_env = "gnu"))]
    {
        use std::ffi::{c_char, c_int};
        use std::sync::Once;
        unsafe extern "C" {
            fn __nss_configure_lookup(database: *const c_char, service: *const c_char) -> c_int;
        }
        static ONCE: Once = Once::new();
        // SAFETY: glibc's function takes two NUL-terminated strings that it copies; it is called before the first
        // look-up of this process, once.
        ONCE.call_once(|| unsafe {
            __nss_configure_lookup(c"hosts".as_ptr(), c"files dns".as_ptr());
        });
    }
}

/// The name of an address, where the resolver has one. It blocks as long as that takes.
pub fn of(address: IpAddr) -> Option<String> {
    use_files_and_dns_when_static();
    let name = SockAddr::from(SocketAddr::new(address, 0));
    let mut text = [0_u8; libc::NI_MAXHOST as usize];
    // SAFETY: the address and its length describe each other, the buffer is ours and as long as is said, and a service is
    // not asked for.
    let failed = unsafe {
        let (into, room) = (text.as_mut_ptr().cast::<libc::c_char>(), text.len() as libc::socklen_t);
        libc::getnameinfo(name.as_ptr().cast(), name.len(), into, room, std::ptr::null_mut(), 0, libc::NI_NAMEREQD)
    };
    let name = CStr::from_bytes_until_nul(&text).ok().filter(|_| failed == 0)?;
    name.to_str().ok().map(str::to_owned)
}

/// The name of the interface with this number, where there is one.
pub fn interface(index: u32) -> Option<String> {
    if index == 0 {
        return None;
    }
    let socket = rustix::net::socket(rustix::net::AddressFamily::INET, rustix::net::SocketType::DGRAM, None).ok()?;
    rustix::net::netdevice::index_to_name(socket, index).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use test_case::test_case;

    #[test_case("127.0.0.1", Family::Any, "127.0.0.1:7"; "v4")]
    #[test_case("::1", Family::Any, "[::1]:7"; "v6")]
    #[test_case("[::1]", Family::V6, "[::1]:7"; "v6 in brackets")]
    fn an_address_is_its_own_name(host: &str, family: Family, expected: &str) {
        assert_eq!(look_up(host, 7, family, &Stop::default()).unwrap().to_string(), expected);
    }

    #[test]
    fn all_addresses_of_one_are_that_one() {
        assert_eq!(look_up_all("::1", 7, Family::Any, &Stop::default()).unwrap(), ["[::1]:7".parse().unwrap()]);
    }

    #[test]
    fn the_wrong_family_is_said() {
        let error = look_up("127.0.0.1", 7, Family::V6, &Stop::default()).unwrap_err();
        assert!(error.to_string().contains("no IPv6 address"), "{error}");
    }

    #[test]
    fn an_unknown_name_is_said_with_the_name() {
        let error = look_up("no-such-host.invalid", 7, Family::Any, &Stop::default()).unwrap_err();
        assert!(error.to_string().starts_with("no-such-host.invalid: cannot look up"), "{error}");
    }

    #[test]
    fn a_resolver_that_says_nothing_is_waited_for_until_a_stop() {
        let stop = Stop::default();
        let (never, silence) = channel::<()>();
        let asked = stop.clone();
        let found = unless_stopped(&stop, move || {
            asked.request();
            silence.recv().map_err(io::Error::other)
        });
        assert!(matches!(found, Err(Cause::Stopped)), "{found:?}");
        drop(never);
    }

    #[test]
    fn a_resolver_that_breaks_is_told() {
        let error = unless_stopped::<()>(&Stop::default(), || panic!("as the test wants it")).unwrap_err();
        assert!(error.to_string().contains("gave up"), "{error}");
    }
}
