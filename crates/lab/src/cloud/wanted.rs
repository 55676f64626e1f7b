//! What is wanted of a cloud, checked before any program is called.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use logbook::failure::{Failure, Side};
use serde::{Deserialize, Serialize};

/// Whose cloud.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cloud {
    /// Google Cloud, by `gcloud`.
    Gcp,
    /// Amazon Web Services, by `aws`.
    Aws,
    /// Microsoft Azure, by `az`.
    Azure,
}

impl fmt::Display for Cloud {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(match self {
            Self::Gcp => "gcp",
            Self::Aws => "aws",
            Self::Azure => "azure",
        })
    }
}

impl FromStr for Cloud {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.to_ascii_lowercase().as_str() {
            "gcp" => Ok(Self::Gcp),
            "aws" => Ok(Self::Aws),
            "azure" => Ok(Self::Azure),
            _ => Err("is no cloud known here: gcp, aws or azure".into()),
        }
    }
}

/// Machines of one kind in one zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The zone: `us-central1-b`, `us-east-1a`, `eastus-1` (`eastus`: in no zone of that region).
    pub zone: String,
    /// The machine type: `n4-standard-2`, `m7i.large`, `Standard_D2s_v6`.
    pub machine_type: String,
    /// How many.
    pub count: u32,
    /// The image: `PROJECT/FAMILY` or a name, an AMI, a URN; absent: Debian 12 of the vendor's own.
    pub image: Option<String>,
}

/// How close to each other machines are put.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Placement {
    /// Wherever the cloud puts them.
    None,
    /// As close as it goes: one rack, or near it.
    Cluster,
    /// Apart, on different hardware.
    Spread,
    /// As close as the machine type and the zones allow.
    #[default]
    ClosestSupported,
}

impl Placement {
    /// Reads a word, of ours or of a vendor's. The second is a note where an old word was taken.
    ///
    /// # Errors
    /// The words there are.
    pub fn read(word: &str, cloud: Cloud) -> Result<(Self, Option<String>), String> {
        let note = |now: &str| Some(format!("--placement {word} is taken as {now}, as {cloud} calls it today"));
        match (word, cloud) {
            ("none", _) => Ok((Self::None, None)),
            ("closest_supported" | "closest-supported", _) => Ok((Self::ClosestSupported, None)),
            ("COLLOCATED" | "collocated", Cloud::Gcp)
            | ("cluster", Cloud::Aws)
            | ("proximity-placement-group", Cloud::Azure) => Ok((Self::Cluster, None)),
            ("cluster", Cloud::Gcp) => Ok((Self::Cluster, note("COLLOCATED"))),
            ("cluster", Cloud::Azure) => Ok((Self::Cluster, note("proximity-placement-group"))),
            ("spread", Cloud::Aws) | ("availability-domain", Cloud::Gcp) | ("availability-set", Cloud::Azure) => {
                Ok((Self::Spread, None))
            }
            ("spread", Cloud::Gcp) => Ok((Self::Spread, note("availability-domain"))),
            ("spread", Cloud::Azure) => Ok((Self::Spread, note("availability-set"))),
            _ => Err(format!(
                "is no placement of {cloud}: none, closest_supported, cluster, spread, or the vendor's own word for the last two"
            )),
        }
    }
}

/// A protocol that a firewall lets in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
    /// ICMP, which has no ports.
    Icmp,
}

impl Protocol {
    /// Its name in lower case, as `gcloud` and `aws` write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
            Self::Icmp => "icmp",
        }
    }
}

/// What a firewall lets in from outside. Between the machines themselves everything is open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opening {
    /// The protocol.
    pub protocol: Protocol,
    /// The first and the last port; absent for ICMP.
    pub ports: Option<(u16, u16)>,
    /// From where, as ADDRESS/BITS.
    pub from: Network,
}

/// An IPv4 network, ADDRESS/BITS; a bare address is that one alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Network(String);

impl fmt::Display for Network {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(&self.0)
    }
}

impl FromStr for Network {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (address, bits) = text.split_once('/').unwrap_or((text, "32"));
        match (address.parse(), bits.parse::<u8>()) {
            (Ok(IpAddr::V4(address)), Ok(bits @ 0..=32)) => Ok(Self(format!("{address}/{bits}"))),
            _ => Err("is no IPv4 address or network: 203.0.113.7 or 203.0.113.0/24".into()),
        }
    }
}

impl FromStr for Opening {
    type Err = String;

    /// `tcp:7000-7100@0.0.0.0/0`, `udp:53@198.51.100.7`, `icmp@0.0.0.0/0`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = "is no opening: tcp:7663@203.0.113.0/24, udp:7000-7100@0.0.0.0/0 or icmp@0.0.0.0/0";
        let (what, from) = text.split_once('@').ok_or(wrong)?;
        let from: Network = from.parse()?;
        if what == "icmp" {
            return Ok(Self { protocol: Protocol::Icmp, ports: None, from });
        }
        let (protocol, ports) = what.split_once(':').ok_or(wrong)?;
        let protocol = match protocol {
            "tcp" => Protocol::Tcp,
            "udp" => Protocol::Udp,
            _ => return Err(wrong.into()),
        };
        let (first, last) = ports.split_once('-').unwrap_or((ports, ports));
        match (first.parse(), last.parse()) {
            (Ok(first @ 1..), Ok(last)) if first <= last => Ok(Self { protocol, ports: Some((first, last)), from }),
            _ => Err(wrong.into()),
        }
    }
}

/// All that is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The cloud.
    pub cloud: Cloud,
    /// The run's id: a small letter, then up to 15 small letters and digits. It is part of every name.
    pub run: String,
    /// Project, profile or subscription; absent: as the program is configured.
    pub account: Option<String>,
    /// The machines.
    pub machines: Vec<Group>,
    /// How close they are put.
    pub placement: Placement,
    /// Whether the machines' network interfaces bypass the hypervisor where the vendor has a switch for that: gVNIC, Azure's
    /// accelerated networking. AWS's ENA has none.
    pub accelerated_networking: bool,
    /// Where ssh may come from.
    pub ssh_from: Network,
    /// What else is let in from outside.
    pub open: Vec<Opening>,
    /// Who logs in.
    pub user: String,
    /// The public key, kind and base64.
    pub public_key: String,
    /// The file it was read from, absolute.
    pub public_key_file: String,
    /// Who is to blame for the costs: letters, digits, `-` and `_`.
    pub owner: String,
    /// When it is made, in seconds since 1970.
    pub made: u64,
    /// When it may be removed by anybody, in seconds since 1970.
    pub expires: u64,
}

/// The most machines of one run.
pub const MOST: u32 = 200;

impl Wanted {
    /// Whether every word of it may stand in a command, and the whole makes sense.
    ///
    /// # Errors
    /// The first thing that does not.
    pub fn check(&self) -> Result<(), Failure> {
        let plain = |text: &str, more: &str| {
            !text.is_empty()
                && text.len() <= 128
                && !text.starts_with('-')
                && text.chars().all(|letter| letter.is_ascii_alphanumeric() || more.contains(letter))
        };
        let words = |text: &str| plain(text, "-_./:@") || text.is_empty();
        let is_run = self.run.starts_with(|letter: char| letter.is_ascii_lowercase())
            && self.run.len() <= 16
            && self.run.chars().all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit());
        if !is_run {
            return Err(refused(&self.run, "is no run id: a small letter, then up to 15 small letters and digits"));
        }
        if let Some(account) = self.account.as_deref().filter(|account| !plain(account, "-_.:@ ")) {
            return Err(refused(account, "is no name of a project, profile or subscription"));
        }
        for group in &self.machines {
            let image = group.image.as_deref().unwrap_or_default();
            if !plain(&group.zone, "-") || !plain(&group.machine_type, "-_.") || !words(image) {
                let what = format!("{} {} {image}", group.zone, group.machine_type);
                return Err(refused(what.trim(), "has letters that no zone, machine type or image has"));
            }
        }
        let count: u64 = self.machines.iter().map(|group| u64::from(group.count)).sum();
        if count == 0 || count > u64::from(MOST) {
            return Err(refused(&count.to_string(), &format!("is no number of machines: 1 to {MOST}")));
        }
        if !plain(&self.user, "-_.") || !plain(&self.owner, "-_") {
            return Err(refused(&format!("{} {}", self.user, self.owner), "is no name of a user and an owner"));
        }
        let file = &self.public_key_file;
        if !file.starts_with('/') || file.chars().any(|letter| letter == '$' || letter.is_control()) {
            return Err(refused(file, "cannot stand in a command: give the key a plain path"));
        }
        Ok(())
    }

    /// The zones, each once, in the order they were given.
    pub fn zones(&self) -> Vec<&str> {
        once(self.machines.iter().map(|group| group.zone.as_str()))
    }

    /// The machines one by one: their number within the run, and their group.
    pub fn each(&self) -> impl Iterator<Item = (usize, &Group)> {
        self.machines.iter().flat_map(|group| std::iter::repeat_n(group, group.count as usize)).enumerate()
    }

    /// What all things of the run are marked with.
    pub fn marks(&self) -> [(&'static str, String); 4] {
        [
            (RUN, self.run.clone()),
            (EXPIRES, self.expires.to_string()),
            (MADE, self.made.to_string()),
            (OWNER, self.owner.to_ascii_lowercase()),
        ]
    }

    /// The placement that there will be: of the kind asked for, or none, with a note. `supports`: whether machines of a type can
    /// be put close to each other.
    ///
    /// # Errors
    /// Close to each other was asked for, and cannot be.
    pub fn placed(&self, supports: impl Fn(&str) -> bool) -> Result<(Placement, Option<String>), Failure> {
        let unfit = self.machines.iter().find(|group| !supports(&group.machine_type));
        let why = match (self.zones().len(), unfit) {
            (2.., _) => Some("machines of several zones cannot be close to each other".to_owned()),
            (_, Some(group)) => Some(format!("{} machines cannot be put into such a group", group.machine_type)),
            _ => None,
        };
        match (self.placement, why) {
            (Placement::Cluster, Some(why)) => Err(refused("--placement cluster", &why)),
            (Placement::ClosestSupported, Some(why)) => {
                Ok((Placement::None, Some(format!("no placement group: {why}"))))
            }
            (Placement::ClosestSupported, None) => Ok((Placement::Cluster, None)),
            (placement, _) => Ok((placement, None)),
        }
    }
}

/// The mark that names the run.
pub const RUN: &str = "sonde-run";
/// The mark of when a thing may be removed, in seconds since 1970.
pub const EXPIRES: &str = "sonde-expires";
/// The mark of when a thing was made, in seconds since 1970.
pub const MADE: &str = "sonde-made";
/// The mark of who made it.
pub const OWNER: &str = "sonde-owner";

/// Each once, in the order of their first.
pub fn once<T: PartialEq>(all: impl Iterator<Item = T>) -> Vec<T> {
    all.fold(Vec::new(), |mut kept, one| {
        if !kept.contains(&one) {
            kept.push(one);
        }
        kept
    })
}

/// A failure of what was asked for.
pub fn refused(what: &str, why: &str) -> Failure {
    Failure {
        what: format!("{what}: {why}"),
        to_whom: Some(what.to_owned()),
        side: Some(Side::Ours),
        hint: None,
        partial: None,
    }
}
