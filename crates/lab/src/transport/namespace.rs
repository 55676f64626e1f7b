//! A network namespace of this machine: the program is here, and runs in there by `ip netns exec`.

use std::path::Path;
use std::process::{Command, Stdio};

use endpoint::stop::Stop;
use logbook::failure::{Failure, Side};
use measure::unit::Nanos;

use crate::child::{self, Unfinished};
use crate::transport::{Program, Transport, command_of};

/// The way into a namespace.
#[derive(Clone, Debug)]
pub struct Namespace {
    /// As `ip netns` lists it.
    name: String,
    /// Words in front of `ip`: none, or those that lead to where it is listed.
    lead: Vec<String>,
}

impl Namespace {
    /// The one of this name, listed where `lead` leads.
    pub fn new(name: String, lead: Vec<String>) -> Self {
        Self { name, lead }
    }

    fn prefix(&self) -> Vec<String> {
        let exec = ["ip", "netns", "exec", &self.name].map(str::to_owned);
        self.lead.iter().cloned().chain(exec).collect()
    }

    fn failure(&self, said: &str, hint: String) -> Failure {
        Failure {
            what: format!("network namespace {}: cannot run a program in it: {said}", self.name),
            to_whom: Some(self.name.clone()),
            side: Some(Side::Ours),
            hint: Some(hint),
            partial: None,
        }
    }

    fn hint(&self) -> String {
        let listed = Path::new("/run/netns").join(&self.name).exists();
        if listed || !self.lead.is_empty() {
            return "going into a network namespace takes root".to_owned();
        }
        "`ip netns list` shows those that are there, `sonde lab list` the labs; `sonde lab up` makes one".to_owned()
    }
}

impl Transport for Namespace {
    fn put(&self, program: &Program, patience: Nanos, stop: &Stop) -> Result<String, Failure> {
        match child::run(&mut command_of(&self.prefix(), &["true".to_owned()]), Stdio::null(), patience, stop) {
            Ok(finished) if finished.status.success() => Ok(program.path.to_string_lossy().into_owned()),
            Ok(finished) => Err(self.failure(finished.last_words().unwrap_or("it says nothing"), self.hint())),
            Err(Unfinished::NotStarted(error)) => {
                Err(self.failure(&format!("`ip`: {error}"), "install iproute2".to_owned()))
            }
            Err(Unfinished::TooLong(..)) => Err(self.failure(&format!("no answer within {patience}"), self.hint())),
            Err(Unfinished::Stopped) => Err(self.failure("it was asked to stop", "start it again".to_owned())),
        }
    }

    fn command(&self, words: &[String]) -> Command {
        command_of(&self.prefix(), words)
    }

    fn clean(&self, _patience: Nanos, _stop: &Stop) -> Result<(), Failure> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_that_is_not_there_is_said_with_what_to_try() {
        let way = Namespace::new("sonde-nowhere-at-all".to_owned(), Vec::new());
        let program = Program::new("/bin/true", &[], "");
        let failure = way.put(&program, Nanos::secs(60), &Stop::default()).unwrap_err();
        assert_eq!(failure.to_whom.as_deref(), Some("sonde-nowhere-at-all"));
        assert_eq!(failure.side, Some(Side::Ours));
        assert!(failure.hint.is_some(), "{failure:?}");
    }

    #[test]
    fn words_follow_what_leads_there() {
        let way = Namespace::new("a".to_owned(), vec!["nsenter".to_owned(), "--net".to_owned()]);
        let command = way.command(&["sonde".to_owned(), "agent".to_owned()]);
        let words: Vec<_> = std::iter::once(command.get_program()).chain(command.get_args()).collect();
        assert_eq!(words, ["nsenter", "--net", "ip", "netns", "exec", "a", "sonde", "agent"]);
    }
}
