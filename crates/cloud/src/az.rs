//! Microsoft Azure by `az`: its words and signs.
//!
//! Everything lies in one resource group, and goes with it in one call.

use std::collections::BTreeMap;

use logbook::failure::Failure;
use logbook::machines::{Opening, Placement, Protocol};

use crate::census::{Census, Listing};
use crate::fault::Kind;
use crate::resource::{Find, Read, Resource, words};
use crate::vendor::{Drawn, Machine, Tool, Vendor};
use crate::wanted::{Group, Wanted, once};

/// Microsoft Azure.
pub const VENDOR: Vendor = Vendor {
    tool: Tool {
        whose: "azure",
        program: "az",
        install: "the Azure CLI, https://aka.ms/azure-cli (or `pip install azure-cli`)",
        login: "`az login`; --account SUBSCRIPTION takes another subscription",
        rights: "Contributor",
        environment: &[
            ("AZURE_CORE_NO_COLOR", "1"),
            ("AZURE_CORE_ONLY_SHOW_ERRORS", "1"),
            ("AZURE_CORE_COLLECT_TELEMETRY", "0"),
        ],
        always: &["--output", "json"],
        account: "--subscription",
        faults: &[
            ("please run 'az login'", Kind::NotLoggedIn),
            ("az login", Kind::NotLoggedIn),
            ("toomanyrequests", Kind::RateLimited),
            ("throttl", Kind::RateLimited),
            ("quotaexceeded", Kind::Quota),
            ("quota", Kind::Quota),
            ("limit on", Kind::Quota),
            ("skunotavailable", Kind::NoCapacity),
            ("allocationfailed", Kind::NoCapacity),
            ("overconstrained", Kind::NoCapacity),
            ("authorizationfailed", Kind::Permission),
            ("does not have authorization", Kind::Permission),
            ("notfound)", Kind::NotFound),
            ("could not be found", Kind::NotFound),
            ("was not found", Kind::NotFound),
            ("alreadyexists", Kind::AlreadyExists),
            ("anotheroperationinprogress", Kind::Busy),
            ("resourcegroupbeingdeleted", Kind::Busy),
            ("inuse", Kind::Busy),
            ("internalservererror", Kind::Passing),
            ("serviceunavailable", Kind::Passing),
        ],
    },
    pick: &["--query", "{}", "--output", "tsv"],
    user: "sonde",
    draw,
    census: Census {
        regions: None,
        listings: &[Listing {
            what: "resource group",
            list: "group list --tag sonde-run",
            items: "*",
            reads: &[("NAME", "name")],
            deletes: &["group delete --name $NAME --yes --no-wait"],
        }],
    },
};

/// The region of a zone, and the zone's number where it has one: `eastus-2`.
fn region(zone: &str) -> (&str, Option<&str>) {
    zone.split_once('-').map_or((zone, None), |(region, number)| (region, Some(number)))
}

/// Draws the wanted machines: resources in the order in which they are made, hosts, and notes.
fn draw(wanted: &Wanted) -> Result<Drawn, Failure> {
    let (placement, note) = wanted.placed(|_| true)?;
    let regions = once(wanted.zones().into_iter().map(|zone| region(zone).0));
    let plan = Plan { wanted, group: format!("sonde-{}", wanted.run), placement, regions };
    let mut resources = vec![plan.resource_group()];
    for (index, name) in plan.regions.iter().enumerate() {
        resources.extend(plan.network(index, name));
    }
    for (index, one) in plan.regions.iter().enumerate() {
        let others = plan.regions.iter().filter(|other| *other != one);
        resources.extend(others.map(|other| plan.peering(index, one, other)));
    }
    resources.extend(wanted.each().flat_map(|(number, group)| plan.machine(number, group)));
    let machines = wanted.each().map(|(number, group)| plan.host(number, group)).collect();
    Ok(Drawn { resources, machines, notes: note.into_iter().collect() })
}

struct Plan<'a> {
    wanted: &'a Wanted,
    group: String,
    placement: Placement,
    regions: Vec<&'a str>,
}

impl Plan<'_> {
    /// A thing of the resource group: `group` of commands, its name, the words that make it and those that tell it apart.
    fn thing(&self, key: String, what: &str, commands: &str, name: &str, create: &[&str], at: &[&str]) -> Resource {
        let verb =
            |verb: &str| words(&format!("{commands} {verb}"), &["--resource-group", &self.group, "--name", name]);
        let mut make = verb("create");
        make.extend(words("", at));
        make.extend(words("", create));
        let mut find = verb("show");
        find.extend(words("", at));
        Resource {
            key,
            what: format!("{what} {name}"),
            needs: vec!["group".into()],
            create: Some(make),
            find: Find {
                state: Some("provisioningState".into()),
                good: vec!["Succeeded".into()],
                bad: vec!["Failed".into(), "Canceled".into()],
                ..Find::by(find)
            },
            delete: None,
        }
    }

    fn marked(mut self_: Resource, wanted: &Wanted) -> Resource {
        let tags = wanted.marks().map(|(key, value)| format!("{key}={value}"));
        if let Some(create) = &mut self_.create {
            create.push("--tags".into());
            create.extend(tags);
        }
        self_
    }

    fn resource_group(&self) -> Resource {
        let location = self.regions.first().copied().unwrap_or_default();
        let create = words("group create", &["--name", &self.group, "--location", location]);
        let group = Resource {
            key: "group".into(),
            what: format!("resource group {}", self.group),
            needs: Vec::new(),
            create: Some(create),
            find: Find {
                state: Some("properties.provisioningState".into()),
                good: vec!["Succeeded".into()],
                bad: vec!["Failed".into()],
                ..Find::by(words("group show", &["--name", &self.group]))
            },
            delete: Some(words("group delete", &["--name", &self.group, "--yes", "--no-wait"])),
        };
        Self::marked(group, self.wanted)
    }

    fn network(&self, index: usize, region: &str) -> Vec<Resource> {
        let [nsg, vnet] = [format!("nsg-{region}"), format!("vnet-{region}")];
        let range = format!("10.{}.0.0/16", 64 + index);
        let at = ["--location", region];
        let group = self.thing(nsg.clone(), "network security group", "network nsg", &nsg, &at, &[]);
        let network = [&at[..], &["--address-prefixes", &range]].concat();
        let network = self.thing(vnet.clone(), "virtual network", "network vnet", &vnet, &network, &[]);
        let subnet = ["--address-prefixes", &range, "--network-security-group", &nsg];
        let subnet = self.thing(
            format!("subnet-{region}"),
            "subnet",
            "network vnet subnet",
            &format!("subnet-{region}"),
            &subnet,
            &["--vnet-name", &vnet],
        );
        let subnet = Resource { needs: vec![vnet.clone(), nsg.clone()], ..subnet };
        let mut all = vec![Self::marked(group, self.wanted), Self::marked(network, self.wanted), subnet];
        all.push(self.rule(&nsg, 100, "ssh", "Tcp", Some((22, 22)), &self.wanted.ssh_from.to_string()));
        all.push(self.rule(&nsg, 110, "within", "*", None, "10.0.0.0/8"));
        let open = self.wanted.open.iter().enumerate();
        all.extend(open.map(|(number, Opening { protocol, ports, from })| {
            let protocol = match protocol {
                Protocol::Tcp => "Tcp",
                Protocol::Udp => "Udp",
                Protocol::Icmp => "Icmp",
            };
            self.rule(&nsg, 200 + number, &format!("open-{number}"), protocol, *ports, &from.to_string())
        }));
        all.extend(self.placement_group(region));
        all
    }

    fn rule(
        &self,
        nsg: &str,
        priority: usize,
        end: &str,
        protocol: &str,
        ports: Option<(u16, u16)>,
        from: &str,
    ) -> Resource {
        let ports = match ports {
            None => "*".to_owned(),
            Some((first, last)) if first == last => first.to_string(),
            Some((first, last)) => format!("{first}-{last}"),
        };
        let priority = priority.to_string();
        let mut create = words("--access Allow --direction Inbound", &["--priority", &priority]);
        create.extend(words("--protocol", &[protocol, "--source-address-prefixes", from]));
        create.extend(words("--destination-port-ranges", &[&ports]));
        let create: Vec<&str> = create.iter().map(String::as_str).collect();
        let key = format!("rule-{end}-{nsg}");
        let rule = self.thing(key, "rule", "network nsg rule", end, &create, &["--nsg-name", nsg]);
        Resource { needs: vec![nsg.into()], ..rule }
    }

    /// The group of close or distant machines in a region, where there is one.
    fn placement_group(&self, region: &str) -> Option<Resource> {
        let key = format!("placement-{region}");
        let at = ["--location", region];
        let group = match self.placement {
            Placement::None | Placement::ClosestSupported => return None,
            Placement::Cluster => self.thing(key.clone(), "proximity placement group", "ppg", &key, &at, &[]),
            Placement::Spread => {
                let set = self.thing(key.clone(), "availability set", "vm availability-set", &key, &at, &[]);
                // It tells no state.
                let find = Find::by(set.find.words);
                Resource { find, ..set }
            }
        };
        let group = Self::marked(group, self.wanted);
        // A proximity placement group tells none either on some versions of the program: being there is enough.
        let find = Find::by(group.find.words.clone());
        Some(Resource { find, ..group })
    }

    fn peering(&self, index: usize, region: &str, other: &str) -> Resource {
        let name = format!("to-{other}");
        let vnet = format!("vnet-{region}");
        let create = ["--remote-vnet", &format!("vnet-{other}"), "--allow-vnet-access"];
        let key = format!("peering-{index}-{other}");
        let peering = self.thing(key, "peering", "network vnet peering", &name, &create, &["--vnet-name", &vnet]);
        Resource { needs: vec![format!("subnet-{region}"), format!("subnet-{other}")], ..peering }
    }

    /// Its public address, its network interface, and the machine itself.
    fn machine(&self, number: usize, group: &Group) -> [Resource; 3] {
        let (region, zone) = region(&group.zone);
        let [ip, nic, name] = [format!("ip-{number}"), format!("nic-{number}"), format!("machine-{number}")];
        let zone: Vec<&str> = zone.iter().flat_map(|zone| ["--zone", zone]).collect();
        let at = ["--location", region];
        let create =
            [&at[..], &["--sku", "Standard", "--allocation-method", "Static", "--version", "IPv4"], &zone].concat();
        let mut address = self.thing(ip.clone(), "public address", "network public-ip", &ip, &create, &[]);
        address.find.reads.push(Read::of(format!("EXTERNAL_{number}"), "ipAddress"));
        let [vnet, subnet] = [format!("vnet-{region}"), format!("subnet-{region}")];
        let accelerated = self.wanted.accelerated_networking.to_string();
        let mut create = [&at[..], &["--vnet-name", &vnet, "--subnet", &subnet, "--public-ip-address", &ip]].concat();
        create.extend(["--accelerated-networking", &accelerated]);
        let mut interface = self.thing(nic.clone(), "network interface", "network nic", &nic, &create, &[]);
        let internal = "ipConfigurations.0.privateIPAddress|ipConfigurations.0.privateIpAddress";
        interface.find.reads.push(Read::of(format!("INTERNAL_{number}"), internal));
        interface.find.reads.push(Read::if_told(format!("ACCELERATED_{number}"), "enableAcceleratedNetworking"));
        interface.needs = vec![ip, subnet];
        let address = Self::marked(address, self.wanted);
        let interface = Self::marked(interface, self.wanted);
        [address, interface, self.vm(number, group, &name, &nic, &zone)]
    }

    fn vm(&self, number: usize, group: &Group, name: &str, nic: &str, zone: &[&str]) -> Resource {
        let (region, _) = region(&group.zone);
        let Wanted { user, public_key, .. } = self.wanted;
        let image = group.image.as_deref().unwrap_or(debian(&group.machine_type));
        let mut create = vec!["--location", region, "--size", &group.machine_type, "--image", image, "--nics", nic];
        create.extend(["--admin-username", user, "--ssh-key-values", public_key]);
        create.extend(["--authentication-type", "ssh", "--os-disk-delete-option", "Delete", "--no-wait"]);
        let placement = format!("placement-{region}");
        let mut needs = vec![nic.to_owned(), format!("rule-ssh-nsg-{region}")];
        match self.placement {
            Placement::None | Placement::ClosestSupported => create.extend(zone),
            Placement::Cluster => create.extend([&["--ppg", &placement], zone].concat()),
            // An availability set spreads within a region that has no zones: the two exclude each other.
            Placement::Spread => create.extend(["--availability-set", &placement]),
        }
        if self.placement != Placement::None {
            needs.push(placement.clone());
        }
        let mut machine = self.thing(format!("machine-{number}"), "machine", "vm", name, &create, &[]);
        let view = words("vm get-instance-view", &["--resource-group", &self.group, "--name", name]);
        machine.find.why = Some((view, "instanceView.statuses.0.message".into()));
        Self::marked(Resource { needs, ..machine }, self.wanted)
    }

    fn host(&self, number: usize, group: &Group) -> Machine {
        let (region, _) = region(&group.zone);
        let mut labels: BTreeMap<String, String> = [
            ("cloud", "azure".to_owned()),
            ("region", region.to_owned()),
            ("zone", group.zone.clone()),
            ("machine_type", group.machine_type.clone()),
            ("accelerated_networking", format!("$ACCELERATED_{number}")),
        ]
        .map(|(key, value)| (key.to_owned(), value))
        .into();
        if self.placement != Placement::None {
            labels.insert("placement_group".into(), format!("{}/placement-{region}", self.group));
        }
        Machine {
            name: format!("{}-{number}", group.zone),
            internal: format!("INTERNAL_{number}"),
            external: format!("EXTERNAL_{number}"),
            labels,
        }
    }
}

/// Debian 12 for the processor of a size: ARM ones have a `p` behind their number of CPUs.
fn debian(size: &str) -> &'static str {
    let name = size.trim_start_matches("Standard_");
    let behind = name.trim_start_matches(|letter: char| letter.is_ascii_uppercase());
    let traits = behind.trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == '-');
    if traits.starts_with('p') || traits.starts_with("bp") {
        "Debian:debian-12:12-arm64:latest"
    } else {
        "Debian:debian-12:12-gen2:latest"
    }
}
