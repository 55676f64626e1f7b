//! Rules that would let measurements through where something is closed, by the keeper of the gate.

use logbook::host::Host;
use logbook::run::{Answer, PairCheck};

/// Rules that let others reach one host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opening {
    /// The host that is not reached.
    pub host: String,
    /// Closed ports and protocols, as `TCP port 7663`.
    pub closed: Vec<String>,
    /// Hosts that do not reach it.
    pub from: Vec<String>,
    /// Commands, each with where it is run; one of them is enough.
    pub rules: Vec<(String, String)>,
}

/// Closed ports, host by host, with the rules that would open them; `port` is the one at which a host answers. A port that a
/// host itself refuses wants no rule but somebody who listens, and is not among them.
pub fn openings(hosts: &[Host], checks: &[PairCheck], port: &dyn Fn(&str) -> u16) -> Vec<Opening> {
    let of = |host: &Host| {
        let port = port(&host.name);
        let shut = |answer: Answer| matches!(answer, Answer::Silent | Answer::Rejected);
        let here: Vec<&PairCheck> = checks.iter().filter(|check| check.to == host.name).collect();
        let gates = [
            (Gate::Icmp, here.iter().any(|check| shut(check.icmp))),
            (Gate::Tcp, here.iter().any(|check| shut(check.tcp))),
            (Gate::Udp, here.iter().any(|check| shut(check.udp))),
        ];
        let gates: Vec<Gate> = gates.into_iter().filter_map(|(gate, shut)| shut.then_some(gate)).collect();
        let from = here.iter().filter(|check| shut(check.icmp) || shut(check.tcp) || shut(check.udp));
        (!gates.is_empty()).then(|| Opening {
            host: host.name.clone(),
            closed: gates.iter().map(|gate| gate.name(port)).collect(),
            from: from.map(|check| check.from.clone()).collect(),
            rules: rules(host, &gates, port),
        })
    };
    hosts.iter().filter_map(of).collect()
}

/// Traffic that a packet filter may keep out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gate {
    Icmp,
    Tcp,
    Udp,
}

impl Gate {
    fn name(self, port: u16) -> String {
        match self {
            Self::Icmp => "ICMP echo".to_owned(),
            Self::Tcp => format!("TCP port {port}"),
            Self::Udp => format!("UDP port {port}"),
        }
    }
}

fn rules(host: &Host, gates: &[Gate], port: u16) -> Vec<(String, String)> {
    let cloud = host.label("cloud").map(str::to_lowercase);
    let mut rules = Vec::new();
    if let Some(cloud) = cloud.as_deref() {
        rules.extend(of_cloud(cloud, host, gates, port).map(|rule| (format!("at {cloud}"), rule)));
    }
    let on = format!("on {}", host.name);
    let each = |rule: &dyn Fn(Gate) -> String| gates.iter().map(|gate| rule(*gate)).collect::<Vec<_>>().join(" && ");
    rules.push((format!("{on}, nftables"), each(&|gate| nftables(gate, port))));
    rules.push((format!("{on}, firewalld"), each(&|gate| firewalld(gate, port))));
    rules.push((format!("{on}, ufw"), each(&|gate| ufw(gate, port))));
    rules
}

fn nftables(gate: Gate, port: u16) -> String {
    let accept = match gate {
        Gate::Icmp => "meta l4proto { icmp, ipv6-icmp }".to_owned(),
        Gate::Tcp => format!("tcp dport {port}"),
        Gate::Udp => format!("udp dport {port}"),
    };
    format!("nft insert rule inet filter input {accept} accept")
}

fn firewalld(gate: Gate, port: u16) -> String {
    match gate {
        Gate::Icmp => "firewall-cmd --remove-icmp-block=echo-request".to_owned(),
        Gate::Tcp => format!("firewall-cmd --add-port={port}/tcp"),
        Gate::Udp => format!("firewall-cmd --add-port={port}/udp"),
    }
}

fn ufw(gate: Gate, port: u16) -> String {
    match gate {
        // ufw has no word for ICMP: it stands in a file of rules, which lets echoes in as installed.
        Gate::Icmp => {
            "sed -i 's/echo-request -j DROP/echo-request -j ACCEPT/' /etc/ufw/before.rules && ufw reload".to_owned()
        }
        Gate::Tcp => format!("ufw allow {port}/tcp"),
        Gate::Udp => format!("ufw allow {port}/udp"),
    }
}

fn of_cloud(cloud: &str, host: &Host, gates: &[Gate], port: u16) -> Option<String> {
    let label = |name: &str, placeholder: &str| host.label(name).unwrap_or(placeholder).to_owned();
    let each = |rule: &dyn Fn(Gate) -> String| gates.iter().map(|gate| rule(*gate)).collect::<Vec<_>>();
    match cloud {
        "gcp" => {
            let allowed = each(&|gate| match gate {
                Gate::Icmp => "icmp".to_owned(),
                Gate::Tcp => format!("tcp:{port}"),
                Gate::Udp => format!("udp:{port}"),
            });
            Some(format!(
                "gcloud compute firewall-rules create sonde-{port} --network {} --allow {} --source-ranges 10.0.0.0/8",
                label("network", "NETWORK"),
                allowed.join(",")
            ))
        }
        "aws" => {
            let group = label("security_group", "SECURITY_GROUP");
            let rule = |gate: Gate| {
                let what = match gate {
                    Gate::Icmp => "--protocol icmp --port -1".to_owned(),
                    Gate::Tcp => format!("--protocol tcp --port {port}"),
                    Gate::Udp => format!("--protocol udp --port {port}"),
                };
                format!("aws ec2 authorize-security-group-ingress --group-id {group} {what} --cidr 10.0.0.0/8")
            };
            Some(each(&rule).join(" && "))
        }
        "azure" => {
            let (group, nsg) = (label("resource_group", "RESOURCE_GROUP"), label("security_group", "NSG"));
            let rule = |gate: Gate| {
                let (protocol, ports) = match gate {
                    Gate::Icmp => ("Icmp", "'*'".to_owned()),
                    Gate::Tcp => ("Tcp", port.to_string()),
                    Gate::Udp => ("Udp", port.to_string()),
                };
                format!(
                    "az network nsg rule create --resource-group {group} --nsg-name {nsg} --name sonde-{} \
                     --priority 300 --access Allow --protocol {protocol} --destination-port-ranges {ports}",
                    protocol.to_lowercase()
                )
            };
            Some(each(&rule).join(" && "))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use logbook::host::{Address, Reach};
    use test_case::test_case;

    use super::*;

    fn host(name: &str, labels: &[(&str, &str)]) -> Host {
        Host {
            name: name.to_owned(),
            reach: Reach::Local,
            internal: None,
            external: None,
            labels: labels.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
            machine: None,
        }
    }

    fn check(from: &str, to: &str, icmp: Answer, tcp: Answer, udp: Answer) -> PairCheck {
        PairCheck {
            from: from.to_owned(),
            to: to.to_owned(),
            over: Address::Internal,
            address: Some(Ipv4Addr::LOCALHOST.into()),
            name: None,
            icmp,
            tcp,
            udp,
            mtu_bytes: None,
            mtu_hole: false,
            failure: None,
        }
    }

    #[test]
    fn what_is_shut_is_told_host_by_host_and_what_nobody_listens_at_is_not() {
        let hosts = [host("a", &[]), host("b", &[]), host("c", &[])];
        let checks = [
            check("a", "b", Answer::Open, Answer::Silent, Answer::NotAsked),
            check("c", "b", Answer::Silent, Answer::Rejected, Answer::NotAsked),
            check("b", "a", Answer::Open, Answer::Closed, Answer::NotAsked),
            check("a", "c", Answer::Open, Answer::Open, Answer::Silent),
        ];
        let found = openings(&hosts, &checks, &|_| 7663);
        let told: Vec<(&str, Vec<&str>, Vec<&str>)> = found
            .iter()
            .map(|opening| {
                (
                    opening.host.as_str(),
                    opening.closed.iter().map(String::as_str).collect(),
                    opening.from.iter().map(String::as_str).collect(),
                )
            })
            .collect();
        assert_eq!(
            told,
            [("b", vec!["ICMP echo", "TCP port 7663"], vec!["a", "c"]), ("c", vec!["UDP port 7663"], vec!["a"]),]
        );
    }

    #[test_case(
        "gcp",
        "gcloud compute firewall-rules create sonde-5000 --network n1 --allow tcp:5000 --source-ranges 10.0.0.0/8"
    )]
    #[test_case(
        "aws",
        "aws ec2 authorize-security-group-ingress --group-id SECURITY_GROUP --protocol tcp --port 5000 --cidr 10.0.0.0/8"
    )]
    #[test_case(
        "azure",
        "az network nsg rule create --resource-group RESOURCE_GROUP --nsg-name NSG --name sonde-tcp --priority 300 --access Allow --protocol Tcp --destination-port-ranges 5000"
    )]
    fn a_cloud_has_its_own_rule_first(cloud: &str, rule: &str) {
        let hosts = [host("b", &[("cloud", cloud), ("network", "n1")])];
        let checks = [check("a", "b", Answer::Open, Answer::Silent, Answer::NotAsked)];
        let found = openings(&hosts, &checks, &|_| 5000);
        assert_eq!(found[0].rules[0], (format!("at {cloud}"), rule.to_owned()));
        assert_eq!(found[0].rules.len(), 4, "and those of the host itself");
    }
}
