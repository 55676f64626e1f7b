//! Words behind `netserver`, as plain values, and its first lines.

use std::path::PathBuf;

use endpoint::name::Family;

use crate::persona::answer::Answer;
use crate::persona::getopt::{Called, Entry, Item, Scan, Takes, alike};
use crate::persona::netperf::command_line::{number, rules, usage};
use crate::persona::netperf::options::{PORT, Passphrase};

/// One run of the server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerOptions {
    /// `-D`: it stays in the foreground.
    pub foreground: bool,
    /// `-f`: one control connection after the other.
    pub serial: bool,
    /// `-L`: where it listens; `None`: at every address.
    pub host: Option<String>,
    /// Family by `-L`, `-4`, `-6`.
    pub family: Family,
    /// `-p`.
    pub port: u16,
    /// `-Z`, or the file that holds it.
    pub passphrase: Option<Passphrase>,
    /// Sentences for standard error.
    pub notes: Vec<String>,
}

const ENTRIES: &[Entry<()>] =
    &[alike(Takes::Nothing, "dDfhNV46", &["help", "version"]), alike(Takes::Value, "LnpvZ", &["passphrase-file"])];

/// Reads the words behind the program's name.
///
/// # Errors
/// The text that is printed in place of a run.
pub fn parse(program: &str, words: &[String]) -> Result<ServerOptions, Answer> {
    let program = program.rsplit('/').next().unwrap_or(program);
    let mut options = ServerOptions { port: PORT, ..ServerOptions::default() };
    for item in Scan::new(words, ENTRIES, rules::RULES) {
        match item.map_err(|fault| Answer::complaint(rules::complaint(program, &fault) + usage::SERVER))? {
            Item::Option(_, Called::Letter('h'), _) => return Err(Answer::complaint(usage::SERVER)),
            Item::Option(_, Called::Letter('V') | Called::Name("version"), _) => return Err(usage::version()),
            Item::Option(_, Called::Name("passphrase-file"), value) => {
                options.passphrase = Some(Passphrase::File(PathBuf::from(value.unwrap_or_default())));
            }
            Item::Option(_, Called::Name(_), _) => return Err(Answer::said(usage::SERVER, 0)),
            Item::Option(_, Called::Letter(letter), value) => {
                let text = value.as_deref().unwrap_or_default();
                let refused = |why: String| Answer::refusal(program, format!("-{letter} {text}").trim_end(), why);
                apply(&mut options, letter, text).map_err(refused)?;
            }
            Item::Operand(word) => options.notes.push(format!("`{word}` is no option: ignored")),
        }
    }
    Ok(options)
}

fn apply(options: &mut ServerOptions, letter: char, text: &str) -> Result<(), number::Reason> {
    match letter {
        'D' => options.foreground = true,
        'f' => options.serial = true,
        '4' => options.family = Family::V4,
        '6' => options.family = Family::V6,
        'p' => options.port = number::port(text)?,
        'Z' => options.passphrase = Some(Passphrase::Word(text.to_owned())),
        'L' => {
            let (host, family) = text.split_once(',').unwrap_or((text, ""));
            options.host = Some(host.to_owned()).filter(|host| !host.is_empty()).or(options.host.take());
            options.family = match family.to_ascii_lowercase().as_str() {
                "" => options.family,
                "4" | "inet" => Family::V4,
                "6" | "inet6" => Family::V6,
                "unspec" | "0" => Family::Any,
                other => return Err(format!("`{other}` is no address family: there are 4, inet, 6, inet6 and unspec")),
            };
        }
        'd' => options.notes.push("-d: there is no debugging output".to_owned()),
        'n' => options.notes.push("-n: has no effect: the kernel tells how many CPUs there are".to_owned()),
        'v' => {
            number::unsigned(text)?;
            options.notes.push("-v: has no effect, here as there".to_owned());
        }
        // -N: no debugging output even if a client asks: there is none.
        _ => {}
    }
    Ok(())
}

impl ServerOptions {
    fn place(&self) -> (&str, u16, &'static str) {
        (self.host.as_deref().unwrap_or("IN(6)ADDR_ANY"), self.port, family_name(self.family))
    }

    /// The line it starts with, on standard output.
    pub fn starting(&self) -> String {
        let (host, port, family) = self.place();
        format!("Starting netserver with host '{host}' port '{port}' and family {family}\n")
    }

    /// The line for standard error where it cannot listen; exit status 1.
    pub fn unable(&self) -> String {
        let (host, port, family) = self.place();
        format!("Unable to start netserver with  '{host}' port '{port}' and family {family}\n")
    }
}

/// The name of a family as the original prints it.
pub fn family_name(family: Family) -> &'static str {
    match family {
        Family::Any => "AF_UNSPEC",
        Family::V4 => "AF_INET",
        Family::V6 => "AF_INET6",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use test_case::test_case;

    fn of(line: &str) -> Result<ServerOptions, Answer> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        parse("netserver", &words)
    }

    #[test_case("", "Starting netserver with host 'IN(6)ADDR_ANY' port '12865' and family AF_UNSPEC\n"; "as it is")]
    #[test_case("-p 12998 -4", "Starting netserver with host 'IN(6)ADDR_ANY' port '12998' and family AF_INET\n"; "IPv4")]
    #[test_case("-L 127.0.0.1,inet", "Starting netserver with host '127.0.0.1' port '12865' and family AF_INET\n"; "an address")]
    #[test_case("-6", "Starting netserver with host 'IN(6)ADDR_ANY' port '12865' and family AF_INET6\n"; "IPv6")]
    fn it_says_where_it_starts(line: &str, expected: &str) {
        assert_eq!(of(line).unwrap().starting(), expected);
    }

    #[test]
    fn everything_is_read() {
        let options = of("-D -f -L ::1,6 -p 1 -Z secret stray -N").unwrap();
        let expected = ServerOptions {
            foreground: true,
            serial: true,
            host: Some("::1".into()),
            family: Family::V6,
            port: 1,
            passphrase: Some(Passphrase::Word("secret".into())),
            notes: vec!["`stray` is no option: ignored".into()],
        };
        assert_eq!(options, expected);
    }

    #[test_case("-h", 1, "", "\nUsage: netserver"; "help")]
    #[test_case("-V", 0, "Netperf version", ""; "version")]
    #[test_case("-z", 1, "", "netserver: invalid option -- 'z'\n\nUsage: netserver"; "an unknown letter")]
    #[test_case("-p", 1, "", "netserver: option requires an argument -- 'p'\n"; "no value")]
    #[test_case("-p 99999", 1, "", "netserver: -p 99999: is no port"; "no port")]
    #[test_case("-L a,b", 1, "", "netserver: -L a,b: `b` is no address family"; "no family")]
    fn what_is_printed_instead(line: &str, status: u8, stdout: &str, stderr: &str) {
        let answer = of(line).unwrap_err();
        assert_eq!(answer.status, status);
        assert!(answer.stdout.starts_with(stdout) && answer.stderr.starts_with(stderr), "{answer:?}");
        assert!(stdout.is_empty() == answer.stdout.is_empty());
    }
}
