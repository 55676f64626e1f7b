//! The result of a check of a host as a screen of text: the services that answered first.
//!
//! Verdicts and remarks come from `measure::reach`; nothing is judged here.

use measure::look::losses;
use measure::reach::mtu::MtuFinding;
use measure::reach::remark::Remark;
use measure::reach::{
    AddressReach, LookedUp, MtuBy, PortFinding, Reach, Reporter, Route, Says, Seen, Service, ServiceFinding, Transport,
    Verdict,
};
use measure::unit::Nanos;

use crate::layout::{INDENT, Page, Piece, Style, Tone};
use crate::number;
use crate::words::{capitalised, port, remark};

/// Column at which text behind a label starts.
const LABEL: usize = 11;
/// Column at which the text on a port starts.
const DETAIL: usize = 32;
/// Cells of a line below which that stands on a line of its own.
const NARROW: usize = 60;

/// The screen for `found`: lines of at most `style.width` cells.
pub fn render(found: &Reach, style: &Style) -> String {
    let mut page = Page::new(*style);
    for address in &found.addresses {
        page.answer(&answer(address));
    }
    page.flow(INDENT, INDENT, " · ", &headline(found));
    for address in &found.addresses {
        page.gap();
        one_address(&mut page, address);
    }
    let left_out = found.lookup.addresses.iter().skip(found.addresses.len()).cloned().collect::<Vec<_>>();
    if !left_out.is_empty() {
        page.gap();
        page.warning(&format!("Not checked: {} → name one of them", left_out.join(", ")));
    }
    page.finish()
}

/// `10.93.0.2: sonde on TCP 7663, netserver on TCP 12865`.
fn answer(address: &AddressReach) -> String {
    let at = |port: &PortFinding| format!("{} {}", port.transport.to_string().to_uppercase(), port.port);
    let open = || address.ports.iter().filter(|port| port.verdict == Verdict::Open);
    let known = |port: &PortFinding| match &port.service {
        Some(ServiceFinding::Known { service, .. }) => Some(format!("{service} on {}", at(port))),
        _ => None,
    };
    let services: Vec<String> = open().filter_map(known).collect();
    let others: Vec<String> = open().filter(|port| known(port).is_none()).map(at).collect();
    let answers = matches!(address.echo, Seen::Answer { .. });
    let found = match (&address.no_route, services.is_empty(), others.is_empty()) {
        (Some(why), ..) => format!("no route ({why})"),
        (None, false, _) => services.join(", "),
        (None, true, false) => format!("{} open, no known service", others.join(", ")),
        (None, true, true) if address.ports.is_empty() && answers => "answers ICMP echo".to_owned(),
        (None, true, true) => {
            let ports = number::count(address.ports.len() as u64, "port", "ports");
            let echo = if answers { "; answers ICMP echo" } else { "" };
            let unknown = |port: &PortFinding| matches!(port.verdict, Verdict::NotAsked | Verdict::OpenOrFiltered);
            let known = if address.ports.iter().any(unknown) { "known to be " } else { "" };
            format!("none of {ports} is {known}open{echo}")
        }
    };
    format!("{}: {found}", address.address)
}

/// `db1 · 2 addresses from the resolver · looked up in 1.3 ms · checked in 3.1 s`.
fn headline(found: &Reach) -> Vec<Piece> {
    let count = number::count(found.lookup.addresses.len() as u64, "address", "addresses");
    let took = found.lookup.took_ns.map(|took| format!("looked up in {took}"));
    let source = match found.lookup.by {
        LookedUp::Given => None,
        LookedUp::HostsFile => Some(format!("{count} from the hosts file")),
        LookedUp::Resolver => Some(format!("{count} from the resolver")),
    };
    let how = if found.cut_short { "incomplete: stopped after" } else { "checked in" };
    let rest = [source, took, Some(format!("{how} {}", found.took_ns))];
    let host = Piece::new(&found.host, Tone::Strong);
    std::iter::once(host).chain(rest.into_iter().flatten().map(Piece::from)).collect()
}

fn one_address(page: &mut Page, address: &AddressReach) {
    page.line(0, &[Piece::new(&address.address, Tone::Strong)]);
    let way = match (&address.route, &address.no_route) {
        (Some(way), _) => route(way),
        (None, why) => format!("none: {}", why.as_deref().unwrap_or("unknown")),
    };
    labelled(page, "route", &way);
    if address.route.is_some() {
        let echo = match &address.echo {
            Seen::Answer { after_ns } => format!("answered in {after_ns}"),
            Seen::NotAsked { why } => format!("not sent: {why}"),
            other => seen(other),
        };
        labelled(page, "ICMP echo", &echo);
        labelled(page, "path MTU", &mtu(address));
        for port in &address.ports {
            one_port(page, port);
        }
    }
    for remark in Remark::about(address) {
        page.warning(&format!("{} → {}", capitalised(&remark::fact(&remark)), remark::advice(&remark)));
    }
}

fn labelled(page: &mut Page, label: &str, text: &str) {
    page.paragraph(INDENT, &Piece::new(label, Tone::Faint), LABEL + INDENT, text);
}

/// `eth0, on the link, from 10.0.0.1, MTU 1500 B`.
fn route(route: &Route) -> String {
    let hop = route.next_hop.as_ref().map_or_else(|| "on the link".to_owned(), |hop| format!("by {hop}"));
    let source = route.source.as_ref().map(|source| format!("from {source}"));
    let mtu = route.mtu_bytes.map(|bytes| format!("MTU {bytes} B"));
    let own = route.route_mtu_bytes.map(|bytes| format!("of the route {bytes} B"));
    let parts = [Some(route.interface.clone()), Some(hop), source, mtu, own];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Fewest times of TCP from which its shortest is no accident, and how much longer than the echo's that is where another, nearer box answers
/// echoes.
const TIMES: usize = 3;
const FARTHER: (u64, Nanos) = (4, Nanos::millis(1));

/// The shortest time of TCP, where the echo that found the path's MTU came from much nearer.
fn beyond_echo(address: &AddressReach) -> Option<Nanos> {
    let Seen::Answer { after_ns: echo } = address.echo else { return None };
    let time = |port: &PortFinding| match port.seen {
        Seen::Answer { after_ns } | Seen::Reset { after_ns } | Seen::AcceptedThenReset { after_ns } => Some(after_ns),
        _ => None,
    };
    let tcp = address.ports.iter().filter(|port| port.transport == Transport::Tcp);
    let times: Vec<Nanos> = tcp.filter_map(time).collect();
    let shortest = times.iter().min().copied().filter(|_| times.len() >= TIMES)?;
    // As long takes a handshake whose first SYN is lost, however near the host is.
    let is_farther = shortest < losses::SENT_AGAIN
        && shortest.0 >= echo.0.saturating_mul(FARTHER.0)
        && shortest.0 >= echo.0.saturating_add(FARTHER.1.0);
    (is_farther && address.mtu_by == Some(MtuBy::Echo)).then_some(shortest)
}

fn mtu(address: &AddressReach) -> String {
    let beyond = beyond_echo(address).map_or_else(String::new, |tcp| {
        format!(", as far as the box that answers echoes: TCP takes {tcp} at least, so the host may be behind it")
    });
    format!("{}{beyond}", mtu_found(address))
}

fn mtu_found(address: &AddressReach) -> String {
    // A reply that comes back in pieces answers a request that went there whole.
    let there = |bytes: u32| match (address.mtu_back_bytes, address.mtu_by) {
        (Some(back), _) => format!("{bytes} B to the peer, replies cut to {back} B on the way back"),
        (None, Some(MtuBy::RefusedDatagram)) => format!("{bytes} B to the peer"),
        (None, _) => format!("{bytes} B in both directions"),
    };
    let back =
        address.mtu_back_bytes.map_or_else(String::new, |back| format!("; replies cut to {back} B on the way back"));
    match &address.mtu {
        MtuFinding::Whole { bytes } => there(*bytes),
        MtuFinding::Told { bytes, by: Some(by) } => {
            format!("{bytes} B: {by} reports that larger packets do not fit its link{back}")
        }
        MtuFinding::Told { bytes, by: None } => format!("{bytes} B: larger packets were reported as too big{back}"),
        MtuFinding::Hole { bytes, .. } => format!("{bytes} B, MTU black hole: larger packets vanish{back}"),
        MtuFinding::NotFound { why } => format!("not found: {why}"),
    }
}

fn one_port(page: &mut Page, found: &PortFinding) {
    let PortFinding { transport, port: number, verdict, .. } = found;
    let tone = if *verdict == Verdict::Open { Tone::Strong } else { Tone::Plain };
    let label = Piece::new(format!("{transport} {number:<5}  {:<16}", port::state(*verdict)), tone);
    if page.style().width < NARROW {
        page.line(INDENT, &[label]);
        return page.paragraph(2 * INDENT, &Piece::default(), 2 * INDENT, &detail(found));
    }
    page.paragraph(INDENT, &label, DETAIL, &detail(found));
}

fn detail(port: &PortFinding) -> String {
    match (&port.seen, &port.service) {
        (Seen::Answer { after_ns }, Some(found)) => format!("{} · {after_ns}", service(found)),
        (Seen::Answer { after_ns }, None) => after_ns.to_string(),
        (other, _) => seen(other),
    }
}

fn service(found: &ServiceFinding) -> String {
    match found {
        // Its state is its version, which says that it is iperf 2.
        ServiceFinding::Known { service: Service::Iperf, state: Some(state) } => format!("iperf {state}"),
        ServiceFinding::Known { service, state: Some(state) } => format!("{service}, {state}"),
        ServiceFinding::Known { service, state: None } => service.to_string(),
        ServiceFinding::Other { asked } => format!("answers, not as {}", names(asked)),
        ServiceFinding::Silent { asked, within_ns } => {
            let within = within_ns.map_or_else(String::new, |within| format!(" within {within}"));
            format!("no reply{within} to a request of {}", names(asked))
        }
        ServiceFinding::LeftAlone { why } => format!("not asked: {why}"),
        ServiceFinding::Closed { asked } => format!("closes the connection at a request of {}", names(asked)),
        ServiceFinding::Reset { asked } => {
            format!("reset at a request of {}, by the program or a middlebox", names(asked))
        }
    }
}

/// The names of these services, of which any is meant.
pub(crate) fn names(asked: &[Service]) -> String {
    let names: Vec<String> = asked.iter().map(ToString::to_string).collect();
    match names.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
        None => "anything".into(),
    }
}

/// What was seen, in words: `no answer in 3.00 s`.
pub(crate) fn seen(seen: &Seen) -> String {
    match seen {
        Seen::Answer { after_ns } => format!("answered in {after_ns}"),
        Seen::Reset { after_ns } => format!("RST · {after_ns}"),
        Seen::AcceptedThenReset { after_ns } => {
            format!("handshake, then RST · {after_ns} · sender not established")
        }
        Seen::Error { says, from, by, after_ns } => error(*says, from.as_deref(), *by, *after_ns),
        Seen::Silence { waited_ns } => format!("no answer in {waited_ns}"),
        Seen::NotAsked { why } => why.clone(),
    }
}

fn error(says: Says, from: Option<&str>, by: Reporter, after: Nanos) -> String {
    let says = port::error(says);
    match (by, from) {
        (Reporter::Host, _) => format!("ICMP {says}, from the host · {after}"),
        (Reporter::Hop, Some(from)) => format!("ICMP {says}, from {from} · {after}"),
        _ => format!("{says}, reported by this host · {after}"),
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use measure::reach::Lookup;
    use unicode_width::UnicodeWidthStr;

    use super::*;

    fn port(transport: Transport, port: u16, seen: Seen, service: Option<ServiceFinding>) -> PortFinding {
        let verdict = Verdict::of(transport, &seen, false);
        PortFinding { transport, port, verdict, seen, service }
    }

    fn error_from(says: Says, from: &str, by: Reporter) -> Seen {
        Seen::Error { says, from: Some(from.into()), by, after_ns: Nanos::micros(310) }
    }

    fn found() -> Reach {
        let answer = || Seen::Answer { after_ns: Nanos::micros(41) };
        let silence = || Seen::Silence { waited_ns: Nanos::secs(3) };
        let known =
            |service, state: Option<&str>| Some(ServiceFinding::Known { service, state: state.map(str::to_owned) });
        let (tcp, udp) = (Transport::Tcp, Transport::Udp);
        let ports = vec![
            port(tcp, 7, Seen::Reset { after_ns: Nanos::micros(30) }, None),
            port(tcp, 5_001, answer(), known(Service::Iperf, Some("2.1.8"))),
            port(tcp, 5_201, answer(), known(Service::Iperf3, Some("busy"))),
            port(tcp, 12_865, answer(), Some(ServiceFinding::Other { asked: vec![Service::Netserver] })),
            port(tcp, 25, error_from(Says::Prohibited, "10.0.1.254", Reporter::Hop), None),
            port(tcp, 26, silence(), None),
            port(udp, 9, error_from(Says::PortUnreachable, "10.0.1.2", Reporter::Host), None),
            port(udp, 11_111, answer(), known(Service::Sockperf, None)),
            port(udp, 862, silence(), None),
        ];
        let route = Route {
            interface: "eth0".into(),
            source: Some("10.0.0.1".into()),
            next_hop: Some("10.0.0.254".into()),
            mtu_bytes: Some(1_500),
            ..Route::default()
        };
        let mtu = MtuFinding::Hole { bytes: 1_372, vanishing_bytes: 1_373 };
        let one = AddressReach {
            address: "10.0.1.2".into(),
            route: Some(route),
            no_route: None,
            echo: answer(),
            mtu,
            mtu_by: Some(MtuBy::Echo),
            mtu_back_bytes: None,
            ports,
        };
        let two = AddressReach {
            address: "fd00::2".into(),
            route: None,
            no_route: Some("network is unreachable".into()),
            echo: Seen::NotAsked { why: "there is no route".into() },
            mtu: MtuFinding::NotFound { why: "there is no route".into() },
            mtu_by: None,
            mtu_back_bytes: None,
            ports: Vec::new(),
        };
        let addresses = vec!["10.0.1.2".into(), "fd00::2".into()];
        let lookup = Lookup { by: LookedUp::Resolver, took_ns: Some(Nanos::micros(1_310)), addresses };
        Reach { host: "db1".into(), lookup, addresses: vec![one, two], took_ns: Nanos::millis(3_100), cut_short: false }
    }

    #[test]
    fn a_screen_tells_it_all_in_eighty_columns() {
        let text = render(&found(), &Style::default());
        assert!(text.lines().all(|line| line.width() <= 80), "{text}");
        assert_snapshot!(text);
    }

    #[test]
    fn replies_in_pieces_show_a_narrower_way_back() {
        let mut found = found();
        found.addresses[0].mtu = MtuFinding::Whole { bytes: 1_500 };
        found.addresses[0].mtu_back_bytes = Some(1_300);
        let text = render(&found, &Style::default());
        assert!(text.contains("1500 B to the peer, replies cut to 1300 B on the way back"), "{text}");
    }

    #[test]
    fn an_mtu_by_echoes_of_a_nearer_box_is_not_said_to_be_the_hosts() {
        let mut found = found();
        found.addresses[0].mtu = MtuFinding::Whole { bytes: 1_500 };
        assert!(!render(&found, &Style::default()).contains("as far as"));
        for port in found.addresses[0].ports.iter_mut().filter(|port| port.transport == Transport::Tcp) {
            if let Seen::Answer { after_ns } | Seen::Reset { after_ns } = &mut port.seen {
                *after_ns = Nanos::millis(20);
            }
        }
        let text = mtu(&found.addresses[0]);
        assert!(
            text.ends_with(
                "as far as the box that answers echoes: TCP takes 20 ms at least, so the host may be behind it"
            ),
            "{text}"
        );
    }

    #[test]
    fn a_narrow_screen_is_kept() {
        let text = render(&found(), &Style { width: 40, ..Style::default() });
        assert!(text.lines().all(|line| line.width() <= 40), "{text}");
    }

    #[test]
    fn addresses_that_were_left_out_are_named() {
        let mut found = found();
        found.lookup.addresses.push("10.0.1.3".into());
        assert!(render(&found, &Style::default()).contains("10.0.1.3 → name one of them"));
    }
}
