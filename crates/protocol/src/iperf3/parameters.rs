//! Parameters that a client asks a server for: one object of JSON.

use crate::iperf3::code::Code;
use crate::iperf3::json::{Fields, Object};

/// Streams a test may have in each direction.
pub const MOST_STREAMS: u32 = 128;
/// Bytes of a call over TCP at most.
pub const LARGEST_BLOCK: u32 = 1 << 20;
/// Bytes of a datagram: the least and the most.
pub const DATAGRAM: std::ops::RangeInclusive<u32> = 16..=65_507;
/// Seconds a test may last.
pub const LONGEST: u32 = 86_400;
/// Seconds at the start that may be left out.
pub const LONGEST_OMIT: u32 = 600;
/// Calls that may be made at once.
pub const LARGEST_BURST: u32 = 1_000;
/// Bytes of a socket's buffer at most.
pub const LARGEST_WINDOW: u32 = 512 << 20;
/// Bytes of a segment at most.
pub const LARGEST_SEGMENT: u32 = 32_767;

/// Transport of the data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// TCP.
    #[default]
    Tcp,
    /// UDP.
    Udp,
    /// SCTP.
    Sctp,
}

impl Protocol {
    /// Bytes of a call where nobody says.
    pub const fn default_block(self) -> u32 {
        match self {
            Self::Tcp => 128 << 10,
            Self::Udp => 1_460,
            Self::Sctp => 64 << 10,
        }
    }

    /// Its name in output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tcp => "TCP",
            Self::Udp => "UDP",
            Self::Sctp => "SCTP",
        }
    }

    const fn key(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
            Self::Sctp => "sctp",
        }
    }
}

/// Direction of the data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// From the client to the server.
    #[default]
    Upload,
    /// From the server to the client.
    Reverse,
    /// Both at once, each over streams of its own.
    Both,
}

/// Report of a client that can send and take segmented datagrams at once (3.21 and later).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segmentation {
    /// True where the kernel is to cut large sends into segments.
    pub gso: bool,
    /// Bytes of a segment; 0 where it is off.
    pub gso_dg_size: u32,
    /// Bytes of a send that is cut.
    pub gso_bf_size: u32,
    /// True where the kernel is to join received segments.
    pub gro: bool,
    /// Bytes of a receive that was joined.
    pub gro_bf_size: u32,
}

impl Segmentation {
    /// Report of a client that does neither.
    pub const OFF: Self = Self { gso: false, gso_dg_size: 0, gso_bf_size: 65_507, gro: false, gro_bf_size: 65_507 };
    /// Datagrams of one such send at most.
    const MOST: u32 = 64;

    /// Both, with datagrams of so many bytes, as many as go at once.
    pub fn of(block: u32) -> Self {
        let count = (Self::OFF.gso_bf_size / block.max(1)).clamp(1, Self::MOST);
        Self { gso: true, gso_dg_size: block, gso_bf_size: block.saturating_mul(count), gro: true, ..Self::OFF }
    }
}

/// Parameters that a client asks for. Absent ones are for the system, or the server, to choose.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a key of its own on the wire")]
pub struct Parameters {
    /// Transport of the data.
    pub protocol: Protocol,
    /// Seconds at the start that are not counted.
    pub omit: u32,
    /// CPU that the server is to run on.
    pub server_affinity: Option<u32>,
    /// Seconds the test lasts, without those left out; 0: no limit of time.
    pub time: u32,
    /// Bytes after which the test is over, all streams together; 0: no such limit.
    pub bytes: u64,
    /// Calls after which the test is over, all streams together; 0: no such limit.
    pub blocks: u64,
    /// Bytes of a segment of TCP at most.
    pub mss: Option<u32>,
    /// True where TCP sends small segments at once.
    pub nodelay: bool,
    /// Streams in each direction.
    pub parallel: u32,
    /// Direction of the data.
    pub direction: Direction,
    /// True where several paths of TCP are to be used.
    pub mptcp: bool,
    /// Bytes of the sockets' buffers.
    pub window: Option<u32>,
    /// Bytes of a call, of UDP those of a datagram; absent: [`Protocol::default_block`].
    pub block: Option<u32>,
    /// Bits a second of each stream, both directions alike; absent: no limit.
    pub rate: Option<u64>,
    /// Bits a second at which the kernel is to pace each socket.
    pub fq_rate: Option<u64>,
    /// Microseconds between two looks of a sender whether it may send.
    pub pacing_timer_us: u32,
    /// Calls made at once where a rate is kept; 0: one.
    pub burst: u32,
    /// Segmented datagrams: said by clients that know them, over UDP.
    pub segmentation: Option<Segmentation>,
    /// The type-of-service octet.
    pub tos: u8,
    /// The flow label of IPv6.
    pub flow_label: Option<u32>,
    /// Prefix of every line of output.
    pub title: Option<String>,
    /// Text that is shown unchanged in the results' JSON.
    pub extra_data: Option<String>,
    /// Congestion control.
    pub congestion: Option<String>,
    /// The congestion control that the client knows to be used.
    pub congestion_used: Option<String>,
    /// True where the server sends its printed output along with its results.
    pub get_server_output: bool,
    /// True where datagrams are numbered in 64 bits.
    pub counters_64bit: bool,
    /// True where the content is digits over and over, in place of random octets.
    pub repeating_payload: bool,
    /// True where senders avoid copies in memory.
    pub zerocopy: bool,
    /// True where datagrams may not be fragmented (IPv4).
    pub dont_fragment: bool,
    /// Encrypted credentials: see [`login`](super::login).
    pub auth_token: Option<String>,
    /// True where receivers leave the content where it is.
    pub skip_rx_copy: bool,
    /// The client's version.
    pub client_version: Option<String>,
}

impl Default for Parameters {
    /// Defaults of a server for absent parameters: TCP to it, one stream, ten seconds.
    fn default() -> Self {
        Self {
            protocol: Protocol::Tcp,
            omit: 0,
            server_affinity: None,
            time: 10,
            bytes: 0,
            blocks: 0,
            mss: None,
            nodelay: false,
            parallel: 1,
            direction: Direction::Upload,
            mptcp: false,
            window: None,
            block: None,
            rate: None,
            fq_rate: None,
            pacing_timer_us: 1_000,
            burst: 0,
            segmentation: None,
            tos: 0,
            flow_label: None,
            title: None,
            extra_data: None,
            congestion: None,
            congestion_used: None,
            get_server_output: false,
            counters_64bit: false,
            repeating_payload: false,
            zerocopy: false,
            dont_fragment: false,
            auth_token: None,
            skip_rx_copy: false,
            client_version: None,
        }
    }
}

impl Parameters {
    /// Bytes of a call.
    pub fn block_bytes(&self) -> u32 {
        self.block.unwrap_or(self.protocol.default_block())
    }

    /// Datagrams of a call of a sender: more than one where the kernel is to cut them.
    pub fn segments(&self) -> u32 {
        let cut = self.segmentation.filter(|cut| cut.gso && self.protocol == Protocol::Udp);
        cut.map_or(1, |cut| cut.gso_bf_size.min(Segmentation::OFF.gso_bf_size) / self.block_bytes().max(1))
            .clamp(1, Segmentation::MOST)
    }

    /// Streams that the client sends on.
    pub fn uploads(&self) -> u32 {
        if self.direction == Direction::Reverse { 0 } else { self.parallel }
    }

    /// Streams that the server sends on.
    pub fn downloads(&self) -> u32 {
        if self.direction == Direction::Upload { 0 } else { self.parallel }
    }

    /// Bits a second that all streams together are to carry; `None`: as many as they can.
    pub fn total_rate(&self) -> Option<u64> {
        self.rate.map(|rate| rate.saturating_mul(u64::from(self.uploads() + self.downloads())))
    }

    /// As JSON, in the order that iperf3 3.21 has.
    pub fn write(&self) -> String {
        let mut object = Object::new();
        object.flag(self.protocol.key(), true);
        object.integer("omit", self.omit);
        integer(&mut object, "server_affinity", self.server_affinity);
        object.integer("time", self.time);
        object.integer("num", self.bytes);
        object.integer("blockcount", self.blocks);
        integer(&mut object, "MSS", self.mss);
        object.flag("nodelay", self.nodelay);
        object.integer("parallel", self.parallel);
        object.flag("reverse", self.direction == Direction::Reverse);
        object.flag("bidirectional", self.direction == Direction::Both);
        object.flag("mptcp", self.mptcp);
        integer(&mut object, "window", self.window);
        integer(&mut object, "len", self.block);
        integer(&mut object, "bandwidth", self.rate);
        integer(&mut object, "fqrate", self.fq_rate);
        object.integer("pacing_timer", self.pacing_timer_us);
        integer(&mut object, "burst", Some(self.burst).filter(|burst| *burst > 0));
        self.write_segmentation(&mut object);
        integer(&mut object, "TOS", Some(self.tos).filter(|tos| *tos > 0));
        integer(&mut object, "flowlabel", self.flow_label);
        text(&mut object, "title", self.title.as_deref());
        text(&mut object, "extra_data", self.extra_data.as_deref());
        text(&mut object, "congestion", self.congestion.as_deref());
        text(&mut object, "congestion_used", self.congestion_used.as_deref());
        object.one("get_server_output", self.get_server_output);
        object.one("udp_counters_64bit", self.counters_64bit);
        object.one("repeating_payload", self.repeating_payload);
        object.one("zerocopy", self.zerocopy);
        object.one("dont_fragment", self.dont_fragment);
        text(&mut object, "authtoken", self.auth_token.as_deref());
        object.one("skip_rx_copy", self.skip_rx_copy);
        text(&mut object, "client_version", self.client_version.as_deref());
        object.finish()
    }

    fn write_segmentation(&self, object: &mut Object) {
        if let Some(cut) = &self.segmentation {
            object.integer("gso", u8::from(cut.gso));
            object.integer("gso_dg_size", cut.gso_dg_size);
            object.integer("gso_bf_size", cut.gso_bf_size);
            object.integer("gro", u8::from(cut.gro));
            object.integer("gro_bf_size", cut.gro_bf_size);
        }
    }

    /// Reads a client's parameters. Unknown keys are passed over, and so are values of another type; a value out of
    /// bounds is refused by iperf3's number for it.
    pub fn read(json: &[u8]) -> Result<Self, Code> {
        let json = String::from_utf8_lossy(json);
        let fields = Fields::of(&json).ok_or(Code::PARAMETERS)?;
        let numbers = Numbers(&fields);
        let default = Self::default();
        let protocol = protocol(&fields);
        let direction = match (fields.flag("reverse"), fields.flag("bidirectional")) {
            (true, true) => return Err(Code::DIRECTION),
            (true, false) => Direction::Reverse,
            (false, true) => Direction::Both,
            (false, false) => Direction::Upload,
        };
        Ok(Self {
            protocol,
            omit: numbers.within("omit", 0..=LONGEST_OMIT, Code::OMIT)?.unwrap_or(default.omit),
            server_affinity: fields.integer("server_affinity").and_then(|cpu| u32::try_from(cpu).ok()),
            time: numbers.within("time", 0..=LONGEST, Code::DURATION)?.unwrap_or(default.time),
            bytes: numbers.count("num")?.unwrap_or(0),
            blocks: numbers.count("blockcount")?.unwrap_or(0),
            mss: numbers.some("MSS", LARGEST_SEGMENT, Code::SEGMENT_SIZE)?,
            nodelay: fields.flag("nodelay"),
            parallel: numbers.within("parallel", 1..=MOST_STREAMS, Code::STREAMS)?.unwrap_or(default.parallel),
            direction,
            mptcp: fields.flag("mptcp"),
            window: numbers.some("window", LARGEST_WINDOW, Code::BUFFER_SIZE)?,
            block: block(&numbers, protocol)?,
            rate: numbers.count("bandwidth")?.filter(|rate| *rate > 0),
            fq_rate: numbers.count("fqrate")?.filter(|rate| *rate > 0),
            pacing_timer_us: numbers
                .within("pacing_timer", 0..=u32::MAX, Code::PARAMETERS)?
                .unwrap_or(default.pacing_timer_us),
            burst: numbers.within("burst", 0..=LARGEST_BURST, Code::BURST)?.unwrap_or(0),
            segmentation: segmentation(&fields),
            tos: numbers.within("TOS", 0..=255, Code::TYPE_OF_SERVICE)?.unwrap_or(0) as u8,
            flow_label: fields.integer("flowlabel").and_then(|label| u32::try_from(label).ok()).filter(|n| *n > 0),
            title: fields.text("title"),
            extra_data: fields.text("extra_data"),
            congestion: fields.text("congestion"),
            congestion_used: fields.text("congestion_used"),
            get_server_output: fields.nonzero("get_server_output"),
            counters_64bit: fields.nonzero("udp_counters_64bit"),
            repeating_payload: fields.nonzero("repeating_payload"),
            zerocopy: fields.nonzero("zerocopy"),
            dont_fragment: fields.nonzero("dont_fragment"),
            auth_token: fields.text("authtoken"),
            skip_rx_copy: fields.nonzero("skip_rx_copy"),
            client_version: fields.text("client_version"),
        })
    }
}

fn integer(object: &mut Object, key: &str, value: Option<impl Into<i128>>) {
    if let Some(value) = value {
        object.integer(key, value);
    }
}

fn text(object: &mut Object, key: &str, value: Option<&str>) {
    if let Some(value) = value {
        object.text(key, value);
    }
}

/// Where several are said, the last in this order counts.
fn protocol(fields: &Fields<'_>) -> Protocol {
    let all = [Protocol::Sctp, Protocol::Udp, Protocol::Tcp];
    all.into_iter().find(|protocol| fields.flag(protocol.key())).unwrap_or_default()
}

fn block(numbers: &Numbers<'_>, protocol: Protocol) -> Result<Option<u32>, Code> {
    if protocol != Protocol::Udp {
        return numbers.some("len", LARGEST_BLOCK, Code::BLOCK_SIZE);
    }
    let block = numbers.some("len", *DATAGRAM.end(), Code::DATAGRAM_SIZE)?;
    if block.is_some_and(|block| block < *DATAGRAM.start()) { Err(Code::DATAGRAM_SIZE) } else { Ok(block) }
}

fn segmentation(fields: &Fields<'_>) -> Option<Segmentation> {
    let size = |key| fields.integer(key).and_then(|size| u32::try_from(size).ok());
    fields.integer("gso").or(fields.integer("gro"))?;
    Some(Segmentation {
        gso: fields.nonzero("gso"),
        gso_dg_size: size("gso_dg_size").unwrap_or(Segmentation::OFF.gso_dg_size),
        gso_bf_size: size("gso_bf_size").unwrap_or(Segmentation::OFF.gso_bf_size),
        gro: fields.nonzero("gro"),
        gro_bf_size: size("gro_bf_size").unwrap_or(Segmentation::OFF.gro_bf_size),
    })
}

/// Numbers that must be within bounds.
struct Numbers<'a>(&'a Fields<'a>);

impl Numbers<'_> {
    fn within(&self, key: &str, bounds: std::ops::RangeInclusive<u32>, code: Code) -> Result<Option<u32>, Code> {
        let Some(value) = self.0.integer(key) else { return Ok(None) };
        u32::try_from(value).ok().filter(|value| bounds.contains(value)).map(Some).ok_or(code)
    }

    /// 0 is as good as nothing.
    fn some(&self, key: &str, most: u32, code: Code) -> Result<Option<u32>, Code> {
        Ok(self.within(key, 0..=most, code)?.filter(|value| *value > 0))
    }

    fn count(&self, key: &str) -> Result<Option<u64>, Code> {
        let Some(value) = self.0.integer(key) else { return Ok(None) };
        u64::try_from(value).map(Some).map_err(|_| Code::PARAMETERS)
    }
}

#[cfg(test)]
mod tests;
