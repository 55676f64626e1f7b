//! Servers, from their first line to their last.

use std::net::SocketAddr;

use report::markup::for_terminal;

use crate::persona::sockperf::options::{SERVER_HOST, Server};
use crate::persona::sockperf::output::end::{self, End};
use crate::persona::sockperf::output::paint::Paint::Coloured;
use crate::persona::sockperf::output::tests::{expected, progress};
use crate::persona::sockperf::output::{gaps, start};
use crate::persona::sockperf::transcript::{Transcript, sockets};

/// Asserts that ours prints a transcript's output; returns true where its status is 0.
pub fn is_the_same(name: &str) -> bool {
    let transcript = Transcript::of(name);
    let server = transcript.server();
    assert_eq!(for_terminal(&text(&transcript, &server)), expected(&transcript), "{name}");
    transcript.status == 0
}

fn text(transcript: &Transcript, server: &Server) -> String {
    let sockets = sockets(&server.common.place, &SERVER_HOST.to_string());
    let buffers = |fd| start::buffers(fd, 16_384, 16_384);
    let sized = server.common.buffer_bytes.is_some();
    let daemon = if server.common.daemonize { start::daemon() } else { String::new() };
    let mut text = daemon + &if sized { buffers(3) } else { String::new() } + &start::version(Coloured);
    let messages = transcript.number("sockperf: Total").filter(|_| transcript.stdout.contains("received and handled"));
    let messages = messages.unwrap_or(0);
    let mut threads = transcript.stdout.split("[tid ").skip(1);
    let mut serving = || {
        let thread = threads.next().unwrap().split_once(']').unwrap().0.parse().unwrap();
        start::serving(&server.common.place, thread)
    };
    if server.threads > 1 {
        text += &start::threads(server.threads, sockets.len());
        for group in sockets.chunks(sockets.len() / server.threads as usize) {
            text += &(start::server(group) + &start::warm_up() + &serving());
        }
        return text + &end::server_threads(2, messages) + &end::exit_threads();
    }
    text += &(start::server(&sockets) + &start::warm_up() + &serving());
    if sized {
        // Two clients came.
        text += &(buffers(4) + &buffers(4));
    }
    let (sessions, summaries) = sessions(transcript);
    let progress = progress(transcript, server.common.activity, messages);
    text + &progress + &sessions + &end::server(End::User, messages) + &summaries + &end::exit()
}

/// Lines of `-g` while it runs, and those at the end.
fn sessions(transcript: &Transcript) -> (String, String) {
    let (during, behind) = transcript.stdout.split_once("sockperf: Test end").unwrap();
    (during.lines().filter_map(session).collect(), behind.lines().filter_map(session).collect())
}

/// The line of a session, made anew from its numbers.
fn session(line: &str) -> Option<String> {
    if line.contains("[tid ") || line.contains("[SERVER]") || !line.starts_with("sockperf: ") {
        return None;
    }
    let sender: SocketAddr = line.split_once('[')?.1.split_once(']')?.0.parse().ok()?;
    let number = |begin: &str, end: &str| -> Option<u64> {
        let (_, rest) = line.rsplit_once(begin)?;
        rest.trim_start().split(end).next()?.trim().parse().ok()
    };
    if line.contains("Starting new session") {
        return Some(gaps::started(sender));
    }
    let total = number("Dropped/OOO:", " ")?;
    if line.contains("Summary") {
        return Some(gaps::summary(sender, total));
    }
    Some(gaps::gap(sender, total, number("[", " ")?, number(" - ", "]")?))
}
