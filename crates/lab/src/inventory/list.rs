//! The plain list: one host a line, `name [address] [key=value …]`, or `user@host`.

use super::facts::Facts;
use super::{range, words};
use crate::document::Fault;
use crate::inventory::bound::enough;

/// The hosts of a list.
pub(super) fn read(text: &str) -> Result<Vec<Facts>, Fault> {
    let mut hosts = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let fault = |why: String| {
            Fault::new(number + 1, why, "write one host a line: `name [address] [key=value …]`, or `user@host`")
        };
        let words = words::split(line).map_err(|why| fault(why.to_owned()))?;
        if let Some((name, rest)) = words.split_first() {
            hosts.extend(entry(name, rest, number + 1, &fault)?);
            enough(hosts.len(), number + 1)?;
        }
    }
    Ok(hosts)
}

fn entry(name: &str, rest: &[String], line: usize, fault: &dyn Fn(String) -> Fault) -> Result<Vec<Facts>, Fault> {
    let (mut user, name) = name.split_once('@').map_or((None, name), |(user, name)| (Some(user), name));
    if name.contains('=') || name.is_empty() {
        return Err(fault(format!("`{name}` stands where a host's name belongs")));
    }
    let names = range::expand(name).map_err(fault)?;
    let mut hosts: Vec<Facts> = names.iter().map(|name| Facts::new(name, line)).collect();
    let address = rest.first().filter(|word| !word.contains('='));
    if address.is_some() && hosts.len() > 1 {
        return Err(fault(format!("`{name}` stands for {} hosts, which have no one address", hosts.len())));
    }
    for host in &mut hosts {
        if let Some(address) = address {
            let (there, address) =
                address.split_once('@').map_or((None, address.as_str()), |(user, at)| (Some(user), at));
            host.tell("address", address, line)?;
            user = user.or(there);
        }
        if let Some(user) = user {
            host.tell("user", user, line)?;
        }
        for word in rest.iter().skip(usize::from(address.is_some())) {
            let (key, value) = word.split_once('=').ok_or_else(|| fault(format!("`{word}` is no `key=value`")))?;
            host.tell(key, value, line)?;
        }
    }
    Ok(hosts)
}
