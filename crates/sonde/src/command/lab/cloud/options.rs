//! The options of `sonde lab cloud`, each defined once.

use std::path::PathBuf;

use clap::Args;
use cloud::call::Patience;
use logbook::machines::{Cloud, Lifetime, Machines, Network, Opening};
use measure::unit::Nanos;

use crate::command::value;

/// Options of `sonde lab cloud up`.
#[derive(Debug, Args)]
pub struct UpOptions {
    /// Cloud: gcp, aws or azure
    #[arg(long, value_name = "CLOUD")]
    pub cloud: Cloud,
    /// Zone; repeatable: us-central1-b, us-east-1a, eastus-1 (eastus: in no zone of that region)
    #[arg(long, value_name = "ZONE", required = true, value_delimiter = ',')]
    pub zone: Vec<String>,
    /// Machine type, or one per zone
    #[arg(long, value_name = "TYPE", required = true, value_delimiter = ',')]
    pub machine_type: Vec<String>,
    /// Machines in each zone
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=200))]
    pub count: u32,
    /// The image: PROJECT/FAMILY or a name, an AMI, a URN [default: Debian 12 of the vendor]
    #[arg(long, value_name = "IMAGE")]
    pub image: Option<String>,
    /// Placement: none, cluster, spread, `closest_supported`, or the vendor's own word
    ///
    /// `closest_supported` puts machines of one zone into a cluster if their type allows it, and says so if not. `cluster` means COLLOCATED
    /// on gcp and proximity-placement-group on azure, with a note.
    #[arg(long, value_name = "STYLE", default_value = "closest_supported")]
    pub placement: String,
    /// Disable accelerated networking: `VIRTIO_NET` on gcp, an unaccelerated interface on azure; aws has no switch for it
    #[arg(long)]
    pub no_accelerated_networking: bool,
    /// Allow ssh from this address (as the cloud sees it) or network
    #[arg(long, value_name = "ADDRESS[/BITS]")]
    pub from: Network,
    /// Also allow from outside, as in tcp:7663@203.0.113.0/24 or icmp@0.0.0.0/0; repeatable
    ///
    /// Between the machines everything is allowed.
    #[arg(long, value_name = "WHAT@FROM")]
    pub open: Vec<Opening>,
    /// Login user [default: admin on aws (Debian images), else sonde]
    #[arg(long, value_name = "NAME")]
    pub user: Option<String>,
    /// Public key for the login; the private key is the same file without .pub [default: `~/.ssh/id_ed25519.pub`]
    #[arg(long, value_name = "FILE")]
    pub public_key: Option<PathBuf>,
    /// Owner of the costs, as a tag [default: the local user name]
    #[arg(long, value_name = "NAME")]
    pub owner: Option<String>,
    /// Lifetime of the machines: after it `sonde lab cloud clean` removes them
    ///
    /// On gcp and aws they then end by themselves.
    #[arg(long, value_name = "TIME", default_value_t)]
    pub lifetime: Lifetime,
    /// ID of the run: a lower-case letter, then up to 15 lower-case letters and digits [default: a new one]
    #[arg(long, value_name = "ID")]
    pub run: Option<String>,
    /// Start although another run is not cleaned up
    #[arg(long)]
    pub despite_owed: bool,
    /// Print the commands without running them
    #[arg(long)]
    pub dry_run: bool,
    /// Write the inventory to FILE as TOML instead of printing it
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Calls of the program
    #[command(flatten)]
    pub calls: CallOptions,
}

impl UpOptions {
    /// Machines of the options, as a plan would have them. Where there are several machine types it has the first alone.
    pub fn machines(&self) -> Machines {
        Machines {
            cloud: self.cloud,
            zones: self.zone.clone(),
            machine_type: self.machine_type.first().cloned().unwrap_or_default(),
            count: self.count,
            image: self.image.clone(),
            placement: self.placement.clone(),
            accelerated_networking: !self.no_accelerated_networking,
            from: self.from.clone(),
            open: self.open.clone(),
            user: self.user.clone(),
            public_key: self.public_key.as_ref().map(|file| file.display().to_string()),
            owner: self.owner.clone(),
            account: self.calls.account.clone(),
            lifetime: self.lifetime,
        }
    }
}

/// Calls of a vendor's program.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Calls of the cloud program")]
pub struct CallOptions {
    /// The project, profile or subscription [default: as the program is configured]
    #[arg(long, value_name = "NAME", visible_aliases = ["project", "profile", "subscription"])]
    pub account: Option<String>,
    /// Maximum calls at once
    #[arg(long, value_name = "NUMBER", default_value_t = 8, value_parser = clap::value_parser!(u8).range(1..=64))]
    pub at_once: u8,
    /// Timeout of a call
    #[arg(long, value_name = "TIME", value_parser = value::time, default_value = "5m")]
    pub call_timeout: Nanos,
    /// Timeout for a resource to be ready, or removed
    #[arg(long, value_name = "TIME", value_parser = value::time, default_value = "10m")]
    pub ready_timeout: Nanos,
    /// Interval between checks
    #[arg(long, value_name = "TIME", value_parser = value::time, default_value = "3s")]
    pub look_every: Nanos,
    /// Time to look for a resource whose creation is uncertain
    #[arg(long, value_name = "TIME", value_parser = value::time, default_value = "20s")]
    pub settle: Nanos,
}

impl Default for CallOptions {
    fn default() -> Self {
        let Patience { call, ready, look, settle, .. } = Patience::default();
        Self { account: None, at_once: 8, call_timeout: call, ready_timeout: ready, look_every: look, settle }
    }
}

impl CallOptions {
    /// As the engine wants it.
    pub fn patience(&self) -> Patience {
        let again = Patience::default().again.min(self.look_every);
        Patience {
            call: self.call_timeout,
            look: self.look_every,
            ready: self.ready_timeout,
            settle: self.settle,
            again,
            ..Patience::default()
        }
    }
}

/// Search of a cloud by tags.
#[derive(Clone, Debug, Args)]
pub struct TagOptions {
    /// Search this cloud for resources with the tags
    #[arg(long, value_name = "CLOUD")]
    pub cloud: Option<Cloud>,
    /// Region to search (aws); repeatable [default: all]
    #[arg(long, value_name = "REGION", requires = "cloud", value_delimiter = ',', value_parser = region)]
    pub region: Vec<String>,
}

/// Options of `sonde lab cloud down`.
#[derive(Debug, Args)]
pub struct DownOptions {
    /// The run
    #[arg(long, value_name = "ID")]
    pub run: String,
    /// Also remove resources with the tags of the run, whatever its ledger says; the only way without a ledger
    #[arg(long, requires = "cloud")]
    pub by_tags: bool,
    /// Print the commands without removing anything
    #[arg(long)]
    pub dry_run: bool,
    /// Where to look by tags
    #[command(flatten)]
    pub tags: TagOptions,
    /// Calls of the program
    #[command(flatten)]
    pub calls: CallOptions,
}

/// Options of `sonde lab cloud clean`.
#[derive(Debug, Args)]
pub struct CleanOptions {
    /// Also runs older than TIME whose lifetime is not over
    #[arg(long, value_name = "TIME", value_parser = value::time)]
    pub older_than: Option<Nanos>,
    /// By tags: also resources of others [default: only of --owner]
    #[arg(long, requires = "cloud")]
    pub any_owner: bool,
    /// By tags: only resources of this owner [default: the local user name]
    #[arg(long, value_name = "NAME", conflicts_with = "any_owner")]
    pub owner: Option<String>,
    /// Print what would be removed, remove nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Where to look by tags
    #[command(flatten)]
    pub tags: TagOptions,
    /// Calls of the program
    #[command(flatten)]
    pub calls: CallOptions,
}

/// Options of `sonde lab cloud list`.
#[derive(Debug, Args)]
pub struct ListOptions {
    /// Where to look by tags, beside the ledgers
    #[command(flatten)]
    pub tags: TagOptions,
    /// Calls of the program
    #[command(flatten)]
    pub calls: CallOptions,
}

fn region(text: &str) -> Result<String, String> {
    let plain = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-';
    let holds = text.starts_with(|letter: char| letter.is_ascii_lowercase()) && text.chars().all(plain);
    if holds { Ok(text.to_owned()) } else { Err("is no region, as us-east-1 is".into()) }
}
