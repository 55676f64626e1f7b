//! Texts that are printed in place of a run: help and version.

use crate::persona::answer::Answer;

const TEXT: &str = "
Usage: ping [OPTIONS] DESTINATION

Asks a host for echoes (ICMP) and tells when they come back. As iputils' ping; see docs/ping.md for what differs.

How many, how fast:
  -c COUNT       end after so many replies
  -i SECONDS     from one request to the next: 1; fractions down to a microsecond, 0 as -f without dots
  -f             as fast as replies come, at least 100 a second; dots for what is missing
  -A             as fast as replies come, at least one a round trip
  -l COUNT       so many at once at the start
  -w SECONDS     end after this time
  -W SECONDS     where nothing came at all, wait so long for it: 10

What is sent:
  -s OCTETS      payload: 56
  -p HEX         what fills it, up to 16 octets
  -t TTL   -Q TOS   -M do|want|dont   -R   -T tsonly|tsandaddr   -e IDENTIFIER   -m MARK

Where to, from where:
  -4  -6         the IP version
  -I NAME        an interface, or an address to send from
  -B             never another source address
  -b             a broadcast address is meant
  -L  -r  -C  -d  -S OCTETS    socket options: no multicast loop, link only, connect, debug, send buffer

What is printed:
  -q  quiet    -n  numbers only    -D  when    -O  what is unanswered    -a  a bell    -U  this program's times
  -v  more     -V  version         -h  this

Of sonde:
  --record FILE  write the record of the run    --json  print it alone    --pacing sleep|spin|hybrid
";

/// The help.
pub fn text() -> &'static str {
    TEXT
}

/// Text of `-h`, on the original's stream.
pub fn help() -> Answer {
    Answer { stdout: String::new(), stderr: TEXT.to_owned(), status: 2 }
}

/// Something is wrong with the words, and the help.
pub fn wrong(what: &str) -> Answer {
    Answer { stdout: String::new(), stderr: format!("ping: {what}\n{TEXT}"), status: 2 }
}

/// Text of `-V`.
pub fn version() -> Answer {
    Answer::said(format!("ping from {}, as of iputils 20221126\n", crate::program::PROGRAM), 0)
}
