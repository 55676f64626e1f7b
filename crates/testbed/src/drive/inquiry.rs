//! Answers to the question which program is there.

use measure::reach::Service;

use protocol::inquiry::{DATAGRAM, Draw, Reading, over_tcp, over_udp, read_tcp, read_udp};

/// Any octets as an answer to each question; the first says whether they follow the question itself.
pub fn inquiry(data: &[u8]) {
    let (choice, rest) = data.split_first().map_or((0, data), |(first, rest)| (*first, rest));
    let draw: Draw = std::array::from_fn(|at| choice.wrapping_add(at as u8));
    let datagram = over_udp(draw);
    let answer = behind(&datagram, choice, rest);
    if let Reading::Known { .. } = read_udp(&datagram, &answer) {
        assert!(answer.len() >= DATAGRAM - 3, "an answer gives back what was asked");
    }
    for service in Service::ALL {
        let Some(question) = over_tcp(service, draw) else { continue };
        let answer = behind(&question, choice, rest);
        let mut settled = None;
        for end in 0..=answer.len() {
            let reading = read_tcp(service, &question, &answer[..end]);
            assert!(settled.as_ref().is_none_or(|before| *before == reading), "more octets change no reading");
            settled = Some(reading).filter(|reading| *reading != Reading::Unfinished);
        }
        if let Some(Reading::Known { service: known, .. }) = settled {
            assert_eq!(known, service);
        }
    }
}

/// `rest`, alone or behind a part of the question.
fn behind(question: &[u8], choice: u8, rest: &[u8]) -> Vec<u8> {
    let part = if choice & 1 == 1 { usize::from(choice / 2).min(question.len()) } else { 0 };
    [&question[..part], rest].concat()
}
