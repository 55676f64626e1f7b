//! `sonde lab kubernetes`: pods of a cluster as hosts, by the manifests printed or by `kubectl`.

use std::fs::File;
use std::io::{Seek, Write};
use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args, Subcommand, ValueEnum};
use cloud::call::{Caller, Patience};
use cloud::fault::{Fault, Kind};
use cloud::kubernetes::TOOL;
use cloud::kubernetes::found::{Progress, hosts, reasons};
use cloud::kubernetes::manifest::{Network, Pods};
use cloud::resource::words;
use endpoint::clock::Monotonic;
use endpoint::stop::Stop;
use logbook::host::Host;
use measure::unit::Nanos;
use serde_json::Value;

use crate::command::deliver;
use crate::command::lab::cloud::up::owner;
use crate::command::lab::cloud::{deliver_hosts, failure};
use crate::command::lab::demands::DemandOptions;
use crate::command::value;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;
use crate::signal::{self, Interruption};

const EXAMPLES: &str = "\
Examples:
  sonde lab kubernetes print --image registry.example/sonde:1 --run k1 | kubectl apply -f -
  sonde lab kubernetes up --image registry.example/sonde:1 --network both -o hosts.toml
  sonde lab kubernetes up --image … --zone europe-west4-a,europe-west4-b --per-zone 2
  sonde lab kubernetes up --image … --requests cpu=1,memory=64Mi --toleration dedicated=bench:NoSchedule
  sonde lab kubernetes up --image … --once -- rtt db1 -t 10s --json
  sonde lab kubernetes down --run k1
";

/// Options of `sonde lab kubernetes`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct KubernetesOptions {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Print the manifests, as JSON
    Print(PodOptions),
    /// Apply the manifests, wait until the pods are ready, and print the inventory
    Up(UpOptions),
    /// Remove everything with the label of the run
    Down(DownOptions),
}

/// The pods.
#[derive(Debug, Args)]
struct PodOptions {
    /// Image with sonde as its entry point
    #[arg(long, value_name = "IMAGE")]
    image: String,
    /// Network: pod, host (the node's), or both
    #[arg(long, value_name = "WHOSE", default_value = "pod", hide_possible_values = true)]
    network: NetworkWish,
    /// Only nodes of these zones (topology.kubernetes.io/zone)
    #[arg(long, value_name = "ZONE", value_delimiter = ',', value_parser = label)]
    zone: Vec<String>,
    /// Pods per zone, each on another node [default: one on every node]
    #[arg(long, value_name = "NUMBER", requires = "zone", value_parser = clap::value_parser!(u32).range(1..=200))]
    per_zone: Option<u32>,
    /// Root, with `NET_RAW`: for ICMP and SYN probes
    #[arg(long)]
    raw: bool,
    #[command(flatten)]
    demands: DemandOptions,
    /// Lifetime of the pods: after it they may be cleaned up
    #[arg(long, value_name = "TIME", value_parser = value::time, default_value = "4h")]
    lifetime: Nanos,
    /// Owner, as an annotation [default: the local user name]
    #[arg(long, value_name = "NAME")]
    owner: Option<String>,
    /// ID of the run: a lower-case letter, then up to 15 lower-case letters and digits [default: a new one]
    #[arg(long, value_name = "ID", value_parser = run_id)]
    run: Option<String>,
    /// Run one Job with the WORDS after `--` instead
    #[arg(long, conflicts_with = "per_zone", requires = "words")]
    once: bool,
    /// Timeout of the Job
    #[arg(long, value_name = "TIME", value_parser = value::time, default_value = "10m")]
    deadline: Nanos,
    /// Command of the Job
    #[arg(last = true, value_name = "WORDS", requires = "once")]
    words: Vec<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum NetworkWish {
    Pod,
    Host,
    Both,
}

#[derive(Debug, Args)]
struct UpOptions {
    #[command(flatten)]
    pods: PodOptions,
    #[command(flatten)]
    cluster: ClusterOptions,
    /// Write the inventory to FILE as TOML instead of printing it
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct DownOptions {
    /// The run
    #[arg(long, value_name = "ID", value_parser = run_id)]
    run: String,
    #[command(flatten)]
    cluster: ClusterOptions,
}

/// The cluster, and the longest wait for it.
#[derive(Debug, Args)]
struct ClusterOptions {
    /// Context of kubectl [default: the current one]
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    /// Namespace [default: that of the context]
    #[arg(short, long, value_name = "NAME", value_parser = label)]
    namespace: Option<String>,
    /// Timeout for pods to be ready, or removed
    #[arg(long, value_name = "TIME", value_parser = value::time, default_value = "5m")]
    ready_timeout: Nanos,
    /// Interval between checks
    #[arg(long, value_name = "TIME", value_parser = value::time, default_value = "2s")]
    look_every: Nanos,
}

/// Does what is asked.
///
/// # Errors
/// Errors of the options, kubectl or the cluster.
pub fn run(options: &KubernetesOptions, output: &Arc<Output>) -> Result<Exit, Failure> {
    match &options.verb {
        Verb::Print(options) => {
            output.result(&text(&manifests(options, &pods(options)))?);
            Ok(Exit::Done)
        }
        Verb::Up(options) => Cluster::of(&options.cluster, output)?.up(options),
        Verb::Down(options) => Cluster::of(&options.cluster, output)?.down(&options.run),
    }
}

fn pods(options: &PodOptions) -> Pods {
    let made = endpoint::clock::wall() / 1_000_000_000;
    Pods {
        run: options.run.clone().unwrap_or_else(super::cloud::up::new_run),
        image: options.image.clone(),
        networks: match options.network {
            NetworkWish::Pod => vec![Network::Pod],
            NetworkWish::Host => vec![Network::Host],
            NetworkWish::Both => vec![Network::Pod, Network::Host],
        },
        zones: options.zone.clone(),
        per_zone: options.per_zone,
        raw: options.raw,
        demands: options.demands.demands(),
        owner: owner(options.owner.as_deref()),
        made,
        expires: made + options.lifetime.0 / 1_000_000_000,
    }
}

fn manifests(options: &PodOptions, pods: &Pods) -> Value {
    if options.once { pods.job(&options.words, (options.deadline.0 / 1_000_000_000).max(1)) } else { pods.manifests() }
}

fn text(manifests: &Value) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(manifests);
    text.map(|text| text + "\n").map_err(|error| Failure::usage(format!("the manifests cannot be written: {error}")))
}

/// A cluster, by kubectl.
struct Cluster<'a> {
    caller: Caller<'a>,
    namespace: Vec<String>,
    interruption: Interruption,
    output: &'a Output,
}

impl<'a> Cluster<'a> {
    fn of(options: &ClusterOptions, output: &'a Output) -> Result<Self, Failure> {
        let stop = Stop::default();
        let asked = stop.clone();
        let interruption = signal::watch(move || asked.request(), || {})
            .map_err(|error| Failure::usage(format!("cannot watch for signals: {error}")))?;
        let namespace = options.namespace.iter().flat_map(|name| ["--namespace".to_owned(), name.clone()]).collect();
        let patience = Patience { look: options.look_every, ready: options.ready_timeout, ..Patience::default() };
        let caller = Caller { tool: &TOOL, account: options.context.clone(), patience, stop, input: None };
        Ok(Self { caller, namespace, interruption, output })
    }

    fn words(&self, sentence: &str, more: &[&str]) -> Vec<String> {
        [words(sentence, more), self.namespace.clone()].concat()
    }

    fn up(&self, options: &UpOptions) -> Result<Exit, Failure> {
        if let Some(file) = &options.output {
            deliver::check_path(file)?;
        }
        let pods = pods(&options.pods);
        let made = self.apply(&text(&manifests(&options.pods, &pods))?).and_then(|()| {
            self.output.note(&format!("run {}: applied\n", pods.run));
            if options.pods.once {
                self.outcome(&pods.run, options.pods.deadline).map(Err)
            } else {
                self.ready(&pods.run).map(Ok)
            }
        });
        match made {
            Ok(Ok(hosts)) => {
                deliver_hosts(&hosts, options.output.as_ref(), self.output)?;
                let run = &pods.run;
                self.output.note(&format!("run {run} is up; `sonde lab kubernetes down --run {run}` removes it\n"));
                Ok(Exit::Done)
            }
            Ok(Err((log, succeeded))) => {
                self.output.result(&log);
                let removed = self.remove(&pods.run);
                removed.map_err(|fault| self.failure(&fault, &format!("cannot remove run {}", pods.run)))?;
                Ok(if succeeded { Exit::Done } else { Exit::NothingAnswered })
            }
            Err(fault) => self.take_back(&pods.run, &fault),
        }
    }

    /// Removes what was applied, since it came to nothing.
    fn take_back(&self, run: &str, fault: &Fault) -> Result<Exit, Failure> {
        let mut failure = self.failure(fault, &format!("no pods of run {run}"));
        let left = match self.remove(run) {
            Ok(()) => "; everything of the run was removed".to_owned(),
            Err(left) => {
                failure.told.hint = Some(format!("`sonde lab kubernetes down --run {run}` tries again"));
                format!("; and it could not be removed: {}", left.said)
            }
        };
        failure.told.what.push_str(&left);
        match self.interruption.signal() {
            Some(signal) => {
                self.output.complain(&failure);
                Ok(Exit::CutShort(signal))
            }
            None => Err(failure),
        }
    }

    fn down(&self, run: &str) -> Result<Exit, Failure> {
        self.remove(run).map_err(|fault| self.failure(&fault, &format!("cannot remove run {run}")))?;
        self.output.note(&format!("run {run}: everything that carried its label is removed\n"));
        Ok(Exit::Done)
    }

    fn failure(&self, fault: &Fault, doing: &str) -> Failure {
        failure(fault.failure(self.caller.tool, doing))
    }

    /// The same caller, whom no signal stops and who hands `input` on.
    fn unstoppable(&self, input: Option<File>) -> Caller<'a> {
        let Caller { tool, account, patience, .. } = &self.caller;
        Caller { tool, account: account.clone(), patience: patience.clone(), stop: Stop::default(), input }
    }

    fn apply(&self, text: &str) -> Result<(), Fault> {
        let cannot =
            |error: std::io::Error| Fault::new(Kind::Other, format!("the manifests cannot be handed on: {error}"));
        let flags = rustix::fs::MemfdFlags::CLOEXEC;
        let mut input = File::from(rustix::fs::memfd_create("manifests", flags).map_err(|error| cannot(error.into()))?);
        input.write_all(text.as_bytes()).and_then(|()| input.rewind()).map_err(cannot)?;
        let caller = Caller { stop: self.caller.stop.clone(), ..self.unstoppable(Some(input)) };
        caller.call(&self.words("apply --filename -", &[])).map(|_| ())
    }

    /// Everything of a kind with the run's label.
    fn get(&self, kinds: &str, run: &str) -> Result<Value, Fault> {
        let label = format!("sonde-run={run}");
        self.caller.patient_json(&self.words("get", &[kinds, "--selector", &label, "--output", "json"]))
    }

    /// Waits until all pods are ready.
    fn ready(&self, run: &str) -> Result<Vec<Host>, Fault> {
        let until = Monotonic::now().after(self.caller.patience.ready);
        loop {
            let progress = Progress::read(&self.get("daemonsets,deployments", run)?);
            let progress = progress.ok_or_else(|| Fault::new(Kind::Rubbish, "it printed no list of sets"))?;
            if progress.is_whole() {
                // A user who may not list nodes gets hosts without the labels of their nodes.
                let nodes = self.caller.patient_json(&words("get nodes --output json", &[])).ok();
                if nodes.is_none() {
                    self.output.note("note: the nodes cannot be listed, so the hosts have no zones\n");
                }
                let hosts = hosts(&self.get("pods", run)?, nodes.as_ref(), self.caller.account.as_deref());
                if hosts.len() as u64 >= progress.wanted {
                    return Ok(hosts);
                }
            }
            self.wait(until, || {
                let why = self.get("pods", run).map(|pods| reasons(&pods).join("; ")).unwrap_or_default();
                format!("{} of {} pods are ready; {why}", progress.ready, progress.wanted)
            })?;
        }
    }

    /// Waits for the end of the one shot: what it printed, and whether it succeeded.
    fn outcome(&self, run: &str, deadline: Nanos) -> Result<(String, bool), Fault> {
        let until = Monotonic::now().after(Nanos(deadline.0.saturating_add(self.caller.patience.ready.0)));
        loop {
            let jobs = self.get("jobs", run)?;
            let count = |path: &str| cloud::answer::scalar(&jobs, path).is_some_and(|count| count != "0");
            let (succeeded, failed) = (count("items.0.status.succeeded"), count("items.0.status.failed"));
            if succeeded || failed {
                let log = self.caller.call(&self.words("logs", &[&format!("job/sonde-{run}-once")]))?;
                return Ok((log, succeeded));
            }
            self.wait(until, || self.get("pods", run).map(|pods| reasons(&pods).join("; ")).unwrap_or_default())?;
        }
    }

    fn wait(&self, until: measure::unit::Instant, told: impl Fn() -> String) -> Result<(), Fault> {
        if Monotonic::now() >= until {
            return Err(Fault::new(Kind::Hung, told()));
        }
        let goes_on = self.caller.pause(self.caller.patience.look);
        if goes_on { Ok(()) } else { Err(Fault::new(Kind::Stopped, "pods were being waited for")) }
    }

    fn remove(&self, run: &str) -> Result<(), Fault> {
        let label = format!("sonde-run={run}");
        let timeout = format!("{}s", self.caller.patience.ready.0 / 1_000_000_000);
        let more = ["--selector", &label, "--ignore-not-found", "--wait", "--timeout", &timeout];
        let words = self.words("delete daemonsets,deployments,jobs,pods", &more);
        let caller = self.unstoppable(None);
        caller.patiently(Kind::is_worth_another_try, || caller.call(&words)).map(|_| ())
    }
}

/// A name that may stand in a label: letters, digits, dashes, dots and underscores.
fn label(text: &str) -> Result<String, String> {
    let holds = !text.is_empty()
        && text.len() <= 40
        && text.starts_with(|letter: char| letter.is_ascii_alphanumeric())
        && text.ends_with(|letter: char| letter.is_ascii_alphanumeric())
        && text.chars().all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || "-.".contains(letter));
    if holds { Ok(text.to_owned()) } else { Err("is no name in a cluster: small letters, digits and dashes".into()) }
}

fn run_id(text: &str) -> Result<String, String> {
    let holds = text.starts_with(|letter: char| letter.is_ascii_lowercase())
        && text.len() <= 16
        && text.chars().all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit());
    if holds {
        Ok(text.to_owned())
    } else {
        Err("is no run id: a small letter, then up to 15 small letters and digits".into())
    }
}
