//! One thing of a cloud as data: the words that make it, tell of it and remove it, and how the answer is read.
//!
//! A word may hold placeholders, `$NAME`, for what an earlier answer told ([`Read`]). No word of a user holds a `$`: that is
//! refused where it is read (`wanted`).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::answer;

/// Values of the answers so far, by the names of placeholders.
pub type Values = BTreeMap<String, String>;

/// A thing to make, or only to look up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resource {
    /// Its name within the run: `network`, `machine-3`.
    pub key: String,
    /// Name for people: `network sonde-x`.
    pub what: String,
    /// The keys of what has to be there before it.
    pub needs: Vec<String>,
    /// The words that make it. `None`: it is only looked up.
    pub create: Option<Vec<String>>,
    /// Search for it. It uses no placeholder that is read later than its creation.
    pub find: Find,
    /// The words that remove it, with placeholders of its own [`Find::reads`] alone. `None`: it goes with what it needs.
    pub delete: Option<Vec<String>>,
}

/// Search for a thing, and the values read of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Find {
    /// The words that tell of it.
    pub words: Vec<String>,
    /// The path that is there where the thing is; absent: it is there where the program does not say that it is not.
    pub present: Option<String>,
    /// The path of its state.
    pub state: Option<String>,
    /// The states in which it can be used; empty: in any.
    pub good: Vec<String>,
    /// The states in which it is as good as absent: what some vendors still tell of for hours.
    pub gone: Vec<String>,
    /// The states from which it never comes to a good one.
    pub bad: Vec<String>,
    /// Values that are read.
    pub reads: Vec<Read>,
    /// The words that tell why it does not come about, and the path of the reason.
    pub why: Option<(Vec<String>, String)>,
}

/// A value to be read out of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Read {
    /// The placeholder it is for.
    pub name: String,
    /// Path of the value (`answer`).
    pub path: String,
    /// Word to compare with, where given: the value read is `true` where the path has it, else `false`.
    pub is: Option<String>,
    /// True where the thing is good only where this is there.
    pub must: bool,
}

impl Read {
    /// A value that must be there.
    pub fn of(name: impl Into<String>, path: &str) -> Self {
        Self { name: name.into(), path: path.into(), is: None, must: true }
    }

    /// A value that is good to know.
    pub fn if_told(name: impl Into<String>, path: &str) -> Self {
        Self { must: false, ..Self::of(name, path) }
    }

    /// Reads `true` or `false`: the value is `is`, or not.
    pub fn whether(name: impl Into<String>, path: &str, is: &str) -> Self {
        Self { is: Some(is.into()), ..Self::if_told(name, path) }
    }
}

/// Condition of a thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// It is not there.
    Absent,
    /// It is there and not yet as it should be.
    Pending,
    /// It can be used.
    Good,
    /// It will never be good: its state.
    Bad(String),
}

impl Find {
    /// Words alone: the thing is there where the program knows it.
    pub fn by(words: Vec<String>) -> Self {
        Self { words, ..Self::default() }
    }

    /// Condition of the thing by an answer, and the values read. `None`: it has not the form that is known, so it does not
    /// even say that the thing is absent.
    pub fn judge(&self, answer: &Value) -> Option<(Condition, Values)> {
        let object = answer.as_object()?;
        if let Some(path) = &self.present {
            object.get(path.split('.').next()?)?;
            if answer::scalar(answer, path).is_none() {
                return Some((Condition::Absent, Values::new()));
            }
        }
        let read = self.reads.iter().filter_map(|read| {
            let value = answer::scalar(answer, &read.path)?;
            let value = read.is.as_ref().map_or(value.clone(), |is| (value == *is).to_string());
            Some((read.name.clone(), value))
        });
        let values: Values = read.collect();
        let state = self.state.as_ref().and_then(|path| answer::scalar(answer, path));
        let condition = match state {
            Some(state) if self.gone.contains(&state) => return Some((Condition::Absent, Values::new())),
            Some(state) if self.bad.contains(&state) => Condition::Bad(state),
            Some(state) if !self.good.is_empty() && !self.good.contains(&state) => Condition::Pending,
            None if !self.good.is_empty() => Condition::Pending,
            _ if self.reads.iter().any(|read| read.must && !values.contains_key(&read.name)) => Condition::Pending,
            _ => Condition::Good,
        };
        Some((condition, values))
    }
}

/// Words of a literal sentence and, as the last ones, `more`.
pub fn words(sentence: &str, more: &[&str]) -> Vec<String> {
    sentence.split_whitespace().chain(more.iter().copied()).map(str::to_owned).collect()
}

/// The words with every placeholder filled.
///
/// # Errors
/// The name of a placeholder that nothing told.
pub fn filled(words: &[String], values: &Values) -> Result<Vec<String>, String> {
    words.iter().map(|word| fill(word, values)).collect()
}

/// One word filled.
///
/// # Errors
/// As of [`filled`].
pub fn fill(word: &str, values: &Values) -> Result<String, String> {
    let mut whole = String::new();
    let mut rest = word;
    while let Some((before, behind)) = rest.split_once('$') {
        let length = behind.find(|letter: char| !is_name(letter)).unwrap_or(behind.len());
        let (name, after) = behind.split_at(length);
        whole.push_str(before);
        whole.push_str(values.get(name).ok_or_else(|| name.to_owned())?);
        rest = after;
    }
    whole.push_str(rest);
    Ok(whole)
}

/// The placeholders of a word.
pub fn placeholders(word: &str) -> impl Iterator<Item = &str> {
    word.split('$').skip(1).map(|behind| {
        let length = behind.find(|letter: char| !is_name(letter)).unwrap_or(behind.len());
        &behind[..length]
    })
}

fn is_name(letter: char) -> bool {
    letter.is_ascii_uppercase() || letter.is_ascii_digit() || letter == '_'
}

/// The resources by levels: each needs only what stands in earlier ones. A resource that needs one that does not exist, or
/// itself, would never come: such a list is a fault of ours, and those stand in no level.
pub fn levels<'a>(resources: impl Iterator<Item = &'a Resource>) -> Vec<Vec<String>> {
    let mut left: Vec<&Resource> = resources.collect();
    let mut done: Vec<String> = Vec::new();
    let mut levels = Vec::new();
    loop {
        let (now, later): (Vec<_>, Vec<_>) =
            left.into_iter().partition(|resource| resource.needs.iter().all(|need| done.contains(need)));
        if now.is_empty() {
            return levels;
        }
        let keys: Vec<String> = now.iter().map(|resource| resource.key.clone()).collect();
        done.extend(keys.iter().cloned());
        levels.push(keys);
        left = later;
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn values() -> Values {
        [("VPC_ID".to_owned(), "vpc-1".to_owned()), ("A".to_owned(), "x".to_owned())].into()
    }

    #[test]
    fn placeholders_are_filled() {
        assert_eq!(fill("Name=vpc-id,Values=$VPC_ID", &values()).as_deref(), Ok("Name=vpc-id,Values=vpc-1"));
        assert_eq!(fill("$A/$VPC_ID.", &values()).as_deref(), Ok("x/vpc-1."));
        assert_eq!(fill("$NONE", &values()), Err("NONE".to_owned()));
        assert_eq!(placeholders("a$A,$VPC_ID-").collect::<Vec<_>>(), ["A", "VPC_ID"]);
    }

    #[test]
    fn a_thing_is_judged_by_its_state_and_by_what_must_be_read() {
        let find = Find {
            present: Some("L.0.Id".into()),
            state: Some("L.0.State".into()),
            good: vec!["on".into()],
            bad: vec!["dead".into()],
            reads: vec![Read::of("ID", "L.0.Id"), Read::whether("ENA", "L.0.Ena", "true"), Read::of("IP", "L.0.Ip")],
            ..Find::default()
        };
        let judged = |answer| find.judge(&answer).unwrap();
        assert_eq!(judged(json!({"L": []})).0, Condition::Absent);
        for rubbish in [json!("rubbish"), json!(null), json!({}), json!([])] {
            assert_eq!(find.judge(&rubbish), None, "{rubbish} is no word of absence");
        }
        assert_eq!(judged(json!({"L": [{"Id": "i"}]})).0, Condition::Pending);
        assert_eq!(judged(json!({"L": [{"Id": "i", "State": "dead"}]})).0, Condition::Bad("dead".into()));
        let (condition, values) = judged(json!({"L": [{"Id": "i", "State": "on", "Ena": true}]}));
        assert_eq!((condition, &*values["ENA"]), (Condition::Pending, "true"), "without its address it is of no use");
        assert_eq!(judged(json!({"L": [{"Id": "i", "State": "on", "Ip": "10.0.0.1"}]})).0, Condition::Good);
    }

    #[test]
    fn levels_follow_needs() {
        let resource = |key: &str, needs: &[&str]| Resource {
            key: key.into(),
            what: key.into(),
            needs: needs.iter().map(ToString::to_string).collect(),
            create: None,
            find: Find::default(),
            delete: None,
        };
        let list = [resource("a", &[]), resource("c", &["b"]), resource("b", &["a"]), resource("d", &["a"])];
        assert_eq!(levels(list.iter()), [vec!["a"], vec!["b", "d"], vec!["c"]]);
        assert!(levels([resource("a", &["a"])].iter()).is_empty());
    }
}
