//! Command lines and what they mean.

use test_case::test_case;

use super::*;
use crate::persona::sockperf::options::table::entries;

fn asked(line: &str) -> Asked {
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    parse(&words).unwrap_or_else(|answer| panic!("{line}: {answer:?}"))
}

fn answer(line: &str) -> Answer {
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    parse(&words).unwrap_err()
}

fn client(line: &str) -> Client {
    match asked(line).command {
        Command::Client(client) => client,
        Command::Server(_) => panic!("{line} is a server"),
    }
}

fn server(line: &str) -> Server {
    match asked(line).command {
        Command::Server(server) => server,
        Command::Client(_) => panic!("{line} is a client"),
    }
}

fn load(line: &str) -> Load {
    *client(line).kind.load().unwrap()
}

fn udp(host: Option<&str>, port: u16) -> Place {
    Place::One(Socket { transport: Transport::Udp, host: host.map(str::to_owned), port })
}

/// A common value as the original's help names it.
const EVERYWHERE: &str = "-h -? --help --usage --tcp --stream -i --addr --ip -p --port -f --file -F --iomux-type \
    --timeout -a --activity -A --Activity --tcp-avoid-nodelay --tcp-skip-blocking-send --tos --mc-rx-ip --mc-rx-if \
    --mc-tx-ip --mc-tx-if --mc-loopback-enable --mc-ttl --mc-source-filter --uc-reuseaddr --lls --buffer-size \
    --nonblocked --recv_looping_num --dontwarmup --pre-warmup-wait --zcopyread --vmazcopyread --daemonize --no-rdtsc \
    --load-vma --load-xlio --rate-limit --set-sock-accl -d --debug --tls";
const CLIENTS: &str = "--srv-num --sender-affinity --receiver-affinity --full-log --full-rtt --giga-size \
    --increase_output_precision --tcp_nb_connect_timeout_ms --dummy-send";
const LOADS: &str = "-t --time --client_port --client_ip --client_addr -b --burst --mps --pps -m --msg-size -r --range";
const OURS: &str = "--json --record --samples --pacing";

/// Options in the help of both versions, seen with sockperf 3.7 and 3.10, and those that are ours.
#[test_case(Subcommand::UnderLoad, &[EVERYWHERE, CLIENTS, LOADS, "--reply-every --ci_sig_level --histogram", OURS])]
#[test_case(Subcommand::PingPong, &[EVERYWHERE, CLIENTS, LOADS, "-n --number-of-packets --data-integrity --ci_sig_level --histogram", OURS])]
#[test_case(Subcommand::Throughput, &[EVERYWHERE, CLIENTS, LOADS, OURS])]
#[test_case(Subcommand::Playback, &[EVERYWHERE, CLIENTS, "--reply-every --data-file --ci_sig_level --histogram", OURS])]
#[test_case(Subcommand::Server, &[EVERYWHERE, "--threads-num --cpu-affinity --rxfiltercb --vmarxfiltercb --force-unicast-reply --dont-reply -m --msg-size -g --gap-detection"])]
fn the_options_are_those_of_the_original(subcommand: Subcommand, expected: &[&str]) {
    let ours = entries(subcommand).into_iter().flat_map(|entry| {
        let letters = entry.letters.chars().map(|letter| format!("-{letter}"));
        letters.chain(entry.names.iter().map(|name| format!("--{name}"))).collect::<Vec<_>>()
    });
    let mut ours: Vec<String> = ours.collect();
    let mut theirs: Vec<&str> = expected.iter().flat_map(|names| names.split_whitespace()).collect();
    ours.sort_unstable();
    theirs.sort_unstable();
    assert_eq!(ours, theirs);
}

#[test]
fn nothing_asked_of_a_client() {
    let asked = asked("pp");
    let expected = Client {
        common: Common {
            place: udp(None, 11_111),
            activity: None,
            nodelay: true,
            skip_blocking_send: false,
            tos: None,
            reuse_address: false,
            busy_poll_us: None,
            buffer_bytes: None,
            nonblocked: false,
            skip_warm_up: false,
            pre_warm_up_wait_s: 0,
            daemonize: false,
            pacing_rate: None,
        },
        kind: Kind::PingPong {
            load: Load { stop: Stop::Seconds(1), rate: Mps::Max, burst: 1, size: Size { most: 14, range: 0 } },
            data_integrity: false,
        },
        local: Local::default(),
        sender_cpus: CpuList::default(),
        receiver_cpus: CpuList::default(),
        connect_timeout_ms: 5_000,
        display: Display {
            full_log: None,
            full_rtt: false,
            giga_size: false,
            increase_output_precision: false,
            ci_level: 99,
            histogram: None,
        },
        multicast: Multicast::default(),
    };
    assert_eq!((asked.command, asked.own, asked.notes), (Command::Client(expected), Own::default(), vec![]));
}

#[test]
fn nothing_asked_of_a_server() {
    let server = server("sr");
    assert_eq!((server.common.place, server.threads, server.largest_message), (udp(None, 11_111), 1, 65_507));
    assert!(!server.dont_reply && !server.gap_detection && server.common.nodelay);
    assert_eq!((server.cpus, server.multicast), (CpuList::default(), Multicast::default()));
}

#[test_case("sr"; "a server")]
#[test_case("ul"; "a client")]
fn groups(subcommand: &str) {
    let is_server = subcommand == "sr";
    let line =
        "-i 224.4.4.4 --mc-rx-ip eth0 --mc-tx-if 10.0.0.1 --mc-loopback-enable --mc-ttl 7 --mc-source-filter db1";
    let asked = asked(&format!("{subcommand} {line}{}", if is_server { " --force-unicast-reply" } else { "" }));
    let (multicast, place) = match asked.command {
        Command::Server(server) => (server.multicast, server.common.place),
        Command::Client(client) => (client.multicast, client.common.place),
    };
    let expected = Multicast {
        receive_interface: Some("eth0".to_owned()),
        send_interface: Some("10.0.0.1".to_owned()),
        loopback: true,
        ttl: 7,
        source: Some("db1".to_owned()),
        unicast_reply: is_server,
    };
    assert_eq!((multicast, place, asked.notes), (expected, udp(Some("224.4.4.4"), 11_111), vec![]));
}

#[test]
fn everything_common() {
    let line = "ul -i db1 -p 7 --tcp -A 5 --tcp-avoid-nodelay --tcp-skip-blocking-send --tos 0x10 --uc-reuseaddr --lls 50 \
                --buffer-size 8192 --nonblocked --dontwarmup --pre-warmup-wait 3 --daemonize --rate-limit 1000 --no-rdtsc";
    let asked = asked(line);
    let Command::Client(client) = asked.command else { panic!("a client") };
    let expected = Common {
        place: Place::One(Socket { transport: Transport::Tcp, host: Some("db1".into()), port: 7 }),
        activity: Some(Activity { every: 5, detailed: true }),
        nodelay: false,
        skip_blocking_send: true,
        tos: Some(16),
        reuse_address: true,
        busy_poll_us: Some(50),
        buffer_bytes: Some(8_192),
        nonblocked: true,
        skip_warm_up: true,
        pre_warm_up_wait_s: 3,
        daemonize: true,
        pacing_rate: Some(1_000),
    };
    assert_eq!((client.common, asked.notes), (expected, vec![]));
}

#[test]
fn everything_of_clients() {
    let line = "ul --stream --addr ::1 --sender-affinity 0,2-3 --receiver-affinity 1 --full-log f --full-rtt \
                --tcp_nb_connect_timeout_ms 9 --client_ip 10.0.0.1 --client_port 99 --reply-every 3 --ci_sig_level 95 \
                --histogram 2:4:20 --json --record r --samples s.csv --pacing hybrid";
    let asked = asked(line);
    let Command::Client(client) = asked.command else { panic!("a client") };
    assert_eq!((&client.sender_cpus.0[..], &client.receiver_cpus.0[..]), (&[0, 2, 3][..], &[1][..]));
    assert_eq!(client.local, Local { host: Some("10.0.0.1".into()), port: 99 });
    assert_eq!((client.connect_timeout_ms, client.kind.reply_every()), (9, Some(3)));
    let display = Display {
        full_log: Some("f".into()),
        full_rtt: true,
        giga_size: false,
        increase_output_precision: false,
        ci_level: 95,
        histogram: Some(Histogram { bin_us: 2, low_us: 4, high_us: 20 }),
    };
    assert_eq!(client.display, display);
    assert!(asked.notes.len() == 1 && asked.notes[0].starts_with("--receiver-affinity"), "{:?}", asked.notes);
    let own = Own {
        json: true,
        record: Some("r".into()),
        samples: Some("s.csv".parse().unwrap()),
        pacing: Some(Pacing::Hybrid),
    };
    assert_eq!(asked.own, own);
}

#[test_case("ul", Mps::At(10_000); "under load")]
#[test_case("pp", Mps::Max; "ping-pong")]
#[test_case("tp", Mps::Max; "throughput")]
#[test_case("ul --mps max", Mps::Max; "as many as go")]
#[test_case("ul --pps=MAX", Mps::Max; "by the old name")]
#[test_case("tp --mps 0x3e8", Mps::At(1_000); "hexadecimal")]
#[test_case("tp --mps 1073741824", Mps::At(1 << 30); "the largest")]
fn rates(line: &str, expected: Mps) {
    assert_eq!(load(line).rate, expected);
}

#[test_case("pp -t 5", Stop::Seconds(5))]
#[test_case("tp --time=36000000", Stop::Seconds(36_000_000))]
#[test_case("pp -n 5000", Stop::Messages(5_000))]
fn ends(line: &str, expected: Stop) {
    assert_eq!(load(line).stop, expected);
}

#[test_case("pp -m 1000 -r 200", 1_000, 800; "down from the size asked for")]
#[test_case("pp -m 100 -r 200", 100, 14; "never below a header")]
#[test_case("pp -m 65507", 65_507, 65_507; "the largest datagram")]
#[test_case("pp -m 1048575 --tcp", 1_048_575, 1_048_575; "the largest message")]
fn sizes(line: &str, most: u32, least: u32) {
    let size = load(line).size;
    assert_eq!((size.most, size.least()), (most, least));
}

#[test_case("pp --tcp", true; "each message leaves at once")]
#[test_case("pp --tcp --tcp-avoid-nodelay", false; "unless asked")]
#[test_case("tp --tcp", false; "but not in throughput")]
#[test_case("tp --tcp --tcp-avoid-nodelay", true; "where the option turns it around")]
fn nodelay(line: &str, expected: bool) {
    assert_eq!(client(line).common.nodelay, expected);
}

#[test_case("sr -f feed", Multiplex::Epoll; "if nothing is said")]
#[test_case("sr -f feed -F s", Multiplex::Select)]
#[test_case("sr -f feed -F poll", Multiplex::Poll)]
#[test_case("sr -f feed -F r", Multiplex::Recvfrom)]
fn several_sockets(line: &str, multiplex: Multiplex) {
    assert_eq!(server(line).common.place, Place::Feed { file: "feed".into(), multiplex });
}

#[test]
fn a_server_of_several_threads() {
    let server = server("sr -f feed --threads-num 2 --cpu-affinity 1,0 -g --dont-reply -m 100000");
    assert_eq!((server.threads, server.cpus, server.largest_message), (2, CpuList(vec![1, 0]), 100_000));
    assert!(server.gap_detection && server.dont_reply);
}

#[test]
fn the_longest_message_of_a_server_is_only_ever_raised() {
    assert_eq!(server("sr -m 100").largest_message, 65_507);
}

#[test]
fn a_playback() {
    assert_eq!(client("pb --data-file p").kind, Kind::Playback { file: "p".into(), reply_every: 100 });
}

#[test_case("pp -t 1.5", "-t 1.5: is read as 1: what stands behind the number does not count"; "a fraction")]
#[test_case("ul --mps 10k", "--mps 10k: is read as 10: what stands behind the number does not count"; "a unit")]
#[test_case("pp -b 010", "-b 010: is read as 8: a leading 0 makes it octal"; "octal")]
#[test_case("pp --timeout=-1", "--timeout: has no effect"; "ticks")]
#[test_case("sr -f feed -F p", "-F: has no effect but on the output"; "the way of waiting")]
#[test_case("sr --nonblocked --recv_looping_num 5", "--recv_looping_num: has no effect"; "loops")]
#[test_case("sr -d", "-d: there is no debugging output"; "debugging")]
#[test_case("sr --tcp --tcp-skip-blocking-send", "--tcp-skip-blocking-send: has no effect"; "answers that would wait")]
#[test_case("sr --pre-warmup-wait 3", "--pre-warmup-wait: has no effect"; "a wait of a server")]
#[test_case("sr -a 1 -A 1", "-a: has no effect beside -A"; "dots beside figures")]
#[test_case("tp --full-log f", "--full-log: has no effect: nothing is answered"; "a log of nothing")]
#[test_case("tp --full-rtt", "--full-rtt: has no effect: nothing is answered"; "round trips of nothing")]
#[test_case("tp --receiver-affinity 1", "--receiver-affinity: has no effect"; "a receiver of nothing")]
#[test_case("pp --giga-size", "--giga-size: has no effect"; "bandwidth of nothing")]
#[test_case("pp --increase_output_precision", "--increase_output_precision: has no effect"; "its digits")]
#[test_case("tp --giga-size --increase_output_precision", "--increase_output_precision: has no effect beside --giga-size"; "digits of thousands")]
#[test_case("pp --tcp-avoid-nodelay", "--tcp-avoid-nodelay: has no effect without --tcp"; "no stream")]
fn what_has_no_effect_is_said(line: &str, begin: &str) {
    let notes = asked(line).notes;
    assert!(notes.len() == 1 && notes[0].starts_with(begin), "{notes:?}");
}

#[test_case("sr --zcopyread", "--zcopyread")]
#[test_case("sr --vmazcopyread", "--zcopyread")]
#[test_case("pp --load-vma", "--load-vma")]
#[test_case("pp --load-vma=libvma.so", "--load-vma")]
#[test_case("pp --load-xlio", "--load-xlio")]
#[test_case("pp --set-sock-accl", "--set-sock-accl")]
#[test_case("sr --rxfiltercb", "--rxfiltercb")]
#[test_case("sr --vmarxfiltercb", "--rxfiltercb")]
#[test_case("sr -f feed -F x", "-F socketxtreme")]
#[test_case("pp --tls", "--tls")]
#[test_case("pp --dummy-send=max", "--dummy-send")]
#[test_case("pp --srv-num 2", "--srv-num")]
#[test_case("pp -i /run/socket", "-i /run/socket")]
#[test_case("pp --client_ip /run/socket", "--client_ip /run/socket")]
fn what_cannot_be_honoured_is_refused(line: &str, option: &str) {
    let answer = answer(line);
    assert!(answer.stderr.starts_with(&format!("sockperf: {option}: ")), "{answer:?}");
    assert_eq!((answer.stdout.as_str(), answer.status), ("", 1));
}

#[test]
fn one_server_is_what_there_is() {
    assert_eq!(asked("pp --srv-num 1").notes, Vec::<String>::new());
}

/// The beginnings were seen with sockperf 3.7 and 3.10.
#[test_case("pp -t 36000001", "'-t' Invalid duration: 36000001"; "a time too long")]
#[test_case("pp -t=", "'-t' Invalid duration: ="; "an equals sign and nothing")]
#[test_case("pp -t 4294967297", "'-t' Invalid duration: 4294967297"; "a time that wraps around in the original")]
#[test_case("pp -n 0", "'-n' Invalid number of packets: 0"; "no message")]
#[test_case("pp -n 1 --mps 2", "-n conflicts with -t,--mps options"; "a number at a rate")]
#[test_case("pp -p 12x", "'-p' Invalid port"; "no port")]
#[test_case("pp -p 99999", "'-p' Invalid port"; "a port that wraps around in the original")]
#[test_case("pp --tos x", "'--tos' Invalid value: x"; "no type of service")]
#[test_case("pp --mps foo", "Invalid 18 val: foo"; "no rate")]
#[test_case("pp --mps 1073741825", "Invalid 18 val: 1073741825"; "a rate too high")]
#[test_case("pb --reply-every x", "Invalid 19 val: x"; "no distance of answers")]
#[test_case("pp -b 0", "'-b' Invalid burst size: 0"; "no burst")]
#[test_case("pp -r x", "'-r' Invalid value"; "no range")]
#[test_case("pp --tcp -m 1048576", "'-m' Invalid message size: 1048576 (max: 1048575)"; "a message too long")]
#[test_case("pp -m x", "'-m' Invalid message size: x (min: 14)"; "no size")]
#[test_case("sr -m 1048576", "'-m' Invalid message size: 1048576 (max: 1048575)"; "a message too long to take")]
#[test_case("pp -F s", "-F must be used with feed file (option '-f')"; "a way of waiting for one socket")]
#[test_case("pp -f x -F q", "'-F' Invalid mul"; "no way of waiting")]
#[test_case("pp -f x -i 1.2.3.4", "-f conflicts with -i,-p options"; "a file and an address")]
#[test_case("pp -f x -p 7", "-f conflicts with -i,-p options"; "a file and a port")]
#[test_case("pp -f x --tcp", "--tcp conflicts with -f option"; "a file and a transport")]
#[test_case("pp -f x --client_port 7", "--client_port conflicts with -f option"; "a file and a local port")]
#[test_case("pp --client_port x", "'--client_port' Invalid value"; "no local port")]
#[test_case("pp --recv_looping_num 5", "recv_looping_num larger then one must be used in a none-blocked mode only. add --nonblocked."; "loops that would wait")]
#[test_case("pp --nonblocked --recv_looping_num 0", "recv_looping_num cannot be equal to 0."; "no loop")]
#[test_case("pp --timeout=-5", "'--timeout' Invalid select/poll/epoll timeout val: -5"; "no tick")]
#[test_case("pp --buffer-size 0", "'-6' Invalid socket buffer size: 0"; "no buffer")]
#[test_case("pp --mc-ttl 300", "'-30' Invalid value: 300"; "too many hops")]
#[test_case("pp --lls=-1", "'-39' Invalid LLS value: -1"; "no polling")]
#[test_case("pp --rate-limit x", "'-42' Invalid rate limit : x"; "no pace")]
#[test_case("pp --pre-warmup-wait=-1", "'-11' Invalid pre warmup wait: -1"; "no wait")]
#[test_case("pp --tcp_nb_connect_timeout_ms 1", "--tcp_nb_connect_timeout_ms requires --tcp or -f"; "no connection")]
#[test_case("pp --tcp --tcp_nb_connect_timeout_ms x", "Invalid TCP connect timeout value x"; "no patience")]
#[test_case("pp --ci_sig_level 100", "'--ci_sig_level' Invalid Significance level: 100"; "certainty")]
#[test_case("pp --ci_sig_level", "'--ci_sig_level' Invalid value"; "no level")]
#[test_case("pp --histogram 2:4", "Invalid argument: 2:4 Format should be binsize:lowerrange:upperrange"; "half a histogram")]
#[test_case("sr -f x --threads-num 0", "'-4' Invalid threads number: 0"; "no thread")]
#[test_case("sr -f x -F r --threads-num 2", "--threads-num is incompatible with -F recvfrom"; "threads that would wait for one socket")]
#[test_case("pp -a x", "'-a' Invalid message rate stats print value: x"; "no dots")]
fn what_makes_no_sense_is_complained_of(line: &str, begin: &str) {
    let answer = answer(line);
    let mut lines = answer.stderr.lines();
    assert!(lines.next().unwrap().starts_with(&format!("sockperf: {begin}")), "{answer:?}");
    assert!(lines.next().unwrap().ends_with("--help' for help."), "{answer:?}");
    assert_eq!((answer.stdout.as_str(), answer.status), ("", 1));
}

#[test_case("pp --sender-affinity 5-2", "--sender-affinity 5-2: "; "CPUs backwards")]
#[test_case("sr --cpu-affinity zz", "--cpu-affinity zz: "; "no CPUs")]
#[test_case("pp --histogram 0:4:20", "--histogram 0:4:20: "; "bins of no width")]
#[test_case("pp --histogram 1:20:4", "--histogram 1:20:4: "; "a range backwards")]
#[test_case("pp --histogram 1:0:4000000000", "--histogram 1:0:4000000000: "; "too many bins")]
#[test_case("pp --pacing fast", "--pacing fast: "; "no pacing")]
#[test_case("pp --samples s.txt", "--samples s.txt: "; "no format of samples")]
fn what_the_original_takes_or_dies_of_is_refused(line: &str, begin: &str) {
    let answer = answer(line);
    assert!(answer.stderr.starts_with(&format!("sockperf: {begin}")), "{answer:?}");
    assert_eq!(answer.status, 1);
}

#[test_case("help", 0; "asked for")]
#[test_case("h", 0; "asked for by a letter")]
#[test_case("--help", 0; "asked for by an option")]
#[test_case("", 1; "nothing said")]
#[test_case("nosuchcommand", 1; "an unknown word")]
fn the_general_help(line: &str, status: u8) {
    let answer = answer(line);
    let (text, other) = if status == 0 { (answer.stdout, answer.stderr) } else { (answer.stderr, answer.stdout) };
    assert!(text.contains("under-load (ul)") && other.is_empty());
    assert_eq!(answer.status, status);
}

#[test]
fn the_version_says_who_answers() {
    let answer = answer("--version");
    assert!(answer.stdout.starts_with("sockperf, version 3.10-") && answer.stderr.contains("sonde"));
    assert_eq!(answer.status, 0);
}

#[test]
fn the_help_of_a_subcommand_names_every_option() {
    for subcommand in Subcommand::ALL {
        let answer = answer(&format!("{} -m -h", subcommand.alias()));
        assert_eq!(answer.status, 1, "a value is missing, and that is said first");
        let answer = self::answer(&format!("{} -h", subcommand.name()));
        assert_eq!(answer.status, 0);
        for entry in entries(subcommand) {
            assert!(entry.names.iter().all(|name| answer.stdout.contains(&format!("--{name}"))), "{:?}", entry.key);
        }
    }
}
