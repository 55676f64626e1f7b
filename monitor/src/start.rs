//! `sonde monitor`: what is opened and checked before a centre runs, and what it is told from outside.

use std::fs;
use std::io::Write;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{self, Sender};

use anyhow::{Context, Result, bail};
use jiff::Zoned;
use logbook::monitor::plan::MonitorPlan;
use rustix::fs::inotify;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::centre::foresight::Foresight;
use crate::centre::state::State;
use crate::centre::{Centre, Event, Tools, epoch, mesh, now, told};
use crate::discovery::{Discoveries, PlanReader, read_once};
use crate::environment::variable;
use crate::failure::Failure;
use crate::options::{MonitorCommand, MonitorOptions};
use crate::past;
use crate::serve::board::Board;
use crate::serve::http::{self, Access};
use crate::serve::past::CellPast;
use crate::store::Purpose;
use crate::store::place::{default_path, open};
use crate::telling::form::Sender as Signature;
use crate::telling::otlp::{self, Export};
use crate::telling::{Fault, Telling};

/// The port at which a page is served where the plan names none.
const PORT: u16 = 7680;

/// Does what `sonde monitor` was asked for.
///
/// # Errors
/// The plan cannot be carried out; the store, the page's address or the key cannot be had.
pub fn run(options: &MonitorOptions) -> Result<ExitCode> {
    match &options.command {
        Some(MonitorCommand::Check { plan, json }) => {
            let plan = read_once(plan)?;
            let mesh = || mesh::mesh(&plan, 0, epoch(&plan, now()));
            let text = if *json { Foresight::of(&plan, &mesh()).json() } else { look(&plan) };
            print(&format!(
                "{text}
"
            ))?;
            Ok(ExitCode::SUCCESS)
        }
        Some(MonitorCommand::Mark { text, host, store }) => mark(text, host, store.as_deref()),
        Some(MonitorCommand::Silence(options)) => past::silence::run(options, &Zoned::now()),
        Some(MonitorCommand::End { plan, purge, state }) => {
            let folder = state.clone().map_or_else(default_folder, Ok)?;
            end(&read_once(plan)?, &folder, *purge, &crate::watch::program(options.sonde.as_deref())?)
        }
        None => monitor(options),
    }
}

fn monitor(options: &MonitorOptions) -> Result<ExitCode> {
    let path = options.plan.clone().context("a plan is missing: sonde monitor PLAN.toml (docs/howto/monitor.md)")?;
    if options.dry_run {
        print(&format!("{}\n", look(&read_once(&path)?)))?;
        return Ok(ExitCode::SUCCESS);
    }
    let folder = options.state.clone().map_or_else(default_folder, Ok)?;
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&folder)
        .with_context(|| format!("cannot make the folder {}", folder.display()))?;
    let only = lock(&folder)?;
    let (events, inbox) = mpsc::channel();
    let again = events.clone();
    let reader = PlanReader::new(path.clone(), Discoveries::new(&folder, say), move || {
        let _gone = again.send(Event::Reload);
    });
    let plan = reader.read(true)?;
    let sonde = crate::watch::program(options.sonde.as_deref())?;
    let key = key(&folder, &sonde)?;
    let named = options.store.clone().or_else(|| plan.store.clone());
    let store = open(named.as_deref(), Purpose::Keep).map_err(Failure::from)?;
    let board = Arc::new(Board::default());
    board.totals().since = now() as f64;
    if options.cells {
        board.totals().cells = Some(std::collections::BTreeMap::new());
    }
    // Before anybody can see that it runs.
    hear_signals(events.clone())?;
    let page = listen(options, &plan, &board, named.as_deref())?;
    let signature =
        Signature { name: plan.name.clone().unwrap_or_else(|| "sonde".to_owned()), page: options.url.clone().or(page) };
    let plan_folder = path.parent().unwrap_or(Path::new("")).to_owned();
    let faults = events.clone();
    let telling = Telling::start(&plan, &signature, &plan_folder, &folder, move |fault| {
        let _gone = faults.send(Event::NotTold(fault));
    })?;
    let export = export(&plan, &board, events.clone())?;
    watch_plan(&path, &plan_folder, events.clone())?;
    let place = store.place();
    let tools = Tools { sonde, folder, key, plan: reader, say };
    let mesh = mesh::mesh(&plan, 0, epoch(&plan, now()));
    say(&format!("sonde monitor: {}; history in {place}", told(&plan, &mesh)));
    if let Some(page) = &signature.page {
        say(&format!("page and metrics at {page}"));
    }
    let centre = Centre::new(tools, plan, store, telling, board, events)?;
    let notify = Notify::from_environment();
    notify.say("READY=1");
    centre.run(&inbox, || notify.say("WATCHDOG=1"))?;
    notify.say("STOPPING=1");
    export.into_iter().for_each(Export::finish);
    drop(only);
    Ok(ExitCode::SUCCESS)
}

/// Sends metrics to a collector, where one is named.
fn export(plan: &MonitorPlan, board: &Arc<Board>, events: Sender<Event>) -> Result<Option<Export>> {
    let names = (plan.name.as_deref().unwrap_or("sonde"), &*otlp::host()?);
    let Some(settings) = otlp::Settings::new(plan.otlp.as_ref(), variable, names)? else { return Ok(None) };
    let tell = move |text| {
        let _gone = events.send(Event::NotTold(Fault { receiver: "OpenTelemetry".to_owned(), text }));
    };
    Export::start(settings, Arc::clone(board), tell).map(Some)
}

/// Size of a plan, before anything is started.
fn look(plan: &MonitorPlan) -> String {
    let mesh = mesh::mesh(plan, 0, epoch(plan, now()));
    format!("The plan can be carried out: {}.{}", told(plan, &mesh), Foresight::of(plan, &mesh).text())
}

fn default_folder() -> Result<PathBuf> {
    Ok(default_path()?.with_file_name("monitor"))
}

/// Holds the folder for this monitor alone, until it ends.
fn lock(folder: &Path) -> Result<fs::File> {
    let path = folder.join("lock");
    let file = fs::OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(&path);
    let file = file.with_context(|| format!("cannot write in {}", folder.display()))?;
    if file.try_lock().is_err() {
        bail!("another monitor runs in {}; end it, or give this one a folder of its own by --state", folder.display());
    }
    Ok(file)
}

/// The key that agents share: made once.
fn key(folder: &Path, sonde: &Path) -> Result<String> {
    let path = folder.join("mesh.key");
    if !path.exists() {
        let made = Command::new(sonde).arg("key").arg(&path).stdin(Stdio::null()).output();
        let made = made.with_context(|| format!("cannot run {}", sonde.display()))?;
        if !made.status.success() {
            bail!("cannot make {}: {}", path.display(), String::from_utf8_lossy(&made.stderr).trim());
        }
    }
    let key = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(key.trim().to_owned())
}

/// Opens the page where it is wanted, and says where it is.
fn listen(
    options: &MonitorOptions,
    plan: &MonitorPlan,
    board: &Arc<Board>,
    store: Option<&str>,
) -> Result<Option<String>> {
    let Some(wanted) = options.listen.as_ref().or(plan.listen.as_ref()) else { return Ok(None) };
    let address = address(wanted)?;
    let token = options.token_file.as_deref().map(token).transpose()?;
    if !address.ip().is_loopback() && token.is_none() && !options.open {
        bail!(
            "{address} can be reached from other machines: give a word that readers need by --token-file FILE, or let everybody read by --open"
        );
    }
    let listener = TcpListener::bind(address).with_context(|| format!("cannot listen at {address}"))?;
    let access = Access { token, names: options.host.clone() };
    let past = Box::new(CellPast::new(store.map(str::to_owned)));
    let at = http::serve(listener, Arc::clone(board), past, access, now)?;
    Ok(Some(format!("http://{at}/")))
}

/// `127.0.0.1:7680`, or a port alone on loopback, or an address alone.
fn address(text: &str) -> Result<SocketAddr> {
    let loopback = |port| SocketAddr::from(([127, 0, 0, 1], port));
    let found = text.parse().or_else(|_| text.parse().map(loopback));
    let found = found.or_else(|_| text.parse().map(|ip: std::net::IpAddr| SocketAddr::new(ip, PORT)));
    found.map_err(|_| anyhow::anyhow!("`{text}` is no address to listen at, expected one as 127.0.0.1:{PORT}"))
}

fn token(path: &Path) -> Result<String> {
    const FEWEST: usize = 16;
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let token = text.trim().to_owned();
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-._~".contains(letter);
    if token.len() < FEWEST || !token.chars().all(is_plain) {
        bail!(
            "{}: a token has at least {FEWEST} letters, digits, `-`, `.`, `_` or `~`, as `head -c 24 /dev/urandom | base64 | tr +/ -_`",
            path.display()
        );
    }
    Ok(token)
}

fn hear_signals(events: Sender<Event>) -> Result<()> {
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGTERM])?;
    std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        for signal in signals.forever() {
            let event = if signal == SIGHUP { Event::Reload } else { Event::End };
            if events.send(event).is_err() {
                return;
            }
        }
    })?;
    Ok(())
}

/// Tells when a file in the folders of the plan and its inventories was written: editors put a new one in the place of the old, so it is the folder that is watched.
fn watch_plan(plan: &Path, folder: &Path, events: Sender<Event>) -> Result<()> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let (plan, folder) = (plan.to_owned(), folder.to_owned());
    let watch = inotify::init(inotify::CreateFlags::CLOEXEC)?;
    watch_folders(&watch, &plan, &folder)?;
    std::thread::Builder::new().name("plan".to_owned()).spawn(move || {
        let mut space = [std::mem::MaybeUninit::uninit(); 4_096];
        let mut changes = inotify::Reader::new(&watch, &mut space);
        while changes.next().is_ok() {
            // The plan may name other files now: from here on their changes are told, and those before are in what is read.
            // A file that cannot be watched is reported by whoever reads it.
            let _not_there = watch_folders(&watch, &plan, &folder);
            if events.send(Event::Reload).is_err() {
                return;
            }
        }
    })?;
    Ok(())
}

/// Watches the folders of the plan and of the inventories that it names now; one that is watched already stays so.
fn watch_folders(watch: &OwnedFd, plan: &Path, folder: &Path) -> Result<()> {
    let wanted = inotify::WatchFlags::CLOSE_WRITE | inotify::WatchFlags::MOVED_TO;
    let inventories = read_listed(plan);
    let listed = inventories.iter().filter_map(|file| Some(folder.join(file).parent()?.to_owned()));
    for folder in std::iter::once(folder.to_owned()).chain(listed) {
        inotify::add_watch(watch, &folder, wanted).with_context(|| format!("cannot watch {}", folder.display()))?;
    }
    Ok(())
}

fn read_listed(plan: &Path) -> Vec<String> {
    let text = fs::read_to_string(plan).unwrap_or_default();
    MonitorPlan::read(&text, "").map(|plan| plan.inventory).unwrap_or_default()
}

/// Ends the agents of a plan's hosts, all at the same time; 1 where one was not to be reached.
fn end(plan: &MonitorPlan, folder: &Path, purge: bool, sonde: &Path) -> Result<ExitCode> {
    let state = State::read(folder)?;
    let started: Vec<_> = plan
        .hosts
        .iter()
        .map(|host| {
            let mut command = Command::new(sonde);
            command.args(["agent", "--reach", "--end", "--state", &state.folder_of(plan, &host.name)]);
            command.args(purge.then_some("--purge")).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
            let mut child = command.spawn().with_context(|| format!("cannot run {}", sonde.display()))?;
            if let Some(mut stdin) = child.stdin.take() {
                // One that does not read it says why when it ends.
                let _unread = writeln!(stdin, "{}", serde_json::to_string(host)?);
            }
            Ok((host, child))
        })
        .collect::<Result<_>>()?;
    let mut all_ended = true;
    for (host, child) in started {
        let ended = child.wait_with_output()?;
        if ended.status.success() {
            print(&format!("{}: its agent has ended\n", host.name))?;
        } else {
            all_ended = false;
            let said = String::from_utf8_lossy(&ended.stderr);
            print(&format!("{}: not ended: {}\n", host.name, said.trim().trim_start_matches("error: ")))?;
        }
    }
    Ok(ExitCode::from(u8::from(!all_ended)))
}

fn mark(text: &str, hosts: &[String], named: Option<&str>) -> Result<ExitCode> {
    let mut store = open(named, Purpose::Keep).map_err(Failure::from)?;
    let mark =
        crate::store::Mark { id: uuid::Uuid::now_v7(), at: now(), text: text.to_owned(), hosts: hosts.to_owned() };
    store.keep(&crate::store::Batch { marks: vec![mark], ..crate::store::Batch::default() })?;
    print(&format!("marked in {}; sonde history shows it\n", store.place()))?;
    Ok(ExitCode::SUCCESS)
}

/// The service manager's socket (`sd_notify(3)`); nothing where there is none.
#[derive(Debug)]
struct Notify(Option<(UnixDatagram, std::os::unix::net::SocketAddr)>);

impl Notify {
    #[expect(clippy::disallowed_methods, reason = "the service manager tells by the environment where it listens")]
    fn from_environment() -> Self {
        use std::os::linux::net::SocketAddrExt;
        use std::os::unix::net::SocketAddr;
        let place = std::env::var("NOTIFY_SOCKET").ok();
        let address = place.and_then(|place| match place.strip_prefix('@') {
            Some(name) => SocketAddr::from_abstract_name(name).ok(),
            None => SocketAddr::from_pathname(place).ok(),
        });
        Self(address.and_then(|address| Some((UnixDatagram::unbound().ok()?, address))))
    }

    fn say(&self, word: &str) {
        if let Some((socket, address)) = &self.0 {
            // A manager that does not listen misses nothing that the monitor could mend.
            let _unheard = socket.send_to_addr(word.as_bytes(), address);
        }
    }
}

fn print(text: &str) -> Result<()> {
    std::io::stdout().write_all(report::markup::visible(text).as_bytes()).context("cannot write to standard output")
}

/// A line for whoever started the monitor. A reader that is gone does not end it.
fn say(text: &str) {
    let _unread = std::io::stdout().write_all(format!("{}\n", report::markup::visible(text)).as_bytes());
}

#[cfg(test)]
mod tests {
    use test_case::test_case;
    use testbed::page;

    use super::*;

    #[test]
    fn the_plan_of_the_how_to_page_is_told_as_the_page_shows() {
        let text = page::read("docs/howto/monitor.md");
        let blocks = page::blocks(&text);
        let plan = &blocks.iter().find(|block| block.mark == "toml").unwrap().text;
        let screen = blocks.iter().find(|block| block.screen == Some("check")).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("plan.toml");
        fs::write(&path, plan).unwrap();
        assert_eq!(look(&read_once(&path).unwrap()).trim(), screen.commands()[0].1.trim());
    }

    #[test_case("7680", Some("127.0.0.1:7680"))]
    #[test_case("0.0.0.0:80", Some("0.0.0.0:80"))]
    #[test_case("::1", Some("[::1]:7680"))]
    #[test_case("host:80", None; "a name")]
    fn an_address_to_listen_at_is_read(text: &str, found: Option<&str>) {
        assert_eq!(address(text).ok().map(|address| address.to_string()).as_deref(), found);
    }
}
