//! Facts of a command line beside its parsing: whether a program reads the answer, whether it names a host in place of a
//! command, and what was meant by one that is none.

use std::ffi::{OsStr, OsString};

use anstream::ColorChoice;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use report::shell;

use crate::command::foreign;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;
use crate::{masking, program};

/// The facts that a glance at the words tells before, and even if, they parse.
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "each stands for an option of its own")]
pub struct Glance {
    /// A JSON document is expected.
    pub json: bool,
    /// JSON lines are expected.
    pub json_lines: bool,
    /// Nothing but results and errors is to be said.
    pub quiet: bool,
    /// Details are asked for.
    pub verbose: bool,
    /// The colours asked for.
    pub color: ColorChoice,
}

impl Glance {
    /// Looks through the words up to `--`.
    pub fn at(argv: &[OsString]) -> Self {
        let words: Vec<&str> =
            argv.iter().skip(1).map(|w| w.to_str().unwrap_or("")).take_while(|w| *w != "--").collect();
        let color = words.iter().enumerate().find_map(|(at, word)| match word.strip_prefix("--color") {
            Some("") => words.get(at + 1).copied(),
            Some(value) => value.strip_prefix('='),
            None => None,
        });
        Self {
            json: words.iter().any(|w| *w == "--json" || has_short_j(w)),
            json_lines: words.contains(&"--json-lines"),
            quiet: words.contains(&"--quiet") || words.contains(&"-q"),
            verbose: words.iter().any(|w| ["--verbose", "-v", "-vV", "-Vv"].contains(w)),
            color: color_named(color.unwrap_or("auto")),
        }
    }
}

/// True where a bundle of short options holds `J`, before one that takes the rest as its value.
fn has_short_j(word: &str) -> bool {
    let bundle = word.strip_prefix('-').filter(|rest| !rest.starts_with('-')).unwrap_or("");
    bundle.chars().take_while(|c| !matches!(c, 't' | 'c' | 'o')).any(|c| c == 'J')
}

fn color_named(name: &str) -> ColorChoice {
    match name {
        "always" => ColorChoice::Always,
        "never" => ColorChoice::Never,
        _ => ColorChoice::Auto,
    }
}

/// Reads `auto`, `always` or `never`.
pub fn colors() -> impl TypedValueParser<Value = ColorChoice> {
    PossibleValuesParser::new(["auto", "always", "never"]).map(|name| color_named(&name))
}

/// The command that a bare host stands for.
const LOOK: &str = "look";

/// A command line that names a host where a command might stand: `sonde db1` is `sonde look db1`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bare {
    /// The whole line with the command that was meant.
    pub argv: Vec<OsString>,
    /// The word that is no command.
    pub word: String,
}

impl Bare {
    /// `None` where a command is named, or nothing.
    pub fn at(argv: &[OsString], definition: &clap::Command) -> Option<Self> {
        let place = first_word(argv)?;
        let word = argv[place].to_str()?.to_owned();
        let known = definition
            .get_subcommands()
            .any(|command| command.get_name() == word || command.get_all_aliases().any(|alias| alias == word));
        if known {
            return None;
        }
        let (program, rest) = argv.split_first()?;
        let argv = [program.clone(), LOOK.into()].into_iter().chain(rest.iter().cloned()).collect();
        Some(Self { argv, word })
    }

    /// True where the word is more likely a command with a typing error than a host.
    pub fn is_mistyped(&self, definition: &clap::Command) -> bool {
        !looks_like_host(&self.word) && self.nearest(definition).is_some()
    }

    /// The command that the word resembles.
    pub fn nearest(&self, definition: &clap::Command) -> Option<String> {
        let shown = definition.get_subcommands().filter(|command| !command.is_hide_set());
        let names = shown.map(clap::Command::get_name);
        nearest(&self.word, names).map(str::to_owned)
    }
}

/// The place of the first word that is no option, and no value of one that stands before every command.
pub fn first_word(argv: &[OsString]) -> Option<usize> {
    let mut place = 1;
    while let Some(word) = argv.get(place) {
        match word.to_str() {
            Some("--") => return None,
            Some("--color" | "--profile") => place += 2,
            Some(option) if option.starts_with('-') => place += 1,
            _ => return Some(place),
        }
    }
    None
}

/// The name that was meant by a word with a typing error, whatever the case of its letters.
pub fn nearest<'a>(word: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let near = names.map(|name| (distance(&word.to_lowercase(), &name.to_lowercase()), name));
    near.filter(|(errors, name)| *errors <= 1 + name.len() / 5).min().map(|(_, name)| name)
}

/// The number of letters that have to be added, left out, exchanged or swapped with the next to make one word of the other.
fn distance(one: &str, other: &str) -> usize {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let mut rows = vec![(0..=other.len()).collect::<Vec<usize>>()];
    for i in 1..=one.len() {
        let mut row = vec![i];
        for j in 1..=other.len() {
            let exchanged = rows[i - 1][j - 1] + usize::from(one[i - 1] != other[j - 1]);
            let mut least = exchanged.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[one.len()][other.len()]
}

/// Answers a command line that asks for help or the version (`verbose`: with all that it was built from), or is none of ours.
///
/// # Errors
/// The failure to tell, where it was no question for help.
pub fn answer(error: &clap::Error, verbose: bool, output: &Output) -> Result<Exit, Failure> {
    if verbose && error.kind() == ErrorKind::DisplayVersion {
        output.result(&program::built());
        return Ok(Exit::Done);
    }
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        // Help is all ours: it repeats nothing of the command line.
        let help = output.style().say(&error.render().ansi().to_string());
        output.result(&report::markup::sealed(&help));
        return Ok(Exit::Done);
    }
    Err(failure(error))
}

/// The error for a command line that is none of ours.
pub fn failure(error: &clap::Error) -> Failure {
    let mut failure = of_clap(&rendered(error));
    if is_far_fetched(error) {
        failure.told.hint = failure.usage.as_deref().and_then(listed_by);
    }
    if let Some(hint) = what_was_meant(error) {
        failure.told.hint = Some(hint);
    }
    failure
}

/// Clap's message, in which a URL has no password, whatever signs that has.
fn rendered(error: &clap::Error) -> String {
    let text = error.render().to_string();
    match error.get(ContextKind::InvalidValue) {
        Some(ContextValue::String(value)) => text.replace(value.as_str(), &masking::word(value)),
        _ => text,
    }
}

/// Takes clap's message apart: `error: …`, tips, `Usage: …`.
fn of_clap(text: &str) -> Failure {
    let mut parts = text.trim_end().split("\n\n");
    let what = parts.next().unwrap_or_default().trim_start_matches("error: ").to_owned();
    let mut failure = Failure::usage(what);
    for part in parts {
        if part.starts_with("Usage:") {
            failure.usage = Some(part.to_owned());
        } else if let Some(tip) = part.trim_start().strip_prefix("tip: ") {
            failure.told.hint = Some(tip.to_owned());
        }
    }
    failure
}

/// True where clap offers an option in place of an unknown one that nobody means by it, as `--quiet` for `--budget`.
fn is_far_fetched(error: &clap::Error) -> bool {
    let (Some(ContextValue::String(word)), Some(ContextValue::String(offered))) =
        (error.get(ContextKind::InvalidArg), error.get(ContextKind::SuggestedArg))
    else {
        return false;
    };
    let is_near = offered.starts_with(word) || nearest(word, std::iter::once(offered.as_str())).is_some();
    error.kind() == ErrorKind::UnknownArgument && !is_near
}

/// `sonde load --help lists its options`, of a usage that begins with `Usage: sonde load`.
fn listed_by(usage: &str) -> Option<String> {
    let words = usage.strip_prefix("Usage: ")?.split_whitespace();
    let command: Vec<&str> = words.take_while(|word| !word.starts_with(['-', '<', '['])).collect();
    Some(format!("{} --help lists its options", command.join(" ")))
}

fn what_was_meant(error: &clap::Error) -> Option<String> {
    let told = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    match error.kind() {
        ErrorKind::UnknownArgument if is_for_sides(error) => {
            Some("begin a side of options with its command: 'rtt --udp'".to_owned())
        }
        ErrorKind::UnknownArgument => foreign::ours_for(told(ContextKind::InvalidArg)?).map(str::to_owned),
        ErrorKind::ValueValidation => {
            let (option, value) = (told(ContextKind::InvalidArg)?, told(ContextKind::InvalidValue)?);
            (option.starts_with("--count") && looks_like_host(value))
                .then(|| format!("sonde rtt {} (-c is a count here; the host is an argument)", shell::word(value)))
        }
        _ => None,
    }
}

/// True where the words went to a command that takes measuring commands as its arguments.
fn is_for_sides(error: &clap::Error) -> bool {
    error.render().to_string().contains("Usage: sonde compare")
}

fn looks_like_host(word: &str) -> bool {
    OsStr::new(word) == "localhost" || word.contains(['.', ':'])
}

#[cfg(test)]
mod tests {
    use super::*;
    use test_case::test_case;

    #[test_case(&["rtt", "-J"], true, false; "short")]
    #[test_case(&["rtt", "-4J", "db1"], true, false; "in a bundle")]
    #[test_case(&["rtt", "--json"], true, false; "long")]
    #[test_case(&["rtt", "--json-lines"], false, true; "lines")]
    #[test_case(&["rtt", "-oJ"], false, false; "a file called J")]
    #[test_case(&["rtt", "--", "-J"], false, false; "behind the end of options")]
    fn a_glance_tells_who_reads_the_answer(words: &[&str], json: bool, json_lines: bool) {
        let argv: Vec<OsString> = std::iter::once("sonde").chain(words.iter().copied()).map(OsString::from).collect();
        assert_eq!(
            Glance::at(&argv),
            Glance { json, json_lines, quiet: false, verbose: false, color: ColorChoice::Auto }
        );
    }

    #[test_case(&["--budgit", "3s"], Some("a similar argument exists: '--budget'"); "a typing error")]
    #[test_case(&["--budg", "3s"], Some("a similar argument exists: '--budget'"); "a beginning")]
    #[test_case(&["--quota", "3s"], Some("sonde load --help lists its options"); "another word")]
    fn an_unknown_option_is_answered_with_one_that_resembles_it(words: &[&str], hint: Option<&str>) {
        let load = clap::Command::new("load").args(["budget", "quiet"].map(|name| clap::Arg::new(name).long(name)));
        let definition = clap::Command::new("sonde").subcommand(load);
        let error = definition.try_get_matches_from(["sonde", "load"].iter().chain(words)).expect_err("unknown");
        assert_eq!(failure(&error).told.hint.as_deref(), hint);
    }

    #[test_case(&["--color", "never"], ColorChoice::Never)]
    #[test_case(&["--color=always"], ColorChoice::Always)]
    fn a_glance_tells_the_colours(words: &[&str], color: ColorChoice) {
        let argv: Vec<OsString> = std::iter::once("sonde").chain(words.iter().copied()).map(OsString::from).collect();
        assert_eq!(Glance::at(&argv).color, color);
    }

    fn line(words: &[&str]) -> Vec<OsString> {
        std::iter::once("sonde").chain(words.iter().copied()).map(OsString::from).collect()
    }

    #[test_case(&["db1"], Some(&["look", "db1"]); "a host")]
    #[test_case(&["--json", "-6", "db1", "-t", "3"], Some(&["look", "--json", "-6", "db1", "-t", "3"]); "behind options")]
    #[test_case(&["--color", "never", "db1"], Some(&["look", "--color", "never", "db1"]); "behind a value")]
    #[test_case(&["--color", "never", "rtt"], None; "a command behind a value")]
    #[test_case(&["rtt", "db1"], None; "a command")]
    #[test_case(&["help"], None; "a wish for help")]
    #[test_case(&["--profile", "db", "rtt"], None; "a command behind a profile")]
    #[test_case(&["--help"], None; "options alone")]
    #[test_case(&[], None; "nothing")]
    fn a_host_in_place_of_a_command_is_looked_at(words: &[&str], looked: Option<&[&str]>) {
        let bare = Bare::at(&line(words), &crate::cli::definition());
        assert_eq!(bare.map(|bare| bare.argv), looked.map(line));
    }

    #[test_case("rt", Some("rtt"); "a letter too few")]
    #[test_case("laod", Some("load"); "two swapped")]
    #[test_case("thruoghput", Some("throughput"); "swapped in a long one")]
    #[test_case("check.example.com", None; "a host of that name")]
    #[test_case("db1", None; "a host")]
    fn a_command_with_a_typing_error_is_known(word: &str, meant: Option<&str>) {
        let definition = crate::cli::definition();
        let bare = Bare::at(&line(&[word]), &definition).unwrap();
        assert_eq!(bare.nearest(&definition).as_deref(), meant);
        assert_eq!(bare.is_mistyped(&definition), meant.is_some());
    }

    #[test_case("redis://me:se cret'@db1"; "a space and a quotation mark")]
    #[test_case("rediss://me:se/cret@db1"; "a slash")]
    #[test_case("amqp://me:secret@db1"; "a protocol that is not spoken")]
    fn a_password_on_the_command_line_is_not_repeated(url: &str) {
        for argv in [&["look", url][..], &["rtt", url], &["load", url], &["check", url], &["throughput", url]] {
            let error = crate::cli::definition().try_get_matches_from(line(argv)).expect_err("a password");
            let told = failure(&error).lines(&report::layout::Style::default());
            assert!(!told.contains("cret") && told.contains("me:***@db1"), "{argv:?}: {told}");
        }
    }

    #[test]
    fn a_message_is_taken_apart() {
        let failure =
            of_clap("error: no '--jsn'\n\n  tip: there is '--json'\n\nUsage: sonde rtt\n\nFor more, try '--help'.\n");
        assert_eq!(failure.told.what, "no '--jsn'");
        assert_eq!(failure.told.hint.as_deref(), Some("there is '--json'"));
        assert_eq!(failure.usage.as_deref(), Some("Usage: sonde rtt"));
    }
}
