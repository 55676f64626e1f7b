//! Words of httping, case by case.

use test_case::test_case;

use super::*;

fn of(line: &str) -> Result<Asked, Answer> {
    parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
}

#[test_case("http://db1:8080/health?x=1", "http db1 8080 /health?x=1"; "a word")]
#[test_case("-g http://db1/", "http db1 80 /"; "a URL")]
#[test_case("-g https://db1", "https db1 443 /"; "through TLS")]
#[test_case("-l db1/a", "https db1 443 /a"; "through TLS by its letter")]
#[test_case("-h db1 -p 8080", "http db1 8080 /"; "a host and a port")]
#[test_case("db1:8080 -p 8080", "http db1 8080 /"; "the same port twice")]
#[test_case("-6 -g http://[::1]:81/", "http ::1 81 /"; "an address of IPv6")]
fn a_place_is_said_in_three_ways(line: &str, expected: &str) {
    let Asked { secured, host, port, path, .. } = of(line).unwrap();
    let scheme = if secured { "https" } else { "http" };
    assert_eq!(format!("{scheme} {host} {port} {path}"), expected);
}

#[test]
fn the_usual_run_and_another() {
    let usual = of("db1").unwrap();
    assert_eq!((usual.count, usual.interval, usual.timeout), (None, Some(Nanos::secs(1)), Nanos::secs(30)));
    assert!(!usual.get && usual.shown == Shown::default() && usual.fields.is_empty());
    let other = of("db1 -c 5 -f -GsSbX -t 2 -I me -R http://a/ --header X:y -C a=b -Z").unwrap();
    assert_eq!((other.count, other.interval, other.timeout), (Some(5), None, Nanos::secs(2)));
    assert_eq!(other.shown, Shown { status: true, split: true, transferred: true, speed: true });
    let names: Vec<_> = other.fields.iter().map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!(names, ["Referer=http://a/", "X=y", "Cookie=a=b", "Cache-Control=no-cache"]);
    assert_eq!(other.agent.as_deref(), Some("me"));
}

#[test_case("", "name one"; "no place")]
#[test_case("-g http://a/ -h b", "one is asked"; "two places")]
#[test_case("a b", "one is asked"; "two words")]
#[test_case("ftp://a/", "is not asked"; "another protocol")]
#[test_case("http://me:word@a/", "nobody logs in"; "a password")]
#[test_case("a:81 -p 82", "two ports"; "two ports")]
#[test_case("a -p 0", "from 1 to 65535"; "no port")]
#[test_case("a -c 0", "at least 1"; "no request")]
#[test_case("a -i x", "from 0.01"; "no interval")]
#[test_case("a -X", "add -G"; "a body of HEAD")]
#[test_case("a -Q", "sonde rtt http://HOST/"; "connections that are kept")]
#[test_case("a -F", "takes the handshake out"; "fast open")]
#[test_case("a --tos 4", "options of sockets"; "an option of sockets")]
#[test_case("a -U me", "nobody logs in"; "a login")]
#[test_case("a -n 1,2", "sonde monitor"; "thresholds")]
#[test_case("a -K", "sonde watch"; "a screen")]
#[test_case("a -v", "--record FILE"; "more words")]
#[test_case("a -a", "does not play this part"; "a bell")]
#[test_case("a --nothing", "unrecognized option"; "no option")]
#[test_case("a --header Connection:close", "the measurement sets the field"; "a field of the measurement")]
fn all_else_is_refused_in_a_sentence(line: &str, why: &str) {
    let answer = of(line).unwrap_err();
    assert!(answer.status == 1 && answer.stdout.is_empty() && answer.stderr.contains(why), "{answer:?}");
}
