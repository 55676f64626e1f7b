//! Faults that either of our ends meets when the other misbehaves: a clear error in bounded time, and a server that goes on
//! serving others.
//!
//! The other end is made of raw octets here, apart from the codec that is tested.

mod clients;
mod crowd;
mod message;
mod ports;
mod servers;

use std::path::Path;

use rustix::net::{AddressFamily, getpeername};
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};
use testbed::process::Running;
use testbed::wait;

use crate::netperf_pairs::ends::{End, Server};

/// Asserts that `server` still serves somebody who does it right.
fn serves(server: &Server) {
    let ended = End::Ours.client(server.port, &["-H", "127.0.0.1", "-t", "TCP_RR", "-l", "-100"]);
    assert_eq!((ended.overdue, ended.code), (false, Some(0)), "it serves nobody any more: {}", ended.told());
}

/// Entries of a folder of this process below `/proc`.
fn entries(pid: u32, what: &str) -> usize {
    std::fs::read_dir(Path::new("/proc").join(pid.to_string()).join(what)).map_or(0, Iterator::count)
}

/// Descriptors of a server of ours that has just started. It listens before it has given up what it does not need, for which it opens
/// much for a moment; only then it has threads.
fn descriptors_at_start(server: &Server) -> usize {
    wait::until("its threads", || entries(server.id(), "task") > 1);
    entries(server.id(), "fd")
}

/// Sockets of IP of this process that have a peer. Each is asked by itself: the kernel's tables of all sockets take long to read once
/// connections by the thousand have ended, and a connection of one exchange is gone meanwhile.
fn connected(process: &Running) -> usize {
    let pid = Pid::from_raw(process.id().cast_signed()).expect("a number");
    let Ok(process) = pidfd_open(pid, PidfdFlags::empty()) else { return 0 };
    let folder = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let numbers = folder.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let descriptors = numbers.filter_map(|number| pidfd_getfd(&process, number, PidfdGetfdFlags::empty()).ok());
    let peers = descriptors.filter_map(|descriptor| getpeername(descriptor).ok().flatten());
    peers.filter(|peer| [AddressFamily::INET, AddressFamily::INET6].contains(&peer.address_family())).count()
}

/// The most memory it has had resident, KiB.
fn peak_kib(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or_else(|| panic!("{status}"));
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}
