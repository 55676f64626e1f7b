//! The reflector by raw sockets: its answers, its silences, its refusals, and its end.
//!
//! Nothing of our own client's loops is used here: control connections by the protocol's machine, data by hand. Not
//! here: measurements with it (`loopback.rs`), the process and its threads (the binary's tests).

mod authentic;
mod datagrams;
mod ends;
mod identities;
mod limits;
mod replies;
mod segments;
mod strangers;
mod threads;
mod together;

use std::net::{Ipv4Addr, SocketAddr};

use endpoint::reflector::Settings;
use endpoint::stop::Stop;
use protocol::native::limits::Limits;

use crate::served::{PROGRAM, with_settings};

fn settings() -> Settings {
    Settings::at(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), PROGRAM)
}

/// Runs `body` with a reflector of these limits and the flag that stops it.
fn with_limits(limits: Limits, body: impl FnOnce(SocketAddr, &Stop)) {
    with_settings(Settings { limits, ..settings() }, body);
}

fn with_reflector(body: impl FnOnce(SocketAddr)) {
    with_limits(Limits::default(), |address, _| body(address));
}
