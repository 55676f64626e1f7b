//! Lists of hosts that others keep: plain lists, CSV, Ansible's inventories, what `tofu output -json` prints, static machines of
//! `PerfKit` Benchmarker.
//!
//! Each form is read into the same facts by name (`facts`), and these into hosts, so that a key means one thing in all of them.
//! A list may come from anyone: its size, its depth, its ranges and its aliases are bounded, and what is wrong is said with its line.
//! Passwords and other secrets that stand in an inventory are never taken over.

mod ansible;
mod bound;
mod comma;
mod facts;
mod groups;
mod ini;
mod json;
mod list;
mod objects;
mod range;
#[cfg(test)]
mod tests;
mod words;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read;
use std::path::Path;

use logbook::failure::{Failure, Side};
use logbook::host::Host;
use logbook::plan::{self, Plan};

use crate::document::{Fault, yaml};
use crate::inventory::bound::enough;

use facts::Facts;

/// Longest text of an inventory, bytes.
const LONGEST: usize = 16 << 20;

/// A form in which hosts are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// One host a line: `name [address] [key=value …]`, or `user@host`.
    List,
    /// Columns, whose names stand in the first line.
    Csv,
    /// Ansible's, as an INI file.
    Ini,
    /// Ansible's, as YAML.
    Yaml,
    /// Output of `tofu output -json` (or `terraform`'s).
    Tofu,
    /// Static machines of `PerfKit` Benchmarker (`--static_vm_file`).
    Pkb,
    /// The tables `[[hosts]]` of a plan, as `sonde lab up -o` writes them.
    Toml,
}

impl Form {
    /// All of them with the words that force them.
    pub const ALL: [(&'static str, Self); 7] = [
        ("list", Self::List),
        ("csv", Self::Csv),
        ("ini", Self::Ini),
        ("yaml", Self::Yaml),
        ("tofu", Self::Tofu),
        ("pkb", Self::Pkb),
        ("toml", Self::Toml),
    ];

    /// The form that stands before the path in `form:path`, and the path; without one the path alone.
    pub fn split(spec: &str) -> (Option<Self>, &str) {
        let forced =
            Self::ALL.iter().find_map(|(word, form)| Some((*form, spec.strip_prefix(word)?.strip_prefix(':')?)));
        forced.map_or((None, spec), |(form, path)| (Some(form), path))
    }

    /// The form of `text`, a file that is called `name`: by its ending, and where that says nothing by what stands in it.
    pub fn of(name: &str, text: &str) -> Self {
        let ending = Path::new(name).extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase());
        match ending.as_deref() {
            Some("csv" | "tsv") => Self::Csv,
            Some("yaml" | "yml") => Self::Yaml,
            Some("ini") => Self::Ini,
            Some("toml") => Self::Toml,
            Some("json") => of_json(text),
            _ => of_content(text),
        }
    }
}

fn of_json(text: &str) -> Form {
    if text.trim_start().starts_with('[') && text.contains("\"ip_address\"") { Form::Pkb } else { Form::Tofu }
}

fn of_content(text: &str) -> Form {
    let text = text.trim_start_matches('\u{feff}');
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with(['#', ';']));
    let first = lines.next().unwrap_or_default();
    // One that is not closed is told so by the reader.
    let section = |line: &str| {
        line.starts_with('[') && (line.ends_with(']') || !line.contains(']')) && !line.contains(['{', '"', ','])
    };
    let rest: String = text.trim_start().chars().skip(1).take(200).filter(|letter| !letter.is_whitespace()).collect();
    if first.starts_with('{') || (first.starts_with('[') && rest.starts_with(['{', ']'])) {
        of_json(text)
    } else if first.starts_with("---") || (first.ends_with(':') && !first.contains([' ', ','])) {
        Form::Yaml
    } else if section(first) || lines.take(1_000).any(section) {
        Form::Ini
    } else if first.contains([',', ';', '\t']) && first.split([',', ';', '\t']).any(|name| comma::is_name(name.trim()))
    {
        Form::Csv
    } else {
        Form::List
    }
}

/// A fault of an inventory, with its place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name}{}: {what}", line.map_or_else(String::new, |line| format!(", line {line}")))]
pub struct InventoryError {
    /// The file's name.
    pub name: String,
    /// The line, a count from 1; absent where it is the file as a whole.
    pub line: Option<usize>,
    /// The fault.
    pub what: String,
    /// Next step for the reader.
    pub hint: String,
}

impl From<InventoryError> for Failure {
    fn from(error: InventoryError) -> Self {
        Self {
            what: error.to_string(),
            to_whom: Some(error.name),
            side: Some(Side::Ours),
            hint: Some(error.hint),
            partial: None,
        }
    }
}

impl Fault {
    fn named(self, name: &str) -> InventoryError {
        let line = (self.line > 0).then_some(self.line);
        InventoryError { name: name.to_owned(), line, what: self.what, hint: self.hint }
    }
}

/// The hosts that `text` lists, a file that is called `name`, in its own order. Where no form is given it is found out.
///
/// # Errors
/// Text that is not of the form, a value that is not of its kind, two hosts of one name, no hosts or too many, and a form
/// that is not known; each with its line.
pub fn read(text: &str, name: &str, form: Option<Form>) -> Result<Vec<Host>, InventoryError> {
    match form.unwrap_or_else(|| Form::of(name, text)) {
        Form::Toml => own(text, name),
        form => hosts(text, form).map_err(|fault| fault.named(name)),
    }
}

/// The hosts of a list in the form of a plan.
fn own(text: &str, name: &str) -> Result<Vec<Host>, InventoryError> {
    let hosts = plan::hosts(text, name).map_err(|error| InventoryError {
        name: error.name,
        line: Some(error.line),
        what: error.what,
        hint: error.hint,
    })?;
    enough(hosts.len(), 0).map_err(|fault| fault.named(name))?;
    let mut seen = BTreeSet::new();
    match hosts.iter().find(|host| !seen.insert(host.name.as_str())) {
        Some(twice) => {
            let what = format!("a second host `{}`", twice.name);
            Err(Fault::new(0, what, "give each host a name of its own").named(name))
        }
        None => Ok(hosts),
    }
}

fn hosts(text: &str, form: Form) -> Result<Vec<Host>, Fault> {
    if text.len() > LONGEST {
        let what = format!("an inventory has at most {} MiB, and this has more", LONGEST >> 20);
        return Err(Fault::new(0, what, "list only the hosts that are to be measured"));
    }
    let text = text.trim_start_matches('\u{feff}');
    let facts = match form {
        Form::List => list::read(text)?,
        Form::Csv => comma::read(text)?,
        Form::Ini => ini::read(text)?.facts()?,
        Form::Yaml => ansible::read(&yaml::read(text)?)?.facts()?,
        Form::Tofu => objects::tofu(&json::read(text)?)?,
        Form::Pkb => objects::pkb(&json::read(text)?)?,
        // It is read into hosts at once.
        Form::Toml => Vec::new(),
    };
    if facts.is_empty() {
        let forms = Form::ALL.map(|(word, _)| format!("`{word}:`")).join(", ");
        let hint = format!("if it is of another form than it looks like, put one of {forms} before its path");
        return Err(Fault::new(0, "it lists no hosts", hint));
    }
    different(&facts)?;
    facts.into_iter().map(Facts::host).collect()
}

/// That no two hosts have one name, and that there are not too many.
fn different(facts: &[Facts]) -> Result<(), Fault> {
    enough(facts.len(), facts.last().map_or(0, |last| last.line))?;
    let mut seen = BTreeMap::new();
    for host in facts {
        if let Some(first) = seen.insert(host.name.as_str(), host.line) {
            let what = format!("a second host `{}`: the first stands in line {first}", host.name);
            return Err(Fault::new(host.line, what, "give each host a name of its own"));
        }
    }
    Ok(())
}

/// The hosts of a file, given as `path` or `form:path`, the path as seen from `folder`.
///
/// # Errors
/// A file that cannot be read, and what [`read`] says of its text.
pub fn load(spec: &str, folder: &Path) -> Result<Vec<Host>, Failure> {
    let (form, path) = Form::split(spec);
    let mut text = Vec::new();
    let opened = File::open(folder.join(path));
    // One byte more than may be, so that what is too long is known to be.
    let taken = opened.and_then(|file| file.take(LONGEST as u64 + 1).read_to_end(&mut text));
    let unread = |why: String, hint: &str| Failure {
        what: format!("cannot read the inventory {path}: {why}"),
        to_whom: Some(path.to_owned()),
        side: Some(Side::Ours),
        hint: Some(hint.to_owned()),
        partial: None,
    };
    taken.map_err(|error| unread(error.to_string(), "its path is seen from the folder of the plan"))?;
    let text = String::from_utf8(text).map_err(|error| {
        let read = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = read.split(|&byte| byte == b'\n').count();
        unread(format!("line {line} is no UTF-8"), "store it as UTF-8")
    })?;
    Ok(read(&text, path, form)?)
}

/// Puts the hosts of the inventories of `plan` behind those it lists itself, and empties the list of inventories. Paths are seen from
/// `folder`.
///
/// # Errors
/// As of [`load`], and a host that is listed twice.
pub fn gather(plan: &mut Plan, folder: &Path) -> Result<(), Failure> {
    let mut listed: BTreeMap<String, String> =
        plan.hosts.iter().map(|host| (host.name.clone(), "the plan".to_owned())).collect();
    for spec in std::mem::take(&mut plan.inventory) {
        for host in load(&spec, folder)? {
            if let Some(first) = listed.insert(host.name.clone(), spec.clone()) {
                return Err(Failure {
                    what: format!("{spec}: a second host `{}`: {first} lists the first", host.name),
                    to_whom: Some(spec),
                    side: Some(Side::Ours),
                    hint: Some("give each host a name of its own, or list it once".to_owned()),
                    partial: None,
                });
            }
            plan.hosts.push(host);
        }
    }
    Ok(())
}
