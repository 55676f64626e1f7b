//! Plan of a monitor: its hosts, the measurement between them, the store, and the receivers of notices.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use measure::lookout::incident::Kind;
use measure::unit::Nanos;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use crate::host::data::DataAddress;
use crate::host::{Address, Host, is_name};
use crate::monitor::discovery::{self, Discovery, Source};
use crate::monitor::silence::Silence;
use crate::monitor::talk::{Over, Program};
use crate::plan::{PlanError, worded};

/// Most hosts of a plan.
pub const MOST_HOSTS: usize = 4_096;
/// The shortest time between two requests of a cell, unless the plan says `aggressive`: what runs for ever is to be light.
pub const SHORTEST: Nanos = Nanos::millis(100);
/// The same where it says so.
pub const AGGRESSIVE: Nanos = Nanos::millis(10);
/// The port at which agents answer each other, where the plan names none.
pub const PORT: u16 = 7665;

/// A plan of a monitor, as it is written in TOML.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MonitorPlan {
    /// Name for the reader; absent: none was given.
    #[serde(default)]
    pub name: Option<String>,
    /// Files that list hosts as `[[hosts]]`, seen from the folder of the plan. They are watched.
    #[serde(default)]
    pub inventory: Vec<String>,
    /// Hosts on which an agent stays: each asks others and answers.
    #[serde(default)]
    pub hosts: Vec<Host>,
    /// Targets: peers without an agent of ours.
    #[serde(default)]
    pub targets: Vec<Target>,
    /// Sources of further hosts and targets.
    #[serde(default)]
    pub discover: Vec<Discovery>,
    /// The folder of the agents that stand on the hosts already, as `/var/lib/sonde-agent`; absent: one of the monitor's own on each host.
    #[serde(default)]
    pub agents: Option<String>,
    /// Measurement between the hosts.
    #[serde(default)]
    pub measure: Measured,
    /// Store of the history: a file, or `postgres://user@host/database`; absent: the user's own.
    #[serde(default)]
    pub store: Option<String>,
    /// Retention of the history.
    #[serde(default)]
    pub keep: Retention,
    /// Address at which the page and the metrics are served, as `127.0.0.1:7680`; absent: nowhere.
    #[serde(default)]
    pub listen: Option<String>,
    /// Limits of notices: false alarms in a week, and the time between repeats.
    #[serde(default)]
    pub notice: Notice,
    /// Receivers of notices.
    #[serde(default)]
    pub tell: Vec<Receiver>,
    /// Silences: incidents that are told to nobody for a time.
    #[serde(default)]
    pub silence: Vec<Silence>,
    /// The collector of OpenTelemetry that metrics are sent to; absent: the one that the environment names, if it does.
    #[serde(default)]
    pub otlp: Option<Otlp>,
}

/// A collector of OpenTelemetry, which takes OTLP over HTTP.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Otlp {
    /// Its base, as `http://127.0.0.1:4318`: metrics go to `/v1/metrics` there.
    pub endpoint: String,
    /// The time between two sends.
    #[serde(deserialize_with = "time", default = "minute")]
    pub every: Nanos,
}

fn minute() -> Nanos {
    Nanos::secs(60)
}

/// A peer that is asked and does not ask.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// Its name, which no host and no other target has.
    pub name: String,
    /// Its address, or a name that each host looks up; none where it has a URL.
    #[serde(default)]
    pub address: String,
    /// Its port; not for ICMP.
    #[serde(default)]
    pub port: Option<u16>,
    /// Protocol by which it is asked.
    #[serde(default = "handshake")]
    pub over: Over,
    /// Hosts that ask it; absent: all.
    #[serde(default)]
    pub from: Option<Vec<String>>,
    /// Its zone, where it is in one.
    #[serde(default)]
    pub zone: Option<String>,
    /// A program at work, in place of address, port and `over`: as `sonde rtt` takes it, as in `https://api/health`.
    #[serde(default)]
    pub url: Option<String>,
    /// TLS: a file with the certificates to trust. Files are those of the hosts that ask.
    #[serde(default)]
    pub ca: Option<String>,
    /// TLS: the name that the certificate must be for, where the URL has another.
    #[serde(default)]
    pub tls_name: Option<String>,
    /// TLS: whether the certificate is not verified.
    #[serde(default)]
    pub insecure: bool,
    /// HTTP, WebSocket: a file with header fields.
    #[serde(default)]
    pub headers: Option<String>,
    /// HTTP: status codes that count as answered, as in `2xx` or `200,404`.
    #[serde(default)]
    pub expect: Option<String>,
    /// PostgreSQL, MySQL: a file with the password.
    #[serde(default)]
    pub password_file: Option<String>,
}

impl Target {
    /// Protocol by which it is asked.
    pub fn over(&self) -> Over {
        if self.url.is_some() { Over::Url } else { self.over }
    }

    /// The program that is asked, where one is.
    pub fn program(&self) -> Option<Program> {
        Some(Program {
            url: self.url.clone()?,
            ca: self.ca.clone(),
            tls_name: self.tls_name.clone(),
            insecure: self.insecure,
            headers: self.headers.clone(),
            expect: self.expect.clone(),
            password_file: self.password_file.clone(),
        })
    }

    /// True where it can be asked as it stands.
    pub fn is_fine(&self) -> bool {
        let has_address = || {
            self.address.parse::<DataAddress>().is_ok()
                && (self.over == Over::Icmp) == self.port.is_none_or(|port| port == 0)
        };
        self.fault_of_program().is_none() && (self.url.is_some() || has_address())
    }

    /// The fault of a target with a URL, or of one that refines a URL that it has not.
    fn fault_of_program(&self) -> Option<String> {
        let Some(url) = &self.url else {
            let refines = self.program_words().next()?;
            let over = if self.over == Over::Url { "over = \"url\"" } else { refines };
            return Some(format!("{}: {over} is for targets with a url", self.name));
        };
        if !self.address.is_empty() || self.port.is_some() {
            return Some(format!("{} has a url: address and port are in it", self.name));
        }
        let place = url.split_once("://").map(|(_, place)| place.split(['/', '?', '#']).next().unwrap_or(place));
        match place {
            None | Some("") => Some(format!("`{url}` is no url, expected one as https://api/health")),
            Some(place) if place.rsplit_once('@').is_some_and(|(user, _)| user.contains(':')) => {
                Some(format!("{}: a password in a url is read by everybody: use password_file", self.name))
            }
            Some(_) => None,
        }
    }

    fn program_words(&self) -> impl Iterator<Item = &'static str> {
        let given = [
            ("ca", self.ca.is_some()),
            ("tls_name", self.tls_name.is_some()),
            ("insecure", self.insecure),
            ("headers", self.headers.is_some()),
            ("expect", self.expect.is_some()),
            ("password_file", self.password_file.is_some()),
            ("over", self.over == Over::Url),
        ];
        given.into_iter().filter_map(|(word, given)| given.then_some(word))
    }
}

/// Measurement between hosts.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Measured {
    /// Protocols, one cell each.
    pub over: Vec<Over>,
    /// The time between two requests of a cell.
    #[serde(deserialize_with = "time")]
    pub every: Nanos,
    /// Longest wait for an answer.
    #[serde(deserialize_with = "time")]
    pub timeout: Nanos,
    /// The port at which agents answer, TCP and UDP.
    pub port: u16,
    /// Pairs that ask each other.
    pub pairs: MeshPairs,
    /// The label of a host that is its zone.
    pub zone: String,
    /// Kind of the hosts' addresses.
    pub address: Address,
    /// True where less than 100 ms between requests is meant, and no slip.
    pub aggressive: bool,
}

impl Default for Measured {
    fn default() -> Self {
        Self {
            over: vec![Over::Udp],
            every: Nanos::secs(1),
            timeout: Nanos::secs(1),
            port: PORT,
            pairs: MeshPairs::default(),
            zone: "zone".to_owned(),
            address: Address::Internal,
            aggressive: false,
        }
    }
}

/// Pairs of hosts that ask each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MeshPairs {
    /// Each host each other.
    All,
    /// Each host all others of its zone while that has at most 32, else eight of them; between zones some of each; and some of all others by chance.
    #[default]
    Zones,
    /// Each host so many others, half of them drawn anew each hour.
    Random(u32),
    /// Each host one other at a time, so that all pairs come round within a day.
    Rotation,
}

/// Retention of the history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Retention {
    /// Minutes, days.
    pub minutes_days: u32,
    /// Hours, days.
    pub hours_days: u32,
    /// Days, days; absent: for ever.
    pub days_days: Option<u32>,
}

impl Default for Retention {
    fn default() -> Self {
        Self { minutes_days: 14, hours_days: 400, days_days: None }
    }
}

/// Limits of notices.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Notice {
    /// False alarms of the whole monitor that are put up with in a week, above 0.
    pub false_alarms_a_week: f64,
    /// Time between two notices of an incident that goes on.
    #[serde(deserialize_with = "time")]
    pub repeat: Nanos,
    /// Kinds of incidents that receivers are told of. The page, the metrics and the history have all.
    pub kinds: Vec<Kind>,
}

impl Default for Notice {
    fn default() -> Self {
        Self { false_alarms_a_week: 1.0, repeat: Nanos::secs(3_600), kinds: Kind::WORSE.to_vec() }
    }
}

/// Receiver of notices. Secrets stand in files, not here.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "to", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Receiver {
    /// Alertmanager: `POST URL/api/v2/alerts`.
    Alertmanager {
        /// Its base, as `http://127.0.0.1:9093`.
        url: String,
    },
    /// Reader of Alertmanager's webhook, version 4.
    Webhook {
        /// URL that it is posted to.
        url: String,
        /// A file with the key that signs what is sent; absent: not signed.
        #[serde(default)]
        key_file: Option<String>,
    },
    /// A program that is given the incident as JSON on its standard input.
    Command {
        /// It and its words.
        command: Vec<String>,
    },
    /// A letter by the system's `sendmail`.
    Mail {
        /// Address of the receiver.
        address: String,
    },
    /// Slack's incoming webhook.
    Slack {
        /// A file with its URL, which is the secret.
        url_file: String,
    },
    /// PagerDuty's Events API, version 2.
    Pagerduty {
        /// A file with the routing key.
        key_file: String,
        /// URL that it is posted to; absent: PagerDuty's own.
        #[serde(default)]
        url: Option<String>,
    },
}

impl Receiver {
    /// Name of the kind in messages.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Alertmanager { .. } => "Alertmanager",
            Self::Webhook { .. } => "webhook",
            Self::Command { .. } => "command",
            Self::Mail { .. } => "mail",
            Self::Slack { .. } => "Slack",
            Self::Pagerduty { .. } => "PagerDuty",
        }
    }
}

pub(super) fn handshake() -> Over {
    Over::TcpConnect
}

pub(super) fn time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Nanos, D::Error> {
    let text = String::deserialize(deserializer)?;
    text.parse().map_err(|error| D::Error::custom(format!("{error}, expected a time as 100ms, 1s or 5min")))
}

/// A name in a silence that a plan does not know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stranger<'a> {
    /// The name.
    pub name: &'a str,
    /// The fault, in words.
    pub what: String,
    /// Advice.
    pub hint: &'static str,
}

impl MonitorPlan {
    /// The plan in `text`, a TOML document that is called `name`. Its inventories are not read yet: see [`MonitorPlan::check`].
    ///
    /// # Errors
    /// Text that is no TOML, an unknown key, a value of another type than its key takes: the first, with its place.
    pub fn read(text: &str, name: &str) -> Result<Self, PlanError> {
        toml::from_str(text).map_err(|error| {
            let (at, what, hint) = worded(&error);
            PlanError::at(text, name, at, what, hint)
        })
    }

    /// That the plan, with the hosts of its inventories in `hosts`, can be carried out.
    ///
    /// # Errors
    /// The first fault: names twice, no two hosts, an interval that is too short, an unknown host, no address; at the word of `text` that is wrong,
    /// where it stands there.
    pub fn check(&self, text: &str, name: &str) -> Result<(), PlanError> {
        let fault =
            |word: &str, what: String, hint: &str| PlanError::at(text, name, place(text, word), what, hint.to_owned());
        let mut names = BTreeSet::new();
        for each in self.hosts.iter().map(|host| &host.name).chain(self.targets.iter().map(|target| &target.name)) {
            if !is_name(each) {
                return Err(fault(each, format!("`{each}` is no name of a host"), "letters, digits, `.`, `-` and `_`"));
            }
            if !names.insert(each) {
                return Err(fault(
                    each,
                    format!("two are called `{each}`"),
                    "give each host and target a name of its own",
                ));
            }
        }
        if self.hosts.is_empty() {
            let hint = "list hosts as [[hosts]], or name a file that does under `inventory`";
            return Err(fault("hosts", "a plan without hosts measures nothing".to_owned(), hint));
        }
        if self.hosts.len() == 1 && self.targets.is_empty() {
            let hint = "add a host, or a [[targets]] with an address that it asks";
            return Err(fault("hosts", "one host alone has nobody to ask".to_owned(), hint));
        }
        if self.hosts.len() > MOST_HOSTS {
            let what = format!("{} hosts; {MOST_HOSTS} are the most", self.hosts.len());
            return Err(fault("hosts", what, "make several monitors of it"));
        }
        self.check_measured(&fault)?;
        self.check_discovery(&fault)?;
        self.check_silences(&fault)?;
        self.check_targets(&fault)
    }

    /// The first name of `silence` that the plan does not know. With discovery a host may come that is not here yet: then all are known.
    pub fn stranger<'a>(&self, silence: &'a Silence) -> Option<Stranger<'a>> {
        if !self.discover.is_empty() {
            return None;
        }
        let is_known = |name: &str| {
            self.hosts.iter().any(|host| host.name == name) || self.targets.iter().any(|target| target.name == name)
        };
        if let Some(name) = silence.hosts.iter().chain(silence.pairs.iter().flatten()).find(|name| !is_known(name)) {
            let hint = "a silence names hosts and targets of this plan";
            return Some(Stranger { name, what: format!("no host is called `{name}`"), hint });
        }
        let zones: BTreeSet<&str> = self.zones().into_values().collect();
        let name = silence.zones.iter().find(|name| !zones.contains(name.as_str()))?;
        let hint = "the label under `zone` in [measure] is the zone of a host";
        Some(Stranger { name, what: format!("no host is in a zone `{name}`"), hint })
    }

    fn check_silences(&self, fault: &dyn Fn(&str, String, &str) -> PlanError) -> Result<(), PlanError> {
        for silence in &self.silence {
            if let Some(Stranger { name, what, hint }) = self.stranger(silence) {
                return Err(fault(name, what, hint));
            }
            if silence.from.is_some_and(|from| from >= silence.until) {
                let hint = "`until` comes after `from`";
                return Err(fault("silence", "a silence that ends before it begins".to_owned(), hint));
            }
        }
        Ok(())
    }

    fn check_discovery(&self, fault: &dyn Fn(&str, String, &str) -> PlanError) -> Result<(), PlanError> {
        for Discovery { every, source, .. } in &self.discover {
            if *every < discovery::SHORTEST {
                let what = format!("asking {} every {every} is less than {}", source.name(), discovery::SHORTEST);
                return Err(fault("discover", what, "a minute, as every = \"1min\", is usual"));
            }
            if matches!(source, Source::Command { command } if command.is_empty()) {
                return Err(fault(
                    "command",
                    "no program to ask".to_owned(),
                    "as command = [\"/usr/local/bin/hosts\"]",
                ));
            }
        }
        Ok(())
    }

    fn check_measured(&self, fault: &dyn Fn(&str, String, &str) -> PlanError) -> Result<(), PlanError> {
        let measured = &self.measure;
        let shortest = if measured.aggressive { AGGRESSIVE } else { SHORTEST };
        if measured.every < shortest {
            let hint = "take more time, or say `aggressive = true` under [measure] (then at least 10ms)";
            return Err(fault("every", format!("{} between requests is less than {shortest}", measured.every), hint));
        }
        if measured.timeout == Nanos::ZERO || measured.timeout > Nanos::secs(60) {
            return Err(fault("timeout", format!("a timeout of {}", measured.timeout), "from 1ns to 60s, as 1s"));
        }
        if measured.over.is_empty() {
            return Err(fault("over", "hosts have to ask each other by something".to_owned(), "as over = [\"udp\"]"));
        }
        if measured.over.contains(&Over::Url) {
            let hint = "programs are targets: [[targets]] with name and url";
            return Err(fault("over", "hosts ask each other by no url".to_owned(), hint));
        }
        if measured.pairs == MeshPairs::Random(0) {
            return Err(fault("pairs", "0 partners measure nothing".to_owned(), "as pairs = { random = 8 }"));
        }
        if !(self.notice.false_alarms_a_week > 0.0 && self.notice.false_alarms_a_week.is_finite()) {
            let hint = "a number above 0: without any false alarm nothing could be told";
            return Err(fault("false_alarms_a_week", "no rate of false alarms".to_owned(), hint));
        }
        for host in &self.hosts {
            if host.address(measured.address).is_none() {
                let hint = "give it `internal = \"ADDRESS\"`, or choose `address` under [measure]";
                return Err(fault(&host.name, format!("{} has no address to be asked at", host.name), hint));
            }
        }
        Ok(())
    }

    fn check_targets(&self, fault: &dyn Fn(&str, String, &str) -> PlanError) -> Result<(), PlanError> {
        let hosts: BTreeSet<&str> = self.hosts.iter().map(|host| host.name.as_str()).collect();
        for target in &self.targets {
            if let Some(what) = target.fault_of_program() {
                return Err(fault(
                    &target.name,
                    what,
                    "as url = \"https://api/health\", without address, port and over",
                ));
            }
            let needs_port = target.url.is_none() && target.over != Over::Icmp;
            if needs_port != target.port.is_some_and(|port| port > 0) {
                let what = format!(
                    "{} over {}: a port is {}",
                    target.name,
                    target.over.name(),
                    if needs_port { "missing" } else { "not for ICMP" }
                );
                return Err(fault(
                    &target.name,
                    what,
                    "as port = 443 with over = \"tcp-connect\", or over = \"icmp\" without",
                ));
            }
            let address = target.url.is_none().then(|| target.address.parse::<DataAddress>());
            if let Some(Err(error)) = address {
                return Err(fault(&target.address, error.to_string(), "an address or a name that can be looked up"));
            }
            if let Some(stranger) = target.from.iter().flatten().find(|from| !hosts.contains(from.as_str())) {
                return Err(fault(
                    stranger,
                    format!("no host is called `{stranger}`"),
                    "`from` lists hosts of this plan",
                ));
            }
        }
        Ok(())
    }

    /// The zone of each host and target that is in one.
    pub fn zones(&self) -> BTreeMap<&str, &str> {
        let hosts = self
            .hosts
            .iter()
            .filter_map(|host| Some((host.name.as_str(), host.labels.get(&self.measure.zone)?.as_str())));
        let targets = self.targets.iter().filter_map(|target| Some((target.name.as_str(), target.zone.as_deref()?)));
        hosts.chain(targets).collect()
    }
}

/// Position of `word` in `text`, as a word of its own; the start where it is not there.
fn place(text: &str, word: &str) -> Range<usize> {
    let is_part = |letter: char| letter.is_alphanumeric() || "-_.".contains(letter);
    let mut places = text
        .match_indices(word)
        .filter(|(at, _)| !text[..*at].ends_with(is_part) && !text[at + word.len()..].starts_with(is_part));
    places.next().map_or(0..0, |(at, _)| at..at + word.len())
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    const TWO: &str = "[[hosts]]\nname = \"a\"\nreach = \"local\"\ninternal = \"10.0.0.1\"\n[[hosts]]\nname = \"b\"\nreach = \"local\"\ninternal = \"10.0.0.2\"\n";

    fn said(text: &str) -> String {
        let read = MonitorPlan::read(text, "plan.toml").and_then(|plan| plan.check(text, "plan.toml"));
        read.map_or_else(|error| format!("{error}; {}", error.hint), |()| "fine".to_owned())
    }

    #[test]
    fn two_hosts_are_a_plan() {
        let plan = MonitorPlan::read(TWO, "plan.toml").unwrap();
        plan.check(TWO, "plan.toml").unwrap();
        assert_eq!((plan.measure.every, plan.measure.pairs), (Nanos::secs(1), MeshPairs::Zones));
        assert_eq!(plan.keep.minutes_days, 14);
    }

    #[test_case("2026-11-28T02:00:00+01:00"; "as TOML writes it")]
    #[test_case("\"2026-11-28 02:00+01:00\""; "as text")]
    fn a_silence_ends_at_a_time(until: &str) {
        let text = format!(
            "{TWO}[[silence]]\nhosts = [\"b\"]\npairs = [[\"a\", \"b\"]]\nkinds = [\"agent-silent\"]\nuntil = {until}\n"
        );
        let plan = MonitorPlan::read(&text, "plan.toml").unwrap();
        plan.check(&text, "plan.toml").unwrap();
        let silence = &plan.silence[0];
        assert_eq!((silence.until, silence.from), (1_795_827_600, None));
        assert!(silence.is_on(1_795_827_599) && !silence.is_on(1_795_827_600));
        // As it is kept elsewhere.
        let kept = Silence { from: Some(1_795_820_000), why: Some("work".to_owned()), ..silence.clone() };
        assert_eq!(serde_json::from_str::<Silence>(&serde_json::to_string(&kept).unwrap()).unwrap(), kept);
    }

    #[test]
    fn of_what_became_faster_receivers_are_told_where_the_plan_says_so() {
        let kinds = |text: &str| MonitorPlan::read(&format!("{TWO}{text}"), "plan.toml").unwrap().notice.kinds;
        assert!(!kinds("").contains(&Kind::Faster) && kinds("").len() == 6, "all others");
        assert_eq!(kinds("[notice]\nkinds = [\"faster\", \"agent-silent\"]\n"), [Kind::Faster, Kind::AgentSilent]);
    }

    #[test_case("", "measures nothing"; "empty")]
    #[test_case("[measure]\nevery = \"10ms\"\n", "line 2, column 1: 10 ms between requests is less than 100 ms"; "too often")]
    #[test_case("[measure]\nevery = 3\n", "line 2"; "a number for a time")]
    #[test_case("[measure]\nevry = \"1s\"\n", "unknown key `evry`"; "mistyped")]
    #[test_case("[measure]\npairs = { random = 0 }\n", "0 partners"; "nobody")]
    #[test_case("[[targets]]\nname = \"a\"\naddress = \"10.0.0.9\"\nport = 1\n", "two are called `a`"; "a name twice")]
    #[test_case("[[targets]]\nname = \"t\"\naddress = \"10.0.0.9\"\n", "a port is missing"; "no port")]
    #[test_case("[[targets]]\nname = \"t\"\naddress = \"10.0.0.900\"\nport = 1\n", "10.0.0.900"; "no address")]
    #[test_case("[[targets]]\nname = \"t\"\naddress = \"x\"\nport = 1\nfrom = [\"z\"]\n", "no host is called `z`"; "a stranger")]
    #[test_case("[[targets]]\nname = \"t\"\nurl = \"redis\"\n", "`redis` is no url"; "no url")]
    #[test_case("[[targets]]\nname = \"t\"\nurl = \"redis://db1\"\nport = 1\n", "address and port are in it"; "a port beside a url")]
    #[test_case("[[targets]]\nname = \"t\"\nurl = \"postgres://me:word@db1\"\n", "use password_file"; "a password")]
    #[test_case("[[targets]]\nname = \"t\"\naddress = \"x\"\nport = 1\ninsecure = true\n", "insecure is for targets with a url"; "nothing to refine")]
    #[test_case("[[targets]]\nname = \"t\"\nurl = \"redis://db1\"\n", "fine"; "a url")]
    #[test_case("[measure]\nover = [\"url\"]\n", "by no url"; "hosts by url")]
    #[test_case("[[tell]]\nto = \"pigeon\"\n", "pigeon"; "no receiver")]
    #[test_case("[[silence]]\nhosts = [\"z\"]\nuntil = 2026-11-28T02:00:00Z\n", "line 2, column 11: no host is called `z`"; "silence of a stranger")]
    #[test_case("[[silence]]\nzones = [\"z\"]\nuntil = 2026-11-28T02:00:00Z\n", "no host is in a zone `z`"; "silence of no zone")]
    #[test_case("[[silence]]\npairs = [[\"a\", \"z\"]]\nuntil = 2026-11-28T02:00:00Z\n", "no host is called `z`"; "silence of no pair")]
    #[test_case("[[silence]]\nkinds = [\"slow\"]\nuntil = 2026-11-28T02:00:00Z\n", "`slow`"; "silence of no kind")]
    #[test_case("[[silence]]\nuntil = \"tomorrow\"\n", "`tomorrow` is no time"; "silence until no time")]
    #[test_case("[[silence]]\nuntil = 2026-11-28\nfrom = 2026-11-29\n", "ends before it begins"; "silence backwards")]
    #[test_case("[[silence]]\n", "until"; "silence for ever")]
    #[test_case("[notice]\nkinds = [\"slow\"]\n", "`slow`"; "notice of no kind")]
    #[test_case("[notice]\nfalse_alarms_a_week = 0\n", "rate of false alarms"; "never wrong")]
    fn what_is_wrong_is_said(text: &str, part: &str) {
        let whole = if text.is_empty() { String::new() } else { format!("{text}{TWO}") };
        let found = said(&whole);
        assert!(found.contains(part), "{found}");
    }
}
