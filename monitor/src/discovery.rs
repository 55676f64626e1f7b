//! Hosts and targets that a plan does not list: programs of DNS, clusters and clouds are asked for them, again and again.
//!
//! Each source has a thread of its own, so that one that does not answer holds nobody up. The last list stays, also over a
//! restart, until another one is found.

mod read;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use logbook::host::is_name;
use logbook::monitor::discovery::{Discovery, Found, Source};
use logbook::monitor::plan::{MOST_HOSTS, MonitorPlan};
use measure::unit::Nanos;
use rustix::process::{Pid, Signal, kill_process_group};

/// Longest run of a program.
const PATIENCE: Duration = Duration::from_secs(30);
/// The longest answer that is read, octets.
const LONGEST: u64 = 16 << 20;
/// The longest complaint that is read, octets.
const COMPLAINT: u64 = 4 << 10;

/// Latest list of each source, by the source as JSON; in memory and on disk.
#[derive(Debug)]
struct Kept {
    lists: Mutex<BTreeMap<String, Found>>,
    file: PathBuf,
}

impl Kept {
    fn of(&self, source: &str) -> Option<Found> {
        self.lists.lock().unwrap_or_else(PoisonError::into_inner).get(source).cloned()
    }

    /// Keeps a list; returns true where it is another one than before.
    fn put(&self, source: &str, found: Found) -> Result<bool> {
        let mut lists = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        if lists.get(source) == Some(&found) {
            return Ok(false);
        }
        lists.insert(source.to_owned(), found);
        let text = serde_json::to_string(&*lists)?;
        let beside = self.file.with_extension("new");
        fs::write(&beside, text)
            .and_then(|()| fs::rename(&beside, &self.file))
            .with_context(|| format!("cannot write {}", self.file.display()))?;
        Ok(true)
    }
}

/// Discoveries: their threads, and the lists that they found.
#[derive(Debug)]
pub struct Discoveries {
    kept: Arc<Kept>,
    /// Sources that are asked again and again, and the end of that when it is dropped.
    asking: Mutex<BTreeMap<String, Sender<()>>>,
    say: fn(&str),
}

impl Discoveries {
    /// Nobody is asked yet; what a monitor before this one found is read from its `folder`.
    pub fn new(folder: &Path, say: fn(&str)) -> Self {
        let file = folder.join("discovered.json");
        // A list that cannot be read is found again.
        let lists =
            fs::read_to_string(&file).ok().and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
        Self { kept: Arc::new(Kept { lists: Mutex::new(lists), file }), asking: Mutex::default(), say }
    }

    /// Goes on to ask those of `plan`, and no others; `changed` is called where something else is found than before. Their first
    /// answers are waited for if `waits`.
    fn ask(&self, plan: &MonitorPlan, waits: bool, changed: impl Fn() + Clone + Send + 'static) {
        let mut asking = self.asking.lock().unwrap_or_else(PoisonError::into_inner);
        let wanted: BTreeMap<String, &Discovery> = plan.discover.iter().map(|each| (key(&each.source), each)).collect();
        asking.retain(|known, _| wanted.contains_key(known));
        let (tell, first) = mpsc::channel();
        for (key, discovery) in wanted {
            if asking.contains_key(&key) {
                continue;
            }
            let (end, ended) = mpsc::channel();
            let asker =
                Asker { discovery: discovery.clone(), key: key.clone(), kept: Arc::clone(&self.kept), say: self.say };
            let (tell, changed) = (tell.clone(), changed.clone());
            let started =
                thread::Builder::new().name("discovery".to_owned()).spawn(move || asker.run(&ended, tell, changed));
            match started {
                Ok(_) => _ = asking.insert(key, end),
                Err(error) => (self.say)(&format!("discovery by {}: no thread: {error}", discovery.source.name())),
            }
        }
        drop((tell, asking));
        // Each asker lets go of it after its first answer, and that takes no longer than a program may.
        if waits {
            while first.recv().is_ok() {}
        }
    }

    /// Lists of the sources of `plan`.
    fn found(&self, plan: &MonitorPlan) -> Vec<Found> {
        plan.discover.iter().filter_map(|each| self.kept.of(&key(&each.source))).collect()
    }
}

/// Reads a plan, with what those find who are asked for more.
pub struct PlanReader {
    path: PathBuf,
    discoveries: Discoveries,
    changed: Arc<dyn Fn() + Send + Sync>,
}

impl fmt::Debug for PlanReader {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("PlanReader").field("path", &self.path).finish_non_exhaustive()
    }
}

impl PlanReader {
    /// Reader of the plan at `path`. Where something else is found than before, `changed` is called: it is to be read again.
    pub fn new(path: PathBuf, discoveries: Discoveries, changed: impl Fn() + Send + Sync + 'static) -> Self {
        Self { path, discoveries, changed: Arc::new(changed) }
    }

    /// The plan as it is now; the first answers are waited for if it `waits`.
    ///
    /// # Errors
    /// It cannot be read, or not be carried out.
    pub fn read(&self, waits: bool) -> Result<MonitorPlan> {
        read_plan(&self.path, |plan| {
            let changed = Arc::clone(&self.changed);
            self.discoveries.ask(&plan, waits, move || changed());
            let found = self.discoveries.found(&plan);
            let (plan, left_out) = extended(plan, found);
            if let Some(text) = left_out {
                (self.discoveries.say)(&format!("discovery: {text}"));
            }
            Ok(plan)
        })
    }
}

/// Reads the plan at `path`, and asks those once who know of more.
///
/// # Errors
/// It cannot be read, or not be carried out; one gives no answer.
pub fn read_once(path: &Path) -> Result<MonitorPlan> {
    read_plan(path, |plan| {
        let found = once(&plan)?;
        Ok(extended(plan, found).0)
    })
}

/// The plan at `path` with the hosts of its inventories, without those that others know of. It is not checked here that it
/// can be carried out.
///
/// # Errors
/// A file cannot be read, or is none.
pub fn listed(path: &Path) -> Result<MonitorPlan> {
    Ok(parsed(path)?.0)
}

/// The plan in a file, with the hosts of its inventories.
///
/// # Errors
/// A file cannot be read, or is none; the plan cannot be carried out.
fn read_plan(path: &Path, extend: impl FnOnce(MonitorPlan) -> Result<MonitorPlan>) -> Result<MonitorPlan> {
    let (plan, text) = parsed(path)?;
    let plan = extend(plan)?;
    plan.check(&text, &path.display().to_string()).map_err(|error| faulty(&error))?;
    Ok(plan)
}

fn parsed(path: &Path) -> Result<(MonitorPlan, String)> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut plan = MonitorPlan::read(&text, &path.display().to_string()).map_err(|error| faulty(&error))?;
    for listed in std::mem::take(&mut plan.inventory) {
        let file = path.parent().unwrap_or(Path::new("")).join(&listed);
        let text = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        plan.hosts.extend(logbook::plan::hosts(&text, &listed).map_err(|error| faulty(&error))?);
    }
    Ok((plan, text))
}

fn faulty(error: &logbook::plan::PlanError) -> anyhow::Error {
    anyhow::anyhow!("{error}\n{}\n  {}", error.excerpt, error.hint)
}

/// Asks each source of `plan` once.
///
/// # Errors
/// One gives no answer.
fn once(plan: &MonitorPlan) -> Result<Vec<Found>> {
    let each = |each: &Discovery| ask(each).with_context(|| format!("discovery by {}", each.source.name()));
    plan.discover.iter().map(each).collect()
}

/// `plan` with what was `found`. Its own hosts and targets come first: others of the same name are reported as left out, and
/// so are those without an address that is measured.
fn extended(mut plan: MonitorPlan, found: Vec<Found>) -> (MonitorPlan, Option<String>) {
    let mut names: BTreeSet<String> = plan.hosts.iter().map(|host| host.name.clone()).collect();
    names.extend(plan.targets.iter().map(|target| target.name.clone()));
    let mut left_out = Vec::new();
    for Found { hosts, targets } in found {
        for host in hosts {
            if !is_name(&host.name) || host.address(plan.measure.address).is_none() || plan.hosts.len() >= MOST_HOSTS {
                left_out.push(host.name);
            } else if names.insert(host.name.clone()) {
                plan.hosts.push(host);
            } else {
                left_out.push(host.name);
            }
        }
        for target in targets {
            let can_be_asked = target.is_fine();
            let has_room = is_name(&target.name) && plan.targets.len() < MOST_HOSTS;
            if can_be_asked && has_room && names.insert(target.name.clone()) {
                plan.targets.push(target);
            } else {
                left_out.push(target.name);
            }
        }
    }
    let first = left_out.first().map(|name| {
        format!("{} of what was found left out, `{name}` first: no address, or a name that is taken", left_out.len())
    });
    (plan, first)
}

fn key(source: &Source) -> String {
    serde_json::to_string(source).expect("our types have string keys alone")
}

/// A thread that asks one source.
struct Asker {
    discovery: Discovery,
    key: String,
    kept: Arc<Kept>,
    say: fn(&str),
}

impl Asker {
    /// Asks until `ended` is let go of. `first` is let go of after the first answer.
    fn run(self, ended: &Receiver<()>, first: Sender<()>, changed: impl Fn()) {
        let mut first = Some(first);
        let mut trouble: Option<String> = None;
        let Nanos(every) = self.discovery.every;
        loop {
            match ask(&self.discovery).and_then(|found| self.kept.put(&self.key, found)) {
                Ok(is_new) => {
                    if trouble.take().is_some() {
                        self.tell("answers again");
                    }
                    if is_new {
                        changed();
                    }
                }
                Err(error) => {
                    let text = format!("{error:#}");
                    // The same again is no news.
                    if trouble.as_ref() != Some(&text) {
                        let last = self.kept.of(&self.key).unwrap_or_default();
                        let count = last.hosts.len() + last.targets.len();
                        self.tell(&format!("{text}; the last list stays ({count} found)"));
                    }
                    trouble = Some(text);
                }
            }
            drop(first.take());
            match ended.recv_timeout(Duration::from_nanos(every)) {
                Err(RecvTimeoutError::Timeout) => {}
                _ => return,
            }
        }
    }

    fn tell(&self, text: &str) {
        (self.say)(&format!("discovery by {}: {text}", self.discovery.source.name()));
    }
}

/// Asks once.
///
/// # Errors
/// There is no such program, it takes too long, fails, prints too much or something else than what it is known for; it finds nothing.
fn ask(discovery: &Discovery) -> Result<Found> {
    let words = words(&discovery.source);
    let (usual, rest) = words.split_first().context("no program to ask")?;
    let text = printed(discovery.program.as_ref().unwrap_or(usual), rest, PATIENCE)?;
    let found = read::found(&discovery.source, &text)?;
    // A mistyped filter finds nothing too, and a monitor that watches nothing tells nothing.
    if found.is_empty() {
        bail!("nothing was found");
    }
    Ok(found)
}

/// The program that is asked, and its words.
fn words(source: &Source) -> Vec<String> {
    let fixed = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    // As `--option=value`, so that no value is taken for an option.
    let option = |name: &str, value: &Option<String>| value.as_ref().map(|value| format!("{name}={value}"));
    match source {
        Source::Dns { name, .. } => fixed(&["dig", "+short", "+time=3", "+tries=2", "-t", "SRV", "-q", name]),
        Source::Kubernetes { selector, namespace, context, .. } => {
            let mut words = fixed(&["kubectl", "get", "pods", "--output=json"]);
            words.push(format!("--selector={selector}"));
            words.extend(option("--namespace", namespace).into_iter().chain(option("--context", context)));
            words
        }
        Source::KubernetesService { service, namespace, context, .. } => {
            let mut words = fixed(&["kubectl", "get", "endpointslices", "--output=json"]);
            words.push(format!("--selector=kubernetes.io/service-name={service}"));
            words.extend(option("--namespace", namespace).into_iter().chain(option("--context", context)));
            words
        }
        Source::Gcloud { filter, project, .. } => {
            let mut words = fixed(&["gcloud", "compute", "instances", "list", "--format=json", "--quiet"]);
            words.extend(option("--filter", filter).into_iter().chain(option("--project", project)));
            words
        }
        Source::Aws { tag, region, profile, .. } => {
            let mut words = fixed(&["aws", "ec2", "describe-instances", "--output=json"]);
            words.extend(option("--region", region).into_iter().chain(option("--profile", profile)));
            words.extend(fixed(&["--filters", "Name=instance-state-name,Values=running"]));
            if let Some((name, value)) = tag.as_ref().and_then(|tag| tag.split_once('=')) {
                words.push(format!("Name=tag:{name},Values={value}"));
            } else {
                words.extend(tag.as_ref().map(|tag| format!("Name=tag-key,Values={tag}")));
            }
            words
        }
        Source::Azure { group, subscription, .. } => {
            let mut words = fixed(&["az", "vm", "list", "--show-details", "--output=json"]);
            words.extend(option("--resource-group", group).into_iter().chain(option("--subscription", subscription)));
            words
        }
        Source::Command { command } => command.clone(),
    }
}

/// Output of a program within `patience`.
fn printed(program: &str, words: &[String], patience: Duration) -> Result<String> {
    let mut command = Command::new(program);
    command.args(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // A group of its own: what it starts itself ends with it.
    let mut child = command
        .process_group(0)
        .spawn()
        .with_context(|| format!("cannot run {program}: install it, or name it by `program` in the plan"))?;
    let printed = gathered(child.stdout.take(), LONGEST + 1, false)?;
    let complaint = gathered(child.stderr.take(), COMPLAINT, true)?;
    let Ok(text) = printed.recv_timeout(patience) else {
        stop(&mut child);
        bail!("{program} gave no answer within {} s", patience.as_secs());
    };
    if text.len() as u64 > LONGEST {
        stop(&mut child);
        bail!("{program} printed more than {} MiB", LONGEST >> 20);
    }
    let Ok(complaint) = complaint.recv_timeout(patience) else {
        stop(&mut child);
        bail!("{program} does not end");
    };
    let status = child.wait().with_context(|| format!("{program} is lost"))?;
    if !status.success() {
        let complaint = String::from_utf8_lossy(&complaint);
        let said = complaint.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("it says nothing");
        bail!("{program} failed ({status}): {said}");
    }
    String::from_utf8(text).with_context(|| format!("{program} printed no text"))
}

/// All that comes, up to `most` octets, by a thread that ends with it; what is beyond is read and dropped if it `goes_on`.
fn gathered(from: Option<impl Read + Send + 'static>, most: u64, goes_on: bool) -> Result<Receiver<Vec<u8>>> {
    let (sender, receiver) = mpsc::channel();
    thread::Builder::new().name("discovery".to_owned()).spawn(move || {
        let mut text = Vec::new();
        if let Some(from) = from {
            let mut first = from.take(most);
            // An output that cannot be read to its end is as long as it is.
            let _cut = first.read_to_end(&mut text);
            if goes_on {
                let _rest = io::copy(&mut first.into_inner(), &mut io::sink());
            }
        }
        let _gone = sender.send(text);
    })?;
    Ok(receiver)
}

fn stop(child: &mut Child) {
    let _gone = kill_process_group(Pid::from_child(child), Signal::KILL);
    let _status = child.wait();
}

#[cfg(test)]
mod tests;
