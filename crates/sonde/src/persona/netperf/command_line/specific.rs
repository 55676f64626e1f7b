//! The options behind `--`: the data connection, and what is selected of the result.
//!
//! Two sets: omni's, which most tests take, and the smaller one of the classic tests. An unknown letter is complained
//! of and the test runs, as with the original.

use endpoint::name::Family;

use crate::persona::answer::Answer;
use crate::persona::getopt::{Called, Entry, Fault, Item, Scan, Takes, alike};
use crate::persona::netperf::command_line::draft::Draft;
use crate::persona::netperf::command_line::number::{self, Reason};
use crate::persona::netperf::command_line::{list, own, rules, shape, usage};
use crate::persona::netperf::options::DataAddress;
use crate::persona::netperf::options::pair::{Pair, Rule, split};
use crate::persona::netperf::test_name::{SocketType, Transport};

const OMNI: &[Entry<()>] = &[
    alike(Takes::Nothing, "aBcCDfFghIJnNUV46", own::PLAIN),
    alike(Takes::Value, "bdeGHijKlLmMpPqrRsStTuwW", own::VALUED),
    alike(Takes::NextWord, "koO", &[]),
];

const CLASSIC: &[Entry<()>] =
    &[alike(Takes::Nothing, "CDhJnNV46", own::PLAIN), alike(Takes::Value, "bHLmMpPrRsSTwW", own::VALUED)];

/// Options `-d` and its like, before the direction is settled.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// `-d`: the client sends, the client receives.
    pub direction: Option<(bool, bool)>,
    /// `-c`.
    pub per_connection: bool,
    /// `-T`.
    pub transport: Option<Transport>,
    /// `-r`.
    pub request: Option<(Option<u32>, Option<u32>)>,
    /// `-R`.
    pub routing: Option<bool>,
    /// `-m` or `-M` gave a first value; a second value.
    pub sized: (bool, bool),
}

/// Reads the words behind `--`, and settles what the test is.
///
/// # Errors
/// See [`parse`](super::parse).
pub fn parse(draft: &mut Draft, words: &[String]) -> Result<(), Answer> {
    let classic = draft.options.test.is_classic();
    let mut asked = Asked::default();
    for item in Scan::new(words, if classic { CLASSIC } else { OMNI }, rules::RULES) {
        match item {
            Ok(Item::Option(_, Called::Letter('h'), _)) => {
                return Err(Answer::said(if classic { usage::CLASSIC } else { usage::OMNI }, 1));
            }
            Ok(Item::Option(_, Called::Letter(letter @ ('o' | 'O' | 'k')), value)) => {
                let (form, note) = list::form(letter, value.as_deref())?;
                draft.options.display.form = form;
                draft.options.notes.extend(note);
            }
            Ok(Item::Option(entry, Called::Letter(letter), value)) => {
                let text = value.as_deref().unwrap_or_default();
                if rules::lacks_value(entry, letter, text) {
                    return Err(draft.refuse(&format!("-- -{letter}"), "needs a value"));
                }
                apply(draft, &mut asked, letter, text)
                    .map_err(|why| draft.refuse(&format!("-- -{letter} {text}"), &why))?;
            }
            Ok(Item::Option(_, Called::Name(name), value)) => {
                own::apply(draft, name, value.as_deref().unwrap_or_default())?;
            }
            Ok(Item::Operand(word)) => draft.note(format!("`{word}` is no option: ignored")),
            Err(fault) if fault.letter.is_some() => complain(draft, &fault),
            Err(fault) => return Err(Answer::complaint(rules::complaint(&draft.program, &fault))),
        }
    }
    shape::settle(draft, &asked);
    Ok(())
}

/// The complaint of getopt, which alone tells that a letter is not taken. Notes begin with the program's name too.
fn complain(draft: &mut Draft, fault: &Fault) {
    draft.note(fault.glibc());
}

fn apply(draft: &mut Draft, asked: &mut Asked, letter: char, text: &str) -> Result<(), Reason> {
    match letter {
        'd' | 'c' | 'T' | 't' | 'r' | 'm' | 'M' | 'b' => measure(draft, asked, letter, text),
        'H' | 'L' | '4' | '6' | 'P' | 'p' => place(draft, letter, text),
        'i' | 'j' | 'w' | 'V' | 'I' | 'g' | 'l' => without_effect(draft, letter),
        'J' => {
            draft.options.own.json = true;
            Ok(())
        }
        'R' => {
            asked.routing = Some(draft.number('R', text)? != 0);
            Ok(())
        }
        _ => socket(draft, letter, text),
    }
}

/// Reads an option on the exchange.
fn measure(draft: &mut Draft, asked: &mut Asked, letter: char, text: &str) -> Result<(), Reason> {
    let explicit = split(text, Rule::Explicit);
    match letter {
        'd' => direction(draft, asked, text)?,
        'c' => asked.per_connection = true,
        'T' if draft.options.test.is_classic() => draft.note("-T: this test has its transport by its name".to_owned()),
        'T' => {
            let fault = || "is no transport: there are tcp, udp, sctp, dccp and udplite".to_owned();
            asked.transport = Some(Transport::named(text).ok_or_else(fault)?);
        }
        't' => draft.options.data.socket_type = Some(socket_type(text)?),
        'r' => {
            let (request, response) = split(text, Rule::Both);
            asked.request = Some((draft.number_of('r', request)?, draft.number_of('r', response)?));
        }
        'b' => draft.options.data.first_burst = draft.number('b', text)?,
        // -m names our size first, -M the server's.
        'm' => {
            let sizes = (draft.number_of('m', explicit.0)?, draft.number_of('m', explicit.1)?);
            let before = draft.options.data.send_bytes;
            draft.options.data.send_bytes = Pair::new(sizes.0.or(before.local), sizes.1.or(before.remote));
            asked.sized = (asked.sized.0 || sizes.0.is_some(), asked.sized.1 || sizes.1.is_some());
        }
        _ => {
            let sizes = (draft.number_of('M', explicit.0)?, draft.number_of('M', explicit.1)?);
            let before = draft.options.data.receive_bytes;
            draft.options.data.receive_bytes = Pair::new(sizes.1.or(before.local), sizes.0.or(before.remote));
            asked.sized = (asked.sized.0 || sizes.0.is_some(), asked.sized.1 || sizes.1.is_some());
        }
    }
    Ok(())
}

/// Words and numbers joined by `|`. netperf's own reading of an unknown word is "send", whatever was meant.
fn direction(draft: &mut Draft, asked: &mut Asked, text: &str) -> Result<(), Reason> {
    let mut both = (false, false);
    for word in text.split('|').map(str::trim) {
        let (sends, receives) = match word.to_ascii_lowercase().as_str() {
            "send" | "xmit" | "transmit" | "stream" => (true, false),
            "recv" | "receive" | "maerts" => (false, true),
            "rr" => (true, true),
            "crr" | "cc" => {
                asked.per_connection = true;
                draft.note(format!("-d {word}: is taken for -c -d {}", if word.len() == 3 { "rr" } else { "0" }));
                (word.len() == 3, word.len() == 3)
            }
            other => {
                let fault = |_| "is no direction: there are send, recv, rr, and numbers made of 2 and 4".to_owned();
                let bits: u8 = other.strip_prefix("0x").unwrap_or(other).parse().map_err(fault)?;
                (bits & 2 != 0, bits & 4 != 0)
            }
        };
        both = (both.0 || sends, both.1 || receives);
    }
    asked.direction = Some(both);
    Ok(())
}

fn socket_type(text: &str) -> Result<SocketType, Reason> {
    Ok(match text.to_ascii_lowercase().as_str() {
        "stream" => SocketType::Stream,
        "dgram" | "datagram" => SocketType::Datagram,
        "dccp" => SocketType::Dccp,
        "seqpacket" => SocketType::Seqpacket,
        _ => return Err("is no socket type: there are stream, dgram, dccp and seqpacket".to_owned()),
    })
}

/// Reads an option on the addresses and ports of the data connection.
fn place(draft: &mut Draft, letter: char, text: &str) -> Result<(), Reason> {
    let both = split(text, Rule::Both);
    match letter {
        '4' => draft.options.data.family = Family::V4,
        '6' => draft.options.data.family = Family::V6,
        'P' => {
            let before = draft.options.data.port;
            draft.options.data.port = Pair {
                local: both.0.map_or(Ok(before.local), number::port)?,
                remote: both.1.map_or(Ok(before.remote), number::port)?,
            };
        }
        'p' => {
            let first = both.0.map_or(Ok(0), number::port)?;
            let last = both.1.map_or(Ok(u16::MAX), number::port)?;
            if first > last || last == 0 {
                return Err("is no range of ports: write MIN,MAX".to_owned());
            }
            draft.options.data.port_range = Some((first, last));
        }
        _ => {
            let (host, family) = split(text, Rule::Explicit);
            let host = host.map(address).transpose()?;
            let family = family.map(|word| draft.family(word));
            let data = &mut draft.options.data;
            let end = if letter == 'H' { &mut data.address.remote } else { &mut data.address.local };
            *end = host.or(end.take());
            data.family = family.unwrap_or(data.family);
        }
    }
    Ok(())
}

fn address(text: &str) -> Result<DataAddress, Reason> {
    let Some((host, mask)) = text.split_once('/') else {
        return Ok(DataAddress { host: text.to_owned(), mask: None });
    };
    let fault = || "has no number of bits behind the slash".to_owned();
    let mask = mask.parse().ok().filter(|bits| *bits <= 128).ok_or_else(fault)?;
    Ok(DataAddress { host: host.to_owned(), mask: Some(mask) })
}

/// Reads an option on sockets.
fn socket(draft: &mut Draft, letter: char, text: &str) -> Result<(), Reason> {
    let both = split(text, Rule::Both);
    match letter {
        's' | 'S' => buffers(draft, letter, both)?,
        'K' => {
            let before = draft.options.data.congestion.clone();
            let named = |word: Option<&str>, before: Option<String>| word.map(str::to_owned).or(before);
            draft.options.data.congestion = Pair::new(named(both.0, before.local), named(both.1, before.remote));
        }
        'e' => draft.options.data.receive_timeout_s = Some(draft.number('e', text)?).filter(|seconds| *seconds > 0),
        'G' => draft.options.data.mss_bytes = Some(draft.number('G', text)?),
        'q' => draft.options.data.max_pacing_rate = Some(draft.number('q', text)?),
        'W' => draft.options.buffers.send_width = Some(draft.number('W', text)?),
        'u' => draft.options.data.uuid = Some(text.to_owned()),
        'n' => draft.options.data.connected.local = true,
        'N' => draft.options.data.connected.remote = true,
        _ => switch(draft, letter),
    }
    Ok(())
}

fn switch(draft: &mut Draft, letter: char) {
    let data = &mut draft.options.data;
    let switch = match letter {
        'D' => &mut data.nodelay,
        'C' => &mut data.cork,
        'F' => &mut data.fast_open,
        'f' => &mut data.path_mtu,
        'a' => &mut data.defer_accept,
        'B' => &mut data.packet_info,
        _ => &mut data.any_connect_error,
    };
    *switch = true;
}

fn buffers(draft: &mut Draft, letter: char, both: (Option<&str>, Option<&str>)) -> Result<(), Reason> {
    let send = draft.number_of(letter, both.0)?;
    let receive = draft.number_of(letter, both.1)?;
    let data = &mut draft.options.data;
    for (value, pair) in [(send, &mut data.send_buffer_bytes), (receive, &mut data.receive_buffer_bytes)] {
        let end = if letter == 's' { &mut pair.local } else { &mut pair.remote };
        *end = value.or(*end);
    }
    Ok(())
}

/// Letters that the original takes and that change nothing there, and letters that choose among calls that move the same bytes: the
/// test is the one asked for without them.
fn without_effect(draft: &mut Draft, letter: char) -> Result<(), Reason> {
    match letter {
        'i' | 'j' | 'w' => draft.note(format!("-- -{letter}: has no effect, here as there")),
        'V' => draft.note("-- -V: copies are not avoided here: `-t TCP_SENDFILE` sends without one".to_owned()),
        'I' => draft.note("-- -I: has no effect: every message is sent by send()".to_owned()),
        'g' => draft.note("-- -g: has no effect: SO_DEBUG shows nothing on Linux".to_owned()),
        _ => return Err("multicast is not measured here".to_owned()),
    }
    Ok(())
}
