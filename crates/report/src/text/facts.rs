//! The facts behind the numbers, printed with `-v`: the parts of the time, the sockets, both ends, the record itself.

use std::net::{IpAddr, SocketAddr};

use logbook::record::{Peer, PeerKind, Record};
use measure::environment::{Disturbance, Environment, Interface};
use measure::outcome::{Distribution, SocketFacts, Split};
use measure::unit::{Bytes, Nanos, grouped};

use crate::layout::{INDENT, Page, Piece, Tone};
use crate::number;
use crate::shell;
use crate::text::column::DETAIL;

/// All that the record knows beyond its figures.
pub(super) fn all(page: &mut Page, record: &Record) {
    if let Some(split) = record.outcome.as_ref().and_then(|outcome| outcome.split.as_ref()) {
        parts(page, split);
    }
    page.gap();
    let calls = record.stream.as_ref().and_then(|stream| stream.calls.as_ref());
    if let Some(values) = record.outcome.as_ref().map(|outcome| &outcome.response).or(calls) {
        precision(page, values);
    }
    for socket in record.sockets() {
        labelled(page, "socket", &socket_facts(socket));
    }
    instrument(page, record);
    for (label, end) in [("this host", &record.ours), ("the peer", &record.theirs)] {
        if let Some(environment) = end {
            page.gap();
            environment_of(page, label, environment);
        }
    }
    page.gap();
    provenance(page, record);
}

/// `label`, then the facts side by side under it.
fn labelled(page: &mut Page, label: &str, facts: &[String]) {
    if !facts.is_empty() {
        page.paragraph(INDENT, &Piece::new(label, Tone::Faint), DETAIL + INDENT, &facts.join(APART_IN_TEXT));
    }
}

/// Between facts of a paragraph.
const APART_IN_TEXT: &str = " · ";

/// Every part of the round trip that was stamped.
fn parts(page: &mut Page, split: &Split) {
    page.gap();
    let parts = |split: &Split| {
        [
            ("local send call to the queue", split.send_to_sched_ns),
            ("local queue to the driver", split.sched_to_driver_ns),
            ("outside this host", split.outside_ns),
            ("  the path, both ways", split.path_ns),
            ("  the peer's host", split.peer_ns),
            ("    its wake-up", split.peer_wake_up_ns),
            ("    its program", split.peer_hold_ns),
            ("    its sending", split.peer_send_ns),
            ("local wake-up", split.wake_up_ns),
            ("round trip, stamped", split.round_trip_ns),
            ("round trip, all", split.round_trip_unstamped_ns),
        ]
    };
    let slowest = split.slowest.as_deref().map(parts);
    let row = |(place, (name, time)): (usize, &(&str, Option<Nanos>))| -> Option<Vec<Piece>> {
        let of_slowest = slowest.map(|slowest| slowest[place].1.map_or_else(String::new, |time| time.to_string()));
        let times = std::iter::once((*time)?.to_string()).chain(of_slowest);
        Some(std::iter::once(Piece::from(*name)).chain(times.map(Piece::from)).collect())
    };
    let mut rows: Vec<Vec<Piece>> = parts(split).iter().enumerate().filter_map(row).collect();
    if slowest.is_some() && !rows.is_empty() {
        rows.insert(0, ["", "median", "slowest tenth"].map(|text| Piece::new(text, Tone::Faint)).to_vec());
    }
    if !rows.is_empty() {
        page.table(&rows);
    }
    if split.clock_stepped {
        page.paragraph(
            INDENT,
            &Piece::new("no split", Tone::Alarm),
            DETAIL + INDENT,
            "the system clock stepped during the run",
        );
    }
    labelled(page, "no timestamps", &split.missing);
}

/// The source of the quantiles.
fn precision(page: &mut Page, response: &Distribution) {
    let mut facts = vec![if response.exact {
        "exact, every value kept".to_owned()
    } else {
        "three significant digits, from the histogram".to_owned()
    }];
    if response.saturated > 0 {
        facts.push(format!("{} beyond the histogram's hour", grouped(response.saturated)));
    }
    facts.extend(response.mad_ns.and_then(number::time).map(|mad| format!("median absolute deviation {mad}")));
    // Adding 0 takes the sign from a rounded −0.
    let rounded = |rho: f64| (rho * 100.0).round() / 100.0 + 0.0;
    facts.extend(response.autocorrelation.map(|rho| format!("autocorrelation {:.2}", rounded(rho))));
    let size = response.effective_sample_size.filter(|size| size.is_finite());
    facts.extend(size.map(|size| format!("effective sample size {}", grouped(size.round() as u64))));
    if response.count > 0 {
        labelled(page, "values", &facts);
    }
}

fn socket_facts(socket: &SocketFacts) -> Vec<String> {
    let bytes = |name: &str, size: Option<Bytes>| size.map(|size| format!("{name} {size}"));
    let time = |name: &str, time: Option<Nanos>| time.map(|time| format!("{name} {time}"));
    [
        Some(format!("{} → {}", socket.local, socket.remote)),
        socket.icmp_socket.as_ref().map(|kind| format!("{kind} socket")),
        bytes("send buffer", socket.send_buffer_bytes),
        bytes("receive buffer", socket.receive_buffer_bytes),
        socket.nodelay.map(|set| if set { "nodelay".to_owned() } else { "Nagle's algorithm on".to_owned() }),
        socket.congestion.clone(),
        bytes("mss", socket.mss_bytes),
        socket.window_scaling.filter(|agreed| !agreed).map(|_| "no window scaling".to_owned()),
        socket.selective_acks.filter(|agreed| !agreed).map(|_| "no selective acknowledgements".to_owned()),
        bytes("path mtu", socket.path_mtu_bytes),
        socket.tos.map(|tos| format!("tos {tos:#04x}")),
        socket
            .retransmitted
            .filter(|count| *count > 0)
            .map(|count| number::count(count, "segment again", "segments again")),
        time("kernel's smoothed rtt", socket.kernel_smoothed_rtt_ns),
        time("kernel's smallest rtt", socket.kernel_min_rtt_ns),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn instrument(page: &mut Page, record: &Record) {
    let instrument = &record.instrument;
    let time = |name: &str, time: Option<Nanos>| time.map(|time| format!("{name} {time}"));
    let facts: Vec<String> = [
        instrument.clock.clone(),
        time("a reading costs", instrument.clock_read_ns),
        time("smallest step", instrument.clock_step_ns),
        time("timer slack", instrument.timer_slack_ns),
        time("wakes late by", instrument.wake_up_late_ns),
        instrument.scheduling.clone(),
    ]
    .into_iter()
    .flatten()
    .collect();
    labelled(page, "clock", &facts);
}

fn environment_of(page: &mut Page, label: &str, end: &Environment) {
    page.line(INDENT, &[Piece::new(label, Tone::Strong), Piece::new(format!("   {}", end.program), Tone::Faint)]);
    labelled(page, "host", &host(end));
    labelled(page, "cpu", &cpu(end));
    labelled(page, "power", &power(end));
    labelled(page, "time", &clock(end));
    if let Some(interface) = &end.interface {
        labelled(page, "interface", &interface_facts(interface));
    }
    labelled(page, "network", &network(end));
    if let Some(disturbance) = &end.disturbance {
        labelled(page, "other load", &disturbance_facts(disturbance));
    }
    let settings: Vec<String> = end.settings.iter().map(|(name, value)| format!("{name} {value}")).collect();
    labelled(page, "settings", &settings);
    let counters: Vec<String> = end.counters.iter().map(|(name, change)| format!("{name} {change:+}")).collect();
    labelled(page, "counters", &counters);
    let early = end.read_before_ns.map(|early| format!("read {early} before the start, for several sessions at once"));
    labelled(page, "shared", &Vec::from_iter(early));
    labelled(page, "changed", &end.changed);
    labelled(page, "not readable", &end.unread);
}

fn host(end: &Environment) -> Vec<String> {
    let hypervisor = end.hypervisor.as_ref().map(|name| format!("guest of {name}"));
    [end.host.clone(), end.kernel.clone(), end.machine.clone(), hypervisor].into_iter().flatten().collect()
}

fn cpu(end: &Environment) -> Vec<String> {
    let allowed = end.cpus_allowed.filter(|allowed| Some(*allowed) != end.cpus_online);
    [
        end.cpu_model.clone(),
        end.cpus_online.map(|count| number::count(u64::from(count), "CPU", "CPUs")),
        allowed.map(|count| format!("{count} of them allowed")),
        end.smt.map(|smt| if smt { "two to a core".to_owned() } else { "one to a core".to_owned() }),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn power(end: &Environment) -> Vec<String> {
    let governors = (!end.governors.is_empty()).then(|| format!("governor {}", end.governors.join(", ")));
    let idle = end.idle_driver.as_ref().map(|driver| format!("idle driver {driver}"));
    let deepest = end.deepest_idle_state.as_ref().map(|state| format!("deepest idle state {state}"));
    [governors, idle, deepest].into_iter().flatten().collect()
}

fn clock(end: &Environment) -> Vec<String> {
    let kept = end.clock_synchronised.map(|kept| if kept { "synchronised" } else { "not synchronised" });
    [end.clock_source.clone(), kept.map(str::to_owned)].into_iter().flatten().collect()
}

fn interface_facts(interface: &Interface) -> Vec<String> {
    let offloads = (!interface.offloads.is_empty()).then(|| format!("offloads {}", interface.offloads.join(" ")));
    let adaptive = interface.adaptive_rx.map(|adapts| if adapts { "adaptive" } else { "not adaptive" });
    [
        Some(interface.name.clone()),
        interface.driver.as_ref().map(|driver| format!("driver {driver}")),
        interface.mtu_bytes.map(|mtu| format!("mtu {mtu} B")),
        interface.speed_mbps.map(|speed| format!("{speed} Mbit/s")),
        interface.tx_queue_len.map(|length| format!("queue of {length}")),
        interface.rx_usecs.map(|micros| format!("interrupts moderated by {micros} µs")),
        adaptive.map(|adapts| format!("moderation {adapts}")),
        interface.qdisc.as_ref().map(|qdisc| format!("qdisc {qdisc}")),
        offloads,
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn network(end: &Environment) -> Vec<String> {
    let congestion = end.congestion_control.as_ref().map(|name| format!("tcp {name}"));
    let qdisc = end.default_qdisc.as_ref().map(|name| format!("default qdisc {name}"));
    [congestion, qdisc].into_iter().flatten().collect()
}

fn disturbance_facts(seen: &Disturbance) -> Vec<String> {
    let share = |name: &str, share: Option<f64>| {
        share.filter(|share| share.is_finite()).map(|share| format!("{name} {}", number::percent(share)))
    };
    let time = |name: &str, time: Option<Nanos>| time.map(|time| format!("{name} {time}"));
    let squeezed = seen.softnet_squeezed.map(|count| format!("{} soft interrupts out of budget", grouped(count)));
    [
        share("run queue", seen.run_queue_share),
        share("steal", seen.steal_share),
        share("cpu pressure", seen.cpu_pressure_share),
        seen.involuntary_switches.map(|count| number::count(count, "involuntary switch", "involuntary switches")),
        squeezed,
        time("user", seen.user_ns),
        time("system", seen.system_ns),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Both ends, the time and the command of the measurement.
fn provenance(page: &mut Page, record: &Record) {
    let tool = format!("{} {}", record.head.tool.name, record.head.tool.version);
    let elapsed = record.elapsed().map(|elapsed| format!("for {elapsed}"));
    let measured: Vec<String> =
        [Some(record.head.started.to_string()), elapsed, Some(tool), Some(record.head.id.to_string())]
            .into_iter()
            .flatten()
            .collect();
    labelled(page, "measured", &measured);
    let peer: Vec<String> = peer(&record.peer).into_iter().chain(seen_as(record)).collect();
    labelled(page, "peer", &peer);
    labelled(page, "command", &[shell::line(&record.head.command)]);
}

/// The address under which a peer of ours sees this host, where none of our sockets has it.
fn seen_as(record: &Record) -> Option<String> {
    let seen: IpAddr = record.theirs.as_ref()?.settings.get("route.to")?.parse().ok()?;
    let route = record.ours.as_ref()?.settings.get("route.source")?.parse().ok()?;
    let of_sockets = record.sockets().iter().filter_map(|socket| socket.local.parse::<SocketAddr>().ok());
    let is_ours = |own: IpAddr| own.to_canonical() == seen.to_canonical();
    let translated = !is_ours(route) && !of_sockets.map(|local| local.ip()).any(is_ours);
    translated.then(|| format!("sees this host as {seen}: a device on the path translates addresses (NAT)"))
}

fn peer(peer: &Peer) -> Vec<String> {
    let kind = match peer.kind {
        PeerKind::Native => "a sonde reflector",
        PeerKind::Foreign => "a server of another protocol",
        PeerKind::Kernel => "its kernel",
        PeerKind::Unknown => "unknown",
    };
    let program = peer.program.as_ref().map(|program| match &peer.version {
        Some(version) => format!("{program} {version}"),
        None => program.clone(),
    });
    let named = peer.protocol.clone();
    let protocol = peer.protocol_version.map(|version| format!("protocol {version}"));
    [Some(kind.to_owned()), named, program, protocol].into_iter().flatten().collect()
}
