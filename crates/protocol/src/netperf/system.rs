//! The question for the system that a netserver runs on: the one it answers without a test.

use crate::netperf::message::Message;

const QUESTION: u32 = 600;
const ANSWER: u32 = 601;

/// Returns the question. No netserver looks at the octets behind its first word; they are filled so that a server of
/// sockperf, which might be asked by mistake, takes it for a message too long and not for one of length 0.
pub fn question() -> Vec<u8> {
    let mut message = Message::new(QUESTION, 0);
    message.put(8, u32::MAX);
    message.put(12, u32::MAX);
    message.to_vec()
}

/// Returns true where octets that came are an answer to it; `None` while too few are here.
pub fn is_answer(octets: &[u8]) -> Option<bool> {
    let expected = [ANSWER.to_be_bytes(), [0; 4]].concat();
    let here = octets.len().min(expected.len());
    if octets[..here] != expected[..here] {
        return Some(false);
    }
    (here == expected.len()).then_some(true)
}
