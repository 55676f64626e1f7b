//! The axes of the space as options of a command: which belong together, and how one is moved.

use measure::method::{Carrier, LoopKind, Method, Traffic};
use measure::study::range::Values;

use crate::command::study::words::{Said, Words};

/// Options that say one thing of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Axis {
    /// Its name, as `--over` takes it.
    pub name: &'static str,
    /// The options that belong to it: moving it moves them all.
    pub options: &'static [&'static str],
    /// The option that says a value of it, and none where nothing says one.
    pub option: Option<&'static str>,
    /// The type of its values.
    pub values: Values,
}

const fn axis(
    name: &'static str,
    options: &'static [&'static str],
    option: Option<&'static str>,
    values: Values,
) -> Axis {
    Axis { name, options, option, values }
}

/// The far side: no option, but the word that names it.
pub const ADDRESS: Axis = axis("address", &["--port", "-4", "-6", "--key", "--peer-identity"], None, Values::Words);

/// The rate: the interval by its other word.
pub const RATE: Axis = axis("rate", &["--every", "--rate", "--poisson"], Some("--rate"), Values::Rates);

/// The number of CPUs that either end pins its threads to: the first so many.
pub const CORES: Axis = axis("cores", &["--cpu", "--peer-cpu"], None, Values::Counts);

/// Every axis, in the order in which two methods are brought together (method section 12): what explains most comes first.
pub const AXES: [Axis; 28] = [
    axis(
        "interval",
        &["--every", "--rate", "--poisson", "--burst", "--time", "--count"],
        Some("--every"),
        Values::Times,
    ),
    axis(
        "carrier",
        &["--protocol", "--tcp", "--udp", "--icmp", "--connect", "--crr"],
        Some("--protocol"),
        Values::Words,
    ),
    axis(
        "peer",
        &["--peer", "--passphrase", "--stamp-key", "--irtt-key", "--stamp-ask"],
        Some("--peer"),
        Values::Words,
    ),
    axis("pacing", &["--pace"], Some("--pace"), Values::Words),
    axis("wait", &["--wait"], Some("--wait"), Values::Words),
    axis("peer-wait", &["--peer-wait"], Some("--peer-wait"), Values::Words),
    axis("window", &["--window"], Some("--window"), Values::Counts),
    axis("size", &["--size", "--request-size", "--response-size"], Some("--size"), Values::Sizes),
    axis("connections", &["--connections", "--flows"], Some("--connections"), Values::Counts),
    axis("flow", &["--source-port"], Some("--source-port"), Values::Words),
    axis("threads", &["--threads"], Some("--threads"), Values::Counts),
    axis("streams", &["--streams"], Some("--streams"), Values::Counts),
    axis("direction", &["--reverse", "--bidir"], None, Values::Words),
    axis("send", &["--send"], Some("--send"), Values::Words),
    axis("discard", &["--discard"], None, Values::Words),
    axis("segments", &["--segments"], Some("--segments"), Values::Counts),
    axis("batch", &["--batch"], Some("--batch"), Values::Counts),
    axis("reply-every", &["--reply-every"], Some("--reply-every"), Values::Counts),
    axis("cpu", &["--cpu"], Some("--cpu"), Values::Words),
    axis("peer-cpu", &["--peer-cpu"], Some("--peer-cpu"), Values::Words),
    axis("dscp", &["--dscp", "--tos"], Some("--dscp"), Values::Words),
    axis("congestion", &["--congestion"], Some("--congestion"), Values::Words),
    axis("nagle", &["--nagle"], None, Values::Words),
    axis("send-buffer", &["--send-buffer"], Some("--send-buffer"), Values::Sizes),
    axis("receive-buffer", &["--receive-buffer"], Some("--receive-buffer"), Values::Sizes),
    axis("bind", &["--bind"], Some("--bind"), Values::Words),
    axis("interface", &["--interface"], Some("--interface"), Values::Words),
    ADDRESS,
];

/// Options that say nothing of what is measured.
const BESIDE: [&str; 10] = [
    "--seed",
    "--strict",
    "--warm-up",
    "--timeout",
    "--stamps",
    "--no-stamps",
    "--verify",
    "--color",
    "--with-latency",
    "--no-test",
];

impl Axis {
    /// The axis of this name: one of [`AXES`], [`RATE`] or [`CORES`].
    pub fn named(name: &str) -> Option<Self> {
        // Records call the protocol by its older name.
        let name = if name == "protocol" { "carrier" } else { name };
        AXES.into_iter().chain([RATE, CORES]).find(|axis| axis.name == name)
    }

    /// The axis an option belongs to.
    pub fn of(option: &str) -> Option<Self> {
        AXES.into_iter().find(|axis| axis.owns(option))
    }

    /// True where `option` is one of its own.
    pub fn owns(&self, option: &str) -> bool {
        self.options.contains(&option)
    }

    /// The options of `words` that belong to it.
    fn said<'a>(&self, words: &'a Words) -> Vec<&'a Said> {
        words.options.iter().filter(|said| self.owns(&said.name)).collect()
    }

    /// Moves it: what `from` says of it takes the place of what `words` say.
    pub fn moved(&self, words: &Words, from: &Words) -> Words {
        let mut moved = words.clone();
        moved.options.retain(|said| !self.owns(&said.name));
        moved.options.extend(self.said(from).into_iter().cloned());
        if *self == ADDRESS {
            moved.host.clone_from(&from.host);
        }
        moved
    }

    /// The value of a method there, for people.
    pub fn told(&self, words: &Words, method: &Method) -> String {
        let or_default = |text: Option<String>| text.unwrap_or_else(|| "default".to_owned());
        match self.name {
            "interval" => interval(method),
            "carrier" => carrier(method),
            "pacing" => method.pacing.to_string(),
            "wait" => method.waiting.to_string(),
            "peer-wait" => or_default(method.peer_waiting.map(|waiting| waiting.to_string())),
            "size" => match (method.traffic.request_bytes(), method.traffic.response_bytes()) {
                (there, back) if there == back => format!("{there} each way"),
                (there, back) => format!("{there} and {back} back"),
            },
            "connections" => method.spread.connections.to_string(),
            "threads" => method.spread.threads.to_string(),
            "address" => {
                let host = words.host.as_deref().unwrap_or("loopback");
                let said = self.said(words);
                let options = said.iter().flat_map(|said| [Some(said.name.as_str()), said.value.as_deref()]).flatten();
                std::iter::once(host).chain(options).collect::<Vec<_>>().join(" ")
            }
            _ => {
                let said = self.said(words);
                let text =
                    |said: &&Said| said.value.clone().unwrap_or_else(|| said.name.trim_start_matches('-').to_owned());
                or_default((!said.is_empty()).then(|| said.iter().map(text).collect::<Vec<_>>().join(" ")))
            }
        }
    }
}

/// Schedule of the requests, and `open loop` where they wait for no reply.
fn interval(method: &Method) -> String {
    let schedule = method.schedule.to_string().replace("back to back", "no pause");
    match method.loop_kind() {
        LoopKind::Open if method.traffic.stream().is_none() => format!("{schedule}, open loop"),
        LoopKind::Open | LoopKind::Closed => schedule,
    }
}

/// The protocol, and who answers.
fn carrier(method: &Method) -> String {
    let name = match method.traffic.carrier() {
        Carrier::Icmp => return "ICMP, the peer's kernel answers".to_owned(),
        Carrier::TcpConnect => return "TCP connect, the peer's kernel answers".to_owned(),
        Carrier::TcpSyn => return "SYN probes, the peer's kernel answers".to_owned(),
        Carrier::Tcp => "TCP",
        Carrier::Udp => "UDP",
    };
    match method.traffic {
        Traffic::Stream(_) => name.to_owned(),
        Traffic::ConnectExchange { .. } => format!("{name}, a program answers over a new connection"),
        _ => format!("{name}, a program answers"),
    }
}

/// True where an option says when a run ends: it goes with the interval, for sparse runs must be longer, and says nothing of it.
pub fn is_stop(option: &str) -> bool {
    matches!(option, "--time" | "--count")
}

/// The axes in which two commands differ, in the order they are moved.
///
/// Where the interval is the same, how long the two run is no difference of theirs.
pub fn differing(first: &Words, second: &Words) -> Vec<Axis> {
    let said = |axis: &Axis, words: &Words| -> Vec<Said> {
        let mut said: Vec<Said> =
            axis.said(words).iter().filter(|said| !is_stop(&said.name)).map(|said| (*said).clone()).collect();
        said.sort_by(|one, other| one.name.cmp(&other.name));
        said
    };
    let differs =
        |axis: &Axis| said(axis, first) != said(axis, second) || *axis == ADDRESS && first.host != second.host;
    AXES.into_iter().filter(differs).collect()
}

/// Options of neither side that no axis owns and that are not the same: they cannot be moved.
pub fn unmoved(first: &Words, second: &Words) -> Vec<String> {
    let others = |words: &Words| -> Vec<Said> {
        let other = |said: &&Said| Axis::of(&said.name).is_none() && !BESIDE.contains(&said.name.as_str());
        words.options.iter().filter(other).cloned().collect()
    };
    let (first, second) = (others(first), others(second));
    let apart =
        first.iter().filter(|said| !second.contains(said)).chain(second.iter().filter(|said| !first.contains(said)));
    apart.map(|said| said.name.clone()).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use test_case::test_case;

    use super::*;
    use crate::command::measuring;

    fn words(text: &str) -> Words {
        Words::read(text).unwrap()
    }

    #[test_case("db1 -4", "db1 -4"; "the version of its addresses")]
    #[test_case("db1 --port 5", "db1 --port 5")]
    #[test_case("db1", "db1")]
    fn an_address_is_told_with_what_chooses_it(typed: &str, told: &str) {
        let words = words(typed);
        assert_eq!(ADDRESS.told(&words, &words.method().unwrap()), told);
    }

    fn names(first: &str, second: &str) -> Vec<&'static str> {
        differing(&words(first), &words(second)).iter().map(|axis| axis.name).collect()
    }

    #[test]
    fn two_methods_differ_in_their_axes() {
        assert_eq!(names("ping db1", "tcp_rr db1"), ["interval", "carrier", "size"]);
        assert_eq!(names("db1 -t 1", "db1 -t 5"), [] as [&str; 0], "how long it runs is not an axis");
        assert_eq!(names("db1", "db2 --wait spin"), ["wait", "address"]);
        assert_eq!(names("db1 --rate 10/s", "db1 --every 100ms"), ["interval"], "however it is said");
    }

    #[test]
    fn an_axis_takes_its_options_along() {
        let (ping, rr) = (words("ping db1 -t 9"), words("tcp_rr db1"));
        let interval = Axis::named("interval").unwrap();
        assert_eq!(interval.moved(&rr, &ping).words().join(" "), "rtt db1 --tcp --size 1 --time 9 --every 1s");
        assert_eq!(interval.moved(&ping, &rr).words().join(" "), "rtt db1 --icmp --size 56");
        assert_eq!(ADDRESS.moved(&words("db1 --port 5"), &words("db2")).words().join(" "), "rtt db2");
    }

    #[test]
    fn an_axis_is_told_with_what_comes_with_it() {
        let told = |name: &str, text: &str| {
            let words = words(text);
            Axis::named(name).unwrap().told(&words, &words.method().unwrap())
        };
        assert_eq!(told("interval", "ping db1"), "every 1 s, open loop");
        assert_eq!(told("interval", "tcp_rr db1"), "no pause");
        assert_eq!(told("carrier", "ping db1"), "ICMP, the peer's kernel answers");
        assert_eq!(told("carrier", "tcp_rr db1"), "TCP, a program answers");
        assert_eq!(told("size", "tcp_rr db1"), "1 B each way");
        assert_eq!(told("dscp", "db1 --dscp ef"), "ef");
        assert_eq!(told("dscp", "db1"), "default");
        assert_eq!(told("address", "db1"), "db1");
    }

    /// Every option of every measuring command is of one axis, or stands beside; so no difference can go unseen.
    #[test]
    fn each_option_is_of_one_axis() {
        let definition = measuring::definition();
        let mut all = BTreeSet::new();
        for command in ["rtt", "load", "throughput"] {
            for argument in definition.find_subcommand(command).unwrap().get_arguments() {
                let name = argument.get_long().map(|name| format!("--{name}"));
                all.extend(name.or_else(|| argument.get_short().map(|name| format!("-{name}"))));
            }
        }
        for option in &all {
            let owners = AXES.iter().filter(|axis| axis.owns(option)).count();
            assert!(owners <= 1, "{option} has {owners} axes");
        }
        for axis in AXES {
            assert!(axis.options.iter().all(|option| all.contains(*option)), "{axis:?}");
        }
    }
}
