//! Output of the programs that know of hosts and targets, as far as it is read here: hosts that are not up, or have no
//! address, are left out.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use anyhow::{Context, Result, bail};
use logbook::host::data::DataAddresses;
use logbook::host::{Address, Host, Pod, Reach, Ssh};
use logbook::monitor::discovery::{Found, Login, Source};
use logbook::monitor::plan::Target;
use logbook::monitor::talk::Over;
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// Hosts and targets in the output of the program of `source`.
///
/// # Errors
/// It is not what that program prints.
pub fn found(source: &Source, text: &str) -> Result<Found> {
    let hosts = |hosts: Vec<Host>| Found { hosts, targets: Vec::new() };
    let targets = |targets: Vec<Target>| Found { hosts: Vec::new(), targets };
    Ok(match source {
        Source::Dns { over, zone, .. } => targets(records(text, *over, zone.as_deref())?),
        Source::Kubernetes { context, container, .. } => {
            hosts(pods(&json(text)?, context.as_deref(), container.as_deref()))
        }
        Source::KubernetesService { port, over, .. } => targets(endpoints(&json(text)?, port.as_deref(), *over)),
        Source::Gcloud { login, .. } => hosts(of_google(json(text)?, login)),
        Source::Aws { login, .. } => hosts(of_aws(&json(text)?, login)),
        Source::Azure { login, .. } => hosts(of_azure(json(text)?, login)),
        Source::Command { .. } => json(text)?,
    })
}

fn json<T: DeserializeOwned>(text: &str) -> Result<T> {
    serde_json::from_str(text).context("what it printed is not the JSON that was expected")
}

/// Lines of `dig +short`: priority, weight, port, host. Those that begin with `;` are remarks.
fn records(text: &str, over: Over, zone: Option<&str>) -> Result<Vec<Target>> {
    let mut found = BTreeMap::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with(';')) {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let [_, _, port, host] = words.as_slice() else {
            // An alias on the way to the records.
            if words.len() == 1 {
                continue;
            }
            bail!("`{line}` is no SRV record");
        };
        let port: u16 = port.parse().ok().with_context(|| format!("`{line}` has no port"))?;
        let host = host.trim_end_matches('.');
        // A host of no name says that the service is not there (RFC 2782).
        if !host.is_empty() {
            let port = Some(port).filter(|_| over != Over::Icmp);
            found.insert((host.to_owned(), port), target(host, host, port, over, zone));
        }
    }
    let ports_of = |host: &str| found.keys().filter(|(other, _)| other == host).count();
    let named = found.iter().map(|((host, port), target)| match port {
        Some(port) if ports_of(host) > 1 => Target { name: format!("{host}:{port}"), ..target.clone() },
        _ => target.clone(),
    });
    Ok(named.collect())
}

fn target(name: &str, address: &str, port: Option<u16>, over: Over, zone: Option<&str>) -> Target {
    let (name, address, zone) = (name.to_owned(), address.to_owned(), zone.map(str::to_owned));
    Target {
        name,
        address,
        port,
        over,
        from: None,
        zone,
        url: None,
        ca: None,
        tls_name: None,
        insecure: false,
        headers: None,
        expect: None,
        password_file: None,
    }
}

/// A list as `kubectl get … -o json` prints it.
#[derive(Debug, Deserialize)]
struct Items<T> {
    items: Vec<T>,
}

#[derive(Debug, Deserialize)]
struct PodItem {
    metadata: Metadata,
    #[serde(default)]
    spec: PodSpec,
    #[serde(default)]
    status: PodStatus,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    #[serde(default)]
    name: String,
    #[serde(default)]
    namespace: Option<String>,
    #[serde(default)]
    labels: BTreeMap<String, String>,
    #[serde(default)]
    deletion_timestamp: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct PodSpec {
    node_name: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct PodStatus {
    phase: String,
    #[serde(rename = "podIP")]
    pod_ip: Option<String>,
}

/// The label that Kubernetes gives what is in a zone.
const ZONE: &str = "topology.kubernetes.io/zone";

fn pods(list: &Items<PodItem>, context: Option<&str>, container: Option<&str>) -> Vec<Host> {
    let is_up = |pod: &&PodItem| pod.status.phase == "Running" && pod.metadata.deletion_timestamp.is_none();
    let host = |pod: &PodItem| {
        let own = |text: Option<&str>| text.map(str::to_owned);
        let reach = Pod {
            pod: pod.metadata.name.clone(),
            namespace: pod.metadata.namespace.clone(),
            container: own(container),
            context: own(context),
        };
        let labels =
            [("node", pod.spec.node_name.as_deref()), ("zone", pod.metadata.labels.get(ZONE).map(String::as_str))];
        Some(Host {
            name: pod.metadata.name.clone(),
            reach: Reach::Pod(reach),
            internal: Some(addresses(pod.status.pod_ip.as_deref()?)?),
            external: None,
            labels: labelled(&labels),
            machine: pod.spec.node_name.clone(),
        })
    };
    list.items.iter().filter(is_up).filter_map(host).collect()
}

#[derive(Debug, Deserialize)]
struct Slice {
    #[serde(default)]
    endpoints: Option<Vec<Endpoint>>,
    #[serde(default)]
    ports: Option<Vec<SlicePort>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Endpoint {
    #[serde(default)]
    addresses: Vec<String>,
    #[serde(default)]
    conditions: Conditions,
    #[serde(default)]
    target_ref: Option<Referred>,
    #[serde(default)]
    zone: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
struct Conditions {
    #[serde(default)]
    ready: Option<bool>,
}

#[derive(Debug, Deserialize)]
struct Referred {
    #[serde(default)]
    name: String,
}

#[derive(Debug, Deserialize)]
struct SlicePort {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    port: Option<u16>,
}

fn endpoints(list: &Items<Slice>, port: Option<&str>, over: Over) -> Vec<Target> {
    let mut found = BTreeMap::new();
    for slice in &list.items {
        let named = |each: &&SlicePort| port.is_none_or(|port| each.name.as_deref() == Some(port));
        let number = slice.ports.iter().flatten().find(named).and_then(|each| each.port);
        let port = if over == Over::Icmp { None } else { number };
        if port.is_none() && over != Over::Icmp {
            continue;
        }
        // Absent means ready, as Kubernetes has it.
        let ready = slice.endpoints.iter().flatten().filter(|endpoint| endpoint.conditions.ready != Some(false));
        for endpoint in ready {
            let Some(address) = endpoint.addresses.first() else { continue };
            let name = endpoint.target_ref.as_ref().map_or(address.as_str(), |pod| pod.name.as_str());
            // A pod stands in a slice for each family of addresses: the first one's is taken.
            found.entry(name.to_owned()).or_insert_with(|| target(name, address, port, over, endpoint.zone.as_deref()));
        }
    }
    found.into_values().collect()
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct Instance {
    name: String,
    status: String,
    zone: String,
    machine_type: String,
    network_interfaces: Vec<GoogleInterface>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct GoogleInterface {
    #[serde(rename = "networkIP")]
    network_ip: Option<String>,
    access_configs: Vec<AccessConfig>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct AccessConfig {
    #[serde(rename = "natIP")]
    nat_ip: Option<String>,
}

fn of_google(list: Vec<Instance>, login: &Login) -> Vec<Host> {
    let last = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let host = |instance: Instance| {
        let first = instance.network_interfaces.first()?;
        let external = first.access_configs.iter().find_map(|each| each.nat_ip.as_deref());
        let (zone, kind) = (last(&instance.zone), last(&instance.machine_type));
        let region = zone.rsplit_once('-').map(|(region, _)| region.to_owned());
        let labels = [
            ("cloud", Some("gcp")),
            ("zone", Some(zone.as_str())),
            ("region", region.as_deref()),
            ("machine_type", Some(kind.as_str())),
        ];
        machine(&instance.name, [first.network_ip.as_deref(), external], &labels, login)
    };
    list.into_iter().filter(|instance| instance.status == "RUNNING").filter_map(host).collect()
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Reservations {
    reservations: Vec<Reservation>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Reservation {
    #[serde(default)]
    instances: Vec<AwsInstance>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct AwsInstance {
    instance_id: String,
    instance_type: String,
    private_ip_address: Option<String>,
    public_ip_address: Option<String>,
    placement: Placement,
    state: InstanceState,
    tags: Vec<Tag>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Placement {
    availability_zone: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct InstanceState {
    name: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Tag {
    key: String,
    value: String,
}

fn of_aws(list: &Reservations, login: &Login) -> Vec<Host> {
    let running = || {
        let all = list.reservations.iter().flat_map(|reservation| &reservation.instances);
        all.filter(|instance| instance.state.name == "running")
    };
    let name = |instance: &AwsInstance| {
        let tag = instance.tags.iter().find(|tag| tag.key == "Name");
        tag.map(|tag| tag.value.clone()).filter(|name| !name.is_empty())
    };
    let (mut seen, mut twice) = (BTreeSet::new(), BTreeSet::new());
    for name in running().filter_map(name) {
        if !seen.insert(name.clone()) {
            twice.insert(name);
        }
    }
    let host = |instance: &AwsInstance| {
        // A tag is a name where no other machine has the same.
        let name = name(instance).filter(|name| !twice.contains(name)).unwrap_or_else(|| instance.instance_id.clone());
        let zone = instance.placement.availability_zone.as_deref();
        let region = zone.map(|zone| zone.trim_end_matches(|letter: char| letter.is_ascii_lowercase()));
        let labels = [
            ("cloud", Some("aws")),
            ("zone", zone),
            ("region", region),
            ("machine_type", Some(instance.instance_type.as_str())),
        ];
        machine(&name, [instance.private_ip_address.as_deref(), instance.public_ip_address.as_deref()], &labels, login)
    };
    running().filter_map(host).collect()
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct AzureMachine {
    name: String,
    location: String,
    power_state: String,
    private_ips: Option<String>,
    public_ips: Option<String>,
    zones: Option<Vec<String>>,
    hardware_profile: Hardware,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Hardware {
    vm_size: Option<String>,
}

fn of_azure(list: Vec<AzureMachine>, login: &Login) -> Vec<Host> {
    let first = |list: &Option<String>| {
        let first = list.as_deref()?.split(',').next()?.trim();
        (!first.is_empty()).then(|| first.to_owned())
    };
    let host = |each: AzureMachine| {
        let zone = each.zones.iter().flatten().next().map(|zone| format!("{}-{zone}", each.location));
        let labels = [
            ("cloud", Some("azure")),
            ("zone", zone.as_deref()),
            ("region", Some(each.location.as_str())),
            ("machine_type", each.hardware_profile.vm_size.as_deref()),
        ];
        machine(&each.name, [first(&each.private_ips).as_deref(), first(&each.public_ips).as_deref()], &labels, login)
    };
    list.into_iter().filter(|each| each.power_state == "VM running").filter_map(host).collect()
}

/// A machine of a cloud with its addresses inside and outside; `None` where it has neither.
fn machine(
    name: &str,
    [internal, external]: [Option<&str>; 2],
    labels: &[(&str, Option<&str>)],
    login: &Login,
) -> Option<Host> {
    let (internal, external) = (internal.and_then(addresses), external.and_then(addresses));
    let at = match login.at {
        Address::Internal => internal.as_ref().or(external.as_ref()),
        Address::External => external.as_ref().or(internal.as_ref()),
    }?;
    let at = at.each().first()?.to_string();
    let to = login.user.as_ref().map_or_else(|| at.clone(), |user| format!("{user}@{at}"));
    let ssh = Ssh { to, port: None, key_file: None, options: Vec::new(), through: Vec::new() };
    let reach = Reach::Ssh(ssh);
    Some(Host { name: name.to_owned(), reach, internal, external, labels: labelled(labels), machine: None })
}

fn addresses(text: &str) -> Option<DataAddresses> {
    let address: IpAddr = text.parse().ok()?;
    Some(DataAddresses::from(address))
}

fn labelled(labels: &[(&str, Option<&str>)]) -> BTreeMap<String, String> {
    let known = labels.iter().filter_map(|(name, value)| Some(((*name).to_owned(), (*value)?.to_owned())));
    known.filter(|(_, value)| !value.is_empty()).collect()
}
