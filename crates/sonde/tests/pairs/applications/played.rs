//! Played servers: each does the same on every connection, so that what must come out is known beforehand.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use endpoint::clock::Monotonic;
use serde_json::Value;
use test_case::test_case;
use testbed::port;

use super::{brief, count, kind, measured, refused};

/// The behaviour of a played server on a connection.
type Play = dyn Fn(TcpStream) -> std::io::Result<()> + Send + Sync;

/// A server that plays on each of its connections, in this process; its URL without a path, and how many it has had.
pub(super) fn server(
    scheme: &str,
    play: impl Fn(TcpStream) -> std::io::Result<()> + Send + Sync + 'static,
) -> (String, Arc<AtomicU64>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("{scheme}://{}", listener.local_addr().unwrap());
    let (play, had): (Arc<Play>, _) = (Arc::new(play), Arc::new(AtomicU64::new(0)));
    let counted = Arc::clone(&had);
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            counted.fetch_add(1, Ordering::SeqCst);
            let play = Arc::clone(&play);
            // A client that goes away in the middle is no matter.
            thread::spawn(move || drop(play(stream)));
        }
    });
    (url, had)
}

/// The next request of HTTP; false where the client is gone.
pub(super) fn request(stream: &mut TcpStream) -> std::io::Result<bool> {
    let (mut head, mut octet) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        if stream.read(&mut octet)? == 0 {
            return Ok(false);
        }
        head.push(octet[0]);
    }
    Ok(true)
}

pub(super) const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const LAST: &[u8] = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok";

/// As nginx ends a connection after a thousand requests: it says so with the last reply. Nothing is lost, and each connection but the last
/// is made anew.
#[test_case(&["--force"], 95; "one after the other")]
#[test_case(&["--rate", "2k/s", "--window", "1", "--force"], 95; "on a schedule")]
fn a_server_that_ends_connections_and_says_so_loses_nothing(how: &[&str], requests: u64) {
    let (url, had) = server("http", |mut stream| {
        for left in (0..10).rev() {
            if !request(&mut stream)? {
                return Ok(());
            }
            stream.write_all(if left == 0 { LAST } else { OK })?;
        }
        Ok(())
    });
    let number = requests.to_string();
    let words = [&[&url[..], "-c", &number, "--warm-up", "0"], how].concat();
    let (record, code) = measured(&words);
    assert_eq!(
        (count(&record, "answered"), count(&record, "scheduled"), code),
        (requests, requests, Some(0)),
        "{}",
        brief(&record)
    );
    // One of them was the trial.
    assert_eq!(record["outcome"]["replies"]["renewals"], (requests + 1) / 10, "{}", brief(&record));
    assert_eq!(had.load(Ordering::SeqCst), (requests + 1) / 10 + 1);
    assert_eq!(
        (kind(&record, "200"), &record["outcome"]["replies"]["longest_bytes"]),
        (requests, &(LAST.len().into()))
    );
}

/// A server that serves one connection at a time hears the end of each before it is asked on the next.
#[test]
fn a_connection_that_is_made_anew_is_ended_first() {
    let one = Mutex::new(());
    let (url, _) = server("http", move |mut stream| {
        let _alone = one.lock();
        for left in (0..5).rev() {
            if !request(&mut stream)? {
                return Ok(());
            }
            stream.write_all(if left == 0 { LAST } else { OK })?;
        }
        std::io::copy(&mut stream, &mut std::io::sink()).map(drop)
    });
    let (record, _) = measured(&[&url, "-c", "22", "--every", "20ms", "--window", "1", "--warm-up", "0"]);
    let counts = ["answered", "refused", "lost"].map(|name| count(&record, name));
    assert_eq!(counts, [22, 0, 0], "{}", brief(&record));
}

/// With several out at once too: those that the server leaves behind are asked once more.
#[test]
fn a_server_that_ends_connections_and_says_so_refuses_nothing_of_a_load() {
    let (url, _) = server("http", |mut stream| {
        for left in (0..50).rev() {
            if !request(&mut stream)? {
                return Ok(());
            }
            stream.write_all(if left == 0 { LAST } else { OK })?;
        }
        // What is still to come is read, or its arrival would reset the connection with the last reply on it.
        stream.shutdown(std::net::Shutdown::Write)?;
        std::io::copy(&mut stream, &mut std::io::sink()).map(drop)
    });
    let (record, _) = measured(&[&url, "-c", "400", "--window", "8", "--force", "--warm-up", "0"]);
    let counts = ["answered", "refused", "lost"].map(|name| count(&record, name));
    assert_eq!((counts, kind(&record, "200")), ([400, 0, 0], 400), "{}", brief(&record));
}

/// One that closes without a word between requests is seen to have done so before the next is sent. Where it closes so late that the next is already
/// out, that one is refused; none is lost, and each connection is made anew once.
#[test]
fn a_server_that_ends_connections_without_a_word_between_requests_costs_no_wait() {
    let (url, _) = server("http", |mut stream| {
        for _ in 0..5 {
            if !request(&mut stream)? {
                return Ok(());
            }
            stream.write_all(OK)?;
        }
        Ok(())
    });
    let (record, _) = measured(&[&url, "-c", "22", "--every", "20ms", "--window", "1", "--warm-up", "0"]);
    let (answered, refused) = (count(&record, "answered"), count(&record, "refused"));
    assert_eq!((answered + refused, count(&record, "lost")), (22, 0), "{}", brief(&record));
    // Five of 23 requests are served on a connection, the trial among them.
    let renewals = record["outcome"]["replies"]["renewals"].as_u64();
    assert!(refused <= 4 && matches!(renewals, Some(3 | 4)), "{}", brief(&record));
}

/// Every fourth request ends the connection in place of a reply: it is refused, and no other.
#[test_case(&["--force"]; "one after the other")]
#[test_case(&["--every", "5ms", "--window", "1", "--force"]; "on a schedule")]
fn a_request_that_goes_down_with_its_connection_is_refused(how: &[&str]) {
    let (url, _) = server("http", |mut stream| {
        for _ in 0..3 {
            if !request(&mut stream)? {
                return Ok(());
            }
            stream.write_all(OK)?;
        }
        request(&mut stream).map(|_| ())
    });
    let words = [&[&url[..], "-c", "39", "--warm-up", "0"], how].concat();
    let (record, _) = measured(&words);
    // The trial is the first request of the first connection.
    assert_eq!((count(&record, "answered"), count(&record, "refused")), (29, 10), "{}", brief(&record));
}

/// Several requests are out when the connection ends: each of them is refused, once, and those after it are answered.
#[test]
fn what_was_out_when_a_connection_ended_is_refused_once() {
    let (url, _) = server("redis", |mut stream| {
        let mut pings = 0;
        let mut message = [0; 28];
        loop {
            stream.read_exact(&mut message)?;
            pings += 1;
            if pings % 50 == 0 {
                return Ok(());
            }
            stream.write_all(&[b"$8\r\n", &message[18..28]].concat())?;
        }
    });
    let (record, _) = measured(&[&url, "-c", "400", "--window", "4", "--force", "--warm-up", "0"]);
    let (answered, refused) = (count(&record, "answered"), count(&record, "refused"));
    assert_eq!(
        (answered + refused, count(&record, "lost"), count(&record, "duplicated")),
        (400, 0, 0),
        "{}",
        brief(&record)
    );
    let renewals = record["outcome"]["replies"]["renewals"].as_u64().unwrap();
    assert!(
        refused >= renewals && refused <= 4 * (renewals + 1) && renewals >= 7,
        "{refused} refused, {renewals} anew"
    );
}

/// A reply that nobody asked for, as a proxy's 408 on an idle connection: it answers no request.
#[test]
fn a_reply_that_nobody_asked_for_answers_nothing() {
    let (url, _) = server("http", |mut stream| {
        while request(&mut stream)? {
            stream.write_all(
                &[OK, b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"].concat(),
            )?;
        }
        Ok(())
    });
    let (record, _) = measured(&[&url, "-c", "10", "--every", "20ms", "--window", "1", "--warm-up", "0"]);
    assert_eq!(
        (count(&record, "answered"), kind(&record, "200"), kind(&record, "408")),
        (10, 10, 0),
        "{}",
        brief(&record)
    );
}

/// Statuses are counted as what they are.
#[test_case(&[], 30, 10; "503 did nothing")]
#[test_case(&["--expect", "200"], 20, 20; "the user's word")]
fn statuses_are_counted_as_what_they_are(words: &[&str], answered: u64, refused: u64) {
    let (url, _) = server("http", |mut stream| {
        // The trial comes first.
        for status in std::iter::once("200 OK")
            .chain(["200 OK", "404 Not Found", "503 Service Unavailable", "200 OK"].into_iter().cycle())
        {
            if !request(&mut stream)? {
                return Ok(());
            }
            write!(stream, "HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n")?;
        }
        Ok(())
    });
    let words = [&[&url[..], "-c", "40", "--force", "--warm-up", "0"], words].concat();
    let (record, _) = measured(&words);
    assert_eq!((count(&record, "answered"), count(&record, "refused")), (answered, refused), "{}", brief(&record));
    assert_eq!([kind(&record, "200"), kind(&record, "404"), kind(&record, "503")], [20, 10, 10], "{}", brief(&record));
}

/// Rubbish in the middle of a run is corrupt, and the next connection is asked on.
#[test]
fn rubbish_in_the_middle_is_corrupt() {
    let (url, _) = server("redis", |mut stream| {
        let mut message = [0; 28];
        for ping in 1.. {
            stream.read_exact(&mut message)?;
            let reply =
                if ping % 10 == 0 { b"\x16\x03\x01\0\0".to_vec() } else { [b"$8\r\n", &message[18..28]].concat() };
            stream.write_all(&reply)?;
        }
        Ok(())
    });
    let (record, _) = measured(&[&url, "-c", "99", "--force", "--warm-up", "0"]);
    // The trial was the first of ten.
    assert_eq!((count(&record, "answered"), count(&record, "corrupt")), (89, 10), "{}", brief(&record));
    let told = warning(&record, "corrupt");
    assert_eq!((&told["count"], &told["sent"]), (&10.into(), &99.into()), "{told}");
    assert!(told["seen"].as_str().is_some_and(|seen| seen.ends_with(r#": "\x16\x03\x01\x00\x00""#)), "{told}");
}

/// The warning of this kind; null where there is none.
fn warning(record: &Value, kind: &str) -> Value {
    let mut warnings = record["warnings"].as_array().into_iter().flatten();
    warnings.find(|warning| warning["kind"] == kind).cloned().unwrap_or_default()
}

/// Each reply comes twice: the second is to no request, whether it came with the first or behind it. The trial's is among them, and those behind the
/// last replies may not be read any more: one where one request is out at a time, and as many as are out where this host is behind its schedule.
#[test_case(20, &["--force"], 20; "one after the other")]
#[test_case(200, &["--rate", "200/s", "--force"], 1; "on a schedule")]
fn a_server_that_answers_twice_is_told(requests: u64, how: &[&str], least: u64) {
    let (url, _) = server("http", |mut stream| {
        while request(&mut stream)? {
            stream.write_all(&[OK, OK].concat())?;
        }
        Ok(())
    });
    let (record, _) = measured(&[&[&url[..], "-c", &requests.to_string(), "--warm-up", "0"], how].concat());
    assert_eq!((count(&record, "answered"), kind(&record, "200")), (requests, requests), "{}", brief(&record));
    let strays = count(&record, "strays");
    assert!((least..=requests + 1).contains(&strays), "{}", brief(&record));
    assert_eq!(warning(&record, "unasked")["count"], strays);
}

/// A server of DNS on a port of its own: `answers` says what goes back for a question, and by which of the two sockets.
fn dns(answers: impl Fn(&[u8]) -> Vec<(bool, Vec<u8>)> + Send + 'static) -> (u16, u16) {
    let [asked, other] = [(); 2].map(|()| std::net::UdpSocket::bind("127.0.0.1:0").unwrap());
    let ports = [&asked, &other].map(|socket| socket.local_addr().unwrap().port());
    thread::spawn(move || {
        let mut question = [0; 512];
        while let Ok((length, client)) = asked.recv_from(&mut question) {
            for (by_other, answer) in answers(&question[..length]) {
                let by = if by_other { &other } else { &asked };
                let _sent = by.send_to(&answer, client);
            }
        }
    });
    (ports[0], ports[1])
}

/// The answer to `question` that there is no record, with its number moved on by `away`.
fn no_data(question: &[u8], away: u8) -> Vec<u8> {
    let mut answer = question.to_vec();
    answer[1] = answer[1].wrapping_add(away);
    (answer[2], answer[3]) = (0x81, 0x80);
    answer
}

/// Answers from another port of the same address are no silence: programs do not hear them either.
#[test]
fn a_server_that_answers_from_another_port_is_told() {
    let (asked, other) = dns(|question| vec![(true, no_data(question, 0))]);
    let url = format!("dns://127.0.0.1:{asked}/ok.test");
    let said = refused(&[&url, "-c", "2", "--timeout", "200ms"]);
    assert!(said.contains(&format!("127.0.0.1:{other} answered instead")), "{said}");
}

/// Copies are no further replies, and many answers to no question are told.
#[test]
fn answers_of_dns_that_nobody_asked_for_are_told_and_copies_counted_once() {
    let (port, _) = dns(|question| {
        let answer = no_data(question, 0);
        vec![(false, no_data(question, 99)), (false, answer.clone()), (false, answer)]
    });
    let url = format!("dns://127.0.0.1:{port}/ok.test");
    let (record, _) = measured(&[&url, "-c", "40", "--warm-up", "0"]);
    assert_eq!((count(&record, "answered"), kind(&record, "NOERROR")), (40, 40), "{}", brief(&record));
    assert!(count(&record, "duplicated") >= 30, "{}", brief(&record));
    let told = warning(&record, "unasked");
    assert_eq!((&told["count"], &told["over_udp"]), (&record["outcome"]["counts"]["strays"], &true.into()));
}

/// The port speaks TLS, and says so to who does not.
#[test]
fn a_request_in_clear_to_a_server_of_https_is_told() {
    let (url, _) = server("http", |mut stream| {
        request(&mut stream)?;
        let says = b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n";
        stream.write_all(says)
    });
    let (record, _) = measured(&[&url, "-c", "5"]);
    assert_eq!(record["outcome"]["replies"]["wants_tls"], true, "{}", brief(&record));
}

/// A port on which nobody listens is told as that, and neither as a filter's work nor as that of this host's kernel.
#[test]
fn a_port_of_datagrams_on_which_nothing_listens_is_told() {
    let port = port::free();
    for scheme in ["dns", "sip"] {
        let url = format!("{scheme}://127.77.9.1:{port}");
        let (record, _) = measured(&[&url, "-c", "10", "--warm-up", "0"]);
        assert_eq!(warning(&record, "refused")["by"], "port-unreachable", "{}", brief(&record));
        assert_eq!(record["outcome"]["sockets"][0]["icmp_errors"]["port unreachable"], count(&record, "refused"));
    }
}

#[test_case(b"SSH-2.0-OpenSSH_9.2p1\r\n", "the reply is none of HTTP/1: \"SSH-2.0-OpenSSH_9.2p1\""; "another program")]
#[test_case(b"HTTP/1.1 200 OK\r\nContent-Length: 1, 2\r\n\r\n", "contradicts itself"; "two lengths")]
#[test_case(b"", "closed the connection"; "nothing, and an end")]
fn what_is_no_answer_at_all_is_said_before_anything_is_measured(says: &'static [u8], told: &str) {
    let (url, _) = server("http", move |mut stream| {
        request(&mut stream)?;
        stream.write_all(says)
    });
    let said = refused(&[&url, "-c", "5"]);
    assert!(said.contains(told), "{said}");
}

/// A program that answers on one session and not on the next is not said to be silent, or to let nobody in.
#[test_case(b"-ERR 'maximum connections exceeded'\r\n", "maximum connections exceeded", "let 2 in"; "it lets in no more")]
#[test_case(b"", "no greeting within 5", "--connections 2, or wait longer"; "its greeting is late")]
fn a_further_session_that_does_not_open_is_told_as_that(says: &'static [u8], cause: &str, advice: &str) {
    let session = AtomicU64::new(0);
    let (url, _) = server("nats", move |mut stream| {
        if session.fetch_add(1, Ordering::SeqCst) >= 2 {
            stream.write_all(says)?;
            return stream.read(&mut [0; 9]).map(drop);
        }
        stream.write_all(b"INFO {}\r\n")?;
        let mut said = [0; 999];
        while stream.read(&mut said)? > 0 {
            stream.write_all(b"PONG\r\n")?;
        }
        Ok(())
    });
    let said = refused(&[&url, "--connections", "3"]).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("cannot open session 3 of 3 (the program answered on the first)"), "{said}");
    assert!(said.contains(cause) && said.contains(advice), "{said}");
    assert!(!said.contains("says nothing") && !said.contains("does not let"), "{said}");
}

/// A reply that has begun is no silence, and what may help against it is another thing.
#[test]
fn a_reply_that_does_not_end_is_told_as_begun() {
    let (url, _) = server("http", |mut stream| {
        request(&mut stream)?;
        stream.write_all(&OK[..20])?;
        request(&mut stream).map(|_| ())
    });
    let said = refused(&[&url]).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("its answer was still incomplete after 5") && said.contains("(--timeout)"), "{said}");
    assert!(said.contains("large packets"), "{said}");
}

/// A server that says what nobody asked for without end, in the middle, keeps nobody from ending in time.
#[test_case(&["--window", "4", "--force"]; "several at once")]
#[test_case(&["--every", "10ms", "--window", "1"]; "one after the other")]
fn interim_responses_without_end_end_no_run_late(how: &[&str]) {
    let (url, _) = server("http", |mut stream| {
        for _ in 0..3 {
            request(&mut stream)?;
            stream.write_all(OK)?;
        }
        let flood = b"HTTP/1.1 100 Continue\r\n\r\n".repeat(1_000);
        loop {
            stream.write_all(&flood)?;
        }
    });
    let (record, _) = measured(&[&[&url[..], "-c", "12", "--warm-up", "0", "--timeout", "300ms"], how].concat());
    assert_eq!((count(&record, "answered"), count(&record, "scheduled")), (2, 12), "{}", brief(&record));
}

/// A program that says that it did nothing is no dead link, be it now and then or from some request on.
#[test_case(|n| n % 2 == 1; "each other")]
#[test_case(|n| n >= 20; "from the middle on")]
fn refusals_of_a_program_are_no_dark_time(refuses: fn(u64) -> bool) {
    let (url, _) = server("http", move |mut stream| {
        for number in 0.. {
            if !request(&mut stream)? {
                break;
            }
            let busy = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n";
            stream.write_all(if refuses(number) { busy } else { OK })?;
        }
        Ok(())
    });
    for window in ["1", "4"] {
        let words = [&url[..], "-c", "40", "--warm-up", "0", "--every", "2ms", "--window", window, "--force"];
        let (record, code) = measured(&words);
        assert!(count(&record, "answered") >= 19 && count(&record, "refused") >= 19, "{}", brief(&record));
        assert_eq!((&record["outcome"]["dark"], code), (&Value::Null, Some(0)), "{}", brief(&record));
    }
}

/// A reply that nobody waits for is a stray message, and none of the replies that are counted. It follows the other at once, in a segment of its own: a
/// server that waited could wait, on a busy machine, until the next request is out.
#[test]
fn a_reply_between_requests_is_counted_with_no_replies() {
    let (url, _) = server("http", |mut stream| {
        stream.set_nodelay(true)?;
        while request(&mut stream)? {
            stream.write_all(OK)?;
            stream.write_all(b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")?;
        }
        Ok(())
    });
    let (record, _) = measured(&[&url, "-c", "6", "--every", "500ms", "--warm-up", "0"]);
    let (all, answered) = (kind(&record, "200") + kind(&record, "408"), count(&record, "answered"));
    assert_eq!((all, answered), (6, 6), "{}", brief(&record));
}

/// A server that lets nobody in any more, in the middle: no reset is told that never came.
#[test]
fn a_server_that_is_full_later_on_resets_nobody() {
    let had = AtomicU64::new(0);
    let (url, _) = server("mqtt", move |mut stream| {
        let mut connect = [0; 14];
        stream.read_exact(&mut connect)?;
        if had.fetch_add(1, Ordering::SeqCst) > 0 {
            return stream.write_all(&[0x20, 2, 0, 3]);
        }
        stream.write_all(&[0x20, 2, 0, 0])?;
        let mut ping = [0; 2];
        for _ in 0..4 {
            stream.read_exact(&mut ping)?;
            stream.write_all(&[0xD0, 0])?;
        }
        Ok(())
    });
    let (record, _) = measured(&[&url, "-c", "12", "--warm-up", "0"]);
    assert_eq!((count(&record, "answered"), count(&record, "refused")), (3, 9), "{}", brief(&record));
    let by = |warning: &Value| warning["kind"] == "refused" && warning["by"] == "ended";
    let warnings = record["warnings"].as_array().cloned().unwrap_or_default();
    assert!(warnings.iter().any(by), "{warnings:?}");
}

/// The trial too is waited for as long as the user waits for a request.
#[test]
fn a_program_that_takes_long_is_waited_for_as_long_as_is_said() {
    let (url, _) = server("http", |mut stream| {
        while request(&mut stream)? {
            planted(Duration::from_millis(5_500));
            stream.write_all(OK)?;
        }
        Ok(())
    });
    let (record, code) = measured(&[&url, "-c", "1", "--warm-up", "0", "--timeout", "60s"]);
    assert_eq!((count(&record, "answered"), code), (1, Some(0)), "{}", brief(&record));
}

#[test]
fn a_head_without_an_end_takes_no_memory() {
    let (url, _) = server("http", |mut stream| {
        request(&mut stream)?;
        stream.write_all(b"HTTP/1.1 200 OK\r\n")?;
        loop {
            stream.write_all(&[b'x'; 4_096])?;
        }
    });
    let said = refused(&[&url, "-c", "5"]);
    assert!(said.contains("has no end") || said.contains("none of HTTP/1"), "{said}");
}

#[test]
fn a_broker_that_lets_nobody_in_is_told_in_its_words() {
    let (url, _) = server("mqtt", |mut stream| {
        stream.read_exact(&mut [0; 14])?;
        stream.write_all(&[0x20, 2, 0, 5])
    });
    let said = refused(&[&url, "-c", "5"]);
    assert!(said.contains("not authorized"), "{said}");
}

#[test_case(&["redis://127.0.0.1", "--force", "--udp"], "asked over tcp"; "over UDP")]
#[test_case(&["redis://127.0.0.1", "--rate", "1k/s"], "add --force"; "too often")]
#[test_case(&["redis://127.0.0.1", "--peer", "netperf"], "exclude each other"; "two peers")]
#[test_case(&["db1", "--expect", "2xx"], "is for HTTP"; "a word of HTTP")]
#[test_case(&["redis://127.0.0.1", "--verify"], "by their length"; "a length nobody knows")]
#[test_case(&["redis://127.0.0.1", "--app", "nats"], "two protocols"; "two protocols")]
fn what_does_not_go_together_is_said(words: &[&str], told: &str) {
    let said = refused(words);
    assert!(said.contains(told), "{said}");
}

/// A time that a server lets pass, and the phase that it belongs to.
const PLANTED: Duration = Duration::from_millis(30);

#[test_case(b"", PLANTED, Duration::ZERO, "wait", "receive"; "before the reply")]
#[test_case(b"", Duration::ZERO, PLANTED, "receive", "wait"; "in the middle of it")]
#[test_case(b"HTTP/1.1 102 Processing\r\n\r\n", PLANTED, Duration::ZERO, "wait", "receive"; "behind words that are no reply")]
fn a_delay_of_the_server_is_in_the_phase_that_it_belongs_to(
    first: &'static [u8],
    before: Duration,
    within: Duration,
    long: &str,
    short: &str,
) {
    let (url, had) = server("http", move |mut stream| {
        stream.set_nodelay(true)?;
        if !request(&mut stream)? {
            return Ok(());
        }
        let (head, body) = OK.split_at(OK.len() - 1);
        stream.write_all(first)?;
        planted(before);
        stream.write_all(head)?;
        planted(within);
        stream.write_all(body)
    });
    let (record, code) = measured(&[&url, "--crr", "-c", "12", "--every", "100ms", "--warm-up", "0"]);
    assert_eq!((count(&record, "answered"), code), (12, Some(0)), "{}", brief(&record));
    // One was the trial: each request had a connection of its own.
    assert_eq!(had.load(Ordering::SeqCst), 13);
    let phases = &record["outcome"]["replies"]["phases"];
    let of = |phase: &str, which: &str| phases[phase][which].as_u64().unwrap_or_else(|| panic!("no {phase}: {phases}"));
    let shortest = |phase: &str| of(phase, "min_ns");
    // Where this end is late to see the first octet, the rest of the reply seems shorter: not in all requests.
    let planted = PLANTED.as_nanos() as u64;
    assert!(of(long, "max_ns") >= planted && shortest(short) < planted, "{phases}");
    assert!(long == "receive" || shortest(long) >= planted, "{phases}");
    assert_eq!(
        (&phases["connect"]["count"], &phases["tls"], &phases["greeting"]),
        (&12.into(), &Value::Null, &Value::Null)
    );
    let whole = record["outcome"]["response"]["min_ns"].as_u64().unwrap();
    assert!(whole >= ["connect", "wait", "receive"].iter().map(|phase| shortest(phase)).sum(), "{phases} {whole}");
}

/// Lets time pass.
pub(super) fn planted(time: Duration) {
    let until = Monotonic::now().after(time.into());
    while Monotonic::now() < until {
        thread::park_timeout(time);
    }
}

#[test]
fn each_request_of_a_connection_each_that_is_refused_is_told() {
    // The second connection and those after it are closed in place of a reply.
    let seen = AtomicU64::new(0);
    let (url, _) = server("http", move |mut stream| {
        if request(&mut stream)? && seen.fetch_add(1, Ordering::SeqCst) < 3 {
            stream.write_all(OK)?;
        }
        Ok(())
    });
    let (record, _) = measured(&[&url, "--crr", "-c", "6", "--warm-up", "0"]);
    assert_eq!((count(&record, "answered"), count(&record, "refused")), (2, 4), "{}", brief(&record));
    assert_eq!(record["outcome"]["replies"]["phases"]["wait"]["count"], 2, "{}", brief(&record));
}

/// A server of SSH that lets nobody in any more, in the middle.
#[test]
fn a_server_of_ssh_that_is_full_refuses() {
    let had = AtomicU64::new(0);
    let (url, _) = server("ssh", move |mut stream| {
        let full = had.fetch_add(1, Ordering::SeqCst) > 10;
        stream.write_all(if full { b"Exceeded MaxStartups\r\n" } else { b"SSH-2.0-played\r\n" })?;
        stream.read(&mut [0; 64]).map(|_| ())
    });
    let (record, _) = measured(&[&url, "--crr", "-c", "30", "--every", "10ms", "--warm-up", "0"]);
    let kinds = ["SSH-2.0", "MaxStartups"].map(|name| kind(&record, name));
    assert_eq!(
        (count(&record, "answered"), count(&record, "refused"), kinds),
        (10, 20, [10, 20]),
        "{}",
        brief(&record)
    );
}

#[test]
fn kafka_gives_correlation_ids_back() {
    let (url, _) = server("kafka", |mut stream| {
        let mut asked = [0; 19];
        loop {
            stream.read_exact(&mut asked)?;
            let number = &asked[8..12];
            stream.write_all(&[&[0, 0, 0, 16], number, &[0, 0, 0, 0, 0, 1, 0, 18, 0, 0, 0, 4]].concat())?;
        }
    });
    let (record, code) = measured(&[&url, "-c", "200", "--rate", "2k/s", "--window", "8", "--force"]);
    assert_eq!(
        (count(&record, "answered"), kind(&record, "ApiVersions"), code),
        (200, 200, Some(0)),
        "{}",
        brief(&record)
    );
}

/// A SIP server that answers the requests of one socket by these lines, in turn.
fn sip(lines: &'static [&'static str]) -> u16 {
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = socket.local_addr().unwrap().port();
    thread::spawn(move || {
        let mut buffer = [0; 2_000];
        for line in lines.iter().cycle() {
            let Ok((length, from)) = socket.recv_from(&mut buffer) else { return };
            let text = String::from_utf8_lossy(&buffer[..length]);
            let kept =
                |name: &&str| ["Via:", "From:", "To:", "Call-ID:", "CSeq:"].iter().any(|kept| name.starts_with(kept));
            let fields: Vec<&str> = text.split("\r\n").filter(kept).collect();
            let reply = format!("SIP/2.0 {line}\r\n{}\r\nContent-Length: 0\r\n\r\n", fields.join("\r\n"));
            drop(socket.send_to(reply.as_bytes(), from));
        }
    });
    port
}

/// One that answers whatever it is asked, and counts that.
pub(super) fn telephone() -> (u16, Arc<AtomicU64>) {
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let (port, had) = (socket.local_addr().unwrap().port(), Arc::new(AtomicU64::new(0)));
    let counted = Arc::clone(&had);
    thread::spawn(move || {
        let mut buffer = [0; 2_000];
        while let Ok((length, from)) = socket.recv_from(&mut buffer) {
            counted.fetch_add(1, Ordering::SeqCst);
            let text = String::from_utf8_lossy(&buffer[..length]);
            let answer = text.split_once("\r\n").map(|(_, rest)| format!("SIP/2.0 200 OK\r\n{rest}"));
            drop(socket.send_to(answer.unwrap_or_default().as_bytes(), from));
        }
    });
    (port, had)
}

#[test]
fn options_of_sip_are_answered_by_whatever_a_call_would_get() {
    let url = format!("sip://me@127.0.0.1:{}", sip(&["200 OK", "486 Busy Here", "503 Service Unavailable"]));
    let (record, _) = measured(&[&url, "-c", "30", "--warm-up", "0"]);
    let kinds = ["200", "486", "503"].map(|name| kind(&record, name));
    assert_eq!(
        (count(&record, "answered"), count(&record, "refused"), kinds),
        (20, 10, [10, 10, 10]),
        "{}",
        brief(&record)
    );
}

/// A server of QUIC that answers first packets of one socket by these lists of versions, in turn.
fn quic(lists: &'static [&'static [u8]]) -> u16 {
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = socket.local_addr().unwrap().port();
    thread::spawn(move || {
        let mut buffer = [0; 2_000];
        for list in lists.iter().cycle() {
            let Ok((length, from)) = socket.recv_from(&mut buffer) else { return };
            // A shorter one begins no connection, and has no answer.
            if length == 1_200 {
                let reply = [&[0x80, 0, 0, 0, 0], &buffer[14..23], &buffer[5..14], list].concat();
                drop(socket.send_to(&reply, from));
            }
        }
    });
    port
}

#[test]
fn versions_of_quic_are_told_and_a_list_that_is_cut_is_corrupt() {
    let url = format!("quic://127.0.0.1:{}", quic(&[b"\0\0\0\x01\x6b\x33\x43\xcf", b"\0\0\0", b"\0\0\0\x01"]));
    let (record, _) = measured(&[&url, "-c", "30", "--warm-up", "0"]);
    let kinds = ["v1+v2", "v1"].map(|name| kind(&record, name));
    assert_eq!(
        (count(&record, "answered"), count(&record, "corrupt"), kinds),
        (20, 10, [10, 10]),
        "{}",
        brief(&record)
    );
}

#[test]
fn logins_that_are_denied_in_the_middle_are_not_tried_again_and_again() {
    // The first session is let in and ended after two replies; no other is let in.
    let (url, had) = server("postgres", |mut stream| {
        static LET_IN: AtomicU64 = AtomicU64::new(0);
        let mut asked = [0; 5];
        let mut length = [0; 4];
        stream.read_exact(&mut length)?;
        stream.read_exact(&mut vec![0; u32::from_be_bytes(length) as usize - 4])?;
        if LET_IN.fetch_add(1, Ordering::SeqCst) > 0 {
            return stream.write_all(b"E\0\0\0\x10Mdenied now\0\0");
        }
        stream.write_all(b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I")?;
        for _ in 0..3 {
            stream.read_exact(&mut asked)?;
            stream.write_all(b"Z\0\0\0\x05I")?;
        }
        Ok(())
    });
    let url = url.replace("://", "://me@");
    let (record, _) = measured(&[&url, "-c", "150", "--every", "10ms", "--warm-up", "0"]);
    assert_eq!((count(&record, "answered"), count(&record, "refused")), (2, 148), "{}", brief(&record));
    // The first, one at once, and those after pauses of 0.1, 0.2, 0.4 s and so on.
    let pauses = record["outcome"]["elapsed_ns"].as_u64().unwrap() / 100_000_000;
    let most = 3 + u64::from(pauses.max(1).ilog2());
    assert!(
        had.load(Ordering::SeqCst) <= most,
        "{} logins, {pauses} of the shortest pauses",
        had.load(Ordering::SeqCst)
    );
}

/// A server that has a reply for each request but the latest: a refusal that comes after its time is one of a request, and no stray message.
#[test]
fn refusals_that_come_too_late_are_late() {
    let (url, _) = server("http", |mut stream| {
        request(&mut stream)?;
        stream.write_all(OK)?;
        request(&mut stream)?;
        while request(&mut stream)? {
            stream.write_all(b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n")?;
        }
        Ok(())
    });
    for how in [&["--every", "10ms", "--window", "1"][..], &["--every", "300ms"]] {
        let words = [&[&url[..], "-c", "5", "--warm-up", "0", "--timeout", "200ms"], how].concat();
        let (record, _) = measured(&words);
        let counts = ["late", "lost", "strays"].map(|name| count(&record, name));
        assert_eq!((counts, kind(&record, "503")), ([4, 1, 0], 4), "{how:?}: {}", brief(&record));
    }
}

/// A server with a short idle time ends the connection that was made early, for the next request, too. Nearly all is answered: a request that leaves
/// just when its connection ends is refused.
#[test]
fn a_connection_that_ended_before_it_was_used_refuses_no_request() {
    let (url, _) = server("http", |mut stream| {
        stream.set_read_timeout(Some(Duration::from_millis(20)))?;
        while request(&mut stream)? {
            stream.write_all(OK)?;
        }
        Ok(())
    });
    let (record, _) = measured(&[&url, "-c", "20", "--warm-up", "0", "--every", "100ms"]);
    assert!(count(&record, "answered") >= 16, "{}", brief(&record));
}

/// The end of its connection tells of a reply that was never whole, and the first request of all is told by itself.
#[test_case(b"", "closed"; "no octet of it")]
#[test_case(&OK[..30], "cut"; "the middle of it")]
fn a_reply_that_never_was_whole_is_told_by_its_end(part: &'static [u8], end: &str) {
    let (url, _) = server("http", move |mut stream| {
        request(&mut stream)?;
        stream.write_all(OK)?;
        request(&mut stream)?;
        stream.write_all(part)
    });
    let (record, _) = measured(&[&url, "-c", "1", "--warm-up", "0"]);
    let replies = &record["outcome"]["replies"];
    assert_eq!((count(&record, "refused"), &replies["down"][end]), (1, &(1.into())), "{}", brief(&record));
    let warnings = record["warnings"].as_array().expect("warnings");
    assert!(warnings.iter().any(|warning| warning["kind"] == "refused" && warning["by"] == end), "{warnings:?}");
    assert!(replies["trial_ns"].as_u64().is_some_and(|time| time > 0), "{}", brief(&record));
}
