//! Captures of packets as schedules: when one flow's messages left, and how long they were.
//!
//! Reads the classic form of pcap, as `tcpdump -w` writes it. [`packet`] finds the flow and the length of the payload in
//! a frame, [`flow`] names flows as people type them, and [`schedule`] takes one flow, in one direction, out of a
//! capture. Lengths come from the headers of IP and UDP, so a capture that kept the beginnings of packets alone is as
//! good as a whole one.
//!
//! For captures of our own: [`filter`] decides which packets the kernel hands over, [`watch`] reads each as part of a
//! measurement, and a [`writer`] keeps some of them in a file.

use measure::trace::{Departure, MOST, Trace, TraceError};

use crate::capture::file::File;
use crate::capture::flow::{Flow, FlowPattern, Seen};

pub mod error;
pub mod file;
pub mod filter;
pub mod flow;
pub mod packet;
pub mod watch;
pub mod writer;

pub use self::error::CaptureError;
pub use self::file::is_capture;

/// A flow taken out of a capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    /// The flow.
    pub flow: Flow,
    /// Its messages; the first one leaves at once.
    pub trace: Trace,
    /// Segments of TCP in it that carried nothing new, and were left out.
    pub repeated: u64,
    /// Flows in the capture beside it.
    pub others: usize,
    /// The packet, from 1, that the capture breaks off in; the ones before it are used.
    pub broken_off: Option<u64>,
}

/// The schedule of one flow in a capture: of the one asked for, else of the only one there is.
///
/// A message is the payload of one datagram or one segment of TCP; segments without payload are none.
///
/// # Errors
/// Fails where it is no capture or none of a form that is read here, where it is damaged, where the flow is not in it
/// or not the only one that was meant, and where time runs backwards within it.
pub fn schedule(capture: &[u8], asked: Option<&FlowPattern>) -> Result<Taken, CaptureError> {
    let file = File::open(capture)?;
    let survey = Survey::of(&file)?;
    let flow = survey.choose(asked)?;
    let (trace, repeated) = messages(&file, flow)?;
    Ok(Taken { flow, trace, repeated, others: survey.flows.len() - 1, broken_off: survey.broken_off })
}

/// Flows of a capture.
struct Survey {
    flows: Vec<Seen>,
    broken_off: Option<u64>,
}

impl Survey {
    fn of(file: &File<'_>) -> Result<Self, CaptureError> {
        let mut found = flow::Finder::default();
        let mut broken_off = None;
        for record in file.records() {
            match record {
                Ok(record) => found.take(packet::read(file.link(), &record))?,
                Err(CaptureError::BrokenOff { packet }) => broken_off = Some(packet),
                Err(other) => return Err(other),
            }
        }
        Ok(Self { flows: found.most_first(), broken_off })
    }

    fn choose(&self, asked: Option<&FlowPattern>) -> Result<Flow, CaptureError> {
        let fits = |seen: &&Seen| asked.is_none_or(|pattern| pattern.fits(&seen.flow));
        let fitting: Vec<&Seen> = self.flows.iter().filter(fits).collect();
        match (fitting.as_slice(), asked) {
            ([only], _) => Ok(only.flow),
            (_, None) if self.flows.is_empty() => Err(CaptureError::NoFlow { broken_off: self.broken_off }),
            ([], Some(pattern)) => Err(CaptureError::NotThere { asked: *pattern, flows: self.flows.clone() }),
            _ => Err(CaptureError::WhichFlow { flows: fitting.into_iter().cloned().collect() }),
        }
    }
}

fn messages(file: &File<'_>, flow: Flow) -> Result<(Trace, u64), CaptureError> {
    let (mut departures, mut packets) = (Vec::new(), Vec::new());
    let mut progress = flow::Progress::default();
    // The survey has passed over all of them: only the break at the end is no packet.
    for record in file.records().map_while(Result::ok) {
        let Some(segment) = packet::read(file.link(), &record).filter(|segment| segment.flow == flow) else { continue };
        let Some(bytes) = progress.message(&segment) else { continue };
        if departures.len() == MOST {
            return Err(CaptureError::TooMany { most: MOST, what: "messages" });
        }
        departures.push(Departure { at: record.at, bytes });
        packets.push(record.number);
    }
    let trace = Trace::new(departures).map_err(|error| match error {
        TraceError::Empty => CaptureError::NoFlow { broken_off: None },
        TraceError::Backwards { number, back } => {
            CaptureError::Backwards { packet: packets[number as usize - 1], back }
        }
    })?;
    Ok((trace.from_first(), progress.repeated()))
}

#[cfg(test)]
mod tests;
