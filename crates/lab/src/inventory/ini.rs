//! Ansible's inventory as an INI file: `[group]`, `[group:vars]`, `[group:children]`, and hosts with `key=value` behind them.

use super::groups::{Groups, Variables};
use super::words;
use crate::document::Fault;

/// Kind of a section's lines.
enum Section {
    Hosts,
    Variables,
    Children,
}

/// The groups of an inventory.
pub(super) fn read(text: &str) -> Result<Groups, Fault> {
    let mut groups = Groups::default();
    let mut group = "ungrouped".to_owned();
    let mut section = Section::Hosts;
    for (number, line) in text.lines().enumerate().map(|(number, line)| (number + 1, line.trim())) {
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        // A range or an address in brackets has letters behind it or a colon within its number; a section ends the line.
        if let Some(head) = heading(line) {
            (group, section) = opened(head, number)?;
            match section {
                // As in Ansible, variables alone make no group.
                Section::Variables => groups.mention(&group, number)?,
                Section::Hosts | Section::Children => groups.group(&group, number)?,
            }
            continue;
        }
        if line.starts_with('[') && !line.contains(']') {
            let closed = format!("close it: `{}]`", line.split_whitespace().next().unwrap_or(line));
            return Err(Fault::new(number, format!("the section `{line}` is not closed"), closed));
        }
        match section {
            Section::Hosts => host(&mut groups, &group, line, number)?,
            Section::Variables => variable(&mut groups, &group, line, number)?,
            Section::Children => {
                let name = line.split_whitespace().next().unwrap_or_default();
                groups.child(&group, name, number)?;
            }
        }
    }
    Ok(groups)
}

/// Text in the brackets of a section's head.
fn heading(line: &str) -> Option<&str> {
    let line = line.split(['#', ';']).next().unwrap_or_default().trim_end();
    let head = line.strip_prefix('[')?.strip_suffix(']')?;
    // `[2001:db8::1]` is a host.
    (!head.contains(['[', ']']) && head.parse::<std::net::Ipv6Addr>().is_err()).then_some(head)
}

fn opened(head: &str, line: usize) -> Result<(String, Section), Fault> {
    let (name, kind) = head.split_once(':').map_or((head, None), |(name, kind)| (name, Some(kind.trim())));
    let hint = "expected `[group]`, `[group:vars]` or `[group:children]`";
    let section = match kind {
        None | Some("hosts") => Section::Hosts,
        Some("vars") => Section::Variables,
        Some("children") => Section::Children,
        Some(_) => return Err(Fault::new(line, format!("`[{head}]` is no section"), hint)),
    };
    let name = name.trim();
    if name.is_empty() || name.contains(char::is_whitespace) {
        return Err(Fault::new(line, format!("`[{head}]` names no group"), hint));
    }
    Ok((name.to_owned(), section))
}

fn host(groups: &mut Groups, group: &str, line: &str, number: usize) -> Result<(), Fault> {
    let fault = |what: String| Fault::new(number, what, "write a host a line: `name key=value …`");
    let words = words::split(line).map_err(|why| fault(why.to_owned()))?;
    let Some((name, rest)) = words.split_first() else { return Ok(()) };
    if name.contains('=') {
        return Err(fault(format!("`{name}` stands where a host's name belongs")));
    }
    let (name, port) = with_port(name);
    let mut variables = Variables::new();
    if let Some(port) = port {
        variables.insert("ansible_port".to_owned(), (port.to_owned(), number));
    }
    for word in rest {
        let (key, value) = word.split_once('=').ok_or_else(|| fault(format!("`{word}` is no `key=value`")))?;
        variables.insert(key.to_owned(), (value.to_owned(), number));
    }
    groups.host(group, name, &variables, number)
}

/// A name and the port of ssh behind it, as `web:2222`; the colons of a range and of an IPv6 address part nothing.
fn with_port(word: &str) -> (&str, Option<&str>) {
    let outside = word.rfind(']').map_or(0, |bracket| bracket + 1);
    let port = word[outside..]
        .split_once(':')
        .filter(|(_, port)| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()));
    match port {
        Some((before, port)) => (&word[..outside + before.len()], Some(port)),
        None => (word, None),
    }
}

fn variable(groups: &mut Groups, group: &str, line: &str, number: usize) -> Result<(), Fault> {
    let hint = "write a variable a line: `key=value`";
    let (key, value) =
        line.split_once('=').ok_or_else(|| Fault::new(number, format!("`{line}` is no `key=value`"), hint))?;
    let value = value.trim();
    let bare = ['"', '\''].iter().find_map(|&quote| value.strip_prefix(quote)?.strip_suffix(quote)).unwrap_or(value);
    groups.variable(group, key.trim(), bare, number)
}
