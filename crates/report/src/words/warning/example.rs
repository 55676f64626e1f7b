//! An example of each kind of warning, with the commands that raise it: what the page and the tests are made of.

use crate::words::command::Command;
use measure::method::{BatchBy, Carrier};
use measure::outcome::change::Change;
use measure::outcome::dark::Dark;
use measure::outcome::periodic::Periodic;
use measure::outcome::stalls::Stalls;
use measure::throughput::change::RateChange;
use measure::throughput::silence::Silence;
use measure::unit::{Bytes, Nanos};
use measure::verdict::Warning;
use measure::verdict::lost::LeavesBy;
use measure::verdict::refused::RefusedBy;
use measure::wire::finding::Subject;

use Command::{Load, Replay, Rtt, Syn, Throughput};

/// A warning as it may be told.
#[derive(Clone, Debug, PartialEq)]
pub struct Example {
    /// The warning.
    pub warning: Warning,
    /// The commands whose records may have it.
    pub commands: &'static [Command],
}

/// Commands that exchange requests and replies.
const EXCHANGES: &[Command] = &[Rtt, Load, Replay, Syn];
/// Commands that send whatever the replies do.
const LOADS: &[Command] = &[Load, Replay];

/// At least one of each kind, in the order of their groups; a kind of which what to try depends on what was seen has several.
pub fn examples() -> Vec<Example> {
    let parts = [who_answered(), missing(), fates(), schedule(), machines(), reading(), statistics(), settings()];
    parts.into_iter().flatten().map(|(warning, commands)| Example { warning, commands }).collect()
}

type Part = Vec<(Warning, &'static [Command])>;

fn who_answered() -> Part {
    let resets = |another_hop, compared| Warning::ResetsTimed { resets: 40, answers: 40, another_hop, compared };
    vec![
        (Warning::OwnReflector, &[Rtt, Load, Replay, Throughput]),
        (Warning::SameHost { address: [10, 0, 0, 2].into(), shown: true }, &Command::ALL),
        (Warning::SameHost { address: [127, 0, 0, 1].into(), shown: false }, &[Rtt, Load]),
        (
            Warning::CarriedOn { address: [127, 0, 0, 1].into(), ours: "web1".to_owned(), theirs: "db1".to_owned() },
            &[Rtt, Load, Throughput],
        ),
        (resets(false, false), &[Syn]),
        (resets(true, true), &[Syn]),
        (Warning::IcmpIsNotTheApplication, &[Rtt]),
        (Warning::HandshakeIsNotTheApplication, &[Rtt, Syn]),
    ]
}

fn missing() -> Part {
    let contradicts = Warning::WireContradicts {
        subject: Subject::Requests,
        counted: 1_000,
        seen: 900,
        interface: "eth0".to_owned(),
        reason: None,
    };
    vec![
        (Warning::PeerLost { reason: "connection reset by peer".to_owned() }, &[Rtt, Load, Replay, Throughput]),
        (Warning::NoReport { reason: "no answer within 5 s".to_owned() }, &[Rtt, Load, Replay, Throughput]),
        (Warning::ServerLimited { waited_ns: Nanos::millis(1_300) }, &[Rtt, Load, Replay, Throughput]),
        (Warning::Interrupted, &Command::ALL),
        (Warning::SamplesIncomplete { missing: 4, reason: Some("no space left on device".to_owned()) }, EXCHANGES),
        (contradicts, &Command::ALL),
        (Warning::ClockStepped { count: 1 }, EXCHANGES),
        (Warning::SystemClockStepped, &[Rtt, Syn]),
    ]
}

fn fates() -> Part {
    let lost = |count, dropped_by_us, by| Warning::Lost {
        count,
        sent: 100,
        dropped_by_us,
        dropped_by_peer: None,
        late: 0,
        leaves_by: by,
        waited_share: None,
        unacknowledged: 0,
    };
    let there = Warning::Lost {
        count: 10,
        sent: 100,
        dropped_by_us: None,
        dropped_by_peer: Some(9),
        late: 0,
        leaves_by: LeavesBy::Window,
        waited_share: None,
        unacknowledged: 0,
    };
    let forgotten = Warning::Lost {
        count: 7,
        sent: 8,
        dropped_by_us: None,
        dropped_by_peer: None,
        late: 0,
        leaves_by: LeavesBy::Reply,
        waited_share: None,
        unacknowledged: 3,
    };
    let gone = |dropped_by_peer| Warning::LostOnTheWay { count: 30, sent: 1_000, dropped_by_peer };
    let refused = |count, carrier, by| Warning::Refused { count, sent: 100, carrier, by };
    let unread = "the reply is none of HTTP/1: \"SSH-2.0-OpenSSH_9.2\"".to_owned();
    let silence = Silence {
        times: 2,
        total_ns: Nanos::millis(2_500),
        share: 0.25,
        bytes: Bytes(0),
        longest_from_ns: Nanos::millis(3_500),
        longest_to_ns: Nanos::secs(5),
        to_the_end: false,
    };
    let dark = |spells, due| Dark {
        spells,
        total_ns: Nanos::secs(3),
        share: 0.6,
        longest_from_ns: Nanos::secs(2),
        longest_to_ns: if spells == 1 { Nanos::secs(5) } else { Nanos::millis(2_500) },
        to_the_end: spells == 1,
        unanswered: 3,
        refused_or_not_sent: 0,
        due,
    };
    vec![
        (Warning::Dark { dark: dark(1, Some(40_000)) }, &[Rtt]),
        (Warning::Dark { dark: dark(6, None) }, EXCHANGES),
        (Warning::Dark { dark: Dark { unanswered: 0, refused_or_not_sent: 10, ..dark(1, None) } }, EXCHANGES),
        (Warning::Silent { silence }, &[Throughput]),
        (Warning::SendFailed { count: 2 }, &Command::ALL),
        (Warning::Altered { strays: 41, lost: 40 }, &[Rtt, Load, Replay]),
        (Warning::Corrupt { count: 3, sent: 20, seen: Some(unread) }, &[Rtt, Load]),
        (Warning::Corrupt { count: 3, sent: 20, seen: None }, EXCHANGES),
        (Warning::Unasked { count: 19, over_udp: false }, &[Rtt, Load]),
        (Warning::Unasked { count: 199, over_udp: true }, &[Rtt, Load]),
        (Warning::Retransmitted { segments: 15, had_already: Some(9), requests: 674 }, &[Rtt, Load, Replay]),
        (refused(100, Carrier::TcpConnect, RefusedBy::Reset), &[Rtt]),
        (refused(3, Carrier::TcpConnect, RefusedBy::Reset), &[Rtt]),
        (refused(100, Carrier::Udp, RefusedBy::IcmpError), EXCHANGES),
        (refused(100, Carrier::Udp, RefusedBy::PortUnreachable), EXCHANGES),
        (refused(100, Carrier::TcpConnect, RefusedBy::HopLimit), &[Rtt]),
        (refused(100, Carrier::Udp, RefusedBy::OurKernel), EXCHANGES),
        (refused(3, Carrier::Tcp, RefusedBy::Program), &[Rtt]),
        (refused(3, Carrier::Udp, RefusedBy::Upstream), &[Rtt]),
        (refused(3, Carrier::Tcp, RefusedBy::Unavailable), &[Rtt]),
        (refused(3, Carrier::Tcp, RefusedBy::Limited), &[Rtt]),
        (refused(3, Carrier::Tcp, RefusedBy::NotReady), &[Rtt]),
        (refused(3, Carrier::Udp, RefusedBy::Denied), &[Rtt]),
        (refused(13, Carrier::TcpConnect, RefusedBy::Connections), &[Rtt]),
        (refused(3, Carrier::Tcp, RefusedBy::Ended), &[Rtt]),
        (refused(100, Carrier::Udp, RefusedBy::Unknown), EXCHANGES),
        (Warning::SizeUnanswered { message_bytes: Bytes(1_400), sent: 100 }, &[Rtt, Load, Replay]),
        (lost(1, None, LeavesBy::Reply), &[Rtt]),
        (lost(1, None, LeavesBy::Window), &[Rtt, Syn]),
        (lost(100, None, LeavesBy::Window), &[Rtt, Syn]),
        (lost(10, Some(9), LeavesBy::Window), &[Rtt, Syn]),
        (there, &[Rtt]),
        (forgotten, &[Rtt]),
        (lost(1, None, LeavesBy::Connection), &[Rtt]),
        (lost(1, None, LeavesBy::Rate), &[Load]),
        (lost(100, None, LeavesBy::Rate), &[Load]),
        (lost(10, Some(9), LeavesBy::Rate), &[Load]),
        (lost(1, None, LeavesBy::Trace), &[Replay]),
        (lost(100, None, LeavesBy::Trace), &[Replay]),
        (lost(10, Some(9), LeavesBy::Trace), &[Replay]),
        (gone(None), LOADS),
        (gone(Some(30)), LOADS),
        (Warning::Damaged { here: 180, peer: Some(2_441) }, &[Rtt, Load, Throughput]),
        (Warning::Rebound { count: 3_600, sent: Some(4_000) }, &[Rtt, Load, Throughput]),
    ]
}

fn schedule() -> Part {
    let overtaken = Warning::Overtaken { offered_per_s: 60.0, answered_per_s: 41.7 };
    let slow = |held_back_by_window, held_back_by_socket, in_turn| Warning::RateNotAchieved {
        offered_per_s: 100_000.0,
        sent_per_s: 81_000.0,
        held_back_by_window,
        held_back_by_socket,
        in_turn,
    };
    vec![
        (Warning::TicksMissed { count: 7, due: 1_000 }, &[Rtt, Syn]),
        (Warning::TicksMissed { count: 900, due: 1_000 }, &[Rtt, Syn]),
        (slow(false, false, false), EXCHANGES),
        (slow(true, false, false), EXCHANGES),
        (slow(true, false, true), &[Rtt]),
        (slow(false, true, false), LOADS),
        (Warning::BehindSchedule { share: 0.021 }, EXCHANGES),
        (overtaken, &[Rtt, Load, Replay]),
    ]
}

fn machines() -> Part {
    let our = || "our".to_owned();
    let saving =
        |governor: &str, lowest| Warning::PowerSavingGovernor { governor: governor.to_owned(), end: our(), lowest };
    let throttled =
        Warning::Throttled { end: our(), throttled_ns: Nanos::millis(420), watched_ns: Nanos::millis(10_020) };
    vec![
        (throttled, &Command::ALL),
        (
            Warning::Disturbed {
                end: our(),
                by: vec!["run-queue delay 4.2 %".to_owned(), "steal 1.3 %".to_owned()],
                waited_share: Some(0.055),
                spoils: vec!["not-steady".to_owned()],
            },
            &Command::ALL,
        ),
        (Warning::OneCpu, &Command::ALL),
        (saving("schedutil", false), EXCHANGES),
        (saving("powersave", true), &Command::ALL),
        (Warning::SlowClockSource { source: "hpet".to_owned(), end: "the peer's".to_owned() }, &Command::ALL),
    ]
}

fn reading() -> Part {
    let idle = |waking_ns| Warning::IdleBetween {
        interval_ns: Nanos::secs(1),
        median_ns: Some(Nanos::micros(146)),
        waking_ns,
    };
    let outstanding = Warning::RateIsNotRoundTrip { outstanding: 15.9, reciprocal_ns: Nanos(4_200), mean_ns: 66_800.0 };
    let stalls = Stalls { count: 31, least_ns: Nanos::micros(62_400), share: 0.94 };
    let each_second =
        Periodic { period_ns: Nanos::secs(1), longer_ns: Nanos::millis(100), count: 9, ..Periodic::default() };
    let detour = Change {
        from_ns: Nanos::millis(2_210),
        to_ns: None,
        stretches: 1,
        before_ns: Nanos(20_100),
        within_ns: Nanos::micros(2_120),
        of_firsts: false,
    };
    let to_and_fro = Change { to_ns: Some(Nanos::millis(4_180)), stretches: 3, ..detour };
    let start = Warning::StartIncluded { steady_after_ns: Nanos::secs(2), share: 0.12 };
    let credits =
        RateChange { at_ns: Nanos::secs(4), before_bytes_per_s: 12_100_000.0, after_bytes_per_s: 1_240_000.0 };
    vec![
        (idle(Some(Nanos::micros(102))), &[Rtt, Syn]),
        (idle(None), &[Load]),
        (outstanding, &[Rtt, Syn]),
        (Warning::HalfRoundTrip, &[Rtt, Load, Replay]),
        (Warning::MeanMisleads { mean_ns: 34_600.0, median_ns: Nanos(17_200) }, EXCHANGES),
        (Warning::Stalled { stalls, answered: 10_458 }, &[Rtt]),
        (Warning::Rhythm { lag: 5, period_ns: Nanos::millis(1), correlation: 0.79 }, &[Rtt, Load, Syn]),
        (Warning::Changed { change: detour }, EXCHANGES),
        (Warning::Changed { change: to_and_fro }, EXCHANGES),
        (Warning::Periodic { periodic: each_second, closed: true }, &[Rtt]),
        (Warning::Periodic { periodic: each_second, closed: false }, &[Load, Replay]),
        (Warning::OneStreamOneCpu { end: "the peer's".to_owned(), cpus: 16 }, &[Throughput]),
        (start, &[Throughput]),
        (Warning::RateChanged { change: credits }, &[Throughput]),
    ]
}

fn statistics() -> Part {
    let run_for_ns = Some(Nanos::millis(25_700));
    let few = Warning::TooFewForQuantile { q: 0.999, needed: 10_000, seen: 3_881, run_for_ns };
    let coarse =
        Warning::CoarseClock { step_ns: Some(Nanos::micros(1)), read_ns: Some(Nanos(740)), median_ns: Nanos(16_300) };
    vec![
        (Warning::NotSteady { shift_ns: Some(-2_100) }, EXCHANGES),
        (Warning::NotSteady { shift_ns: None }, &Command::ALL),
        (Warning::NotSettled { q: 0.99, reached: Some(0.07) }, EXCHANGES),
        (Warning::NotSettled { q: 0.99, reached: None }, EXCHANGES),
        (Warning::Correlated { count: 27_000, effective: 61.0 }, EXCHANGES),
        (few, EXCHANGES),
        (Warning::TooShort { intervals: 3, needed: 5 }, &[Throughput]),
        (coarse, EXCHANGES),
    ]
}

fn settings() -> Part {
    let less = |option: &str, asked: &str, got: &str| Warning::GotLess {
        option: option.to_owned(),
        asked: asked.to_owned(),
        got: got.to_owned(),
    };
    let fragmented = Warning::Fragmented {
        message_bytes: Bytes(4_000),
        mtu_bytes: Bytes(1_500),
        fragments: 3,
        whole_bytes: Bytes(1_472),
    };
    let restart = Warning::IdleRestart {
        end: "the peer's".to_owned(),
        message_bytes: Bytes(64 << 10),
        window_bytes: Bytes(14_480),
        interval_ns: Nanos::secs(1),
    };
    let connected: &[Command] = &[Rtt, Load, Replay, Throughput];
    vec![
        (Warning::HeldReplies { count: 97, replies: 100, pause_ns: Nanos::micros(41_200) }, &[Rtt, Load]),
        (Warning::Nagle { request_bytes: Bytes(64), segment_bytes: Bytes(1_448) }, &[Rtt, Load, Replay]),
        (fragmented, &[Rtt, Load, Replay, Throughput]),
        (restart, &[Rtt]),
        (less("send buffer", "1 MiB", "208 KiB"), connected),
        (less("congestion control", "bbr", "cubic"), connected),
        (less("type of service", "3", "0"), &Command::ALL),
        (Warning::NotBatched { asked: BatchBy::Segments, reason: "Message too long".to_owned() }, &[Load, Throughput]),
        (Warning::NotBatched { asked: BatchBy::Calls, reason: "Function not implemented".to_owned() }, LOADS),
        (Warning::NoStamps { reason: "the kernel delivered none".to_owned() }, &[Rtt, Syn]),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// The kinds that the schema knows: all that there are.
    fn kinds() -> BTreeSet<String> {
        let schema = logbook::schema::json_schema();
        let variants = schema["$defs"]["Warning"]["oneOf"].as_array().unwrap();
        variants.iter().map(|one| one["properties"]["kind"]["const"].as_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn each_kind_has_an_example_and_they_stand_in_order() {
        let all = examples();
        let named: BTreeSet<String> = all.iter().map(|example| example.warning.kind().to_owned()).collect();
        assert_eq!(named, kinds());
        assert!(all.is_sorted_by_key(|example| example.warning.group()));
        assert!(all.iter().all(|example| !example.commands.is_empty()));
    }

    #[test]
    fn nobody_gives_way_to_a_kind_that_is_none_or_that_gives_way_itself() {
        let all = examples();
        for example in &all {
            for kind in example.warning.gives_way_to() {
                let other = all.iter().find(|other| other.warning.kind() == *kind).unwrap_or_else(|| panic!("{kind}"));
                assert!(!other.warning.gives_way_to().contains(&example.warning.kind()), "{kind}: each other");
            }
        }
    }
}
