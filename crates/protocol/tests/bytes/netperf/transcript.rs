//! Reads the captures of the real netperf and netserver.

use std::collections::BTreeMap;

use protocol::netperf::MESSAGE;

const CAPTURES: &str = include_str!("../../fixtures/netperf/captures.txt");

/// Messages of one control connection.
pub struct Capture {
    pub name: &'static str,
    pub messages: Vec<Message>,
}

/// One message, and what an independent decoder read in it.
pub struct Message {
    pub of_client: bool,
    pub octets: Vec<u8>,
    pub fields: Fields,
}

/// Fields by name; those that are not there are 0 or empty.
#[derive(Default)]
pub struct Fields(pub BTreeMap<&'static str, &'static str>);

impl Fields {
    pub fn number(&self, name: &str) -> i64 {
        self.0.get(name).map_or(0, |value| value.parse::<f64>().expect("a number") as i64)
    }

    pub fn float(&self, name: &str) -> f64 {
        self.0.get(name).map_or(0.0, |value| value.parse().expect("a number"))
    }

    pub fn text(&self, name: &str) -> &'static str {
        self.0.get(name).unwrap_or(&"")
    }
}

pub fn all() -> Vec<Capture> {
    let mut captures: Vec<Capture> = Vec::new();
    for line in CAPTURES.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        let (mark, rest) = line.split_at(2);
        if mark == "= " {
            let name = rest.split(':').next().expect("a name");
            captures.push(Capture { name, messages: Vec::new() });
            continue;
        }
        let messages = &mut captures.last_mut().expect("a name before its messages").messages;
        if mark != "  " {
            messages.push(Message { of_client: mark == "> ", octets: Vec::new(), fields: Fields::default() });
        }
        let message = messages.last_mut().expect("a message before its fields");
        match rest.strip_prefix("| ") {
            Some(fields) => {
                let pairs = fields.split(' ').map(|field| field.split_once('=').expect("name=value"));
                message.fields.0.extend(pairs);
            }
            None if rest == "|" => {}
            None => {
                for word in rest.split(' ') {
                    let word = u32::from_str_radix(word, 16).expect("a word");
                    message.octets.extend(word.to_be_bytes());
                }
            }
        }
    }
    for message in captures.iter_mut().flat_map(|capture| &mut capture.messages) {
        message.octets.resize(MESSAGE, 0);
    }
    assert_eq!(captures.len(), 41, "every capture was read");
    captures
}

pub fn named(name: &str) -> Capture {
    all().into_iter().find(|capture| capture.name == name).unwrap_or_else(|| panic!("no capture {name}"))
}
