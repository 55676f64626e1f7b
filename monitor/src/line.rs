//! Events of a measuring process, as they are passed on, each with the way that it is of.

use logbook::event::Line;
use measure::lookout::incident::Change;
use serde::Serialize;

use crate::way::Way;

/// An event of `sonde rtt --json-lines`, and of which way it is.
#[derive(Debug, Serialize)]
struct Passed<'a> {
    way: Source<'a>,
    #[serde(flatten)]
    line: &'a Line,
}

/// A change that was noticed, and of which way.
#[derive(Debug, Serialize)]
struct Noticed<'a> {
    way: Source<'a>,
    event: &'static str,
    data: &'a Change,
}

#[derive(Debug, Serialize)]
struct Source<'a> {
    host: &'a str,
    protocol: &'a str,
}

impl<'a> Source<'a> {
    fn of(way: &'a Way) -> Self {
        Self { host: &way.host, protocol: way.word() }
    }
}

/// `line` of `way` as one line of JSON: the event as `sonde rtt` printed it, with `way` beside it.
pub fn passed(way: &Way, line: &Line) -> String {
    written(&Passed { way: Source::of(way), line })
}

/// Change of `way` as one line of JSON: an event `noticed`.
pub fn noticed(way: &Way, change: &Change) -> String {
    written(&Noticed { way: Source::of(way), event: "noticed", data: change })
}

fn written(line: &impl Serialize) -> String {
    let mut text = serde_json::to_string(line).expect("our types have string keys alone");
    text.push('\n');
    text
}
