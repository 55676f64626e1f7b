//! Command lines and what they mean.

use std::path::PathBuf;

use endpoint::name::Family;
use measure::method::Pacing;
use test_case::test_case;

use super::*;
use crate::persona::answer::Answer;
use crate::persona::netperf::options::form::{Form, Selection};
use crate::persona::netperf::options::pair::Pair;
use crate::persona::netperf::options::*;
use crate::persona::netperf::selection::wants_latency;
use crate::persona::netperf::selector;
use crate::persona::netperf::test_name::{Test, Transport};
use crate::persona::netperf::transcript::Transcript;
use crate::persona::netperf::unit::Unit;

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

fn read(line: &str) -> Options {
    parse("netperf", &words(line)).unwrap_or_else(|answer| panic!("{line}: {answer:?}"))
}

fn answer(line: &str) -> Answer {
    parse("netperf", &words(line)).unwrap_err()
}

#[test]
fn nothing_asked_is_a_stream_of_ten_seconds() {
    let options = read("");
    assert_eq!((options.test, options.length), (Test::TcpStream, Length::Seconds(10)));
    assert_eq!((options.control.target(), options.control.port), ("localhost", 12_865));
    assert_eq!((options.display.unit, options.display.verbosity, options.display.headers), (Unit::Mbits, 1, true));
    assert_eq!(options.confidence, None);
    assert!(options.data.routing && options.notes.is_empty());
}

#[test]
fn where_the_server_is() {
    let options = read("-H db1,6 -L 10.0.0.1,4 -p 12,34 -Z secret");
    let expected = Control {
        host: Some("db1".into()),
        port: 12,
        family: Family::V6,
        local_host: Some("10.0.0.1".into()),
        local_family: Family::V4,
        local_port: 34,
    };
    assert_eq!((options.control, options.passphrase), (expected, Some(Passphrase::Word("secret".into()))));
    assert_eq!(read("-6").control.target(), "::1");
    assert_eq!(read("-H ,inet6").control.family, Family::V6);
    assert_eq!(read("-H db1,7").notes.len(), 1);
    assert_eq!(read("--passphrase-file p").passphrase, Some(Passphrase::File("p".into())));
}

#[test_case("-l 5", Length::Seconds(5); "seconds")]
#[test_case("-l 0", Length::UntilInterrupted; "no end")]
#[test_case("-l -1000", Length::Count(1_000); "a count")]
#[test_case("-l -10k", Length::Count(10_000); "thousands")]
#[test_case("-l 1m", Length::Seconds(60); "a minute")]
#[test_case("-l 1m30s", Length::Seconds(90); "a minute and a half")]
fn lengths(line: &str, expected: Length) {
    assert_eq!(read(line).length, expected);
}

#[test_case("-I 95", Some((95, 5.0, 3, 10)); "a level alone keeps the width")]
#[test_case("-I 99,", Some((99, 5.0, 3, 10)); "a level and a comma")]
#[test_case("-I 99,2.5", Some((99, 2.5, 3, 10)); "a level and a width")]
#[test_case("-i 5", Some((99, 5.0, 5, 5)); "one number is both")]
#[test_case("-i 40,2", Some((99, 5.0, 3, 30)); "both are clamped")]
#[test_case("-i 5,7", Some((99, 5.0, 7, 7)); "the fewest counts")]
#[test_case("-i 30,", Some((99, 5.0, 3, 30)); "the most alone")]
#[test_case("-i 3,3 -I 99,0.1", Some((99, 0.1, 3, 3)); "as PerfKit asks")]
#[test_case("-r", None; "on result only asks for nothing by itself")]
fn confidence(line: &str, expected: Option<(u8, f64, u32, u32)>) {
    let found = read(line).confidence.map(|asked| (asked.level, asked.width_percent, asked.min, asked.max));
    assert_eq!(found, expected);
}

#[test_case("-w 10ms -b 1", 10_000_000, 1; "an interval and a burst")]
#[test_case("-b 5", 1_000_000, 5; "a burst alone is each millisecond")]
#[test_case("-w 0.5ms -b 1", 500_000, 1; "a fraction")]
#[test_case("-b 1 -w 0.5ms", 500_000, 1; "in any order")]
#[test_case("-b 1 -w 0", 0, 1; "no pace")]
#[test_case("-w 10ms", 10_000_000, 0; "an interval alone")]
fn paces(line: &str, interval_ns: u64, burst: u32) {
    assert_eq!(read(line).pace, Pair::new(Pace { interval_ns, burst }, Pace::default()));
}

#[test]
fn paces_of_the_server() {
    assert_eq!(read("-w ,20us -b ,3").pace.remote, Pace { interval_ns: 20_000, burst: 3 });
}

#[test]
fn sockets_and_buffers() {
    let options = read("-T 0,1 -y 3,4 -Y lowdelay,CS1 -a 16,32 -A 64 -o 1, -O ,2 -W 4,5 -S -F a,b -s 2");
    assert_eq!(options.bind_cpu, Pair::new(Some(0), Some(1)));
    assert_eq!(options.priority, Pair::new(Some(3), Some(4)));
    assert_eq!(options.tos, Pair::new(Some(0x10), Some(0x20)));
    let buffers = Buffers {
        send_alignment: Pair::new(16, 64),
        receive_alignment: Pair::new(32, 64),
        send_offset: Pair::new(1, 0),
        receive_offset: Pair::new(0, 2),
        send_width: Some(4),
        receive_width: Some(5),
    };
    assert_eq!(options.buffers, buffers);
    assert!(options.keepalive);
    assert_eq!(options.fill_file, Pair::new(Some("a".into()), Some("b".into())));
    assert_eq!(options.wait_s, 2);
    assert_eq!(read("-T 3").bind_cpu, Pair::both(Some(3)));
    assert_eq!(read("-T ,3").bind_cpu, Pair::new(None, Some(3)));
}

#[test]
fn cpu_rates_are_words_that_begin_with_a_digit() {
    let measured = |rate| Some(CpuMeasure { rate });
    assert_eq!(read("-c -C 99.5").cpu, Pair::new(measured(None), measured(Some(99.5))));
    assert_eq!(read("-C -H db1").cpu, Pair::new(None, measured(None)));
}

#[test]
fn how_it_is_told() {
    let options = read("-P 0 -v 2 -B brand -D -0.20 -f g -j -J");
    let display = &options.display;
    assert_eq!((display.headers, display.verbosity, display.unit), (false, 2, Unit::Gbits));
    assert_eq!(display.brand.as_deref(), Some("brand"));
    assert_eq!(display.interim, Some(Interim { interval_ns: 200_000_000 }));
    assert!(display.keep_latency && options.own.json);
}

#[test]
fn what_is_ours() {
    let options = read("--json --record r.json --samples=s.csv --pacing spin -t UDP_RR -- --pacing hybrid");
    assert_eq!(options.own.record, Some(PathBuf::from("r.json")));
    assert_eq!(options.own.samples.unwrap().path, PathBuf::from("s.csv"));
    assert_eq!(options.own.pacing, Some(Pacing::Hybrid));
}

#[test_case("-t TCP_RR", Unit::Transactions; "transactions")]
#[test_case("-t TCP_STREAM", Unit::Mbits; "a stream")]
#[test_case("-t TCP_STREAM -f x", Unit::Mbits; "a stream has no transactions")]
#[test_case("-t TCP_CC -f k", Unit::Kbits; "as asked")]
#[test_case("-t omni -- -d rr", Unit::Transactions; "transactions of omni")]
fn units(line: &str, expected: Unit) {
    assert_eq!(read(line).display.unit, expected);
}

#[test_case("", "Send", Transport::Tcp; "nothing said")]
#[test_case("-d rr -T UDP", "Send|Recv", Transport::Udp; "rr by datagrams")]
#[test_case("-d recv", "Receive", Transport::Tcp; "receive")]
#[test_case("-d maerts", "Receive", Transport::Tcp; "maerts")]
#[test_case("-d send|recv", "Send|Recv", Transport::Tcp; "joined")]
#[test_case("-d 6", "Send|Recv", Transport::Tcp; "by number")]
#[test_case("-d 0x4", "Receive", Transport::Tcp; "by hexadecimal number")]
#[test_case("-c -d 0", "Connection", Transport::Tcp; "connect and close")]
#[test_case("-c -d rr", "Connect|Send|Recv", Transport::Tcp; "a connection each")]
#[test_case("-d CRR", "Connect|Send|Recv", Transport::Tcp; "what crr must mean")]
#[test_case("-r 10", "Send|Recv", Transport::Tcp; "sizes of transactions")]
#[test_case("-d send -r 10", "Send", Transport::Tcp; "a direction goes first")]
#[test_case("-m 10", "Send", Transport::Tcp; "a size to send")]
#[test_case("-m ,10", "Receive", Transport::Tcp; "a size to be sent")]
#[test_case("-M 10,20", "Send|Recv", Transport::Tcp; "both sizes")]
#[test_case("-t dgram", "Send", Transport::Udp; "by socket type")]
#[test_case("-T sctp -d stream", "Send", Transport::Sctp; "as PerfKit asks for SCTP")]
fn omni(test_options: &str, direction: &str, transport: Transport) {
    let data = read(&format!("-t omni -- {test_options}")).data;
    assert_eq!((data.direction.words(), data.transport), (direction, transport));
}

#[test]
fn the_data_connection() {
    let line = "-t TCP_RR -- -r 128,1024 -b 4 -D -C -s 1K,2K -S 3K -P 1,2 -H db2,6 -L ::1 -K cubic,reno -G 1400b -R 0";
    let data = read(line).data;
    assert_eq!((data.request_bytes, data.response_bytes, data.first_burst), (Some(128), Some(1_024), 4));
    assert!(data.nodelay && data.cork && !data.routing);
    assert_eq!(data.send_buffer_bytes, Pair::new(Some(1_024), Some(3_072)));
    assert_eq!(data.receive_buffer_bytes, Pair::new(Some(2_048), Some(3_072)));
    assert_eq!((data.port, data.mss_bytes), (Pair::new(1, 2), Some(1_400)));
    let remote = DataAddress { host: "db2".into(), mask: None };
    assert_eq!(data.address, Pair::new(Some(DataAddress { host: "::1".into(), mask: None }), Some(remote)));
    assert_eq!(data.family, Family::V6);
    assert_eq!(data.congestion, Pair::new(Some("cubic".into()), Some("reno".into())));
}

#[test]
fn the_rest_of_it() {
    let data = read("-t omni -- -T udp -d rr -e 2 -n -N -a -B -u id -q 1000").data;
    assert_eq!(
        (data.receive_timeout_s, data.connected, data.max_pacing_rate),
        (Some(2), Pair::both(true), Some(1_000))
    );
    assert!(data.defer_accept && data.packet_info);
    assert_eq!(data.uuid.as_deref(), Some("id"));
    assert_eq!(read("-t TCP_CRR -- -p 5000,6000").data.port_range, Some((5_000, 6_000)));
}

#[test_case("-t UDP_STREAM", false; "datagrams one way")]
#[test_case("-t UDP_STREAM -- -R 1", true; "unless asked")]
#[test_case("-t UDP_RR", true; "transactions")]
#[test_case("-t TCP_STREAM", true; "a stream")]
#[test_case("-t omni -- -T udp -d recv", false; "datagrams of omni")]
fn a_router_may_be_crossed(line: &str, expected: bool) {
    assert_eq!(read(line).data.routing, expected);
}

#[test]
fn the_last_form_counts_and_takes_the_next_word() {
    let options = read("-t TCP_RR -- -o MEAN_LATENCY -k THROUGHPUT -r 5");
    let expected = Selection::Blocks(vec![vec!["THROUGHPUT"]]);
    assert_eq!(options.display.form, Form::Keyval(expected));
    assert_eq!(read("-t TCP_RR -- -O -r 5").display.form, Form::Human(Selection::Default));
    assert_eq!(options.data.request_bytes, Some(5));
}

#[test_case("-t TCP_RR -n 4", 1; "a number of CPUs")]
#[test_case("-t TCP_RR -k 1,2", 1; "dirty buffers")]
#[test_case("-t TCP_RR -d", 1; "debugging")]
#[test_case("-t TCP_RR -w 1ms", 1; "an interval alone")]
#[test_case("-t TCP_RR -s 6", 1; "a long pause")]
#[test_case("-D 1,100", 1; "a guess of units")]
#[test_case("-t TCP_RR stray -- stray", 2; "stray words")]
#[test_case("-t TCP_RR -- -d send", 1; "a direction of a named test")]
#[test_case("-t TCP_RR -- -T udp", 1; "a transport of a named test")]
#[test_case("-t TCP_RR -- -T tcp -d rr", 0; "what the name says anyway")]
#[test_case("-t TCP_RR -- -i 3 -j 3 -w 3", 3; "letters without effect")]
#[test_case("-t TCP_CC -- -k THROUGHPUT", 2; "selectors of a classic test")]
#[test_case("-t TCP_RR -- -z", 1; "an unknown letter")]
#[test_case("-t TCP_RR -- -r", 1; "a letter without its value")]
#[test_case("-t TCP_RR -- -V -I -g -p 1,9", 4; "letters that choose among calls, and a range that no test takes")]
fn nothing_is_ignored_in_silence(line: &str, notes: usize) {
    let options = read(line);
    assert_eq!(options.notes.len(), notes, "{:?}", options.notes);
}

#[test_case("-X", "netperf: invalid option -- 'X'\n\nUsage: netperf"; "an unknown letter")]
#[test_case("-l", "netperf: option requires an argument -- 'l'\n\nUsage: netperf"; "no value")]
#[test_case("--jsn", "netperf: unrecognized option '--jsn'\n\nUsage: netperf"; "no long option")]
#[test_case("-h", "\nUsage: netperf [global options] -- [test options] \n\nGlobal options:\n"; "help")]
#[test_case("-l 1.5", "netperf: -l 1.5: takes whole numbers"; "a fraction of seconds")]
#[test_case("-l 500ms", "netperf: -l 500ms: takes whole seconds"; "milliseconds")]
#[test_case("-l soon", "netperf: -l soon: is no number"; "no length")]
#[test_case("-p 99999", "netperf: -p 99999: is no port"; "no port")]
#[test_case("-Y best", "netperf: -Y best: is no type of service"; "no type of service")]
#[test_case("-D 0", "netperf: -D 0: takes seconds"; "no interval")]
#[test_case("-v -1", "netperf: -v -1: may not be negative"; "no verbosity")]
#[test_case("-I 99,-1", "netperf: -I 99,-1: takes a width above 0"; "no width")]
#[test_case("-N", "netperf: -N: without a control connection"; "no control connection")]
#[test_case("-t SCTP_STREAM", "netperf: -t SCTP_STREAM: SCTP is measured by omni"; "SCTP by name")]
#[test_case("--pacing slow", "netperf: --pacing slow: takes sleep, spin or hybrid"; "no pacing")]
#[test_case("--samples f.txt", "netperf: --samples f.txt: ends in no format"; "no format of samples")]
#[test_case("-t omni -- -d up", "netperf: -- -d up: is no direction"; "no direction")]
#[test_case("-t omni -- -T ipx", "netperf: -- -T ipx: is no transport"; "no transport")]
#[test_case("-t omni -- -t raw", "netperf: -- -t raw: is no socket type"; "no socket type")]
#[test_case("-t TCP_CRR -- -p 9,1", "netperf: -- -p 9,1: is no range"; "no range")]
#[test_case("-t TCP_RR -- -H db1/x", "netperf: -- -H db1/x: has no number of bits"; "no mask")]
#[test_case("-t UDP_RR -- -l 4", "netperf: -- -l 4: multicast"; "multicast")]
#[test_case("-t TCP_RR -- -F", "netperf: -- -F: TCP Fast Open"; "fast open")]
#[test_case("-t omni -- -T dccp", "netperf: -- -T dccp: DCCP is not measured"; "DCCP")]
#[test_case("-J -t omni -- -T sctp", "netperf: --json, --record: a record has no word"; "a record of SCTP")]
#[test_case("-t TCP_CRR -- -U", "netperf: -- -U: a connection"; "any error")]
fn what_is_refused_says_why(line: &str, begin: &str) {
    let answer = answer(line);
    assert!(answer.stderr.starts_with(begin), "{answer:?}");
    assert_eq!((answer.stdout.as_str(), answer.status), ("", 1));
}

#[test_case("--buckets 9"; "too few")]
#[test_case("--buckets 10001"; "too many")]
#[test_case("--buckets some"; "no number")]
fn columns_have_bounds(words: &str) {
    assert!(answer(words).stderr.contains("takes the columns of each row of the histogram, 10 to 10000"));
}

#[test]
fn columns_follow_who_reads_them() {
    let columns = |line: &str| read(line).buckets();
    assert_eq!([columns("-v 2"), columns("-v 2 -- -k all"), columns("-v 2 -- -o all")], [10, 10, 1_000]);
    assert_eq!(columns("-v 2 --buckets 100 -- -o all"), 100);
}

#[test]
fn an_empty_word_is_no_value() {
    let refused = |words: &[&str]| {
        let words: Vec<String> = words.iter().map(ToString::to_string).collect();
        parse("netperf", &words).unwrap_err().stderr
    };
    assert_eq!(refused(&["-H", ""]), "netperf: -H: needs a value\n");
    assert_eq!(refused(&["-t", "TCP_RR", "--", "-r", ""]), "netperf: -- -r: needs a value\n");
    let words = ["-B", ""].map(str::to_owned);
    assert_eq!(parse("netperf", &words).unwrap().display.brand, None);
}

#[test]
fn answers_on_standard_output() {
    let level = answer("-t TCP_RR -I 90");
    assert_eq!((level.stdout, level.status), (Transcript::of("d42_bad_level").stdout, 255));
    let level = answer("-I ,8");
    assert_eq!((level.stdout.lines().count(), level.status), (1, 255));
    let test = answer("-H localhost -t NO_SUCH -l 1");
    let transcript = Transcript::of("61_err_unknown_test");
    assert_eq!((test.stdout, test.status), (transcript.stdout, transcript.status));
    let version = answer("-V");
    assert_eq!((version.stdout, version.status), (Transcript::of("67_version").stdout, 0));
    for (line, title) in [
        ("-t TCP_RR -- -h", "OMNI and Migrated BSD Sockets Test Options:"),
        ("-t TCP_CC -- -h", "TCP/UDP BSD Sockets Test Options:"),
    ] {
        let help = answer(line);
        let begin = format!("\nUsage: netperf [global options] -- [test options] \n\n{title}\n");
        assert!(help.stdout.starts_with(&begin) && help.stderr.is_empty() && help.status == 1, "{help:?}");
    }
}

/// Ours stand before the last name, which the original has at the end of its table.
#[test_case("-O", '\n', "47_selector_list"; "one a line")]
#[test_case("-o", ',', "C2_csv_list"; "in one line")]
fn all_names(letter: &str, separator: char, name: &str) {
    let transcript = Transcript::of(name);
    let found = answer(&format!("-t TCP_RR -- {letter} ?"));
    let ours: Vec<&str> = found.stdout.trim_end().split(separator).collect();
    let theirs: Vec<&str> = transcript.stdout.trim_end().split([',', '\n']).collect();
    let own = selector::names().count() + 2 - theirs.len();
    assert_eq!(ours[..theirs.len() - 1], theirs[..theirs.len() - 1]);
    assert_eq!((ours.len() - theirs.len(), ours.last()), (own, Some(&"OUTPUT_END")));
    assert_eq!((found.stdout.ends_with('\n'), found.status), (true, 1));
}

#[test]
fn a_file_that_is_not_there() {
    let transcript = Transcript::of("46_single_unknown_selector");
    let mut options = parse("netperf", &transcript.words).unwrap();
    let gone = |_: &std::path::Path| Err(std::io::Error::from_raw_os_error(2));
    let answer = crate::persona::netperf::selection::resolve(&mut options, gone).unwrap_err();
    assert_eq!((answer.stdout, answer.status), (transcript.stdout, 255));
}

#[test]
fn lines_of_the_server() {
    for name in ["netserver_3_foreground", "netserver_5_default", "netserver_4_port_in_use", "netserver_2_V"] {
        let transcript = Transcript::of(name);
        match server::parse("netserver", &transcript.words) {
            Ok(options) if name.contains("in_use") => assert_eq!(options.unable(), transcript.stderr),
            Ok(options) => assert_eq!(options.starting(), transcript.stdout),
            Err(answer) => assert_eq!((answer.stdout, answer.status), (transcript.stdout, 0)),
        }
    }
}

#[test_case("-t TCP_RR", false; "a table")]
#[test_case("-t TCP_RR -j", true; "asked for")]
#[test_case("-t TCP_RR -v 2", true; "a histogram")]
#[test_case("-t TCP_RR -- -k THROUGHPUT,LOST", false; "other selectors")]
#[test_case("-t TCP_RR -- -o THROUGHPUT,p999_latency", true; "a percentile of ours")]
#[test_case("-t TCP_RR -- -O all", true; "everything")]
#[test_case("-t TCP_RR -- -O", false; "the default")]
#[test_case("-t TCP_RR -- -O file", true; "a file nobody has read yet")]
fn durations_are_kept_where_something_tells_them(line: &str, expected: bool) {
    assert_eq!(wants_latency(&read(line)), expected);
}

#[test]
fn the_command_line_is_kept() {
    let line = "-t omni -H localhost -- -d rr -T UDP -k all";
    let options = parse("/usr/bin/netperf", &words(line)).unwrap();
    assert_eq!(options.command_line, format!("netperf {line}"));
}
