//! Messages of the real sockperf 3.7 and 3.10: they are read as they were meant, and written octet by octet as they write them.

use protocol::native::header::Flags as Asked;
use protocol::sockperf::message::{Flags, HEADER, Header, LARGEST_STREAM};
use protocol::sockperf::server::{Decision, Handled, Rules};
use protocol::sockperf::stream::Framer;
use protocol::sockperf::wire::SockperfWire;
use protocol::wire::{Reading, Wire};

use crate::sockperf::transcript::{self, Capture, Message};

/// A server that takes whatever was sent.
const RULES: Rules = Rules { largest: LARGEST_STREAM, answers: true };

/// The messages of clients that are none of a warm-up.
fn requests(capture: &Capture) -> impl Iterator<Item = &Message> {
    capture.messages.iter().filter(|message| message.of_client && !message.header().flags.has(Flags::WARMUP))
}

fn answer_to<'a>(capture: &'a Capture, request: &Message) -> Option<&'a Message> {
    let sequence = request.header().sequence;
    capture.messages.iter().find(|message| !message.of_client && message.header().sequence == sequence)
}

#[test]
fn every_message_is_read_field_by_field_and_written_again() {
    for capture in transcript::all() {
        for message in &capture.messages {
            let header = message.header();
            let fields = (message.number("sequence"), message.number("flags"), message.number("length"));
            assert_eq!((header.sequence, header.flags.0.into(), header.length.into()), fields, "{}", capture.name);
            assert_eq!(header.flags.has(Flags::CLIENT), message.of_client, "{}", capture.name);
            assert_eq!(header.length_within(LARGEST_STREAM), Ok(header.length as usize));
            let mut again = [0; HEADER];
            header.write(&mut again);
            assert_eq!(again, message.octets[..HEADER], "{}", capture.name);
        }
    }
}

#[test]
fn the_payload_is_the_c_librarys_random_numbers() {
    for capture in transcript::all() {
        for message in &capture.messages {
            let complete = message.complete(capture.client.longest_of(message));
            assert_eq!(message.octets, complete[..message.octets.len()], "{}", capture.name);
            assert_eq!(message.whole, message.octets.len() == complete.len(), "{}", capture.name);
        }
    }
}

#[test]
fn our_client_writes_what_theirs_wrote() {
    for capture in transcript::all() {
        for theirs in requests(&capture) {
            let (client, header) = (&capture.client, theirs.header());
            let numbering = client.numbering(theirs);
            let local = numbering.local(header.sequence).expect("a number of this socket");
            let asks = client.reply_every.is_some_and(|every| numbering.asks(local, every));
            let mut ours = theirs.complete(client.longest);
            Header { sequence: u64::MAX, flags: Flags(u16::MAX), length: u32::MAX }.write(&mut ours);
            let mut wire = SockperfWire::new(numbering);
            wire.open(&mut ours);
            wire.prepare(&mut ours, local, if asks { Asked::NONE } else { Asked::SILENT });
            assert_eq!(ours[..theirs.octets.len()], theirs.octets, "{}", capture.name);
        }
    }
}

#[test]
fn our_server_answers_as_theirs_did() {
    for capture in transcript::all() {
        for message in &capture.messages {
            let mut datagram = message.complete(capture.client.longest_of(message));
            let length = datagram.len();
            let mut handled = RULES.datagram(&mut datagram);
            let Some(Ok(Handled { header, decision, bytes })) = handled.next() else { panic!("{}", capture.name) };
            assert_eq!((header, bytes.len()), (message.header(), length));
            let theirs = answer_to(&capture, message).filter(|_| decision == Decision::Answer);
            if let Some(theirs) = theirs {
                assert_eq!(bytes[..theirs.octets.len()], theirs.octets, "{}", capture.name);
            }
            let (client, warm_up) = (message.of_client, header.flags.has(Flags::WARMUP));
            let expected = match (client && !warm_up, header.flags.has(Flags::PONG_REQUEST)) {
                (false, _) => Decision::Ignore,
                (true, false) => Decision::Count,
                (true, true) => Decision::Answer,
            };
            assert_eq!(decision, expected, "{}", capture.name);
            assert_eq!(handled.next(), None);
        }
    }
}

#[test]
fn no_message_that_wants_none_was_answered() {
    for capture in transcript::all() {
        for request in requests(&capture).filter(|request| !request.header().flags.has(Flags::PONG_REQUEST)) {
            assert!(answer_to(&capture, request).is_none(), "{}", capture.name);
        }
    }
}

#[test]
fn our_client_knows_their_answers_for_what_they_are() {
    let mut known = 0;
    for capture in transcript::all() {
        for request in requests(&capture) {
            let Some(answer) = answer_to(&capture, request) else { continue };
            let numbering = capture.client.numbering(request);
            let local = numbering.local(request.header().sequence).expect("a number of this socket");
            let mut sent = request.complete(capture.client.longest);
            let reply = answer.complete(capture.client.longest);
            let mut wire = SockperfWire::new(numbering).with_integrity();
            assert_eq!(wire.identify(&reply, 0), Reading::Stray, "nothing was sent yet");
            wire.open(&mut sent);
            wire.prepare(&mut sent, local, Asked::NONE);
            assert!(wire.answers(&sent, &reply), "{}", capture.name);
            assert_eq!(wire.identify(&reply, 0), Reading::Reply(local), "{}", capture.name);
            assert_eq!(wire.identify(&sent, 0), Reading::Stray, "a request is no reply");
            known += 1;
        }
    }
    assert_eq!(known, 80, "answers whose request was captured too");
}

#[test]
fn their_messages_one_after_the_other_are_told_apart_in_pieces_of_any_length() {
    for capture in transcript::all() {
        let messages: Vec<_> = requests(&capture).map(|message| message.complete(capture.client.longest)).collect();
        let stream = messages.concat();
        for piece in [1, 13, 14, 15, 1448, 32_741, stream.len()] {
            let mut framer = Framer::new(LARGEST_STREAM);
            let mut seen = Vec::new();
            for mut piece in stream.chunks(piece.max(stream.len() / 500)) {
                while !piece.is_empty() {
                    let room = framer.room();
                    let length = piece.len().min(room.len());
                    room[..length].copy_from_slice(&piece[..length]);
                    framer.filled(length);
                    piece = &piece[length..];
                    while let Some((_, message)) = framer.message().expect("sound lengths") {
                        seen.push(message.to_vec());
                    }
                }
            }
            assert_eq!((seen.len(), framer.pending()), (messages.len(), 0), "{} by {piece}", capture.name);
            assert!(seen == messages, "{} by {piece}", capture.name);
        }
    }
}
