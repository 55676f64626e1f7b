//! One test, from its agreement to its end, as what is printed of it: text while it runs, a line of JSON for each event, or
//! one document at the end.

use measure::interval::glance::TcpGlance;
use measure::throughput::Interval;
use protocol::iperf3::parameters::Direction;
use protocol::iperf3::results::Output;

use crate::persona::iperf3::facts::{Peaks, Slice, Stream, Summary, Test};
use crate::persona::iperf3::options::{Common, Form};
use crate::persona::iperf3::output::document::{self, Whole, event};
use crate::persona::iperf3::output::json::Value;
use crate::persona::iperf3::output::row::Style;
use crate::persona::iperf3::output::{interval, start, summary};
use crate::persona::iperf3::run::facts;
use crate::persona::iperf3::run::groups::Groups;

/// A test as it is told. Every call returns what is to be printed now.
#[derive(Clone, Debug)]
pub struct Telling {
    form: Form,
    style: Style,
    interval_ns: u64,
    test: Option<Test>,
    groups: Groups,
    /// TCP's figures of each stream at the end of its latest interval.
    seen: Vec<Option<TcpGlance>>,
    counted: Vec<usize>,
    peaks: Vec<Peaks>,
    /// Only where a document is made of them, of our own or for whoever asks for a server's.
    intervals: Vec<Vec<Slice>>,
    told: usize,
    summary: Option<Summary>,
}

impl Telling {
    /// Nothing has happened.
    pub fn new(common: &Common) -> Self {
        Self {
            form: common.form,
            style: Style { format: common.format, verbose: common.verbose },
            interval_ns: (common.interval_s * 1e9) as u64,
            test: None,
            groups: Groups::default(),
            seen: Vec::new(),
            counted: Vec::new(),
            peaks: Vec::new(),
            intervals: Vec::new(),
            told: 0,
            summary: None,
        }
    }

    /// Both ends agreed on a test.
    pub fn agreed(&mut self, test: Test) -> String {
        let client_receives = test.role.is_client() && test.direction == Direction::Reverse;
        let text = start::agreed(&test, client_receives, self.style.verbose);
        self.test = Some(test);
        self.as_text(text)
    }

    /// Its streams are there. `buffers`: what the first one's socket got to send and to receive, in bytes.
    pub fn streams(&mut self, streams: Vec<Stream>, buffers: (Option<u64>, Option<u64>)) -> String {
        let Some(test) = &mut self.test else { return String::new() };
        (self.groups, self.seen) = (Groups::new(streams.len()), vec![None; streams.len()]);
        (self.counted, self.peaks) = (vec![0; streams.len()], vec![Peaks::default(); streams.len()]);
        (test.send_buffer, test.receive_buffer) = buffers;
        test.streams = streams;
        let text = start::streams(test, self.style.verbose);
        match self.form {
            Form::Stream { .. } => event("start", document::start(self.test.as_ref())),
            _ => self.as_text(text),
        }
    }

    /// A stream's interval went by.
    pub fn interval(&mut self, stream: usize, interval: &Interval) -> String {
        self.take(stream, interval);
        let mut text = String::new();
        while let Some(slices) = self.groups.next() {
            text += &self.group(slices);
        }
        text
    }

    /// The streams have ended; these are their counted intervals.
    pub fn ended<'a>(&mut self, streams: impl Iterator<Item = &'a [Interval]>) -> String {
        for (stream, intervals) in streams.enumerate() {
            let told = self.counted.get(stream).copied().unwrap_or(0);
            for interval in intervals.iter().skip(told) {
                self.take(stream, interval);
            }
        }
        let mut text = String::new();
        let (seen, sends) = (self.seen.clone(), self.sends());
        let nothing = |stream: usize, slice: Slice| {
            let tcp = seen.get(stream).copied().flatten().filter(|_| sends.get(stream) == Some(&true));
            tcp.map_or(slice, |tcp| facts::idle(slice, &tcp))
        };
        while let Some(slices) = self.groups.rest(self.interval_ns, nothing) {
            text += &self.group(slices);
        }
        text
    }

    /// Extremes of each stream's TCP.
    pub fn peaks(&self) -> &[Peaks] {
        &self.peaks
    }

    /// Lines of the result.
    pub fn summary(&mut self, all: Summary) -> String {
        let all = self.summary.insert(all);
        let text = match &self.test {
            Some(test) if self.form == Form::Text => summary::text(test, all, self.style),
            _ => String::new(),
        };
        self.as_text(text)
    }

    /// All is over. `error`: why it failed; of text that is for another place.
    pub fn over(&self, error: Option<&str>, server_output: Option<&Output>) -> String {
        match self.form {
            Form::Text => {
                let done = error.is_none() && self.test.as_ref().is_some_and(|test| test.role.is_client());
                let printed = server_output.map(|output| match output {
                    Output::Text(text) => text.clone(),
                    Output::Json(json) => Value::Raw(json.clone()).document(),
                });
                if done { summary::done(printed.as_deref()) } else { String::new() }
            }
            Form::Json => self.document(error, server_output),
            Form::Stream { full } => {
                let mut text = error.map(|error| event("error", Value::text(error))).unwrap_or_default();
                if let Some((name, value)) = server_output.map(document::server_output) {
                    text += &event(name, value);
                }
                let end = self.test.as_ref().zip(self.summary.as_ref()).map(|(test, all)| document::end(test, all));
                text += &event("end", end.unwrap_or(Value::Object(Vec::new())));
                if full { text + &self.document(error, server_output) } else { text }
            }
        }
    }

    /// All of it in one line of JSON, without its end: what a server tells its client.
    pub fn object(&self) -> String {
        self.whole(None, None).line().trim_end().to_owned()
    }

    /// A test that never came to its streams has no more than a beginning.
    fn document(&self, error: Option<&str>, server_output: Option<&Output>) -> String {
        self.whole(error, server_output).document()
    }

    fn whole(&self, error: Option<&str>, server_output: Option<&Output>) -> Value {
        let begun = self.test.as_ref().filter(|test| !test.streams.is_empty());
        let whole =
            Whole { test: begun, intervals: &self.intervals, summary: self.summary.as_ref(), error, server_output };
        whole.value()
    }

    fn take(&mut self, stream: usize, interval: &Interval) {
        let Some(sends) = self.test.as_ref().and_then(|test| Some(test.streams.get(stream)?.sends)) else { return };
        let slice = facts::slice(interval, sends, self.seen[stream].as_ref());
        self.seen[stream] = interval.tcp.or(self.seen[stream]);
        if !interval.omitted {
            self.counted[stream] += 1;
            if sends && interval.tcp.is_some() {
                self.peaks[stream].take(&slice.tcp);
            }
        }
        self.groups.push(stream, slice);
    }

    fn group(&mut self, slices: Vec<Slice>) -> String {
        let Some(test) = &self.test else { return String::new() };
        let text = match self.form {
            Form::Text => interval::text(test, &slices, self.told == 0, self.style),
            Form::Json => String::new(),
            Form::Stream { .. } => event("interval", document::interval(test, &slices)),
        };
        self.told += 1;
        if self.form != Form::Text {
            self.intervals.push(slices);
        }
        text
    }

    fn sends(&self) -> Vec<bool> {
        self.test.as_ref().map_or_else(Vec::new, |test| test.streams.iter().map(|stream| stream.sends).collect())
    }

    fn as_text(&self, text: String) -> String {
        if self.form == Form::Text { text } else { String::new() }
    }
}
