//! Rules of a plan beyond the types of its values, each fault with its place in the text.

use std::collections::BTreeMap;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::read::Fault;
use super::{MOST_HOSTS, MOST_METHODS, MOST_REPEATS, Pairs, Plan};
use crate::host::{Address, Host, Reach, is_argument, is_mistyped_address, is_name};
use crate::machines::{MOST, Machines, Placement, is_arm, is_plain, region};

/// A step into a document.
enum Step<'a> {
    Key(&'a str),
    Item(usize),
}

use Step::{Item, Key};

/// That `plan`, which was read from `document`, is one.
pub(super) fn check(plan: &Plan, document: &DeTable<'_>) -> Result<(), Fault> {
    let place = Places { document };
    methods(plan, &place)?;
    numbers(plan, &place)?;
    hosts(plan, &place)?;
    machines(plan, &place)?;
    pairs(plan, &place)
}

/// Positions in the text.
struct Places<'a> {
    document: &'a DeTable<'a>,
}

impl Places<'_> {
    /// Position of the value at `path`, or of the nearest one above it.
    fn of(&self, path: &[Step<'_>]) -> Range<usize> {
        let Some((Key(first), rest)) = path.split_first() else { return 0..0 };
        let Some(mut value) = in_table(self.document, first) else { return 0..0 };
        for step in rest {
            let next = match (step, value.get_ref()) {
                (Key(key), DeValue::Table(table)) => in_table(table, key),
                (Item(item), DeValue::Array(array)) => array.get(*item),
                _ => None,
            };
            let Some(next) = next else { break };
            value = next;
        }
        value.span()
    }

    fn fault(&self, path: &[Step<'_>], what: impl Into<String>, hint: impl Into<String>) -> Fault {
        Fault { at: self.of(path), what: what.into(), hint: hint.into() }
    }
}

/// Position of the command of the method at `item` in `text`, a plan that was read.
pub(super) fn command(text: &str, item: usize) -> Option<Range<usize>> {
    let document = DeTable::parse(text).ok()?;
    Some(Places { document: document.get_ref() }.of(&[Key("methods"), Item(item), Key("command")]))
}

fn in_table<'a, 'i>(table: &'a DeTable<'i>, key: &str) -> Option<&'a Spanned<DeValue<'i>>> {
    table.iter().find(|(name, _)| name.get_ref() == key).map(|(_, value)| value)
}

fn methods(plan: &Plan, place: &Places<'_>) -> Result<(), Fault> {
    let all = [Key("methods")];
    if plan.methods.is_empty() {
        let hint = "write a table `[[methods]]` with a `name` and a `command`, as `rtt -t 5s`";
        return Err(place.fault(&all, "a plan without a method measures nothing", hint));
    }
    if plan.methods.len() > MOST_METHODS {
        let what = format!("{} methods; {MOST_METHODS} are the most", plan.methods.len());
        return Err(place.fault(&all, what, "make several plans of it"));
    }
    let mut seen = BTreeMap::new();
    for (item, method) in plan.methods.iter().enumerate() {
        let at = |key| [Key("methods"), Item(item), Key(key)];
        named(&method.name, "a method").map_err(|(what, hint)| place.fault(&at("name"), what, hint))?;
        if let Some(first) = seen.insert(method.name.as_str(), item) {
            let what = format!("a second method `{}`: the {} has this name", method.name, nth(first));
            return Err(place.fault(&at("name"), what, "results are told apart by the method's name: choose another"));
        }
        if method.command.trim().is_empty() {
            let what = format!("method `{}` has no command", method.name);
            let hint = "write the measuring command without a host, as `command = \"rtt --udp -t 5s\"`";
            return Err(place.fault(&at("command"), what, hint));
        }
    }
    Ok(())
}

fn numbers(plan: &Plan, place: &Places<'_>) -> Result<(), Fault> {
    if !(1..=MOST_REPEATS).contains(&plan.repeats) {
        let what = format!("{} repeats", plan.repeats);
        return Err(place.fault(&[Key("repeats")], what, format!("expected a count from 1 to {MOST_REPEATS}")));
    }
    if plan.port == Some(0) {
        return Err(place.fault(&[Key("port")], "port 0 is none", "expected a number from 1 to 65535"));
    }
    Ok(())
}

fn hosts(plan: &Plan, place: &Places<'_>) -> Result<(), Fault> {
    if plan.hosts.is_empty() && plan.inventory.is_empty() && plan.machines.is_empty() {
        let hint = "write tables `[[hosts]]` with a `name`, how it is reached and its address, or name a file under `inventory`, or \
                    have machines made by `[[machines]]`";
        return Err(place.fault(&[Key("hosts")], "the plan has no hosts and names no inventory", hint));
    }
    if let Some(item) = plan.inventory.iter().position(|path| path.trim().is_empty()) {
        return Err(place.fault(
            &[Key("inventory"), Item(item)],
            "an inventory without a name",
            "expected a file's path",
        ));
    }
    if plan.hosts.len() > MOST_HOSTS {
        let what = format!("{} hosts; {MOST_HOSTS} are the most", plan.hosts.len());
        return Err(place.fault(&[Key("hosts"), Item(MOST_HOSTS)], what, "make several plans of it"));
    }
    let mut seen = BTreeMap::new();
    for (item, host) in plan.hosts.iter().enumerate() {
        let name = [Key("hosts"), Item(item), Key("name")];
        named(&host.name, "a host").map_err(|(what, hint)| place.fault(&name, what, hint))?;
        if let Some(first) = seen.insert(host.name.as_str(), item) {
            let what = format!("a second host `{}`: the {} has this name", host.name, nth(first));
            return Err(place.fault(&name, what, "give each host a name of its own"));
        }
        reach(host, item, place)?;
        if let Some((kind, address)) = host.unreachable() {
            let kind = if kind == Address::Internal { "internal" } else { "external" };
            let what = format!("`{address}` is loopback: other hosts do not reach `{}` by it", host.name);
            let hint = "give the address by which the other hosts reach it";
            return Err(place.fault(&[Key("hosts"), Item(item), Key(kind)], what, hint));
        }
    }
    Ok(())
}

/// That words which become arguments of a command cannot become options of it.
fn reach(host: &Host, item: usize, place: &Places<'_>) -> Result<(), Fault> {
    let (kind, words): (_, Vec<(&str, &str)>) = match &host.reach {
        Reach::Local => return Ok(()),
        Reach::Namespace(name) => ("namespace", vec![("", name)]),
        Reach::Ssh(ssh) => ("ssh", vec![("to", &ssh.to)]),
        Reach::Pod(pod) => ("pod", vec![("pod", &pod.pod)]),
    };
    for (key, word) in words {
        if is_mistyped_address(word.rsplit('@').next().unwrap_or(word)) {
            let path = [Key("hosts"), Item(item), Key("reach"), Key(kind), Key(key)];
            let what = format!("`{}` is no address of host `{}`", word.escape_debug(), host.name);
            return Err(place.fault(&path, what, "expected an address, as 10.0.0.5, or a name"));
        }
        if !is_argument(word) {
            let what = format!("`{}` is nothing that host `{}` could be reached by", word.escape_debug(), host.name);
            let path = [Key("hosts"), Item(item), Key("reach"), Key(kind), Key(key)];
            return Err(place.fault(&path, what, "expected a name that does not begin with `-`"));
        }
    }
    if let Reach::Ssh(ssh) = &host.reach
        && ssh.port == Some(0)
    {
        let path = [Key("hosts"), Item(item), Key("reach"), Key("ssh"), Key("port")];
        return Err(place.fault(&path, "port 0 is none", "expected a number from 1 to 65535"));
    }
    Ok(())
}

/// That machines can be asked of their cloud.
fn machines(plan: &Plan, place: &Places<'_>) -> Result<(), Fault> {
    for (item, machines) in plan.machines.iter().enumerate() {
        let at = |key| [Key("machines"), Item(item), Key(key)];
        let count = machines.machines();
        if machines.zones.is_empty() {
            return Err(place.fault(&at("zones"), "machines in no zone", "name a zone for each set of them"));
        }
        if count == 0 || count > u64::from(MOST) {
            let what = format!("{count} machines");
            return Err(place.fault(
                &at("count"),
                what,
                format!("expected 1 to {MOST} of them, in all zones together"),
            ));
        }
        if let Err(why) = Placement::read(&machines.placement, machines.cloud) {
            let shown = machines.placement.escape_debug();
            return Err(place.fault(&at("placement"), format!("`{shown}` {why}"), "see `docs/clouds.md`"));
        }
        for (zone, named) in machines.zones.iter().enumerate() {
            if let Some(hint) = region(machines.cloud, named) {
                let what = format!("`{}` is a region of {}, not a zone", named.escape_debug(), machines.cloud);
                return Err(place.fault(&[Key("machines"), Item(item), Key("zones"), Item(zone)], what, hint));
            }
        }
        if is_arm(machines.cloud, &machines.machine_type) && std::env::consts::ARCH != "aarch64" {
            let what = format!(
                "`{}` has an ARM processor, and this program is for {}",
                machines.machine_type.escape_debug(),
                std::env::consts::ARCH
            );
            let hint = format!(
                "choose a machine type for {}, or start the plan with the program for aarch64",
                std::env::consts::ARCH
            );
            return Err(place.fault(&at("machine_type"), what, hint));
        }
        words(machines).map_err(|(key, word)| {
            let what = format!("`{}` has letters that no {} has", word.escape_debug(), key.replace('_', " "));
            place.fault(&at(key), what, "expected the vendor's own name of it")
        })?;
    }
    Ok(())
}

/// The first of the words that may not stand in a vendor's command, and its key.
fn words(machines: &Machines) -> Result<(), (&'static str, &str)> {
    let Machines { zones, machine_type, image, user, owner, account, .. } = machines;
    let zones = zones.iter().map(|zone| ("zones", zone, "-"));
    let machine_type = [("machine_type", machine_type, "-_.")];
    let others =
        [("image", image, "-_./:@"), ("user", user, "-_."), ("owner", owner, "-_"), ("account", account, "-_.:@ ")];
    let others = others.into_iter().filter_map(|(key, word, more)| Some((key, word.as_ref()?, more)));
    let mut all = zones.chain(machine_type).chain(others);
    all.find(|(_, word, more)| !is_plain(word, more)).map_or(Ok(()), |(key, word, _)| Err((key, word)))
}

/// That pairs name hosts, as far as these are known: an inventory may have more.
fn pairs(plan: &Plan, place: &Places<'_>) -> Result<(), Fault> {
    let known = |name: &str| {
        !plan.inventory.is_empty() || !plan.machines.is_empty() || plan.hosts.iter().any(|host| host.name == name)
    };
    let stranger = |path: &[Step<'_>], name: &str| {
        let names: Vec<&str> = plan.hosts.iter().take(8).map(|host| host.name.as_str()).collect();
        let more = if plan.hosts.len() > names.len() { ", …" } else { "" };
        place.fault(path, format!("no host is named `{name}`"), format!("the plan has {}{more}", names.join(", ")))
    };
    match &plan.pairs {
        Pairs::OneToAll(name) if !known(name) => Err(stranger(&[Key("pairs"), Key("one-to-all")], name)),
        Pairs::Listed(listed) => {
            for (item, (one, other)) in listed.iter().enumerate() {
                let at = |end| [Key("pairs"), Key("listed"), Item(item), Item(end)];
                if let Some((end, name)) = [one, other].into_iter().enumerate().find(|(_, name)| !known(name)) {
                    return Err(stranger(&at(end), name));
                }
                if one == other {
                    let hint = "a pair has two different hosts";
                    return Err(place.fault(&at(1), format!("`{one}` is paired with itself"), hint));
                }
            }
            Ok(())
        }
        Pairs::Labels(one, other) => {
            for (item, label) in [one, other].into_iter().enumerate() {
                if !label.split_once('=').is_some_and(|(name, value)| !name.is_empty() && !value.is_empty()) {
                    let path = [Key("pairs"), Key("labels"), Item(item)];
                    let what = format!("`{label}` is no label with its value");
                    return Err(place.fault(&path, what, "expected `name=value`, as `zone=us-east1-b`"));
                }
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

/// That a name can stand in a table, a file's name and a line.
fn named(name: &str, of: &str) -> Result<(), (String, String)> {
    if is_name(name) {
        return Ok(());
    }
    let shown: String = name.escape_debug().take(40).collect();
    let what =
        if name.trim().is_empty() { format!("{of} without a name") } else { format!("`{shown}` is no name of {of}") };
    Err((what, "expected a name of 1 to 200 characters in one line".to_owned()))
}

fn nth(place: usize) -> String {
    match place {
        0 => "first".to_owned(),
        1 => "second".to_owned(),
        2 => "third".to_owned(),
        _ => format!("{}th", place + 1),
    }
}
