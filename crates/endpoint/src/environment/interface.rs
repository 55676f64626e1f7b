//! The interface a measurement leaves by, the route that leads there, and the settings of its driver and queues.

use std::net::IpAddr;

use measure::environment::Interface;
use socket2::Socket;

use super::ethtool::{Card, any_socket};
use super::files::{Files, Notes};
use super::netlink;

/// The interface that a measurement leaves by, where it is known, and what was noted of it and of the route.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Link {
    pub(super) interface: Option<Interface>,
    pub(super) notes: Notes,
}

impl Link {
    /// The interface called `name`, or the one that the route to `peer` takes.
    pub(super) fn read(files: &Files, name: Option<&str>, peer: Option<IpAddr>) -> Self {
        let mut notes = Notes::default();
        Self { interface: read(files, name, peer, &mut notes), notes }
    }
}

/// The interface called `name`, or the one that the route to `peer` takes; `None` where neither is given or it
/// cannot be found out, which is noted.
fn read(files: &Files, name: Option<&str>, peer: Option<IpAddr>, notes: &mut Notes) -> Option<Interface> {
    let routed = peer.and_then(|peer| read_route(files, peer, notes));
    let name = name.map(str::to_owned).or(routed)?;
    let mut interface = Interface { name, ..Interface::default() };
    if files.is_live() {
        ask_kernel(&mut interface, notes);
    }
    read_sysfs(files, &mut interface, notes);
    Some(interface)
}

/// Notes the route to `peer` and returns the name of its interface.
fn read_route(files: &Files, peer: IpAddr, notes: &mut Notes) -> Option<String> {
    if !files.is_live() {
        notes.unread("route", "not asked for a tree of files");
        return None;
    }
    let route = match netlink::route(peer) {
        Ok(route) => route,
        Err(error) => {
            notes.unread(&format!("route to {peer}"), error);
            return None;
        }
    };
    notes.set("route.to", peer);
    if let Some(source) = route.source {
        notes.set("route.source", source);
    }
    if let Some(next_hop) = route.next_hop {
        notes.set("route.next_hop", next_hop);
    }
    if let Some(mtu) = route.mtu {
        notes.set("route.mtu_bytes", mtu);
    }
    if let Ok(Some(state)) = netlink::neighbour(route.interface, route.next_hop.unwrap_or(peer)) {
        notes.set("neighbour.state", state);
    }
    match with_socket(|socket| rustix::net::netdevice::index_to_name(socket, route.interface)) {
        Ok(name) => Some(name),
        Err(error) => {
            notes.unread("interface of the route", error);
            None
        }
    }
}

fn with_socket<T>(ask: impl FnOnce(&Socket) -> rustix::io::Result<T>) -> std::io::Result<T> {
    Ok(ask(&any_socket()?)?)
}

/// Adds the facts that the kernel reports of an interface in the calling thread's network namespace.
fn ask_kernel(interface: &mut Interface, notes: &mut Notes) {
    let name = interface.name.clone();
    let card = match Card::named(&name) {
        Ok(card) => card,
        Err(error) => return notes.unread(&format!("interface {name}"), error),
    };
    let mut keep = Keep { notes, name: &name };
    interface.mtu_bytes = keep.value("MTU", card.mtu());
    interface.tx_queue_len = keep.value("transmit queue length", card.tx_queue_len());
    // Virtual interfaces have none, and sysfs is asked next.
    interface.driver = card.driver().ok().filter(|driver| !driver.is_empty());
    interface.offloads = keep.value("offloads", card.features()).unwrap_or_default();
    if let Some(coalescing) = keep.value("interrupt coalescing", card.coalescing()) {
        interface.rx_usecs = Some(coalescing.rx_usecs);
        interface.adaptive_rx = Some(coalescing.adaptive_rx);
        keep.set("rx_frames", coalescing.rx_frames);
        keep.set("tx_usecs", coalescing.tx_usecs);
        keep.set("adaptive_tx", coalescing.adaptive_tx);
    }
    if let Some((rx, tx)) = keep.value("rings", card.rings()) {
        keep.set("rx_ring", rx);
        keep.set("tx_ring", tx);
    }
    if let Some((rx, tx, combined)) = keep.value("channels", card.channels()) {
        keep.set("channels", format!("{rx} rx, {tx} tx, {combined} combined"));
    }
    let index = with_socket(|socket| rustix::net::netdevice::name_to_index(socket, &name));
    if let Some(queue) = keep.value("qdisc", index.and_then(netlink::queue)) {
        (interface.qdisc, interface.shapers) = (queue.name, queue.shapers);
    }
}

/// Keeps the facts that an interface's driver reports, or notes the reason for which it does not.
struct Keep<'a> {
    notes: &'a mut Notes,
    name: &'a str,
}

impl Keep<'_> {
    fn value<T>(&mut self, what: &str, told: std::io::Result<T>) -> Option<T> {
        match told {
            Ok(value) => Some(value),
            Err(error) => {
                let reason = if error.raw_os_error() == Some(libc::EOPNOTSUPP) {
                    "its driver does not tell".to_owned()
                } else {
                    error.to_string()
                };
                self.notes.unread(&format!("{} of {}", what, self.name), reason);
                None
            }
        }
    }

    fn set(&mut self, what: &str, value: impl std::fmt::Display) {
        self.notes.set(format!("interface.{}.{what}", self.name), value);
    }
}

/// Files of an interface that are kept where they are there.
const SETTINGS: &[&str] =
    &["gro_flush_timeout", "napi_defer_hard_irqs", "threaded", "operstate", "device/power/control"];

fn read_sysfs(files: &Files, interface: &mut Interface, notes: &mut Notes) {
    let at = format!("/sys/class/net/{}", interface.name);
    if !shows_our_namespace(files, &interface.name, &at) {
        return notes.unread(&at, "this file system shows another network namespace, or none of that name");
    }
    interface.mtu_bytes = interface.mtu_bytes.or_else(|| files.number(&format!("{at}/mtu")));
    interface.tx_queue_len = interface.tx_queue_len.or_else(|| files.number(&format!("{at}/tx_queue_len")));
    interface.driver = interface.driver.take().or_else(|| files.link(&format!("{at}/device/driver")));
    // -1 where the driver knows none (virtio); no such file content at all where the link is down.
    interface.speed_mbps = files.number(&format!("{at}/speed"));
    if interface.speed_mbps.is_none() {
        notes.unread(&format!("{at}/speed"), "the driver knows none");
    }
    if interface.driver.is_none() {
        notes.unread(&format!("{at}/device/driver"), "no driver is named");
    }
    for file in SETTINGS {
        if let Ok(text) = files.text(&format!("{at}/{file}")) {
            notes.set(format!("{at}/{file}"), text);
        }
    }
    for queue in files.names(&format!("{at}/queues")) {
        for file in ["rps_cpus", "xps_cpus"] {
            if let Ok(mask) = files.text(&format!("{at}/queues/{queue}/{file}"))
                && mask.chars().any(|digit| !matches!(digit, '0' | ','))
            {
                notes.set(format!("{at}/queues/{queue}/{file}"), mask);
            }
        }
    }
}

/// `/sys` shows the network namespace it was mounted in, which need not be the calling thread's.
fn shows_our_namespace(files: &Files, name: &str, at: &str) -> bool {
    let shown: Option<u32> = files.number(&format!("{at}/ifindex"));
    let ours = with_socket(|socket| rustix::net::netdevice::name_to_index(socket, name)).ok();
    shown.is_some() && (!files.is_live() || shown == ours)
}

/// The interface that packets to a peer leave by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Towards {
    /// Its index.
    pub index: u32,
    /// Its name.
    pub name: String,
    /// Its largest packet, bytes of IP; absent where the kernel does not say.
    pub mtu_bytes: Option<u32>,
}

impl Towards {
    /// The interface called `name`, or the one that the route to `peer` takes.
    ///
    /// # Errors
    /// No such interface, no route.
    pub fn find(peer: IpAddr, name: Option<&str>) -> std::io::Result<Self> {
        let (index, name) = if let Some(name) = name {
            (with_socket(|socket| rustix::net::netdevice::name_to_index(socket, name))?, name.to_owned())
        } else {
            let index = netlink::route(peer)?.interface;
            (index, with_socket(|socket| rustix::net::netdevice::index_to_name(socket, index))?)
        };
        let mtu_bytes = Card::named(&name).and_then(|card| card.mtu()).ok();
        Ok(Self { index, name, mtu_bytes })
    }

    /// Name of the interface with this index; `None` where there is none any more.
    pub fn name_of(index: u32) -> Option<String> {
        with_socket(|socket| rustix::net::netdevice::index_to_name(socket, index)).ok()
    }
}
