//! A comparer is believed for what it refuses: a value of another class, a blank, a line, a word.

use super::*;
use test_case::test_case;

const TABLE: &str = "\
Send   Recv   Size     Size    Time     Rate         
bytes  Bytes  bytes    bytes   secs.    per sec   

16384  131072 1        1       1.00     81618.47   
16384  131072
";

fn form(model: &str, seen: &str) -> bool {
    differences(model, seen).is_empty()
}

/// Every place of `text` where `of` says so, with the text changed there.
fn changed(text: &str, of: impl Fn(usize, &str) -> Option<String>) -> Vec<String> {
    (0..=text.len()).filter(|at| text.is_char_boundary(*at)).filter_map(|at| of(at, text)).collect()
}

#[test]
fn a_text_has_its_own_form() {
    assert!(form(TABLE, TABLE));
    assert!(form("", ""));
}

#[test]
fn a_blank_more_is_a_difference_wherever_it_is() {
    for text in changed(TABLE, |at, text| Some(format!("{} {}", &text[..at], &text[at..]))) {
        assert!(!form(TABLE, &text), "{text}");
    }
}

#[test]
fn a_blank_less_is_a_difference_wherever_it_is() {
    let without = |at: usize, text: &str| text[at..].strip_prefix(' ').map(|rest| format!("{}{rest}", &text[..at]));
    let texts = changed(TABLE, without);
    assert!(texts.len() > 50);
    for text in texts {
        assert!(!form(TABLE, &text), "{text}");
    }
}

#[test]
fn a_line_more_or_less_is_a_difference() {
    let lines: Vec<&str> = TABLE.split_inclusive('\n').collect();
    for at in 0..lines.len() {
        let mut fewer = lines.clone();
        fewer.remove(at);
        let mut more = lines.clone();
        more.insert(at, "\n");
        // The last two rows begin alike; every other line differs from its neighbour.
        assert!(!form(TABLE, &fewer.concat()), "without line {}", at + 1);
        assert!(!form(TABLE, &more.concat()), "an empty line in front of line {}", at + 1);
    }
    assert!(!form(TABLE, TABLE.trim_end_matches('\n')), "the last line is not ended");
    assert!(!form(TABLE, &TABLE.replace('\n', "\r\n")));
}

#[test]
fn a_letter_changed_is_a_difference() {
    let other = |at: usize, text: &str| {
        let letter = text[at..].chars().next().filter(char::is_ascii_alphabetic)?;
        Some(format!("{}{}{}", &text[..at], if letter == 'x' { 'y' } else { 'x' }, &text[at + 1..]))
    };
    for text in changed(TABLE, other) {
        assert!(!form(TABLE, &text), "{text}");
    }
}

#[test_case("THROUGHPUT=81618.47", "THROUGHPUT=9.05", true; "another decimal")]
#[test_case("THROUGHPUT=81618.47", "THROUGHPUT=-1.00", true; "a negative one")]
#[test_case("THROUGHPUT=81618.47", "THROUGHPUT=81618.470", false; "a decimal more")]
#[test_case("THROUGHPUT=81618.47", "THROUGHPUT=81618", false; "no decimals")]
#[test_case("THROUGHPUT=81618.47", "THROUGHPUT=nan", false; "no number")]
#[test_case("THROUGHPUT=81618.47", "THROUGHPUT=", false; "nothing")]
#[test_case("THROUGHPUT=81618.47", "THROUGHPUT= 5.00", false; "a blank within")]
#[test_case("A=-nan", "A=0.00", true; "a number where there was none")]
#[test_case("A=bbr", "A=cubic", true; "another algorithm")]
#[test_case("A=TCP", "A=UDP", false; "another word")]
#[test_case("A=", "A=", true; "both nothing")]
#[test_case("0x00", "0xffffffff", true; "hexadecimal")]
#[test_case("0x00", "0", false; "not hexadecimal")]
#[test_case("1,2.00,Trans/s", "12,2.50,Trans/s", true; "cells")]
#[test_case("1,2.00,Trans/s", "12,2.50,Trans/s,", false; "a cell more")]
#[test_case("143549.35,, 6.92", "1.35,, 16.92", true; "an empty cell")]
#[test_case("143549.35,, 6.92", "1.35,,16.92", false; "an empty cell without its blank")]
fn values_are_compared_by_class(model: &str, seen: &str, same: bool) {
    assert_eq!(form(model, seen), same);
}

#[test_case("   1.00       99.49   ", "   1.00     81618.47   ", true; "aligned right, beyond its field")]
#[test_case("   1.00     1234.49   ", "   1.00       12.49   ", true; "aligned right")]
#[test_case("   1.00     1234.49   ", "   1.00     12.49   ", true; "a shorter value in a field that the model fills")]
#[test_case("   1.00     1234.49   ", "   1.00        12.49   ", false; "aligned right, a blank too many")]
#[test_case("16384  131072 1", "212992 212992 1", true; "aligned left")]
#[test_case("16384  131072 1", "212992  212992 1", true; "a field that may be wider")]
#[test_case("16384  131072 1", "212992   212992 1", false; "a blank too many behind")]
#[test_case(" 0.415 S", "12.415 S", true; "at the start of a line")]
#[test_case("a 1", "a1", false; "grown together")]
fn a_longer_value_takes_room_from_the_blanks_beside_it(model: &str, seen: &str, same: bool) {
    assert_eq!(form(model, seen), same);
}

#[test]
fn a_difference_tells_its_line_and_both_texts() {
    let [difference] = &differences("a 1\nb 2\n", "a 1\nb 2.0\n")[..] else { panic!("one difference") };
    assert_eq!(difference.line, 2);
    assert!(difference.to_string().contains("`2.0` is no such value as `2`"), "{difference}");
    let [difference] = &differences("a\nb\n", "a\n")[..] else { panic!("one difference") };
    assert_eq!(difference.to_string(), "line 2: ends before \"b\\n\"");
}
