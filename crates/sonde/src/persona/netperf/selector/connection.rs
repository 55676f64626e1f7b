//! Selectors of the data connection's two ends.

use std::net::IpAddr;

use endpoint::name::Family;

use super::{Row, int, row};
use crate::persona::netperf::view::View;

/// Ports, addresses and families as asked for.
pub(super) const ROWS: [Row; 6] = [
    row("SOURCE_PORT", &["Source", "Port"], |v| int(v.options.data.port.local)),
    row("SOURCE_ADDR", &["Source", "Address"], |v| Some(v.facts.path.source_name.clone())),
    row("SOURCE_FAMILY", &["Source", "Family"], |v| int(family_asked(v))),
    row("DEST_PORT", &["Destination", "Port"], |v| int(v.options.data.port.remote)),
    row("DEST_ADDR", &["Destination", "Address"], |v| Some(destination(v).to_owned())),
    row("DEST_FAMILY", &["Destination", "Family"], |v| int(family(v.facts.path.destination.ip()))),
];

/// Numbers of the address families on Linux.
const FAMILIES: (u8, u8) = (2, 10);

fn family(address: IpAddr) -> u8 {
    if address.is_ipv4() { FAMILIES.0 } else { FAMILIES.1 }
}

/// As given for the data connection; 0 where it was not.
fn family_asked(v: &View<'_>) -> u8 {
    match v.options.data.family {
        Family::Any => 0,
        Family::V4 => FAMILIES.0,
        Family::V6 => FAMILIES.1,
    }
}

fn destination<'a>(v: &View<'a>) -> &'a str {
    v.options.data.address.remote.as_ref().map_or_else(|| v.options.control.target(), |address| &address.host)
}
