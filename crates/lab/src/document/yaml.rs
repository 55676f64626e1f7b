//! YAML as a [`Node`]: the events of its parser put together here, so that depth and aliases have a bound.
//!
//! Values stay the text they are written as. Merge keys (`<<`) are followed; a tag says that a value is a text, or that it is
//! encrypted (`!vault`), which hides it. Files come from anyone: no few lines may stand for more than memory holds.

use std::collections::{BTreeMap, BTreeSet};

use saphyr_parser::{Event, Parser, ScalarStyle};

use super::{Fault, Node, Value};

/// Greatest depth of values in each other.
const DEEPEST: usize = 64;
/// Most weight of a document: a value weighs one, and one more for each 64 letters. The value of an alias weighs each time.
const MOST: usize = 600_000;

/// The key whose value's entries a map has beside its own.
const MERGE: &str = "<<";

/// The document in `text`.
///
/// # Errors
/// Text that is no YAML, a key twice in one map, an alias within its own anchor, a merge of something that is no map, a
/// second document, and more values or deeper ones than are read.
pub fn read(text: &str) -> Result<Node, Fault> {
    let mut builder = Builder::default();
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| {
            let what = format!("no YAML: {}", error.info());
            Fault::new(error.marker().line(), what, "check the indentation, and quotes around what has a colon in it")
        })?;
        builder.take(event, span.start.line())?;
    }
    Ok(builder.done.unwrap_or(Node { line: 1, value: Value::Null }))
}

/// A document as it grows.
#[derive(Default)]
struct Builder {
    open: Vec<Open>,
    /// Values of the anchors, each with its weight.
    anchors: BTreeMap<usize, (Node, usize)>,
    /// Weight until now, what anchors keep included.
    weight: usize,
    done: Option<Node>,
}

/// A list or map that is not closed.
struct Open {
    node: Node,
    anchor: usize,
    /// The name whose value comes next, in a map.
    name: Option<String>,
    /// Names until now, with their lines.
    names: BTreeMap<String, usize>,
    /// Its weight until now.
    weight: usize,
}

impl Builder {
    fn take(&mut self, event: Event<'_>, line: usize) -> Result<(), Fault> {
        match event {
            Event::DocumentStart(_) if self.done.is_some() => {
                Err(Fault::new(line, "a second document", "one document is read: take the `---` away"))
            }
            Event::Scalar(text, style, anchor, tag) => {
                let weight = 1 + text.len() / 64;
                let null = ["", "~", "null", "Null", "NULL"].contains(&text.as_ref());
                let value = match tag {
                    Some(tag) if tag.suffix.starts_with("vault") => Value::Hidden,
                    None if style == ScalarStyle::Plain && null => Value::Null,
                    None if style == ScalarStyle::Plain => Value::Word(text.into_owned()),
                    _ => Value::Text(text.into_owned()),
                };
                self.value(Node { line, value }, anchor, weight)
            }
            Event::SequenceStart(anchor, _) => self.begin(Value::List(Vec::new()), anchor, line),
            Event::MappingStart(anchor, _) => self.begin(Value::Map(Vec::new()), anchor, line),
            Event::SequenceEnd | Event::MappingEnd => self.end(),
            Event::Alias(anchor) => {
                let (node, weight) = self.anchors.get(&anchor).ok_or_else(|| {
                    Fault::new(line, "an alias for what is not complete", "an alias stands for a value before it")
                })?;
                // Weighed before it is copied: a few lines of aliases can stand for more than any memory holds.
                bounded(self.weight + weight, line)?;
                let (node, weight) = (node.clone(), *weight);
                self.value(node, 0, weight)
            }
            _ => Ok(()),
        }
    }

    fn begin(&mut self, value: Value, anchor: usize, line: usize) -> Result<(), Fault> {
        if self.open.len() >= DEEPEST {
            let what = format!("values lie in more than {DEEPEST} others");
            return Err(Fault::new(line, what, "write it with fewer levels"));
        }
        let node = Node { line, value };
        self.open.push(Open { node, anchor, name: None, names: BTreeMap::new(), weight: 1 });
        Ok(())
    }

    fn end(&mut self) -> Result<(), Fault> {
        let Some(Open { mut node, anchor, weight, .. }) = self.open.pop() else { return Ok(()) };
        if let Value::Map(entries) = &mut node.value {
            *entries = merged(std::mem::take(entries))?;
        }
        // Its parts have been weighed one by one.
        self.weight = self.weight.saturating_sub(weight - 1);
        self.value(node, anchor, weight)
    }

    /// A value that is complete.
    fn value(&mut self, node: Node, anchor: usize, weight: usize) -> Result<(), Fault> {
        self.weight += weight * if anchor > 0 { 2 } else { 1 };
        bounded(self.weight, node.line)?;
        if anchor > 0 {
            self.anchors.insert(anchor, (node.clone(), weight));
        }
        if let Some(open) = self.open.last_mut() {
            open.weight += weight;
        }
        self.place(node)
    }

    fn place(&mut self, node: Node) -> Result<(), Fault> {
        let Some(open) = self.open.last_mut() else {
            self.done = Some(node);
            return Ok(());
        };
        match (&mut open.node.value, open.name.take()) {
            (Value::List(items), _) => items.push(node),
            (Value::Map(entries), Some(name)) => entries.push((name, node)),
            (Value::Map(_), None) => {
                let name = match (node.text(), &node.value) {
                    (Some(text), _) => text.to_owned(),
                    (None, Value::Null) => "null".to_owned(),
                    _ => return Err(Fault::new(node.line, format!("{} for a key", node.kind()), "a key is one word")),
                };
                if name != MERGE
                    && let Some(first) = open.names.insert(name.clone(), node.line)
                {
                    return Err(Fault::twice(&name, node.line, first));
                }
                open.name = Some(name);
            }
            _ => {}
        }
        Ok(())
    }
}

/// The entries of a map with those of its merge keys, which its own come before.
fn merged(own: Vec<(String, Node)>) -> Result<Vec<(String, Node)>, Fault> {
    if own.iter().all(|(name, _)| name != MERGE) {
        return Ok(own);
    }
    let (merges, mut entries): (Vec<_>, Vec<_>) = own.into_iter().partition(|(name, _)| name == MERGE);
    let mut names: BTreeSet<String> = entries.iter().map(|(name, _)| name.clone()).collect();
    for (_, node) in merges {
        let maps = match node.value {
            Value::List(items) => items,
            _ => vec![node],
        };
        for map in maps {
            let Value::Map(more) = map.value else {
                let what = format!("`{MERGE}` with {}", map.kind());
                return Err(Fault::new(map.line, what, "it takes a map, or a list of maps"));
            };
            entries.extend(more.into_iter().filter(|(name, _)| names.insert(name.clone())));
        }
    }
    Ok(entries)
}

fn bounded(weight: usize, line: usize) -> Result<(), Fault> {
    let what = "more values than a file may have, those that aliases stand for counted each time";
    let most = || Fault::new(line, what, "use fewer aliases, or several files");
    if weight > MOST { Err(most()) } else { Ok(()) }
}

#[cfg(test)]
mod tests;
