//! Words of a quick survey: its answer, and the reasons why other rows differ from the reference.

use std::collections::BTreeSet;

use logbook::look::LookDocument;
use logbook::record::Ended;
use measure::comparison::Word;
use measure::look::losses;
use measure::look::{Asked, Believed, Cause, Finding, Leg, Look, Shift, Stands, Subject, Sums, Who};
use measure::method::Carrier;
use measure::reach::{PortFinding, Says, Seen, Service, ServiceFinding, Transport, Verdict};
use measure::unit::Nanos;
use measure::verdict::Warning;

use super::name;
use crate::words::warning;
use crate::{number, reach, shell, words};

/// The answer: the time that an application meets, or as near as the host lets it be measured, and what was lost.
pub fn answer(found: &LookDocument) -> String {
    let look = &found.look;
    let text = look.judgement.believed.map_or_else(|| nothing(look), |reference| opening(look, reference));
    let end = end_of(&text);
    let text = by_connection_of_reference(look).map_or_else(|| text.clone(), |apart| format!("{text}{end} {apart}"));
    let end = end_of(&text);
    let lost = lost(look).map_or_else(|| text.clone(), |lost| format!("{text}{end} {lost}"));
    let dark = look.dark.as_ref().map_or_else(String::new, |dark| format!("{}. Otherwise: ", words::dark::seen(dark)));
    let refused = refused(look).map_or_else(String::new, |refused| format!("{} {refused}", end_of(&lost)));
    let whole = format!("{dark}{lost}{refused}");
    match &found.ended {
        Ended::Complete => whole,
        Ended::Interrupted { signal } => format!("{whole} (interrupted by {signal})"),
        Ended::PeerLost { reason } => format!("{whole} (peer lost: {reason})"),
    }
}

/// The full stop that a text needs before another sentence.
fn end_of(text: &str) -> &'static str {
    if text.ends_with('.') { "" } else { "." }
}

fn opening(look: &Look, reference: Believed) -> String {
    let leg = &look.legs[reference.leg as usize];
    let half = leg.sums.quantiles.iter().find(|quantile| quantile.q == 0.5);
    // Fewer replies than a percentile is printed of are named with their number.
    let few = || {
        Some(format!("~{} (median of only {})", half?.value_ns?, number::count(leg.sums.answered, "reply", "replies")))
    };
    let supported = || Some(format!("{} (p50)", half.and_then(number::quantile)?));
    let Some(median) = supported().or_else(few) else { return nothing(look) };
    let on_busy = if busy(look).is_some() { " (on a busy host)" } else { "" };
    let changed = |change| format!("{}{on_busy}", words::change::seen(change));
    let median = look.change.as_ref().map_or(median, changed);
    let host = host(look, leg.address);
    match reference.stands {
        Stands::Application => {
            let protocol = if leg.carrier == Carrier::Udp { "UDP" } else { "TCP" };
            let who = match leg.who {
                Who::Program { service: Service::Sonde } => String::new(),
                who => format!(", answered by {who}{}", request(leg)),
            };
            let median = median.strip_prefix('~').map_or(median.clone(), |rough| format!("About {rough}"));
            format!(
                "{median}: a {protocol} request to {host}, one every {}{}{who}",
                look.interval_ns,
                one_at_a_time(leg)
            )
        }
        Stands::Handshake => {
            let port = leg.port.map_or_else(String::new, |port| format!(", port {port}"));
            format!("{median}: TCP connect to {host}{port}. No program's reply was measured.")
        }
        Stands::Echo if unmeasured(look).next().is_some() || has_port(look, Verdict::Reset) => {
            format!("Only ICMP was measured: {median}. Applications do not use ICMP.")
        }
        Stands::Echo => format!("Only ICMP answered: {median}. Applications do not use ICMP."),
    }
}

/// The host as it was asked for; a name with the `address` that was, for it may have others.
fn host(look: &Look, address: u32) -> String {
    let asked = look.addresses.get(address as usize).filter(|asked| asked.address != look.host);
    asked.map_or_else(|| look.host.clone(), |asked| format!("{} ({})", look.host, asked.address))
}

/// The connections of a row, in words, where it is a program that is not ours: each part of a look asks that over one, and another may lead to
/// another path, or to another server.
fn one_at_a_time(leg: &Leg) -> &'static str {
    match (leg.who, leg.carrier) {
        (Who::Kernel | Who::Program { service: Service::Sonde }, _) => "",
        (_, Carrier::Udp) => " from one port at a time",
        _ => " over one connection at a time",
    }
}

/// The request to a program at work, in brackets.
fn request(leg: &Leg) -> String {
    let asked = leg.method.as_ref().and_then(|method| method.traffic.application());
    let reply = error_status(leg).map_or_else(String::new, |status| format!(", {status}"));
    asked.map_or_else(String::new, |asked| format!(" ({}{reply})", asked.request))
}

/// The status of HTTP by which most requests of a row were in error.
fn error_status(leg: &Leg) -> Option<u16> {
    let is_web = matches!(leg.who, Who::Program { service: Service::Http | Service::Https });
    let status = leg.reply.as_ref().filter(|_| is_web)?.parse().ok()?;
    (400..600).contains(&status).then_some(status)
}

/// The words for rows whose replies are errors: `TCP :80 answers HEAD / by 405: …`.
pub(super) fn errors(look: &Look) -> Vec<String> {
    let told = look.legs.iter().filter_map(|leg| {
        let status = error_status(leg)?;
        let asked = leg.method.as_ref().and_then(|method| method.traffic.application())?;
        let scheme = if leg.who == (Who::Program { service: Service::Https }) { "https" } else { "http" };
        let port = leg.port.map_or_else(String::new, |port| format!(":{port}"));
        let host = if look.host.contains(':') { format!("[{}]", look.host) } else { look.host.clone() };
        let what = match status {
            405 | 501 => "its time is that of the error, and GET may take another",
            _ => "its time is that of the error, and another path may take another",
        };
        Some(format!(
            "{} answers {} by status {status}: {what} → measure what clients ask: `sonde rtt {scheme}://{host}{port}/`",
            name(leg),
            asked.request
        ))
    });
    told.collect()
}

/// Programs at work that were recognised, and could not be measured.
fn unmeasured(look: &Look) -> impl Iterator<Item = &Leg> {
    look.legs.iter().filter(|leg| is_unmeasured(leg))
}

/// True of the row of one.
pub(super) fn is_unmeasured(leg: &Leg) -> bool {
    let is_at_work = matches!(leg.who, Who::Program { service } if service.is_at_work());
    is_at_work && leg.sums.due == 0 && leg.trouble.is_some()
}

/// The words for each of them: `TCP :3306 is MySQL (8.0.36), not measured: …`; and for ports that were asked nothing.
pub(super) fn programs(look: &Look) -> Vec<String> {
    let mut texts: Vec<String> = Vec::new();
    // A host with two addresses has the same program at both.
    let mut told = BTreeSet::new();
    for leg in unmeasured(look).filter(|leg| told.insert((name(leg), leg.who.to_string()))) {
        let ports = look.addresses.get(leg.address as usize).map_or(&[][..], |asked| &asked.ports);
        let transport = if leg.carrier == Carrier::Udp { Transport::Udp } else { Transport::Tcp };
        let found = ports.iter().find(|port| (Some(port.port), port.transport) == (leg.port, transport));
        let state = match found.and_then(|port| port.service.as_ref()) {
            Some(ServiceFinding::Known { state: Some(state), .. }) => format!(" ({state})"),
            _ => String::new(),
        };
        let why = leg.trouble.as_deref().unwrap_or_default();
        texts.push(format!("{} is {}{state}, not measured: {why}", name(leg), leg.who));
    }
    let mut told = BTreeSet::new();
    for port in look.addresses.iter().flat_map(|asked| &asked.ports) {
        if let Some(ServiceFinding::LeftAlone { why }) = &port.service
            && told.insert(port.port)
        {
            let port = port.port;
            texts.push(format!("TCP :{port} was not asked: {why} → name the program: --port {port}=PROGRAM"));
        }
    }
    texts
}

/// `Lost: 4 % of TCP :7663, 2 % of ICMP echo.` Of rows that answered at all; the table shows the others. Where all were lost while nobody
/// answered, that is the answer.
fn lost(look: &Look) -> Option<String> {
    let gone: u64 =
        look.legs.iter().filter(|leg| leg.sums.answered > 0).map(|leg| leg.sums.lost).fold(0, u64::saturating_add);
    let runs: u64 = look.bursts.iter().map(|burst| burst.sums.lost).fold(0, u64::saturating_add);
    if look.dark.is_some_and(|dark| dark.unanswered >= gone.saturating_add(runs)) {
        return None;
    }
    let share = |name: String, sums: &Sums| {
        let share = sums.lost as f64 / sums.due.max(1) as f64;
        (sums.lost > 0 && sums.answered > 0).then(|| format!("{} of {name}", number::percent(share)))
    };
    let at = |address: u32| {
        let asked = look.addresses.get(address as usize).filter(|_| address > 0);
        asked.map_or_else(String::new, |asked| format!(" at {}", asked.address))
    };
    let rows = look.legs.iter().filter_map(|leg| share(format!("{}{}", name(leg), at(leg.address)), &leg.sums));
    let runs = look
        .bursts
        .iter()
        .filter_map(|burst| share(format!("{} without pause", name(look.legs.get(burst.leg as usize)?)), &burst.sums));
    let parts: Vec<String> = rows.chain(runs).collect();
    (!parts.is_empty()).then(|| format!("Lost: {}.", parts.join(", ")))
}

/// `Refused: 17 of 50 of TCP connect :7663 → …` Of rows of which others were answered: of several members behind one address, one may be down.
fn refused(look: &Look) -> Option<String> {
    let of = |leg: &Leg| {
        let is = leg.sums.refused > 0 && leg.sums.answered > 0;
        is.then(|| format!("{} of {} of {}", leg.sums.refused, leg.sums.due, name(leg)))
    };
    let parts: Vec<String> = look.legs.iter().filter_map(of).collect();
    (!parts.is_empty()).then(|| {
        format!("Refused: {} → `sonde paths HOST` shows whether it depends on the connection.", parts.join(", "))
    })
}

fn nothing(look: &Look) -> String {
    let host = host(look, 0);
    if has_answered(look) {
        return format!("{host} answers, but no time was measured");
    }
    if has_port(look, Verdict::Reset) {
        return format!("{host} accepts connections that are then reset, and does not answer ICMP echo");
    }
    if let Some((from, says, _)) = objection(look).filter(|_| !seen(look).any(Seen::is_sign_of_life)) {
        return format!("{host} did not answer. {from} answered in its place: {}", words::port::error(says));
    }
    if seen(look).any(Seen::is_without_neighbour) {
        return format!(
            "{host} did not answer. No machine on this link replied to ARP or neighbour discovery for it, or for the \
             gateway to it"
        );
    }
    if has_port(look, Verdict::Refused) {
        return format!("{host} has no open port among {}, and does not answer ICMP echo", ports(look, None));
    }
    format!("{host} did not answer: no reply to ICMP echo, nor on {}", ports(look, None))
}

/// The words for an address of the name at which nothing answered, beside the one that is told of.
pub(super) fn silent_address(look: &Look) -> Option<String> {
    let Asked { address, ports, .. } = look.silent.first()?;
    let version = if address.contains(':') { "IPv6" } else { "IPv4" };
    if look.judgement.believed.is_none() && !has_answered(look) {
        return Some(format!("Nor did {address}, its {version} address, answer"));
    }
    let host = &look.host;
    let tried = number::count(ports.len() as u64, "port", "ports");
    if look
        .silent
        .iter()
        .flat_map(|asked| std::iter::once(&asked.echo).chain(asked.ports.iter().map(|port| &port.seen)))
        .any(Seen::is_sign_of_life)
    {
        return Some(format!(
            "{host} has the {version} address {address} too, where none of {tried} is open. Programs that try it first wait, or fail → mend its {version} \
             path, or remove that address from the name"
        ));
    }
    Some(format!(
        "{host} has the {version} address {address} too, which did not answer: no reply to ICMP echo, nor on {tried}. Programs that try it first \
         wait → mend its {version} path, or remove that address from the name"
    ))
}

/// The words for each port that was named and is not open, with the action.
pub(super) fn named_ports(look: &Look) -> Vec<String> {
    let Some(asked) = look.addresses.first() else { return Vec::new() };
    let of = |named: &u16| {
        let found: Vec<&PortFinding> = asked.ports.iter().filter(|port| port.port == *named).collect();
        let is_open = found.iter().any(|port| port.verdict == Verdict::Open);
        let each = |port: &&PortFinding| {
            let transport = port.transport.to_string().to_uppercase();
            format!("{transport} {} ({})", words::port::state(port.verdict), reach::seen(&port.seen))
        };
        let each: Vec<String> = found.iter().map(each).collect();
        let place = if asked.address.contains(':') {
            format!("[{}]:{named}", asked.address)
        } else {
            format!("{}:{named}", asked.address)
        };
        (!found.is_empty() && !is_open).then(|| {
            format!("Port {named} is not among the rows: {} → `sonde check {}`", each.join(", "), shell::word(&place))
        })
    };
    look.named.iter().filter_map(of).collect()
}

/// All that was seen when the host was tried.
fn seen(look: &Look) -> impl Iterator<Item = &Seen> {
    look.addresses
        .iter()
        .flat_map(|asked| std::iter::once(&asked.echo).chain(asked.ports.iter().map(|port| &port.seen)))
}

/// The hop that answered in the host's place first, its error, and the TCP ports for which it did.
fn objection(look: &Look) -> Option<(&str, Says, usize)> {
    let (from, says) = seen(look).find_map(Seen::by_another)?;
    let ports = look.addresses.iter().flat_map(|asked| &asked.ports);
    let is_its = |port: &&PortFinding| {
        port.transport == Transport::Tcp && port.seen.by_another().is_some_and(|(other, _)| other == from)
    };
    Some((from, says, ports.filter(is_its).count()))
}

/// Handshakes without an answer for one with, from which a port that was open counts as one that accepts no more.
const MOSTLY_LOST: u64 = 5;

/// `. TCP :22, :443 accept connections, and nothing was asked there`: open ports at which no program is known, those with the same end together.
fn open_ports(look: &Look) -> String {
    let mut ports: Vec<&PortFinding> = look.addresses.iter().flat_map(|asked| &asked.ports).collect();
    ports.retain(|port| port.transport == Transport::Tcp && port.verdict == Verdict::Open);
    ports.sort_unstable_by_key(|port| port.port);
    ports.dedup_by_key(|port| port.port);
    let mut ends: Vec<(String, Vec<String>)> = Vec::new();
    for (port, end) in ports.into_iter().filter_map(|port| Some((port.port, unknown(look, port)?))) {
        let port = format!(":{port}");
        match ends.iter_mut().find(|(other, _)| *other == end) {
            Some((_, ports)) => ports.push(port),
            None => ends.push((end, vec![port])),
        }
    }
    let told = ends.iter().map(|(end, ports)| {
        let accepts = if ports.len() == 1 { "accepts" } else { "accept" };
        format!(". TCP {} {accepts} connections, {end}", ports.join(", "))
    });
    told.collect()
}

/// The end of a question to a port that accepts connections; `None` where its program is known, or was left alone.
fn unknown(look: &Look, port: &PortFinding) -> Option<String> {
    let mut handshakes =
        look.legs.iter().filter(|leg| leg.carrier == Carrier::TcpConnect && leg.port == Some(port.port));
    let is_full = handshakes.any(|leg| leg.sums.lost >= MOSTLY_LOST * leg.sums.answered.max(1));
    let end = match &port.service {
        Some(ServiceFinding::Known { .. } | ServiceFinding::LeftAlone { .. }) => return None,
        _ if is_full => {
            "but hardly any after the first ones, as where a program hangs and its listen queue is full".to_owned()
        }
        None => "and nothing was asked there".to_owned(),
        Some(ServiceFinding::Silent { asked, within_ns }) => {
            let within = within_ns.map_or_else(|| "in time".to_owned(), |within| format!("within {within}"));
            format!("and no answer came {within} (asked as {})", reach::names(asked))
        }
        Some(ServiceFinding::Closed { asked }) => {
            format!("and closes them at a request (asked as {})", reach::names(asked))
        }
        Some(_) => "and no protocol was recognised there".to_owned(),
    };
    Some(end)
}

/// True where a port accepts connections and a question to it had no answer in time.
fn has_silent_port(look: &Look) -> bool {
    let mut ports = look.addresses.iter().flat_map(|asked| &asked.ports);
    ports.any(|port| port.transport == Transport::Tcp && matches!(port.service, Some(ServiceFinding::Silent { .. })))
}

/// Ports whose connections were accepted and then reset without a word: `TCP :7663: connections are accepted and then reset …`.
pub(super) fn reset(look: &Look) -> Option<String> {
    let is_reset = |port: &&PortFinding| {
        port.verdict == Verdict::Reset || matches!(port.service, Some(ServiceFinding::Reset { .. }))
    };
    let found = look.addresses.iter().flat_map(|asked| asked.ports.iter().filter(is_reset));
    let ports: Vec<String> = found.map(|port| format!(":{}", port.port)).collect();
    (!ports.is_empty()).then(|| {
        format!(
            "TCP {}: connections are accepted and then reset. Whether the host or a middlebox resets them is not \
             established → capture RSTs at the host, look for a firewall or proxy",
            ports.join(", ")
        )
    })
}

/// Words for handshakes that fail while connections stand, with the time of the one that was waited for.
pub(super) fn handshakes(look: &Look) -> Option<String> {
    let of = |finding: &Finding| {
        let (Subject::Losses { leg }, true) = (finding.of, is_of_handshakes(finding)) else { return None };
        let leg = look.legs.get(leg as usize)?;
        let after = losses::first(&look.addresses, leg.address, leg.port?)?;
        let (seen, why) = if finding.cause == Some(Cause::FirstSyn) {
            (
                format!("took {after}, as one whose SYN is sent again"),
                "a box that drops first SYNs, or those with ECN (net.ipv4.tcp_ecn here)",
            )
        } else {
            (format!("took {after} when asked alone"), "a limit of new connections, or a full listen queue there")
        };
        let count = |count| number::count(count, "handshake", "handshakes");
        let fate = match leg.sums.min_ns.filter(|_| leg.sums.answered > 0) {
            Some(least) => format!("{} took {least} or more", count(leg.sums.answered)),
            None => format!("no reply in time to {}", count(leg.sums.lost)),
        };
        Some(format!("{}: {fate}, and the first {seen}. Open connections answer → look for {why}", name(leg)))
    };
    look.judgement.findings.iter().find_map(of)
}

/// True where a warning tells of it.
pub(super) fn is_of_handshakes(finding: &Finding) -> bool {
    matches!(finding.cause, Some(Cause::FirstSyn | Cause::NewConnections))
}

/// True where anything accepted or answered when it was first asked; an end before the first round leaves it at that.
fn has_answered(look: &Look) -> bool {
    look.addresses.iter().any(|asked| matches!(asked.echo, Seen::Answer { .. })) || has_port(look, Verdict::Open)
}

fn has_port(look: &Look, verdict: Verdict) -> bool {
    look.addresses.iter().flat_map(|asked| &asked.ports).any(|port| port.verdict == verdict)
}

/// `11 ports`; of one transport where it is named.
fn ports(look: &Look, transport: Option<Transport>) -> String {
    let all = look.addresses.iter().flat_map(|asked| &asked.ports);
    let count = all.filter(|port| transport.is_none_or(|one| port.transport == one)).count();
    match transport {
        Some(transport) => format!("{count} {}", transport.to_string().to_uppercase()),
        None => number::count(count as u64, "port", "ports"),
    }
}

/// The words for hosts that were busy, or kept from running, with the action against it.
pub(super) fn busy(look: &Look) -> Option<String> {
    let figure = |warning: &Warning| match warning {
        Warning::Disturbed { by, .. } => warning::largest(by).map(str::to_owned),
        Warning::Throttled { throttled_ns, watched_ns, .. } => {
            Some(format!("kept from running for {throttled_ns} of {watched_ns}"))
        }
        _ => None,
    };
    let of = |warning: &Warning| {
        let whom = if warning.busy_end()? == "our" { "this host" } else { "the peer" };
        Some(format!("{whom}: {}", figure(warning)?))
    };
    let hosts: Vec<String> = look.warnings.iter().filter_map(of).collect();
    let spoils = look.warnings.iter().find_map(|warning| match warning {
        Warning::Disturbed { spoils, .. } if !spoils.is_empty() => Some(format!(". {}", warning::spoiled(spoils))),
        _ => None,
    });
    let spoils = spoils.unwrap_or_default();
    (!hosts.is_empty()).then(|| {
        format!("Busy ({}): times are longer than on a quiet host{spoils} → repeat when it is quiet", hosts.join(", "))
    })
}

/// The words for long times that come back, with the action against them.
pub(super) fn periodic(look: &Look) -> Option<String> {
    let periodic = look.periodic.as_ref()?;
    Some(format!("{} → {}", words::periodic::seen(periodic), words::periodic::advice(periodic)))
}

/// The middle half of the reference's times is so many times its quick end, and so wide at least, that one number does not tell of them.
const VARIES: u64 = 2;
const WIDE: Nanos = Nanos::millis(1);

/// The words for a reference that took very different times, where no change of level and no period says more.
pub(super) fn varies(look: &Look) -> Option<String> {
    let told = look.change.is_some() || look.periodic.is_some();
    let leg = look.legs.get(look.judgement.believed.filter(|_| !told)?.leg as usize)?;
    let (quick, slow, longest) = (leg.sums.p25_ns?, leg.sums.p75_ns?, leg.sums.max_ns?);
    let is_wide = slow.0 >= quick.0.saturating_mul(VARIES) && slow.0.saturating_sub(quick.0) >= WIDE.0;
    is_wide.then(|| {
        format!(
            "{} varies: a quarter took {quick} or less, a quarter {slow} or more, the longest {longest} → \
             `sonde rtt` shows its course",
            name(leg)
        )
    })
}

/// That no program answered, and the action against it.
pub(super) fn no_program(look: &Look) -> Option<String> {
    let [tcp, udp] = [Transport::Tcp, Transport::Udp].map(|transport| ports(look, Some(transport)));
    match look.judgement.believed.map(|reference| reference.stands) {
        Some(Stands::Application) => None,
        Some(_) if unmeasured(look).next().is_some() => None,
        // One is there, and its row says what came of it.
        Some(_) if look.legs.iter().any(|leg| matches!(leg.who, Who::Program { .. })) => None,
        Some(_) => {
            let all = look.addresses.iter().flat_map(|asked| &asked.ports);
            let all = all.filter(|port| port.transport == Transport::Tcp).count();
            if let Some((from, says, ports)) = objection(look).filter(|(_, _, ports)| 2 * ports > all) {
                let error = words::port::error(says);
                return Some(format!(
                    "No program was reached: {from} answered for the host at {ports} of {all} TCP ports ({error}) → \
                     open a port there for `sonde serve`, or name one that it lets pass (--port)"
                ));
            }
            let advice = if has_silent_port(look) {
                "repeat it: a program that is busy may answer later. Or ask it in its protocol and wait longer: `sonde rtt URL --timeout 10s`"
            } else {
                "run `sonde serve` there (--key FILE or --open), or name a port and its program (--port)"
            };
            Some(format!("No program answered ({tcp}, {udp} ports){} → {advice}", open_ports(look)))
        }
        None if has_answered(look) => None,
        None if objection(look).is_some() => {
            Some("Nothing of the host answered → look at that router or firewall, and at the address".to_owned())
        }
        None if seen(look).any(Seen::is_without_neighbour) => {
            Some("Nothing answered → check that the host is on, on this link, and has this address".to_owned())
        }
        None => Some(format!(
            "Nothing answered → name an open port (--port), or run `sonde check {}`",
            shell::word(&look.host)
        )),
    }
}

/// The reason of a row in at most 16 letters.
pub(super) fn short(finding: &Finding) -> &'static str {
    match (finding.word, finding.cause) {
        (Some(Word::NotShown), _) => "not significant",
        (Some(Word::TooFewRuns), _) => "too few rounds",
        (_, Some(Cause::NobodyWoken)) => "no program woken",
        (_, Some(Cause::SlowIcmp)) => "slow ICMP path",
        (_, Some(Cause::Flow)) => "by connection",
        (_, Some(Cause::AnotherHop)) => "another hop",
        (_, Some(Cause::NearerHandshake)) => "nearer handshake",
        (_, Some(Cause::LosesAlone)) => "loses alone",
        (_, Some(Cause::FirstSyn)) => "first SYN lost",
        (_, Some(Cause::NewConnections)) => "new connections",
        (_, Some(Cause::Filtered)) => "filtered",
        (_, Some(Cause::Interval)) => "shorter interval",
        (_, Some(Cause::Address)) => "other route",
        (_, Some(Cause::NotEstablished)) => "not established",
        (_, None) => "",
    }
}

/// The words for an answer that is one of several, where connections of the reference were seen to differ.
fn by_connection_of_reference(look: &Look) -> Option<String> {
    let reference = look.judgement.believed?.leg;
    let found = look.judgement.findings.iter().find(|finding| finding.of == Subject::Flows { leg: reference })?;
    let longer = Nanos(found.shift?.value_ns.max(0.0).round() as u64);
    let busy = if busy(look).is_some() { ", on a busy host" } else { "" };
    Some(format!("It depends on the connection: some take {longer} longer{busy}."))
}

/// `TCP :7663: some connections take 344 µs longer than others [337 … 349 µs]`
pub(super) fn by_connection(look: &Look, leg: u32, shift: Option<Shift>) -> String {
    let name = look.legs.get(leg as usize).map(name).unwrap_or_default();
    let time = |ns: f64| Nanos(ns.max(0.0).round() as u64).to_string();
    let longer = shift.map_or_else(String::new, |shift| {
        let interval = shift.low_ns.zip(shift.high_ns);
        let interval = interval.map_or_else(String::new, |(low, high)| format!(" [{} … {}]", time(low), time(high)));
        format!(" {}{interval}", time(shift.value_ns))
    });
    format!("{name}: some connections take{longer} longer than others")
}
