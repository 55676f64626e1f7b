//! Common to the protocols of programs at work: a machine that takes octets, and its findings.

use std::borrow::Cow;
use std::fmt;

use measure::reach::Transport;

/// A protocol over TCP: opens a connection, writes requests, reads replies.
pub trait Speech {
    /// The first octets on a new connection; empty where there are none, or the server speaks first.
    fn opening(&self) -> Cow<'static, [u8]> {
        Cow::Borrowed(&[])
    }

    /// A new connection begins: nothing of an earlier one is remembered.
    fn begin(&mut self) {}

    /// True while requests may be sent; [`Came::Opened`] tells when that begins.
    fn is_open(&self) -> bool {
        true
    }

    /// True where a connection begins in clear and asks for TLS in the protocol's own words; [`Came::Secure`] tells when it begins.
    fn asks_for_tls(&self) -> bool {
        false
    }

    /// True where the server has said that it has no TLS to offer, and declines for it.
    fn lacks_tls(&self) -> bool {
        false
    }

    /// The first octets behind the handshake of TLS that was asked for.
    fn secured(&self) -> Cow<'static, [u8]> {
        Cow::Borrowed(&[])
    }

    /// One request, with room for its mark.
    fn request(&self) -> Vec<u8>;

    /// Writes the mark of request `number` into it, where the protocol gives one back.
    fn mark(&self, _request: &mut [u8], _number: u64) {}

    /// A request was handed over: these octets.
    fn asked(&mut self, _request: &[u8]) {}

    /// Bits of a number that come back, where a mark does.
    fn mark_bits(&self) -> u32 {
        u32::BITS
    }

    /// True where parts of several replies may come in turn.
    fn interleaves(&self) -> bool {
        false
    }

    /// The most requests that the server takes at once on this connection; absent where it has said nothing of it.
    fn most_at_once(&self) -> Option<u32> {
        None
    }

    /// True where the latest reply says that this port speaks TLS, and the request came in clear.
    fn is_told_of_tls(&self) -> bool {
        false
    }

    /// Takes a part of `octets`, which come next on the connection, and returns its length and meaning. Taking none of
    /// them asks for more.
    fn take(&mut self, octets: &[u8]) -> Taken;

    /// The answer that the latest [`Came::Aside`], [`Came::Opened`] or [`Came::Secure`] wants; empty: none.
    fn answer(&self) -> &[u8] {
        &[]
    }

    /// The last octets on a connection that we end; empty where the protocol has none.
    fn farewell(&self) -> Cow<'static, [u8]> {
        Cow::Borrowed(&[])
    }

    /// The peer has closed the connection: the reply that ends by that, where one was under way.
    fn closed(&mut self) -> Option<Reply> {
        None
    }

    /// Octets of head and body of the latest reply, where the protocol tells them apart.
    fn lengths(&self) -> Option<(u64, u64)> {
        None
    }

    /// The name of a kind of reply, as the protocol's users know it.
    fn kind(&self, kind: Kind) -> Cow<'static, str>;
}

/// Octets that were taken, and their meaning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Octets that are done with.
    pub octets: usize,
    /// Their meaning.
    pub came: Came,
}

impl Taken {
    /// Nothing can be said before more has come.
    pub const MORE: Self = Self { octets: 0, came: Came::Part };

    /// All of `octets`, as a part of something that continues.
    pub fn part(octets: usize) -> Self {
        Self { octets, came: Came::Part }
    }

    /// A whole reply.
    pub fn reply(octets: usize, reply: Reply) -> Self {
        Self { octets, came: Came::Reply(reply) }
    }

    /// Octets that nobody asked for.
    pub fn aside(octets: usize) -> Self {
        Self { octets, came: Came::Aside }
    }

    /// The stream is not understood any more.
    pub fn unsound(why: &'static str) -> Self {
        Self { octets: 0, came: Came::Unsound(why) }
    }

    /// The server does not let us in, in its own words.
    pub fn declined(octets: usize, words: &[u8]) -> Self {
        Self { octets, came: Came::Declined(Words::of(words)) }
    }
}

/// The meaning of octets of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Came {
    /// A part of something: more has to come.
    Part,
    /// The end of the opening: requests may be sent from here on.
    Opened,
    /// The end of the octets in clear: [`Speech::answer`] is to be sent, then TLS begins, and [`Speech::secured`] follows in it.
    Secure,
    /// The server lets nobody in, or not us.
    Declined(Words),
    /// The end of a reply.
    Reply(Reply),
    /// Something that nobody asked for; [`Speech::answer`] is to be sent.
    Aside,
    /// Nothing of this protocol. Later octets cannot be read any more.
    Unsound(
        /// The fault.
        &'static str,
    ),
}

/// A reply as it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    /// Its kind.
    pub kind: Kind,
    /// True where the program did the request.
    pub sound: bool,
    /// The low [`Speech::mark_bits`] bits of the number of the request that it answers, where it carries them; otherwise it answers the
    /// oldest.
    pub number: Option<u32>,
    /// True where the server said that it closes the connection behind it.
    pub closes: bool,
}

impl Reply {
    /// An answer without a number, behind which the connection stays.
    pub const fn answered(kind: Kind) -> Self {
        Self { kind, sound: true, number: None, closes: false }
    }

    /// A reply of a program that did not do the request.
    pub const fn refused(kind: Kind) -> Self {
        Self { kind, sound: false, number: None, closes: false }
    }
}

/// The kind of a reply, as a number that the protocol gives it: an HTTP status, a DNS response code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Kind(pub u16);

/// Longest text of a server that is kept, octets.
const LONGEST_WORDS: usize = 200;

/// Words of a server, cut to a length that one reads. They come from outside: any program that prints them escapes them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Words(pub String);

impl Words {
    /// Those of `octets`, whose ends of lines do not belong to it.
    pub fn of(octets: &[u8]) -> Self {
        let cut = &octets[..octets.len().min(LONGEST_WORDS)];
        Self(String::from_utf8_lossy(cut).trim_end().to_owned())
    }
}

impl fmt::Display for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The line that `octets` begin with, without its end, and how long it is with it. `Err`: longer than `longest` without an end.
pub(crate) fn line(octets: &[u8], longest: usize) -> Result<Option<(&[u8], usize)>, ()> {
    match octets.iter().take(longest).position(|octet| *octet == b'\n') {
        Some(end) => Ok(Some((octets[..end].strip_suffix(b"\r").unwrap_or(&octets[..end]), end + 1))),
        None if octets.len() >= longest => Err(()),
        None => Ok(None),
    }
}

/// A protocol that can be asked, by its names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Protocol {
    /// The words before `://`; the first is its name.
    pub schemes: &'static [&'static str],
    /// Its transport.
    pub over: Transport,
    /// Its usual port.
    pub port: u16,
    /// Its name in a TLS handshake (ALPN), where it goes through TLS: empty where servers know none.
    pub tls: Option<&'static str>,
    /// One request, in a line of help.
    pub asks: &'static str,
}

impl Protocol {
    /// Its name.
    pub fn name(&self) -> &'static str {
        self.schemes[0]
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// All that a speech says of `octets`, given as they are cut, until it is not understood any more.
    pub fn hear<S: Speech>(speech: &mut S, octets: &[u8], cuts: impl Fn(usize) -> bool) -> Vec<Came> {
        let (mut came, mut from, mut end) = (Vec::new(), 0, 0);
        while end < octets.len() {
            end += 1;
            if end < octets.len() && !cuts(end) {
                continue;
            }
            while from < end {
                let taken = speech.take(&octets[from..end]);
                assert!(taken.octets <= end - from, "more was taken than there is");
                from += taken.octets;
                match taken.came {
                    Came::Part if taken.octets == 0 => break,
                    Came::Part => {}
                    Came::Unsound(why) => {
                        came.push(Came::Unsound(why));
                        return came;
                    }
                    other => came.push(other),
                }
            }
        }
        came
    }

    /// Octets are read alike whole, octet by octet, and cut anywhere once.
    pub fn alike<S: Speech + Clone>(speech: &S, octets: &[u8]) -> Vec<Came> {
        let whole = hear(&mut speech.clone(), octets, |_| false);
        assert_eq!(hear(&mut speech.clone(), octets, |_| true), whole, "octet by octet");
        for cut in 1..octets.len() {
            assert_eq!(hear(&mut speech.clone(), octets, |end| end == cut), whole, "cut at {cut}");
        }
        whole
    }

    #[test]
    fn a_line_ends_by_its_feed_and_is_no_longer_than_is_believed() {
        assert_eq!(line(b"ab\r\ncd", 9), Ok(Some((&b"ab"[..], 4))));
        assert_eq!(line(b"ab\ncd", 9), Ok(Some((&b"ab"[..], 3))));
        assert_eq!(line(b"ab", 9), Ok(None));
        assert_eq!(line(b"abcdefghij", 9), Err(()));
    }

    #[test]
    fn words_of_a_server_are_short() {
        assert_eq!(Words::of(b"-ERR no\r\n").to_string(), "-ERR no");
        assert_eq!(Words::of(&[b'x'; 9_000]).0.len(), LONGEST_WORDS);
        assert_eq!(Words::of(b"\xff").to_string(), "\u{fffd}");
    }
}
