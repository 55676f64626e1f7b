//! Request for machines of a cloud, in PKB's words: the one place that knows both those and a plan's.

use logbook::machines::{Cloud, Machines, Network};

use crate::persona::answer::Answer;
use crate::persona::pkb::flags::{Flags, complain};

/// A cloud by PKB's name of it.
fn cloud(word: &str) -> Result<Cloud, Answer> {
    word.parse().map_err(|_| {
        complain(&format!(
            "--cloud={word}: machines are made on GCP, AWS and Azure; list those of other clouds by --static_vm_file"
        ))
    })
}

/// As PKB writes it.
fn name(cloud: Cloud) -> &'static str {
    match cloud {
        Cloud::Gcp => "GCP",
        Cloud::Aws => "AWS",
        Cloud::Azure => "Azure",
    }
}

/// PKB's machine of two cores and its zone, where nothing is said.
fn usual(cloud: Cloud) -> (&'static str, &'static str) {
    match cloud {
        Cloud::Gcp => ("n4-standard-2", "us-central1-b"),
        Cloud::Aws => ("m7i.large", "us-east-1a"),
        Cloud::Azure => ("Standard_D2s_v6", "eastus-1"),
    }
}

/// The cloud's own words for machines close to each other, and apart.
fn placements(cloud: Cloud) -> (&'static str, &'static str) {
    match cloud {
        Cloud::Gcp => ("COLLOCATED", "availability-domain"),
        Cloud::Aws => ("cluster", "spread"),
        Cloud::Azure => ("proximity-placement-group", "availability-set"),
    }
}

/// PKB's placement where nothing is said: of netperf, the closest; else what the cloud's own is.
fn usual_placement(cloud: Cloud, benchmark: &str) -> &'static str {
    match (cloud, benchmark) {
        (_, "netperf") => "closest_supported",
        (Cloud::Aws, _) => "cluster",
        (Cloud::Gcp | Cloud::Azure, _) => "none",
    }
}

/// A placement as the cloud calls it, with a note where its name is of old.
fn placement(cloud: Cloud, word: &str) -> Result<(&str, Option<String>), Answer> {
    let style = "--placement_group_style";
    let cloud_name = name(cloud);
    let of_old = |now: &str| {
        Some(format!("{style}={word}: taken as {now}, as {cloud_name} calls it; PKB has dropped the old word"))
    };
    let (close, apart) = placements(cloud);
    match word {
        "none" | "closest_supported" => Ok((word, None)),
        _ if word == close || word == apart => Ok((word, None)),
        "cluster" => Ok((close, of_old(close))),
        "spread" => Ok((apart, of_old(apart))),
        "partition" if cloud == Cloud::Aws => {
            Err(complain("--placement_group_style=partition: no partitions are made: say cluster or spread"))
        }
        _ => Err(complain(&format!("{style}={word}: {cloud_name} has none, closest_supported, {close} and {apart}"))),
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
    let cloud = cloud(flags.text("cloud").unwrap_or("GCP"))?;
    check_os_type(flags)?;
    let (usual_type, usual_zone) = usual(cloud);
    let mut notes = Vec::new();
    let (placement, note) = match flags.text("placement_group_style") {
        Some(word) => placement(cloud, word)?,
        None => (usual_placement(cloud, benchmark), None),
    };
    notes.extend(note);
    let said: Vec<&String> = ["zones", "extra_zones", "zone"].iter().flat_map(|name| flags.list(name)).collect();
    // One machine for each time that a zone is said.
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
    let from = flags.text("ssh_from").unwrap_or("0.0.0.0/0");
    let from: Network = from.parse().map_err(|why| complain(&format!("--ssh_from={from}: {why}")))?;
    if !flags.is_said("ssh_from") {
        notes.push("ssh to the machines is let in from anywhere, as PKB has it: --ssh_from=ADDRESS/BITS".to_owned());
    }
    let port = endpoint::reflector::PORT;
    let open = [format!("tcp:{port}@0.0.0.0/0"), format!("udp:{port}@0.0.0.0/0"), "icmp@0.0.0.0/0".to_owned()];
    let minutes = flags.count("timeout_minutes").unwrap_or(240);
    let machines = Machines {
        cloud,
        zones,
        machine_type,
        count: 1,
        image: flags.text("image").map(str::to_owned),
        placement: placement.to_owned(),
        accelerated_networking: cloud != Cloud::Azure || accelerated,
        from,
        open: open.iter().filter(|_| from_outside).filter_map(|text| text.parse().ok()).collect(),
        user: None,
        public_key: public_key(flags)?,
        owner: Some(owner.to_owned()),
        account: flags.text("project").map(str::to_owned),
        lifetime: format!("{minutes}m")
            .parse()
            .map_err(|why| complain(&format!("--timeout_minutes={minutes}: {why}")))?,
    };
    Ok((machines, notes))
}

/// The names of machines as they will be hosts: their zone and number.
pub fn names(machines: &Machines) -> Vec<String> {
    machines.zones.iter().enumerate().map(|(number, zone)| format!("{zone}-{number}")).collect()
}

/// A kernel other than the one that was asked for would measure otherwise.
fn check_os_type(flags: &Flags) -> Result<(), Answer> {
    let Some(word) = flags.text("os_type").filter(|word| !flags.is_said("image") && *word != "debian12") else {
        return Ok(());
    };
    Err(complain(&format!(
        "--os_type={word}: machines run Debian 12 unless --image says otherwise: the program needs nothing of a distribution"
    )))
}

/// The public key's file; the private one is the one beside it.
fn public_key(flags: &Flags) -> Result<Option<String>, Answer> {
    let public = flags.text("ssh_public_key");
    let beside = public.map(|public| public.trim_end_matches(".pub"));
    if let Some(private) = flags.text("ssh_private_key").filter(|private| beside != Some(private)) {
        return Err(complain(&format!(
            "--ssh_private_key={private}: lies beside the public one, whose name ends in .pub: --ssh_public_key"
        )));
    }
    Ok(public.map(str::to_owned))
}
