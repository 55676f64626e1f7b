//! Ansible's inventory as YAML: groups by name, each with `hosts`, `vars` and `children`.

use super::groups::{Groups, Variables};
use crate::document::Fault;
use crate::document::{Node, Value};

/// The groups of an inventory.
pub(super) fn read(document: &Node) -> Result<Groups, Fault> {
    let mut groups = Groups::default();
    for (name, node) in map(document, "an inventory", "groups by name, as `all:`")? {
        group(&mut groups, name, node)?;
    }
    Ok(groups)
}

/// The entries of a map; nothing has none.
fn map<'a>(node: &'a Node, what: &str, of: &str) -> Result<&'a [(String, Node)], Fault> {
    match &node.value {
        Value::Map(entries) => Ok(entries),
        Value::Null => Ok(&[]),
        _ => Err(Fault::new(
            node.line,
            format!("{} where {what} has {of}", node.kind()),
            "see Ansible's inventories in YAML",
        )),
    }
}

fn group(groups: &mut Groups, name: &str, node: &Node) -> Result<(), Fault> {
    groups.group(name, node.line)?;
    for (key, part) in map(node, "a group", "`hosts`, `vars` and `children`")? {
        match key.as_str() {
            "hosts" => hosts(groups, name, part)?,
            "vars" => {
                for (variable, value) in map(part, "`vars`", "variables by name")? {
                    if let Some(text) = value.text() {
                        groups.variable(name, variable, text, value.line)?;
                    }
                }
            }
            "children" => {
                for (child, within) in map(part, "`children`", "groups by name")? {
                    groups.child(name, child, within.line)?;
                    // A name alone speaks of a group that stands elsewhere.
                    if !matches!(within.value, Value::Null) {
                        group(groups, child, within)?;
                    }
                }
            }
            other => {
                let what = format!("`{}` in group `{name}`", other.escape_debug());
                return Err(Fault::new(part.line, what, "a group has `hosts`, `vars` and `children`"));
            }
        }
    }
    Ok(())
}

fn hosts(groups: &mut Groups, group: &str, node: &Node) -> Result<(), Fault> {
    // One host alone may stand there as a word.
    if let Some(name) = node.text() {
        return groups.host(group, name, &Variables::new(), node.line);
    }
    for (pattern, facts) in map(node, "`hosts`", "hosts by name, each with a colon behind it")? {
        let mut variables = Variables::new();
        for (name, value) in map(facts, "a host", "variables by name")? {
            if let Some(text) = value.text() {
                variables.insert(name.clone(), (text.to_owned(), value.line));
            }
        }
        groups.host(group, pattern, &variables, node.line.max(facts.line))?;
    }
    Ok(())
}
