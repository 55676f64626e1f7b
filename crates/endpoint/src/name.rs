//! From a host's name to the address that is measured.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};

use crate::error::{EndpointError, Step};

/// Which addresses will do.
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
/// in brackets and with a scope (`fe80::1%eth0`).
pub fn look_up(host: &str, port: u16, family: Family) -> Result<SocketAddr, EndpointError> {
    // There is at least one.
    look_up_all(host, port, family).map(|addresses| addresses[0])
}

/// All addresses of `host` in the wanted family, at least one, each once, as the resolver orders them.
pub fn look_up_all(host: &str, port: u16, family: Family) -> Result<Vec<SocketAddr>, EndpointError> {
    use_files_and_dns_when_static();
    let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
    let fail = |cause: io::Error| EndpointError::new(Step::LookUp, host, cause);
    let fits = |address: &SocketAddr| match family {
        Family::Any => true,
        Family::V4 => address.is_ipv4(),
        Family::V6 => address.is_ipv6(),
    };
    let mut found = (bare, port).to_socket_addrs().map_err(fail)?.peekable();
    if found.peek().is_none() {
        return Err(fail(io::Error::new(io::ErrorKind::NotFound, "the resolver knows no address of that name")));
    }
    let mut addresses = Vec::new();
    for address in found.filter(fits) {
        if !addresses.contains(&address) {
            addresses.push(address);
        }
    }
    if addresses.is_empty() {
        let kind = if family == Family::V4 { "IPv4" } else { "IPv6" };
        return Err(fail(io::Error::new(io::ErrorKind::NotFound, format!("it has no {kind} address")))
            .with_hint("leave -4 or -6 away, or give another name"));
    }
    Ok(addresses)
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

#[cfg(test)]
mod tests {
    use super::*;
    use test_case::test_case;

    #[test_case("127.0.0.1", Family::Any, "127.0.0.1:7"; "v4")]
    #[test_case("::1", Family::Any, "[::1]:7"; "v6")]
    #[test_case("[::1]", Family::V6, "[::1]:7"; "v6 in brackets")]
    fn an_address_is_its_own_name(host: &str, family: Family, expected: &str) {
        assert_eq!(look_up(host, 7, family).unwrap().to_string(), expected);
    }

    #[test]
    fn all_addresses_of_one_are_that_one() {
        assert_eq!(look_up_all("::1", 7, Family::Any).unwrap(), ["[::1]:7".parse().unwrap()]);
    }

    #[test]
    fn the_wrong_family_is_said() {
        let error = look_up("127.0.0.1", 7, Family::V6).unwrap_err();
        assert!(error.to_string().contains("no IPv6 address"), "{error}");
    }

    #[test]
    fn an_unknown_name_is_said_with_the_name() {
        let error = look_up("no-such-host.invalid", 7, Family::Any).unwrap_err();
        assert!(error.to_string().starts_with("no-such-host.invalid: cannot look up"), "{error}");
    }
}
