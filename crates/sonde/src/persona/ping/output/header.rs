//! Lines before the first request.

use std::fmt::Write;

/// Fields of the first line.
#[derive(Clone, Copy, Debug)]
pub struct Header<'a> {
    /// The destination as it was typed.
    pub host: &'a str,
    /// Its address as replies will have it: with the name, where that is looked up.
    pub address: &'a str,
    /// True for IPv6.
    pub six: bool,
    /// The address requests leave from, where one was asked for.
    pub source: Option<&'a str>,
    /// The interface they leave by, likewise.
    pub interface: Option<&'a str>,
    /// Octets of payload.
    pub size: u32,
    /// Octets of IP options.
    pub options: u32,
    /// Pattern of the payload, where it was given and is to be shown.
    pub pattern: &'a [u8],
}

impl Header<'_> {
    /// The lines.
    pub fn text(&self) -> String {
        let mut text = String::new();
        if !self.pattern.is_empty() {
            text += "PATTERN: 0x";
            self.pattern.iter().for_each(|octet| _ = write!(text, "{octet:02x}"));
            text += "\n";
        }
        let (before, behind) = if self.six { ("", "") } else { (" ", "") };
        let _ = write!(text, "PING {}{before}({}){behind} ", self.host, self.address);
        if self.source.is_some() || self.interface.is_some() {
            let _ = write!(text, "from {} {}: ", self.source.unwrap_or_default(), self.interface.unwrap_or_default());
        }
        if self.six {
            return text + &format!("{} data bytes\n", self.size);
        }
        // With the headers of ICMP and IP.
        text + &format!("{}({}) bytes of data.\n", self.size, self.size + 8 + 20 + self.options)
    }
}
