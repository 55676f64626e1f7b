//! Why a command could not do what it was asked for: what happened, to whom, on whose side, what to try.
//!
//! Every error of a library ends as a [`Failure`], which [`crate::output`] prints as text or as a JSON document.

use serde_json::{Map, Value, json};

use crate::exit::Exit;

/// The end of a command that could not do its work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The exit status that goes with it.
    pub exit: Exit,
    /// What happened, on one line, without a full stop.
    pub what: String,
    /// What to try.
    pub hint: Option<String>,
    /// How the command is used, where that is the question.
    pub usage: Option<String>,
    /// To whom it happened: the peer's address, where there was one.
    pub peer: Option<String>,
    /// On whose side: `ours`, `theirs` or `path`.
    pub side: Option<&'static str>,
}

impl Failure {
    /// A fault of the command line, a file or a permission: exit status 2.
    pub fn usage(what: impl Into<String>) -> Self {
        Self { exit: Exit::Usage, what: what.into(), hint: None, usage: None, peer: None, side: None }
    }

    /// The same with what to try.
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// The lines for a person.
    pub fn text(&self) -> String {
        let mut text = format!("error: {}\n", self.what);
        if let Some(hint) = &self.hint {
            text.push_str(&format!("hint:  {hint}\n"));
        }
        if let Some(usage) = &self.usage {
            text.push_str(&format!("\n{usage}\n"));
        }
        text
    }

    /// The document for a program: one object with the one key `error`.
    pub fn document(&self) -> Value {
        json!({ "error": self.data() })
    }

    /// The same as an event of `--json-lines`.
    pub fn event(&self) -> Value {
        json!({ "event": "error", "data": self.data() })
    }

    fn data(&self) -> Value {
        let mut data = Map::new();
        data.insert("what".into(), json!(self.what));
        for (key, value) in [("hint", self.hint.as_deref()), ("peer", self.peer.as_deref()), ("side", self.side)] {
            if let Some(value) = value {
                data.insert(key.into(), json!(value));
            }
        }
        data.insert("exit_code".into(), json!(self.exit.code()));
        Value::Object(data)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_document_say_the_same() {
        let failure = Failure::usage("no such thing").hint("take another");
        assert_eq!(failure.text(), "error: no such thing\nhint:  take another\n");
        let document = failure.document();
        assert_eq!(document["error"]["what"], "no such thing");
        assert_eq!(document["error"]["hint"], "take another");
        assert_eq!(document["error"]["exit_code"], 2);
        assert!(document["error"].get("peer").is_none());
    }
}
