//! Command lines, and what they ask for.

use test_case::test_case;

use super::*;

fn of(line: &str) -> Result<Asked, Answer> {
    parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
}

#[test]
fn the_usual_run() {
    let asked = of("db1").unwrap();
    let tenth = Schedule::Poisson { rate_per_1000s: Rate(NonZeroU64::new(10_000).unwrap()) };
    assert_eq!((&*asked.host, asked.port, asked.family, asked.light), ("db1", 862, Family::Any, false));
    assert_eq!((asked.count, asked.schedule, asked.timeout, asked.padding), (100, tenth, Nanos::secs(2), 27));
    let Form { mode, unit, lines, bucket, .. } = asked.form;
    assert_eq!((mode, unit.name, lines, bucket), (Mode::Text, "ms", 0, 0.0001));
}

#[test]
fn another_run_has_what_it_names() {
    let line = "-6 -c 10 -i 0.5f -L 3 -s 100 -D af41 -P 8760-8769 -z 1 -S ::1 -B lo -A aeo -n u -N 5 -v3 -U [::1]:8862 \
                [::1]:8862 --stamp -a 90,99.9 -b 0.001";
    let asked = of(line).unwrap();
    assert_eq!((&*asked.host, asked.port, asked.family, asked.light), ("::1", 8_862, Family::V6, true));
    assert_eq!((asked.count, asked.padding, asked.class), (10, 100, 34));
    assert_eq!(asked.schedule, Schedule::Every { interval_ns: Nanos::millis(500) });
    assert_eq!((asked.timeout, asked.delay), (Nanos::secs(3), Nanos::secs(1)));
    assert_eq!(asked.ports, Some(SourcePorts { first: 8_760, last: 8_769 }));
    assert_eq!((asked.source, asked.interface.as_deref()), ("::1".parse().ok(), Some("lo")));
    let Form { unit, part, lines, unix, bucket, percentiles, .. } = asked.form;
    assert_eq!((unit.name, part, lines, unix, bucket), ("us", Some(5), 3, true, 0.001));
    assert_eq!(percentiles, [90.0, f64::from(99.9_f32)]);
}

#[test_case("0x2e", Some(46); "hexadecimal")]
#[test_case("056", Some(46); "octal")]
#[test_case("EF", Some(46); "expedited forwarding")]
#[test_case("cs7", Some(56); "a class selector")]
#[test_case("Default", Some(0); "as usual")]
#[test_case("64", None; "more than six bits")]
#[test_case("af44", None; "no such precedence")]
fn code_points(text: &str, value: Option<u8>) {
    assert_eq!(class(text).ok(), value);
}

#[test_case("-R -v", Mode::Raw, &["Ignoring '-v', '-Q' set"]; "raw, with lines")]
#[test_case("-Q -M", Mode::Quiet, &["Ignoring '-M', '-Q' set"]; "quiet, with names")]
#[test_case("-M -v", Mode::Machine, &["Ignoring '-v', '-M' set"]; "names, with lines")]
#[test_case("-v0", Mode::Text, &[]; "all lines")]
fn one_form_passes_over_another(line: &str, mode: Mode, notes: &[&str]) {
    let asked = of(&format!("{line} db1")).unwrap();
    assert_eq!((asked.form.mode, asked.notes), (mode, notes.iter().map(ToString::to_string).collect()));
}

#[test_case("", "usage: twping"; "no host")]
#[test_case("db1 db2", "name that one alone"; "a server elsewhere")]
#[test_case("db1 -x", "invalid option -- 'x'"; "no option")]
#[test_case("db1 -c", "requires an argument -- 'c'"; "no value")]
#[test_case("db1 -c 0", "1 to 100000 packets"; "no packets")]
#[test_case("db1 -c -1", "Invalid value. Positive integer expected"; "fewer than none")]
#[test_case("db1 -i 0f", "takes 0.00001 to 86400 seconds"; "no gap")]
#[test_case("db1 -i 20", "takes 0.00001 to 10 seconds"; "a long mean")]
#[test_case("db1 -i 1e,0f", "one gap"; "gaps in turn")]
#[test_case("db1 -i 1x", "Invalid Schedule."; "no schedule")]
#[test_case("db1 -A E", "O has to be among the modes"; "encrypted alone")]
#[test_case("db1 -A X", "Invalid -authmode X"; "no mode")]
#[test_case("db1 -k f", "-k: sessions are opened without"; "a passphrase")]
#[test_case("db1 -p", "-p: summaries are not written"; "files")]
#[test_case("db1 -4 -6", "cannot be set together"; "two families")]
#[test_case("db1 -P 9-8", "Invalid test port range specified."; "ports backwards")]
#[test_case("db1 -a 101", "Invalid '-a' alpha list ."; "no percentile")]
#[test_case("db1 -n x", "Invalid '-n' value."; "no unit")]
#[test_case("db1 -L 0.00001", "LossThreshold(0.000010) '-L' < BucketWidth (0.000100) '-b'"; "a bucket beyond the timeout")]
#[test_case("db1 -D 64", "Invalid DSCP value (-D): \"64\": Invalid argument"; "no code point")]
#[test_case("db1 -S eth0", "named by -B"; "an interface for an address")]
fn what_does_not_fit_is_refused(line: &str, why: &str) {
    let answer = of(line).unwrap_err();
    assert!(answer.status == 1 && answer.stdout.is_empty() && answer.stderr.contains(why), "{answer:?}");
}

#[test]
fn the_help_names_every_option_that_is_taken() {
    let answer = of("-h").unwrap_err();
    assert_eq!((answer.status, &*answer.stdout), (0, HELP));
    for entry in ENTRIES.iter().filter(|entry| !matches!(entry.key, Key::Refused(_))) {
        let name = entry.letters.chars().next().map_or_else(|| entry.name(), |letter| format!("-{letter}"));
        assert!(HELP.contains(&name), "{name}");
    }
}
