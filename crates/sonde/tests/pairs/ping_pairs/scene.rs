//! Two hosts, and both programs on one of them.

use std::process::Command;

use lab::namespace::{Namespace, NamespaceError, Pair};

use testbed::process::{Ended, LIMIT, Running, ended, started};

/// Two hosts joined by a cable.
pub struct Scene {
    pair: Pair,
}

impl Scene {
    /// `None`: there are no namespaces here, or a program that is needed is missing, which was said aloud.
    pub fn new(what: &str, programs: &[(&str, &str)]) -> Option<Self> {
        for (program, package) in programs {
            if Command::new(program).arg("-V").output().is_err() {
                testbed::skip::aloud(&format!("{what}: no `{program}`; install {package}"));
                return None;
            }
        }
        match Pair::new() {
            Ok(pair) => Some(Self { pair }),
            Err(error @ NamespaceError::Step { .. }) => panic!("{error}"),
            Err(error) => {
                testbed::skip::aloud(&format!("{what} between namespaces: {error}"));
                None
            }
        }
    }

    pub fn near(&self) -> &Namespace {
        self.pair.near()
    }

    pub fn far(&self) -> &Namespace {
        self.pair.far()
    }

    /// A line with `D` and `D6` for the far host's addresses, `S` for the near one's, `N` for nobody's, `B` for all on the
    /// cable, and `IF` for the near interface.
    pub fn words(&self, line: &str) -> Vec<String> {
        let [a, b, c, _] = self.far().v4().octets();
        let place = |word: &str| match word {
            "D" => self.far().v4().to_string(),
            "D6" => self.far().v6().to_string(),
            "S" => self.near().v4().to_string(),
            "N" => format!("{a}.{b}.{c}.77"),
            "B" => format!("{a}.{b}.{c}.255"),
            "IF" => self.near().interface().to_owned(),
            other => other.to_owned(),
        };
        line.split_whitespace().map(place).collect()
    }

    pub fn ours(&self, line: &str) -> Command {
        let mut command = self.near().command(assert_cmd::cargo::cargo_bin!("sonde"));
        command.arg("ping").args(self.words(line));
        command
    }

    /// Ours and the original, beside each other.
    pub fn both(&self, line: &str) -> (Ended, Ended) {
        let (ours, theirs) = (started(&mut self.ours(line)), self.theirs(line));
        (ours.end(LIMIT), theirs.end(LIMIT))
    }

    /// Ours, then the original.
    pub fn in_turn(&self, line: &str) -> (Ended, Ended) {
        (self.end(line), self.theirs(line).end(LIMIT))
    }

    fn theirs(&self, line: &str) -> Running {
        started(self.near().command("ping").args(self.words(line)))
    }

    /// Ours, to its end.
    pub fn end(&self, line: &str) -> Ended {
        ended(&mut self.ours(line), LIMIT)
    }

    /// Rules of the far host's firewall; `None`: there is no `nft` here, or it cannot do this.
    pub fn filter(&self, what: &str, hook: &str, rule: &str) -> Option<()> {
        let chain = format!("table inet t {{ chain c {{ type filter hook {hook} priority 0; {rule}; }}; }}");
        let output = self.far().command("nft").arg(chain).output();
        match output {
            Ok(output) if output.status.success() => Some(()),
            other => {
                let why = other
                    .map_or_else(|error| error.to_string(), |output| String::from_utf8_lossy(&output.stderr).into());
                testbed::skip::aloud(&format!("{what}: nft cannot: {why}"));
                None
            }
        }
    }
}

/// Runs a tool in `namespace`, which must go well.
pub fn run(namespace: &Namespace, line: &str) {
    let mut words = line.split_whitespace();
    let output = namespace.command(words.next().expect("a program")).args(words).output().expect("started");
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
}

/// The original.
pub const PING: (&str, &str) = ("ping", "iputils-ping");
