//! Screens of first looks: with a program, with a slow echo, with no answer; none too wide.

use insta::assert_snapshot;
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
fn a_host_behind_two_paths() {
    assert_snapshot!(quiet(&fixture::look_over_two_paths()));
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
    assert_eq!(grown, "db1: one round per 100 ms for 5 s · ICMP 98 µs · TCP 22 121 µs");
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
