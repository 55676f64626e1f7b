//! Options of a client, as a test that the engines know.

use std::num::NonZeroU32;
use std::sync::Arc;

use endpoint::peer::sockperf::client::{Content, Groups, LINGER, Options, TCP_TIMEOUT, Test, UDP_TIMEOUT};
use endpoint::socket::multicast::{Interface, Outgoing};
use measure::method::{Asked, Carrier, Far, Pacing, Pattern, Schedule, Sizes, SocketOptions, Stop, Waiting};
use measure::trace::Trace;
use measure::unit::{Bytes, Nanos, Rate};
use protocol::sockperf::payload;

use crate::persona::answer::Answer;
use crate::persona::sockperf::options::{self, BEFORE, BEHIND, Client, Kind, Load, Mps, Own};
use crate::persona::sockperf::output::failure;
use crate::persona::sockperf::run::client::places::Places;
use crate::persona::sockperf::statistics::{COOL_DOWN_NS, WARM_UP_NS};
use crate::program::PROGRAM;
use crate::words;

/// Length of the intervals where signs of life are wanted: they come that late at most.
const LIVELY: Nanos = Nanos::millis(50);

/// The method with gaps, as it stands in a record.
pub fn asked(client: &Client, own: &Own, places: &Places, trace: Option<&Trace>) -> Asked {
    let carrier = if places.has_datagrams() { Carrier::Udp } else { Carrier::Tcp };
    let ping_pong = matches!(client.kind, Kind::PingPong { .. });
    let load = client.kind.load();
    let schedule = trace.map(Trace::schedule).or_else(|| load.and_then(schedule));
    let (request_bytes, sizes) = load.map_or((None, Sizes::Fixed), sizes);
    // One message out, its answer back, the next: the engine that does nothing else.
    let lockstep = ping_pong && places.all.len() == 1 && schedule.is_none() && request_bytes.is_some();
    let lockstep = lockstep && burst(client) == NonZeroU32::MIN;
    let common = &client.common;
    Asked {
        carrier: Some(carrier),
        pattern: Some(if ping_pong { Pattern::Exchange } else { Pattern::Load }),
        window: lockstep.then_some(1),
        volley: (ping_pong && !lockstep).then_some(burst(client).get()),
        schedule,
        pacing: schedule.is_some().then(|| own.pacing.unwrap_or(Pacing::Hybrid)),
        waiting: Some(waiting(client)),
        reply_every: (!ping_pong).then(|| client.kind.reply_every().unwrap_or(0)),
        request_bytes,
        sizes,
        response_bytes: request_bytes,
        connections: u32::try_from(places.all.len()).ok(),
        threads: Some(1),
        cpus: if client.sender_cpus.0.is_empty() { &client.receiver_cpus } else { &client.sender_cpus }.0.clone(),
        stop: stop(client),
        timeout_ns: Some(if carrier == Carrier::Tcp { TCP_TIMEOUT } else { UDP_TIMEOUT }),
        warm_up_ns: Some(Nanos::ZERO),
        socket: SocketOptions {
            bind: places.local,
            tos: common.tos,
            send_buffer_bytes: common.buffer_bytes.map(|bytes| Bytes(bytes.into())),
            receive_buffer_bytes: common.buffer_bytes.map(|bytes| Bytes(bytes.into())),
            ..SocketOptions::default()
        },
        nagle: carrier == Carrier::Tcp && !common.nodelay,
        // Nothing that is printed shows them, and what is printed should be the tool's time alone.
        stamps: Some(false),
        seed: Some(seed().into()),
        ..Asked::default()
    }
}

/// The test of a method.
///
/// # Errors
/// A method that makes no sense, with the reason.
pub fn test(
    client: &Client,
    own: &Own,
    places: &Places,
    asked: &Asked,
    trace: Option<Arc<Trace>>,
) -> Result<Test, Answer> {
    let mut method =
        asked.resolve_towards(Far::Foreign).map_err(|refusal| failure::other(&words::refusal(&refusal)))?;
    // Among sockets of both kinds those of TCP have it too.
    method.socket.nodelay = client.common.nodelay;
    let longest = client.kind.load().map_or(payload::PLAYBACK_LONGEST, |load| load.size.most);
    let common = &client.common;
    Ok(Test {
        trace,
        local_port: client.local.port,
        // A load that goes as fast as it can has no bursts: connections take turns of a message each.
        burst: if is_load_at_most(client) { NonZeroU32::MIN } else { burst(client) },
        content: Content { longest, seed: seed() },
        integrity: matches!(client.kind, Kind::PingPong { data_integrity: true, .. }),
        counts: matches!(client.kind, Kind::Throughput { .. }),
        skips: common.skip_blocking_send,
        connect: Nanos::millis(client.connect_timeout_ms.into()),
        options: Options {
            reuse_address: common.reuse_address,
            busy_poll_us: common.busy_poll_us.filter(|_| common.nonblocked),
            pacing_bytes_per_s: common.pacing_rate.map(u64::from),
        },
        groups: groups(client)?,
        // A throughput gets no answers, and so nothing is told of it.
        samples: own.samples.is_some() || client.kind.reply_every().is_some(),
        interval: if common.activity.is_some() { LIVELY } else { measure::event::INTERVAL },
        program: PROGRAM.to_owned(),
        ..Test::new(method, places.all.clone())
    })
}

fn groups(client: &Client) -> Result<Groups, Answer> {
    let asked = &client.multicast;
    let interface = |option: &str, word: &Option<String>| {
        let found = word.as_ref().map(|word| Interface::of(word)).transpose();
        found.map_err(|error| failure::other(&format!("{option}: {error}")))
    };
    Ok(Groups {
        receive: interface("--mc-rx-if", &asked.receive_interface)?,
        outgoing: Outgoing {
            interface: interface("--mc-tx-if", &asked.send_interface)?,
            ttl: asked.ttl,
            loopback: asked.loopback,
        },
        warm_up: !client.common.skip_warm_up,
    })
}

/// Messages a second, where a rate was asked for.
pub fn rate(client: &Client) -> Option<u32> {
    match client.kind.load()?.rate {
        Mps::At(rate) => Some(rate),
        Mps::Max => None,
    }
}

fn is_load_at_most(client: &Client) -> bool {
    !matches!(client.kind, Kind::PingPong { .. }) && rate(client).is_none()
}

fn burst(client: &Client) -> NonZeroU32 {
    client.kind.load().and_then(|load| NonZeroU32::new(load.burst)).unwrap_or(NonZeroU32::MIN)
}

fn schedule(load: &Load) -> Option<Schedule> {
    let Mps::At(rate) = load.rate else { return None };
    if load.burst == 1 {
        return Rate::per_second(rate.into()).map(|rate_per_1000s| Schedule::Rate { rate_per_1000s });
    }
    let interval = u64::from(load.burst) * 1_000_000_000 / u64::from(rate.max(1));
    Some(Schedule::Bursts { count: load.burst, interval_ns: Nanos(interval.max(1)) })
}

/// The one size of all messages, or how their sizes are drawn.
fn sizes(load: &Load) -> (Option<Bytes>, Sizes) {
    let (smallest, largest) = (Bytes(load.size.least().into()), Bytes(load.size.most.into()));
    if smallest == largest { (Some(largest), Sizes::Fixed) } else { (None, Sizes::Uniform { smallest, largest }) }
}

fn waiting(client: &Client) -> Waiting {
    match client.common.busy_poll_us {
        _ if client.common.nonblocked => Waiting::Spin,
        Some(micros) if micros > 0 => Waiting::BusyPoll { micros },
        _ => Waiting::Block,
    }
}

/// The time asked for is that of valid data: what is left out before and behind it comes on top.
fn stop(client: &Client) -> Stop {
    let linger_ns = Some(LINGER);
    match (&client.kind, client.kind.load().map(|load| load.stop)) {
        (Kind::Throughput { .. }, Some(options::Stop::Seconds(seconds))) => {
            Stop { after_ns: Some(Nanos::secs(seconds.into())), linger_ns, ..Stop::default() }
        }
        (_, Some(options::Stop::Seconds(seconds))) => {
            let around = Nanos(WARM_UP_NS + COOL_DOWN_NS);
            let length = Nanos(Nanos::secs(seconds.into()).0 + around.0);
            Stop { after_ns: Some(length), linger_ns, ..Stop::default() }
        }
        (_, Some(options::Stop::Messages(count))) => {
            let count = u64::from(BEFORE) + u64::from(count) + u64::from(BEHIND);
            Stop { count: Some(count), linger_ns, ..Stop::default() }
        }
        (_, None) => Stop { linger_ns, ..Stop::default() },
    }
}

/// Seed of contents and sizes: the environment variable that the original reads too.
#[expect(clippy::disallowed_methods, reason = "sonde is the crate that reads the environment")]
fn seed() -> u32 {
    std::env::var("SEED").map_or(payload::SEED, |text| payload::seed(&text))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use endpoint::peer::sockperf::client::Place;
    use measure::method::{Method, Window};
    use measure::trace::Departure;
    use test_case::test_case;

    use super::*;
    use crate::persona::sockperf::options::{Command, parse};
    use crate::persona::sockperf::output::start::Endpoint;

    fn places(carriers: &[Carrier]) -> Places {
        let address = "127.0.0.1:11111".parse().unwrap();
        let place = |carrier: &Carrier| Place { address, carrier: *carrier, source: None };
        let endpoints: Vec<Endpoint> = Vec::new();
        Places { all: carriers.iter().map(place).collect(), endpoints, host: "db1".to_owned(), local: None }
    }

    fn test_of(line: &str) -> (Test, Asked) {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let parsed = parse(&words).unwrap();
        let Command::Client(client) = parsed.command else { panic!("a client") };
        let carriers: &[Carrier] = match line {
            line if line.contains(" -f ") => &[Carrier::Udp, Carrier::Tcp],
            line if line.contains("--tcp") => &[Carrier::Tcp],
            _ => &[Carrier::Udp],
        };
        let (places, trace) = (places(carriers), None);
        let trace: Option<Arc<Trace>> = match &client.kind {
            Kind::Playback { file, .. } => {
                assert_eq!(file, Path::new("p"));
                Some(Arc::new(Trace::new(vec![Departure { at: Nanos(5), bytes: 30 }]).unwrap()))
            }
            _ => trace,
        };
        let asked = asked(&client, &parsed.own, &places, trace.as_deref());
        (test(&client, &parsed.own, &places, &asked, trace).unwrap(), asked)
    }

    fn method(line: &str) -> Method {
        test_of(line).0.method
    }

    #[test_case("pp", "udp exchange · window 1 · back to back · 14 B ⇄ 14 B · block · 1.45 s"; "ping-pong")]
    #[test_case("pp -b 4 -t 2 --tcp", "tcp exchange · volleys of 4 · back to back · 14 B ⇄ 14 B · block · 2.45 s"; "bursts")]
    #[test_case("pp --mps 100", "udp exchange · volleys of 1 · 100/s · 14 B ⇄ 14 B · pace hybrid · block · 1.45 s"; "on schedule")]
    #[test_case("pp --mps 100 -b 4 --pacing spin", "udp exchange · volleys of 4 · bursts of 4 every 40 ms · 14 B ⇄ 14 B · pace spin · block · 1.45 s"; "bursts on schedule")]
    #[test_case("pp -m 40 -r 6 --nonblocked", "udp exchange · volleys of 1 · back to back · 34..40 B ⇄ 34 B · spin · 1.45 s"; "a range of sizes")]
    #[test_case("pp -f feed", "udp exchange · volleys of 1 · back to back · 14 B ⇄ 14 B · block · 2 connections on 1 threads · 1.45 s"; "several sockets")]
    #[test_case("pp -n 500 --lls 30", "udp exchange · window 1 · back to back · 14 B ⇄ 14 B · busy-poll 30 µs · 9 500 requests"; "by count")]
    #[test_case("ul", "udp load · reply every 100 · open loop · 10 000/s · 14 B ⇄ 14 B · pace hybrid · block · 1.45 s"; "under-load")]
    #[test_case("ul --mps max -m 64 --tcp", "tcp load · reply every 100 · open loop · max rate · 64 B ⇄ 64 B · block · 1.45 s"; "as fast as it goes")]
    #[test_case("tp -m 1472 -t 3", "udp load · no replies · open loop · max rate · 1472 B · block · 3 s"; "throughput")]
    #[test_case("pb --data-file p --reply-every 7", "udp load · reply every 7 · open loop · trace of 1 messages, 30 B over 5 ns · 30 B ⇄ 30 B · pace hybrid · block"; "playback")]
    fn a_command_line_is_a_method(line: &str, expected: &str) {
        let said = method(line).to_string().replace(['\u{202f}', '\u{a0}'], " ");
        assert_eq!(said.replace(" on 1 threads", ""), expected.replace(" on 1 threads", ""));
    }

    #[test]
    fn sockets_have_what_was_asked_for() {
        let (test, _) = test_of(
            "ul --tcp --tos 0x10 --buffer-size 8192 --tcp-avoid-nodelay --tcp-skip-blocking-send --uc-reuseaddr --lls 20 \
             --nonblocked --rate-limit 1000 --client_port 4000 --tcp_nb_connect_timeout_ms 30 --sender-affinity 1",
        );
        let socket = &test.method.socket;
        assert_eq!((socket.tos, socket.send_buffer_bytes, socket.nodelay), (Some(16), Some(Bytes(8_192)), false));
        assert!(test.skips && test.options.reuse_address);
        assert_eq!((test.options.busy_poll_us, test.options.pacing_bytes_per_s), (Some(20), Some(1_000)));
        assert_eq!((test.local_port, test.connect), (4_000, Nanos::millis(30)));
        assert_eq!(test.method.spread.cpus, [1]);
        assert_eq!((test.method.timeout_ns, test.method.waiting), (TCP_TIMEOUT, Waiting::Spin));
    }

    #[test]
    fn where_kinds_differ_those_of_tcp_send_at_once_and_a_datagrams_loss_is_not_waited_for() {
        let (test, asked) = test_of("ul -f feed");
        assert!(test.method.socket.nodelay && !asked.nagle);
        assert_eq!((test.method.timeout_ns, test.method.traffic.carrier()), (UDP_TIMEOUT, Carrier::Udp));
        assert!(!test_of("tp -f feed").0.method.socket.nodelay, "a throughput lets the kernel gather");
    }

    #[test]
    fn messages_are_numbered_by_the_turns_they_leave_in() {
        assert_eq!(test_of("ul -b 5").0.burst.get(), 5);
        let (test, _) = test_of("pp -b 3");
        assert_eq!((test.burst.get(), test.method.traffic.window()), (3, Window::Volley(3)));
        // Without a schedule there are no bursts but a ping-pong's: one message each in turn.
        assert_eq!(test_of("tp -b 5").0.burst.get(), 1);
    }

    #[test]
    fn what_is_told_is_what_is_needed() {
        assert!(test_of("pp").0.samples && !test_of("tp").0.samples && test_of("tp --samples s.csv").0.samples);
        assert_eq!(test_of("tp -a 10").0.interval, LIVELY);
        assert_eq!(test_of("tp").0.interval, measure::event::INTERVAL);
    }
}
