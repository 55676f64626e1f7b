//! What is wanted of a cloud, in PKB's words: the one place that knows both those and the back ends'.

use std::collections::BTreeMap;
use std::fmt;

use crate::persona::answer::Answer;
use crate::persona::pkb::flags::{Flags, complain};

/// Whose cloud.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cloud {
    /// Google Cloud.
    Gcp,
    /// Amazon Web Services.
    Aws,
    /// Microsoft Azure.
    Azure,
}

/// How close to each other machines are put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// Wherever the cloud puts them.
    None,
    /// As close as it goes.
    Cluster,
    /// Apart.
    Spread,
    /// As close as machine type and zones allow.
    ClosestSupported,
}

/// Machines for one benchmark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machines {
    /// The cloud.
    pub cloud: Cloud,
    /// Project, profile or subscription; absent: as the vendor's program is configured.
    pub project: Option<String>,
    /// The zone of each machine, in order: there are so many machines.
    pub zones: Vec<String>,
    /// Their type.
    pub machine_type: String,
    /// What they start from; absent: the vendor's own Debian.
    pub image: Option<String>,
    /// How close they are put.
    pub placement: Placement,
    /// Whether their interfaces bypass the hypervisor where the vendor has a switch for that.
    pub accelerated_networking: bool,
    /// Whether the test port and echoes are let in from outside.
    pub from_outside: bool,
    /// From where ssh is let in, ADDRESS/BITS.
    pub ssh_from: String,
    /// Whose they are.
    pub owner: String,
    /// The public key's file; absent: the user's own.
    pub public_key: Option<String>,
    /// After how many minutes anybody may remove them.
    pub minutes: u32,
}

impl Cloud {
    fn read(word: &str) -> Result<Self, Answer> {
        match word.to_ascii_lowercase().as_str() {
            "gcp" => Ok(Self::Gcp),
            "aws" => Ok(Self::Aws),
            "azure" => Ok(Self::Azure),
            _ => Err(complain(&format!(
                "--cloud={word}: machines are made on GCP, AWS and Azure; list those of other clouds by --static_vm_file"
            ))),
        }
    }

    /// As PKB writes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gcp => "GCP",
            Self::Aws => "AWS",
            Self::Azure => "Azure",
        }
    }

    /// PKB's machine of two cores and its zone, where nothing is said.
    fn usual(self) -> (&'static str, &'static str) {
        match self {
            Self::Gcp => ("n4-standard-2", "us-central1-b"),
            Self::Aws => ("m7i.large", "us-east-1a"),
            Self::Azure => ("Standard_D2s_v6", "eastus-1"),
        }
    }

    /// PKB's placement where nothing is said: of netperf, the closest; else what the cloud's own is.
    fn usual_placement(self, benchmark: &str) -> Placement {
        match (self, benchmark) {
            (_, "netperf") => Placement::ClosestSupported,
            (Self::Aws, _) => Placement::Cluster,
            (Self::Gcp | Self::Azure, _) => Placement::None,
        }
    }

    /// A placement by its name, with a note where the name is of old.
    fn placement(self, word: &str) -> Result<(Placement, Option<String>), Answer> {
        let of_old = |now: &str| {
            let style = "--placement_group_style";
            Some(format!("{style}={word}: taken as {now}, as {} calls it; PKB has dropped the old word", self.name()))
        };
        let (close, apart) = match self {
            Self::Gcp => ("COLLOCATED", "availability-domain"),
            Self::Aws => ("cluster", "spread"),
            Self::Azure => ("proximity-placement-group", "availability-set"),
        };
        match word {
            "none" => Ok((Placement::None, None)),
            "closest_supported" => Ok((Placement::ClosestSupported, None)),
            _ if word == close => Ok((Placement::Cluster, None)),
            _ if word == apart => Ok((Placement::Spread, None)),
            "cluster" => Ok((Placement::Cluster, of_old(close))),
            "spread" => Ok((Placement::Spread, of_old(apart))),
            "partition" if self == Self::Aws => {
                Err(complain("--placement_group_style=partition: no partitions are made: say cluster or spread"))
            }
            _ => Err(complain(&format!(
                "--placement_group_style={word}: {} has none, closest_supported, {close} and {apart}",
                self.name()
            ))),
        }
    }
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::Cluster => "cluster",
            Self::Spread => "spread",
            Self::ClosestSupported => "closest_supported",
        })
    }
}

/// `count` machines as the flags want them for a benchmark; and notes.
///
/// # Errors
/// A cloud, a placement or a machine type that is none.
pub fn machines(
    flags: &Flags,
    benchmark: &str,
    count: u32,
    owner: &str,
    from_outside: bool,
) -> Result<(Machines, Vec<String>), Answer> {
    let cloud = Cloud::read(flags.text("cloud").unwrap_or("GCP"))?;
    let (usual_type, usual_zone) = cloud.usual();
    let mut notes = Vec::new();
    let (placement, note) = match flags.text("placement_group_style") {
        Some(word) => cloud.placement(word)?,
        None => (cloud.usual_placement(benchmark), None),
    };
    notes.extend(note);
    let said: Vec<&String> = ["zones", "extra_zones", "zone"].iter().flat_map(|name| flags.list(name)).collect();
    let zone = |at: usize| said.get(at % said.len().max(1)).map_or(usual_zone, |zone| zone.as_str()).to_owned();
    let zones: Vec<String> = (0..count as usize).map(zone).collect();
    let machine_type = flags.text("machine_type").unwrap_or(usual_type).to_owned();
    if machine_type.contains(['{', ':', ' ']) {
        return Err(complain(&format!(
            "--machine_type={machine_type}: types have names here; none is put together by hand"
        )));
    }
    let accelerated = flags.switch("azure_accelerated_networking", false);
    if cloud == Cloud::Azure && !accelerated {
        notes.push(
            "accelerated networking is off, as PKB has it: --azure_accelerated_networking turns it on".to_owned(),
        );
    }
    let public_key = flags.text("ssh_public_key").map(str::to_owned);
    let beside = public_key.as_deref().map(|public| public.trim_end_matches(".pub"));
    if let Some(private) = flags.text("ssh_private_key").filter(|private| beside != Some(private)) {
        return Err(complain(&format!(
            "--ssh_private_key={private}: lies beside the public one, whose name ends in .pub: --ssh_public_key"
        )));
    }
    let ssh_from = flags.text("ssh_from").unwrap_or("0.0.0.0/0").to_owned();
    if !flags.is_said("ssh_from") {
        notes.push("ssh to the machines is let in from anywhere, as PKB has it: --ssh_from=ADDRESS/BITS".to_owned());
    }
    let machines = Machines {
        cloud,
        project: flags.text("project").map(str::to_owned),
        zones,
        machine_type,
        image: flags.text("image").map(str::to_owned),
        placement,
        accelerated_networking: cloud != Cloud::Azure || accelerated,
        from_outside,
        ssh_from,
        owner: owner.to_owned(),
        public_key,
        minutes: flags.count("timeout_minutes").unwrap_or(240),
    };
    Ok((machines, notes))
}

impl Machines {
    /// The name of what is made: small letters and digits, 16 at most.
    pub fn run(run_uri: &str, place: usize) -> String {
        format!("p{}{place:03}", run_uri.to_ascii_lowercase())
    }

    /// The command of ours that makes them and lists them in `hosts`.
    pub fn up(&self, run: &str, hosts: &str) -> Vec<String> {
        let mut words: Vec<String> = ["lab", "cloud", "up"].map(str::to_owned).to_vec();
        let mut say = |option: &str, value: &str| words.push(format!("--{option}={value}"));
        say("cloud", &self.cloud.name().to_ascii_lowercase());
        // One machine for each time that a zone is said.
        self.zones.iter().for_each(|zone| say("zone", zone));
        say("machine-type", &self.machine_type);
        say("placement", &self.placement.to_string());
        say("from", &self.ssh_from);
        say("owner", &self.owner);
        say("lifetime", &format!("{}m", self.minutes));
        say("run", run);
        say("output", hosts);
        self.image.iter().for_each(|image| say("image", image));
        self.project.iter().for_each(|project| say("account", project));
        self.public_key.iter().for_each(|key| say("public-key", key));
        if self.from_outside {
            let port = endpoint::reflector::PORT;
            say("open", &format!("tcp:{port}@0.0.0.0/0"));
            say("open", &format!("udp:{port}@0.0.0.0/0"));
            say("open", "icmp@0.0.0.0/0");
        }
        if !self.accelerated_networking {
            words.push("--no-accelerated-networking".to_owned());
        }
        words
    }

    /// The command of ours that removes them.
    pub fn down(run: &str) -> Vec<String> {
        ["lab", "cloud", "down", "--run", run].map(str::to_owned).to_vec()
    }
}

/// For people, a line: `2 machines of GCP, c2-standard-16, in us-central1-c, placement cluster`.
impl fmt::Display for Machines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut zones: BTreeMap<&str, usize> = BTreeMap::new();
        for zone in &self.zones {
            *zones.entry(zone).or_default() += 1;
        }
        let zones: Vec<String> = match zones.len() {
            1 => zones.into_keys().map(str::to_owned).collect(),
            _ => zones.into_iter().map(|(zone, count)| format!("{zone} ({count})")).collect(),
        };
        let (count, cloud, kind) = (self.zones.len(), self.cloud.name(), &self.machine_type);
        write!(f, "{count} machines of {cloud}, {kind}, in {}, placement {}", zones.join(", "), self.placement)?;
        if self.cloud == Cloud::Azure {
            f.write_str(if self.accelerated_networking {
                ", accelerated networking"
            } else {
                ", no accelerated networking"
            })?;
        }
        write!(f, ", to be removed after {} min by anybody", self.minutes)
    }
}
