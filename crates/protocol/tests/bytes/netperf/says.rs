//! Messages as the one end or the other says them.

use protocol::netperf::MESSAGE;
use protocol::netperf::answer::{Ready, Results};
use protocol::netperf::ask::{Ask, Carrier, Length};
use protocol::netperf::client::{Answer, Client};

use crate::netperf::captures::server;

pub fn rr() -> Ask {
    let sizes = Ask::omni(Carrier::Tcp, true, true, Length::Seconds(1));
    Ask { request_bytes: Some(1), response_bytes: Some(1), ..sizes }
}

/// A message of these words, and zeros behind them.
pub fn message(words: &[u32]) -> Vec<u8> {
    let mut octets: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
    octets.resize(MESSAGE, 0);
    octets
}

pub fn with(mut octets: Vec<u8>, at: usize, word: u32) -> Vec<u8> {
    octets[at..at + 4].copy_from_slice(&word.to_be_bytes());
    octets
}

pub fn response(ready: &Ready) -> Vec<u8> {
    let mut server = server(None);
    server.feed(&request(&rr()));
    server.ready(ready)
}

pub fn request(ask: &Ask) -> Vec<u8> {
    Client::new(None).ask(ask).expect("a sound question")
}

pub fn asked() -> Client {
    let mut client = Client::new(None);
    client.ask(&rr()).expect("a sound question");
    client
}

pub fn ready_of(client: &mut Client, octets: &[u8]) -> Ready {
    match client.feed(octets).as_deref() {
        Ok([Answer::Ready(ready)]) => ready.clone(),
        other => panic!("no response: {other:?}"),
    }
}

pub fn results_of(client: &mut Client, octets: &[u8]) -> Results {
    match client.feed(octets).as_deref() {
        Ok([Answer::Results(results)]) => results.clone(),
        other => panic!("no results: {other:?}"),
    }
}
