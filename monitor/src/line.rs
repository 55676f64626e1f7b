//! What a measuring process says, as it is passed on: its events, each with the way it is of.

use logbook::event::Line;
use serde::Serialize;

use crate::way::Way;

/// An event of `sonde rtt --json-lines`, and of which way it is.
#[derive(Debug, Serialize)]
struct Passed<'a> {
    way: Source<'a>,
    #[serde(flatten)]
    line: &'a Line,
}

#[derive(Debug, Serialize)]
struct Source<'a> {
    host: &'a str,
    protocol: &'static str,
}

/// `line` of `way` as one line of JSON: the event as `sonde rtt` printed it, with `way` beside it.
pub fn passed(way: &Way, line: &Line) -> String {
    let passed = Passed { way: Source { host: &way.host, protocol: way.protocol.word() }, line };
    let mut text = serde_json::to_string(&passed).expect("our types have string keys alone");
    text.push('\n');
    text
}
