//! Reads the captures of the real sockperf.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use protocol::sockperf::message::{HEADER, Header};
use protocol::sockperf::numbering::Numbering;
use protocol::sockperf::payload;

const CAPTURES: &str = include_str!("../../fixtures/sockperf/captures.txt");

/// Messages between a client and a server.
pub struct Capture {
    pub name: &'static str,
    pub client: Client,
    pub messages: Vec<Message>,
}

/// Settings of the client.
pub struct Client {
    pub longest: u32,
    pub reply_every: Option<NonZeroU32>,
    pub burst: NonZeroU32,
    /// Ports of its sockets in their order; empty where there is one.
    pub ports: Vec<&'static str>,
}

/// One message, and what an independent decoder read in it.
pub struct Message {
    pub of_client: bool,
    /// The header, and as much of the payload as the capture holds.
    pub octets: Vec<u8>,
    pub whole: bool,
    pub fields: BTreeMap<&'static str, &'static str>,
}

impl Message {
    pub fn number(&self, name: &str) -> u64 {
        let text = self.fields[name];
        let (digits, radix) = text.strip_prefix("0x").map_or((text, 10), |digits| (digits, 16));
        u64::from_str_radix(digits, radix).expect("a number")
    }

    pub fn header(&self) -> Header {
        Header::read(&self.octets).expect("a header")
    }

    /// All of it: what was not captured as the C library's numbers say.
    pub fn complete(&self, longest: u32) -> Vec<u8> {
        let mut message = vec![0; self.number("length") as usize];
        payload::fill(&mut message, longest, payload::SEED);
        message[..HEADER].copy_from_slice(&self.octets[..HEADER]);
        message
    }
}

impl Client {
    fn of(command: &'static str) -> Self {
        let words: Vec<_> = command.split(' ').collect();
        let value = |option| words.iter().position(|word| *word == option).map(|at| words[at + 1]);
        let number = |option| value(option).and_then(|text| text.parse::<NonZeroU32>().ok());
        let (longest, reply_every) = match words[1] {
            "ping-pong" => (None, Some(NonZeroU32::MIN)),
            "under-load" => (None, number("--reply-every")),
            "playback" => (Some(payload::PLAYBACK_LONGEST), number("--reply-every")),
            "throughput" => (None, None),
            other => panic!("{other}"),
        };
        let ports = if value("-f").is_some() { vec!["5001", "6001", "5002", "6002"] } else { vec![] };
        Self {
            longest: longest.or(number("-m").map(NonZeroU32::get)).expect("a size"),
            reply_every,
            burst: number("-b").unwrap_or(NonZeroU32::MIN),
            ports,
        }
    }

    /// Returns the numbering of the socket that this message went over.
    pub fn numbering(&self, message: &Message) -> Numbering {
        let port = message.fields.get("port");
        let lane = port.and_then(|port| self.ports.iter().position(|known| known == port)).unwrap_or(0);
        let lanes = NonZeroU32::new(self.ports.len() as u32).unwrap_or(NonZeroU32::MIN);
        Numbering::new(lane as u32, lanes, self.burst)
    }

    /// Length of the message with the longest payload that `message` is one of: a server's own are as long as may be.
    pub fn longest_of(&self, message: &Message) -> u32 {
        if self.longest < message.header().length { message.header().length } else { self.longest }
    }
}

pub fn all() -> Vec<Capture> {
    let mut captures: Vec<Capture> = Vec::new();
    for line in CAPTURES.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        let (mark, rest) = line.split_at(2);
        if mark == "= " {
            let (name, command) = rest.split_once(": ").expect("a name");
            captures.push(Capture { name, client: Client::of(command), messages: Vec::new() });
            continue;
        }
        let messages = &mut captures.last_mut().expect("a name before its messages").messages;
        if let Some(fields) = rest.strip_prefix("| ") {
            let pairs = fields.split(' ').map(|field| field.split_once('=').expect("name=value"));
            messages.last_mut().expect("a message before its fields").fields.extend(pairs);
            continue;
        }
        let (digits, whole) = rest.strip_suffix(" ...").map_or((rest, true), |digits| (digits, false));
        let digits = digits.replace(' ', "");
        let octet = |at| u8::from_str_radix(&digits[at..at + 2], 16).expect("an octet");
        let octets = (0..digits.len()).step_by(2).map(octet).collect();
        messages.push(Message { of_client: mark == "> ", octets, whole, fields: BTreeMap::new() });
    }
    let count: usize = captures.iter().map(|capture| capture.messages.len()).sum();
    assert_eq!((captures.len(), count), (26, 372), "every capture was read");
    captures
}
