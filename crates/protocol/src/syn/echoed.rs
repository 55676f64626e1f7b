//! ICMP echo requests as probes whose answers are reported with the header they came in. [`crate::icmp::echo`] matches answers to
//! probes.

use std::net::IpAddr;

use measure::answer::{Answer, Content, Datagram};

use super::delivered::{Form, Head};
use super::probe::Listener;
use super::segment::{Packet, opened};
use crate::icmp::echo::{Echo, Family};
use crate::icmp::error::IcmpError;
use crate::native::header;
use crate::wire::{Reading, Wire};

const ICMP: u8 = 1;

/// The wire of probes.
#[derive(Debug)]
pub struct Echoed<T> {
    echo: Echo,
    remote: IpAddr,
    listener: T,
    /// The latest probe that was written.
    latest: u64,
}

impl<T: Listener> Echoed<T> {
    /// Requests of `echo`, which is of a raw socket, to `remote`; their answers are told to `listener`.
    pub fn new(echo: Echo, remote: IpAddr, listener: T) -> Self {
        Self { echo, remote, listener, latest: 0 }
    }

    fn answered(&mut self, head: &Head, of: Packet, from: IpAddr, octets: &[u8], oldest: u64) -> Reading {
        if from != self.remote {
            return Reading::Stray;
        }
        let reading = self.echo.identify(octets, oldest);
        let Reading::Reply(seq) = reading else { return reading };
        if seq > self.latest {
            return Reading::Stray;
        }
        let Packet { length, ttl, tos, ip_id, dont_fragment } = of;
        let source = self.echo.header_number(seq);
        let content = Content::Echo(Datagram { length, ttl, tos, ip_id, dont_fragment, source });
        self.listener.hear(Answer { seq, at: head.at, from, content });
        reading
    }

    /// An ICMP error quotes identifier and number at least (RFC 792).
    fn refusal(&mut self, head: &Head, quoted: &[u8]) -> Reading {
        let Form::Icmp { kind, code, info } = head.form else { return Reading::Stray };
        let Some(number) = self.echo.quoted(quoted) else { return Reading::Stray };
        let back = u64::from(self.echo.header_number(self.latest).wrapping_sub(number));
        let Some(seq) = self.latest.checked_sub(back) else { return Reading::Stray };
        let content = Content::Icmp { kind, code, info, port: None };
        self.listener.hear(Answer { seq, at: head.at, from: head.from, content });
        let is_final = IcmpError::of(self.echo.family(), kind, code, info).is_some_and(IcmpError::is_final);
        if is_final { Reading::Refused(seq) } else { Reading::Stray }
    }
}

impl<T: Listener> Wire for Echoed<T> {
    #[inline]
    fn prepare(&mut self, message: &mut [u8], seq: u64, flags: header::Flags) {
        self.latest = seq;
        self.echo.prepare(message, seq, flags);
    }

    #[inline]
    fn identify(&mut self, reply: &[u8], oldest: u64) -> Reading {
        let Some((head, rest)) = Head::read(reply) else { return Reading::Stray };
        match (head.form, self.echo.family()) {
            (Form::Ipv4, Family::V4) => match opened(ICMP, rest) {
                Some((of, from, _)) => self.answered(&head, of, from, rest, oldest),
                None => Reading::Stray,
            },
            (Form::Ipv6 { hop_limit, traffic_class }, Family::V6) => {
                let of = Packet::over_ipv6(rest.len(), hop_limit, traffic_class);
                self.answered(&head, of, head.from, rest, oldest)
            }
            (Form::Icmp { .. }, _) => self.refusal(&head, rest),
            _ => Reading::Stray,
        }
    }
}

#[cfg(test)]
mod tests {
    use etherparse::PacketBuilder;
    use measure::answer::Class;
    use measure::unit::Instant;
    use test_case::test_case;

    use super::*;
    use crate::icmp::echo::{HEADER, Socket};
    use crate::syn::delivered::HEAD;

    const HERE: [u8; 4] = [10, 0, 0, 1];
    const THERE: [u8; 4] = [10, 0, 0, 2];
    const ID: u16 = 0x1234;

    #[derive(Debug, Default)]
    struct Heard(Vec<Answer>);

    impl Listener for Heard {
        fn hear(&mut self, answer: Answer) {
            self.0.push(answer);
        }
    }

    fn wire(payload: usize) -> Echoed<Heard> {
        let echo = Echo::new(Family::V4, Socket::Raw, ID, 7).for_payload(payload);
        Echoed::new(echo, THERE.into(), Heard::default())
    }

    fn sent(wire: &mut Echoed<Heard>, seq: u64, payload: usize) -> Vec<u8> {
        let mut message = vec![0; Echo::message_length(payload)];
        wire.prepare(&mut message, seq, header::Flags::NONE);
        message
    }

    fn delivered(form: Form, from: [u8; 4], rest: &[u8]) -> Vec<u8> {
        let mut buffer = vec![0; HEAD];
        Head { form, from: from.into(), at: Instant(5) }.write(&mut buffer);
        [buffer, rest.to_vec()].concat()
    }

    fn answer(request: &[u8], seq: u16, from: [u8; 4]) -> Vec<u8> {
        let mut packet = Vec::new();
        let builder = PacketBuilder::ipv4(from, HERE, 63).icmpv4_echo_reply(ID, seq);
        builder.write(&mut packet, &request[HEADER..]).unwrap();
        delivered(Form::Ipv4, from, &packet)
    }

    #[test_case(0, 28; "no payload")]
    #[test_case(56, 84; "a number of its own in the payload")]
    fn a_reply_is_told_with_its_header(payload: usize, length: u16) {
        let mut wire = wire(payload);
        let request = sent(&mut wire, 70_000, payload);
        let reply = answer(&request, 70_000_u64 as u16, THERE);
        assert_eq!(wire.identify(&reply, 69_990), Reading::Reply(70_000));
        let Content::Echo(heard) = wire.listener.0[0].content else { panic!("an echo") };
        assert_eq!((heard.length, heard.ttl, heard.source), (length, 63, 70_000_u64 as u16));
        assert_eq!(wire.listener.0[0].content.class(), Class::Echo);
    }

    #[test]
    fn another_s_and_those_not_yet_sent_are_strays() {
        let mut wire = wire(0);
        let request = sent(&mut wire, 3, 0);
        assert_eq!(wire.identify(&answer(&request, 3, [10, 0, 0, 9]), 0), Reading::Stray);
        assert_eq!(wire.identify(&answer(&request, 4, THERE), 0), Reading::Stray);
        assert!(wire.listener.0.is_empty());
    }

    #[test]
    fn an_error_refuses_the_request_it_quotes() {
        let mut wire = wire(0);
        let request = sent(&mut wire, 66_000, 0);
        sent(&mut wire, 66_005, 0);
        let quote = |kind, rest: &[u8]| delivered(Form::Icmp { kind, code: 0, info: 0 }, [10, 0, 0, 254], rest);
        assert_eq!(wire.identify(&quote(11, &request), 0), Reading::Refused(66_000));
        assert_eq!(wire.identify(&quote(5, &request), 0), Reading::Stray, "advice");
        assert_eq!(wire.identify(&quote(11, &request[..7]), 0), Reading::Stray, "too little of it");
        assert_eq!(wire.listener.0.len(), 2);
    }
}
