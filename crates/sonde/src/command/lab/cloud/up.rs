//! `sonde lab cloud up`: from options to machines, or to nothing at all.

use std::path::{Path, PathBuf};

use lab::cloud::call::Caller;
use lab::cloud::ledger::Ledger;
use lab::cloud::machines::{Login, hosts};
use lab::cloud::make::{Work, make_or_remove};
use lab::cloud::script::script;
use lab::cloud::vendor::{Drawn, Vendor};
use lab::cloud::wanted::{Group, Placement, Wanted};

use crate::command::deliver;
use crate::command::lab::cloud::options::UpOptions;
use crate::command::lab::cloud::{Room, deliver_hosts, failure, now, variable};
use crate::exit::Exit;
use crate::failure::Failure;

/// Makes what is asked for.
///
/// # Errors
/// What the options, a ledger or the cloud says.
pub fn run(options: &UpOptions, room: &Room) -> Result<Exit, Failure> {
    if let Some(file) = &options.output {
        deliver::check_path(file)?;
    }
    let wanted = wanted(options, room)?;
    let vendor = Vendor::of(wanted.cloud);
    let drawn = (vendor.draw)(&wanted).map_err(failure)?;
    for note in &drawn.notes {
        room.output.note(&format!("note: {note}\n"));
    }
    if options.dry_run {
        room.output.result(&script(vendor, wanted.account.as_deref(), &drawn.resources));
        return Ok(Exit::Done);
    }
    if !options.despite_owed {
        refuse_while_owed(room)?;
    }
    make(options, &wanted, &drawn, vendor, room)
}

fn make(options: &UpOptions, wanted: &Wanted, drawn: &Drawn, vendor: &Vendor, room: &Room) -> Result<Exit, Failure> {
    let book = room.shelf.begin(Ledger::of(wanted, drawn)).map_err(failure)?;
    room.output.note(&format!("run {}: {} machines on {}\n", wanted.run, drawn.machines.len(), wanted.cloud));
    let caller = Caller {
        tool: &vendor.tool,
        account: wanted.account.clone(),
        patience: options.calls.patience(),
        stop: room.stop.clone(),
        input: Some(book.lock().map_err(failure)?),
    };
    let tell = |what: &str| room.tell(what);
    let work = Work { book: &book, caller: &caller, at_once: options.calls.at_once.into(), tell: &tell };
    if let Err(told) = make_or_remove(work) {
        if book.ledger().is_clean() {
            drop(caller);
            book.close().map_err(failure)?;
        }
        return room.failed(told);
    }
    let hosts = hosts(&book.ledger(), &login(options, wanted));
    deliver_hosts(&hosts, options.output.as_ref(), &room.output)?;
    let until = jiff::Timestamp::from_second(wanted.expires.cast_signed()).map(|time| time.to_string());
    room.output.note(&format!(
        "run {} is up, until {}; `sonde lab cloud down --run {}` removes it\n",
        wanted.run,
        until.unwrap_or_default(),
        wanted.run
    ));
    Ok(Exit::Done)
}

fn refuse_while_owed(room: &Room) -> Result<(), Failure> {
    let listed = room.shelf.all().map_err(failure)?;
    let owed = listed.iter().filter_map(|listed| Some((listed.run.as_str(), listed.owed(now())?)));
    let owed: Vec<(&str, String)> = owed.collect();
    if owed.is_empty() {
        return Ok(());
    }
    let told: Vec<String> = owed.iter().map(|(run, why)| format!("run {run}: {why}")).collect();
    let downs: Vec<String> = owed.iter().map(|(run, _)| format!("`sonde lab cloud down --run {run}`")).collect();
    Err(Failure::usage(format!("a clean-up is owed, so nothing new is begun: {}", told.join("; ")))
        .about(owed[0].0)
        .hint(format!("{}; or --despite-owed", downs.join(", "))))
}

fn wanted(options: &UpOptions, room: &Room) -> Result<Wanted, Failure> {
    let (placement, note) = Placement::read(&options.placement, options.cloud)
        .map_err(|error| Failure::usage(format!("{}: {error}", options.placement)).about("--placement"))?;
    if let Some(note) = note {
        room.output.note(&format!("note: {note}\n"));
    }
    let key_file = public_key_file(options)?;
    let made = now();
    let wanted = Wanted {
        cloud: options.cloud,
        run: options.run.clone().unwrap_or_else(new_run),
        account: options.calls.account.clone(),
        machines: groups(options)?,
        placement,
        accelerated_networking: !options.no_accelerated_networking,
        ssh_from: options.from.clone(),
        open: options.open.clone(),
        user: options.user.clone().unwrap_or_else(|| Vendor::of(options.cloud).user.to_owned()),
        public_key: public_key(&key_file)?,
        public_key_file: key_file.display().to_string(),
        owner: owner(options.owner.as_deref()),
        made,
        expires: made + options.lifetime.0 / 1_000_000_000,
    };
    wanted.check().map_err(failure)?;
    Ok(wanted)
}

/// Who is to blame: letters and digits of what was said, or of the user's name.
pub(in crate::command::lab) fn owner(said: Option<&str>) -> String {
    let name = said.map(str::to_owned).or_else(|| variable("USER")).unwrap_or_default();
    let name: String = name.chars().filter(|letter| letter.is_ascii_alphanumeric() || "-_".contains(*letter)).collect();
    let name = name.trim_start_matches('-').to_ascii_lowercase();
    if name.is_empty() { "unknown".into() } else { name.chars().take(60).collect() }
}

fn groups(options: &UpOptions) -> Result<Vec<Group>, Failure> {
    let UpOptions { zone, machine_type, count, image, .. } = options;
    if machine_type.len() != 1 && machine_type.len() != zone.len() {
        let what = format!("{} machine types for {} zones", machine_type.len(), zone.len());
        return Err(Failure::usage(what).about("--machine-type").hint("give one for all zones, or one for each"));
    }
    let kinds = machine_type.iter().cycle();
    let group = |(zone, machine_type): (&String, &String)| Group {
        zone: zone.clone(),
        machine_type: machine_type.clone(),
        count: *count,
        image: image.clone(),
    };
    Ok(zone.iter().zip(kinds).map(group).collect())
}

fn public_key_file(options: &UpOptions) -> Result<PathBuf, Failure> {
    let usual = || variable("HOME").map(|home| PathBuf::from(home).join(".ssh/id_ed25519.pub"));
    let file = options.public_key.clone().or_else(usual).unwrap_or_default();
    std::path::absolute(&file).map_err(|error| unreadable(&file, &error.to_string()))
}

/// The kind and the key of the file's one line, without its comment.
fn public_key(file: &Path) -> Result<String, Failure> {
    let text = std::fs::read_to_string(file).map_err(|error| unreadable(file, &error.to_string()))?;
    let mut words = text.split_whitespace();
    let plain = |word: &&str| word.chars().all(|letter| letter.is_ascii_alphanumeric() || "+/=-@.".contains(letter));
    match (words.next().filter(plain), words.next().filter(plain)) {
        (Some(kind), Some(key))
            if kind.starts_with("ssh-") || kind.starts_with("ecdsa-") || kind.starts_with("sk-") =>
        {
            Ok(format!("{kind} {key}"))
        }
        _ => Err(unreadable(file, "it is no public key of ssh")),
    }
}

fn unreadable(file: &Path, why: &str) -> Failure {
    Failure::usage(format!("{}: {why}", file.display()))
        .about(file.display().to_string())
        .hint("make a key by `ssh-keygen -t ed25519`, or name another by --public-key")
}

fn login(options: &UpOptions, wanted: &Wanted) -> Login {
    let private = Path::new(&wanted.public_key_file).with_extension("");
    let named = options.public_key.is_some() && private.is_file();
    // A machine that is hours old has a host key that nobody has seen: it is taken the first time, and must stay.
    let options = vec!["StrictHostKeyChecking=accept-new".to_owned()];
    Login { user: wanted.user.clone(), key_file: named.then(|| private.display().to_string()), options }
}

/// `r` and nine digits of a random number.
pub(in crate::command::lab) fn new_run() -> String {
    let number = uuid::Uuid::now_v7().simple().to_string();
    format!("r{}", &number[number.len() - 9..])
}
