//! Profiles: options of the configuration file, put in front of those of the command line.
//!
//! `--profile NAME` becomes the options of its table, each by its own name, and is gone before the words are parsed. So what a profile
//! says is read, refused and recorded as if it had been typed, and nothing that `sonde` starts applies it again.

use std::ffi::OsString;
use std::ops::Range;
use std::path::{Path, PathBuf};

use clap::Arg;
use etcetera::base_strategy::{BaseStrategy, Xdg};
use logbook::plan::PlanError;
use logbook::whole;
use report::markup::visible as escaped;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::command::argv::{first_word, nearest};
use crate::command::study::argv::TAKING_OPTIONS;
use crate::command::study::words::{Table, says_as_much};
use crate::exit::Exit;
use crate::failure::Failure;

/// The option that names a profile.
const OPTION: &str = "--profile";
/// Command whose own `--profile` names an account of a cloud.
const LAB: &str = "lab";
/// The command that a host in place of one stands for.
const BARE: &str = "look";

/// A command line in which no profile is left.
#[derive(Debug, PartialEq, Eq)]
pub struct Applied {
    /// The words.
    pub argv: Vec<OsString>,
    /// The words that the profile put in, for whoever asks where a word comes from; absent where there was none.
    pub told: Option<String>,
    /// Its options that this command has not.
    pub left_out: Option<String>,
}

/// `command` with the option that names a profile, where that is ours to take. It is gone before the words are parsed; what is left is
/// the help, and a name that is missing.
pub fn offered(command: clap::Command) -> clap::Command {
    if command.is_hide_set() || command.get_name() == LAB {
        return command;
    }
    let help =
        "Use the options of [profile.NAME] in the configuration file; the command line wins (`sonde help profiles`)";
    command.arg(Arg::new("profile").long("profile").value_name("NAME").help_heading("Everywhere").help(help))
}

/// The configuration file of the user, which need not be there; `None` where there is no home.
pub fn file() -> Option<PathBuf> {
    Some(Xdg::new().ok()?.config_dir().join("sonde/config.toml"))
}

/// `argv` with the options of the profile that it names, as `file` has them.
///
/// # Errors
/// A file that cannot be read, a profile that is not in it, a key that is no option, a value of another kind than its option takes.
pub fn applied(argv: Vec<OsString>, definition: &clap::Command, file: Option<&Path>) -> Result<Applied, Failure> {
    if first_word(&argv).is_some_and(|place| argv[place] == LAB) {
        return Ok(Applied { argv, told: None, left_out: None });
    }
    let (mut argv, name) = apart(argv);
    let (Some(profile), Some(place)) = (name, first_word(&argv)) else {
        return Ok(Applied { argv, told: None, left_out: None });
    };
    let missing = |what: String| {
        Failure::usage(what).hint(format!("write [profile.{}] there: `sonde help profiles`", escaped(&profile)))
    };
    let Some(file) = file else {
        return Err(missing(format!("--profile {}: there is no home directory with profiles", escaped(&profile))));
    };
    let path = escaped(&file.display().to_string());
    let text = whole::text(file, whole::BY_HAND)
        .map_err(|error| missing(format!("--profile {}: cannot read {path}: {error}", escaped(&profile))))?;
    let found = Config { text: &text, path: &path, definition }.profile(&profile)?;
    let command = Command::of(argv[place].to_str().unwrap_or_default(), definition);
    let said = command.said(&argv[place + 1..]);
    let (mut words, mut left_out) = (Vec::new(), Vec::new());
    for Entry { name, values } in found {
        match command.takes(&name) {
            _ if said.iter().any(|own| says_as_much(own, &name)) => {}
            true => words.extend(values.into_iter().map(|value| match value {
                Some(value) => format!("{name}={value}"),
                None => name.clone(),
            })),
            false => left_out.push(name),
        }
    }
    let told = format!("profile {} of {path}: {}", escaped(&profile), escaped(&words.join(" ")));
    let left_out = (!left_out.is_empty())
        .then(|| format!("profile {}: {} has no {}", escaped(&profile), command.name, left_out.join(", ")));
    let behind = argv.split_off(place + 1);
    argv.extend(words.into_iter().map(OsString::from).chain(behind));
    Ok(Applied { argv, told: Some(told), left_out })
}

/// The words without those that name a profile, and the last one named. A name that is missing is for the parser to say.
fn apart(argv: Vec<OsString>) -> (Vec<OsString>, Option<String>) {
    let (mut kept, mut name) = (Vec::with_capacity(argv.len()), None);
    let mut words = argv.into_iter();
    while let Some(word) = words.next() {
        let attached = word.to_str().and_then(|word| word.strip_prefix(OPTION)?.strip_prefix('='));
        match attached {
            Some(attached) => name = Some(attached.to_owned()),
            None if word == "--" => {
                kept.push(word);
                kept.extend(words.by_ref());
            }
            None if word == OPTION => match words.next() {
                Some(next) => name = Some(next.to_string_lossy().into_owned()),
                None => kept.push(word),
            },
            None => kept.push(word),
        }
    }
    (kept, name)
}

/// A command and the options it takes.
struct Command {
    name: String,
    tables: Vec<Table>,
}

impl Command {
    fn of(word: &str, definition: &clap::Command) -> Self {
        let name = if definition.find_subcommand(word).is_some() { word } else { BARE };
        let mut tables = vec![Table::within(definition, name)];
        if TAKING_OPTIONS.contains(&name) {
            tables.push(Table::of_measuring());
        }
        Self { name: name.to_owned(), tables }
    }

    fn named(&self, token: &str) -> Option<(&str, bool)> {
        self.tables.iter().find_map(|table| table.named(token))
    }

    fn takes(&self, name: &str) -> bool {
        self.named(name).is_some()
    }

    /// The options that `words` say, by the names that are kept.
    fn said(&self, words: &[OsString]) -> Vec<String> {
        let mut said = Vec::new();
        let mut words = words.iter().map(|word| word.to_string_lossy());
        while let Some(word) = words.next() {
            let Some((name, _)) = self.named(&word).filter(|_| word.starts_with('-')) else { continue };
            said.push(name.to_owned());
            if self.tables.iter().find_map(|table| table.takes_next(&word)) == Some(true) {
                words.next();
            }
        }
        said
    }
}

/// An option of a profile: its name with the dashes, and each of its values; `None` for a flag.
#[derive(Debug, PartialEq)]
struct Entry {
    name: String,
    values: Vec<Option<String>>,
}

/// The configuration file.
struct Config<'a> {
    text: &'a str,
    path: &'a str,
    definition: &'a clap::Command,
}

impl Config<'_> {
    /// The options of one profile.
    fn profile(&self, name: &str) -> Result<Vec<Entry>, Failure> {
        let document = DeTable::parse(self.text).map_err(|error| {
            let hint = "write it as [profile.NAME] and a line for each option: time = \"10s\"";
            self.fault(error.span().unwrap_or(0..0), error.message().trim().replace('\n', ", "), hint.to_owned())
        })?;
        let mut profiles = None;
        for (key, value) in document.get_ref() {
            if key.get_ref() != "profile" {
                let what = format!("unknown key `{}`", escaped(key.get_ref()));
                return Err(self.fault(key.span(), what, "only [profile.NAME] stands here".to_owned()));
            }
            profiles = Some(self.table(value)?);
        }
        let known = || profiles.into_iter().flatten().map(|(name, _)| name.get_ref().as_ref());
        let Some((_, table)) = profiles.into_iter().flatten().find(|(known, _)| known.get_ref() == name) else {
            let what = format!("{}: there is no profile `{}`", self.path, escaped(name));
            let hint = match nearest(name, known()) {
                Some(near) => format!("--profile {}", escaped(near)),
                None if known().next().is_none() => format!("write [profile.{}] there", escaped(name)),
                None => format!("one of: {}", escaped(&known().collect::<Vec<_>>().join(", "))),
            };
            return Err(Failure::usage(what).hint(hint).about(self.path));
        };
        self.table(table)?.iter().map(|(key, value)| self.entry(key.get_ref(), key.span(), value)).collect()
    }

    fn table<'t, 'i>(&self, value: &'t Spanned<DeValue<'i>>) -> Result<&'t DeTable<'i>, Failure> {
        value.get_ref().as_table().ok_or_else(|| {
            let hint = "write it as [profile.NAME] and a line for each option: time = \"10s\"";
            self.fault(value.span(), "this is not a table".to_owned(), hint.to_owned())
        })
    }

    /// One line: an option by its long name, and its value or values.
    fn entry(&self, key: &str, at: Range<usize>, value: &Spanned<DeValue<'_>>) -> Result<Entry, Failure> {
        let commands = self.definition.get_subcommands();
        let all: Vec<Table> = commands.map(|command| Table::within(self.definition, command.get_name())).collect();
        let written = format!("--{key}");
        let found = all.iter().find_map(|table| table.named(&written)).filter(|(name, _)| *name != OPTION);
        let Some((name, takes)) = found.filter(|_| !key.contains('=')) else {
            let names = all.iter().flat_map(Table::names).filter_map(|name| name.strip_prefix("--"));
            let what = format!("unknown key `{}`", escaped(key));
            let hint = match nearest(key, names.filter(|name| *name != "profile")) {
                Some(near) => format!("write `{near}`"),
                None => "a key is an option's name without its dashes: `sonde rtt --help`".to_owned(),
            };
            return Err(self.fault(at, what, hint));
        };
        let one = |value: &Spanned<DeValue<'_>>| {
            let text = match value.get_ref() {
                DeValue::String(text) => Some(text.to_string()),
                DeValue::Integer(number) => Some(number.to_string()),
                DeValue::Float(number) => Some(number.to_string()),
                _ => None,
            };
            text.map(Some).ok_or_else(|| {
                let what = format!("`{}` takes a text or a number", escaped(key));
                self.fault(value.span(), what, format!("write {} = \"VALUE\"", escaped(key)))
            })
        };
        let values = match value.get_ref() {
            DeValue::Boolean(true) if !takes => vec![None],
            DeValue::Boolean(false) if !takes => Vec::new(),
            _ if !takes => {
                let what = format!("`{}` takes no value", escaped(key));
                return Err(self.fault(value.span(), what, format!("write {} = true", escaped(key))));
            }
            DeValue::Array(values) => values.iter().map(one).collect::<Result<_, _>>()?,
            _ => vec![one(value)?],
        };
        Ok(Entry { name: name.to_owned(), values })
    }

    fn fault(&self, at: Range<usize>, what: String, hint: String) -> Failure {
        let error = PlanError::at(self.text, self.path, at, what, hint);
        Failure { exit: Exit::Usage, usage: None, told: error.into() }
    }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    const CONFIG: &str = "\
[profile.db]
protocol = \"udp\"
time = \"10s\"
size = 100
json = true
quiet = false
output = [\"a.json\", \"b.csv\"]

[profile.many]
streams = 4
";

    fn expanded(line: &str, config: &str) -> Result<Applied, Failure> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.toml");
        std::fs::write(&file, config).unwrap();
        let argv = std::iter::once("sonde").chain(line.split(' ')).map(OsString::from).collect();
        applied(argv, &crate::cli::definition(), Some(&file))
    }

    fn words(line: &str) -> String {
        let argv = expanded(line, CONFIG).unwrap().argv;
        let words: Vec<&str> = argv[1..].iter().map(|word| word.to_str().unwrap()).collect();
        words.join(" ")
    }

    const ALL: &str = "--json --output=a.json --output=b.csv --protocol=udp --size=100 --time=10s";

    #[test_case("rtt db1", "rtt db1"; "no profile")]
    #[test_case("rtt db1 --profile db", &format!("rtt {ALL} db1"); "behind the host")]
    #[test_case("--profile=db rtt db1", &format!("rtt {ALL} db1"); "before the command")]
    #[test_case("rtt --profile db db1 -t 3", &format!("rtt {} db1 -t 3", ALL.trim_end_matches(" --time=10s")); "the command line wins")]
    #[test_case("rtt db1 --profile db --tcp", &format!("rtt {} db1 --tcp", ALL.replace(" --protocol=udp", "")); "on the whole setting")]
    #[test_case("rtt --profile db db1 -- --profile x", &format!("rtt {ALL} db1 -- --profile x"); "not behind the end of options")]
    #[test_case("rtt db1 --profile many", "rtt db1"; "what the command has not")]
    #[test_case("lab up --profile db", "lab up --profile db"; "a cloud's account")]
    #[test_case("why db1 --profile many", "why --streams=4 db1"; "of a study's measuring command")]
    fn a_profile_is_its_options(line: &str, expected: &str) {
        assert_eq!(words(line), expected);
    }

    #[test]
    fn what_a_command_has_not_is_told() {
        let found = expanded("rtt db1 --profile many", CONFIG).unwrap();
        assert_eq!(found.left_out.as_deref(), Some("profile many: rtt has no --streams"));
        assert!(found.told.unwrap().starts_with("profile many of "));
        assert_eq!(expanded("rtt db1", CONFIG).unwrap().told, None);
    }

    #[test_case("[profile.db]\ntimes = 3", "line 2, column 1: unknown key `times`", "write `time`"; "a typing error")]
    #[test_case("[profile.db]\nprofile = \"x\"", "line 2, column 1: unknown key `profile`", "--help"; "a profile in a profile")]
    #[test_case("[profile.db]\n\"a\\u001b[31mb\" = 1", "unknown key `a␛[31mb`", "--help"; "control characters")]
    #[test_case("[profile.db]\njson = 3", "line 2, column 8: `json` takes no value", "write json = true"; "a flag with a value")]
    #[test_case("[profile.db]\ntime = true", "line 2, column 8: `time` takes a text", "write time = "; "a value that is a flag")]
    #[test_case("[profile.db]\ntime = {}", "line 2, column 8: `time` takes a text", "write time = "; "a table")]
    #[test_case("[profiles.db]\ntime = 3", "line 1, column 2: unknown key `profiles`", "[profile.NAME]"; "another table")]
    #[test_case("profile = 3", "line 1, column 11: this is not a table", "[profile.NAME]"; "no table")]
    #[test_case("[profile.db\n", "line 1", "[profile.NAME]"; "no TOML")]
    #[test_case("[profile.bd]\n", "there is no profile `db`", "--profile bd"; "a profile with a typing error")]
    #[test_case("[profile.other]\n", "there is no profile `db`", "one of: other"; "another profile")]
    #[test_case("", "there is no profile `db`", "write [profile.db]"; "nothing")]
    fn what_is_wrong_is_named_with_its_line(config: &str, what: &str, hint: &str) {
        let failure = expanded("rtt db1 --profile db", config).unwrap_err();
        assert!(failure.told.what.contains(what) && failure.told.what.contains("config.toml"), "{}", failure.told.what);
        assert!(failure.told.hint.as_ref().is_some_and(|said| said.contains(hint)), "{:?}", failure.told.hint);
        let narrow = failure.lines(&report::layout::Style { width: 40, ..report::layout::Style::default() });
        let path = failure.told.to_whom.unwrap_or_default().len();
        assert!(narrow.lines().all(|line| line.chars().count() <= 40.max(path + 10)), "{narrow}");
    }

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let argv: Vec<OsString> = ["sonde", "rtt", "--profile", "a\u{1b}b"].map(OsString::from).to_vec();
        let failure = applied(argv, &crate::cli::definition(), Some(Path::new("/nowhere/config.toml"))).unwrap_err();
        assert!(failure.told.what.contains("--profile a␛b: cannot read /nowhere/config.toml"), "{}", failure.told.what);
    }
}
