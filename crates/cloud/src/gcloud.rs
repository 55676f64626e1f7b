//! Google Cloud by `gcloud`: its words and signs.
//!
//! Networks, firewall rules and resource policies carry no labels: they are marked in their description. Machines delete
//! themselves when they expire (`--max-run-duration`).

use std::collections::BTreeMap;

use logbook::failure::Failure;
use logbook::machines::{Opening, Placement};

use crate::census::{Census, Listing};
use crate::fault::Kind;
use crate::resource::{Find, Read, Resource, words};
use crate::vendor::{Drawn, Machine, Tool, Vendor};
use crate::wanted::{Group, Wanted, once};

/// Google Cloud.
pub const VENDOR: Vendor = Vendor {
    tool: Tool {
        whose: "gcp",
        program: "gcloud",
        install: "the Google Cloud CLI, https://cloud.google.com/sdk",
        login: "`gcloud auth login`, and `gcloud config set project PROJECT` or --account PROJECT",
        rights: "roles/compute.admin",
        environment: &[("CLOUDSDK_CORE_DISABLE_PROMPTS", "1"), ("CLOUDSDK_CORE_LOG_HTTP", "false")],
        always: &["--quiet", "--format", "json"],
        account: "--project",
        faults: &[
            ("you do not currently have an active account", Kind::NotLoggedIn),
            ("there was a problem refreshing your current auth tokens", Kind::NotLoggedIn),
            ("reauthentication", Kind::NotLoggedIn),
            ("request had invalid authentication credentials", Kind::NotLoggedIn),
            ("rate limit", Kind::RateLimited),
            ("ratelimitexceeded", Kind::RateLimited),
            ("quota exceeded for quota metric", Kind::RateLimited),
            ("quota", Kind::Quota),
            ("zone_resource_pool_exhausted", Kind::NoCapacity),
            ("does not have enough resources available", Kind::NoCapacity),
            ("already exists", Kind::AlreadyExists),
            ("being used by", Kind::Busy),
            ("is not ready", Kind::Busy),
            ("was not found", Kind::NotFound),
            ("does not exist in zone", Kind::NotFound),
            ("required '", Kind::Permission),
            ("permission", Kind::Permission),
            ("internal error", Kind::Passing),
            ("backend error", Kind::Passing),
            ("http code: 503", Kind::Passing),
        ],
    },
    pick: &["--quiet", "--format", "value({})"],
    user: "sonde",
    draw,
    census: Census {
        regions: None,
        listings: &[
            Listing {
                what: "machine",
                list: "compute instances list --filter labels.sonde-run:*",
                items: "*",
                reads: &[("NAME", "name"), ("ZONE", "zone/")],
                deletes: &["compute instances delete $NAME --zone $ZONE"],
            },
            Listing {
                what: "placement policy",
                list: "compute resource-policies list --filter name~^sonde-",
                items: "*",
                reads: &[("NAME", "name"), ("REGION", "region/")],
                deletes: &["compute resource-policies delete $NAME --region $REGION"],
            },
            Listing {
                what: "firewall rule",
                list: "compute firewall-rules list --filter name~^sonde-",
                items: "*",
                reads: &[("NAME", "name")],
                deletes: &["compute firewall-rules delete $NAME"],
            },
            Listing {
                what: "subnet",
                list: "compute networks subnets list --filter name~^sonde-",
                items: "*",
                reads: &[("NAME", "name"), ("REGION", "region/")],
                deletes: &["compute networks subnets delete $NAME --region $REGION"],
            },
            Listing {
                what: "network",
                list: "compute networks list --filter name~^sonde-",
                items: "*",
                reads: &[("NAME", "name")],
                deletes: &["compute networks delete $NAME"],
            },
        ],
    },
};

/// Machine families without compact placement.
const APART: [&str; 7] = ["e2", "f1", "g1", "n1", "n4", "t2a", "t2d"];
/// Machine families of 64-bit ARM.
const ARM: [&str; 4] = ["a4x", "c4a", "n4a", "t2a"];

fn family(machine_type: &str) -> &str {
    machine_type.split('-').next().unwrap_or_default()
}

/// The region of a zone: what stands before its last dash.
fn region(zone: &str) -> &str {
    zone.rsplit_once('-').map_or(zone, |(region, _)| region)
}

/// Draws the wanted machines: resources in the order in which they are made, hosts, and notes.
fn draw(wanted: &Wanted) -> Result<Drawn, Failure> {
    let (placement, note) = wanted.placed(|machine_type| !APART.contains(&family(machine_type)))?;
    let plan = Plan { wanted, name: format!("sonde-{}", wanted.run), placement };
    let regions = once(wanted.zones().into_iter().map(region));
    let mut resources = vec![plan.network()];
    resources.extend(plan.types().into_iter().enumerate().map(|(index, group)| Plan::machine_type(index, group)));
    resources.extend(regions.iter().enumerate().map(|(index, region)| plan.subnet(index, region)));
    resources.extend(plan.firewall());
    if placement != Placement::None {
        resources.extend(regions.iter().map(|region| plan.policy(region)));
    }
    resources.extend(wanted.each().map(|(number, group)| plan.machine(number, group)));
    let machines = wanted.each().map(|(number, group)| plan.host(number, group)).collect();
    Ok(Drawn { resources, machines, notes: note.into_iter().collect() })
}

struct Plan<'a> {
    wanted: &'a Wanted,
    name: String,
    placement: Placement,
}

impl Plan<'_> {
    fn marks(&self) -> Vec<String> {
        self.wanted.marks().map(|(key, value)| format!("{key}={value}")).to_vec()
    }

    fn description(&self) -> String {
        self.marks().join(" ")
    }

    /// A thing with these words between its group and its name, and these behind the name.
    fn thing(key: &str, what: &str, group: &str, name: &str, at: &[&str], create: Vec<String>) -> Resource {
        let verb = |verb: &str| words(&format!("{group} {verb}"), &[&[name], at].concat());
        Resource {
            key: key.into(),
            what: format!("{what} {name}"),
            needs: Vec::new(),
            create: Some(create),
            find: Find::by(verb("describe")),
            delete: Some(verb("delete")),
        }
    }

    fn network(&self) -> Resource {
        let create = words(
            "compute networks create",
            &[&self.name, "--subnet-mode", "custom", "--description", &self.description()],
        );
        Self::thing("network", "network", "compute networks", &self.name, &[], create)
    }

    fn subnet(&self, index: usize, region: &str) -> Resource {
        let name = format!("{}-{region}", self.name);
        let range = format!("10.{}.0.0/16", 64 + index);
        let more = [&name, "--network", &self.name, "--region", region, "--range", &range];
        let mut create = words("compute networks subnets create", &more);
        create.extend(words("--description", &[&self.description()]));
        let at = ["--region", region];
        let subnet = Self::thing(&format!("subnet-{region}"), "subnet", "compute networks subnets", &name, &at, create);
        Resource { needs: vec!["network".into()], ..subnet }
    }

    fn firewall(&self) -> Vec<Resource> {
        let rule = |end: &str, allow: &str, from: &str| {
            let name = format!("{}-{end}", self.name);
            let more = [&name, "--network", &self.name, "--direction", "INGRESS", "--allow", allow];
            let mut create = words("compute firewall-rules create", &more);
            create.extend(words("--source-ranges", &[from, "--description", &self.description()]));
            let key = format!("firewall-{end}");
            let rule = Self::thing(&key, "firewall rule", "compute firewall-rules", &name, &[], create);
            Resource { needs: vec!["network".into()], ..rule }
        };
        let ssh = rule("ssh", "tcp:22", &self.wanted.ssh_from.to_string());
        let within = rule("within", "tcp,udp,icmp", "10.0.0.0/8");
        let open = self.wanted.open.iter().enumerate();
        let open =
            open.map(|(index, opening)| rule(&format!("open-{index}"), &allowed(opening), &opening.from.to_string()));
        [ssh, within].into_iter().chain(open).collect()
    }

    fn policy(&self, region: &str) -> Resource {
        let name = format!("{}-{region}", self.name);
        let style: &[&str] = match self.placement {
            Placement::Spread => &["--availability-domain-count", "2"],
            _ => &["--collocation", "COLLOCATED"],
        };
        let mut create = words("compute resource-policies create group-placement", &[&name, "--region", region]);
        create.extend(words("", style));
        create.extend(words("--description", &[&self.description()]));
        let at = ["--region", region];
        let key = format!("placement-{region}");
        Self::thing(&key, "placement policy", "compute resource-policies", &name, &at, create)
    }

    /// Each machine type in each zone, once.
    fn types(&self) -> Vec<&Group> {
        let same = |a: &Group, b: &Group| a.zone == b.zone && a.machine_type == b.machine_type;
        self.wanted.machines.iter().fold(Vec::new(), |mut kept, group| {
            if !kept.iter().any(|one| same(one, group)) {
                kept.push(group);
            }
            kept
        })
    }

    fn type_of(&self, group: &Group) -> usize {
        let same = |one: &&Group| one.zone == group.zone && one.machine_type == group.machine_type;
        self.types().iter().position(same).unwrap_or_default()
    }

    /// Looked up first: a type that this zone does not have is said before anything is made.
    fn machine_type(index: usize, group: &Group) -> Resource {
        let Group { zone, machine_type, .. } = group;
        Resource {
            key: format!("type-{index}"),
            what: format!("machine type {machine_type} in {zone}"),
            needs: Vec::new(),
            create: None,
            find: Find {
                words: words("compute machine-types describe", &[machine_type, "--zone", zone]),
                reads: vec![Read::if_told(format!("CPUS_{index}"), "guestCpus")],
                ..Find::default()
            },
            delete: None,
        }
    }

    fn machine(&self, number: usize, group: &Group) -> Resource {
        let name = format!("{}-{number}", self.name);
        let zone = &*group.zone;
        let region = region(zone);
        let nic = if self.wanted.accelerated_networking { "GVNIC" } else { "VIRTIO_NET" };
        let interface = format!("network={0},subnet={0}-{region},nic-type={nic}", self.name);
        let Wanted { user, public_key, made, expires, .. } = self.wanted;
        let metadata = format!("enable-oslogin=FALSE,ssh-keys={user}:{public_key}");
        let lasts = format!("{}s", expires.saturating_sub(*made).max(60));
        let more = [&name, "--async", "--zone", zone, "--machine-type", &group.machine_type];
        let mut create = words("compute instances create", &more);
        create.extend(image(group));
        create.extend(words("--boot-disk-auto-delete --network-interface", &[&interface]));
        create.extend(words("--maintenance-policy TERMINATE --no-restart-on-failure", &[]));
        create.extend(words("--max-run-duration", &[&lasts, "--instance-termination-action", "DELETE"]));
        create.extend(words("--labels", &[&self.marks().join(","), "--metadata", &metadata]));
        let mut needs = vec![format!("subnet-{region}"), format!("type-{}", self.type_of(group))];
        needs.push("firewall-ssh".into());
        if self.placement != Placement::None {
            create.extend(words("--resource-policies", &[&format!("{}-{region}", self.name)]));
            needs.push(format!("placement-{region}"));
        }
        let key = format!("machine-{number}");
        let thing = Self::thing(&key, "machine", "compute instances", &name, &["--zone", zone], create);
        let filter = format!("targetLink~/{name}$ AND operationType=insert");
        let why = words("compute operations list --zones", &[zone, "--filter", &filter]);
        let find = Find {
            state: Some("status".into()),
            good: vec!["RUNNING".into()],
            bad: ["STOPPING", "STOPPED", "SUSPENDED", "TERMINATED"].map(String::from).to_vec(),
            reads: vec![
                Read::of(format!("INTERNAL_{number}"), "networkInterfaces.0.networkIP"),
                Read::of(format!("EXTERNAL_{number}"), "networkInterfaces.0.accessConfigs.0.natIP"),
                Read::if_told(format!("NIC_{number}"), "networkInterfaces.0.nicType"),
                Read::whether(format!("ACCELERATED_{number}"), "networkInterfaces.0.nicType", "GVNIC"),
            ],
            why: Some((why, "0.error.errors.0.message".into())),
            ..thing.find
        };
        Resource { needs, find, ..thing }
    }

    fn host(&self, number: usize, group: &Group) -> Machine {
        let zone = &*group.zone;
        let mut labels: BTreeMap<String, String> = [
            ("cloud", "gcp".to_owned()),
            ("region", region(zone).to_owned()),
            ("zone", zone.to_owned()),
            ("machine_type", group.machine_type.clone()),
            ("nic", format!("$NIC_{number}")),
            ("accelerated_networking", format!("$ACCELERATED_{number}")),
            ("cpus", format!("$CPUS_{}", self.type_of(group))),
        ]
        .map(|(key, value)| (key.to_owned(), value))
        .into();
        if self.placement != Placement::None {
            labels.insert("placement_group".into(), format!("{}-{}", self.name, region(zone)));
        }
        Machine {
            name: format!("{zone}-{number}"),
            internal: format!("INTERNAL_{number}"),
            external: format!("EXTERNAL_{number}"),
            labels,
        }
    }
}

fn image(group: &Group) -> Vec<String> {
    match group.image.as_deref().map(|image| (image, image.rsplit_once('/'))) {
        Some((_, Some((project, family)))) => words("", &["--image-project", project, "--image-family", family]),
        Some((image, None)) => words("", &["--image", image]),
        None if ARM.contains(&family(&group.machine_type)) => {
            words("--image-project debian-cloud --image-family debian-12-arm64", &[])
        }
        None => words("--image-project debian-cloud --image-family debian-12", &[]),
    }
}

/// An opening as `--allow` writes it.
fn allowed(opening: &Opening) -> String {
    let protocol = opening.protocol.name();
    match opening.ports {
        None => protocol.to_owned(),
        Some((first, last)) if first == last => format!("{protocol}:{first}"),
        Some((first, last)) => format!("{protocol}:{first}-{last}"),
    }
}
