//! Messages of the real netperf 2.7.0 and 2.7.1: they are read as they were meant, and written octet by octet as they write them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use protocol::netperf::answer::{Avoids, Calibration, Cpu, Method, Ready, Results};
use protocol::netperf::ask::{Ask, Carrier, Dialect, Family, Flags, Length, Ring, Test};
use protocol::netperf::client::{Answer, Client};
use protocol::netperf::passphrase::Passphrase;
use protocol::netperf::server::{Action, Server};

use crate::netperf::transcript::{self, Capture, Fields};

pub fn server(passphrase: Option<&str>) -> Server {
    let passphrase = passphrase.map(|text| Passphrase::new(text).expect("a short one"));
    Server::new(passphrase, Calibration { rate: Some(100.0), count: 2 })
}

/// Reads the request to a server in this one message.
pub fn read(octets: &[u8]) -> Ask {
    match &server(None).feed(octets)[..] {
        [Action::Run(ask)] => *ask.clone(),
        other => panic!("no test: {other:?}"),
    }
}

/// The tests of a capture: what was asked, what was answered, and the fields of all three.
struct Exchange {
    request: Vec<u8>,
    ask: Ask,
    asked: Fields,
    response: Vec<u8>,
    ready: Ready,
    answered: Fields,
    results: Results,
    told: Fields,
}

fn exchanges(capture: Capture) -> Vec<Exchange> {
    let mut messages = capture.messages.into_iter().filter(|message| message.fields.text("passphrase").is_empty());
    let mut client = Client::new(None);
    let mut exchanges = Vec::new();
    while let (Some(request), Some(response), Some(results)) = (messages.next(), messages.next(), messages.next()) {
        assert_eq!((request.of_client, response.of_client, results.of_client), (true, false, false));
        let ask = read(&request.octets);
        client.ask(&ask).expect("what a netperf asks can be asked");
        let ready = match &client.feed(&response.octets).expect("a sound response")[..] {
            [Answer::Ready(ready)] => ready.clone(),
            other => panic!("{}: {other:?}", capture.name),
        };
        let told = match &client.feed(&results.octets).expect("sound results")[..] {
            [Answer::Results(results)] => results.clone(),
            other => panic!("{}: {other:?}", capture.name),
        };
        exchanges.push(Exchange {
            request: request.octets,
            ask,
            asked: request.fields,
            response: response.octets,
            ready,
            answered: response.fields,
            results: told,
            told: results.fields,
        });
    }
    exchanges
}

/// Every test in every capture: 41 captures, less two without an answer and one without a test, and two more iterations.
fn every() -> Vec<(&'static str, Exchange)> {
    let every: Vec<_> = transcript::all()
        .into_iter()
        .flat_map(|capture| {
            let name = capture.name;
            exchanges(capture).into_iter().map(move |exchange| (name, exchange))
        })
        .collect();
    assert_eq!(every.len(), 40);
    every
}

fn or_minus_one(value: Option<u32>) -> i64 {
    value.map_or(-1, i64::from)
}

fn or_zero(value: Option<u32>) -> i64 {
    value.map_or(0, i64::from)
}

fn length(length: Length) -> i64 {
    match length {
        Length::Seconds(seconds) => i64::from(seconds),
        Length::UntilTold => 0,
        Length::Count(count) => -count.cast_signed(),
    }
}

fn family(family: Family) -> i64 {
    match family {
        Family::Unspecified => 0,
        Family::V4 => 4,
        Family::V6 => 6,
        Family::Rds => 7,
    }
}

fn same(name: &str, fields: &Fields, ours: &[(&str, i64)]) {
    for (field, ours) in ours {
        assert_eq!(*ours, fields.number(field), "{name}: {field}");
    }
}

#[test]
fn every_field_of_an_omni_request_is_read_as_it_was_meant() {
    for (name, Exchange { ask, asked, .. }) in every() {
        if ask.dialect != Dialect::Omni {
            continue;
        }
        let carrier = match ask.carrier {
            Carrier::Tcp => (1, 6),
            Carrier::Udp => (2, 17),
            Carrier::Other { .. } => panic!("{name}: {:?}", ask.carrier),
        };
        let pacing = ask.pacing.map_or((0, 0), |pacing| (pacing.burst, pacing.interval_us));
        let ours = [
            ("remote_cpu_bind", or_minus_one(ask.server_cpu)),
            ("send_buf_size", or_minus_one(ask.send_buffer)),
            ("send_size", or_minus_one(ask.send_bytes)),
            ("send_alignment", i64::from(ask.send_ring.alignment)),
            ("send_offset", i64::from(ask.send_ring.offset)),
            ("send_width", or_zero(ask.send_ring.buffers)),
            ("request_size", or_minus_one(ask.request_bytes)),
            ("recv_buf_size", or_minus_one(ask.receive_buffer)),
            ("receive_size", or_minus_one(ask.receive_bytes)),
            ("recv_alignment", i64::from(ask.receive_ring.alignment)),
            ("recv_offset", i64::from(ask.receive_ring.offset)),
            ("recv_width", or_zero(ask.receive_ring.buffers)),
            ("response_size", or_minus_one(ask.response_bytes)),
            ("flags", i64::from(ask.flags.0) | if ask.per_connection { 4 } else { 0 }),
            ("test_length", length(ask.length)),
            ("so_rcvavoid", i64::from(ask.receive_ring.avoid_copies)),
            ("so_sndavoid", i64::from(ask.send_ring.avoid_copies)),
            ("send_dirty_count", or_minus_one(ask.send_ring.dirty)),
            ("recv_dirty_count", or_minus_one(ask.receive_ring.dirty)),
            ("recv_clean_count", or_minus_one(ask.receive_ring.clean)),
            ("data_port", i64::from(ask.data_port)),
            ("ipfamily", family(ask.family)),
            ("socket_type", carrier.0),
            ("protocol", carrier.1),
            ("direction", i64::from(ask.server_sends) * 2 + i64::from(ask.server_receives) * 4),
            ("netperf_port", i64::from(ask.client_port)),
            ("interval_burst", i64::from(pacing.0)),
            ("interval_usecs", i64::from(pacing.1)),
            ("socket_prio", or_minus_one(ask.priority)),
            ("socket_tos", or_minus_one(ask.tos)),
        ];
        same(name, &asked, &ours);
        assert_eq!(asked.float("cpu_rate"), 0.0, "{name}");
        assert_eq!(ask.cpu_rate, None, "{name}");
        assert_eq!(ask.congestion.as_deref().unwrap_or(""), asked.text("cong_control"), "{name}");
        assert_eq!(ask.fill_file.as_deref().unwrap_or(""), asked.text("fill_file"), "{name}");
        let address = match name {
            "udp_rr_ipv6" => Some(IpAddr::V6(Ipv6Addr::LOCALHOST)),
            "tcp_rr_opts" | "omni_udp_recv" => Some(IpAddr::V4(Ipv4Addr::LOCALHOST)),
            _ => None,
        };
        assert_eq!((ask.client_address, ask.server_address), (address, address), "{name}");
    }
}

#[test]
fn every_field_of_a_classic_request_is_read_as_it_was_meant() {
    let mut seen = Vec::new();
    for (name, Exchange { ask, asked, .. }) in every() {
        let Dialect::Classic(test) = ask.dialect else { continue };
        seen.push(test);
        let streams = matches!(test, Test::TcpSink | Test::TcpMaerts);
        let size = |size: Option<u32>| if streams || test == Test::UdpStream { or_zero(size) } else { 0 };
        let (sent, received) = (&ask.send_ring, &ask.receive_ring);
        let used = |ring: &Ring, used: bool| if used { i64::from(ring.alignment) } else { 0 };
        let ours = [
            ("remote_cpu_bind", or_minus_one(ask.server_cpu)),
            ("send_buf_size", if test == Test::UdpStream { 0 } else { or_minus_one(ask.send_buffer) }),
            ("recv_buf_size", or_minus_one(ask.receive_buffer)),
            (if test == Test::UdpStream { "message_size" } else { "receive_size" }, size(ask.receive_bytes)),
            ("send_size", size(ask.send_bytes)),
            ("request_size", or_zero(ask.request_bytes)),
            ("response_size", or_zero(ask.response_bytes)),
            ("recv_alignment", used(received, test != Test::TcpMaerts)),
            ("recv_offset", i64::from(received.offset)),
            ("send_alignment", used(sent, !matches!(test, Test::TcpSink | Test::UdpStream))),
            ("send_offset", i64::from(sent.offset)),
            ("no_delay", i64::from(ask.flags.has(Flags::NODELAY))),
            ("measure_cpu", i64::from(ask.flags.has(Flags::MEASURE_CPU))),
            ("checksum_off", i64::from(ask.flags.has(Flags::NO_CHECKSUM))),
            ("recv_connected", i64::from(ask.flags.has(Flags::CONNECT_UDP))),
            ("test_length", length(ask.length)),
            ("so_rcvavoid", i64::from(received.avoid_copies)),
            ("so_sndavoid", i64::from(sent.avoid_copies)),
            ("dirty_count", or_zero(received.dirty.or(sent.dirty))),
            ("clean_count", or_zero(received.clean)),
            ("port", i64::from(ask.data_port)),
            ("ipfamily", family(ask.family)),
        ];
        same(name, &asked, &ours);
        assert_eq!(ask, Ask { receive_bytes: ask.receive_bytes, ..Ask::classic(test, Length::Seconds(1)) }, "{name}");
    }
    for test in Test::ALL {
        assert!(seen.contains(&test), "no capture of {test:?}");
    }
}

#[test]
fn a_request_is_written_octet_by_octet_as_the_real_client_writes_it() {
    for (name, exchange) in every() {
        assert_eq!(exchange.ask.check(), Ok(()), "{name}");
        assert_eq!(Client::new(None).ask(&exchange.ask).as_deref(), Ok(&exchange.request[..]), "{name}");
    }
}

#[test]
fn a_request_made_from_its_options_is_the_one_the_real_client_writes() {
    let rr =
        |length| Ask { request_bytes: Some(1), response_bytes: Some(1), ..one_way(Carrier::Tcp, true, true, length) };
    let cases = [
        ("tcp_rr", rr(Length::Seconds(2))),
        ("tcp_rr_count", rr(Length::Count(1000))),
        ("tcp_maerts_count", ring(one_way(Carrier::Tcp, true, false, Length::Count(1_000_000)), 0, 2)),
        ("tcp_stream", ring(one_way(Carrier::Tcp, false, true, Length::Seconds(2)), 2, 0)),
        ("tcp_crr_count", Ask { per_connection: true, client_port: 37127, ..rr(Length::Count(100)) }),
        ("tcp_cc", Ask::classic(Test::TcpCc, Length::Seconds(1))),
        ("tcp_sendfile", Ask::classic(Test::TcpSink, Length::Seconds(1))),
    ];
    for (name, ask) in cases {
        let (send, receive) = if ask.is_transactions() && ask.dialect == Dialect::Omni { (1, 1) } else { (0, 0) };
        let ask = if name.contains("rr") { ring(ask, send, receive) } else { ask };
        let captured = transcript::named(name).messages.swap_remove(0).octets;
        assert_eq!(Client::new(None).ask(&ask), Ok(captured), "{name}");
    }
}

fn one_way(carrier: Carrier, server_sends: bool, server_receives: bool, length: Length) -> Ask {
    Ask::omni(carrier, server_sends, server_receives, length)
}

/// With so many buffers as the real client tells: those it has itself.
fn ring(mut ask: Ask, send: u32, receive: u32) -> Ask {
    ask.send_ring.buffers = Some(send).filter(|buffers| *buffers > 0);
    ask.receive_ring.buffers = Some(receive).filter(|buffers| *buffers > 0);
    ask
}

#[test]
fn every_field_of_a_response_is_read_as_it_was_meant() {
    for (name, Exchange { ask, ready, answered, .. }) in every() {
        let pacing = ready.pacing.map_or((0, 0), |pacing| (pacing.burst, pacing.interval_us));
        let mut ours = vec![
            ("recv_buf_size", or_minus_one(ready.receive_buffer)),
            ("send_buf_size", or_minus_one(ready.send_buffer)),
            ("so_rcvavoid", i64::from(ready.avoids_copies.receive)),
            ("so_sndavoid", i64::from(ready.avoids_copies.send)),
        ];
        if ask.dialect == Dialect::Omni {
            ours.extend([
                ("receive_size", or_minus_one(ready.receive_bytes)),
                ("recv_width", or_zero(ready.receive_buffers)),
                ("send_size", or_minus_one(ready.send_bytes)),
                ("send_width", or_zero(ready.send_buffers)),
                ("data_port", i64::from(ready.data_port)),
                ("interval_burst", i64::from(pacing.0)),
                ("interval_usecs", i64::from(pacing.1)),
                ("socket_prio", or_minus_one(ready.priority)),
                ("socket_tos", or_minus_one(ready.tos)),
            ]);
            assert_eq!(i64::from(ready.flags.0), answered.number("flags") & 0xb, "{name}: flags");
        } else {
            ours.extend([
                ("receive_size", or_zero(ready.receive_bytes)),
                ("send_size", or_zero(ready.send_bytes)),
                ("no_delay", i64::from(ready.flags.has(Flags::NODELAY))),
                ("measure_cpu", i64::from(ready.flags.has(Flags::MEASURE_CPU))),
                ("data_port_number", i64::from(ready.data_port)),
            ]);
        }
        same(name, &answered, &ours);
        assert_eq!(f64::from(ready.cpu_rate.unwrap_or(0.0)), answered.float("cpu_rate"), "{name}");
    }
}

/// A response of ours is the real server's, where that does not send what is left of an earlier answer, or an echo of the
/// test's length, which no client looks at.
#[test]
fn a_response_is_written_octet_by_octet_as_the_real_server_writes_it() {
    let mut compared = 0;
    for (name, exchange) in every() {
        let mut server = server(None);
        server.feed(&exchange.request);
        let ours = server.ready(&exchange.ready);
        let stale = exchange.answered.number("flags") > 0xb;
        let echo = exchange.ask.dialect != Dialect::Omni && exchange.answered.number("test_length") != 0;
        if stale || echo {
            continue;
        }
        assert_eq!(ours, exchange.response, "{name}");
        compared += 1;
    }
    assert_eq!(compared, 40 - 2 - 2, "but for two iterations after the first, and classic TCP_RR and UDP_STREAM");
}

#[test]
fn every_field_of_omni_results_that_a_client_may_believe_is_read() {
    for (name, Exchange { ask, results, told, .. }) in every() {
        if ask.dialect != Dialect::Omni {
            continue;
        }
        let (received, sent) = (results.received.expect("counted"), results.sent.expect("counted"));
        let wide = |name: &str| (told.number(&format!("{name}_hi")) << 32) + told.number(&format!("{name}_lo"));
        assert_eq!(received.bytes.cast_signed(), wide("bytes_received"), "{name}");
        assert_eq!(sent.bytes.cast_signed(), wide("bytes_sent"), "{name}");
        let ours = [
            ("recv_calls", received.calls.cast_signed()),
            ("send_calls", sent.calls.cast_signed()),
            ("recv_buf_size", or_minus_one(results.receive_buffer)),
            ("send_buf_size", or_minus_one(results.send_buffer)),
            ("trans_received", results.transactions.expect("counted").cast_signed()),
            ("transport_retrans", or_minus_one(results.retransmits)),
        ];
        same(name, &told, &ours);
        assert_eq!(results.congestion.as_deref().unwrap_or(""), told.text("cong_control"), "{name}");
        close(name, results.elapsed_seconds, told.float("elapsed_time"));
        assert_eq!(results.cpu.is_some(), ask.flags.has(Flags::MEASURE_CPU), "{name}: old words are no CPU use");
        if let Some(cpu) = results.cpu {
            close(name, cpu.util, told.float("cpu_util"));
            close(name, cpu.user, told.float("cpu_percent_user"));
            close(name, cpu.system, told.float("cpu_percent_system"));
            close(name, cpu.iowait, told.float("cpu_percent_iowait"));
            close(name, cpu.irq, told.float("cpu_percent_irq"));
            close(name, cpu.swintr, told.float("cpu_percent_swintr"));
            close(name, cpu.peak_util, told.float("peak_cpu_util"));
            let ours = [
                ("cpu_method", i64::from(cpu.method.0)),
                ("num_cpus", i64::from(cpu.count)),
                ("peak_cpu_id", or_minus_one(cpu.peak_id)),
            ];
            same(name, &told, &ours);
            assert_eq!(cpu.method.letter(), 'S');
        }
    }
}

/// The decoder of the captures shows six digits.
fn close(name: &str, ours: Option<f32>, truth: f64) {
    let ours = f64::from(ours.expect("said"));
    assert!((ours - truth).abs() <= 1e-5 * truth.abs(), "{name}: {ours} is not {truth}");
}

#[test]
fn every_field_of_classic_results_that_a_client_may_believe_is_read() {
    for (name, Exchange { ask, results, told, .. }) in every() {
        let Dialect::Classic(test) = ask.dialect else { continue };
        let sends = test == Test::TcpMaerts;
        let traffic = if sends { results.sent } else { results.received }.expect("counted");
        assert_eq!(if sends { results.received } else { results.sent }, None, "{name}");
        let ours = [
            (if sends { "bytes_sent" } else { "bytes_received" }, traffic.bytes.cast_signed()),
            (
                match test {
                    Test::TcpMaerts => "send_calls",
                    Test::UdpStream => "messages_recvd",
                    _ => "recv_calls",
                },
                traffic.calls.cast_signed(),
            ),
            ("trans_received", results.transactions.unwrap_or(0).cast_signed()),
        ];
        same(name, &told, &ours);
        let streams = matches!(test, Test::TcpSink | Test::TcpMaerts | Test::UdpStream);
        assert_eq!(results.transactions.is_none(), streams, "{name}");
        close(name, results.elapsed_seconds, told.float("elapsed_time"));
        assert_eq!((results.cpu, results.retransmits, results.congestion), (None, None, None), "{name}");
        assert_eq!((results.receive_buffer, results.send_buffer), (None, None), "{name}: 0 is not said");
    }
}

#[test]
fn with_nearly_every_option_set_nothing_is_mistaken_for_something_else() {
    let exchange = exchanges(transcript::named("tcp_rr_opts")).remove(0);
    assert!(!exchange.ask.per_connection);
    assert!(exchange.ask.flags.has(Flags::KEEPALIVE.with(Flags::NODELAY).with(Flags::MEASURE_CPU).with(Flags::ROUTE)));
    let said = Flags::NODELAY.with(Flags::MEASURE_CPU);
    assert_eq!((exchange.ready.flags, exchange.ready.cpu_rate), (said, Some(100.0)));
    assert_eq!(exchange.ready.avoids_copies, Avoids { send: true, receive: true });
    let cpu = Cpu { method: Method::PROC_STAT, count: 2, peak_id: Some(1), ..exchange.results.cpu.expect("measured") };
    assert_eq!(exchange.results.cpu, Some(cpu));
    assert_eq!((exchange.results.retransmits, exchange.results.congestion.as_deref()), (Some(6), Some("cubic")));
}

#[test]
fn the_rate_of_the_cpus_is_asked_for_and_told_as_by_the_real_ones() {
    let [question, answer] = &transcript::named("rem_cpu").messages[..] else { panic!("two messages") };
    let mut client = Client::new(None);
    assert_eq!(client.calibrate(None), Ok(question.octets.clone()));
    let calibration = Calibration { rate: Some(100.0), count: 2 };
    assert_eq!(client.feed(&answer.octets), Ok(vec![Answer::Cpu(calibration)]));
    assert_eq!(server(None).feed(&question.octets), [Action::Answer(answer.octets.clone())]);
}

#[test]
fn a_passphrase_goes_in_front_of_the_first_question_as_from_the_real_client() {
    for (name, text) in [("passphrase_ok", "sesame"), ("passphrase_wrong", "wrong")] {
        let [first, second, ..] = &transcript::named(name).messages[..] else { panic!("two messages") };
        let mut client = Client::new(Some(Passphrase::new(text).expect("a short one")));
        let said = client.ask(&read(&second.octets)).expect("the first question");
        assert_eq!(said, [&first.octets[..], &second.octets[..]].concat(), "{name}");
        assert_eq!(first.fields.text("passphrase"), text);
    }
}
