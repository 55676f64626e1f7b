//! The hosts of a run: operands, a file, or a range of addresses, each looked up.

use std::io::{BufRead, BufReader, Read};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use endpoint::error::{Cause, EndpointError};
use endpoint::name::{self, Family};
use endpoint::stop::Stop;

use crate::persona::answer::Answer;
use crate::persona::fping::options::{Asked, Looked, complaint, usage};
use crate::persona::process;

/// The most addresses that a range makes, and the most lines of a file.
const MOST: u32 = 100_000;
/// The longest line of a file, octets.
const LONGEST: u64 = 4_096;

/// A host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The name by which it is shown.
    pub shown: String,
    /// The name as it was given.
    pub given: String,
    /// Its address.
    pub address: SocketAddr,
}

/// The names of the hosts.
///
/// # Errors
/// A file that cannot be read, a range that is none or too long.
pub fn names(asked: &Asked) -> Result<Vec<String>, Answer> {
    match (&asked.file, asked.generate) {
        (Some(file), _) => read(file),
        (None, true) => range(&asked.operands),
        (None, false) => Ok(asked.operands.clone()),
    }
}

fn read(file: &str) -> Result<Vec<String>, Answer> {
    if file == "-" {
        return lines(std::io::stdin().lock());
    }
    let opened = std::fs::File::open(file);
    let failed = |error| Answer { status: 4, ..complaint(&format!("fopen : {}", process::said(&error))) };
    lines(BufReader::new(opened.map_err(failed)?))
}

/// The first word of each line, unless the line is empty or a comment.
fn lines(mut from: impl BufRead) -> Result<Vec<String>, Answer> {
    let mut names = Vec::new();
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = from.by_ref().take(LONGEST).read_until(b'\n', &mut line);
        let failed =
            |error| Answer { status: 4, ..complaint(&format!("cannot read hosts: {}", process::said(&error))) };
        if read.map_err(failed)? == 0 {
            return Ok(names);
        }
        let text = String::from_utf8_lossy(&line);
        if let Some(word) = text.split_ascii_whitespace().next().filter(|word| !word.starts_with('#')) {
            names.push(word.to_owned());
        }
        if names.len() > MOST as usize {
            return Err(complaint("the list of hosts is too long"));
        }
    }
}

/// The addresses of a network without the first and the last, or from one to another.
fn range(operands: &[String]) -> Result<Vec<String>, Answer> {
    let (first, last) = match operands {
        [network] => network_of(network)?,
        [first, last] => (address(first)?, address(last)?),
        _ => return Err(usage()),
    };
    if last.saturating_sub(first) > MOST {
        return Err(complaint("-g parameter generates too many addresses"));
    }
    Ok((first..=last).map(|address| Ipv4Addr::from_bits(address).to_string()).collect())
}

fn network_of(text: &str) -> Result<(u32, u32), Answer> {
    let (base, mask) = text.split_once('/').ok_or_else(usage)?;
    let base = address(base)?;
    let bits: u32 = mask.parse().unwrap_or(0);
    if !(1..=32).contains(&bits) {
        return Err(complaint(&format!("netmask must be between 1 and 32 (is: {mask})")));
    }
    let hosts = u32::MAX.checked_shr(bits).unwrap_or(0);
    let first = base & !hosts;
    let last = first | hosts;
    Ok(if bits < 31 { (first + 1, last - 1) } else { (first, last) })
}

fn address(text: &str) -> Result<u32, Answer> {
    match text.parse() {
        Ok(IpAddr::V4(address)) => Ok(address.to_bits()),
        Ok(IpAddr::V6(_)) => Err(complaint("-g works only with IPv4 addresses")),
        Err(_) => Err(complaint(&format!("can't parse address {text}: Name or service not known"))),
    }
}

/// The hosts of a name, one unless all its addresses are wanted.
///
/// # Errors
/// The words of the resolver.
pub fn look_up(name: &str, asked: &Asked, stop: &Stop) -> Result<Vec<Target>, String> {
    let literal = name.parse::<IpAddr>().ok();
    let fits = |address: &IpAddr| match asked.family {
        Family::Any => true,
        Family::V4 => address.is_ipv4(),
        Family::V6 => address.is_ipv6(),
    };
    if literal.is_some_and(|address| !fits(&address)) {
        return Err("Address family for hostname not supported".to_owned());
    }
    let found = name::look_up_all(name, 0, asked.family, stop).map_err(|error| said(&error))?;
    let wanted = if asked.all_addresses { found.len() } else { 1 };
    let shown = |address: SocketAddr| shown(name, address, literal.is_some(), asked);
    let target = |address: SocketAddr| Target { shown: shown(address), given: name.to_owned(), address };
    Ok(found.into_iter().take(wanted).map(target).collect())
}

fn shown(name: &str, address: SocketAddr, is_literal: bool, asked: &Asked) -> String {
    let looked_up = match asked.shown.name {
        Some(Looked::All) => true,
        Some(Looked::Addresses) => is_literal,
        None => false,
    };
    let named = looked_up.then(|| name::of(address.ip())).flatten().unwrap_or_else(|| name.to_owned());
    match (asked.shown.address, asked.shown.name) {
        (true, Some(_)) => format!("{named} ({})", address.ip()),
        (true, None) => address.ip().to_string(),
        (false, _) => named,
    }
}

/// The resolver's own words.
fn said(error: &EndpointError) -> String {
    let text = match &error.cause {
        Cause::System(error) => process::said(error),
        cause => cause.to_string(),
    };
    let text = text.strip_prefix("failed to lookup address information: ").unwrap_or(&text);
    text.to_owned()
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    fn of(words: &[&str]) -> Result<Vec<String>, Answer> {
        range(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn a_network_has_hosts_without_its_own_and_the_broadcast_address() {
        assert_eq!(of(&["192.0.2.5/30"]).unwrap(), ["192.0.2.5", "192.0.2.6"]);
        assert_eq!(of(&["192.0.2.5/31"]).unwrap(), ["192.0.2.4", "192.0.2.5"]);
        assert_eq!(of(&["192.0.2.5/32"]).unwrap(), ["192.0.2.5"]);
        assert_eq!(of(&["192.0.2.254", "192.0.3.1"]).unwrap().len(), 4);
        assert!(of(&["192.0.2.9", "192.0.2.1"]).unwrap().is_empty());
    }

    #[test_case(&["192.0.2.0/33"], "netmask must be between 1 and 32 (is: 33)"; "a mask")]
    #[test_case(&["0.0.0.0/1"], "generates too many addresses"; "a world")]
    #[test_case(&["0.0.0.0", "255.255.255.255"], "generates too many addresses"; "another")]
    #[test_case(&["2001:db8::/64"], "only with IPv4"; "a family")]
    #[test_case(&["here", "there"], "can't parse address here"; "names")]
    #[test_case(&["192.0.2.1"], "Usage: fping"; "one address")]
    #[test_case(&["192.0.2.1", "192.0.2.2", "192.0.2.3"], "Usage: fping"; "three")]
    fn a_range_that_is_none_is_refused(words: &[&str], why: &str) {
        let answer = of(words).unwrap_err();
        assert!(answer.stderr.contains(why) && answer.status == 1, "{answer:?}");
    }

    #[test]
    fn a_file_has_a_host_a_line_and_comments() {
        let text = b"db1 the first\n# nobody\n\n  db2\ndb3";
        assert_eq!(lines(&text[..]).unwrap(), ["db1", "db2", "db3"]);
    }
}
