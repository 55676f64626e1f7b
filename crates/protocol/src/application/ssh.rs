//! SSH: the line with a version that each end begins with (RFC 4253 section 4.2). Both may send theirs at once, so ours is the request and the server's
//! the reply, one on a connection; no key is exchanged and nobody logs in.
//!
//! A server that lets nobody in any more says so in a line of its own in place of its version (OpenSSH). Other lines may stand before the version, and
//! are passed over.

use std::borrow::Cow;

use measure::reach::Transport;

use super::speech::{Kind, Protocol, Reply, Speech, Taken, line};

/// Its row.
pub const PROTOCOL: Protocol = Protocol {
    schemes: &["ssh"],
    over: Transport::Tcp,
    port: 22,
    tls: None,
    asks: "version of SSH, one on a connection",
};

/// One request in words.
pub const WORDS: &str = "version";

/// Our version; the program's own has no place in it, so that all requests are alike.
const VERSION: &[u8] = b"SSH-2.0-sonde\r\n";
/// Longest line that is believed: a version has at most 255 octets with its end, and what may stand before it no bound.
const LONGEST: usize = 1_024;
/// Most lines that are passed over before a version.
const MOST_LINES: u32 = 1_024;

/// Versions of the protocol: those from 2.0 on, and those that speak 1 as well (section 5.1).
const SECOND: Kind = Kind(200);
const BOTH: Kind = Kind(199);
/// Lines of OpenSSH in place of a version (`sshd.c`, `srclimit.c`), and their kinds.
const DECLINED: [(&[u8], Kind); 2] = [(b"Exceeded MaxStartups", Kind(1)), (b"Not allowed at this time", Kind(2))];

/// A client that says its version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ssh {
    /// Lines that were passed over on this connection.
    lines: u32,
}

impl Speech for Ssh {
    fn begin(&mut self) {
        self.lines = 0;
    }

    fn request(&self) -> Vec<u8> {
        VERSION.to_vec()
    }

    fn take(&mut self, octets: &[u8]) -> Taken {
        let (line, length) = match line(octets, LONGEST) {
            Ok(Some(found)) => found,
            Ok(None) => return Taken::MORE,
            Err(()) => return Taken::unsound("a line of SSH has no end"),
        };
        let version = [(&b"SSH-2."[..], SECOND), (b"SSH-1.99-", BOTH)];
        let begins = |(with, _): &&(&[u8], Kind)| line.starts_with(with);
        if let Some((_, kind)) = version.iter().find(begins) {
            return Taken::reply(length, Reply { closes: true, ..Reply::answered(*kind) });
        }
        if let Some((_, kind)) = DECLINED.iter().find(begins) {
            return Taken::reply(length, Reply { closes: true, ..Reply::refused(*kind) });
        }
        self.lines += 1;
        if line.starts_with(b"SSH-") || self.lines > MOST_LINES {
            return Taken::unsound("the server speaks no version 2 of SSH");
        }
        Taken::part(length)
    }

    fn kind(&self, kind: Kind) -> Cow<'static, str> {
        match kind {
            SECOND => Cow::Borrowed("SSH-2.0"),
            BOTH => Cow::Borrowed("SSH-1.99"),
            Kind(1) => Cow::Borrowed("MaxStartups"),
            Kind(2) => Cow::Borrowed("not allowed at this time"),
            Kind(other) => Cow::Owned(format!("kind {other}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;
    use crate::application::speech::Came;
    use crate::application::speech::tests::alike;

    /// A reply of this kind, behind which nothing is asked.
    fn closing(kind: Kind, sound: bool) -> Came {
        Came::Reply(Reply { kind, sound, number: None, closes: true })
    }

    #[test_case(b"SSH-2.0-OpenSSH_9.2p1 Debian-2+deb12u3\r\n", closing(SECOND, true); "OpenSSH")]
    #[test_case(b"hello\r\n\r\nSSH-2.0-dropbear\n", closing(SECOND, true); "lines before it")]
    #[test_case(b"SSH-1.99-Cisco-1.25\n", closing(BOTH, true); "an older one")]
    #[test_case(b"Exceeded MaxStartups\r\n", closing(Kind(1), false); "too many at once")]
    #[test_case(b"Not allowed at this time\r\n", closing(Kind(2), false); "a penalty")]
    #[test_case(b"SSH-1.5-1.2.27\n", Came::Unsound("the server speaks no version 2 of SSH"); "the first version")]
    #[test_case(&[b'x'; LONGEST], Came::Unsound("a line of SSH has no end"); "a line without an end")]
    #[test_case(&b"\n".repeat(1_025), Came::Unsound("the server speaks no version 2 of SSH"); "lines without end")]
    fn a_server_says_its_version(octets: &[u8], expected: Came) {
        assert_eq!(alike(&Ssh::default(), octets), [expected]);
    }

    #[test]
    fn lines_are_counted_anew_on_each_connection() {
        let mut ssh = Ssh::default();
        for _ in 0..3 {
            ssh.begin();
            for _ in 0..MOST_LINES {
                assert_eq!(ssh.take(b"\n"), Taken::part(1));
            }
        }
        assert_eq!(
            [SECOND, BOTH, Kind(1), Kind(9)].map(|kind| ssh.kind(kind)),
            ["SSH-2.0", "SSH-1.99", "MaxStartups", "kind 9"]
        );
    }
}
