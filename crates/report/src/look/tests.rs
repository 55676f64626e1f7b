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
fn the_first_lines_and_the_rest_are_the_whole() {
    let look = fixture::look();
    let whole = quiet(&look);
    assert!(whole.ends_with(&rest(&look, &Style::default())));
    assert!(whole.starts_with("db1 · 10.0.0.2 · every way once in 100 ms, for 5 s\n  first    icmp 98 µs · tcp 7663 "));
}

#[test]
fn a_line_that_grows_is_broken_between_answers() {
    let mut line = FirstLine::new(Style { width: 40, ..Style::default() });
    let text: String = [7_663, 12_865, 22].map(|port| line.add("tcp", Some(port), Nanos::micros(100))).concat();
    assert_eq!(
        text + line.end(),
        "  first    tcp 7663 100 µs\n           tcp 12865 100 µs · tcp 22 100 µs\n"
            .replace(" · tcp 22", "\n           tcp 22")
    );
    assert_eq!(FirstLine::new(Style::default()).end(), "");
}
