//! The command lines of frameworks that drive netperf, run on ours, and read as those frameworks read them.
//!
//! Each reader is a small one of our own that is as strict as the framework's where a difference would be noticed; it is
//! tried on what the original printed before it is believed.

mod flent;
mod pkb;
mod scripts;

use std::thread;

use testbed::process::Ended;

use crate::netperf_pairs::ends::{End, Server};

/// Ours with both servers, and the original where its build can do the same.
const ENDS: [(End, End); 3] = [(End::Ours, End::Ours), (End::Ours, End::Real), (End::Built("spin"), End::Real)];

/// Runs the words that `words` makes of the server's port at each pair of ends, and reads what came.
fn at_all_ends(
    what: &str,
    words: impl Fn(u16) -> Vec<String> + Sync,
    read: impl Fn(&Ended) -> Result<(), String> + Sync,
) {
    let of = |(client, with): (End, End)| {
        let what = format!("{what}, {client} against {with}");
        if !client.is_here(&what) || !with.is_here(&what) {
            return None;
        }
        let server = Server::start(with, &[]);
        let mut command = client.program("netperf").expect("asked for what is here");
        let ended = testbed::process::ended(command.args(words(server.port)), testbed::process::LIMIT);
        if ended.overdue || ended.code != Some(0) {
            return Some(format!("{what}: {}", ended.told()));
        }
        read(&ended).err().map(|wrong| format!("{what}: {wrong}\n{}", ended.told()))
    };
    let complaints: Vec<String> = thread::scope(|scope| {
        let running = ENDS.map(|ends| scope.spawn(move || of(ends)));
        running.into_iter().filter_map(|thread| thread.join().expect("a thread of this test")).collect()
    });
    assert!(complaints.is_empty(), "{}", complaints.join("\n\n"));
}

/// Words at blanks, with `{port}` replaced.
fn words(line: &str, port: u16) -> Vec<String> {
    line.split_whitespace().map(|word| word.replace("{port}", &port.to_string())).collect()
}
