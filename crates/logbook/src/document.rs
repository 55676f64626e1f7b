//! Start of every document of ours, the name and version of its form, and the trait by which one is written.
//!
//! A form is named once, by [`Form`]; a document of it has a [`Mark`], or, where it is of a measurement, a whole [`Head`]. A new
//! optional field leaves a form's version as it is, for readers pass over what they do not know; anything else (a field
//! renamed, retyped, removed, a further value of an enumeration) raises it.
//!
//! Not here: reading text that may be none of ours ([`crate::read`]).

use std::marker::PhantomData;

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use uuid::Uuid;

use crate::moment::Moment;

/// A form of documents.
pub trait Form: Serialize + DeserializeOwned {
    /// Its name, which stands in each.
    const FORMAT: &'static str;
    /// Short name of the form, as `search`.
    const NAME: &'static str;
    /// The version that is written and the last that is read, a count from 1.
    const VERSION: u32 = 1;

    /// As one JSON document, indented, with a line end.
    ///
    /// # Errors
    /// A number in it that JSON has no word for, as NaN, so that the document could not be read again.
    fn to_json(&self) -> Result<String, Unwritable> {
        let unwritable = |fault: serde_json::Error| Unwritable { what: Self::NAME, reason: fault.to_string() };
        let text = serde_json::to_string(self).map_err(unwritable)?;
        serde_json::from_str::<Self>(&text).map_err(unwritable)?;
        Ok(indented(&text) + "\n")
    }
}

/// JSON without blanks as `serde_json` indents it, whose own writer would have each document's types compiled once more.
fn indented(text: &str) -> String {
    let mut into = String::with_capacity(2 * text.len());
    let (mut depth, mut is_string, mut is_escaped, mut is_empty) = (0_usize, false, false, false);
    let line = |into: &mut String, depth: usize| {
        into.push('\n');
        into.extend(std::iter::repeat_n("  ", depth));
    };
    for letter in text.chars() {
        if is_string {
            is_string = is_escaped || letter != '"';
            is_escaped = !is_escaped && letter == '\\';
            into.push(letter);
            continue;
        }
        if matches!(letter, '}' | ']') {
            depth = depth.saturating_sub(1);
        }
        // Nothing stands between the brackets of what is empty.
        if matches!(letter, '}' | ']') != is_empty {
            line(&mut into, depth);
        }
        into.push(letter);
        is_empty = matches!(letter, '{' | '[');
        match letter {
            '"' => is_string = true,
            '{' | '[' => depth += 1,
            ':' => into.push(' '),
            ',' => line(&mut into, depth),
            _ => {}
        }
    }
    into
}

/// A document that would not be read again as it is. A fault of ours, never of the network's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the {what} cannot be written as JSON: {reason}")]
pub struct Unwritable {
    /// Name of the form, as `record`.
    pub what: &'static str,
    /// Reason for which the form cannot be written.
    pub reason: String,
}

/// The name and version of the form `T`, as they stand in a document of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark<T>(PhantomData<T>);

/// Start of a document of a measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(bound = "T: Form")]
#[cfg_attr(feature = "schema", schemars(bound = "T: Form"))]
pub struct Head<T> {
    /// Its form.
    #[serde(flatten)]
    pub mark: Mark<T>,
    /// Its name: a UUID of version 7, so that names sort by time. A record within another document has its own.
    #[cfg_attr(feature = "schema", schemars(with = "String", extend("format" = "uuid")))]
    pub id: Uuid,
    /// The program that made it.
    pub tool: Tool,
    /// The command line as given, the program's name first.
    pub command: Vec<String>,
    /// Start of the measurement.
    pub started: Moment,
}

impl<T> Head<T> {
    /// That of a document of this name, made by `tool` for `command`.
    pub fn new(id: Uuid, tool: Tool, command: Vec<String>, started: Moment) -> Self {
        Self { mark: Mark::default(), id, tool, command, started }
    }
}

/// A [`Mark`] in words.
#[derive(Serialize, Deserialize)]
struct Words {
    format: String,
    version: u32,
}

impl<T> Default for Mark<T> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<T: Form> Serialize for Mark<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Words { format: T::FORMAT.to_owned(), version: T::VERSION }.serialize(serializer)
    }
}

impl<'de, T: Form> Deserialize<'de> for Mark<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Words { format, version } = Words::deserialize(deserializer)?;
        let (what, newest) = (T::NAME, T::VERSION);
        if format != T::FORMAT {
            return Err(D::Error::custom(format_args!("`{format}` is no {what}")));
        }
        match version {
            0 => Err(D::Error::custom(format_args!("there is no {what} of version 0"))),
            version if version > newest => Err(D::Error::custom(format_args!(
                "a {what} of version {version} is newer than this program, which reads up to {newest}"
            ))),
            _ => Ok(Self::default()),
        }
    }
}

#[cfg(feature = "schema")]
impl<T: Form> schemars::JsonSchema for Mark<T> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        T::FORMAT.into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "object",
            "properties": {
                "format": { "description": "The name of this form.", "type": "string", "const": T::FORMAT },
                "version": {
                    "description": "Version of this form, a count from 1.",
                    "type": "integer", "format": "uint32", "minimum": 0,
                },
            },
            "required": ["format", "version"],
        })
    }
}

/// A program by name and version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::fixture;

    #[test]
    fn documents_are_indented_as_the_library_indents_them() {
        let odd = json!({ "a": [], "b": {}, "c": [[], [{}], ["x,{\"[:\\", "\\"]], "d": { "e": -1.5e-7, "f": null } });
        let records = [fixture::record(), fixture::stream()].map(|record| serde_json::to_value(record).unwrap());
        for value in [odd, json!([]), json!(3), json!("{[")].into_iter().chain(records) {
            let text = serde_json::to_string(&value).unwrap();
            assert_eq!(indented(&text), serde_json::to_string_pretty(&value).unwrap());
            assert_eq!(serde_json::from_str::<Value>(&indented(&text)).unwrap(), value);
        }
    }
}
