//! Machines of a cloud, as they are asked for: in a plan, and in the words of commands.
//!
//! Not here: what a vendor makes of it, and what is made.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use measure::unit::Nanos;
use serde::{Deserialize, Serialize};

/// The most machines of one table, and of one run of `sonde lab cloud`.
pub const MOST: u32 = 200;

/// Machines that a plan wants to be made: a lab of one cloud, with a network of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Machines {
    /// The cloud.
    pub cloud: Cloud,
    /// The zones: `count` machines in each, and in one that is named twice so many more.
    pub zones: Vec<String>,
    /// Their type, as the vendor calls it.
    pub machine_type: String,
    /// Machines in each zone, a count; all of them are 1 to 200.
    #[serde(default = "one")]
    pub count: u32,
    /// Image of the machines: `PROJECT/FAMILY` or a name, an AMI, a URN; absent: Debian 12 of the vendor's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// Distance between the machines: `none`, `cluster`, `spread`, `closest_supported`, or the vendor's own word.
    #[serde(default = "closest")]
    pub placement: String,
    /// True where their interfaces bypass the hypervisor, if the vendor has a switch for that.
    #[serde(default = "yes")]
    pub accelerated_networking: bool,
    /// Source that ssh may come from: the address by which the cloud sees whoever carries the plan out, or a network,
    /// ADDRESS/BITS.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub from: Network,
    /// Further openings of the firewall, as `tcp:7663@203.0.113.0/24` or `icmp@0.0.0.0/0`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
    pub open: Vec<Opening>,
    /// Login user; absent: `admin` on aws, elsewhere `sonde`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The file of the public key that may log in, seen from where the command is given; the private one lies beside it, without
    /// `.pub`. Absent: `~/.ssh/id_ed25519.pub`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub public_key: Option<String>,
    /// Tag that names the person who answers for the costs; absent: the user's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Project, profile or subscription; absent: as the vendor's program is configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// Time from which anybody may remove them, with its unit: 10m to 168h.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub lifetime: Lifetime,
}

impl Machines {
    /// Number of machines: zones times machines in each.
    pub fn machines(&self) -> u64 {
        self.zones.len() as u64 * u64::from(self.count)
    }
}

fn one() -> u32 {
    1
}

fn yes() -> bool {
    true
}

fn closest() -> String {
    "closest_supported".to_owned()
}

/// Returns true where a word has 1 to 128 letters, digits and characters of `more`, and no dash at its start: a vendor's
/// command takes it for nothing else.
pub fn is_plain(text: &str, more: &str) -> bool {
    !text.is_empty()
        && text.len() <= 128
        && !text.starts_with('-')
        && text.chars().all(|letter| letter.is_ascii_alphanumeric() || more.contains(letter))
}

/// Hint that names a zone where `zone` is a whole region: `us-central1` of gcp, `us-east-1` of aws. `None` for Azure, where
/// machines may be in no zone of a region.
pub fn region(cloud: Cloud, zone: &str) -> Option<String> {
    let parts: Vec<&str> = zone.split('-').collect();
    let letters = |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_lowercase());
    let numbered = |part: &str| {
        let name = part.trim_end_matches(|digit: char| digit.is_ascii_digit());
        name.len() < part.len() && letters(&name)
    };
    let (last, first) = parts.split_last()?;
    let (is_region, zone) = match cloud {
        Cloud::Gcp => (first.len() == 1 && first.iter().all(letters) && numbered(last), format!("{zone}-b")),
        Cloud::Aws => {
            let is_number = !last.is_empty() && last.bytes().all(|byte| byte.is_ascii_digit());
            (first.len() >= 2 && first.iter().all(letters) && is_number, format!("{zone}a"))
        }
        Cloud::Azure => (false, String::new()),
    };
    is_region.then(|| format!("name a zone of it, as `{zone}`"))
}

/// Returns true where machines of this type are known to have ARM processors, by the vendor's names: `c4a-standard-2`,
/// `m7g.large`, `Standard_D2ps_v5`.
pub fn is_arm(cloud: Cloud, machine_type: &str) -> bool {
    let after_digits = |text: &str| {
        let rest = text.trim_start_matches(|letter: char| letter.is_ascii_alphabetic());
        let features = rest.trim_start_matches(|digit: char| digit.is_ascii_digit());
        (features.len() < rest.len()).then(|| features.to_owned())
    };
    match cloud {
        Cloud::Gcp => matches!(machine_type.split('-').next(), Some("t2a" | "c4a" | "n4a")),
        Cloud::Aws => {
            let family = machine_type.split('.').next().unwrap_or_default();
            family == "a1" || after_digits(family).is_some_and(|features| features.starts_with('g'))
        }
        Cloud::Azure => {
            let size = machine_type.trim_start_matches("Standard_").split('_').next().unwrap_or_default();
            let features = size.split_once('-').map_or_else(|| after_digits(size), |(_, rest)| after_digits(rest));
            features.is_some_and(|features| features.contains('p'))
        }
    }
}

/// Vendor of a cloud.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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

/// Distance between machines.
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
        let note = |now: &str| Some(format!("placement {word} is taken as {now}, as {cloud} calls it today"));
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

/// Opening of a firewall: traffic that is let in from outside. Between the machines themselves everything is open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Opening {
    /// The protocol.
    pub protocol: Protocol,
    /// The first and the last port; absent for ICMP.
    pub ports: Option<(u16, u16)>,
    /// Source, as ADDRESS/BITS.
    pub from: Network,
}

/// An IPv4 network, ADDRESS/BITS; a bare address is that one alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
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

impl fmt::Display for Opening {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { protocol, ports, from } = self;
        match ports {
            None => write!(to, "{}@{from}", protocol.name()),
            Some((first, last)) if first == last => write!(to, "{}:{first}@{from}", protocol.name()),
            Some((first, last)) => write!(to, "{}:{first}-{last}@{from}", protocol.name()),
        }
    }
}

/// Lifetime of machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Lifetime(Nanos);

impl Lifetime {
    /// In seconds.
    pub fn seconds(self) -> u64 {
        self.0.0 / 1_000_000_000
    }
}

impl Default for Lifetime {
    fn default() -> Self {
        Self(Nanos::secs(4 * 3_600))
    }
}

impl fmt::Display for Lifetime {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.seconds() {
            seconds if seconds % 3_600 == 0 => write!(to, "{}h", seconds / 3_600),
            seconds if seconds % 60 == 0 => write!(to, "{}m", seconds / 60),
            seconds => write!(to, "{seconds}s"),
        }
    }
}

impl FromStr for Lifetime {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let time: Option<Nanos> = text.parse().ok();
        let holds = |time: &Nanos| (Nanos::secs(600)..=Nanos::secs(7 * 86_400)).contains(time);
        time.filter(holds).map(Self).ok_or_else(|| "is no time for machines to live: 10m to 168h".into())
    }
}

/// Types that are written as a text and read from one: a fault names the text.
macro_rules! as_text {
    ($($kind:ty),*) => {$(
        impl TryFrom<String> for $kind {
            type Error = String;

            fn try_from(text: String) -> Result<Self, String> {
                text.parse().map_err(|why| format!("`{}` {why}", text.escape_debug()))
            }
        }

        impl From<$kind> for String {
            fn from(value: $kind) -> Self {
                value.to_string()
            }
        }
    )*};
}

as_text!(Network, Opening, Lifetime);

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    #[test_case(Cloud::Gcp, "us-central1", Some("us-central1-b"))]
    #[test_case(Cloud::Gcp, "us-central1-b", None)]
    #[test_case(Cloud::Gcp, "asia-northeast1-a", None)]
    #[test_case(Cloud::Aws, "us-east-1", Some("us-east-1a"))]
    #[test_case(Cloud::Aws, "us-gov-west-1", Some("us-gov-west-1a"))]
    #[test_case(Cloud::Aws, "us-east-1a", None)]
    #[test_case(Cloud::Aws, "us-west-2-lax-1a", None)]
    #[test_case(Cloud::Azure, "eastus", None)]
    #[test_case(Cloud::Azure, "eastus-1", None)]
    fn a_region_is_no_zone(cloud: Cloud, zone: &str, meant: Option<&str>) {
        let hint = region(cloud, zone);
        assert_eq!(hint, meant.map(|zone| format!("name a zone of it, as `{zone}`")));
    }

    #[test_case(Cloud::Gcp, &["c4a-standard-2", "t2a-standard-1"], &["n4-standard-2", "c4-standard-2", "n4d-standard-2"])]
    #[test_case(Cloud::Aws, &["m7g.large", "c6gn.xlarge", "t4g.micro", "a1.large", "im4gn.large", "x2gd.large"],
        &["m7i.large", "g4dn.xlarge", "g5.xlarge", "m7a.large", "c5.large", "r6id.large"])]
    #[test_case(Cloud::Azure, &["Standard_D2ps_v5", "Standard_E4pds_v6", "Standard_B2pts_v2"],
        &["Standard_D2s_v6", "Standard_NP10s", "Standard_E4-2s_v5", "Standard_F8s_v2"])]
    fn arm_is_known_by_name(cloud: Cloud, arm: &[&str], others: &[&str]) {
        assert!(arm.iter().all(|name| is_arm(cloud, name)));
        let wrong: Vec<&&str> = others.iter().filter(|name| is_arm(cloud, name)).collect();
        assert_eq!(wrong, [&""; 0]);
    }
}
