//! Known facts, figures worked by hand.

use test_case::test_case;

use super::*;
use crate::persona::netperf::command_line;

fn options(line: &str) -> Options {
    let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
    command_line::parse("netperf", &words).unwrap()
}

/// 1000 transactions of 100 and 200 bytes in half a second, of which a fifth was waited.
fn iteration() -> Iteration {
    let mut iteration =
        Iteration { elapsed_ns: 500_000_000, waited_ns: 100_000_000, transactions: 1_000, ..Iteration::default() };
    (iteration.local.sent_bytes, iteration.local.received_bytes) = (100_000, 200_000);
    (iteration.remote.sent_bytes, iteration.remote.received_bytes) = (200_000, 100_000);
    iteration
}

#[test_case("-t TCP_RR", 2_000.0; "transactions")]
#[test_case("-t TCP_RR -f k", 4_800.0; "transactions in bits, both ways")]
#[test_case("-t TCP_STREAM -f k", 4_800.0; "all that the server moved")]
#[test_case("-t TCP_MAERTS -f k", 3_200.0; "what the client received")]
fn the_main_result(line: &str, expected: f64) {
    assert_eq!(throughput(&options(line), &iteration()), expected);
}

#[test_case("-t TCP_RR", Some(400.0); "waits left out")]
#[test_case("-t TCP_RR -- -b 4", Some(2_000.0); "five in flight")]
#[test_case("-t TCP_CRR -- -b 4", Some(400.0); "a connection has one in flight")]
#[test_case("-t TCP_STREAM", None; "one way")]
fn a_round_trip_by_the_rate(line: &str, expected: Option<f64>) {
    assert_eq!(Figures::of(&options(line), &[iteration()]).round_trip_us, expected);
}

#[test]
fn means_are_over_iterations_and_rates_of_the_last() {
    let mut slow = iteration();
    slow.elapsed_ns *= 2;
    let figures = Figures::of(&options("-t TCP_RR"), &[iteration(), slow]);
    assert_eq!((figures.throughput, figures.elapsed_s), (1_500.0, 0.75));
    assert_eq!((figures.transaction_rate, figures.last_elapsed_s), (1_000.0, 1.0));
}

#[test]
fn nothing_in_no_time_has_figures_too() {
    for line in ["-t TCP_RR -c -C", "-t UDP_STREAM -f u", "-t TCP_CC", "-i 3,3"] {
        let figures = Figures::of(&options(line), &[Iteration::default()]);
        assert_eq!((figures.throughput, figures.round_trip_us), (0.0, None));
    }
}

#[test]
fn a_day_of_a_fast_stream_does_not_overflow() {
    let mut day = Iteration { elapsed_ns: 86_400_000_000_000, ..Iteration::default() };
    day.remote.received_bytes = 4_320_000_000_000_000;
    assert_eq!(throughput(&options("-t TCP_STREAM"), &day), 400_000.0);
}
