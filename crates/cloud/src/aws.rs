//! Amazon Web Services by `aws`: its words and signs. The network of a region stands in `aws_region`.
//!
//! Nothing is named but key pairs, placement groups and security groups: things are found by their tags, of which `sonde-part`
//! is the thing's key within the run. Machines shut themselves down when they expire, and a shutdown terminates them.

use std::collections::BTreeMap;

use logbook::failure::Failure;
use logbook::machines::Placement;

use crate::aws_region::Region;
use crate::census::{Census, Listing};
use crate::fault::Kind;
use crate::resource::{Find, Read, Resource, words};
use crate::vendor::{Drawn, Machine, Tool, Vendor};
use crate::wanted::{Group, Wanted, once};

/// Amazon Web Services.
pub const VENDOR: Vendor = Vendor {
    tool: Tool {
        whose: "aws",
        program: "aws",
        install: "the AWS CLI, https://aws.amazon.com/cli (or `pip install awscli`)",
        login: "`aws configure` or `aws sso login`; --account PROFILE takes another profile",
        rights: "AmazonEC2FullAccess",
        environment: &[("AWS_PAGER", ""), ("AWS_CLI_AUTO_PROMPT", "off")],
        always: &["--output", "json"],
        account: "--profile",
        faults: &[
            ("unable to locate credentials", Kind::NotLoggedIn),
            ("expiredtoken", Kind::NotLoggedIn),
            ("token has expired", Kind::NotLoggedIn),
            ("authfailure", Kind::NotLoggedIn),
            ("invalidclienttokenid", Kind::NotLoggedIn),
            ("could not be found)", Kind::NotLoggedIn),
            ("config profile", Kind::NotLoggedIn),
            ("requestlimitexceeded", Kind::RateLimited),
            ("throttling", Kind::RateLimited),
            ("too many requests", Kind::RateLimited),
            ("insufficientinstancecapacity", Kind::NoCapacity),
            ("limitexceeded", Kind::Quota),
            ("vcpulimitexceeded", Kind::Quota),
            ("addresslimitexceeded", Kind::Quota),
            ("unauthorizedoperation", Kind::Permission),
            ("accessdenied", Kind::Permission),
            ("not authorized", Kind::Permission),
            ("dependencyviolation", Kind::Busy),
            ("invalidplacementgroup.inuse", Kind::Busy),
            ("incorrectstate", Kind::Busy),
            ("invalidgroup.inuse", Kind::Busy),
            (".duplicate", Kind::AlreadyExists),
            ("alreadyexists", Kind::AlreadyExists),
            ("alreadyassociated", Kind::AlreadyExists),
            (".notfound", Kind::NotFound),
            // A machine type that is not in that zone.
            ("(unsupported)", Kind::NotFound),
            ("gateway.notattached", Kind::NotFound),
            ("placementgroup.unknown", Kind::NotFound),
            ("internalerror", Kind::Passing),
            ("internalfailure", Kind::Passing),
            ("serviceunavailable", Kind::Passing),
        ],
    },
    pick: &["--query", "{}", "--output", "text"],
    user: "admin",
    draw,
    census: Census {
        regions: Some(("ec2 describe-regions --region us-east-1", "Regions.*.RegionName")),
        listings: &[
            Listing {
                what: "machine",
                list: "ec2 describe-instances --region $REGION --filters Name=tag-key,Values=sonde-run \
                       Name=instance-state-name,Values=pending,running,stopping,stopped,shutting-down",
                items: "Reservations.*.Instances.*",
                reads: &[("ID", "InstanceId")],
                deletes: &["ec2 terminate-instances --region $REGION --instance-ids $ID"],
            },
            Listing {
                what: "peering",
                list: "ec2 describe-vpc-peering-connections --region $REGION --filters Name=tag-key,Values=sonde-run \
                       Name=status-code,Values=initiating-request,pending-acceptance,provisioning,active",
                items: "VpcPeeringConnections.*",
                reads: &[("ID", "VpcPeeringConnectionId")],
                deletes: &["ec2 delete-vpc-peering-connection --region $REGION --vpc-peering-connection-id $ID"],
            },
            Listing {
                what: "placement group",
                list: "ec2 describe-placement-groups --region $REGION --filters Name=tag-key,Values=sonde-run",
                items: "PlacementGroups.*",
                reads: &[("NAME", "GroupName")],
                deletes: &["ec2 delete-placement-group --region $REGION --group-name $NAME"],
            },
            Listing {
                what: "key pair",
                list: "ec2 describe-key-pairs --region $REGION --filters Name=tag-key,Values=sonde-run",
                items: "KeyPairs.*",
                reads: &[("NAME", "KeyName")],
                deletes: &["ec2 delete-key-pair --region $REGION --key-name $NAME"],
            },
            Listing {
                what: "security group",
                list: "ec2 describe-security-groups --region $REGION --filters Name=tag-key,Values=sonde-run",
                items: "SecurityGroups.*",
                reads: &[("ID", "GroupId")],
                deletes: &["ec2 delete-security-group --region $REGION --group-id $ID"],
            },
            Listing {
                what: "subnet",
                list: "ec2 describe-subnets --region $REGION --filters Name=tag-key,Values=sonde-run",
                items: "Subnets.*",
                reads: &[("ID", "SubnetId")],
                deletes: &["ec2 delete-subnet --region $REGION --subnet-id $ID"],
            },
            Listing {
                what: "internet gateway",
                list: "ec2 describe-internet-gateways --region $REGION --filters Name=tag-key,Values=sonde-run",
                items: "InternetGateways.*",
                reads: &[("ID", "InternetGatewayId"), ("VPC", "Attachments.0.VpcId")],
                deletes: &[
                    "ec2 detach-internet-gateway --region $REGION --internet-gateway-id $ID --vpc-id $VPC",
                    "ec2 delete-internet-gateway --region $REGION --internet-gateway-id $ID",
                ],
            },
            Listing {
                what: "VPC",
                list: "ec2 describe-vpcs --region $REGION --filters Name=tag-key,Values=sonde-run",
                items: "Vpcs.*",
                reads: &[("ID", "VpcId")],
                deletes: &["ec2 delete-vpc --region $REGION --vpc-id $ID"],
            },
        ],
    },
};

/// The region of a zone: up to its first digit. `us-east-1a`, and `us-west-2-lax-1a`, a local zone of `us-west-2`.
pub(super) fn region(zone: &str) -> &str {
    let end = zone.find(|letter: char| letter.is_ascii_digit()).map_or(zone.len(), |at| at + 1);
    &zone[..end]
}

/// Returns true where machines of a type can be in a cluster placement group: those of burstable performance cannot.
fn can_cluster(machine_type: &str) -> bool {
    let family = machine_type.split('.').next().unwrap_or_default();
    !(family.starts_with('t') && family[1..].starts_with(|letter: char| letter.is_ascii_digit()))
}

/// Debian 12 for the machine type's processor, by the parameter that Debian keeps up to date. Graviton types have a `g` behind
/// their generation.
fn image(group: &Group) -> String {
    let family = group.machine_type.split('.').next().unwrap_or_default();
    let behind = family.trim_start_matches(|letter: char| letter.is_ascii_alphabetic());
    let traits = behind.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let processor = if traits.starts_with('g') || family == "a1" { "arm64" } else { "amd64" };
    let debian = || format!("resolve:ssm:/aws/service/debian/release/12/latest/{processor}");
    group.image.clone().unwrap_or_else(debian)
}

/// Draws the wanted machines: resources in the order in which they are made, hosts, and notes.
fn draw(wanted: &Wanted) -> Result<Drawn, Failure> {
    let (placement, note) = wanted.placed(can_cluster)?;
    let names = once(wanted.zones().into_iter().map(region));
    let regions: Vec<Region> =
        names.iter().enumerate().map(|(index, name)| Region { wanted, index, name, placement }).collect();
    let mut resources: Vec<Resource> =
        types(wanted).enumerate().map(|(index, group)| machine_type(index, group)).collect();
    resources.extend(regions.iter().flat_map(Region::network));
    for (index, one) in regions.iter().enumerate() {
        resources.extend(regions[index + 1..].iter().flat_map(|other| one.peering(other)));
    }
    let home = |group: &Group| regions.iter().find(|home| home.name == region(&group.zone));
    resources.extend(wanted.each().filter_map(|(number, group)| Some(machine(home(group)?, number, group))));
    let machines = wanted.each().map(|(number, group)| host(wanted, placement, number, group)).collect();
    let mut notes: Vec<String> = note.into_iter().collect();
    if !wanted.accelerated_networking {
        notes.push("aws has no switch for accelerated networking: the machines' ENA stays on".into());
    }
    Ok(Drawn { resources, machines, notes })
}

/// Each machine type of each region, once.
fn types(wanted: &Wanted) -> impl Iterator<Item = &Group> {
    let kinds = wanted.machines.iter().map(|group| (region(&group.zone), &group.machine_type));
    once(kinds)
        .into_iter()
        .filter_map(|kind| wanted.machines.iter().find(|group| (region(&group.zone), &group.machine_type) == kind))
}

fn type_of(wanted: &Wanted, group: &Group) -> usize {
    let same = |one: &Group| region(&one.zone) == region(&group.zone) && one.machine_type == group.machine_type;
    types(wanted).position(same).unwrap_or_default()
}

/// Looked up first: a type that this region does not have is said before anything is made.
fn machine_type(index: usize, group: &Group) -> Resource {
    let Group { zone, machine_type, .. } = group;
    Resource {
        key: format!("type-{index}"),
        what: format!("machine type {machine_type} in {}", region(zone)),
        needs: Vec::new(),
        create: None,
        find: Find {
            words: words("ec2 describe-instance-types --region", &[region(zone), "--instance-types", machine_type]),
            present: Some("InstanceTypes.0.InstanceType".into()),
            reads: vec![Read::if_told(format!("CPUS_{index}"), "InstanceTypes.0.VCpuInfo.DefaultVCpus")],
            ..Find::default()
        },
        delete: None,
    }
}

fn machine(home: &Region, number: usize, group: &Group) -> Resource {
    let Wanted { run, made, expires, .. } = home.wanted;
    let part = format!("machine-{number}");
    let index = home.index;
    let minutes = expires.saturating_sub(*made).div_ceil(60).max(1);
    let interface = format!(
        "DeviceIndex=0,SubnetId=$SUBNET_{},Groups=$GROUP_{index},AssociatePublicIpAddress=true,DeleteOnTermination=true",
        home.subnet_number(&group.zone)
    );
    let image = image(group);
    let more = ["--image-id", &image, "--instance-type", &group.machine_type, "--count", "1"];
    let mut create = home.words("run-instances", &more);
    let token = format!("sonde-{run}-{number}");
    create.extend(words("--client-token", &[&token, "--key-name", &home.own_name()]));
    create.extend(words("--network-interfaces", &[&interface]));
    create.extend(words("--instance-initiated-shutdown-behavior terminate --user-data", &[]));
    create.push(format!("#!/bin/sh\nshutdown -h +{minutes}\n"));
    let mut placement = format!("AvailabilityZone={}", group.zone);
    let mut needs = vec![
        format!("type-{}", type_of(home.wanted, group)),
        home.key(&format!("subnet-{}", home.subnet_number(&group.zone))),
        home.key("rule-ssh"),
        home.key("rule-within"),
        home.key("key"),
        home.key("route"),
    ];
    if home.placement != Placement::None {
        placement.push_str(",GroupName=");
        placement.push_str(&home.own_name());
        needs.push(home.key("placement"));
    }
    create.extend(words("--placement", &[&placement]));
    create.extend(words("--tag-specifications", &[&home.tags("instance", &part), &home.tags("volume", &part)]));
    let [by_run, by_part] = home.filters(&part);
    let living = "Name=instance-state-name,Values=pending,running,stopping,stopped,shutting-down";
    let find = |more: &[&str]| home.words("describe-instances", &[&["--filters", &by_run, &by_part], more].concat());
    let at = |path: &str| format!("Reservations.0.Instances.0.{path}");
    Resource {
        key: part.clone(),
        what: format!("machine {number} in {}", group.zone),
        needs,
        create: Some(create),
        find: Find {
            words: find(&[living]),
            present: Some(at("InstanceId")),
            state: Some(at("State.Name")),
            good: vec!["running".into()],
            gone: vec!["terminated".into()],
            bad: ["stopping", "stopped", "shutting-down"].map(String::from).to_vec(),
            reads: vec![
                Read::of(format!("INSTANCE_{number}"), &at("InstanceId")),
                Read::of(format!("INTERNAL_{number}"), &at("PrivateIpAddress")),
                Read::of(format!("EXTERNAL_{number}"), &at("PublicIpAddress")),
                Read::if_told(format!("ENA_{number}"), &at("EnaSupport")),
            ],
            why: Some((find(&[]), at("StateReason.Message"))),
        },
        delete: Some(home.words("terminate-instances", &["--instance-ids", &format!("$INSTANCE_{number}")])),
    }
}

fn host(wanted: &Wanted, placement: Placement, number: usize, group: &Group) -> Machine {
    let zone = &*group.zone;
    let mut labels: BTreeMap<String, String> = [
        ("cloud", "aws".to_owned()),
        ("region", region(zone).to_owned()),
        ("zone", zone.to_owned()),
        ("machine_type", group.machine_type.clone()),
        ("accelerated_networking", format!("$ENA_{number}")),
        ("cpus", format!("$CPUS_{}", type_of(wanted, group))),
        ("nic", "ENA".to_owned()),
    ]
    .map(|(key, value)| (key.to_owned(), value))
    .into();
    if placement != Placement::None {
        labels.insert("placement_group".into(), format!("sonde-{}", wanted.run));
    }
    Machine {
        name: format!("{zone}-{number}"),
        internal: format!("INTERNAL_{number}"),
        external: format!("EXTERNAL_{number}"),
        labels,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_have_regions_and_types_have_processors() {
        for (zone, of) in [("us-east-1a", "us-east-1"), ("us-west-2-lax-1a", "us-west-2"), ("nowhere", "nowhere")] {
            assert_eq!(region(zone), of);
        }
        let image = |machine_type: &str| {
            image(&Group { zone: "z".into(), machine_type: machine_type.into(), count: 1, image: None })
        };
        for (machine_type, processor) in
            [("m7i.large", "amd64"), ("c7gn.large", "arm64"), ("t4g.nano", "arm64"), ("g4dn.xlarge", "amd64")]
        {
            assert!(image(machine_type).ends_with(processor), "{machine_type}");
        }
        assert!(can_cluster("m7i.large") && can_cluster("trn1.2xlarge") && !can_cluster("t3.micro"));
        assert!(can_cluster(""), "nothing is no reason to panic");
    }
}
