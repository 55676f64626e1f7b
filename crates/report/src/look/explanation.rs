//! Explanations below a quick survey's table: why its rows differ from the reference, and what has no row.

use measure::comparison::Word;
use measure::look::further::{Further, Reason};
use measure::look::{Cause, Finding, Leg, Look, Subject, Sums, Who};
use measure::method::Carrier;
use measure::reach::Service;
use measure::unit::Nanos;
use measure::verdict::Warning;

use super::name;
use super::sentence::{by_connection, is_of_handshakes};
use crate::words::warning;
use crate::{number, words};

/// Explanations below the table: the columns, each cause once, and findings that have no row.
pub(super) fn reasons(look: &Look) -> Vec<String> {
    let findings = &look.judgement.findings;
    let has = |cause: Cause| findings.iter().any(|finding| finding.cause == Some(cause) && has_row(finding));
    let mut texts = Vec::new();
    if findings.iter().any(|finding| finding.shift.is_some()) {
        texts.push("shift: paired estimate against the reference · ~ rough (10–99 values above)".to_owned());
    }
    texts.extend(skewed(look));
    let told = [
        (
            Cause::NobodyWoken,
            "no program woken: the kernel answers by itself. A program adds its waking, its work, and what it asks of others.",
        ),
        (
            Cause::SlowIcmp,
            "slow ICMP path: ICMP takes a slower path, or a middlebox nearer than the host answers TCP. Use the TCP value.",
        ),
        (
            Cause::Interval,
            "shorter interval: shift against its own row. Only the interval differs: what has not run for a while takes longer.",
        ),
        (
            Cause::NearerHandshake,
            "nearer handshake: something nearer than the host accepts connections, as a proxy does, or handshakes take a shorter path.",
        ),
        (Cause::Address, "other route: shift against the same row of the first address"),
    ];
    texts.extend(told.into_iter().filter(|(cause, _)| has(*cause)).map(|(_, text)| text.to_owned()));
    texts.extend(sooner(look));
    texts.extend(slow_handshakes(look));
    let is_netserver = |leg: &Leg| leg.who == Who::Program { service: Service::Netserver } && leg.sums.answered > 0;
    if look.legs.iter().any(is_netserver) {
        let text = "netserver: asked as rarely as the others. netperf itself asks without pause (TCP_RR, UDP_RR).";
        texts.push(text.to_owned());
    }
    let others = findings.iter().filter(|finding| !has_row(finding) && !is_of_handshakes(finding));
    texts.extend(others.map(|finding| without_row(look, finding)));
    texts.extend(further(look));
    texts
}

/// The rows in which a kernel replies sooner than the program of the reference, where it is not known who delays the program's requests.
fn sooner(look: &Look) -> Option<String> {
    let reference = look.legs.get(look.judgement.believed?.leg as usize)?;
    let by_connection = look.judgement.findings.iter().any(|finding| finding.cause == Some(Cause::Flow));
    let row = |finding: &Finding| {
        let Subject::Leg { leg } = finding.of else { return None };
        let is_open = finding.word == Some(Word::Less) && finding.cause == Some(Cause::NotEstablished);
        let leg = look.legs.get(leg as usize).filter(|leg| is_open && !leg.who.is_program())?;
        Some((leg, -finding.shift?.value_ns))
    };
    let rows: Vec<(&Leg, f64)> = look.judgement.findings.iter().filter_map(row).collect();
    if !reference.who.is_program() || by_connection || rows.is_empty() {
        return None;
    }
    // A handshake wakes no program either: where it is hardly sooner, the program is not what an echo is spared.
    let of_handshake = of_handshake(look).filter(|finding| finding.word != Some(Word::More));
    let of_handshake = of_handshake.and_then(|finding| finding.shift).map(|shift| -shift.value_ns);
    let of_echo = rows.iter().find(|(leg, _)| leg.carrier == Carrier::Icmp).map(|(_, lead)| *lead);
    let noticed = BY_PATH.max(SKEWED * reference.sums.median().map_or(0.0, |median| median.0 as f64));
    let echo = of_echo.zip(of_handshake).filter(|(echo, handshake)| *echo >= noticed.max(OF_ECHO_ALONE * handshake));
    // What reaches a program as soon as the echo is of no use against the echo: what the reference has to itself takes the time.
    let as_soon = of_echo.and_then(|echo| programs_as_soon(look, echo.max(BY_PATH)));
    if let Some(leg) = as_soon.filter(|leg| echo.is_some() && leg.port != reference.port) {
        return Some(format!(
            "{}: its handshakes take as long as its requests, and {} and ICMP echo are answered sooner: what stands before this port (a proxy, another \
             host behind it, a rule) or a longer path of its packets takes that time; which of them is not established.",
            name(reference),
            name(leg)
        ));
    }
    let over = (reference.carrier, Carrier::Udp);
    if let Some(leg) = as_soon.filter(|leg| over == (Carrier::Tcp, leg.carrier) && leg.who == reference.who) {
        return Some(format!(
            "{} and ICMP echo are answered sooner: TCP takes that time, on the path or at an end.",
            name(leg)
        ));
    }
    let of_program = rows.iter().filter(|(leg, _)| echo.is_none() || leg.carrier != Carrier::Icmp);
    let of_program: Vec<String> = of_program.map(|(leg, _)| name(leg)).collect();
    let echo = echo.map(|_| {
        "ICMP echo: sooner than the handshake too, which the kernel answers: it takes a quicker path, goes before other packets, or a box nearer than \
         the host answers it."
            .to_owned()
    });
    let program = (!of_program.is_empty()).then(|| {
        format!(
            "{}: the kernel replies sooner than the program. Whether the program takes that time, or the path holds packets with data back, is not established.",
            of_program.join(", ")
        )
    });
    Some([echo, program].into_iter().flatten().collect::<Vec<_>>().join(" "))
}

/// The row of a program that leads the reference by most of what an echo leads it by, nanoseconds.
fn programs_as_soon(look: &Look, echo: f64) -> Option<&Leg> {
    let findings = look.judgement.findings.iter().filter(|finding| finding.word == Some(Word::Less));
    let mut led = findings.filter_map(|finding| {
        let Subject::Leg { leg } = finding.of else { return None };
        Some((look.legs.get(leg as usize)?, -finding.shift?.value_ns))
    });
    led.find(|(leg, lead)| leg.who.is_program() && *lead >= AS_SOON * echo).map(|(leg, _)| leg)
}

/// The finding of the reference's handshakes.
fn of_handshake(look: &Look) -> Option<&Finding> {
    look.judgement.findings.iter().find(|finding| {
        let Subject::Leg { leg } = finding.of else { return false };
        look.legs.get(leg as usize).is_some_and(|leg| leg.carrier == Carrier::TcpConnect)
    })
}

/// The sentence about handshakes that take longer than requests on an open connection.
fn slow_handshakes(look: &Look) -> Option<String> {
    let reference = look.legs.get(look.judgement.believed?.leg as usize)?;
    let longer = of_handshake(look).filter(|finding| finding.word == Some(Word::More))?.shift?.low_ns?;
    let noticed = BY_PATH.max(SKEWED * reference.sums.median()?.0 as f64);
    let is_told = reference.carrier == Carrier::Tcp && longer >= noticed;
    is_told.then(|| {
        "TCP connect: a new connection takes longer than a request on an open one, as where a firewall, a proxy or a route is set up for each; which \
         of them is not established."
            .to_owned()
    })
}

/// No smaller difference is put down to what stands on the path: hosts that rest between requests wake for one protocol later than for another,
/// and set up a connection, in as much.
const BY_PATH: f64 = 200_000.0;

/// Share of an echo's lead from which another program's row is as soon.
const AS_SOON: f64 = 0.75;

/// Times a handshake's lead over the program from which an echo's is another matter.
const OF_ECHO_ALONE: f64 = 4.0;

/// A difference of medians is another than the shift by so much of the larger of both.
const SKEWED: f64 = 0.25;
/// And by so much at least.
const NOTICED: f64 = 20_000.0;

/// The note for a shift that is far from the difference of the two p50 above it, as of a program whose quick replies are far from its middle one.
fn skewed(look: &Look) -> Option<String> {
    let reference = look.judgement.believed?;
    let of = |leg: u32| look.legs.get(leg as usize).map(|leg| &leg.sums);
    let own = of(reference.leg)?;
    let is_far = |finding: &&Finding| {
        let Subject::Leg { leg } = finding.of else { return false };
        let differs = matches!(finding.word, Some(Word::More | Word::Less));
        let medians = of(leg).and_then(Sums::median).zip(own.median());
        let Some((shift, (median, reference))) = finding.shift.filter(|_| differs).zip(medians) else { return false };
        let (between, apart) = (median.0 as f64 - reference.0 as f64, shift.value_ns);
        (between - apart).abs() >= NOTICED.max(SKEWED * between.abs().max(apart.abs()))
    };
    look.judgement.findings.iter().find(is_far)?;
    let (quarter, half) = (own.p25_ns?, own.median()?);
    Some(format!(
        "shift compares the quick replies (lower quartiles of paired blocks), not the p50: the reference has p25 {quarter}, p50 {half}"
    ))
}

/// `100 more rounds: at first ICMP echo alone lost 1 request.`
fn further(look: &Look) -> Option<String> {
    let name_of = |leg: u32| look.legs.get(leg as usize).map(name).unwrap_or_default();
    let reason = |further: &Further| match further.reason {
        Reason::FewReplies { answered } => {
            format!("the reference had only {}", number::count(answered, "reply", "replies"))
        }
        Reason::LossOfOne { leg, lost } => {
            format!("{} alone lost {}", name_of(leg), number::count(lost, "request", "requests"))
        }
        Reason::Halves { shift_ns } => {
            let by = Nanos(shift_ns.abs().round() as u64);
            let direction = if shift_ns > 0.0 { "longer" } else { "shorter" };
            format!("the reference took {by} {direction} in the second half than in the first")
        }
        Reason::Period { period_ns } => {
            format!("long round trips seemed to return every {period_ns}, too few to exclude chance")
        }
        Reason::KernelLater { leg } => format!("{} took longer than the program", name_of(leg)),
    };
    let rounds: u64 = look.further.iter().map(|further| further.rounds).fold(0, u64::saturating_add);
    let mut reasons: Vec<String> = look.further.iter().map(reason).collect();
    reasons.dedup();
    let rounds = number::count(rounds, "more round", "more rounds");
    (!reasons.is_empty()).then(|| format!("{rounds}: at first {}.", reasons.join(", then ")))
}

fn has_row(finding: &Finding) -> bool {
    matches!(finding.of, Subject::Leg { .. } | Subject::Further { .. } | Subject::Burst { .. })
}

fn without_row(look: &Look, finding: &Finding) -> String {
    let address = |place: u32| {
        let asked = look.addresses.get(place as usize).filter(|_| look.addresses.len() > 1);
        asked.map_or_else(String::new, |asked| format!(" at {}", asked.address))
    };
    let (subject, evidence) = match finding.of {
        Subject::Echo { address: place } => (format!("ICMP echo{}", address(place)), String::new()),
        Subject::Tcp { address: place } => (format!("TCP{}", address(place)), String::new()),
        Subject::Port { address: place, port } => {
            let reset = look.resets.iter().find(|reset| (reset.address, reset.port) == (place, port));
            let evidence =
                reset.map_or_else(String::new, |reset| format!(" ({})", words::origin::sentence(&reset.origin)));
            (format!("TCP port {port}{}", address(place)), evidence)
        }
        Subject::Flows { leg } => (by_connection(look, leg, finding.shift), String::new()),
        Subject::Losses { leg } => {
            let name = look.legs.get(leg as usize).map(name).unwrap_or_default();
            (format!("{name} loses alone"), String::new())
        }
        Subject::Leg { .. } | Subject::Further { .. } | Subject::Burst { .. } => Default::default(),
    };
    let cause = match finding.cause {
        Some(Cause::Filtered) => {
            "filtered by a firewall or by the host itself, or answered from another address".to_owned()
        }
        Some(Cause::AnotherHop) => "another box than the one that accepts connections refuses".to_owned(),
        Some(Cause::Flow) => {
            let busy = if warning::may_explain(&look.warnings, &["flow"]) { words::BUSY_BY_CONNECTION } else { "" };
            format!("by path, queue or thread of the peer. One connection sees one of them.{busy}")
        }
        Some(Cause::LosesAlone) => loses_alone(look),
        Some(Cause::SlowIcmp) => {
            "ICMP takes another, slower path than TCP, or a nearer middlebox answers TCP".to_owned()
        }
        Some(Cause::NobodyWoken) => "the kernel answers, and no program is woken".to_owned(),
        Some(Cause::NearerHandshake) => {
            "something nearer than the host accepts connections, or handshakes take a shorter path".to_owned()
        }
        Some(Cause::Interval) => "only the interval differs, and what has not run for a while takes longer".to_owned(),
        Some(Cause::Address) => "another route leads to that address".to_owned(),
        // Handshakes have a sentence of their own.
        Some(Cause::NotEstablished | Cause::FirstSyn | Cause::NewConnections) | None => {
            "reason not established".to_owned()
        }
    };
    format!("{subject}: {cause}{evidence}")
}

/// The causes of losses of one protocol alone. The others show nothing of a path that they do not take, or at other times; TCP sends again.
fn loses_alone(look: &Look) -> String {
    let again = look.warnings.iter().any(|warning| matches!(warning, Warning::Retransmitted { .. }));
    let others = if again { ", but TCP retransmitted, so the path may lose too" } else { "" };
    format!(
        "a limit or a filter for it, or its program; or the path, where it has several routes (`sonde paths HOST` \
         shows it) or loses in a fixed rhythm. No other row lost a request{others}"
    )
}
