//! Request for machines of a cloud, checked before any program is called.

use logbook::failure::{Failure, Side};
use logbook::machines::{Cloud, MOST, Network, Opening, Placement, is_plain, region};

/// Machines of one kind in one zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The zone: `us-central1-b`, `us-east-1a`, `eastus-1` (`eastus`: in no zone of that region).
    pub zone: String,
    /// The machine type: `n4-standard-2`, `m7i.large`, `Standard_D2s_v6`.
    pub machine_type: String,
    /// Machines, a count.
    pub count: u32,
    /// The image: `PROJECT/FAMILY` or a name, an AMI, a URN; absent: Debian 12 of the vendor's own.
    pub image: Option<String>,
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
    /// Distance between them.
    pub placement: Placement,
    /// True where the machines' network interfaces bypass the hypervisor, if the vendor has a switch for that: gVNIC,
    /// Azure's accelerated networking. AWS's ENA has none.
    pub accelerated_networking: bool,
    /// Network that ssh may come from.
    pub ssh_from: Network,
    /// Further openings of the firewall.
    pub open: Vec<Opening>,
    /// Login user.
    pub user: String,
    /// The public key, kind and base64.
    pub public_key: String,
    /// The file it was read from, absolute.
    pub public_key_file: String,
    /// Tag that names the person who answers for the costs: letters, digits, `-` and `_`.
    pub owner: String,
    /// Time at which it is made, in seconds since 1970.
    pub made: u64,
    /// Time from which anybody may remove it, in seconds since 1970.
    pub expires: u64,
}

impl Wanted {
    /// Tests that every word of it may stand in a command, and that the whole makes sense.
    ///
    /// # Errors
    /// The first thing that does not.
    pub fn check(&self) -> Result<(), Failure> {
        let words = |text: &str| is_plain(text, "-_./:@") || text.is_empty();
        let is_run = self.run.starts_with(|letter: char| letter.is_ascii_lowercase())
            && self.run.len() <= 16
            && self.run.chars().all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit());
        if !is_run {
            return Err(refused(&self.run, "is no run id: a small letter, then up to 15 small letters and digits"));
        }
        if let Some(account) = self.account.as_deref().filter(|account| !is_plain(account, "-_.:@ ")) {
            return Err(refused(account, "is no name of a project, profile or subscription"));
        }
        for group in &self.machines {
            let image = group.image.as_deref().unwrap_or_default();
            if let Some(hint) = region(self.cloud, &group.zone) {
                let what = format!("is a region of {}, not a zone", self.cloud);
                return Err(Failure { hint: Some(hint), ..refused(&group.zone, &what) });
            }
            if !is_plain(&group.zone, "-") || !is_plain(&group.machine_type, "-_.") || !words(image) {
                let what = format!("{} {} {image}", group.zone, group.machine_type);
                return Err(refused(what.trim(), "has letters that no zone, machine type or image has"));
            }
        }
        let count: u64 = self.machines.iter().map(|group| u64::from(group.count)).sum();
        if count == 0 || count > u64::from(MOST) {
            return Err(refused(&count.to_string(), &format!("is no number of machines: 1 to {MOST}")));
        }
        if !is_plain(&self.user, "-_.") || !is_plain(&self.owner, "-_") {
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

    /// Marks of all things of the run.
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
