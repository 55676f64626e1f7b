//! A measuring command as the words that make it: read by the definitions of the command line itself, so that an option can be
//! taken out or put in, and what comes of it is what the command would make of it.

use std::collections::BTreeMap;

use measure::method::{Carrier, Exchange, Method, Schedule, SourcePorts, Traffic};
use measure::unit::{Nanos, run_length};

use crate::command::study::axis::{self, Axis};
use crate::command::{argv, measuring};
use crate::failure::Failure;

/// Measuring commands a study may be made of.
const COMMANDS: [&str; 4] = ["rtt", "load", "throughput", "syn"];

/// Names under which points of the space are known, and what they are here.
pub const KNOWN: [(&str, &str, &str); 6] = [
    ("ping", "rtt", "--icmp --every 1s --size 56"),
    ("tcp_rr", "rtt", "--tcp --size 1"),
    ("udp_rr", "rtt", "--udp"),
    ("tcp_crr", "rtt", "--crr --size 1"),
    ("tcp_stream", "throughput", "--tcp"),
    ("udp_stream", "throughput", "--udp"),
];

/// Options that a study sets itself, or has no use for.
const REFUSED: [(&str, &str); 13] = [
    ("--json", "give it to the study"),
    ("--json-lines", "give it to the study"),
    ("--export", "give it to the study"),
    ("--output", "-o of the study keeps all records in one document"),
    ("--samples", "its records hold histograms"),
    ("--write-out", "its records hold the phases of requests"),
    ("--verify-pcap", "it writes one file, and a study has many trials"),
    ("--find", "search first, then compare at the rate that was found"),
    ("--until", "all trials of a side need the same length: use -t"),
    ("--cores", "use --cpu, or sweep over cores"),
    ("--quiet", "give it to the study"),
    ("--verbose", "give -v to the study"),
    ("--profile", "give it to the study, whose own words it stands for"),
];

/// Options whose value is a file of this host that the peer is sent, or of which it hears.
const SENT: [&str; 4] = ["--body", "--headers", "--mix", "--password-file"];

/// A measuring command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Words {
    /// `rtt`, `load`, `throughput` or `syn`.
    pub command: String,
    /// The peer as typed.
    pub host: Option<String>,
    /// The options, in the order they were said.
    pub options: Vec<Said>,
}

/// An option that was said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// Its long name with the dashes, or the short one where it has no other.
    pub name: String,
    /// Its value, where it takes one.
    pub value: Option<String>,
}

impl Words {
    /// The command in `text`, as a shell would split it: a command's name or that of a [`KNOWN`] point may come first; `rtt` where
    /// neither does.
    ///
    /// # Errors
    /// A quote left open, an option that is none, that a study has no use for, or that lacks its value.
    pub fn read(text: &str) -> Result<Self, Failure> {
        let words = shlex::split(text)
            .ok_or_else(|| Failure::usage(format!("`{text}`: a quote is not closed")).about(text.to_owned()))?;
        Self::of(&words).map_err(|failure| Failure {
            told: logbook::failure::Failure { what: format!("`{text}`: {}", failure.told.what), ..failure.told },
            ..failure
        })
    }

    /// The command these words make.
    ///
    /// # Errors
    /// As of [`Words::read`].
    pub fn of(words: &[String]) -> Result<Self, Failure> {
        let first = words.first().map_or("", String::as_str);
        let known = KNOWN.iter().find(|(name, ..)| name.eq_ignore_ascii_case(first));
        if let Some((_, command, options)) = known {
            let point: Vec<String> = options.split(' ').map(str::to_owned).collect();
            let own = Self::plain(command, &words[1..])?;
            return Ok(own.with(&Self::plain(command, &point)?));
        }
        match COMMANDS.iter().find(|command| **command == first) {
            Some(command) => Self::plain(command, &words[1..]),
            None => Self::plain("rtt", words),
        }
    }

    /// A command by its name, of words that hold no name.
    fn plain(command: &str, words: &[String]) -> Result<Self, Failure> {
        let mut read = Self { command: command.to_owned(), host: None, options: Vec::new() };
        let table = Table::of(command);
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match table.option(word, &mut || words.next().cloned())? {
                Some(said) => read.options.push(said),
                None if read.host.is_none() => read.host = Some(word.clone()),
                None => {
                    let first = read.host.unwrap_or_default();
                    let hint = match meant(&first) {
                        Some(name) => format!("'{name} {word}'"),
                        None => format!("use one host per side: 'rtt {first}' 'rtt {word}'"),
                    };
                    return Err(Failure::usage(format!("`{word}` is a second host beside `{first}`")).hint(hint));
                }
            }
        }
        Ok(read)
    }

    /// The same with what `common` says put in where this says nothing of it.
    pub fn with(mut self, common: &Self) -> Self {
        self.host = self.host.or_else(|| common.host.clone());
        let missing = |said: &&Said| !self.options.iter().any(|own| says_as_much(&own.name, &said.name));
        let missing: Vec<Said> = common.options.iter().filter(missing).cloned().collect();
        self.options.extend(missing);
        self
    }

    /// The value of an option that takes one, where it was said.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.options.iter().find(|said| said.name == name)?.value.as_deref()
    }

    /// Refuses words of a document that send the peer a file of this host: whoever wrote the document may have named any.
    ///
    /// # Errors
    /// One that is sent; `name` is the document's, and `hint` says what to do about it.
    pub fn send_no_file(&self, name: &str, hint: &str) -> Result<(), Failure> {
        let Some(Said { name: option, value }) = self.options.iter().find(|said| SENT.contains(&said.name.as_str()))
        else {
            return Ok(());
        };
        let (host, file) = (self.host.as_deref().unwrap_or("its peer"), value.as_deref().unwrap_or_default());
        let what = format!("{name}: its command would send the file {file} of this host to {host} ({option})");
        Err(Failure::usage(what).hint(hint.to_owned()).about(name.to_owned()))
    }

    /// Says an option, in place of what was said of it.
    pub fn say(&mut self, name: &str, value: Option<String>) {
        self.options.retain(|said| said.name != name);
        self.options.push(Said { name: name.to_owned(), value });
    }

    /// True where the command has this option.
    pub fn has(&self, name: &str) -> bool {
        Table::of(&self.command).0.contains_key(name)
    }

    /// The words, the command's name first.
    pub fn words(&self) -> Vec<String> {
        let mut words = vec![self.command.clone()];
        words.extend(self.host.clone());
        for Said { name, value } in &self.options {
            words.push(name.clone());
            words.extend(value.clone());
        }
        words
    }

    /// The same with what a command would decide for a person, and `method` has otherwise: a pause between echoes.
    #[must_use]
    pub fn of_method(&self, method: &Method) -> Self {
        let mut said = self.clone();
        let echoes = self.command == "rtt" && method.traffic.carrier() == Carrier::Icmp;
        if echoes && method.schedule == Schedule::BackToBack {
            said.say("--every", Some("0".to_owned()));
        }
        said
    }

    /// The words of a trial: over one connection where they say nothing of connections. Settings that differ in their schedule or their window
    /// would have unlike numbers of them, and trials have new ones each. From `ports`, where that can be said of its method: what differs by
    /// port then differs between no two settings.
    pub fn trial(&self, method: &Method, ports: Option<SourcePorts>) -> Vec<String> {
        let mut words = self.of_method(method).words();
        let of_one = method.spread.connections == 1 && method.socket.source_ports.is_none();
        let kept = matches!(
            method.traffic,
            Traffic::Exchange(Exchange { carrier: Carrier::Tcp | Carrier::Udp, .. }) | Traffic::Load(_)
        );
        if let Some(ports) = ports.filter(|_| of_one && kept && self.value("--peer").is_none()) {
            words.extend(["--source-port".to_owned(), format!("{}..{}", ports.first, ports.last)]);
        }
        let says = ["--connections", "--flows", "--threads"]
            .iter()
            .any(|name| self.options.iter().any(|said| said.name == *name));
        if self.command == "rtt" && !says {
            words.extend(["--connections", "1"].map(str::to_owned));
        }
        words
    }

    /// The method that the command would measure by.
    ///
    /// # Errors
    /// The command's own refusal.
    pub fn method(&self) -> Result<Method, Failure> {
        measuring::method_of(self.words())
    }

    /// The length that was said, where that was said as a time.
    pub fn time(&self) -> Option<Nanos> {
        self.value("--time").and_then(|text| run_length(text).ok())
    }
}

/// True where an option says something of what another one says: both are of one setting, as `--udp` and `--protocol`.
pub fn says_as_much(own: &str, other: &str) -> bool {
    let axis = Axis::of(other).filter(|_| !axis::is_stop(other) && !axis::is_stop(own));
    own == other || axis.is_some_and(|axis| axis.owns(own))
}

/// The command or method that `word` may have been meant to name.
pub fn meant(word: &str) -> Option<&'static str> {
    let names = COMMANDS.into_iter().chain(KNOWN.iter().map(|(name, ..)| *name));
    argv::nearest(word, names)
}

/// For people: as it would be typed.
impl std::fmt::Display for Words {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let words = self.words();
        let quoted = shlex::try_join(words.iter().map(String::as_str));
        f.write_str(&quoted.unwrap_or_else(|_| words.join(" ")))
    }
}

/// The options of a command: by each of their names, the name that is kept and whether they take a value.
pub struct Table(BTreeMap<String, (String, bool)>);

impl Table {
    /// The options of every command that a trial may be made of.
    pub fn of_measuring() -> Self {
        Self(COMMANDS.iter().flat_map(|command| Self::of(command).0).collect())
    }

    /// The name that is kept of the option in `token`, and whether it takes a value.
    pub fn named(&self, token: &str) -> Option<(&str, bool)> {
        self.0.get(split(token).0).map(|(name, takes)| (name.as_str(), *takes))
    }

    /// The names that are kept.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.values().map(|(name, _)| name.as_str())
    }

    /// Looks up `token` among these options: `None` where it is none, else true where the next word is its value.
    pub fn takes_next(&self, token: &str) -> Option<bool> {
        let (written, attached) = split(token);
        self.0.get(written).map(|(_, takes)| *takes && attached.is_none())
    }

    /// The options of one of them.
    pub fn of(command: &str) -> Self {
        Self::within(&measuring::definition(), command)
    }

    /// The options of a command of this definition.
    pub fn within(definition: &clap::Command, command: &str) -> Self {
        let arguments = definition.find_subcommand(command).into_iter().flat_map(clap::Command::get_arguments);
        let mut table = BTreeMap::new();
        for argument in arguments.chain(definition.get_arguments()) {
            let long = argument.get_long().map(|name| format!("--{name}"));
            let short = argument.get_short().map(|name| format!("-{name}"));
            let takes = argument.get_action().takes_values();
            let Some(kept) = long.clone().or_else(|| short.clone()) else { continue };
            let older = argument.get_all_aliases().into_iter().flatten().map(|name| format!("--{name}"));
            for name in [long, short].into_iter().flatten().chain(older) {
                table.insert(name, (kept.clone(), takes));
            }
        }
        Self(table)
    }

    /// The spelling in place of an option that there is not.
    fn meant(&self, written: &str) -> String {
        let near = argv::nearest(written, self.0.keys().map(String::as_str).filter(|name| name.starts_with("--")));
        near.map_or_else(|| "sonde rtt --help".to_owned(), |name| format!("did you mean {name}?"))
    }

    /// True where the command line itself would take `token` for one of its options, and not for a value.
    fn is_option(&self, token: &str) -> bool {
        token.starts_with('-') && self.0.contains_key(split(token).0)
    }

    /// The option in `token`, whose value may be the next word; `None` where it is no option.
    fn option(&self, token: &str, next: &mut dyn FnMut() -> Option<String>) -> Result<Option<Said>, Failure> {
        if !token.starts_with('-') || token == "-" {
            return Ok(None);
        }
        let (written, attached) = split(token);
        let known = self.0.get(written);
        let name = known.map_or(written, |(name, _)| name.as_str());
        if let Some((_, why)) = REFUSED.iter().find(|(refused, _)| *refused == name) {
            return Err(Failure::usage(format!("{name} does not work in a study: {why}")));
        }
        let (name, takes) =
            known.ok_or_else(|| Failure::usage(format!("unknown option `{written}`")).hint(self.meant(written)))?;
        let needs = || Failure::usage(format!("{name} needs a value"));
        let value = match (takes, attached) {
            (true, Some(value)) => Some(value.to_owned()),
            (true, None) => Some(next().filter(|value| !self.is_option(value)).ok_or_else(needs)?),
            (false, None) => None,
            (false, Some(value)) => {
                return Err(Failure::usage(format!("{name} takes no value, but got `{value}`")));
            }
        };
        Ok(Some(Said { name: name.clone(), value }))
    }
}

/// An option as it is written, and the value that hangs on it: `--size=1`, `-P4`.
fn split(token: &str) -> (&str, Option<&str>) {
    match token.split_once('=') {
        Some((name, value)) if name.starts_with("--") => (name, Some(value)),
        _ if !token.starts_with("--") && token.len() > 2 && token.is_char_boundary(2) => {
            (&token[..2], Some(&token[2..]))
        }
        _ => (token, None),
    }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    fn words(text: &str) -> String {
        Words::read(text).unwrap().words().join(" ")
    }

    #[test_case("db1", "rtt db1"; "a host alone")]
    #[test_case("db1:5000 --udp -t 2", "rtt db1:5000 --udp --time 2"; "short names")]
    #[test_case("load db1 --rate=10k/s", "load db1 --rate 10k/s"; "a value with a sign")]
    #[test_case("db1 --carrier udp", "rtt db1 --protocol udp"; "an older name")]
    #[test_case("throughput db1 -P4", "throughput db1 --streams 4"; "a value attached")]
    #[test_case("rtt -4 'db 1'", "rtt db 1 -4"; "quoted")]
    #[test_case("TCP_RR db1", "rtt db1 --tcp --size 1"; "a name of the field")]
    #[test_case("ping db1 --every 10ms", "rtt db1 --every 10ms --icmp --size 56"; "what is said takes the name's place")]
    #[test_case("ping db1 --rate 10/s", "rtt db1 --rate 10/s --icmp --size 56"; "on the whole axis")]
    fn a_side_is_read_as_the_command_would(text: &str, expected: &str) {
        assert_eq!(words(text), expected);
        assert_eq!(words(&Words::read(text).unwrap().to_string()), expected, "and as it is printed");
    }

    #[test_case("db1 --colour red"; "no option")]
    #[test_case("db1 --json"; "how it is told")]
    #[test_case("db1 -o x.json"; "where it is kept")]
    #[test_case("db1 --until p99"; "of no stated length")]
    #[test_case("db1 db2"; "two far sides")]
    #[test_case("db1 --every"; "no value")]
    #[test_case("--tcp --time -c 5"; "an option in the place of a value")]
    #[test_case("db1 --udp=1"; "a value too many")]
    #[test_case("db1 'open"; "an open quote")]
    fn what_is_no_trial_is_refused(text: &str) {
        let failure = Words::read(text).unwrap_err();
        assert!(failure.told.what.contains(text), "{}", failure.told.what);
    }

    #[test_case("pong db1", "'ping db1'"; "a typing error")]
    #[test_case("db2 db1", "use one host per side: 'rtt db2' 'rtt db1'"; "two hosts")]
    fn a_second_host_may_be_a_mistyped_command(text: &str, hint: &str) {
        assert_eq!(Words::read(text).unwrap_err().told.hint.as_deref(), Some(hint));
    }

    /// Options that take a file of which the peer hears nothing: keys and certificates are what something is proved by.
    const UNSENT: [&str; 8] =
        ["--key", "--peer-identity", "--stamp-key", "--irtt-key", "--ca", "--samples", "--output", "--verify-pcap"];

    #[test]
    fn every_option_with_a_file_is_one_that_is_sent_or_not() {
        let definition = measuring::definition();
        for command in COMMANDS {
            let of_command = definition.find_subcommand(command).unwrap();
            for argument in of_command.get_arguments() {
                let takes = argument.get_action().takes_values();
                let is_file = takes
                    && argument.get_value_names().is_some_and(|names| names.iter().any(|name| name.contains("FILE")));
                let long = argument.get_long().map(|name| format!("--{name}")).unwrap_or_default();
                let known = SENT.iter().chain(&UNSENT).any(|known| *known == long);
                assert!(!is_file || known, "{command} {long}");
            }
        }
    }

    #[test_case("http://db1/ --body secret", Some("the file secret of this host to http://db1/ (--body)"); "a body")]
    #[test_case("http://db1/ --headers=secret", Some("(--headers)"); "header fields")]
    #[test_case("db1 --key mine", None; "a key, which is proved and not sent")]
    fn files_that_a_document_would_have_sent_are_named(text: &str, said: Option<&str>) {
        let refused = Words::read(text).unwrap().send_no_file("old.json", "").err();
        assert_eq!(refused.is_some(), said.is_some());
        assert!(refused.is_none_or(|failure| failure.told.what.contains(said.unwrap())));
    }

    #[test]
    fn what_is_common_stands_where_a_side_says_nothing() {
        let common = Words::read("db1 --every 10ms --size 100 -t 1").unwrap();
        let side = Words::read("--icmp --rate 5/s").unwrap().with(&common);
        assert_eq!(side.words().join(" "), "rtt db1 --icmp --rate 5/s --size 100 --time 1");
    }

    #[test]
    fn the_method_is_the_commands_own() {
        let method = Words::read("db1 --icmp --every 10ms").unwrap().method().unwrap();
        assert_eq!(method.to_string().split(" · ").next(), Some("icmp exchange"));
        assert!(Words::read("db1 --udp --size 1").unwrap().method().is_err(), "too small for our header");
        let failure = Words::read("db1 --every never").unwrap().method().unwrap_err();
        assert!(failure.told.what.contains("never"), "{}", failure.told.what);
        assert!(Words::read("throughput db1").unwrap().method().is_ok());
        assert!(Words::read("load db1 --rate 10k/s").unwrap().method().is_ok());
    }
}
