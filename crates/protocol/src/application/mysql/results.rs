//! The reply to a statement (`COM_QUERY`, text protocol): OK, an error, or columns and rows, of which only the end is kept.
//!
//! The session has neither several results nor files of ours (`CLIENT_MULTI_RESULTS`, `CLIENT_LOCAL_FILES`): a server
//! that sends either is not understood any more. Columns and rows end each with an EOF packet, as without
//! `CLIENT_DEPRECATE_EOF`.

use super::packet::{DISORDER, ERROR, FOREIGN, LONGEST, OK, RESULT, reply};
use crate::application::speech::{Reply, Taken};

/// First octets of packets: the end of columns and of rows, in a packet shorter than a number of eight octets behind it, and a wish for a file.
const EOF: u8 = 0xFE;
const LONGEST_EOF: usize = 8;
const FILE: u8 = 0xFB;
/// A number of two octets behind it.
const TWO: u8 = 0xFC;
/// The length of a packet that continues in the next.
const GOES_ON: usize = 0xFF_FFFF;
/// The status of a server that has another result (`SERVER_MORE_RESULTS_EXISTS`).
const MORE_RESULTS: u16 = 8;
/// Octets of the head of a packet.
const HEAD: usize = 4;

/// The packets that come next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Part {
    #[default]
    First,
    /// Descriptions of so many columns, and their end.
    Columns(u16),
    Rows,
}

/// The reply under way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Results {
    part: Part,
    /// Octets of a packet that are still to come.
    rest: usize,
    /// True where a row continues in the next packet.
    goes_on: bool,
}

impl Results {
    /// Takes the next octets; `next` is the number that the next packet has in its sequence.
    pub fn take(&mut self, next: &mut u8, octets: &[u8]) -> Taken {
        if self.rest > 0 {
            let part = octets.len().min(self.rest);
            self.rest -= part;
            return Taken::part(part);
        }
        let Some(([a, b, c, number], body)) = octets.split_first_chunk::<HEAD>() else { return Taken::MORE };
        let length = u32::from_le_bytes([*a, *b, *c, 0]) as usize;
        if self.goes_on {
            return if *number == *next { self.pass(next, octets, length) } else { Taken::unsound(DISORDER) };
        }
        if length == 0 {
            return Taken::unsound(FOREIGN);
        }
        let Some(first) = body.first() else { return Taken::MORE };
        // An error that nobody asked for begins a sequence of its own.
        if *number != *next && *first != ERROR {
            return Taken::unsound(DISORDER);
        }
        let is_end = *first == EOF && length <= LONGEST_EOF;
        match self.part {
            Part::Columns(left) if left > 0 && *first != ERROR => {
                self.part = Part::Columns(left - 1);
                return self.pass(next, octets, length);
            }
            Part::Rows if !is_end && *first != ERROR => return self.pass(next, octets, length),
            _ if length > LONGEST => return Taken::unsound(FOREIGN),
            _ => {}
        }
        let Some(body) = body.get(..length) else { return Taken::MORE };
        let taken = HEAD + length;
        *next = next.wrapping_add(1);
        match (self.part, *first) {
            (_, ERROR) | (Part::First, OK) => {
                (self.part, *next) = (Part::First, 1);
                reply(body, taken)
            }
            (Part::First, FILE) => Taken::unsound("it asks for a file of this host, which it does not get"),
            (Part::First, _) => match columns(body) {
                Some(columns) => {
                    self.part = Part::Columns(columns);
                    Taken::part(taken)
                }
                None => Taken::unsound(FOREIGN),
            },
            (Part::Columns(_), EOF) if is_end => {
                self.part = Part::Rows;
                Taken::part(taken)
            }
            (Part::Rows, _) => {
                let status = body.get(3..5).map_or(0, |status| u16::from_le_bytes([status[0], status[1]]));
                if status & MORE_RESULTS != 0 {
                    return Taken::unsound("it has several results for one statement");
                }
                (self.part, *next) = (Part::First, 1);
                Taken::reply(taken, Reply::answered(RESULT))
            }
            _ => Taken::unsound(FOREIGN),
        }
    }

    /// Passes over a packet without keeping anything of it.
    fn pass(&mut self, next: &mut u8, octets: &[u8], length: usize) -> Taken {
        let part = octets.len().min(HEAD + length);
        (self.rest, self.goes_on) = (HEAD + length - part, length == GOES_ON);
        *next = next.wrapping_add(1);
        Taken::part(part)
    }
}

/// The number of columns that a packet says: no table has more than 4,096.
fn columns(body: &[u8]) -> Option<u16> {
    match *body {
        [few] if (1..FILE).contains(&few) => Some(few.into()),
        [TWO, low, high] => Some(u16::from_le_bytes([low, high])).filter(|many| *many > 0),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use test_case::test_case;

    use super::super::tests::asking;
    use super::*;
    use crate::application::speech::tests::{alike, hear};
    use crate::application::speech::{Came, Kind};

    fn packet(number: u8, body: &[u8]) -> Vec<u8> {
        super::super::packet(number, body)
    }

    const EOF_PACKET: &[u8] = &[EOF, 0, 0, 2, 0];

    /// A result of one column with these rows.
    fn rows(rows: &[&[u8]]) -> Vec<u8> {
        let column = b"\x03def\0\0\0\x011\0\x0c\x3f\0\x01\0\0\0\x03\x81\0\0\0\0";
        let packets =
            [&[1_u8][..], &column[..], EOF_PACKET].into_iter().chain(rows.iter().copied()).chain([EOF_PACKET]);
        packets.zip(1_u8..).flat_map(|(body, number)| packet(number, body)).collect()
    }

    fn answered() -> Came {
        Came::Reply(Reply::answered(RESULT))
    }

    #[test]
    fn rows_are_read_to_their_end() {
        let octets = [rows(&[b"\x011"]), rows(&[]), rows(&[&[FILE], b"\x05\xfehello"]), rows(&[&[b'x'; 300]])].concat();
        assert_eq!(alike(&asking("select 1"), &octets), vec![answered(); 4]);
    }

    #[test]
    fn a_row_may_go_on_in_the_next_packet() {
        let long = vec![b'x'; GOES_ON];
        let mut octets = rows(&[]);
        let end = octets.split_off(octets.len() - HEAD - EOF_PACKET.len());
        octets.extend(packet(4, &long));
        octets.extend(packet(5, b""));
        let mut end = end;
        end[3] = 6;
        octets.extend(end);
        octets.extend(rows(&[b"\x011"]));
        let cut = hear(&mut asking("x"), &octets, |end| end.is_multiple_of(1_000_003));
        assert_eq!((hear(&mut asking("x"), &octets, |_| false), cut), (vec![answered(); 2], vec![answered(); 2]));
    }

    #[test]
    fn a_statement_without_rows_is_ok_and_one_that_fails_an_error() {
        let ok = b"\x07\0\0\x01\0\0\0\x02\0\0\0";
        let wrong = b"\x2b\0\0\x01\xff\x7a\x04#42S02Table 'test.nowhere' doesn't exist";
        let mut late = rows(&[b"\x011"]);
        late.truncate(late.len() - HEAD - EOF_PACKET.len());
        late.extend(packet(5, b"\xff\x25\x05#70100Query was interrupted"));
        let octets = [&ok[..], &packet(1, &wrong[4..]), &late, ok].concat();
        let refused = |number| Came::Reply(Reply::refused(Kind(number)));
        let expected = [
            Came::Reply(Reply::answered(Kind(0))),
            refused(1146),
            refused(1317),
            Came::Reply(Reply::answered(Kind(0))),
        ];
        assert_eq!(alike(&asking("x"), &octets), expected);
    }

    #[test_case(&packet(1, b"\xfb/etc/passwd"), "it asks for a file of this host, which it does not get"; "a file")]
    #[test_case(&packet(2, &[1]), DISORDER; "out of order")]
    #[test_case(&packet(1, &[]), FOREIGN; "nothing")]
    #[test_case(&packet(1, &[EOF, 0, 0, 2, 0]), FOREIGN; "an end without a begin")]
    #[test_case(&packet(1, &[TWO, 0, 0]), FOREIGN; "no columns")]
    #[test_case(&[packet(1, &[1]), packet(2, b"def"), packet(3, b"x")].concat(), FOREIGN; "more columns than there are")]
    #[test_case(&[packet(1, &[1]), packet(2, b"def"), packet(3, EOF_PACKET), packet(4, &[EOF, 0, 0, 8, 0])].concat(), "it has several results for one statement"; "several results")]
    fn what_is_no_reply_is_not_taken(octets: &[u8], why: &'static str) {
        assert_eq!(alike(&asking("x"), octets), [Came::Unsound(why)]);
    }

    proptest! {
        #[test]
        fn no_packets_upset_it(
            packets in prop::collection::vec((prop::sample::select(vec![OK, 1, 2, EOF, FILE, ERROR]), prop::collection::vec(any::<u8>(), 0..9)), 1..12),
            every in 1_usize..40,
        ) {
            let octets: Vec<u8> = packets.iter().zip(1_u8..).flat_map(|((first, body), number)| packet(number, &[&[*first], &body[..]].concat())).collect();
            let whole = hear(&mut asking("x"), &octets, |_| false);
            prop_assert_eq!(whole, hear(&mut asking("x"), &octets, |end| end.is_multiple_of(every)));
        }
    }
}
