//! Messages arrive as they were meant, whatever they are and however the stream is cut.

use std::net::{IpAddr, Ipv6Addr};

use proptest::option;
use proptest::prelude::*;
use protocol::netperf::answer::{Avoids, Calibration, Cpu, Method, Ready, Results, SAID, Traffic};
use protocol::netperf::ask::{Ask, Carrier, Dialect, Family, Flags, Length, Pacing, Ring, Test};
use protocol::netperf::client::{Answer, Client};
use protocol::netperf::passphrase::Passphrase;
use protocol::netperf::server::Action;

use crate::netperf::captures::server;

const MOST: u32 = i32::MAX.cast_unsigned();

fn size() -> impl Strategy<Value = Option<u32>> {
    option::of(prop_oneof![0..=MOST, Just(0), Just(MOST)])
}

fn positive() -> impl Strategy<Value = Option<u32>> {
    option::of(1..=MOST)
}

fn rate() -> impl Strategy<Value = Option<f32>> {
    option::of(0.001..1e9_f32)
}

fn length() -> impl Strategy<Value = Length> {
    prop_oneof![
        (1..=MOST).prop_map(Length::Seconds),
        Just(Length::UntilTold),
        (1..=1_u64 << 31).prop_map(Length::Count),
    ]
}

fn carrier() -> impl Strategy<Value = Carrier> {
    let other = (18_u32.., any::<i32>()).prop_map(|(protocol, socket_type)| Carrier::Other { protocol, socket_type });
    prop_oneof![Just(Carrier::Tcp), Just(Carrier::Udp), other]
}

/// A family and two addresses that can go with it. Without a family, IPv6 is told by its last words.
fn addresses() -> impl Strategy<Value = (Family, Option<IpAddr>, Option<IpAddr>)> {
    let v4 = || option::of((1_u32..).prop_map(|bits| IpAddr::V4(bits.into())));
    let v6 =
        || {
            option::of((1_u32.., any::<u128>()).prop_map(|(low, bits)| {
                IpAddr::V6(Ipv6Addr::from_bits(bits & !u128::from(u32::MAX) | u128::from(low)))
            }))
        };
    prop_oneof![
        (Just(Family::V4), v4(), v4()),
        (Just(Family::V6), v6(), v6()),
        (prop_oneof![Just(Family::Unspecified), Just(Family::Rds)], v4(), v6()),
    ]
}

prop_compose! {
    fn ring(clean: bool)(
        alignment in any::<u32>(), offset in any::<u32>(), buffers in positive(), avoid_copies in any::<bool>(),
        dirty in size(), words in size(),
    ) -> Ring {
        Ring { alignment, offset, buffers, avoid_copies, dirty, clean: words.filter(|_| clean) }
    }
}

fn pacing() -> impl Strategy<Value = Option<Pacing>> {
    option::of((1_u32.., any::<u32>()).prop_map(|(burst, interval_us)| Pacing { burst, interval_us }))
}

prop_compose! {
    fn omni()(
        (carrier, server_sends, server_receives, per_connection) in (carrier(), any::<bool>(), any::<bool>(), any::<bool>()),
        length in length(), sizes in [size(), size(), size(), size(), size(), size()],
        (send_ring, receive_ring) in (ring(false).boxed(), ring(true).boxed()), flags in any::<u32>(), cpu_rate in rate(),
        (family, client_address, server_address) in addresses().boxed(), (data_port, client_port) in any::<(u16, u16)>(),
        pacing in pacing(), [priority, tos, server_cpu] in [size(), size(), size()],
        (congestion, fill_file) in (option::of("[ -~]{1,15}"), option::of("[ -~é]{1,15}")),
    ) -> Ask {
        let [request, response, send_bytes, receive_bytes, send_buffer, receive_buffer] = sizes;
        let exchange = server_sends && server_receives;
        Ask {
            dialect: Dialect::Omni, carrier, server_sends, server_receives, per_connection, length,
            request_bytes: request.or(exchange.then_some(1)), response_bytes: response.or(exchange.then_some(1)),
            send_bytes, receive_bytes, send_buffer, receive_buffer, send_ring, receive_ring,
            flags: Flags(flags & !4), cpu_rate, family, data_port, client_port, client_address, server_address,
            pacing, priority, tos, congestion, fill_file, server_cpu,
        }
    }
}

/// A classic test with all that its layout has room for.
fn classic() -> impl Strategy<Value = Ask> {
    let test = prop::sample::select(&Test::ALL[..]);
    (test, omni().boxed(), positive()).prop_map(|(test, any, call)| {
        let bare = Ask::classic(test, any.length);
        let (tcp, udp) = (matches!(bare.carrier, Carrier::Tcp), test == Test::UdpStream);
        let sends = test != Test::TcpSink && !udp;
        let receives = test != Test::TcpMaerts;
        let streams = udp || !sends || !receives;
        let room = if udp { Flags::MEASURE_CPU.0 | Flags::CONNECT_UDP.0 | Flags::NO_CHECKSUM.0 } else { 0x9 };
        let used = |ring: Ring, used: bool| Ring {
            alignment: if used { ring.alignment } else { 8 },
            offset: if used { ring.offset } else { 0 },
            buffers: None,
            dirty: ring.dirty.filter(|words| used && streams && tcp && *words > 0),
            clean: ring.clean.filter(|words| test == Test::TcpSink && *words > 0),
            ..ring
        };
        Ask {
            request_bytes: if streams { None } else { any.request_bytes },
            response_bytes: if streams { None } else { any.response_bytes },
            send_bytes: call.filter(|_| test == Test::TcpMaerts),
            receive_bytes: call.filter(|_| streams && receives),
            send_buffer: any.send_buffer.filter(|_| !udp),
            receive_buffer: any.receive_buffer,
            send_ring: used(any.send_ring, sends),
            receive_ring: used(any.receive_ring, receives),
            flags: Flags(any.flags.0 & room).with(Flags::ROUTE),
            cpu_rate: any.cpu_rate,
            family: any.family,
            data_port: any.data_port,
            server_cpu: any.server_cpu,
            ..bare
        }
    })
}

prop_compose! {
    fn ready()(
        data_port in 1_u16.., sizes in [size(), size(), size(), size(), size(), size()],
        (receive_buffers, send_buffers) in (positive(), positive()), flags in any::<u32>(), cpu_rate in rate(),
        (send, receive) in any::<(bool, bool)>(), pacing in pacing(),
    ) -> Ready {
        let [receive_buffer, receive_bytes, send_buffer, send_bytes, priority, tos] = sizes;
        Ready {
            data_port, receive_buffer, receive_bytes, receive_buffers, send_buffer, send_bytes, send_buffers,
            flags: Flags(flags & SAID.0), cpu_rate, avoids_copies: Avoids { send, receive }, pacing, priority, tos,
        }
    }
}

fn traffic() -> impl Strategy<Value = Option<Traffic>> {
    (any::<u64>(), any::<u32>()).prop_map(|(bytes, calls)| Some(Traffic { bytes, calls: u64::from(calls) }))
}

fn share() -> impl Strategy<Value = Option<f32>> {
    (0_f32..=100.0).prop_map(Some)
}

prop_compose! {
    fn cpu()(
        [util, user, system, iowait, irq, swintr, peak_util] in
            [share(), share(), share(), share(), share(), share(), share()],
        method in 0_u32..20, count in any::<u32>(), peak_id in size(),
    ) -> Cpu {
        Cpu { util, user, system, iowait, irq, swintr, method: Method(method), count, peak_id, peak_util }
    }
}

prop_compose! {
    fn results()(
        (received, sent) in (traffic(), traffic()), (receive_buffer, send_buffer) in (positive(), positive()),
        transactions in any::<u32>(), elapsed in 0_f32..1e9, cpu in option::of(cpu()), retransmits in size(),
        congestion in option::of("[!-~]{1,15}"),
    ) -> Results {
        Results {
            received, sent, receive_buffer, send_buffer, transactions: Some(u64::from(transactions)),
            elapsed_seconds: Some(elapsed), cpu, retransmits, congestion,
        }
    }
}

/// Returns the client's view of a test whose server says this.
fn seen(ask: &Ask, ready: &Ready, results: &Results) -> (Ready, Results) {
    let (mut client, mut server) = (Client::new(None), server(None));
    let said = client.ask(ask).expect("it can be said");
    assert_eq!(server.feed(&said), [Action::Run(Box::new(ask.clone()))]);
    let mut answers = client.feed(&server.ready(ready)).expect("a response");
    answers.extend(client.feed(&server.results(results)).expect("results"));
    match <[Answer; 2]>::try_from(answers) {
        Ok([Answer::Ready(ready), Answer::Results(results)]) => (ready, results),
        other => panic!("{other:?}"),
    }
}

/// Cuts a response and results to the fields of a classic layout.
fn room(test: Test, ready: &Ready, results: &Results) -> (Ready, Results) {
    let (stream, maerts, udp) = (test == Test::TcpSink, test == Test::TcpMaerts, test == Test::UdpStream);
    let transactions = !(stream || maerts || udp);
    let ready = Ready {
        receive_buffer: ready.receive_buffer,
        receive_bytes: ready.receive_bytes.filter(|bytes| stream && *bytes > 0),
        send_buffer: ready.send_buffer,
        send_bytes: ready.send_bytes.filter(|bytes| maerts && *bytes > 0),
        flags: if udp { ready.flags.without(Flags::NODELAY) } else { ready.flags }.without(Flags::SENDFILE),
        cpu_rate: ready.cpu_rate,
        avoids_copies: ready.avoids_copies,
        ..Ready::at(ready.data_port)
    };
    let low = |traffic: Traffic| Traffic {
        bytes: if stream || maerts { traffic.bytes as f64 as u64 } else { traffic.bytes & u64::from(u32::MAX) },
        ..traffic
    };
    let cpu = |cpu: Cpu| Cpu { util: cpu.util, method: cpu.method, count: cpu.count, ..Cpu::default() };
    let results = Results {
        received: results.received.filter(|_| !maerts).map(low),
        sent: results.sent.filter(|_| maerts).map(low),
        receive_buffer: results.receive_buffer.filter(|_| stream),
        send_buffer: results.send_buffer.filter(|_| stream),
        transactions: results.transactions.filter(|_| transactions),
        elapsed_seconds: results.elapsed_seconds,
        cpu: results.cpu.map(cpu),
        retransmits: None,
        congestion: None,
    };
    (ready, results)
}

/// Results are believed where they say that CPU use was measured, so all three have to agree on it.
fn agree(ask: &mut Ask, ready: &mut Ready, results: &Results) {
    let measured = Flags::MEASURE_CPU;
    if results.cpu.is_some() {
        (ask.flags, ready.flags) = (ask.flags.with(measured), ready.flags.with(measured));
    } else {
        ready.flags = ready.flags.without(measured);
    }
}

/// A stream in pieces of these lengths.
fn pieces(octets: &[u8], cuts: impl Iterator<Item = usize>) -> impl Iterator<Item = &[u8]> {
    let mut rest = octets;
    cuts.map_while(move |cut| {
        let (piece, tail) = rest.split_at(cut.min(rest.len()));
        rest = tail;
        Some(piece).filter(|piece| !piece.is_empty())
    })
}

proptest! {
    #[test]
    fn an_omni_test_arrives_as_it_was_meant(mut ask in omni().boxed(), mut ready in ready().boxed(), results in results().boxed()) {
        agree(&mut ask, &mut ready, &results);
        prop_assert_eq!(seen(&ask, &ready, &results), (ready, results));
    }

    #[test]
    fn a_classic_test_arrives_as_far_as_its_layout_goes(
        mut ask in classic().boxed(), mut ready in ready().boxed(), results in results().boxed(),
    ) {
        agree(&mut ask, &mut ready, &results);
        let Dialect::Classic(test) = ask.dialect else { unreachable!("classic") };
        prop_assert_eq!(seen(&ask, &ready, &results), room(test, &ready, &results));
    }

    #[test]
    fn how_a_stream_is_cut_makes_no_difference(
        asks in prop::collection::vec(prop_oneof![omni().boxed(), classic().boxed()], 1..4),
        cuts in prop::collection::vec(1..1000_usize, 1..9), text in "[a-z]{0,20}",
    ) {
        let passphrase = Passphrase::new(text.clone()).expect("a short one");
        let (mut client, mut server) = (Client::new(Some(passphrase)), server(Some(&text)));
        let mut cuts = cuts.iter().copied().cycle();
        for ask in asks {
            let (mut actions, mut answers) = (Vec::new(), Vec::new());
            let said = client.ask(&ask).expect("its turn");
            pieces(&said, &mut cuts).for_each(|piece| actions.extend(server.feed(piece)));
            prop_assert_eq!(actions, vec![Action::Run(Box::new(ask))]);
            let said = [server.ready(&Ready::at(7)), server.results(&Results::default())].concat();
            pieces(&said, &mut cuts).for_each(|piece| answers.extend(client.feed(piece).expect("sound")));
            prop_assert!(matches!(answers[..], [Answer::Ready(_), Answer::Results(_)]), "{:?}", answers);
        }
    }

    #[test]
    fn the_rate_of_the_cpus_arrives(rate in rate(), count in any::<u32>(), cpu in size()) {
        let calibration = Calibration { rate, count };
        let mut client = Client::new(None);
        let mut server = protocol::netperf::server::Server::new(None, calibration);
        let question = client.calibrate(cpu).expect("its turn");
        let Some(Action::Answer(answer)) = server.feed(&question).pop() else { panic!("an answer") };
        prop_assert_eq!(client.feed(&answer), Ok(vec![Answer::Cpu(calibration)]));
    }
}
