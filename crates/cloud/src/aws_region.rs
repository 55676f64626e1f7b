//! Network of a region of AWS around its machines: a VPC with its ways out and in, and peerings between regions.

use logbook::machines::{Opening, Placement, Protocol};

use crate::aws::region;
use crate::resource::{Find, Read, Resource, words};
use crate::wanted::Wanted;

/// A region of what is wanted.
#[derive(Clone, Debug)]
pub(super) struct Region<'a> {
    pub(super) wanted: &'a Wanted,
    pub(super) index: usize,
    pub(super) name: &'a str,
    pub(super) placement: Placement,
}

impl Region<'_> {
    /// The key within the run of a thing of this region.
    pub(super) fn key(&self, part: &str) -> String {
        format!("{part}-{}", self.index)
    }

    /// The name of what has one in this region.
    pub(super) fn own_name(&self) -> String {
        format!("sonde-{}", self.wanted.run)
    }

    /// Words of `ec2` in this region.
    pub(super) fn words(&self, verb: &str, more: &[&str]) -> Vec<String> {
        words("ec2", &[&[verb, "--region", self.name], more].concat())
    }

    /// The tags of a thing, as they are given when it is made.
    pub(super) fn tags(&self, kind: &str, part: &str) -> String {
        let part = ("sonde-part", part.to_owned());
        let marks = self.wanted.marks().into_iter().chain([part]);
        let tags: Vec<String> = marks.map(|(key, value)| format!("{{Key={key},Value={value}}}")).collect();
        format!("ResourceType={kind},Tags=[{}]", tags.join(","))
    }

    /// The filters that find it.
    pub(super) fn filters(&self, part: &str) -> [String; 2] {
        [format!("Name=tag:sonde-run,Values={}", self.wanted.run), format!("Name=tag:sonde-part,Values={part}")]
    }

    /// Number of a zone among the run's subnets.
    pub(super) fn subnet_number(&self, zone: &str) -> usize {
        self.wanted.zones().iter().position(|one| *one == zone).unwrap_or_default()
    }

    fn range(&self) -> String {
        format!("10.{}.0.0/16", 64 + self.index)
    }

    /// A thing with tags, that is found by them: `list` and the path of its identifier, which is read as `id`.
    fn tagged(&self, part: &str, what: &str, kind: &str, create: Vec<String>, found: (&str, &str, &str)) -> Resource {
        let key = self.key(part);
        let (list, path, id) = found;
        let [run, own] = self.filters(&key);
        let mut create = create;
        create.extend(words("--tag-specifications", &[&self.tags(kind, &key)]));
        Resource {
            what: format!("{what} in {}", self.name),
            needs: Vec::new(),
            create: Some(create),
            find: Find {
                words: self.words(list, &["--filters", &run, &own]),
                present: Some(path.into()),
                reads: vec![Read::of(id, path)],
                ..Find::default()
            },
            delete: None,
            key,
        }
    }

    /// Everything around the machines.
    pub(super) fn network(&self) -> Vec<Resource> {
        let mut all = vec![self.vpc(), self.gateway(), self.attachment(), self.table(), self.route()];
        let zones = self.wanted.zones();
        let own = zones.iter().enumerate().filter(|(_, zone)| region(zone) == self.name);
        all.extend(own.map(|(number, zone)| self.subnet(number, zone)));
        all.extend([self.group(), self.rule("ssh", "tcp", Some((22, 22)), &self.wanted.ssh_from.to_string())]);
        all.push(self.rule("within", "-1", None, "10.0.0.0/8"));
        all.extend(self.wanted.open.iter().enumerate().map(|(number, opening)| self.opened(number, opening)));
        all.push(self.key_pair());
        if self.placement != Placement::None {
            all.push(self.placement_group());
        }
        all
    }

    fn vpc(&self) -> Resource {
        let id = format!("VPC_{}", self.index);
        let create = self.words("create-vpc", &["--cidr-block", &self.range()]);
        let vpc = self.tagged("vpc", "VPC", "vpc", create, ("describe-vpcs", "Vpcs.0.VpcId", &id));
        let delete = self.words("delete-vpc", &["--vpc-id", &format!("${id}")]);
        let find = Find { state: Some("Vpcs.0.State".into()), good: vec!["available".into()], ..vpc.find };
        Resource { delete: Some(delete), find, ..vpc }
    }

    fn gateway(&self) -> Resource {
        let id = format!("GATEWAY_{}", self.index);
        let path = "InternetGateways.0.InternetGatewayId";
        let create = self.words("create-internet-gateway", &[]);
        let found = ("describe-internet-gateways", path, &*id);
        let gateway = self.tagged("gateway", "internet gateway", "internet-gateway", create, found);
        let delete = self.words("delete-internet-gateway", &["--internet-gateway-id", &format!("${id}")]);
        Resource { delete: Some(delete), ..gateway }
    }

    fn attachment(&self) -> Resource {
        let gateway = self.gateway();
        let path = "InternetGateways.0.Attachments.0.VpcId";
        let [id, vpc] = [format!("ATTACHED_{}", self.index), format!("ATTACHED_TO_{}", self.index)];
        let create =
            ["--internet-gateway-id", &format!("$GATEWAY_{}", self.index), "--vpc-id", &format!("$VPC_{}", self.index)];
        let delete = ["--internet-gateway-id", &format!("${id}"), "--vpc-id", &format!("${vpc}")];
        Resource {
            key: self.key("attachment"),
            what: format!("way out of the VPC in {}", self.name),
            needs: vec![self.key("vpc"), self.key("gateway")],
            create: Some(self.words("attach-internet-gateway", &create)),
            find: Find {
                present: Some(path.into()),
                reads: vec![Read::of(id, "InternetGateways.0.InternetGatewayId"), Read::of(vpc, path)],
                ..gateway.find
            },
            delete: Some(self.words("detach-internet-gateway", &delete)),
        }
    }

    /// The VPC's main table of routes, which comes and goes with it.
    fn table(&self) -> Resource {
        let path = "RouteTables.0.RouteTableId";
        let vpc = format!("Name=vpc-id,Values=$VPC_{}", self.index);
        Resource {
            key: self.key("table"),
            what: format!("route table in {}", self.name),
            needs: vec![self.key("vpc")],
            create: None,
            find: Find {
                words: self.words("describe-route-tables", &["--filters", &vpc, "Name=association.main,Values=true"]),
                present: Some(path.into()),
                reads: vec![Read::of(format!("TABLE_{}", self.index), path)],
                ..Find::default()
            },
            delete: None,
        }
    }

    /// A way in the main table, to be found by its destination.
    fn way(&self, key: String, what: String, destination: &str, target: [&str; 2], needs: Vec<String>) -> Resource {
        let table = format!("$TABLE_{}", self.index);
        let own = format!("Name=vpc-id,Values=$VPC_{}", self.index);
        let to = format!("Name=route.destination-cidr-block,Values={destination}");
        let create = ["--route-table-id", &table, "--destination-cidr-block", destination, target[0], target[1]];
        Resource {
            key,
            what,
            needs: [vec![self.key("table")], needs].concat(),
            create: Some(self.words("create-route", &create)),
            find: Find {
                words: self.words("describe-route-tables", &["--filters", &own, &to]),
                present: Some("RouteTables.0.RouteTableId".into()),
                ..Find::default()
            },
            delete: None,
        }
    }

    fn route(&self) -> Resource {
        let target = format!("$GATEWAY_{}", self.index);
        let what = format!("default route in {}", self.name);
        self.way(self.key("route"), what, "0.0.0.0/0", ["--gateway-id", &target], vec![self.key("attachment")])
    }

    fn subnet(&self, number: usize, zone: &str) -> Resource {
        let id = format!("SUBNET_{number}");
        let range = format!("10.{}.{number}.0/24", 64 + self.index);
        let vpc = format!("$VPC_{}", self.index);
        let more = ["--vpc-id", &vpc, "--cidr-block", &range, "--availability-zone", zone];
        let create = self.words("create-subnet", &more);
        let found = ("describe-subnets", "Subnets.0.SubnetId", &*id);
        let subnet = self.tagged(&format!("subnet-{number}"), "subnet", "subnet", create, found);
        let delete = self.words("delete-subnet", &["--subnet-id", &format!("${id}")]);
        Resource { what: format!("subnet in {zone}"), needs: vec![self.key("vpc")], delete: Some(delete), ..subnet }
    }

    fn group(&self) -> Resource {
        let id = format!("GROUP_{}", self.index);
        let vpc = format!("$VPC_{}", self.index);
        let more = ["--group-name", &self.own_name(), "--description", "sonde", "--vpc-id", &vpc];
        let create = self.words("create-security-group", &more);
        let found = ("describe-security-groups", "SecurityGroups.0.GroupId", &*id);
        let group = self.tagged("group", "security group", "security-group", create, found);
        let delete = self.words("delete-security-group", &["--group-id", &format!("${id}")]);
        Resource { needs: vec![self.key("vpc")], delete: Some(delete), ..group }
    }

    /// A rule of the security group, with which it goes.
    fn rule(&self, end: &str, protocol: &str, ports: Option<(u16, u16)>, from: &str) -> Resource {
        let ports = ports.map(|(first, last)| format!(",FromPort={first},ToPort={last}")).unwrap_or_default();
        let permission = format!("IpProtocol={protocol}{ports},IpRanges=[{{CidrIp={from}}}]");
        let group = format!("$GROUP_{}", self.index);
        let more = ["--group-id", &group, "--ip-permissions", &permission];
        let create = self.words("authorize-security-group-ingress", &more);
        let id = format!("RULE_{}_{}", end.to_uppercase().replace('-', "_"), self.index);
        let path = "SecurityGroupRules.0.SecurityGroupRuleId";
        let found = ("describe-security-group-rules", path, &*id);
        let rule = self.tagged(&format!("rule-{end}"), &format!("rule {end}"), "security-group-rule", create, found);
        Resource { needs: vec![self.key("group")], ..rule }
    }

    fn opened(&self, number: usize, opening: &Opening) -> Resource {
        let Opening { protocol, ports, from } = opening;
        let end = format!("open-{number}");
        if *protocol == Protocol::Icmp {
            // -1 stands for every type and code.
            return self.rule(&end, "icmp,FromPort=-1,ToPort=-1", None, &from.to_string());
        }
        self.rule(&end, protocol.name(), *ports, &from.to_string())
    }

    fn key_pair(&self) -> Resource {
        let id = format!("KEY_{}", self.index);
        let file = format!("fileb://{}", self.wanted.public_key_file);
        let more = ["--key-name", &self.own_name(), "--public-key-material", &file];
        let create = self.words("import-key-pair", &more);
        let found = ("describe-key-pairs", "KeyPairs.0.KeyName", &*id);
        let key = self.tagged("key", "key pair", "key-pair", create, found);
        Resource { delete: Some(self.words("delete-key-pair", &["--key-name", &format!("${id}")])), ..key }
    }

    fn placement_group(&self) -> Resource {
        let id = format!("PLACEMENT_{}", self.index);
        let strategy = if self.placement == Placement::Spread { "spread" } else { "cluster" };
        let create = self.words("create-placement-group", &["--group-name", &self.own_name(), "--strategy", strategy]);
        let found = ("describe-placement-groups", "PlacementGroups.0.GroupName", &*id);
        let group = self.tagged("placement", "placement group", "placement-group", create, found);
        Resource { delete: Some(self.words("delete-placement-group", &["--group-name", &format!("${id}")])), ..group }
    }

    /// Connection of this region with another: the peering, its acceptance over there, and a route on each side.
    pub(super) fn peering(&self, other: &Region) -> [Resource; 4] {
        let pair = format!("{}_{}", self.index, other.index);
        let key = |part: &str| format!("{part}-{}-{}", self.index, other.index);
        let id = format!("PEERING_{pair}");
        let [run, own] = self.filters(&key("peering"));
        let living = "Name=status-code,Values=initiating-request,pending-acceptance,provisioning,active";
        let peering = Resource {
            key: key("peering"),
            what: format!("peering of {} with {}", self.name, other.name),
            needs: vec![self.key("vpc"), other.key("vpc")],
            create: Some(self.words(
                "create-vpc-peering-connection",
                &[
                    "--vpc-id",
                    &format!("$VPC_{}", self.index),
                    "--peer-vpc-id",
                    &format!("$VPC_{}", other.index),
                    "--peer-region",
                    other.name,
                    "--tag-specifications",
                    &self.tags("vpc-peering-connection", &key("peering")),
                ],
            )),
            find: Find {
                words: self.words("describe-vpc-peering-connections", &["--filters", &run, &own, living]),
                present: Some("VpcPeeringConnections.0.VpcPeeringConnectionId".into()),
                state: Some("VpcPeeringConnections.0.Status.Code".into()),
                good: vec!["pending-acceptance".into(), "active".into()],
                gone: ["deleted", "deleting", "expired", "failed", "rejected"].map(String::from).to_vec(),
                reads: vec![Read::of(&id, "VpcPeeringConnections.0.VpcPeeringConnectionId")],
                ..Find::default()
            },
            delete: Some(
                self.words("delete-vpc-peering-connection", &["--vpc-peering-connection-id", &format!("${id}")]),
            ),
        };
        let accepted = Resource {
            key: key("accepted"),
            what: format!("acceptance of the peering in {}", other.name),
            needs: vec![key("peering")],
            create: Some(
                other.words("accept-vpc-peering-connection", &["--vpc-peering-connection-id", &format!("${id}")]),
            ),
            find: Find { good: vec!["active".into()], ..peering.find.clone() },
            delete: None,
        };
        let route = |from: &Region, to: &Region| {
            let what = format!("route from {} to {}", from.name, to.name);
            let own = format!("route-{}-{}", from.index, to.index);
            let target = ["--vpc-peering-connection-id", &*format!("${id}")];
            from.way(own, what, &to.range(), target, vec![key("accepted")])
        };
        let [there, back] = [route(self, other), route(other, self)];
        [peering, accepted, there, back]
    }
}
