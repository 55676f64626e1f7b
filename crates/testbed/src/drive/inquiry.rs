//! Answers to the question which program is there.

use measure::reach::Service;

use protocol::inquiry::{
    DATAGRAM, Draw, Place, Reading, further, over_tcp, over_udp, read_greeting, read_tcp, read_udp,
};

/// Any octets as an answer to each question; the first says whether they follow the question itself.
pub fn inquiry(data: &[u8]) {
    let (choice, rest) = data.split_first().map_or((0, data), |(first, rest)| (*first, rest));
    let draw: Draw = std::array::from_fn(|at| choice.wrapping_add(at as u8));
    let place = Place { host: "db1", port: 80 };
    let datagram = over_udp(None, place, draw);
    let answer = behind(&datagram, choice, rest);
    if let Reading::Known { .. } = read_udp(None, &datagram, &answer) {
        assert!(answer.len() >= DATAGRAM - 3, "an answer gives back what was asked");
    }
    for service in Service::ALL {
        let Some(question) = over_tcp(service, place, draw) else { continue };
        let answer = behind(&question, choice, rest);
        if let Reading::Known { service: known, .. } = settled(&answer, |part| read_tcp(service, &question, part)) {
            // A web server says in clear that it has no TLS.
            let secure = [Service::Tls, Service::Https].contains(&service);
            let expected = if secure { vec![Service::Tls, Service::Http] } else { vec![service] };
            assert!(expected.contains(&known), "{known} for {service}");
        }
    }
    for service in [Service::Dns, Service::Ntp, Service::Sip] {
        let question = over_udp(Some(service), place, draw);
        read_udp(Some(service), &question, &behind(&question, choice, rest));
    }
    settled(rest, read_greeting);
    further(rest);
}

/// The reading of all of `answer`, once it is settled: more octets change none.
fn settled(answer: &[u8], read: impl Fn(&[u8]) -> Reading) -> Reading {
    let mut settled = Reading::Unfinished;
    for end in 0..=answer.len() {
        let reading = read(&answer[..end]);
        assert!(settled == Reading::Unfinished || settled == reading, "more octets change no reading");
        settled = reading;
    }
    settled
}

/// `rest`, alone or behind a part of the question.
fn behind(question: &[u8], choice: u8, rest: &[u8]) -> Vec<u8> {
    let part = if choice & 1 == 1 { usize::from(choice / 2).min(question.len()) } else { 0 };
    [&question[..part], rest].concat()
}
