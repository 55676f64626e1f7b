//! Command lines as people type them, and what they come to.

use super::*;
use test_case::test_case;

fn of(line: &str) -> Result<Asked, Answer> {
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    parse(&words)
}

fn client(line: &str) -> Client {
    match of(line).unwrap().role {
        Role::Client(client) => *client,
        Role::Server(_) => panic!("a server"),
    }
}

fn server(line: &str) -> Server {
    match of(line).unwrap().role {
        Role::Server(server) => server,
        Role::Client(_) => panic!("a client"),
    }
}

#[test]
fn what_is_not_asked_for_is_as_in_the_original() {
    let asked = of("-c db1").unwrap();
    let common = asked.common;
    assert_eq!((common.port, common.interval_s, common.receive_timeout_ms), (5_201, 1.0, 120_000));
    assert_eq!((common.form, common.format, common.family), (Form::Text, None, Family::Any));
    let client = client("-c db1");
    assert_eq!((client.host.as_str(), client.protocol, client.direction), ("db1", Protocol::Tcp, Direction::Upload));
    assert_eq!((client.parallel, client.until, client.omit_s), (1, Until::Seconds(10), 0));
    assert_eq!((client.block_bytes, client.rate, client.pacing_timer_us), (None, None, 1_000));
    assert_eq!(self::client("-u -c db1").rate, Some(1_048_576));
    assert_eq!(server("-s"), Server { rate_over_s: 5, ..Server::default() });
    assert!(asked.notes.is_empty());
}

#[test]
fn every_option_of_a_client_arrives() {
    let line = "-c db1 -uR -P 4 -n 1M -O 2 -l 1K -b 10M/7 --pacing-timer 2000 --fq-rate 1G -w 2M -S 0x34 \
                -Z --skip-rx-copy --cport 6000 --connect-timeout 300 -T title --extra-data more \
                --get-server-output --udp-counters-64bit --repeating-payload --dont-fragment -A 1,2 \
                --username me --rsa-public-key-path key.pem --record run.json";
    let client = client(line);
    assert_eq!((client.protocol, client.direction, client.parallel), (Protocol::Udp, Direction::Reverse, 4));
    assert_eq!((client.until, client.omit_s, client.block_bytes), (Until::Bytes(1 << 20), 2, Some(1_024)));
    assert_eq!((client.rate, client.burst, client.pacing_timer_us), (Some(10_000_000), 7, 2_000));
    assert_eq!((client.fq_rate, client.window, client.tos), (Some(1_000_000_000), Some(2 << 20), 0x34));
    assert_eq!((client.first_port, client.connect_timeout_ms), (Some(6_000), Some(300)));
    assert!(client.zerocopy && client.skip_copy && client.server_output && client.counters_64bit);
    assert!(client.repeating_payload && client.dont_fragment);
    assert_eq!((client.title.as_deref(), client.extra_data.as_deref()), (Some("title"), Some("more")));
    assert_eq!((client.server_cpu, of(line).unwrap().common.cpu), (Some(2), Some(1)));
    assert_eq!(client.login, Some(ClientLogin { user: "me".to_owned(), key: "key.pem".into() }));
    assert_eq!(client.record, Some("run.json".into()));
    let client = self::client("-c db1 --bidir -N -M 1400 -C reno -k 1K --dscp ef --bandwidth 0");
    assert_eq!((client.direction, client.nodelay, client.segment_bytes), (Direction::Both, true, Some(1_400)));
    assert_eq!((client.congestion.as_deref(), client.until), (Some("reno"), Until::Blocks(1_024)));
    assert_eq!((client.tos, client.rate), (46 << 2, None));
}

#[test]
fn every_option_of_a_server_arrives() {
    let line = "-s -D -1 -m --server-bitrate-limit 1G/10 --idle-timeout 60 --server-max-duration 30 \
                --rsa-private-key-path key.pem --authorized-users-path users.csv --time-skew-threshold 3";
    let login = ServerLogin { key: "key.pem".into(), users: "users.csv".into(), skew_s: 3 };
    let expected = Server {
        daemon: true,
        one_off: true,
        mptcp: true,
        rate_limit: Some(1_000_000_000),
        rate_over_s: 10,
        idle_timeout_s: Some(60),
        max_duration_s: Some(30),
        login: Some(login),
    };
    assert_eq!(server(line), expected);
}

#[test]
fn every_option_of_both_ends_arrives() {
    let line = "-s -p 6000 -f M -i 0.5 -I pid -F file -A 3 -B 10.0.0.2 -V -J --logfile log --forceflush \
                --timestamps=%s --rcv-timeout 500 --snd-timeout 700 --cntl-ka=60/5/3 -4 --use-pkcs1-padding";
    let common = of(line).unwrap().common;
    assert_eq!((common.port, common.format, common.interval_s), (6_000, Some('M'), 0.5));
    assert_eq!((common.pidfile, common.file, common.cpu), (Some("pid".into()), Some("file".into()), Some(3)));
    assert_eq!((common.bind.as_deref(), common.device.as_deref()), (Some("10.0.0.2"), None));
    assert!(common.verbose && common.pkcs1);
    assert_eq!((common.form, common.logfile), (Form::Json, Some("log".into())));
    assert_eq!((common.timestamps.as_deref(), common.receive_timeout_ms), (Some("%s"), 500));
    assert_eq!((common.send_timeout_ms, common.family), (Some(700), Family::V4));
    let keepalive = Keepalive { idle_s: Some(60), interval_s: Some(5), count: Some(3) };
    assert_eq!(common.keepalive, Some(keepalive));
}

#[test_case("-s --json-stream", Form::Stream { full: false }; "a line for each event")]
#[test_case("-s -J --json-stream --json-stream-full-output", Form::Stream { full: true }; "and all at the end")]
fn forms(line: &str, form: Form) {
    assert_eq!(of(line).unwrap().common.form, form);
}

#[test_case("-c fe80::1%eth0", "fe80::1%eth0", None; "a zone is a part of the address")]
#[test_case("-c db1%eth0", "db1", Some("eth0"); "else it is a device")]
fn a_device_stands_behind_the_host(line: &str, host: &str, device: Option<&str>) {
    assert_eq!((client(line).host.as_str(), of(line).unwrap().common.device.as_deref()), (host, device));
}

const HINT: &str = "\n\nUsage: iperf3 [-s|-c host] [options]\nTry `iperf3 --help' for more information.\n";

#[test_case("", "must either be a client (-c) or server (-s)"; "neither")]
#[test_case("-s -c db1", "cannot be both server and client"; "both")]
#[test_case("-c db1 -1", "some option you are trying to set is server only"; "an option of the server")]
#[test_case("-s -t 5", "some option you are trying to set is client only"; "an option of the client")]
#[test_case("-s -u", "some option you are trying to set is client only"; "udp at a server")]
#[test_case("-c db1 -t 5 -n 5", "only one test end condition (-t, -n, -k) may be specified"; "two ends")]
#[test_case("-c db1 -u -l 10", "block size invalid (minimum = 16 bytes, maximum = 65507 bytes)"; "a small datagram")]
#[test_case("-c db1 -l 2M", "block size too large (maximum = 1048576 bytes)"; "a large block")]
#[test_case("-c db1 -b 1Q", "invalid unit value or suffix: '1Q'"; "a unit")]
#[test_case("-c db1 -R --bidir", "cannot be both reverse and bidirectional"; "two directions")]
#[test_case("-c db1 -P 129", "number of parallel streams too large (maximum = 128)"; "streams")]
#[test_case("-c db1 -i 0.01", "invalid report interval (min = 0.1, max = 60 seconds)"; "a short interval")]
#[test_case("-c db1 -t 100000", "test duration valid values are 0 to 86400 seconds"; "a long test")]
#[test_case("-c db1 -t 5s", "test duration valid values are 0 to 86400 seconds"; "a time that is no number")]
#[test_case("-c db1 -w 1G", "socket buffer size too large (maximum = 536870912 bytes)"; "a window")]
#[test_case("-c db1 -M 40000", "TCP MSS too large (maximum = 32767 bytes)"; "a segment")]
#[test_case("-c db1 -O 700", "bogus value for --omit"; "omit")]
#[test_case("-c db1 -b 1M/2000", "invalid burst count (maximum = 1000)"; "a burst")]
#[test_case("-c db1 -f x", "bad format specifier (valid formats are in the set [kmgtKMGT])"; "a format")]
#[test_case("-c db1 -p 0", "port number must be between 1 and 65535 inclusive"; "a port")]
#[test_case("-c db1 -S 300", "bad TOS value (must be between 0 and 255 inclusive)"; "tos")]
#[test_case("-c db1 --username x", "you must specify a username, password, and path to a valid RSA public key"; "half a login")]
#[test_case("-s --authorized-users-path x", "you must specify a path to a valid RSA private key and a user credential file"; "half a login of a server")]
fn complaints(line: &str, text: &str) {
    let answer = of(line).unwrap_err();
    assert_eq!(answer, Answer::complaint(format!("iperf3: parameter error - {text}{HINT}")));
}

#[test_case("-c db1 --rcv-timeout 500", 32; "nothing is received")]
#[test_case("-c db1 -R --rcv-timeout 5", 31; "too short a timeout")]
#[test_case("-c db1 --snd-timeout 99999999999", 33; "too long a timeout")]
#[test_case("-s --idle-timeout 0", 30; "no time")]
#[test_case("-s --server-bitrate-limit 1M/5000", 28; "a mean of too long")]
#[test_case("-s --time-skew-threshold 0", 29; "no skew")]
#[test_case("-c db1 -u -F file", 34; "a file over UDP")]
#[test_case("-c db1 --cntl-ka=10/5/3", 36; "probes for longer than idle")]
fn complaints_by_number(line: &str, code: i32) {
    assert_eq!(of(line).unwrap_err(), Answer::complaint(format!("iperf3: parameter error - {}{HINT}", Code(code))));
}

#[test_case("-c db1 --bogus", "iperf3: unrecognized option '--bogus'"; "a name")]
#[test_case("-z", "iperf3: invalid option -- 'z'"; "a letter")]
fn words_that_are_none(line: &str, first: &str) {
    assert_eq!(of(line).unwrap_err(), Answer::complaint(format!("{first}{HINT}")));
}

#[test_case("-c db1 --sctp", "--sctp"; "sctp")]
#[test_case("-c db1 -X eth0", "-X"; "its addresses")]
#[test_case("-c db1 --nstreams 3", "--nstreams"; "its streams")]
#[test_case("-c db1 -L 7", "-L"; "flow labels")]
#[test_case("-s --bind-dev eth0", "--bind-dev"; "a server's device")]
#[test_case("-c db1 -R -F file", "-F"; "a file to be written")]
#[test_case("-c db1 -4 -6", "-4"; "two families")]
#[test_case("-c db1 -A x", "-A"; "no cpu")]
#[test_case("-c db1 --timestamps=%", "--timestamps"; "no format")]
#[test_case("-c db1 --connect-timeout 0", "--connect-timeout"; "no time at all")]
#[test_case("-c db1 -S 4 --dscp ef", "-S"; "two names of one octet")]
fn what_is_not_done_is_refused_with_a_sentence(line: &str, option: &str) {
    let answer = of(line).unwrap_err();
    assert!(answer.stderr.starts_with(&format!("iperf3: parameter error - {option}")), "{}", answer.stderr);
    assert_eq!(answer.status, 1);
}

#[test_case("-c db1 -d", "-d: has no effect"; "debugging")]
#[test_case("-s --snd-timeout 700", "--snd-timeout: has no effect"; "a server's patience")]
#[test_case("-s -F file", "-F: is sent"; "a server's file")]
#[test_case("-s --cntl-ka", "--cntl-ka: has no effect"; "keepalive")]
#[test_case("-c db1 foo", "foo: belongs to no option"; "a stray word")]
#[test_case("-c db1 -u -N", "-N: has no effect"; "tcp's over udp")]
#[test_case("-c db1 -u -m", "-m: has no effect"; "several paths of datagrams")]
#[test_case("-c db1 --gsro", "--gsro: has no effect"; "segmentation over tcp")]
#[test_case("-c db1 --dont-fragment", "--dont-fragment: has no effect"; "udp's over tcp")]
fn what_has_no_effect_is_named(line: &str, start: &str) {
    let notes = of(line).unwrap().notes;
    assert_eq!(notes.len(), 1);
    assert!(notes[0].starts_with(start), "{}", notes[0]);
}

#[test]
fn help_and_version_come_before_any_complaint() {
    let help = of("-h -P 500").unwrap_err();
    assert!(help.stdout.starts_with("Usage: iperf3 [-s|-c host] [options]\n") && help.status == 0);
    assert!(ENTRIES.iter().all(|entry| entry.names.iter().all(|name| help.stdout.contains(name))));
    let version = of("-s -v").unwrap_err();
    let lines: Vec<&str> = version.stdout.lines().collect();
    assert!(lines[0].starts_with("iperf 3.21 ") && lines[2].starts_with("Optional features available: "));
    assert_eq!((lines.len(), version.status), (3, 0));
}
