//! Settings of benchmarks in a file: flags for each, and matrices of flags, of which every combination is a run.
//!
//! The command line goes before the file, as in PKB. Anything in the file beyond flags (machines by hand, disks) is refused
//! by its name.

mod filter;

use std::collections::BTreeSet;

use lab::document::{self, Node, yaml};
use serde_json::{Map, Value};

use crate::persona::answer::Answer;
use crate::persona::pkb::benchmark::Benchmark;
use crate::persona::pkb::flags::{Flags, ReadFile, complain};

/// Most runs that a matrix makes.
const MOST: usize = 1_000;
/// Keys of a benchmark's settings that are heeded.
const KEYS: [&str; 8] = [
    "name",
    "description",
    "flags",
    "flag_matrix",
    "flag_matrix_defs",
    "flag_matrix_filters",
    "flag_zip",
    "flag_zip_defs",
];
/// Flags that say which settings there are, and can be none of them.
const OUTER: [&str; 7] =
    ["benchmarks", "benchmark_config_file", "config_override", "flag_matrix", "flag_zip", "run_uri", "run_stage"];

/// Every run that the flags ask for: its benchmark, and its own flags.
///
/// # Errors
/// A benchmark that is not had, a file that is none, a setting that is not heeded.
pub fn runs(flags: &Flags, read: ReadFile<'_>) -> Result<Vec<(Benchmark, Flags)>, Answer> {
    let document = document(flags, read)?;
    let mut runs = Vec::new();
    for (name, settings) in benchmarks(flags, &document)? {
        let said =
            settings.get("name").map_or(Ok(name.as_str()), |value| value.as_str().ok_or_else(|| no_name(&name)))?;
        let benchmark = Benchmark::named(said)?;
        for axes in combinations(flags, &name, &settings)? {
            if runs.len() == MOST {
                return Err(complain(&format!("these settings make more than {MOST} runs: make several of them")));
            }
            runs.push((benchmark, overlaid(flags, &document, &settings, &axes)?));
        }
    }
    Ok(runs)
}

fn no_name(of: &str) -> Answer {
    complain(&format!("{of}.name: is no name of a benchmark"))
}

/// Content of the file, with the values that override it.
fn document(flags: &Flags, read: ReadFile<'_>) -> Result<Map<String, Value>, Answer> {
    let mut document = Map::new();
    if let Some(path) = flags.text("benchmark_config_file") {
        let wrong = |what: String| complain(&format!("--benchmark_config_file={path}: {what}"));
        let text = read(path).map_err(wrong)?;
        let value = if text.trim_start().starts_with('{') {
            serde_json::from_str(&text).map_err(|fault| fault.to_string())
        } else {
            from_yaml(&text)
        };
        match value.map_err(wrong)? {
            Value::Object(map) => document = map,
            Value::Null => {}
            _ => return Err(wrong("is no mapping of benchmarks to their settings".into())),
        }
    }
    for said in flags.list("config_override") {
        let (path, value) =
            said.split_once('=').ok_or_else(|| complain(&format!("--config_override={said}: lacks a `=`")))?;
        from_yaml(value)
            .and_then(|value| put(&mut document, path, value))
            .map_err(|what| complain(&format!("--config_override={said}: {what}")))?;
    }
    Ok(document)
}

fn from_yaml(text: &str) -> Result<Value, String> {
    yaml::read(text).map_err(|fault| fault.to_string()).and_then(settings_in)
}

/// A value as it is for flags: every bare word is a text, but for none, true and false.
fn settings_in(node: Node) -> Result<Value, String> {
    Ok(match node.value {
        document::Value::Null => Value::Null,
        document::Value::Word(word) => match word.as_str() {
            "None" => Value::Null,
            "true" | "True" | "TRUE" => Value::Bool(true),
            "false" | "False" | "FALSE" => Value::Bool(false),
            _ => Value::String(word),
        },
        // The end of a block's last line is no part of a flag.
        document::Value::Text(text) => Value::String(text.trim_end_matches('\n').to_owned()),
        document::Value::Hidden => return Err(format!("line {}: an encrypted value: write it out", node.line)),
        document::Value::List(items) => Value::Array(items.into_iter().map(settings_in).collect::<Result<_, _>>()?),
        document::Value::Map(entries) => {
            let named = |(name, node)| Ok((name, settings_in(node)?));
            Value::Object(entries.into_iter().map(named).collect::<Result<_, String>>()?)
        }
    })
}

/// Puts a value where a path of keys leads.
fn put(document: &mut Map<String, Value>, path: &str, value: Value) -> Result<(), String> {
    let mut keys: Vec<&str> = path.trim().split('.').collect();
    let last = keys.pop().filter(|key| !key.is_empty()).ok_or("names no setting")?;
    let mut place = document;
    for key in keys {
        let next = place.entry(key).or_insert_with(|| Value::Object(Map::new()));
        place = next.as_object_mut().ok_or_else(|| format!("`{key}` is no mapping"))?;
    }
    place.insert(last.to_owned(), value);
    Ok(())
}

/// A table and its name.
type Named = (String, Map<String, Value>);

/// The benchmarks to run, each with its settings.
fn benchmarks(flags: &Flags, document: &Map<String, Value>) -> Result<Vec<Named>, Answer> {
    let listed = match document.get("benchmarks") {
        Some(Value::Array(list)) => list.iter().map(of_one).collect::<Result<Vec<_>, _>>()?,
        Some(_) => return Err(complain("`benchmarks` in the settings is no list")),
        None => Vec::new(),
    };
    let names = flags.list("benchmarks");
    if names.is_empty() {
        if listed.is_empty() {
            let all = Benchmark::ALL.map(Benchmark::name).join(", ");
            return Err(complain(&format!("no benchmark is named: say --benchmarks={all}, or some of them")));
        }
        return Ok(listed);
    }
    let mut all = Vec::new();
    for name in names {
        let own: Vec<_> = listed.iter().filter(|(listed, _)| listed == name).cloned().collect();
        match document.get(name.as_str()) {
            _ if !own.is_empty() => all.extend(own),
            None => all.push((name.clone(), Map::new())),
            Some(settings) => all.push((name.clone(), settings_of(name, settings)?)),
        }
    }
    Ok(all)
}

fn of_one(value: &Value) -> Result<(String, Map<String, Value>), Answer> {
    let one = value.as_object().filter(|map| map.len() == 1).and_then(|map| map.iter().next());
    let (name, settings) =
        one.ok_or_else(|| complain("`benchmarks` in the settings lists a benchmark an entry, with its settings"))?;
    Ok((name.clone(), settings_of(name, settings)?))
}

fn settings_of(name: &str, value: &Value) -> Result<Map<String, Value>, Answer> {
    let settings = match value {
        Value::Null => Map::new(),
        Value::Object(map) => map.clone(),
        _ => return Err(complain(&format!("`{name}` in the settings is no mapping"))),
    };
    if let Some(key) = settings.keys().find(|key| !KEYS.contains(&key.as_str())) {
        return Err(complain(&format!(
            "`{name}.{key}` in the settings is not heeded here: machines are said by flags; there are {}",
            KEYS.join(", ")
        )));
    }
    Ok(settings)
}

/// A value of each axis.
type Axes = Vec<(String, Value)>;

/// Every combination of the matrix and the zip that are asked for; one of nothing where none is.
fn combinations(flags: &Flags, name: &str, settings: &Map<String, Value>) -> Result<Vec<Axes>, Answer> {
    let mut all: Vec<Axes> = vec![Vec::new()];
    if let Some((_, zip)) = defined(flags, name, settings, "flag_zip")? {
        let mut rows: Vec<Axes> = Vec::new();
        for (at, (flag, values)) in axes(name, &zip)?.into_iter().enumerate() {
            if at == 0 {
                rows = vec![Vec::new(); values.len()];
            } else if rows.len() != values.len() {
                return Err(complain(&format!(
                    "{name}.flag_zip_defs: `{flag}` has another number of values than the flag before"
                )));
            }
            for (row, value) in rows.iter_mut().zip(values) {
                row.push((flag.clone(), value));
            }
        }
        all = rows;
    }
    let Some((matrix, axes_of)) = defined(flags, name, settings, "flag_matrix")? else { return Ok(all) };
    for (flag, values) in axes(name, &axes_of)? {
        let count = all.len().saturating_mul(values.len());
        // A filter may leave few of many: the square of what is run at most.
        if count > MOST * MOST {
            return Err(complain(&format!("{name}.flag_matrix_defs.{matrix}: makes {count} combinations and more")));
        }
        let with = |one: &Axes| {
            let more = values.iter().map(|value| one.iter().cloned().chain([(flag.clone(), value.clone())]).collect());
            more.collect::<Vec<Axes>>()
        };
        all = all.iter().flat_map(with).collect();
    }
    let filter = settings.get("flag_matrix_filters").and_then(|filters| filters.get(&matrix)).and_then(Value::as_str);
    let Some(text) = filter else { return Ok(all) };
    let filter = filter::read(text)
        .map_err(|what| complain(&format!("{name}.flag_matrix_filters.{matrix}: `{text}`: {what}")))?;
    let common = settings.get("flags").and_then(Value::as_object).cloned().unwrap_or_default();
    let mut kept = Vec::new();
    for one in all {
        let value = |key: &str| {
            one.iter().find(|(flag, _)| flag == key).map(|(_, value)| value).or_else(|| common.get(key)).map(text_of)
        };
        if filter.holds(&value).map_err(|what| complain(&format!("{name}.flag_matrix_filters.{matrix}: {what}")))? {
            kept.push(one);
        }
    }
    Ok(kept)
}

/// The definition of the matrix or zip that is asked for, with its name.
fn defined(flags: &Flags, name: &str, settings: &Map<String, Value>, what: &str) -> Result<Option<Named>, Answer> {
    let said = flags.text(what).or_else(|| settings.get(what).and_then(Value::as_str)).filter(|said| !said.is_empty());
    let Some(said) = said else { return Ok(None) };
    let definition = settings.get(&format!("{what}_defs")).and_then(|all| all.get(said)).and_then(Value::as_object);
    match definition {
        Some(definition) => Ok(Some((said.to_owned(), definition.clone()))),
        None => Err(complain(&format!("--{what}={said}: the settings of {name} define no such one in {what}_defs"))),
    }
}

/// Flags and their values, in the order of their names.
fn axes(name: &str, definition: &Map<String, Value>) -> Result<Vec<(String, Vec<Value>)>, Answer> {
    let mut axes: Vec<(String, Vec<Value>)> = Vec::new();
    for (flag, values) in definition {
        let Value::Array(values) = values else {
            return Err(complain(&format!("{name}: `{flag}` of a matrix or zip has no list of values")));
        };
        axes.push((flag.clone(), values.clone()));
    }
    axes.sort_by(|one, other| one.0.cmp(&other.0));
    Ok(axes)
}

/// The command line's flags, and beneath them those of the file.
fn overlaid(
    said: &Flags,
    document: &Map<String, Value>,
    settings: &Map<String, Value>,
    axes: &[(String, Value)],
) -> Result<Flags, Answer> {
    let mut flags = said.clone();
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let common = document.get("flags").and_then(Value::as_object).into_iter().flatten();
    let own = settings.get("flags").and_then(Value::as_object).into_iter().flatten();
    let every: Vec<(&String, &Value)> =
        common.chain(own).chain(axes.iter().map(|(flag, value)| (flag, value))).collect();
    // The last that is said of a flag is the nearest to the run.
    for (flag, value) in every.into_iter().rev() {
        if OUTER.contains(&flag.as_str()) {
            return Err(complain(&format!("`{flag}` in the settings: it is said on the command line alone")));
        }
        if said.is_said(flag) || !seen.insert(flag) {
            continue;
        }
        flags.settings.insert(flag.clone(), value.clone());
        match value {
            Value::Array(values) if flag == "zone" || flag == "metadata" => {
                values.iter().try_for_each(|value| flags.say(flag, &text_of(value)))?;
            }
            _ => flags.say(flag, &text_of(value))?,
        }
    }
    Ok(flags)
}

/// A value as it would stand on the command line.
fn text_of(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(values) => values.iter().map(text_of).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests;
