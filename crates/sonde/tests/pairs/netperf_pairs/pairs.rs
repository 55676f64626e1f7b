//! Every test of the original in the four pairings of ours and the original, over IPv4 and IPv6: it ends well, and its
//! values agree with each other.

use std::io::Write;
use std::thread;

use test_case::test_case;
use testbed::port;
use testbed::process::Ended;

use crate::netperf_pairs::agreement::{self, Ends};
use crate::netperf_pairs::ends::{End, PAIRINGS, Server};
use crate::netperf_pairs::fields::{Fields, interims};
use crate::netperf_pairs::forms::{Layout, compared};
use crate::netperf_pairs::transcripts;

/// Further demands on a result.
#[derive(Clone, Copy, Debug)]
enum Stop {
    /// It is by time.
    Time,
    /// So many transactions.
    Count(u64),
    /// So many bytes.
    Bytes(u64),
    /// A count that shows in no selector.
    Other,
}

use Stop::{Bytes, Count, Other, Time};

/// The families each test runs over: what a client is told of its server, and an address for data.
const FAMILIES: [(&str, &str); 2] = [("-H 127.0.0.1", "127.0.0.1"), ("-6 -H ::1", "::1")];

/// A file to send, and words with everything in braces replaced: `{file}`, and `{a}`, `{b}` by ports of their own.
fn filled(words: &str, address: &str) -> (Vec<String>, tempfile::NamedTempFile) {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(&vec![7; 1 << 20]).unwrap();
    let path = file.path().to_str().unwrap().to_owned();
    let mut filled = words.replace("{file}", &path).replace("{address}", address);
    for name in ["{a}", "{b}"] {
        if filled.contains(name) {
            filled = filled.replace(name, &port::free().to_string());
        }
    }
    (filled.split_whitespace().map(str::to_owned).collect(), file)
}

/// Runs `words` in each pairing over each family, all at the same time, and tells what `check` found wrong in which.
fn in_all_pairings(server: &[&str], words: &str, check: impl Fn(Ends, &Ended) -> Result<(), String> + Sync) {
    let complaints: Vec<String> = thread::scope(|scope| {
        let run = |client: End, with: End, (family, address): (&'static str, &'static str)| {
            let check = &check;
            scope.spawn(move || {
                let server = Server::start(with, server);
                let (words, _file) = filled(&format!("{family} {words}"), address);
                let ended = client.client(server.port, &words);
                let at = Ends { original_client: client != End::Ours, original_server: with != End::Ours };
                let wrong = check(at, &ended).err()?;
                Some(format!("{client} against {with}, {family}: {wrong}\n{}", ended.told()))
            })
        };
        let mut running = Vec::new();
        for (client, with) in PAIRINGS {
            let what = format!("`{words}`, {client} against {with}");
            if client.is_here(&what) && with.is_here(&what) {
                running.extend(FAMILIES.map(|family| run(client, with, family)));
            }
        }
        running.into_iter().filter_map(|thread| thread.join().expect("a thread of this test")).collect()
    });
    assert!(complaints.is_empty(), "`{words}`:\n{}", complaints.join("\n\n"));
}

fn went_well(ended: &Ended) -> Result<(), String> {
    if ended.overdue || ended.code != Some(0) {
        return Err("it did not end well".to_owned());
    }
    if ended.stderr.is_empty() { Ok(()) } else { Err("it complained".to_owned()) }
}

/// All rules of a result, and that it is what was asked for.
fn agrees(at: Ends, ended: &Ended, stop: Stop, facts: &[(&str, &str)]) -> Result<(), String> {
    went_well(ended)?;
    let fields = Fields::of(&ended.stdout);
    let mut wrong = agreement::complaints(&fields, at);
    match stop {
        Time => {
            // A sender's second may begin before the receiver's; what lies behind the end of a clock is waiting. Either may be
            // long where the machine has other work to do.
            let elapsed = fields.number("ELAPSED_TIME")?;
            if !(0.1..=20.0).contains(&elapsed) {
                wrong.push(format!("ELAPSED_TIME = {elapsed} of a second"));
            }
        }
        Count(count) => wrong.extend(agreement::exactly(&fields, count).err()),
        Other => {}
        Bytes(bytes) => wrong.extend(agreement::exactly_bytes(&fields, bytes).err()),
    }
    for (name, value) in facts {
        if fields.text(name) != Ok(*value) {
            wrong.push(format!("{name} is {:?}, not {value}", fields.text(name)));
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
}

const RR: &[(&str, &str)] = &[("DIRECTION", "Send|Recv"), ("THROUGHPUT_UNITS", "Trans/s")];
const SEND: &[(&str, &str)] = &[("DIRECTION", "Send"), ("THROUGHPUT_UNITS", "10^6bits/s")];
const RECEIVE: &[(&str, &str)] = &[("DIRECTION", "Receive"), ("THROUGHPUT_UNITS", "10^6bits/s")];
const CRR: &[(&str, &str)] = &[("DIRECTION", "Connect|Send|Recv"), ("THROUGHPUT_UNITS", "Trans/s")];

#[test_case("-t TCP_RR -l 1", "", Time, RR; "TCP_RR by time")]
#[test_case("-t TCP_RR -l -500", "", Count(500), RR; "TCP_RR by count")]
#[test_case("-t TCP_RR -l -200", "-r 1000,3000 -D", Count(200), &[("REQUEST_SIZE", "1000"), ("RESPONSE_SIZE", "3000"), ("LOCAL_NODELAY", "1"), ("REMOTE_NODELAY", "1")]; "TCP_RR of other sizes")]
#[test_case("-t TCP_RR -l 1", "-b 4 -D", Time, &[("BURST_SIZE", "4")]; "TCP_RR with a burst")]
#[test_case("-t TCP_RR -l -500", "-P {a},{b}", Count(500), RR; "TCP_RR between chosen ports")]
#[test_case("-t TCP_RR -l -500", "-P ,{b}", Count(500), RR; "TCP_RR to a chosen port")]
#[test_case("-t TCP_RR -l 1 -c -C", "", Time, &[("LOCAL_CPU_METHOD", "S"), ("REMOTE_CPU_METHOD", "S")]; "TCP_RR with CPU use")]
// For a second iteration the original asks for the port that it had, which the system may have given to somebody else.
#[test_case("-t TCP_RR -l 1 -i 3,3 -I 95,10", "-P ,{b}", Time, &[("CONFIDENCE_ITERATION", "3"), ("CONFIDENCE_LEVEL", "95"), ("CONFIDENCE_INTERVAL", "10.000000")]; "TCP_RR to confidence")]
#[test_case("-t TCP_RR -l -100 -i 5,3 -I 99,0.001", "-P ,{b}", Count(100), &[("CONFIDENCE_ITERATION", "5"), ("CONFIDENCE_LEVEL", "99")]; "TCP_RR to a confidence that is not reached")]
#[test_case("-t TCP_RR -l -100 -T 0,0", "", Count(100), &[("LOCAL_CPU_BIND", "0"), ("REMOTE_CPU_BIND", "0")]; "TCP_RR on chosen CPUs")]
#[test_case("-t TCP_RR -l -100 -B some", "-s 32768 -S 32768", Count(100), &[("RESULT_BRAND", "\"some\""), ("LSS_SIZE_REQ", "32768"), ("RSR_SIZE_REQ", "32768")]; "TCP_RR with chosen buffers")]
#[test_case("-t UDP_RR -l 1", "", Time, RR; "UDP_RR by time")]
#[test_case("-t UDP_RR -l 1 -i 3,3 -I 95,10", "-P ,{b}", Time, &[("CONFIDENCE_ITERATION", "3"), ("CONFIDENCE_LEVEL", "95")]; "UDP_RR to confidence")]
// By count the original waits for ever for a datagram that a busy host dropped, unless `-e` says how long.
#[test_case("-t UDP_RR -l -500", "-e 2", Count(500), RR; "UDP_RR by count")]
#[test_case("-t UDP_RR -l -500", "-r 100,1400 -e 2", Count(500), &[("REQUEST_SIZE", "100"), ("RESPONSE_SIZE", "1400")]; "UDP_RR of other sizes")]
#[test_case("-t UDP_RR -l 1", "-b 4", Time, &[("BURST_SIZE", "4")]; "UDP_RR with a burst")]
#[test_case("-t UDP_RR -l -500", "-e 2 -P {a},{b}", Count(500), RR; "UDP_RR between chosen ports")]
#[test_case("-t TCP_STREAM -l 1", "", Time, SEND; "TCP_STREAM by time")]
#[test_case("-t TCP_STREAM -l -10000000", "-m 10000 -M 5000", Bytes(10_000_000), &[("LOCAL_SEND_SIZE", "10000"), ("REMOTE_RECV_SIZE", "5000")]; "TCP_STREAM by bytes")]
#[test_case("-t TCP_STREAM -l 1 -c -C -f k", "-D", Time, &[("THROUGHPUT_UNITS", "10^3bits/s"), ("SD_UNITS", "usec/KB")]; "TCP_STREAM with CPU use")]
#[test_case("-t TCP_STREAM -l 1 -F {file}", "-m 4096", Time, SEND; "TCP_STREAM of a file")]
#[test_case("-t TCP_MAERTS -l 1", "", Time, RECEIVE; "TCP_MAERTS by time")]
#[test_case("-t TCP_MAERTS -l -10000000", "-m ,10000", Bytes(10_000_000), &[("REMOTE_SEND_SIZE", "10000")]; "TCP_MAERTS by bytes")]
#[test_case("-t TCP_CRR -l -200", "", Count(200), CRR; "TCP_CRR by count")]
#[test_case("-t TCP_CRR -l 1", "-r 100,200", Time, CRR; "TCP_CRR by time")]
#[test_case("-t UDP_STREAM -l 1", "-m 1400 -R 1", Time, SEND; "UDP_STREAM by time")]
#[test_case("-t UDP_STREAM -l 1", "-m 1000 -n", Time, &[("LOCAL_SEND_SIZE", "1000")]; "UDP_STREAM by a connected socket")]
#[test_case("-t omni -l 1", "-d send", Time, SEND; "omni that sends")]
#[test_case("-t omni -l 1", "-d recv", Time, RECEIVE; "omni that receives")]
#[test_case("-t omni -l 1", "-d send|recv", Time, RR; "omni of directions joined")]
#[test_case("-t omni -l -300", "-d rr -r 10,20", Count(300), RR; "omni of transactions")]
#[test_case("-t omni -l -300", "-d rr -T udp -e 2", Count(300), &[("PROTOCOL", "UDP")]; "omni of transactions over UDP")]
#[test_case("-t omni -l 1", "-d send -T udp -m 1000", Time, &[("PROTOCOL", "UDP")]; "omni that sends over UDP")]
#[test_case("-t omni -l -100", "-d rr -c", Count(100), CRR; "omni of connections and transactions")]
#[test_case("-t omni -l -100", "-d 0 -c", Other, &[("DIRECTION", "Connection"), ("THROUGHPUT_UNITS", "Trans/s")]; "omni of connections")]
#[test_case("-t omni -l 1", "-d recv -T udp -m ,1400 -L {address} -H {address}", Time, RECEIVE; "omni that receives over UDP")]
#[test_case("-t UDP_STREAM -l -100000", "-m 1000", Other, &[("LOCAL_SEND_CALLS", "100"), ("LOCAL_BYTES_SENT", "100000")]; "UDP_STREAM by bytes")]
#[test_case("-t TCP_RR -l -100 -y 3,4 -Y cs1,cs2 -S", "-K cubic,cubic", Count(100), &[("LOCAL_SOCKET_PRIO", "3"), ("REMOTE_SOCKET_PRIO", "4"), ("LOCAL_SOCKET_TOS", "0x20"), ("REMOTE_SOCKET_TOS", "0x40"), ("LOCAL_CONG_CONTROL", "cubic"), ("REMOTE_CONG_CONTROL", "cubic")]; "TCP_RR of other socket options")]
#[test_case("-t TCP_STREAM -l 1 -a 16 -A 32,64 -o 1,2 -O 3,4 -W 5,6", "", Time, &[("LOCAL_SEND_ALIGN", "16"), ("REMOTE_RECV_ALIGN", "64"), ("LOCAL_SEND_OFFSET", "1"), ("REMOTE_RECV_OFFSET", "4"), ("LOCAL_SEND_WIDTH", "5")]; "TCP_STREAM of buffers in a ring")]
fn every_test_agrees(global: &str, own: &str, stop: Stop, facts: &[(&str, &str)]) {
    in_all_pairings(&[], &format!("{global} -- {own} -k all"), |at, ended| agrees(at, ended, stop, facts));
}

/// The classic tests have no selectors: their tables have the form of the original's, and a rate.
#[test_case("-t TCP_CC -l -200", "08_tcp_cc"; "TCP_CC by count")]
#[test_case("-t TCP_CC -l 1", "08_tcp_cc"; "TCP_CC by time")]
#[test_case("-t TCP_SENDFILE -l 1 -F {file}", "09_tcp_sendfile"; "TCP_SENDFILE by time")]
#[test_case("-t TCP_SENDFILE -l -5000000 -F {file}", "09_tcp_sendfile"; "TCP_SENDFILE by bytes")]
#[test_case("-t TCP_MSS", "B1_tcp_mss"; "TCP_MSS")]
#[test_case("-t REM_CPU -v 2", "69_rem_cpu_v2"; "REM_CPU")]
#[test_case("-t LOC_CPU -v 2", "70_loc_cpu_v2"; "LOC_CPU")]
#[test_case("-t UUID", "68_uuid"; "UUID")]
fn what_has_no_selectors_has_its_form(words: &str, model: &str) {
    let model = transcripts::fixture(model).stdout;
    in_all_pairings(&[], words, |_, ended| {
        went_well(ended)?;
        // Banners name the address that was asked for, and the features of a build.
        let form = |text: &str| -> String {
            let text = transcripts::without_features(text);
            text.split_inclusive('\n').filter(|line| !line.contains(" TEST from ")).collect()
        };
        let wrong = compared(&form(&model), &form(&ended.stdout), Layout::Lines);
        if !wrong.is_empty() {
            return Err(wrong.join("\n"));
        }
        let mut figures = ended.stdout.split_whitespace().filter_map(|word| word.parse::<f64>().ok());
        match figures.next_back() {
            Some(figure) if figure > 0.0 => Ok(()),
            None if words.contains("UUID") => Ok(()),
            figure => Err(format!("its last figure is {figure:?}")),
        }
    });
}

#[test]
fn a_passphrase_opens_and_another_does_not() {
    let works = |_: Ends, ended: &Ended| went_well(ended);
    in_all_pairings(&["-Z", "open sesame"], "-Z open_sesame -t TCP_RR -l -100", |_, ended| {
        let code = ended.code;
        if ended.overdue || code == Some(0) || code.is_none() { Err(format!("status {code:?}")) } else { Ok(()) }
    });
    in_all_pairings(&["-Z", "sesame"], "-Z sesame -t TCP_RR -l -100", works);
    in_all_pairings(&["-Z", "sesame"], "-t TCP_RR -l -100", |_, ended| {
        if ended.overdue || ended.code == Some(0) { Err("it was let in".to_owned()) } else { Ok(()) }
    });
    in_all_pairings(&[], "-Z sesame -t TCP_RR -l -100", works);
}

#[test]
fn sctp_is_refused_clearly_where_the_kernel_has_none() {
    let sctp = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, Some(socket2::Protocol::SCTP));
    let here = sctp.is_ok();
    in_all_pairings(&[], "-t omni -l 1 -- -T sctp -d rr", |_, ended| match ended {
        Ended { overdue: false, code: Some(0), .. } if here => Ok(()),
        Ended { overdue: false, code: Some(1..), .. } if !here && ended.said("SCTP") => Ok(()),
        _ => Err(format!("SCTP is {}", if here { "here" } else { "not here" })),
    });
}

/// Interim results of each kind of test are the whole.
#[test_case("-t TCP_RR -l 2 -D 0.2", ""; "TCP_RR")]
#[test_case("-t TCP_RR -l 2 -D -0.2", "-b 4 -D"; "TCP_RR with a burst, by the clock")]
#[test_case("-t UDP_RR -l 2 -D -0.25", ""; "UDP_RR by the clock")]
#[test_case("-t TCP_STREAM -l 2 -D -0.5 -f k", "-m 1000"; "TCP_STREAM by the clock")]
#[test_case("-t TCP_MAERTS -l 2 -D -0.2", ""; "TCP_MAERTS by the clock")]
#[test_case("-t TCP_CRR -l -5000 -D -0.1", ""; "TCP_CRR by the clock")]
fn intervals_sum_to_the_total(global: &str, own: &str) {
    in_all_pairings(&[], &format!("{global} -- {own} -k all"), |at, ended| {
        agrees(at, ended, Other, &[])?;
        let interims = interims(&ended.stdout)?;
        // With a positive -D the original looks at its clock after as many units as it expects of an interval, by the rate so far: where a
        // busy machine becomes slower at its start, that is once.
        let counts_units = at.original_client && global.contains("-D 0");
        let least = if counts_units { 1 } else { 2 };
        if interims.len() < least {
            return Err(format!("{} interim results", interims.len()));
        }
        agreement::intervals(&Fields::of(&ended.stdout), &interims, at)
    });
}
