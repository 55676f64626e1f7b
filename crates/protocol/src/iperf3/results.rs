//! Results that each end sends to the other after a test: one object of JSON, the same both ways.

use crate::iperf3::json::{Fields, Object, array};

/// Results of one end.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Results {
    /// CPU use of its process.
    pub cpu: Cpu,
    /// True where it knows the retransmits of its streams; absent: it sent nothing.
    pub sender_has_retransmits: Option<bool>,
    /// Its congestion control, of TCP.
    pub congestion: Option<String>,
    /// Its printed output, where that was requested.
    pub output: Option<Output>,
    /// Each stream, in the order they were opened.
    pub streams: Vec<StreamResults>,
}

/// Share of a CPU that a process used, in per cent; beyond 100 where it has several threads.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cpu {
    /// In all.
    pub total: f64,
    /// Part of it in user space.
    pub user: f64,
    /// Part of it in the kernel.
    pub system: f64,
}

/// A server's own output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// As text.
    Text(String),
    /// An object of JSON, as the server wrote it: keys in their order, numbers in their spelling.
    Json(String),
}

/// Results of one end about one stream.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StreamResults {
    /// The stream's number: [`stream_id`](super::stream_id).
    pub id: i64,
    /// Bytes sent or received by this end, without those of the time left out.
    pub bytes: u64,
    /// Segments sent again, in all; absent: this end does not send, or does not know.
    pub retransmits: Option<u64>,
    /// Jitter that a receiver of datagrams saw, seconds; else 0.
    pub jitter_s: f64,
    /// Datagrams lost, with those of the time left out.
    pub errors: i64,
    /// Datagrams sent, or the highest number received, with those of the time left out.
    pub packets: u64,
    /// Part of these two in the omitted time; absent: the peer, older than 3.14, does not report it.
    pub omitted: Option<Omitted>,
    /// The time that was measured, seconds; absent: the peer, older than 3.2, does not tell.
    pub times_s: Option<(f64, f64)>,
}

/// Datagrams of a stream within the omitted time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Omitted {
    /// Lost.
    pub errors: i64,
    /// Sent, or the highest number received.
    pub packets: u64,
}

impl StreamResults {
    /// Datagrams lost in the time that counts. `None`: some were left out, and the peer does not tell how many; `left_out`
    /// says whether the test left anything out.
    pub fn lost(&self, left_out: bool) -> Option<i64> {
        match self.omitted {
            Some(omitted) => Some(self.errors.saturating_sub(omitted.errors)),
            None if left_out && self.errors != 0 => None,
            None => Some(self.errors),
        }
    }

    /// Datagrams sent, or the highest number received, in the time that counts, as far as the peer tells them apart.
    pub fn counted(&self) -> u64 {
        self.packets.saturating_sub(self.omitted.map_or(0, |omitted| omitted.packets))
    }
}

impl Results {
    /// As JSON.
    pub fn write(&self) -> String {
        let mut object = Object::new();
        object.number("cpu_util_total", self.cpu.total);
        object.number("cpu_util_user", self.cpu.user);
        object.number("cpu_util_system", self.cpu.system);
        object.integer("sender_has_retransmits", self.sender_has_retransmits.map_or(-1, i8::from));
        if let Some(name) = &self.congestion {
            object.text("congestion_used", name);
        }
        match &self.output {
            Some(Output::Text(text)) => object.text("server_output_text", text),
            Some(Output::Json(json)) => object.raw("server_output_json", json),
            None => {}
        }
        object.raw("streams", &array(self.streams.iter().map(StreamResults::write)));
        object.finish()
    }

    /// Reads a peer's results. An error names the missing key: the keys that every iperf3 sends must be there.
    pub fn read(json: &[u8]) -> Result<Self, Unreadable> {
        let json = String::from_utf8_lossy(json);
        let fields = Fields::of(&json).ok_or(Unreadable::NoObject)?;
        let number = |key| fields.number(key).ok_or(Unreadable::Missing(key));
        let cpu = Cpu {
            total: number("cpu_util_total")?,
            user: number("cpu_util_user")?,
            system: number("cpu_util_system")?,
        };
        let retransmits = fields.integer("sender_has_retransmits");
        let streams = fields.array("streams").ok_or(Unreadable::Missing("streams"))?;
        if streams.len() > MOST {
            return Err(Unreadable::TooMany);
        }
        let output = fields.text("server_output_text").map(Output::Text);
        Ok(Self {
            cpu,
            sender_has_retransmits: match retransmits.ok_or(Unreadable::Missing("sender_has_retransmits"))? {
                ..0 => None,
                known => Some(known > 0),
            },
            congestion: fields.text("congestion_used"),
            output: output.or_else(|| fields.object("server_output_json").map(|json| Output::Json(json.to_owned()))),
            streams: streams.into_iter().map(|stream| StreamResults::read(stream.get())).collect::<Result<_, _>>()?,
        })
    }

    /// Returns true where these are of the first `count` streams and of no other, which alone makes sense of them. In
    /// order or not.
    pub fn are_of(&self, count: usize) -> bool {
        let mut ids: Vec<i64> = self.streams.iter().map(|stream| stream.id).collect();
        ids.sort_unstable();
        ids.iter().copied().eq((0..count).map(super::stream_id))
    }

    /// The stream of this number.
    pub fn stream(&self, id: i64) -> Option<&StreamResults> {
        self.streams.iter().find(|stream| stream.id == id)
    }
}

/// Streams that a test can have: 128 each way.
const MOST: usize = 2 * super::parameters::MOST_STREAMS as usize;

impl StreamResults {
    fn write(&self) -> String {
        let mut object = Object::new();
        object.integer("id", self.id);
        object.integer("bytes", self.bytes);
        object.integer("retransmits", self.retransmits.map_or(-1, i128::from));
        object.number("jitter", self.jitter_s);
        object.integer("errors", self.errors);
        if let Some(omitted) = &self.omitted {
            object.integer("omitted_errors", omitted.errors);
        }
        object.integer("packets", self.packets);
        if let Some(omitted) = &self.omitted {
            object.integer("omitted_packets", omitted.packets);
        }
        if let Some((start, end)) = self.times_s {
            object.number("start_time", start);
            object.number("end_time", end);
        }
        object.finish()
    }

    fn read(json: &str) -> Result<Self, Unreadable> {
        let fields = Fields::of(json).ok_or(Unreadable::Stream)?;
        let integer = |key| fields.integer(key).ok_or(Unreadable::Missing(key));
        // A negative count is none.
        let count = |key| integer(key).map(|value| u64::try_from(value).unwrap_or(0));
        let omitted = fields.integer("omitted_errors").zip(fields.integer("omitted_packets"));
        Ok(Self {
            id: integer("id")?,
            bytes: count("bytes")?,
            retransmits: u64::try_from(integer("retransmits")?).ok(),
            jitter_s: fields.number("jitter").ok_or(Unreadable::Missing("jitter"))?,
            errors: integer("errors")?,
            packets: count("packets")?,
            omitted: omitted.map(|(errors, packets)| Omitted { errors, packets: u64::try_from(packets).unwrap_or(0) }),
            times_s: fields.number("start_time").zip(fields.number("end_time")),
        })
    }
}

/// Reason why results cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// No object of JSON.
    #[error("not a JSON object")]
    NoObject,
    /// Something must be there.
    #[error("{0} is missing or has the wrong type")]
    Missing(&'static str),
    /// A stream that is no object.
    #[error("a stream is not a JSON object")]
    Stream,
    /// Too many streams.
    #[error("more than {MOST} streams")]
    TooMany,
}

#[cfg(test)]
mod tests {
    use super::*;
    use test_case::test_case;

    const STREAM: &str = r#"{"id":1,"bytes":5,"retransmits":-1,"jitter":0,"errors":2,"packets":9}"#;

    fn with(streams: &str) -> String {
        format!(
            r#"{{"cpu_util_total":1,"cpu_util_user":0.5,"cpu_util_system":0.5,"sender_has_retransmits":-1,"streams":[{streams}]}}"#
        )
    }

    #[test]
    fn minus_one_written_in_64_bits_is_minus_one() {
        let old = with(STREAM).replace("-1", "18446744073709551615");
        assert_eq!(Results::read(old.as_bytes()), Results::read(with(STREAM).as_bytes()));
        let read = Results::read(old.as_bytes()).unwrap();
        assert_eq!((read.sender_has_retransmits, read.streams[0].retransmits), (None, None));
    }

    #[test_case("omitted_errors")]
    #[test_case("omitted_packets")]
    fn what_was_left_out_is_told_whole_or_not_at_all(key: &str) {
        let one = STREAM.replace('}', &format!(r#","{key}":1}}"#));
        assert_eq!(Results::read(with(&one).as_bytes()).unwrap().streams[0].omitted, None);
    }

    #[test]
    fn loss_is_without_what_was_left_out_where_that_is_known() {
        let stream = StreamResults { errors: 5, packets: 100, ..StreamResults::default() };
        let told = StreamResults { omitted: Some(Omitted { errors: 2, packets: 30 }), ..stream };
        assert_eq!((told.lost(true), told.counted()), (Some(3), 70));
        assert_eq!((stream.lost(false), stream.lost(true), stream.counted()), (Some(5), None, 100));
        assert_eq!(StreamResults { errors: 0, ..stream }.lost(true), Some(0));
    }

    #[test_case("[]", Unreadable::NoObject; "an array")]
    #[test_case(&with("3"), Unreadable::Stream; "a stream that is none")]
    #[test_case(&with(&STREAM.replace("jitter", "j")), Unreadable::Missing("jitter"); "no jitter")]
    #[test_case(&with(STREAM).replace("total", "all"), Unreadable::Missing("cpu_util_total"); "no cpu")]
    #[test_case(&with(STREAM).replace("sender_has", "has"), Unreadable::Missing("sender_has_retransmits"); "no word of retransmits")]
    #[test_case(&with(&vec![STREAM; 257].join(",")), Unreadable::TooMany; "too many streams")]
    fn what_cannot_be_read_is_told(json: &str, why: Unreadable) {
        assert_eq!(Results::read(json.as_bytes()), Err(why));
        assert!(!why.to_string().is_empty());
    }

    #[test]
    fn results_are_of_all_streams_or_of_none() {
        let of = |ids: &[i64]| Results {
            streams: ids.iter().map(|id| StreamResults { id: *id, ..StreamResults::default() }).collect(),
            ..Results::default()
        };
        assert!(of(&[1, 3, 4]).are_of(3) && of(&[4, 1, 3]).are_of(3));
        assert!(!of(&[1, 2]).are_of(2) && !of(&[1]).are_of(2) && !of(&[1, 1]).are_of(2) && !of(&[1, 3, 4]).are_of(2));
    }

    #[test]
    fn the_output_of_a_server_is_kept_as_it_was_written() {
        let json = r#"{"z":1.0010310411453247,"a":[1,{"b":true}]}"#;
        let results = Results { output: Some(Output::Json(json.to_owned())), ..Results::default() };
        assert_eq!(Results::read(results.write().as_bytes()), Ok(results));
        let results = Results { output: Some(Output::Text("a\nb\t\"c\"".to_owned())), ..Results::default() };
        assert_eq!(Results::read(results.write().as_bytes()), Ok(results));
    }
}
