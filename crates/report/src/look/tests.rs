//! Screens of first looks: with a program, with a slow echo, with no answer; none too wide.

use insta::assert_snapshot;
use measure::look::{Cause, Finding, Shift, Subject};
use measure::reach::{Reporter, Says};
use test_case::test_case;
use unicode_width::UnicodeWidthStr;

use super::*;
use crate::fixture;
use crate::layout::tests::without_colour;

fn quiet(look: &LookDocument) -> String {
    render(look, &Style::default())
}

#[test]
fn a_host_with_a_program() {
    assert_snapshot!(quiet(&fixture::look()));
}

#[test]
fn in_ascii() {
    let text = render(&fixture::look(), &Style { ascii: true, ..Style::default() });
    assert!(text.is_ascii(), "{text}");
    assert_snapshot!(text);
}

#[test]
fn a_host_whose_echo_is_slow_and_two_addresses() {
    assert_snapshot!(quiet(&fixture::slow_look()));
}

#[test]
fn a_table_for_an_issue() {
    assert_snapshot!(markdown(&fixture::look()));
}

#[test]
fn a_host_behind_two_paths() {
    assert_snapshot!(quiet(&fixture::look_over_two_paths()));
}

#[test]
fn connections_that_differ_on_a_busy_host_may_differ_by_its_cpus() {
    let text = |look: &LookDocument| quiet(look).split_whitespace().collect::<Vec<_>>().join(" ");
    let mut found = fixture::look_over_two_paths();
    for said in
        ["longer, on a busy host.", "Hosts were busy: CPUs that other work takes may be the reason, and not the path."]
    {
        assert!(text(&found).contains(said), "{}", text(&found));
    }
    found.look.warnings.clear();
    assert!(text(&found).contains("some take 344 µs longer.") && !text(&found).contains("busy"), "{}", text(&found));
}

#[test]
fn a_host_that_answers_nothing() {
    assert_snapshot!(quiet(&fixture::silent_look()));
}

#[test]
fn no_line_is_too_wide_or_ends_in_a_space() {
    for look in [fixture::look(), fixture::slow_look(), fixture::silent_look()] {
        for width in [40, 60, 80, 120] {
            let plain = render(&look, &Style { width, ..Style::default() });
            assert!(plain.lines().all(|line| line.width() <= width && line.trim_end() == line), "{plain}");
            assert_eq!(without_colour(&render(&look, &Style { width, colour: true, ..Style::default() })), plain);
        }
    }
}

#[test]
fn the_first_replies_are_one_line() {
    let mut line = FirstLine::new("db1", Nanos::millis(100), Nanos::secs(5));
    line.add("icmp", None, Nanos::micros(98));
    let grown = line.add("tcp", Some(22), Nanos::micros(121)).to_owned();
    assert_eq!(grown, line.text());
    assert_eq!(grown, "db1: one round per 100 ms for 5 s, 100 more at most · ICMP 98 µs · TCP 22 121 µs");
}

#[test]
fn rounds_that_were_added_are_told_with_their_reasons() {
    use measure::look::further::{Further, Reason};
    let mut found = fixture::look();
    assert!(!quiet(&found).contains("more rounds"));
    let further = |rounds, reason| Further { rounds, reason };
    found.look.further =
        vec![further(50, Reason::LossOfOne { leg: 0, lost: 1 }), further(50, Reason::KernelLater { leg: 1 })];
    let text = quiet(&found).replace("\n  ", " ");
    assert!(
        text.contains(
            "100 more rounds: at first ICMP echo alone lost 1 request, then TCP connect :7663 took longer than the program."
        ),
        "{text}"
    );
    for reason in [
        Reason::FewReplies { answered: 12 },
        Reason::Halves { shift_ns: -60e3 },
        Reason::Period { period_ns: Nanos::secs(1) },
    ] {
        found.look.further = vec![further(50, reason)];
        let text = quiet(&found);
        assert!(text.contains("50 more rounds: at first "), "{text}");
    }
}

#[test]
fn connections_that_are_reset_are_no_refusals() {
    use measure::reach::ServiceFinding;
    let text = |look: &LookDocument| quiet(look).split_whitespace().collect::<Vec<_>>().join(" ");
    let mut found = fixture::look();
    let said = "TCP :7663: connections are accepted and then reset. Whether the host or a middlebox resets them is not established";
    assert!(!text(&found).contains("then reset"));
    let port = &mut found.look.addresses[0].ports[0];
    port.service = Some(ServiceFinding::Reset { asked: vec![Service::Sonde] });
    assert!(text(&found).contains(said), "{}", text(&found));
    let mut silent = fixture::silent_look();
    let port = &mut silent.look.addresses[0].ports[0];
    (port.port, port.transport) = (7_663, Transport::Tcp);
    (port.seen, port.verdict) = (Seen::AcceptedThenReset { after_ns: Nanos::micros(80) }, Verdict::Reset);
    let answered = text(&silent);
    assert!(answered.contains("accepts connections that are then reset") && answered.contains(said), "{answered}");
    assert!(!answered.contains("no open port"), "{answered}");
}

#[test]
fn a_shift_that_is_no_difference_of_medians_says_what_it_compares() {
    let mut found = fixture::look();
    let reference = found.look.judgement.believed.expect("one").leg as usize;
    let said = |look: &LookDocument| quiet(look).contains("shift compares the quick replies");
    assert!(!said(&found), "{}", quiet(&found));
    let sums = &mut found.look.legs[reference].sums;
    // The half that other work delays.
    sums.quantiles.iter_mut().for_each(|quantile| quantile.value_ns = quantile.value_ns.map(|time| Nanos(9 * time.0)));
    assert!(said(&found), "{}", quiet(&found));
}

#[test]
fn times_that_are_no_one_number_are_told_as_that() {
    let mut found = fixture::look();
    let said = |look: &LookDocument| quiet(look).contains("varies: a quarter took");
    assert!(!said(&found), "{}", quiet(&found));
    let reference = found.look.judgement.believed.expect("one").leg as usize;
    let sums = &mut found.look.legs[reference].sums;
    (sums.p75_ns, sums.max_ns) = (Some(Nanos::millis(300)), Some(Nanos::secs(1)));
    assert!(said(&found), "{}", quiet(&found));
}

#[test]
fn a_silent_address_of_the_name_is_told_with_its_version() {
    let text = |look: &LookDocument| quiet(look).split_whitespace().collect::<Vec<_>>().join(" ");
    let silent = fixture::silent_look().look.addresses[0].clone();
    let mut found = fixture::look();
    found.look.silent = vec![measure::look::Asked { address: "fd00::2".to_owned(), ..silent.clone() }];
    let told = text(&found);
    assert!(told.contains("has the IPv6 address fd00::2 too, which did not answer"), "{told}");
    let mut found = fixture::silent_look();
    found.look.silent = vec![measure::look::Asked { address: "10.0.0.2".to_owned(), ..silent }];
    let told = text(&found);
    assert!(told.contains("Nor did 10.0.0.2, its IPv4 address, answer"), "{told}");
}

#[test]
fn a_busy_host_names_what_it_may_have_brought_about() {
    let text = |look: &LookDocument| quiet(look).split_whitespace().collect::<Vec<_>>().join(" ");
    let mut found = fixture::look_over_two_paths();
    measure::verdict::order::spoil(&mut found.look.warnings, &found.look.judgement.of_a_busy_host(false, false));
    let told = text(&found);
    assert!(told.contains("This alone can cause differences between connections"), "{told}");
}

#[test]
fn losses_are_in_the_answer_with_their_rows() {
    let mut found = fixture::look();
    found.look.legs[2].sums.lost = 2;
    assert!(answer(&found).ends_with(". Lost: 4 % of TCP :7663."), "{}", answer(&found));
}

#[test]
fn a_host_with_a_program_verbosely() {
    assert_snapshot!(render(&fixture::look(), &Style { verbose: true, ..Style::default() }));
}

#[test_case(Service::Redis, Carrier::Tcp, ", one every 100 ms over one connection at a time, answered by Redis"; "a program of others")]
#[test_case(Service::Dns, Carrier::Udp, ", one every 100 ms from one port at a time, answered by DNS"; "one over UDP")]
#[test_case(Service::Sonde, Carrier::Tcp, ", one every 100 ms"; "our own, over several")]
fn a_program_of_others_is_asked_over_one_connection_at_a_time(service: Service, carrier: Carrier, expected: &str) {
    let mut found = fixture::look();
    let believed = found.look.judgement.believed.expect("a reference").leg as usize;
    let leg = &mut found.look.legs[believed];
    (leg.who, leg.carrier) = (Who::Program { service }, carrier);
    let text = quiet(&found).split_whitespace().collect::<Vec<_>>().join(" ");
    let (_, behind) = text.split_once("db1 (10.0.0.2)").expect("the host with its address");
    assert!(behind.starts_with(expected), "{text}");
}

#[test]
fn a_time_without_replies_is_the_answer_and_no_share_of_loss() {
    let mut found = fixture::look();
    let gone: u64 = found.look.legs.iter_mut().map(|leg| std::mem::replace(&mut leg.sums.lost, 20)).map(|_| 20).sum();
    let words = |found: &LookDocument| quiet(found).split_whitespace().collect::<Vec<_>>().join(" ");
    let share = words(&found);
    found.look.dark = Some(measure::outcome::dark::Dark {
        spells: 1,
        total_ns: Nanos::secs(2),
        share: 0.4,
        longest_from_ns: Nanos::secs(3),
        longest_to_ns: Nanos::secs(5),
        to_the_end: true,
        unanswered: gone,
        refused_or_not_sent: 0,
        due: None,
    });
    let text = words(&found);
    assert!(share.contains("Lost: ") && !text.contains("Lost: "), "{text}");
    assert!(text.starts_with("No reply for 2 s (40 % of the time), from 3 s to the end. Otherwise: "), "{text}");
}

#[test]
fn what_comes_back_is_a_warning() {
    let mut found = fixture::look();
    let (period_ns, longer_ns) = (Nanos::secs(1), Nanos::millis(96));
    found.look.periodic =
        Some(measure::outcome::periodic::Periodic { period_ns, longer_ns, count: 9, ..Default::default() });
    let text = quiet(&found);
    assert!(text.contains("! Every 1 s something takes about 96 ms longer (9 times) →"), "{text}");
}

#[test]
fn a_program_that_was_not_measured_is_named_with_what_to_do() {
    use measure::look::Who;
    use measure::reach::{Service, ServiceFinding};
    let mut found = fixture::look();
    let look = &mut found.look;
    look.legs.retain(|leg| !leg.who.is_program());
    let (who, port) = (Who::Program { service: Service::Mysql }, Some(3_306));
    let trouble = Some("it answers only in a session → sonde rtt mysql://USER@db1".to_owned());
    let (sums, method) = (Sums::default(), None);
    let mut leg = Leg { carrier: Carrier::Tcp, who, port, trouble, sums, method, ..look.legs[0].clone() };
    leg.dark = None;
    // The same at the host's other address.
    look.legs.extend([leg.clone(), Leg { address: 1, ..leg }]);
    let asked = &mut look.addresses[0].ports;
    let service = |service| Some(ServiceFinding::Known { service, state: Some("8.0.36".to_owned()) });
    asked.push(PortFinding { port: 3_306, service: service(Service::Mysql), ..asked[0].clone() });
    let why = "a printer prints what it gets".to_owned();
    asked.push(PortFinding { port: 9_100, service: Some(ServiceFinding::LeftAlone { why }), ..asked[0].clone() });
    look.judgement.believed =
        look.judgement.believed.map(|_| measure::look::Believed { leg: 0, stands: measure::look::Stands::Echo });
    let text = quiet(&found).replace("\n  ", " ");
    assert!(
        text.contains("TCP :3306 is MySQL (8.0.36), not measured: it answers only in a session → sonde rtt"),
        "{text}"
    );
    assert_eq!(text.matches(":3306 is MySQL").count(), 1, "{text}");
    assert!(text.contains("TCP :9100 was not asked: a printer prints what it gets → name the program:"), "{text}");
    assert!(!text.contains("No program answered") && !text.contains("Only ICMP answered"), "{text}");
}

/// A finding of `fixture::look` about its first leg, the echo, in place of that which was there.
fn found_of_echo(of: Subject, cause: Cause) -> LookDocument {
    let mut found = fixture::look();
    let findings = &mut found.look.judgement.findings;
    match findings.iter_mut().find(|finding| finding.of == of) {
        Some(finding) => finding.cause = Some(cause),
        None => findings.push(Finding { of, shift: None, word: None, cause: Some(cause) }),
    }
    found
}

fn unbroken(found: &LookDocument) -> String {
    quiet(found).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_kernel_that_replies_sooner_for_no_known_reason_accuses_neither_program_nor_path() {
    let said = "Whether the program takes that time, or the path holds packets with data back, is not established.";
    let found = found_of_echo(Subject::Leg { leg: 0 }, Cause::NotEstablished);
    assert!(
        unbroken(&found).contains(&format!("ICMP echo: the kernel replies sooner than the program. {said}")),
        "{found:?}"
    );
    assert!(!unbroken(&fixture::look()).contains(said));
}

/// The shifts of the echo and of the handshake. Less than hosts differ by themselves is no matter of the path.
#[test_case(-10e6, -164e3, true; "by milliseconds")]
#[test_case(-190e3, -10e3, false; "by less than a host wakes in")]
fn an_echo_that_is_sooner_than_a_handshake_too_is_no_matter_of_the_program(echo: f64, connect: f64, is_told: bool) {
    let mut found = found_of_echo(Subject::Leg { leg: 0 }, Cause::NotEstablished);
    let legs = &found.look.legs;
    let handshake = legs.iter().position(|leg| leg.carrier == Carrier::TcpConnect).expect("one") as u32;
    for finding in &mut found.look.judgement.findings {
        let lead = if finding.of == (Subject::Leg { leg: 0 }) { echo } else { connect };
        if [0, handshake].iter().any(|leg| finding.of == (Subject::Leg { leg: *leg })) {
            finding.shift = Some(Shift { value_ns: lead, low_ns: None, high_ns: None });
            (finding.word, finding.cause) = (Some(Word::Less), Some(Cause::NotEstablished));
        }
    }
    let text = unbroken(&found);
    let told = text.contains("ICMP echo: sooner than the handshake too, which the kernel answers");
    assert_eq!((told, text.contains("ICMP echo, TCP connect")), (is_told, !is_told), "{text}");
}

/// The leads of the echo, the handshake and the same program's row over UDP, nanoseconds; and the port of that row, beside 7663 of the reference.
#[test_case((4.2e6, 0.1e6, 4.1e6), 7_664, "TCP :7663: its handshakes take as long as its requests, and UDP :7664 and ICMP echo are answered sooner"; "one port takes longer")]
#[test_case((0.5e6, 0.15e6, 0.43e6), 7_663, "UDP :7663 and ICMP echo are answered sooner: TCP takes that time"; "one protocol takes longer")]
#[test_case((0.5e6, 0.45e6, 0.1e6), 7_663, "the kernel replies sooner than the program"; "the program takes longer")]
#[test_case((30e3, 10e3, 28e3), 7_663, "the kernel replies sooner than the program"; "by less than a host wakes in")]
fn what_the_reference_alone_takes_is_told_by_the_rows_that_do_not(
    (echo, connect, udp): (f64, f64, f64),
    port: u16,
    expected: &str,
) {
    let mut found = found_of_echo(Subject::Leg { leg: 0 }, Cause::NotEstablished);
    let legs = &mut found.look.legs;
    let place =
        |legs: &[Leg], carrier: Carrier| legs.iter().position(|leg| leg.carrier == carrier).expect("one") as u32;
    let (handshake, other) = (place(legs, Carrier::TcpConnect), place(legs, Carrier::Udp));
    legs[other as usize].port = Some(port);
    let lead = |of: Subject| {
        [(0, echo), (handshake, connect), (other, udp)].into_iter().find(|(leg, _)| of == (Subject::Leg { leg: *leg }))
    };
    for finding in &mut found.look.judgement.findings {
        if let Some((_, lead)) = lead(finding.of) {
            finding.shift = Some(Shift { value_ns: -lead, low_ns: None, high_ns: None });
            (finding.word, finding.cause) = (Some(Word::Less), Some(Cause::NotEstablished));
        }
    }
    let text = unbroken(&found);
    assert!(text.contains(expected), "{text}");
}

#[test]
fn handshakes_that_take_longer_than_requests_say_nothing_of_an_echo() {
    let mut found = found_of_echo(Subject::Leg { leg: 0 }, Cause::NotEstablished);
    let handshake = found.look.legs.iter().position(|leg| leg.carrier == Carrier::TcpConnect).expect("one") as u32;
    for finding in &mut found.look.judgement.findings {
        let (word, value_ns) = match finding.of {
            Subject::Leg { leg: 0 } => (Word::Less, -123e3),
            Subject::Leg { leg } if leg == handshake => (Word::More, 49.8e6),
            _ => continue,
        };
        finding.shift = Some(Shift { value_ns, low_ns: Some(value_ns), high_ns: Some(value_ns) });
        (finding.word, finding.cause) = (Some(word), Some(Cause::NotEstablished));
    }
    let text = unbroken(&found);
    assert!(text.contains("ICMP echo: the kernel replies sooner than the program."), "{text}");
    assert!(text.contains("TCP connect: a new connection takes longer than a request on an open one"), "{text}");
    assert!(!text.contains("sooner than the handshake too"), "{text}");
}

/// A host whose ports are in this state, beside an echo.
fn of_ports(seen: &Seen, echo: Seen) -> LookDocument {
    let mut found = fixture::silent_look();
    let asked = &mut found.look.addresses[0];
    asked.echo = echo;
    for port in &mut asked.ports {
        (port.verdict, port.seen) = (Verdict::of(port.transport, seen, false), seen.clone());
    }
    if found.look.addresses[0].echo.is_sign_of_life() {
        found.look.legs[0].sums = fixture::look().look.legs[0].sums.clone();
        found.look.judgement.believed = Some(measure::look::Believed { leg: 0, stands: measure::look::Stands::Echo });
    }
    found
}

fn error(by: Reporter, says: Says) -> Seen {
    let from = Some(if by == Reporter::Hop { "10.0.0.1" } else { "10.0.0.7" }.to_owned());
    Seen::Error { says, from, by, after_ns: Nanos::millis(3) }
}

#[test]
fn a_router_that_answers_in_the_host_s_place_is_named() {
    let forbidden = || error(Reporter::Hop, Says::Prohibited);
    let text = unbroken(&of_ports(&forbidden(), Seen::Answer { after_ns: Nanos(1) }));
    let said = "No program was reached: 10.0.0.1 answered for the host at 3 of 3 TCP ports (forbidden by a filter) →";
    assert!(text.contains(said) && !text.contains("run `sonde serve` there"), "{text}");
    let text = unbroken(&of_ports(&forbidden(), forbidden()));
    let said = "10.0.0.9 did not answer. 10.0.0.1 answered in its place: forbidden by a filter";
    assert!(text.starts_with(said) && text.contains("look at that router or firewall"), "{text}");
}

#[test]
fn a_host_that_nobody_on_the_link_knows_is_told_as_that() {
    let nobody = || error(Reporter::Ourselves, Says::HostUnreachable);
    let text = unbroken(&of_ports(&nobody(), nobody()));
    assert!(text.contains("No machine on this link replied to ARP or neighbour discovery for it"), "{text}");
    assert!(text.contains("tried ICMP no reply to ARP or neighbour discovery") && !text.contains("10.0.0.7"), "{text}");
}

#[test]
fn ports_that_accept_are_told_where_no_program_was_measured() {
    use measure::reach::{Service, ServiceFinding};
    let (answer, echo) = (Seen::Answer { after_ns: Nanos(1) }, Seen::Answer { after_ns: Nanos(1) });
    let mut found = of_ports(&answer, echo);
    let text = unbroken(&found);
    let said =
        "No program answered (3 TCP, 0 UDP ports). TCP :22, :7663, :12865 accept connections, and nothing was asked";
    assert!(text.contains(said), "{text}");
    found.look.addresses[0].ports[0].service = Some(ServiceFinding::Other { asked: vec![Service::Sonde] });
    let text = unbroken(&found);
    assert!(text.contains("TCP :7663 accepts connections, and no protocol was recognised there →"), "{text}");
    let silent = ServiceFinding::Silent { asked: vec![Service::Redis], within_ns: Some(Nanos::millis(400)) };
    found.look.addresses[0].ports[0].service = Some(silent);
    let text = unbroken(&found);
    let said = "TCP :7663 accepts connections, and no answer came within 400 ms (asked as Redis) →";
    assert!(text.contains(said) && text.contains("may answer later") && !text.contains("sonde serve"), "{text}");
    found.look.addresses[0].ports[0].service = Some(ServiceFinding::Closed { asked: vec![Service::Sonde] });
    let text = unbroken(&found);
    assert!(text.contains("TCP :7663 accepts connections, and closes them at a request (asked as sonde)"), "{text}");
}

#[test]
fn a_program_that_answers_by_an_error_is_told() {
    use measure::method::{Application, Asked};
    let mut found = fixture::look();
    let leg = found.look.legs.iter_mut().find(|leg| leg.who.is_program()).unwrap();
    let request = "HEAD /".to_owned();
    let application = Some(Application { protocol: "http".to_owned(), request, mix: None });
    let method = Asked { carrier: Some(Carrier::Tcp), application, ..Asked::default() }.resolve().unwrap();
    leg.who = Who::Program { service: Service::Http };
    (leg.method, leg.reply) = (Some(Box::new(method)), Some("405".to_owned()));
    let text = unbroken(&found);
    assert!(text.contains("answered by HTTP (HEAD /, 405)"), "{text}");
    let said = "TCP :7663 answers HEAD / by status 405: its time is that of the error, and GET may take another →";
    assert!(text.contains(said) && text.contains("`sonde rtt http://db1:7663/`"), "{text}");
    for leg in &mut found.look.legs {
        leg.reply = Some("200".to_owned());
    }
    assert!(!unbroken(&found).contains("status"), "{}", unbroken(&found));
}

#[test]
fn losses_of_one_protocol_alone_may_be_the_path_s() {
    use measure::verdict::Warning;
    let mut found = found_of_echo(Subject::Losses { leg: 0 }, Cause::LosesAlone);
    let said = "ICMP echo loses alone: a limit or a filter for it, or its program; or the path, where it has several \
                routes (`sonde paths HOST` shows it) or loses in a fixed rhythm. No other row lost a request";
    assert!(unbroken(&found).contains(said), "{}", unbroken(&found));
    found.look.warnings = vec![Warning::Retransmitted { segments: 9, had_already: None, requests: 90 }];
    let said = format!("{said}, but TCP retransmitted, so the path may lose too");
    assert!(unbroken(&found).contains(&said), "{}", unbroken(&found));
}

#[test]
fn connections_of_which_some_are_refused_are_not_called_lost() {
    let mut found = fixture::look();
    let leg = found.look.legs.iter_mut().find(|leg| leg.carrier == Carrier::TcpConnect).unwrap();
    (leg.sums.refused, leg.sums.due) = (17, leg.sums.answered + 17);
    let due = leg.sums.due;
    let text = unbroken(&found);
    assert!(text.contains(&format!("Refused: 17 of {due} of TCP connect :7663 → `sonde paths HOST`")), "{text}");
    assert!(text.contains("17 refused") && !text.contains("Lost:"), "{text}");
}

#[test_case(Cause::FirstSyn, Nanos::millis(1_030), "took 1.03 s, as one whose SYN is sent again. Open connections answer → look for a box"; "a first SYN")]
#[test_case(Cause::NewConnections, Nanos::micros(130), "took 130 µs when asked alone. Open connections answer → look for a limit"; "any")]
fn handshakes_that_fail_while_connections_stand_are_told_with_what_to_look_for(cause: Cause, first: Nanos, said: &str) {
    let mut found = fixture::look();
    let look = &mut found.look;
    look.addresses[0].ports.iter_mut().find(|asked| asked.port == 7_663).unwrap().seen =
        Seen::Answer { after_ns: first };
    let place = look.legs.iter().position(|leg| leg.carrier == Carrier::TcpConnect).unwrap();
    look.legs[place].sums = Sums { due: 6, lost: 6, ..Sums::default() };
    look.judgement.findings.push(Finding {
        of: Subject::Losses { leg: place as u32 },
        shift: None,
        word: None,
        cause: Some(cause),
    });
    let text = quiet(&found).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        text.contains(&format!("TCP connect :7663: no reply in time to 6 handshakes, and the first {said}")),
        "{text}"
    );
    assert!(!text.contains("loses alone"), "{text}");
}
