//! Options from the environment: `IPERF_` and the long name in capitals, and `TCP_WINDOW_SIZE`.
//!
//! An option without a value is given by its variable, whatever that holds.

use crate::persona::getopt::Takes;
use crate::persona::iperf::options::table::{ENTRIES, Entry, Given, Key};

/// Options from the environment, in the order of the table. Help and version are asked for by typing alone, and what is ours
/// has no variable.
pub fn given(variable: impl Fn(&str) -> Option<String>) -> Given {
    let typed_alone = [Key::Help, Key::Version, Key::Json, Key::Record, Key::Decimals];
    let entries = ENTRIES.iter().filter(|entry| !typed_alone.contains(&entry.key));
    Given { options: entries.filter_map(|entry| one(entry, &variable)).collect(), operands: Vec::new() }
}

fn one(entry: &'static Entry, variable: impl Fn(&str) -> Option<String>) -> Option<(&'static Entry, Option<String>)> {
    let own = (entry.key == Key::Window).then(|| variable("TCP_WINDOW_SIZE")).flatten();
    let found = entry.names.iter().find_map(|name| variable(&called(name))).or(own)?;
    let value = match entry.takes {
        Takes::Nothing => None,
        Takes::Perhaps => Some(found).filter(|value| !value.is_empty()),
        _ => Some(found),
    };
    Some((entry, value))
}

fn called(name: &str) -> String {
    format!("IPERF_{}", name.to_ascii_uppercase().replace('-', "_"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_capitals() {
        let variables =
            [("IPERF_BANDWIDTH", "5m"), ("IPERF_FULL_DUPLEX", "1"), ("TCP_WINDOW_SIZE", "64K"), ("IPERF_HELP", "")];
        let found =
            given(|name| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()));
        assert_eq!(found.keys().collect::<Vec<_>>(), [Key::Bandwidth, Key::Window, Key::FullDuplex]);
        let texts = [Key::Bandwidth, Key::Window, Key::FullDuplex].map(|key| found.text(key));
        assert_eq!(texts, [Some("5m"), Some("64K"), None]);
    }

    #[test]
    fn nothing_set_gives_nothing() {
        assert_eq!(given(|_| None).keys().count(), 0);
    }
}
