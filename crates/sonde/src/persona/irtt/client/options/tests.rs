//! Words as the original reads them; its complaints are those of Debian's irtt 0.9.0.

use test_case::test_case;

use super::*;

fn of(line: &str) -> Result<Option<Asked>, Answer> {
    parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
}

fn run(line: &str) -> Asked {
    of(line).unwrap().unwrap()
}

#[test]
fn the_usual_run() {
    let usual = run("db1");
    let parameters = Parameters {
        version: 1,
        duration: 60_000_000_000,
        interval: 1_000_000_000,
        stats: 3,
        stamp_at: 3,
        clock: 3,
        ..Parameters::default()
    };
    assert_eq!((usual.host.as_str(), &usual.parameters, usual.local.as_str()), ("db1", &parameters, ":0"));
    assert_eq!(
        (usual.timeouts, usual.wait.to_string()),
        ([1, 2, 4, 8].map(|s| s * 1_000_000_000).to_vec(), "3x4s".to_owned())
    );
    assert_eq!((usual.timer, usual.fill, usual.key, usual.output), (Timer::Comp, Fill::Kept, None, None));
    assert!(!usual.quiet && !usual.really_quiet && !usual.loose && !usual.no_test);
}

/// The call of flent 2.1.1, but for its time and marking.
#[test]
fn a_run_of_flent() {
    let asked = run("-o - --fill=rand -Q -d 14s -i 0.2s -4 --dscp=0xb8 -l 172 --local=192.0.2.1 db1");
    assert_eq!((asked.output.as_deref(), &asked.fill, asked.really_quiet), (Some("-"), &Fill::Random, true));
    let Parameters { duration, interval, class, length, .. } = asked.parameters;
    assert_eq!((duration, interval, class, length), (14_000_000_000, 200_000_000, 184, 172));
    assert_eq!((asked.family, asked.local.as_str()), (Family::V4, "192.0.2.1"));
}

#[test]
fn letters_and_names_are_one_and_the_last_value_counts() {
    let asked =
        run("-nq --d=5s --fill-one=false --loose=T --hmac=0x736563726574 db1 -d3s --4 --stats=count --clock=wall");
    assert_eq!((asked.parameters.duration, asked.parameters.stats, asked.parameters.clock), (3_000_000_000, 1, 1));
    assert!(asked.no_test && asked.quiet && asked.loose && !asked.fill_one);
    assert_eq!((asked.key, asked.family), (Some(Key::new(b"secret")), Family::V4));
    assert_eq!(of("-v db1"), Ok(None));
    assert_eq!(of("-d x --version"), Ok(None), "before any value is looked at");
}

#[test_case("-x", "unknown shorthand flag: 'x' in -x\n"; "no letter")]
#[test_case("--foo h", "unknown flag: --foo\n"; "no name")]
#[test_case("--=x", "bad flag syntax: --=x\n"; "no name at all")]
#[test_case("--fill rand h", "flag needs an argument: --fill\n"; "a value in the next word")]
#[test_case("-l", "flag needs an argument: 'l' in -l\n"; "no value")]
#[test_case("-l abc h", "invalid argument \"abc\" for -l: strconv.ParseInt: parsing \"abc\": invalid syntax\n"; "no number")]
#[test_case("--fill-one=maybe h", "invalid argument \"maybe\" for --fill-one=maybe: strconv.ParseBool: parsing \"maybe\": invalid syntax\n"; "neither true nor false")]
#[test_case("", ""; "no host")]
#[test_case("a b", ""; "two hosts")]
#[test_case("-h", ""; "the help")]
#[test_case("--help", ""; "the help by its name")]
fn words_that_do_not_fit_have_the_help_for_an_answer(line: &str, said: &str) {
    let answer = of(line).unwrap_err();
    assert_eq!((answer.stderr, answer.status), (format!("{said}{}", help()), 2));
}

#[test_case("-d 5 h", "Error: time: missing unit in duration \"5\" (use s for seconds)"; "no unit")]
#[test_case("-i x h", "Error: time: invalid duration \"x\" (use s for seconds)"; "no interval")]
#[test_case("--timeouts=1 h", "Error: time: missing unit in duration \"1\" (use s for seconds)"; "no timeout")]
#[test_case("--stats=foo h", "[InvalidReceivedStatsString] invalid ReceivedStats string: foo"; "no counts")]
#[test_case("--tstamp=foo h", "[InvalidStampAtString] invalid StampAt string: foo"; "no times")]
#[test_case("--clock=x h", "[InvalidClockString] invalid Clock string: x"; "no clock")]
#[test_case("--df=foo h", "[InvalidDFString] invalid DF string: foo"; "no fragmentation")]
#[test_case("--wait=foo h", "[NoSuchWaiter] no such Waiter foo"; "no wait")]
#[test_case("--timer=foo h", "[NoSuchTimer] no such Timer foo"; "no timer")]
#[test_case("--tcomp=foo h", "[NoSuchAverager] no such Averager foo"; "no mean")]
#[test_case("--fill=foo h", "[NoSuchFiller] no such Filler foo"; "no fill")]
#[test_case("--fill=pattern:zz h", "Error: encoding/hex: invalid byte: U+007A 'z'"; "no digits")]
#[test_case("--hmac=0xzz h", "Error: encoding/hex: invalid byte: U+007A 'z'"; "no key")]
#[test_case("--dscp=foo h", "Error: strconv.ParseInt: parsing \"foo\": invalid syntax"; "no octet")]
#[test_case("--dscp=99999999999 h", "Error: strconv.ParseInt: parsing \"99999999999\": value out of range"; "too large")]
fn values_that_do_not_fit_are_told(line: &str, said: &str) {
    let answer = of(line).unwrap_err();
    assert_eq!((answer.stderr, answer.status), (format!("{said}\n"), 2));
}

#[test_case("0", Ok(0); "nothing")]
#[test_case("0xb8", Ok(184); "hexadecimal")]
#[test_case("0B101", Ok(5); "binary")]
#[test_case("017", Ok(15); "octal")]
#[test_case("0o17", Ok(15); "octal with a letter")]
#[test_case("-12", Ok(-12); "below zero")]
#[test_case("+3", Ok(3); "with a sign")]
#[test_case("2147483648", Err("value out of range"); "more than 32 bits")]
#[test_case("0x", Err("invalid syntax"); "no digits")]
#[test_case("08", Err("invalid syntax"); "no octal digit")]
#[test_case("--1", Err("invalid syntax"); "two signs")]
#[test_case("", Err("invalid syntax"); "no text")]
fn numbers_are_read(text: &str, expected: Result<i64, &str>) {
    assert_eq!(number(text, 32), expected.map_err(|why| format!("strconv.ParseInt: parsing {text:?}: {why}")));
}

#[test]
fn the_help_names_the_options_as_flent_looks_for_them() {
    let help = help();
    assert!(
        help.contains(" --fill=FILL ") && help.contains(" -d TIME ") && help.lines().all(|line| line.len() < 160),
        "{help}"
    );
}
