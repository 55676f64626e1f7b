//! Facts of a host, by name, and the host that they make. Names that tools use for one thing mean one thing here.

use std::collections::BTreeMap;
use std::net::IpAddr;

use logbook::host::data::DataAddresses;
use logbook::host::{Host, Pod, Reach, Ssh, is_argument, is_mistyped_address, is_name};

use super::words;
use crate::document::Fault;

/// Longest value that becomes a label, characters: what is longer tells no host from another.
const LONGEST_LABEL: usize = 200;
/// Longest value of any kind, bytes.
const LONGEST_VALUE: usize = 1_024;
/// Most values of a host.
pub(super) const MOST_VALUES: usize = 64;

/// Facts of a host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Facts {
    pub name: String,
    /// Line of the host, a count from 1.
    pub line: usize,
    /// Values by name, each with its line.
    values: BTreeMap<String, (String, usize)>,
    /// True where the names are variables of Ansible's, which anybody may have made up: then `port` is no port of ssh.
    variables: bool,
}

/// Meaning of a name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Address,
    User,
    Port,
    Identity,
    Connection,
    Arguments,
    Jump,
    Namespace,
    Pod,
    PodNamespace,
    PodContainer,
    PodContext,
    Internal,
    External,
    Machine,
    /// Nothing that is taken over.
    Nothing,
    Label,
}

/// Meaning of `name`; `variables` as in [`Facts`].
fn key(name: &str, variables: bool) -> Key {
    match name {
        "ansible_host" | "ansible_ssh_host" => Key::Address,
        "ansible_user" | "ansible_ssh_user" => Key::User,
        "ansible_port" | "ansible_ssh_port" => Key::Port,
        "ansible_ssh_private_key_file" | "ansible_private_key_file" => Key::Identity,
        "ansible_connection" => Key::Connection,
        "ansible_ssh_common_args" | "ansible_ssh_extra_args" => Key::Arguments,
        "ansible_kubectl_pod" => Key::Pod,
        "ansible_kubectl_namespace" => Key::PodNamespace,
        "ansible_kubectl_container" => Key::PodContainer,
        "ansible_kubectl_context" => Key::PodContext,
        "internal" | "internal_ip" | "internal_address" | "private_ip" | "private_ip_address" | "private_address" => {
            Key::Internal
        }
        "external" | "external_ip" | "external_address" | "public_ip" | "public_ip_address" | "public_address"
        | "nat_ip" => Key::External,
        "machine" => Key::Machine,
        _ if name.starts_with("ansible_") || is_secret(name) => Key::Nothing,
        _ if variables => Key::Label,
        "address" | "host" | "hostname" | "ip" | "ip_address" => Key::Address,
        "user" | "user_name" | "username" | "ssh_user" => Key::User,
        "port" | "ssh_port" => Key::Port,
        "key_file" | "keyfile" | "keyfile_path" | "ssh_key_file" => Key::Identity,
        "connection" => Key::Connection,
        "ssh_args" => Key::Arguments,
        "proxy_jump" | "jump" => Key::Jump,
        "namespace" => Key::Namespace,
        "pod" => Key::Pod,
        _ => Key::Label,
    }
}

/// Returns true where a name says that its value is a secret: labels are kept with every result.
fn is_secret(name: &str) -> bool {
    const PARTS: [&str; 9] =
        ["pass", "secret", "token", "credential", "private_key", "api_key", "apikey", "access_key", "vault"];
    let name = name.to_ascii_lowercase();
    PARTS.iter().any(|part| name.contains(part))
}

/// Returns true where a value is taken over: false where its name means nothing here, and for a label that is too long to
/// tell one host from another.
///
/// # Errors
/// A value beyond the longest that an address, a name or a setting may have.
pub(super) fn is_taken(name: &str, value: &str, variables: bool, line: usize) -> Result<bool, Fault> {
    let value = value.trim();
    match key(name, variables) {
        Key::Nothing => Ok(false),
        Key::Label => Ok(name.len() <= LONGEST_LABEL && value.chars().take(LONGEST_LABEL + 1).count() <= LONGEST_LABEL),
        _ if value.len() > LONGEST_VALUE => Err(Fault::new(
            line,
            format!("`{name}` has more than {LONGEST_VALUE} letters"),
            "it is one word or address",
        )),
        _ => Ok(true),
    }
}

pub(super) fn too_many(host: &str, line: usize) -> Fault {
    let what = format!("more than {MOST_VALUES} values of `{}`", host.escape_debug());
    Fault::new(line, what, "leave away what says nothing of the network")
}

impl Facts {
    pub(super) fn new(name: &str, line: usize) -> Self {
        Self { name: name.to_owned(), line, ..Self::default() }
    }

    /// Makes the facts of a host from variables of Ansible's.
    pub(super) fn of_variables(name: &str, line: usize) -> Self {
        Self { variables: true, ..Self::new(name, line) }
    }

    /// That `name` is `value`. A later value replaces an earlier one; an empty value is none.
    pub(super) fn tell(&mut self, name: &str, value: &str, line: usize) -> Result<(), Fault> {
        if !is_taken(name, value, self.variables, line)? {
            return Ok(());
        }
        let value = value.trim();
        if value.is_empty() {
            self.values.remove(name);
            return Ok(());
        }
        self.values.insert(name.to_owned(), (value.to_owned(), line));
        if self.values.len() > MOST_VALUES { Err(too_many(&self.name, line)) } else { Ok(()) }
    }

    /// The host.
    pub(super) fn host(self) -> Result<Host, Fault> {
        if !is_name(&self.name) {
            let what = format!("`{}` is no name of a host", self.name.escape_debug());
            return Err(Fault::new(self.line, what, "expected a name of 1 to 200 characters in one line"));
        }
        let mut known = BTreeMap::new();
        let mut labels = BTreeMap::new();
        for (name, (value, line)) in &self.values {
            match key(name, self.variables) {
                Key::Label => {
                    labels.insert(name.clone(), value.clone());
                }
                key => {
                    known.insert(key, (value.as_str(), *line));
                }
            }
        }
        let known = Known(known);
        let line = self.line;
        let mut host = Host {
            reach: self.reach(&known)?,
            internal: self.address(&known, Key::Internal, &mut labels)?,
            external: self.address(&known, Key::External, &mut labels)?,
            machine: known.text(Key::Machine),
            labels,
            name: self.name,
        };
        place(&mut host, &known);
        if let Some((_, address)) = host.unreachable() {
            let what = format!("`{address}` is loopback: other hosts do not reach `{}` by it", host.name);
            return Err(Fault::new(
                line,
                what,
                "give the address by which the other hosts reach it, as internal=10.0.0.5",
            ));
        }
        Ok(host)
    }

    fn reach(&self, known: &Known<'_>) -> Result<Reach, Fault> {
        if let Some(namespace) = known.text(Key::Namespace) {
            return self.argument(&namespace).map(|()| Reach::Namespace(namespace));
        }
        let alone = self.name == "localhost" && known.get(Key::Address).is_none();
        let pod = known.get(Key::Pod).is_some();
        let default = if pod {
            "kubectl"
        } else if alone {
            "local"
        } else {
            "ssh"
        };
        match known.get(Key::Connection).map_or((default, self.line), |known| known) {
            ("local", _) => Ok(Reach::Local),
            ("ssh" | "smart" | "paramiko" | "paramiko_ssh" | "ansible.builtin.ssh", _) => self.ssh(known),
            ("kubectl" | "kubernetes.core.kubectl", _) => self.pod(known),
            (other, line) => {
                let what = format!("`{}` is reached by `{}`, which is not known here", self.name, other.escape_debug());
                Err(Fault::new(line, what, "there are ssh, local and kubectl"))
            }
        }
    }

    fn ssh(&self, known: &Known<'_>) -> Result<Reach, Fault> {
        let host = known.text(Key::Address).unwrap_or_else(|| self.name.clone());
        let to = known.get(Key::User).map_or_else(|| host.clone(), |(user, _)| format!("{user}@{host}"));
        self.argument(&host)?;
        self.argument(&to)?;
        if is_mistyped_address(&host) {
            let line = known.get(Key::Address).map_or(self.line, |(_, line)| line);
            return Err(self.no_address(&host, line));
        }
        if to.contains(char::is_whitespace) {
            return Err(self.unreachable(&to));
        }
        let mut ssh = Ssh {
            to,
            port: self.port(known)?,
            key_file: known.text(Key::Identity),
            options: Vec::new(),
            through: Vec::new(),
        };
        if let Some((jump, _)) = known.get(Key::Jump) {
            ssh.options.push(format!("ProxyJump={jump}"));
        }
        if let Some((arguments, line)) = known.get(Key::Arguments) {
            options(&mut ssh, arguments, line)?;
        }
        Ok(Reach::Ssh(ssh))
    }

    fn pod(&self, known: &Known<'_>) -> Result<Reach, Fault> {
        let pod = known.text(Key::Pod).unwrap_or_else(|| self.name.clone());
        self.argument(&pod)?;
        Ok(Reach::Pod(Pod {
            pod,
            namespace: known.text(Key::PodNamespace),
            container: known.text(Key::PodContainer),
            context: known.text(Key::PodContext),
        }))
    }

    fn argument(&self, word: &str) -> Result<(), Fault> {
        if is_argument(word) { Ok(()) } else { Err(self.unreachable(word)) }
    }

    fn unreachable(&self, word: &str) -> Fault {
        let what = format!("`{}` is nothing that `{}` could be reached by", word.escape_debug(), self.name);
        Fault::new(self.line, what, "expected a host's name or address that does not begin with `-`")
    }

    fn port(&self, known: &Known<'_>) -> Result<Option<u16>, Fault> {
        let Some((text, line)) = known.get(Key::Port) else { return Ok(None) };
        let port = text.parse().ok().filter(|port| *port > 0);
        let what = || format!("`{}` is no port of `{}`", text.escape_debug(), self.name);
        port.map(Some).ok_or_else(|| Fault::new(line, what(), "expected a number from 1 to 65535"))
    }

    /// An address that is told as such; a variable of the same name that is none stays a label.
    fn address(
        &self,
        known: &Known<'_>,
        key: Key,
        labels: &mut BTreeMap<String, String>,
    ) -> Result<Option<DataAddresses>, Fault> {
        let Some((text, line)) = known.get(key) else { return Ok(None) };
        match text.parse::<DataAddresses>() {
            // A variable may be called so and mean something else: a word is no name there.
            Ok(found) if !self.variables || found.each().iter().all(|one| one.ip().is_some()) => Ok(Some(found)),
            _ if self.variables && !is_mistyped_address(text) => {
                let name = if key == Key::Internal { "internal" } else { "external" };
                labels.insert(name.to_owned(), text.to_owned());
                Ok(None)
            }
            _ => Err(self.no_address(text, line)),
        }
    }

    fn no_address(&self, text: &str, line: usize) -> Fault {
        let what = format!("`{}` is no address of `{}`", text.escape_debug(), self.name);
        Fault::new(line, what, "expected addresses or names, as 10.0.0.5, 2001:db8::5 or db-1.internal")
    }
}

/// Values by their meaning.
struct Known<'a>(BTreeMap<Key, (&'a str, usize)>);

impl<'a> Known<'a> {
    fn get(&self, key: Key) -> Option<(&'a str, usize)> {
        self.0.get(&key).copied()
    }

    fn text(&self, key: Key) -> Option<String> {
        self.get(key).map(|(text, _)| text.to_owned())
    }
}

/// Sets the address that a host is reached at, where no fact names its kind: a private one is its internal address, any
/// other its external one. Beside an internal address it is the external one.
fn place(host: &mut Host, known: &Known<'_>) {
    let reached = known.get(Key::Address).map_or(host.name.as_str(), |(text, _)| text);
    let Ok(address) = reached.parse::<IpAddr>() else {
        if host.reach == Reach::Local && host.internal.is_none() && host.external.is_none() {
            host.internal = Some(IpAddr::from(std::net::Ipv4Addr::LOCALHOST).into());
        }
        return;
    };
    let other = host.internal.as_ref().is_some_and(|internal| !internal.holds(address));
    if host.internal.is_none()
        && is_private(address)
        && !host.external.as_ref().is_some_and(|external| external.holds(address))
    {
        host.internal = Some(address.into());
    } else if host.external.is_none() && (other || !is_private(address)) {
        host.external = Some(address.into());
    }
}

/// Returns true for an address that means something within a network alone (RFC 1918, 6598, 4193, loopback and link-local).
fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => {
            let [first, second, ..] = address.octets();
            let shared = first == 100 && (64..128).contains(&second);
            address.is_private() || address.is_loopback() || address.is_link_local() || shared
        }
        IpAddr::V6(address) => address.is_loopback() || address.is_unique_local() || address.is_unicast_link_local(),
    }
}

/// Takes arguments of `ssh` over: `-o`, `-J` and `-i` alone, for the rest would do something else.
fn options(ssh: &mut Ssh, arguments: &str, line: usize) -> Result<(), Fault> {
    let fault = |what: String| Fault::new(line, what, "there are `-o Setting=value`, `-J host` and `-i file`");
    let words = words::split(arguments).map_err(|why| fault(format!("arguments of ssh: {why}")))?;
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let split = word.split_at_checked(2).filter(|(flag, _)| ["-o", "-J", "-i"].contains(flag));
        let Some((flag, value)) = split else { return Err(fault(format!("`{word}` is not passed on to ssh"))) };
        let value = if value.is_empty() { words.next().unwrap_or_default() } else { value.to_owned() };
        if value.is_empty() {
            return Err(fault(format!("`{flag}` without a value")));
        }
        match flag {
            "-o" => ssh.options.push(value),
            "-J" => ssh.options.push(format!("ProxyJump={value}")),
            _ => ssh.key_file = Some(value),
        }
    }
    Ok(())
}
