//! Command lines and what they mean.

use test_case::test_case;

use super::*;
use crate::persona::iperf::options::frames::Content;
use crate::persona::iperf::options::table::ENTRIES;
use crate::persona::iperf::transcript;

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

fn asked(line: &str) -> Asked {
    parse(&words(line), |_| None).unwrap_or_else(|answer| panic!("{line}: {answer:?}"))
}

fn answer(line: &str) -> Answer {
    parse(&words(line), |_| None).unwrap_err()
}

fn client(line: &str) -> Client {
    match asked(line).role {
        Role::Client(client) => client,
        Role::Server(_) => panic!("{line} is a server"),
    }
}

fn server(line: &str) -> Server {
    match asked(line).role {
        Role::Server(server) => server,
        Role::Client(_) => panic!("{line} is a client"),
    }
}

/// Options in the help of 2.1.8, seen there, and those that 2.2.1 has beside them.
const THEIRS: &str = "-b --bandwidth -e --enhanced -f --format --hide-ips -i --interval -l --len -m --print_mss -o --output -p \
    --port --permit-key --sum-only -u --udp -w --window -z --realtime -B --bind -C --compatibility -M --mss -N --nodelay -S --tos -Z \
    --tcp-congestion -s --server -1 --singleclient --histograms --permit-key-timeout --tcp-rx-window-clamp --tap-dev -t --time \
    --udp-histogram -U --single_udp --sum-dstip -D --daemon -V --ipv6_domain --bounceback --bounceback-congest --bounceback-hold \
    --bounceback-period --bounceback-no-quickack -c --client --connect-only --connect-retries -d --dualtest --fq-rate --full-duplex \
    --ipg --isochronous --incr-dstip --incr-dstport --incr-srcip --incr-srcport --local-only --near-congestion --no-connect-sync \
    --no-udp-fin -n --num -r --tradeoff --tcp-quickack --tcp-write-prefetch --tcp-write-times --trip-times --txdelay-time \
    --txstart-time -F --fileinput -H --ssm-host -I --stdin -L --listenport -P --parallel -R --reverse -T --ttl -X --peer-detect -x \
    --reportexclude -y --reportstyle -h --help -v --version \
    --working-load --bounceback-request --bounceback-reply --burst-period --burst-size --sync-transfer-id --udp-l4s \
    --dscp --utc --ignore-shutdown --skip-rx-copy --tcp-tx-delay --bounceback-txdelay --connect-retry-time \
    --connect-retry-timer --fq-rate-step --fq-rate-step-interval --jitter-histograms --test-exchange-timeout --udp-l4s-video \
    --working-load-cca";

/// By the option that 2.0.13 has and later ones have not, or by the environment.
#[test_case("-c db1 -e", None, (true, Form::V2_2_1, 4); "today's")]
#[test_case("-c db1 --enhancedreports", None, (true, Form::V2_0_13, 2); "by the older option")]
#[test_case("-c db1 --enhancedreports --decimals 4", None, (true, Form::V2_0_13, 4); "with today's times")]
#[test_case("-c db1 -e", Some("2.0.13"), (true, Form::V2_0_13, 2); "by environment")]
#[test_case("-c db1 -e", Some("2.1.8"), (true, Form::V2_1_8, 4); "Debian 12's, by environment")]
#[test_case("-c db1", Some("2.0.5"), (false, Form::V2_2_1, 4); "of no version there is")]
fn an_older_form_is_chosen(line: &str, form: Option<&str>, expected: (bool, Form, usize)) {
    let variable = |name: &str| form.filter(|_| name == "SONDE_IPERF_FORM").map(str::to_owned);
    let asked = parse(&words(line), variable).unwrap();
    let Role::Client(client) = asked.role else { panic!("a server") };
    let display = client.common.display;
    assert_eq!((display.enhanced, display.form, display.decimals), expected);
    assert_eq!(asked.notes.iter().any(|note| note.starts_with("SONDE_IPERF_FORM=2.0.5: ")), form == Some("2.0.5"));
}

#[test_case("--dscp ef", Some(0xb8); "by name")]
#[test_case("--dscp 46", Some(0xb8); "by number")]
#[test_case("-S 0x20 --dscp 0x2e", Some(0xb8); "the last counts")]
#[test_case("--dscp 46 -S 0x20", Some(0x20); "and so it does here")]
fn a_code_point_is_shifted(line: &str, octet: Option<u8>) {
    assert_eq!(client(&format!("-c db1 {line}")).common.tos, octet);
}

#[test]
fn every_option_of_the_original_is_known() {
    for theirs in THEIRS.split_whitespace() {
        let known = ENTRIES.iter().any(|entry| match theirs.strip_prefix("--") {
            Some(name) => entry.names.contains(&name),
            None => theirs.chars().nth(1).is_some_and(|letter| entry.letters.contains(letter)),
        });
        assert!(known, "{theirs}");
    }
}

#[test]
fn no_spelling_belongs_to_two_options() {
    let mut spellings: Vec<String> = ENTRIES
        .iter()
        .flat_map(|entry| entry.letters.chars().map(String::from).chain(entry.names.iter().map(ToString::to_string)))
        .collect();
    let all = spellings.len();
    spellings.sort_unstable();
    spellings.dedup();
    assert_eq!(spellings.len(), all);
}

#[test]
fn nothing_asked_of_a_client() {
    let asked = client("-c db1");
    assert_eq!((asked.host.as_str(), asked.port, asked.kind), ("db1", 5_001, Kind::Upload));
    assert_eq!((asked.amount, asked.rate, asked.streams), (Amount::Time(Nanos::secs(10)), None, 1));
    assert_eq!((asked.common.transport, asked.common.bytes(false)), (Transport::Tcp, 131_072));
    let display = asked.common.display;
    assert_eq!((display.unit, display.interval, display.decimals), (Unit::Bits, None, 4));
}

#[test_case("--working-load", &[(Kind::FullDuplex, 1)]; "as usual")]
#[test_case("--working-load=down,4", &[(Kind::Reverse, 4)]; "from the server")]
#[test_case("--bounceback-congest=up", &[(Kind::Upload, 1)]; "by the older name")]
#[test_case("--working-load=,2", &[(Kind::FullDuplex, 2)]; "a number alone")]
#[test_case("", &[]; "none")]
fn a_load_goes_beside_requests(line: &str, expected: &[(Kind, u32)]) {
    let load = client(&format!("-c h --bounceback {line}")).load;
    assert_eq!(Vec::from_iter(load.map(|load| (load.kind, load.streams))), expected);
    let alone = asked(&format!("-c h {line}"));
    assert_eq!(alone.notes.len(), usize::from(!line.is_empty()), "{:?}", alone.notes);
}

#[test]
fn a_load_has_its_congestion_control_and_its_lead() {
    let words = "-c h --bounceback --working-load --working-load-cca reno --bounceback-txdelay 1.5";
    let load = client(words).load.unwrap();
    assert_eq!((load.congestion.as_deref(), load.delay), (Some("reno"), Nanos::millis(1_500)));
}

#[test_case("--near-congestion", Some(0.5); "half a round trip")]
#[test_case("--near-congestion=2", Some(2.0); "two")]
#[test_case("--near-congestion -R", None; "of a reader")]
#[test_case("--near-congestion -u", None; "of datagrams")]
fn writes_pause(line: &str, expected: Option<f64>) {
    assert_eq!(client(&format!("-c h {line}")).near_congestion, expected);
}

#[test]
fn datagrams_have_a_rate_and_a_size_of_their_own() {
    let asked = client("-u -c db1");
    assert_eq!((asked.rate, asked.common.bytes(false)), (Some(Rate::Bits(1_048_576)), 1_470));
    assert_eq!(asked.common.bytes(true), 1_450);
}

#[test_case("-b 10m", Some(Rate::Bits(10_000_000)); "small letters")]
#[test_case("-b 10M", Some(Rate::Bits(10_485_760)); "large letters")]
#[test_case("-u -b 1000pps", Some(Rate::Packets(1_000)); "datagrams")]
#[test_case("-u -b 1kp", Some(Rate::Packets(1_000)); "datagrams, cut short")]
#[test_case("-b 0", None; "none of TCP")]
fn rates(line: &str, expected: Option<Rate>) {
    assert_eq!(client(&format!("-c h {line}")).rate, expected);
}

#[test_case("-b 10m,1M", Some(1 << 20); "of TCP")]
#[test_case("-u -b 10m,1m", Some(1_000_000); "of UDP")]
#[test_case("-b 10m,0", None; "of nothing")]
fn a_rate_varies(line: &str, deviation: Option<u64>) {
    let asked = client(&format!("-c h {line}"));
    assert_eq!((asked.rate, asked.deviation), (Some(Rate::Bits(10_000_000)), deviation));
}

#[test_case("", None; "as it is")]
#[test_case("--histograms", Some((100, 10_000)); "of the usual bins")]
#[test_case("--histograms=1m", Some((1_000, 10_000)); "milliseconds")]
#[test_case("--histograms=50u,200", Some((50, 200)); "microseconds, and how many")]
fn bins_of_a_server(line: &str, bins: Option<(u32, u32)>) {
    assert_eq!(server(&format!("-s {line}")).histograms.map(|all| (all.width_us, all.bins)), bins);
}

#[test_case("--permit-key", None, Some(Nanos::secs(20)); "one is made")]
#[test_case("--permit-key=abcd --permit-key-timeout 0", Some("abcd"), None; "one that holds for ever")]
fn a_key_of_a_server(line: &str, key: Option<&str>, time: Option<Nanos>) {
    let expected = PermitKey { key: key.map(str::to_owned), time };
    assert_eq!(server(&format!("-s {line}")).key, Some(expected));
    assert_eq!(server("-s").key, None);
}

#[test_case("-t 2", Amount::Time(Nanos::secs(2)); "a time")]
#[test_case("-t 0.5", Amount::Time(Nanos::millis(500)); "a part of a second")]
#[test_case("-n 10M", Amount::Bytes(10 << 20); "bytes")]
#[test_case("-t 2 -n 1k", Amount::Bytes(1_000); "bytes behind a time")]
#[test_case("-n 1k -t 2", Amount::Time(Nanos::secs(2)); "a time behind bytes")]
fn amounts(line: &str, expected: Amount) {
    assert_eq!(client(&format!("-c h {line}")).amount, expected);
}

#[test]
fn a_bounce_says_more_each_second() {
    let asked = client("-c h --bounceback=5 --bounceback-period 0.1 --bounceback-hold 10 -l 1000");
    let expected = Bounceback { burst: 5, period: Some(Nanos::millis(100)), hold_ms: 10, quickack: true, reply: None };
    assert_eq!((asked.kind, asked.common.length), (Kind::Bounceback(expected), Some(1_000)));
    assert_eq!(asked.common.display.interval, Some(Nanos::secs(1)));
    assert!(asked.common.display.enhanced);
    let Kind::Bounceback(bounce) = client("-c h --bounceback --bounceback-period 0 --bounceback-no-quickack").kind
    else {
        panic!("no bounce");
    };
    assert_eq!((bounce.period, bounce.quickack), (None, false));
}

#[test_case("-B 10.0.0.2", Some("10.0.0.2"), 0, None; "an address")]
#[test_case("-B 10.0.0.2:6000", Some("10.0.0.2"), 6_000, None; "and a port")]
#[test_case("-B 10.0.0.2:6000%eth0", Some("10.0.0.2"), 6_000, Some("eth0"); "and a device")]
#[test_case("-B [::1]:6000", Some("::1"), 6_000, None; "IPv6 and a port")]
#[test_case("-B fd00::2", Some("fd00::2"), 0, None; "IPv6")]
#[test_case("-B %eth0", None, 0, Some("eth0"); "a device alone")]
fn our_own_address(line: &str, host: Option<&str>, port: u16, device: Option<&str>) {
    let bind = client(&format!("-c h {line}")).common.bind;
    assert_eq!((bind.host.as_deref(), bind.port, bind.device.as_deref()), (host, port, device));
}

#[test]
fn a_group_is_joined_at_a_device_and_no_other_address_is() {
    let asked = server("-s -u -B 239.1.1.1%lo -H 192.0.2.1");
    let bind = asked.common.bind;
    assert_eq!((bind.host.as_deref(), bind.device.as_deref()), (Some("239.1.1.1"), Some("lo")));
    assert_eq!(asked.source, Some("192.0.2.1".parse().unwrap()));
    assert!(answer("-s -u -B 192.0.2.1%lo").stderr.contains("joins groups at a device"));
    assert_eq!(client("-u -c 239.1.1.1 -T 4").hops, Some(4));
}

#[test]
fn who_bounds_what_is_unsent_is_told_more() {
    let asked = client("-c db1 --tcp-write-prefetch 16K --tcp-quickack");
    assert_eq!((asked.prefetch, asked.quick_acks, asked.common.display.enhanced), (Some(16_384), true, true));
    let udp = client("-u -c db1 --tcp-write-prefetch 16K --tcp-quickack");
    assert_eq!((udp.prefetch, udp.quick_acks, udp.common.display.enhanced), (None, false, false));
}

#[test]
fn a_server_and_its_own() {
    let asked = server("-s -u -e -i 1 -p 5001-5003 -P 2 -t 30 -D");
    assert_eq!((asked.ports, asked.connections, asked.time), ((5_001, 5_003), Some(2), Some(Nanos::secs(30))));
    assert!(asked.daemon);
}

#[test_case("-c h -R -d", "ERROR: options of --full-duplex, --reverse, -d and -r are mutually exclusive"; "two ways")]
#[test_case("-c h -u -b 0", "ERROR: option of -b 0 not supported with -u UDP: say how fast, as -b 100m"; "no limit over UDP")]
#[test_case("-s --histograms=0", "iperf: --histograms 0: takes a width of bins in microseconds, as 100 or 1m, and how many, as 100,10000"; "bins of no width")]
#[test_case("-s --histograms=1m,1000000", "iperf: --histograms 1m,1000000: takes a width of bins in microseconds, as 100 or 1m, and how many, as 100,10000"; "too many bins")]
#[test_case("-s -u --permit-key", "ERROR: Option of --permit-key not supported with UDP"; "a key over UDP")]
#[test_case("-s --permit-key=abc", "iperf: --permit-key abc: takes 4 to 128 letters, digits and signs"; "a short key")]
#[test_case("-c h --permit-key", "ERROR: option of --permit-key takes a value at a client: the key that the server says"; "no key of a client")]
#[test_case("-c h --permit-key=abcd -C", "ERROR: option of --permit-key goes with a header, which -C, --bounceback and --connect-only have not"; "a key without a header")]
#[test_case("-c h -u -F x", "ERROR: option of -F not supported with -u UDP: datagrams have headers in front"; "a file over UDP")]
#[test_case("-c h -R -F x", "ERROR: option of -F goes with a plain upload: nothing else sends what a file holds"; "a file the other way")]
#[test_case("-c h -u -X", "ERROR: option of -X or --peer-detect not supported with -u UDP"; "detecting over UDP")]
#[test_case("-c h -b 1p", "ERROR: units of pps not supported with TCP"; "datagrams over TCP")]
#[test_case("-c h -u --bounceback", "ERROR: option of --bounceback not supported with -u UDP"; "bouncing over UDP")]
#[test_case("-c h -C -R", "ERROR: option of -C or --compatibility goes with a plain test alone: who reads no header cannot be asked"; "compatible and more")]
#[test_case("-c h -L 6000", "ERROR: option of -L goes with -d and -r alone"; "waiting for nobody")]
#[test_case("-c h -B 10.0.0.2:6000 -P 2", "ERROR: option of -B with a port goes with one stream: two cannot have the same"; "one port for two")]
#[test_case("-c h -p 70000", "iperf: --port 70000: takes a port, from 1 to 65535"; "no port")]
#[test_case("-c h -t 0", "iperf: --time 0: takes 0.01 seconds or more"; "no time")]
#[test_case("-c h -n 0", "iperf: --num 0: takes a number of bytes above 0, as 10M"; "no bytes")]
#[test_case("-c h -i 0.001", "iperf: --interval 0.001: takes 0.005 seconds or more, or 0 for none"; "too often")]
#[test_case("-c h -u -l 70000", "iperf: --len 70000: takes 1 to 65507 bytes, as 1000, 8k or 128K"; "too long for a datagram")]
#[test_case("-c h -b 0,1m", "iperf: --bandwidth 0,1m: takes bits a second, as 10m, with a deviation, as 10m,1m, or datagrams a second, as 1000pps"; "a deviation from nothing")]
#[test_case("-c h -u -b 100pps,10", "iperf: --bandwidth 100pps,10: takes bits a second, as 10m, with a deviation, as 10m,1m, or datagrams a second, as 1000pps"; "datagrams that vary")]
#[test_case("-c h -y J", "iperf: --reportstyle J: takes C"; "another style")]
#[test_case("-c h -f x", "iperf: --format x: takes a, b, k, m, g, A, B, K, M or G"; "no unit")]
#[test_case("-c h --bounceback --bounceback-reply 60", "iperf: --bounceback-reply 60: takes 68 to 1048576 bytes, as 1000, 8k or 128K"; "too short a reply")]
#[test_case("-s -c h", "iperf: -s -c: one run is one end: leave one of them away"; "both ends")]
#[test_case("-c h --isochronous=0:1m", "iperf: --isochronous 0:1m: takes frames a second and their rate, as 60:20m, with a deviation, as 60:20m,2m"; "no frames")]
#[test_case("-c h --burst-period 0", "iperf: --burst-period 0: takes seconds from 0.00001, as 0.1"; "no period")]
fn refusals(line: &str, expected: &str) {
    let answer = answer(line);
    assert_eq!((answer.stderr.trim_end(), answer.status), (expected, 1));
}

#[test_case("-s -R", &["--reverse: has no effect at a server"]; "a client's at a server")]
#[test_case("-c h -D", &["--daemon: has no effect at a client"]; "a server's at a client")]
#[test_case("-u -c h -M 1000 -N", &["--mss: has no effect on UDP", "--nodelay: has no effect on UDP"]; "of TCP over UDP")]
#[test_case("-c h --bounceback-hold 1", &["--bounceback-hold: has no effect without --bounceback"]; "of a bounce without one")]
#[test_case("-c h -n 1 -t 1", &["--num: has no effect before -t"]; "bytes before a time")]
#[test_case("-c h -F x -t 2", &["--time: has no effect beside -F: a test ends with its file"]; "a time beside a file")]
#[test_case("-c h -R -b 10m,1m", &["--bandwidth: the server is told the mean, and its rate does not vary"]; "a server's rate")]
#[test_case("-s --permit-key-timeout 5", &["--permit-key-timeout: has no effect without --permit-key"]; "a time of no key")]
#[test_case("-c h", &[]; "nothing")]
fn notes(line: &str, expected: &[&str]) {
    assert_eq!(asked(line).notes, expected);
}

#[test]
fn what_is_typed_counts_more_than_the_environment() {
    let variable = |name: &str| (name == "IPERF_TIME").then(|| "3".to_owned());
    let amount = |line: &str| match parse(&words(line), variable).unwrap().role {
        Role::Client(client) => client.amount,
        Role::Server(_) => panic!("a server"),
    };
    assert_eq!(amount("-c h"), Amount::Time(Nanos::secs(3)));
    assert_eq!(amount("-c h -t 4"), Amount::Time(Nanos::secs(4)));
}

#[test]
fn neither_end_is_a_complaint() {
    let answer = answer("-u");
    assert_eq!(answer.stderr, "Usage: iperf [-s|-c host] [options]\nTry `iperf --help' for more information.\n");
    assert_eq!(answer.status, 1);
}

#[test]
fn the_help_names_every_option_that_has_an_effect() {
    let help = answer("-h").stderr;
    for entry in ENTRIES {
        assert!(help.contains(&entry.name()), "{}", entry.name());
    }
    assert!(answer("-v").stderr.starts_with("iperf version 2.2.1-sonde."));
}

#[test]
fn every_option_of_the_transcripts_is_read() {
    for run in transcript::all() {
        if run.file.starts_with("11-") || run.words.iter().any(|word| word.contains("sync-transfer-id")) {
            continue;
        }
        let asked = run.asked().unwrap_or_else(|answer| panic!("{:?}: {answer:?}", run.words));
        assert_eq!(asked.notes, Vec::<String>::new(), "{:?}", run.words);
    }
}

#[test_case("--isochronous", 60.0, Content::Varying { mean: 20_000_000, deviation: 0 }; "nothing is said")]
#[test_case("--isochronous=30", 30.0, Content::Varying { mean: 20_000_000, deviation: 0 }; "frames alone")]
#[test_case("--isochronous=30:4m,1m", 30.0, Content::Varying { mean: 4_000_000, deviation: 1_000_000 }; "all of it")]
#[test_case("--isochronous=0.5:1M -u", 0.5, Content::Varying { mean: 8 << 20, deviation: 0 }; "bytes")]
#[test_case("--burst-period 0.1 --burst-size 200K", 10.0, Content::Fixed(200 << 10); "bursts")]
#[test_case("-u --burst-period 0.5", 2.0, Content::Fixed(1 << 20); "bursts of the usual size")]
#[test_case("-u --burst-size 20K", 1.0, Content::Fixed(20 << 10); "bursts at the usual times")]
#[test_case("-u --burst-size 10000 -b 800k", 10.0, Content::Fixed(10_000); "bursts at a rate")]
#[test_case("-u --burst-period 0.1 -b 800k", 10.0, Content::Fixed(10_000); "bursts of a rate")]
fn frames_are_read(words: &str, per_second: f64, content: Content) {
    let client = client(&format!("-c h {words}"));
    assert_eq!(client.frames, Some(Frames { per_second, content, gap: Nanos::ZERO }));
    assert!(client.common.display.enhanced);
}

#[test_case("--isochronous=nan:1m"; "no number")]
#[test_case("--isochronous=60:nan"; "a mean that is none")]
#[test_case("--isochronous=60:0"; "a mean of nothing")]
#[test_case("--isochronous=60:,1m"; "a deviation without a mean")]
#[test_case("--isochronous=60:"; "a mean left out")]
#[test_case("--isochronous=60:1m,"; "a deviation left out")]
#[test_case("--isochronous=60:1m,x"; "a deviation that is none")]
#[test_case("--isochronous=60:1m,1m,1m"; "one number more")]
#[test_case("--isochronous=60:10p"; "datagrams")]
#[test_case("--isochronous=1:8000000G"; "a frame as large as nothing is")]
#[test_case("--isochronous=1000000:1m"; "more frames than a timer keeps")]
#[test_case("--isochronous=60:1m -b 1m"; "a rate besides")]
#[test_case("--isochronous=60:1m --burst-period 1"; "bursts besides")]
#[test_case("--isochronous=60:1m -R"; "the server's frames")]
#[test_case("--isochronous=60:1m -u -l 111"; "datagrams shorter than their headers")]
#[test_case("--burst-period 0.1"; "bursts of no size")]
#[test_case("--burst-period 0.1 --burst-size 1K"; "bursts smaller than a write")]
#[test_case("-u --ipg 1"; "a gap in no frame")]
#[test_case("-u --ipg -1 --isochronous"; "a gap below nothing")]
fn frames_that_cannot_be_are_refused(words: &str) {
    let text = answer(&format!("-c h {words}")).stderr;
    assert!(text.starts_with("ERROR: ") || text.starts_with("iperf: --"), "{text}");
}
