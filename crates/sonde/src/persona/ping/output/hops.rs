//! Records of hops in the IP header of a reply: their addresses (RFC 791, record route), or the time of day.

use std::fmt::Write;
use std::net::Ipv4Addr;

/// Names an address, as lines of replies do.
pub type Named<'a> = dyn FnMut(Ipv4Addr) -> String + 'a;

/// Kinds of options.
const END: u8 = 0;
const NOTHING: u8 = 1;
const ROUTE: u8 = 7;
const TIMES: u8 = 68;
/// Milliseconds since midnight, where this bit is not set.
const NO_STANDARD_TIME: u32 = 1 << 31;

/// Reads the options of replies. A route that is the same as before is not repeated.
#[derive(Clone, Debug, Default)]
pub struct Hops {
    route: Vec<Ipv4Addr>,
}

impl Hops {
    /// The text behind a reply's line; nothing where there are no such options. Whatever they hold, it ends.
    pub fn text(&mut self, options: &[u8], named: &mut Named<'_>) -> String {
        let (mut text, mut rest) = (String::new(), options);
        while let [kind, behind @ ..] = rest {
            match (*kind, behind.first()) {
                (END, _) | (_, None) => break,
                (NOTHING, _) => rest = behind,
                (kind, Some(&length)) => {
                    let Some(option) = rest.get(..usize::from(length)).filter(|_| length >= 2) else { break };
                    match kind {
                        ROUTE => text += &self.route(option, named),
                        TIMES => text += &times(option, named),
                        _ => {}
                    }
                    rest = &rest[usize::from(length)..];
                }
            }
        }
        text
    }

    fn route(&mut self, option: &[u8], named: &mut Named<'_>) -> String {
        let route: Vec<Ipv4Addr> = written(option, 3).chunks_exact(4).filter_map(address).collect();
        if route.is_empty() {
            return String::new();
        }
        if route == self.route {
            return "\t(same route)".to_owned();
        }
        let lines: Vec<String> = route.iter().map(|hop| format!("\t{}\n", named(*hop))).collect();
        self.route = route;
        format!("\nRR: {}", lines.concat())
    }
}

/// Filled part of an option: its third octet points behind that, counted from 1.
fn written(option: &[u8], head: usize) -> &[u8] {
    let end = option.get(2).map_or(0, |pointer| usize::from(*pointer).saturating_sub(1)).min(option.len());
    option.get(head..end).unwrap_or_default()
}

fn address(octets: &[u8]) -> Option<Ipv4Addr> {
    octets.first_chunk::<4>().map(|octets| Ipv4Addr::from(*octets))
}

fn times(option: &[u8], named: &mut Named<'_>) -> String {
    let flags = option.get(3).copied().unwrap_or(0);
    let with_addresses = flags & 0x0F != 0;
    let each = if with_addresses { 8 } else { 4 };
    let mut text = String::from("\nTS: ");
    let mut before: Option<u32> = None;
    for entry in written(option, 4).chunks_exact(each) {
        text += "\t";
        if with_addresses {
            let hop = address(entry).map(&mut *named).unwrap_or_default();
            let _ = write!(text, "{hop}\t");
        }
        let time = entry.last_chunk::<4>().map_or(0, |octets| u32::from_be_bytes(*octets));
        let _ = match before {
            _ if time & NO_STANDARD_TIME != 0 => write!(text, "{} not-standard", time & !NO_STANDARD_TIME),
            None => write!(text, "{time} absolute"),
            Some(earlier) => write!(text, "{}", i64::from(time) - i64::from(earlier)),
        };
        before = Some(time & !NO_STANDARD_TIME);
        text += "\n";
    }
    if flags >> 4 > 0 {
        let _ = writeln!(text, "Unrecorded hops: {}", flags >> 4);
    }
    text
}
