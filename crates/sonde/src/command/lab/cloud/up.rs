//! `sonde lab cloud up`: from options to machines, or to nothing at all.

use std::path::{Path, PathBuf};

use cloud::call::Caller;
use cloud::ledger::{Book, Ledger};
use cloud::machines::{Login, hosts};
use cloud::make::{Work, make_or_remove};
use cloud::script::script;
use cloud::vendor::{Drawn, Vendor};
use cloud::wanted::{Group, Wanted};
use logbook::host::Host;
use logbook::machines::{Machines, Placement};
use logbook::whole;

use crate::command::deliver;
use crate::command::lab::cloud::options::{CallOptions, UpOptions};
use crate::command::lab::cloud::{Room, deliver_hosts, failure, now, variable};
use crate::exit::Exit;
use crate::failure::Failure;

/// Makes what is asked for.
///
/// # Errors
/// Errors of the options, a ledger or the cloud.
pub fn run(options: &UpOptions, room: &Room) -> Result<Exit, Failure> {
    if let Some(file) = &options.output {
        deliver::check_path(file)?;
    }
    let run = options.run.clone().unwrap_or_else(new_run);
    let order = Order::of(&options.machines(), groups(options)?, run, room)?;
    if options.dry_run {
        let wanted = &order.wanted;
        room.output.result(&script(Vendor::of(wanted.cloud), wanted.account.as_deref(), &order.drawn.resources));
        return Ok(Exit::Done);
    }
    if !options.despite_owed {
        refuse_while_owed(room, "; or --despite-owed")?;
    }
    let made = match make(&order, &options.calls, false, room) {
        Ok(made) => made,
        Err(told) => return room.failed(told),
    };
    deliver_hosts(&made.hosts, options.output.as_ref(), &room.output)?;
    let run = &order.wanted.run;
    room.output
        .note(&format!("run {run} is up, until {}; `sonde lab cloud down --run {run}` removes it\n", order.until()));
    Ok(Exit::Done)
}

/// Machines that are to be made, with nothing left open.
#[derive(Debug)]
pub struct Order {
    wanted: Wanted,
    drawn: Drawn,
    login: Login,
}

/// Machines that were made: as long as this is there, nobody else takes up their ledger.
#[derive(Debug)]
pub struct Made {
    pub hosts: Vec<Host>,
    book: Book,
}

impl Order {
    /// `machines`, of the groups that they come in, as the run of this id. Notes for the reader are printed.
    pub fn of(machines: &Machines, groups: Vec<Group>, run: String, room: &Room) -> Result<Self, Failure> {
        let wanted = wanted(machines, groups, run, room)?;
        let drawn = (Vendor::of(wanted.cloud).draw)(&wanted).map_err(failure)?;
        for note in &drawn.notes {
            room.output.note(&format!("note: {note}\n"));
        }
        let login = login(machines, &wanted, room);
        Ok(Self { wanted, drawn, login })
    }

    /// The hosts that there will be, at an address that is nobody's.
    pub fn foreseen(&self, nobody: &str) -> Vec<Host> {
        let mut ledger = Ledger::of(&self.wanted, &self.drawn);
        let addresses = self.drawn.machines.iter().flat_map(|machine| [&machine.internal, &machine.external]);
        ledger.values = addresses.map(|name| (name.clone(), nobody.to_owned())).collect();
        hosts(&ledger, &self.login)
    }

    /// Time from which anybody may remove them.
    fn until(&self) -> String {
        let until = jiff::Timestamp::from_second(self.wanted.expires.cast_signed());
        until.map(|time| time.to_string()).unwrap_or_default()
    }
}

/// Makes them; `attended`: this process removes them too. Where that fails everything is removed, or owed.
pub fn make(
    order: &Order,
    calls: &CallOptions,
    attended: bool,
    room: &Room,
) -> Result<Made, logbook::failure::Failure> {
    let Order { wanted, drawn, login } = order;
    let book = room.shelf.begin(Ledger { attended, ..Ledger::of(wanted, drawn) })?;
    room.output.note(&format!("run {}: {} machines on {}\n", wanted.run, drawn.machines.len(), wanted.cloud));
    let caller = Caller {
        tool: &Vendor::of(wanted.cloud).tool,
        account: wanted.account.clone(),
        patience: calls.patience(),
        stop: room.stop.clone(),
        input: Some(book.lock()?),
    };
    let tell = |what: &str| room.tell(what);
    let work = Work { book: &book, caller: &caller, at_once: calls.at_once.into(), tell: &tell };
    if let Err(told) = make_or_remove(work) {
        if book.ledger().is_clean() {
            drop(caller);
            book.close()?;
        }
        return Err(told);
    }
    drop(caller);
    Ok(Made { hosts: hosts(&book.ledger(), login), book })
}

impl Made {
    /// Lets its ledger go, for whoever removes it.
    pub fn release(self) {
        drop(self.book);
    }
}

/// Refuses to make anything while something else is still to be removed; `more` is what else may be done.
pub fn refuse_while_owed(room: &Room, more: &str) -> Result<(), Failure> {
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
        .hint(format!("{}{more}", downs.join(", "))))
}

fn wanted(machines: &Machines, groups: Vec<Group>, run: String, room: &Room) -> Result<Wanted, Failure> {
    let (placement, note) = Placement::read(&machines.placement, machines.cloud)
        .map_err(|error| Failure::usage(format!("{}: {error}", machines.placement)).about("placement"))?;
    if let Some(note) = note {
        room.output.note(&format!("note: {note}\n"));
    }
    let key_file = public_key_file(machines)?;
    let made = now();
    let wanted = Wanted {
        cloud: machines.cloud,
        run,
        account: machines.account.clone(),
        machines: groups,
        placement,
        accelerated_networking: machines.accelerated_networking,
        ssh_from: machines.from.clone(),
        open: machines.open.clone(),
        user: machines.user.clone().unwrap_or_else(|| Vendor::of(machines.cloud).user.to_owned()),
        public_key: public_key(&key_file)?,
        public_key_file: key_file.display().to_string(),
        owner: owner(machines.owner.as_deref()),
        made,
        expires: made + machines.lifetime.seconds(),
    };
    wanted.check().map_err(failure)?;
    Ok(wanted)
}

/// Name of the person who answers for the costs: letters and digits of the one that was said, or of the user's name.
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

fn public_key_file(machines: &Machines) -> Result<PathBuf, Failure> {
    let usual = || variable("HOME").map(|home| PathBuf::from(home).join(".ssh/id_ed25519.pub"));
    let file = machines.public_key.as_ref().map(PathBuf::from).or_else(usual).unwrap_or_default();
    std::path::absolute(&file).map_err(|error| unreadable(&file, &error.to_string()))
}

/// The kind and the key of the file's one line, without its comment.
fn public_key(file: &Path) -> Result<String, Failure> {
    let text = whole::text(file, whole::BY_HAND).map_err(|error| unreadable(file, &error.to_string()))?;
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

fn login(machines: &Machines, wanted: &Wanted, room: &Room) -> Login {
    let private = Path::new(&wanted.public_key_file).with_extension("");
    let named = machines.public_key.is_some() && private.is_file();
    // A machine that was just made has a host key that nobody has seen: it is taken the first time, and must stay. It is
    // remembered for this run alone: its address was another machine's before, and will be again.
    let known = room.shelf.known_hosts(&wanted.run).display().to_string().replace('%', "%%");
    let known = if known.contains(char::is_whitespace) { format!("\"{known}\"") } else { known };
    let options = ["StrictHostKeyChecking=accept-new", "GlobalKnownHostsFile=/dev/null"].map(str::to_owned);
    let options = options.into_iter().chain([format!("UserKnownHostsFile={known}")]).collect();
    Login { user: wanted.user.clone(), key_file: named.then(|| private.display().to_string()), options }
}

/// `r` and nine digits of a random number.
pub(in crate::command::lab) fn new_run() -> String {
    let number = uuid::Uuid::now_v7().simple().to_string();
    format!("r{}", &number[number.len() - 9..])
}
