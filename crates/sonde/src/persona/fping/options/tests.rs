//! Words, and what they come to.

use test_case::test_case;

use super::*;

fn of(line: &str) -> Result<Asked, Answer> {
    parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
}

#[test]
fn the_command_of_smokeping() {
    let asked = of("-C 20 -q -B1 -r1 -4 -b56 -i10.5 -t1500 -p1000 -O 0x20 a b").unwrap();
    assert_eq!((asked.course, asked.each, asked.quiet), (Course::Count(20), true, true));
    assert_eq!((asked.interval, asked.timeout), (Nanos::micros(10_500), Nanos::millis(1_500)));
    assert_eq!((asked.operands, asked.tos, asked.retries), (vec!["a".into(), "b".into()], Some(32), 1));
}

#[test]
fn the_wait_of_a_count_is_its_period_up_to_two_seconds() {
    let waits = ["a", "-c1 a", "-c1 -p 50 a", "-l -p 9000 a", "-c1 -t 7 a"].map(|line| of(line).unwrap().timeout);
    assert_eq!(waits, [500, 1_000, 50, 2_000, 7].map(Nanos::millis));
}

#[test]
fn without_a_host_hosts_are_read_from_standard_input() {
    assert_eq!(of("-q").unwrap().file.as_deref(), Some("-"));
    assert_eq!(of("a").unwrap().file, None);
}

#[test_case("-Z a", "fping: invalid option -- 'Z'\nsee 'fping -h' for usage information\n"; "a letter")]
#[test_case("--nosuch a", "fping: invalid option -- 'nosuch'\nsee 'fping -h' for usage information\n"; "a name")]
#[test_case("-c", "fping: option requires an argument -- 'c'\nsee 'fping -h' for usage information\n"; "no value")]
#[test_case("-l -c 1 a", "fping: specify only one of c, l\n"; "two courses")]
#[test_case("-a -u a", "fping: specify only one of a, u\n"; "two lists")]
#[test_case("-n -d a", "fping: use either one of -d or -n\n"; "two names")]
#[test_case("-4 -6 a", "fping: can't specify both -4 and -6\n"; "two families")]
#[test_case("-b 70000 a", "fping: data size 70000 not valid, must be lower than 65488\n"; "too large")]
#[test_case("-B 9 a", "fping: backoff factor 9.0 not valid, must be between 1.0 and 5.0\n"; "a wild factor")]
#[test_case("-H 300 a", "fping: ttl 300 out of range\n"; "a long way")]
#[test_case("-S here a", "fping: can't parse source address: here\n"; "no address")]
fn the_complaints_of_the_original(line: &str, expected: &str) {
    assert_eq!(of(line).unwrap_err(), Answer::complaint(expected));
}

#[test_case("-c 0 a"; "no request")]
#[test_case("-c x a"; "no count")]
#[test_case("-i -1 a"; "a negative interval")]
#[test_case("-t 1e30 a"; "no time")]
#[test_case("-r -1 a"; "negative retries")]
#[test_case("-O x a"; "no octet")]
#[test_case("-f list a"; "a file and a host")]
#[test_case("-g"; "no range")]
#[test_case("-x 0 a"; "enough is none")]
fn a_value_that_does_not_fit_is_answered_by_the_help(line: &str) {
    assert_eq!(of(line).unwrap_err(), usage());
}
