//! Hosts that are there already: PKB's file of static machines, a JSON array.

use std::collections::BTreeMap;
use std::net::IpAddr;

use logbook::host::{Host, Reach, Ssh};
use serde_json::{Map, Value};

use crate::persona::answer::Answer;
use crate::persona::pkb::flags::complain;

/// Keys whose meaning is kept.
const KEPT: [&str; 8] =
    ["ip_address", "user_name", "keyfile_path", "ssh_port", "internal_ip", "internal_ips", "zone", "tag"];
/// Keys that say nothing about a network.
const IDLE: [&str; 8] = [
    "os_type",
    "install_packages",
    "local_disks",
    "scratch_disk_mountpoints",
    "remote_access_port",
    "disk_specs",
    "password",
    "machine_type",
];

/// The hosts of the file named `path`, whose text is `text`; of those with one of `tags` where there are any.
///
/// # Errors
/// Text that is no such array, with the place of the machine in it.
pub fn read(path: &str, text: &str, tags: &[String]) -> Result<Vec<Host>, Answer> {
    let wrong = |what: String| complain(&format!("--static_vm_file={path}: {what}"));
    let document: Value = serde_json::from_str(text).map_err(|fault| wrong(format!("is no JSON: {fault}")))?;
    let Value::Array(machines) = document else {
        return Err(wrong(
            "is no array of machines: [{\"ip_address\": …, \"user_name\": …, \"keyfile_path\": …}]".into(),
        ));
    };
    let mut hosts = Vec::new();
    for (at, machine) in machines.iter().enumerate() {
        let Value::Object(machine) = machine else { return Err(wrong(format!("machine {at} is no object"))) };
        let tag = machine.get("tag").and_then(Value::as_str);
        if tags.is_empty() || tag.is_some_and(|tag| tags.iter().any(|wanted| wanted == tag)) {
            hosts.push(host(at, machine).map_err(|what| wrong(format!("machine {at}: {what}")))?);
        }
    }
    if hosts.is_empty() && !tags.is_empty() {
        return Err(wrong(format!("no machine has one of the tags {}", tags.join(", "))));
    }
    Ok(hosts)
}

fn host(at: usize, machine: &Map<String, Value>) -> Result<Host, String> {
    let is_known = |key: &&String| KEPT.contains(&key.as_str()) || IDLE.contains(&key.as_str());
    if let Some(key) = machine.keys().find(|key| !is_known(key)) {
        return Err(format!("`{key}` is no key of a machine here: there are {}", KEPT.join(", ")));
    }
    if machine.get("os_type").and_then(Value::as_str).is_some_and(|kind| kind.starts_with("windows")) {
        return Err("`os_type` is a Windows: hosts run Linux".to_owned());
    }
    let external = address("ip_address", text(machine, "ip_address")?)?;
    let user = plain("user_name", text(machine, "user_name")?)?;
    let key_file = plain("keyfile_path", text(machine, "keyfile_path")?)?;
    let port = match machine.get("ssh_port") {
        None | Some(Value::Null) => None,
        Some(port) => {
            let port = port.as_u64().and_then(|port| u16::try_from(port).ok()).filter(|port| *port > 0);
            Some(port.ok_or("`ssh_port` is no port, 1 to 65535")?)
        }
    };
    let internal = match (machine.get("internal_ip"), machine.get("internal_ips")) {
        (Some(Value::String(one)), _) => Some(address("internal_ip", one)?.into()),
        // The first of several is the machine's own, as PKB has it.
        (_, Some(Value::Array(several))) => match several.as_slice() {
            [] => None,
            [Value::String(one), ..] => Some(address("internal_ips", one)?.into()),
            _ => return Err("`internal_ips` holds something else than text".to_owned()),
        },
        (None | Some(Value::Null), None | Some(Value::Null)) => None,
        _ => return Err("`internal_ip` is no text, or `internal_ips` no array".to_owned()),
    };
    let mut labels = BTreeMap::new();
    for key in ["zone", "machine_type", "tag"] {
        if let Some(Value::String(value)) = machine.get(key) {
            labels.insert(key.to_owned(), value.clone());
        }
    }
    // As PKB does not, a host's key is remembered: it is asked for nowhere, and a later change of it is told.
    let options = vec!["StrictHostKeyChecking=accept-new".to_owned()];
    let to = format!("{user}@{external}");
    let reach = Reach::Ssh(Ssh { to, port, key_file: Some(key_file.to_owned()), options, through: Vec::new() });
    Ok(Host { name: format!("static{at}"), reach, internal, external: Some(external.into()), labels, machine: None })
}

fn text<'a>(machine: &'a Map<String, Value>, key: &str) -> Result<&'a str, String> {
    match machine.get(key) {
        Some(Value::String(text)) if !text.is_empty() => Ok(text),
        Some(_) => Err(format!("`{key}` is no text")),
        None => Err(format!("has no `{key}`")),
    }
}

/// Nothing that a command line would take for an option or a second word.
fn plain<'a>(key: &str, text: &'a str) -> Result<&'a str, String> {
    let unfit = text.starts_with('-') || text.contains(|letter: char| letter.is_control() || letter == '@');
    if unfit { Err(format!("`{key}` is `{}`, which is none", text.escape_debug())) } else { Ok(text) }
}

fn address(key: &str, text: &str) -> Result<IpAddr, String> {
    text.parse().map_err(|_| format!("`{key}` is `{}`, which is no address", text.escape_debug()))
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    const TWO: &str = r#"[
        {"ip_address": "192.0.2.1", "user_name": "perf", "keyfile_path": "/k", "ssh_port": 2222, "internal_ip": "10.0.0.1",
         "zone": "rack1", "install_packages": false, "tag": "fast"},
        {"ip_address": "192.0.2.2", "user_name": "perf", "keyfile_path": "/k", "internal_ips": ["10.0.0.2", "10.1.0.2"]}
    ]"#;

    #[test]
    fn machines_become_hosts() {
        let hosts = read("f", TWO, &[]).unwrap();
        let Reach::Ssh(ssh) = &hosts[0].reach else { panic!("{hosts:?}") };
        assert_eq!((ssh.to.as_str(), ssh.port, ssh.key_file.as_deref()), ("perf@192.0.2.1", Some(2222), Some("/k")));
        assert_eq!(hosts[0].internal, Some("10.0.0.1".parse().unwrap()));
        assert_eq!((hosts[0].label("zone"), hosts[1].label("zone")), (Some("rack1"), None));
        assert_eq!((hosts[1].name.as_str(), hosts[1].internal.clone()), ("static1", Some("10.0.0.2".parse().unwrap())));
    }

    #[test]
    fn tags_choose() {
        let fast = read("f", TWO, &["fast".to_owned()]).unwrap();
        assert_eq!((fast.len(), fast[0].name.as_str()), (1, "static0"));
        assert!(read("f", TWO, &["slow".to_owned()]).unwrap_err().stderr.contains("slow"));
    }

    #[test_case("{}", "no array"; "an object")]
    #[test_case("[", "is no JSON"; "cut short")]
    #[test_case("[3]", "machine 0 is no object"; "a number")]
    #[test_case(r#"[{"user_name": "u", "keyfile_path": "/k"}]"#, "machine 0: has no `ip_address`"; "no address")]
    #[test_case(r#"[{"ip_address": "db1", "user_name": "u", "keyfile_path": "/k"}]"#, "which is no address"; "a name")]
    #[test_case(r#"[{"ip_address": "192.0.2.1", "user_name": "-oProxyCommand=x", "keyfile_path": "/k"}]"#, "which is none"; "an option")]
    #[test_case(r#"[{"ip_address": "192.0.2.1", "user_name": "u", "keyfile_path": "/k", "ssh_port": 0}]"#, "no port"; "no port")]
    #[test_case(r#"[{"ip_address": "192.0.2.1", "user_name": "u", "keyfile_path": "/k", "proxy": "x"}]"#, "`proxy` is no key"; "an unknown key")]
    #[test_case(r#"[{"ip_address": "192.0.2.1", "user_name": "u", "keyfile_path": "/k", "os_type": "windows2022_core"}]"#, "Windows"; "a windows")]
    fn what_is_no_machine_is_told(text: &str, says: &str) {
        let answer = read("f", text, &[]).unwrap_err();
        assert!(answer.stderr.contains(says) && answer.stderr.contains("--static_vm_file=f"), "{answer:?}");
    }
}
