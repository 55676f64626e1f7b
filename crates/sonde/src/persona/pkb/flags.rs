//! PKB's flags, read as PKB reads them: `--name=value`, `--name value`, one dash or two, `--noname` of a switch, files of flags.
//!
//! Each flag has a [`Fate`]: it is heeded, it changes no number here, or it is refused with a reason. One that is none is refused
//! with the nearest that is. The parts of a run ask here by name; a flag that was not given is absent.

mod beside;
pub mod help;
pub mod kind;
mod nearest;
pub mod table;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value as Json};

use self::kind::{Fate, Flag, Kind, Value};
use crate::persona::answer::Answer;

/// Greatest depth to which files of flags may name each other.
const DEEPEST: usize = 8;

/// Reads a file of flags, or says why not.
pub type ReadFile<'a> = &'a dyn Fn(&str) -> Result<String, String>;

/// Flags of the command line and its files.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Flags {
    said: BTreeMap<&'static str, Value>,
    /// Notes for the reader on flags that were taken and do nothing here.
    pub notes: Vec<String>,
    /// Settings of a file for this run.
    pub settings: Map<String, Json>,
}

impl Flags {
    /// The flags in the words behind the program's name.
    ///
    /// # Errors
    /// A word that is no flag, a flag that is none or is not had here, a value it does not take.
    pub fn parse(words: &[String], read: ReadFile<'_>) -> Result<Self, Answer> {
        let mut reader = Reader { flags: Self::default(), undefined: Vec::new(), forgiven: BTreeSet::new(), read };
        reader.words(words, 0)?;
        let unforgiven = |name: &&String| !reader.forgiven.contains(name.as_str());
        if let Some(name) = reader.undefined.iter().find(unforgiven) {
            return Err(unknown(name));
        }
        Ok(reader.flags)
    }

    /// Says a flag, as the command line or a file of settings does.
    ///
    /// # Errors
    /// No such flag, one that is not had here, a value it does not take.
    pub fn say(&mut self, name: &str, text: &str) -> Result<(), Answer> {
        let flag = table::flag(name).ok_or_else(|| unknown(name))?;
        let value = flag.kind.read(text).map_err(|why| complain(&format!("--{name}={text}: {why}")))?;
        match flag.fate {
            Fate::Heeded(_) => {}
            Fate::Idle(why) => self.notes.push(format!("--{name}: {why}")),
            Fate::Refused { off, why } => {
                if !off.iter().any(|off| off.eq_ignore_ascii_case(text)) {
                    return Err(complain(&format!("--{name}={text}: {why}")));
                }
            }
        }
        let before = self.said.remove(flag.name).filter(|_| flag.kind.adds());
        self.said.insert(flag.name, before.map_or(value.clone(), |before| before.and(value)));
        Ok(())
    }

    /// Returns true where the flag was given.
    pub fn is_said(&self, name: &str) -> bool {
        self.said.contains_key(name)
    }

    /// Value of a switch.
    pub fn switch(&self, name: &str, otherwise: bool) -> bool {
        if let Some(Value::Switch(on)) = self.said.get(name) { *on } else { otherwise }
    }

    /// Value of a flag for a whole number; `None` for a negative one too.
    pub fn count(&self, name: &str) -> Option<u32> {
        let Some(Value::Integer(number)) = self.said.get(name) else { return None };
        u32::try_from(*number).ok()
    }

    /// Value of a flag for a number.
    pub fn number(&self, name: &str) -> Option<f64> {
        if let Some(Value::Number(number)) = self.said.get(name) { Some(*number) } else { None }
    }

    /// Value of a flag for a text or a choice.
    pub fn text(&self, name: &str) -> Option<&str> {
        if let Some(Value::Text(text)) = self.said.get(name) { Some(text) } else { None }
    }

    /// Value of a flag for words; none where none were given.
    pub fn list(&self, name: &str) -> &[String] {
        if let Some(Value::List(list)) = self.said.get(name) { list } else { &[] }
    }

    /// Value of a flag for whole numbers.
    pub fn integers(&self, name: &str) -> Option<&[u32]> {
        if let Some(Value::Integers(all)) = self.said.get(name) { Some(all) } else { None }
    }

    /// Value of a flag for numbers.
    pub fn numbers(&self, name: &str) -> Option<&[f64]> {
        if let Some(Value::Numbers(all)) = self.said.get(name) { Some(all) } else { None }
    }
}

/// Goes over words, and over files of them.
struct Reader<'a> {
    flags: Flags,
    /// Names that are no flags: they may be forgiven by a later word.
    undefined: Vec<String>,
    forgiven: BTreeSet<String>,
    read: ReadFile<'a>,
}

impl Reader<'_> {
    fn words(&mut self, words: &[String], depth: usize) -> Result<(), Answer> {
        let mut rest = words.iter();
        while let Some(word) = rest.next() {
            if word == "--" {
                return rest.next().map_or(Ok(()), |word| Err(no_flag(word)));
            }
            let named = word.strip_prefix("--").or_else(|| word.strip_prefix('-')).filter(|name| !name.is_empty());
            let named = named.ok_or_else(|| no_flag(word))?;
            let (name, glued) = named.split_once('=').map_or((named, None), |(name, value)| (name, Some(value)));
            self.flag(name, glued, &mut rest, depth)?;
        }
        Ok(())
    }

    fn flag(
        &mut self,
        name: &str,
        glued: Option<&str>,
        rest: &mut std::slice::Iter<'_, String>,
        depth: usize,
    ) -> Result<(), Answer> {
        let mut value = |kind: Kind| match (glued, kind) {
            (Some(text), _) => Ok(text.to_owned()),
            (None, Kind::Switch) => Ok("true".to_owned()),
            (None, _) => rest.next().cloned().ok_or_else(|| complain(&format!("Missing value for flag --{name}"))),
        };
        match name {
            "flagfile" => {
                let path = value(Kind::Text)?;
                self.file(&path, depth)
            }
            "undefok" => {
                let names = value(Kind::List)?;
                let names = names.split(',').map(|name| name.trim().trim_start_matches('-').to_owned());
                self.forgiven.extend(names);
                Ok(())
            }
            _ => match (table::flag(name), opposite(name)) {
                (Some(flag), _) => {
                    let text = value(flag.kind)?;
                    self.flags.say(name, &text)
                }
                (None, Some(flag)) if glued.is_none() => self.flags.say(flag.name, "false"),
                _ => {
                    self.undefined.push(name.to_owned());
                    Ok(())
                }
            },
        }
    }

    /// A flag a line; lines that begin with `#` or `//` are remarks.
    fn file(&mut self, path: &str, depth: usize) -> Result<(), Answer> {
        if depth >= DEEPEST {
            return Err(complain(&format!(
                "--flagfile={path}: files of flags name each other more than {DEEPEST} deep"
            )));
        }
        let text = (self.read)(path).map_err(|why| complain(&format!("--flagfile={path}: {why}")))?;
        let is_remark = |line: &&str| line.is_empty() || line.starts_with('#') || line.starts_with("//");
        let lines: Vec<String> =
            text.lines().map(str::trim).filter(|line| !is_remark(line)).map(str::to_owned).collect();
        self.words(&lines, depth + 1)
    }
}

/// The switch of which `name` is the opposite.
fn opposite(name: &str) -> Option<&'static Flag> {
    table::flag(name.strip_prefix("no")?).filter(|flag| flag.kind == Kind::Switch)
}

fn no_flag(word: &str) -> Answer {
    complain(&format!("`{word}` is no flag: all is said by flags here, as --benchmarks=netperf"))
}

fn unknown(name: &str) -> Answer {
    let known = table::all().map(|flag| flag.name).chain(["flagfile", "undefok"]);
    let meant = match nearest::nearest(name, known).as_slice() {
        [] => String::new(),
        names => format!(" Did you mean: {} ?", names.join(", ")),
    };
    complain(&format!("Unknown command line flag '{name}'.{meant}\npkb: the flags there are: sonde pkb --help"))
}

/// Complaint about a fault, with the status that PKB gives it.
pub fn complain(what: &str) -> Answer {
    Answer::complaint(format!("pkb: {what}\n"))
}
