//! A server that says how many requests it takes at once: no more are out, and what is due meanwhile waits.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use test_case::test_case;

use super::{brief, count, kind, measured};

/// As many as it says.
const MOST: usize = 4;
/// `SETTINGS` with `SETTINGS_MAX_CONCURRENT_STREAMS` (RFC 9113 sections 4.1 and 6.5.2).
const SETTINGS: &[u8] = &[0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, MOST as u8];
/// The client's first octets, before any frame.
const PREFACE: usize = 24;
const HEAD: usize = 9;
const HEADERS: u8 = 1;

/// A server of HTTP/2 that answers when nothing more comes; it counts the most that were out at once.
struct Server {
    port: u16,
    most_seen: Arc<AtomicUsize>,
}

impl Server {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let most_seen = Arc::new(AtomicUsize::new(0));
        let seen = Arc::clone(&most_seen);
        thread::spawn(move || {
            for stream in listener.incoming() {
                serve(&mut stream.unwrap(), &seen);
            }
        });
        Self { port, most_seen }
    }
}

fn serve(stream: &mut TcpStream, most_seen: &AtomicUsize) {
    // A pause in which nothing comes: who asks has as many out as it will have.
    stream.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    stream.write_all(SETTINGS).unwrap();
    let (mut unread, mut out, mut room) = (Vec::new(), Vec::new(), [0; 16 << 10]);
    let mut begun = false;
    loop {
        match stream.read(&mut room) {
            Ok(0) => return,
            Ok(count) => unread.extend_from_slice(&room[..count]),
            Err(_) if !out.is_empty() => answer(stream, &mut out),
            Err(_) => {}
        }
        if !begun && unread.len() >= PREFACE {
            unread.drain(..PREFACE);
            begun = true;
        }
        while let Some((kind, stream)) = next(&mut unread, begun) {
            out.extend((kind == HEADERS).then_some(stream));
        }
        most_seen.fetch_max(out.len(), Ordering::Relaxed);
    }
}

/// Kind and stream of the next frame that is whole.
fn next(unread: &mut Vec<u8>, begun: bool) -> Option<(u8, [u8; 4])> {
    let head: [u8; HEAD] = *unread.first_chunk().filter(|_| begun)?;
    let length = HEAD + usize::from(head[0]) * 65_536 + usize::from(head[1]) * 256 + usize::from(head[2]);
    if unread.len() < length {
        return None;
    }
    unread.drain(..length);
    Some((head[3], head[5..].try_into().unwrap()))
}

/// A response 200 without a body on each stream (RFC 7541 appendix A: index 8).
fn answer(stream: &mut TcpStream, out: &mut Vec<[u8; 4]>) {
    for id in out.drain(..) {
        let response = [&[0, 0, 1, HEADERS, 5], &id[..], &[0x88]].concat();
        stream.write_all(&response).unwrap();
    }
}

#[test_case(&["--rate", "5k/s", "--force"]; "on a schedule")]
#[test_case(&["--window", "16", "--force"]; "by a window")]
fn no_more_are_out_than_the_server_takes(words: &[&str]) {
    let server = Server::start();
    let url = format!("h2c://127.0.0.1:{}/", server.port);
    let (record, code) = measured(&[&[&url[..], "-c", "41", "--warm-up", "0", "--timeout", "60s"], words].concat());
    assert_eq!((count(&record, "answered"), kind(&record, "200"), code), (41, 41, Some(0)), "{}", brief(&record));
    assert_eq!(record["outcome"]["replies"]["most_at_once"], MOST, "{}", brief(&record));
    let most = server.most_seen.load(Ordering::Relaxed);
    assert!((2..=MOST).contains(&most), "{most}");
}
