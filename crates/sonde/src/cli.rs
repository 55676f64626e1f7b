//! The command line: what there is to say, and who acts on it.

use std::ffi::OsString;
use std::sync::Arc;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::command::argv::{Bare, Glance};
use crate::command::everywhere::Everywhere;
use crate::command::measuring::Measuring;
use crate::command::{
    agent, argv, check, claims, compare, completions, dns, explain, export, forward, help, key, lab, load, look,
    machine, man, matrix, monitor, orientation, pages, paths, profile, reference, replay, rerun, rtt, run, runs, serve,
    show, study, sweep, syn, throughput, why,
};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;
use crate::persona::{self, install_names, part::Part};
use crate::signal;

/// Measures latency, loss and throughput between two hosts
///
/// Every result includes the settings of its measurement.
#[derive(Debug, Parser)]
#[command(name = "sonde", version, propagate_version = true, max_term_width = 100)]
#[command(after_long_help = crate::exit::TABLE, disable_help_subcommand = true)]
pub struct Cli {
    #[command(flatten)]
    everywhere: Everywhere,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Measure a host with every protocol that answers and recommend one result
    ///
    /// `sonde HOST` is the same. The peer needs no sonde. ICMP echo, TCP connect and every known program (sonde, netserver, sockperf,
    /// iperf 2, STAMP, an echo service) are measured in the same rounds. The answer is the result closest to an application; where the
    /// data show why the others differ, the output says why.
    Look(look::options::LookOptions),
    #[command(flatten)]
    Measuring(Measuring),
    /// Find out whether connections to a host differ by their source port: groups of them, latency and loss of each
    ///
    /// Routers, network cards and servers choose a path, a queue or a CPU by addresses and ports, so two runs of one command may measure
    /// two paths. Many connections are measured in turn, one request at a time, in random order. Those that differ by more than chance and by
    /// more than 2 us or 5 % are told as groups. A lost request is waited for some round trips, not the second of `sonde rtt` (--timeout),
    /// for it holds up all connections.
    #[command(after_help = paths::EXAMPLES, after_long_help = format!("{}\n{}", paths::EXAMPLES, crate::exit::TABLE))]
    Paths(Box<paths::PathsOptions>),
    /// Compare methods, hosts, settings or stored records: the difference, its interval and the effect of each setting
    ///
    /// Live sides run in random order, one process per run. Where the methods differ in several settings, sonde also changes one at a
    /// time. It prints the expected duration before it starts. SIGINT, SIGTERM and SIGHUP end it with the results so far.
    Compare(compare::options::CompareOptions),
    /// Measure at many values of one setting (interval, size, rate, …) and plot the result
    ///
    /// Each block has one trial of every point and method, in random order, one process per trial. sonde prints the expected duration
    /// before it starts. SIGINT, SIGTERM and SIGHUP end it with the results so far; --resume completes it.
    Sweep(sweep::options::SweepOptions),
    /// Find the causes of a round-trip time: wake-ups, pacing, the interval, a busy peer
    ///
    /// Measures at several intervals with kernel timestamps, then changes one switch after the other: pacing, wait mode of this host and
    /// of the peer, the peer's CPU. It names a cause only where its switch shortens the round trip. It prints the expected duration
    /// before it starts. SIGINT, SIGTERM and SIGHUP end it with the results so far.
    Why(why::options::WhyOptions),
    /// Judge the claims of a plan, as 'p50(ping) > 1.5 × p50(`tcp_rr`)': each holds, does not hold or is not shown
    ///
    /// Measurements take turns in random order, one process per run, until every claim is settled or the budget is used. A claim holds or
    /// does not where its whole interval says so; all of them together are wrong in at most 5 % of studies. The founding articles of sonde
    /// come as studies. SIGINT, SIGTERM and SIGHUP end it with the results so far.
    Study(claims::options::ClaimOptions),
    /// Make the measurement of a record again and compare: what differs of the hosts, then of the numbers
    ///
    /// It uses the record's own command, without its outputs. One record and one run show no difference: it takes at least 5 of each.
    Rerun(rerun::RerunOptions),
    /// Probe a TCP port with SYNs, without a connection: open, closed or filtered, and its round-trip time
    ///
    /// Sends SYNs through a raw socket, which needs `CAP_NET_RAW`. It distinguishes SYN-ACK (open), RST (closed), ICMP errors and no
    /// answer (filtered), each with TTL, window and options. It makes no connection: the kernel resets accepted ones.
    Syn(syn::options::SynOptions),
    /// Measure the round-trip time of a DNS question: NAME, @SERVER and type as dig has them
    ///
    /// The same as `sonde rtt dns://SERVER/NAME?type=TYPE`. The same name each time is answered from the server's cache. sonde asks 100
    /// times a second unless a schedule is given.
    Dns(Box<dns::DnsOptions>),
    /// Replay recorded traffic: a CSV of time,size, a playback file of sockperf, or one flow of a capture
    Replay(Box<replay::options::ReplayOptions>),
    /// Check a host: addresses, route, path MTU, ICMP echo, ports and the known program at each
    Check(check::CheckOptions),
    /// Measure between many hosts by a plan: pairs, methods, repeats
    ///
    /// sonde copies itself to each host and controls it over ssh, a namespace or kubectl; only the measured port must be open. A round
    /// never uses a host or machine twice. It prints the expected duration before it starts. SIGINT, SIGTERM and SIGHUP end it with the
    /// results so far; --resume completes it.
    Run(run::options::RunOptions),
    /// Watch hosts live on one screen: latency and loss of each, over time, with marks for what you change
    ///
    /// Starts sonde-monitor, a program of its own, which draws what measuring processes of sonde tell.
    Watch(monitor::MonitorOptions),
    /// Measure latency and loss between all hosts of a plan, for ever: history, alerts, a page, metrics
    ///
    /// docs/howto/monitor.md has a plan to begin with. Agents stay on the hosts; what changes is told with its culprit.
    Monitor(monitor::MonitorOptions),
    /// Show what a monitor has kept: latency and loss of hosts over days and months, compared with an earlier time
    ///
    /// Starts sonde-monitor, a program of its own, which reads its store. `sonde compare 'a>b@mon' 'a>b@tue'` compares two cells.
    History(monitor::MonitorOptions),
    /// Accept a stretch of a monitor's history as a baseline, for `sonde history --against NAME`
    ///
    /// Starts sonde-monitor, a program of its own, which keeps it in its store.
    Accept(monitor::MonitorOptions),
    /// Run the server for rtt, load and throughput
    Serve(serve::options::ServeOptions),
    /// Stay on this host and measure what a monitor assigns, or serve one `sonde run`
    ///
    /// With --monitor it stays until SIGINT, SIGTERM or SIGHUP: it measures what was assigned last, also after a restart, keeps each second's results in
    /// files until the monitor has stored them, and answers the other agents. systemd is told when it is ready, and that it lives. Without an option it
    /// is the agent of `sonde run`, which reads orders from standard input, one JSON object per line; people need not call it so.
    Agent(agent::AgentOptions),
    /// Emulate a slow or lossy link between two network namespaces
    ///
    /// One thread relays packets between two TUN devices, for kernels without netem and for links whose exact losses must be known. It
    /// runs until SIGINT (Ctrl-C), SIGTERM or SIGHUP, then prints the packet counts of each direction. Needs `CAP_NET_ADMIN`.
    Forward(forward::ForwardOptions),
    /// Create test hosts: network namespaces on this machine, cloud machines or pods; list and remove them
    Lab(lab::LabOptions),
    /// Check this host's clock, timers, wake-up delay and loopback
    #[command(name = "self")]
    Machine(machine::SelfOptions),
    /// List the stored runs, the latest first
    ///
    /// The store keeps each run of a plan with all its records. While the store cannot be written, sonde keeps them in a folder beside it.
    Runs(runs::RunsOptions),
    /// Print records and runs again
    Show(show::ShowOptions),
    /// Show a run as a matrix of hosts: text, a page or a picture
    Matrix(matrix::MatrixOptions),
    /// Write a self-contained HTML page of records, or a picture of one chart
    Report(pages::ReportOptions),
    /// Write records as a table, one row each: CSV, Parquet or Markdown
    Export(export::ExportOptions),
    #[command(flatten)]
    Part(Part),
    #[command(about = install_names::about())]
    InstallNames(install_names::InstallNamesOptions),
    /// Create a pre-shared key for `sonde serve` and its clients
    Key(key::KeyOptions),
    /// Explain a warning or a term of the output
    Explain(explain::ExplainOptions),
    /// Print a topic (units, exit status, environment, hosts, profiles, warnings), or the help of a command
    Help(help::HelpOptions),
    /// Print shell completions
    Completions(completions::CompletionsOptions),
    /// Print a manual page, or write all of them
    Man(man::ManOptions),
    /// Write the reference pages of this program's documentation
    #[command(hide = true)]
    Reference(reference::ReferenceOptions),
}

/// Does what the command line says.
pub fn run(argv: Vec<OsString>) -> Exit {
    if let Some((persona, words)) = persona::asked(&argv) {
        return persona.play(&words);
    }
    let glance = Glance::at(&argv);
    if let Some((name, words)) = monitor::asked(&argv) {
        return finish(Err(monitor::become_it(name, words)), glance, &Output::new(glance.color, false, false));
    }
    let definition = definition();
    let plain = Output::new(glance.color, false, false);
    let (argv, told) = match profile::applied(argv, &definition, profile::file().as_deref()) {
        Ok(applied) => {
            if let Some(left_out) = applied.left_out.filter(|_| !glance.quiet) {
                plain.aside(&format!("note: {left_out}\n"));
            }
            (applied.argv, applied.told)
        }
        Err(failure) => return finish(Err(failure), glance, &plain),
    };
    let words = argv.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let argv = study::argv::arranged(argv, &definition);
    let bare = Bare::at(&argv, &definition);
    match parse(&argv, bare.as_ref()) {
        Ok(cli) => {
            let Everywhere { color, quiet, verbose } = cli.everywhere;
            let output = Arc::new(Output::new(color, quiet, verbose));
            // A server gives up rights before it starts a thread, and waits for signals itself.
            let is_server = match &cli.command {
                Some(Command::Serve(_)) => true,
                Some(Command::Agent(options)) => options.stays(),
                _ => false,
            };
            if !is_server {
                stand_by(color);
            }
            let end = cli.command.map_or_else(|| Ok(orientation::print(&output)), |it| act(it, words, &output));
            finish(end.map_err(|failure| with_command_meant(failure, bare.as_ref())), glance, &output)
        }
        Err(error) => {
            let end = argv::answer(&error, glance.verbose, &plain).map_err(|mut failure| {
                failure.told.what.extend(told.map(|told| format!("\n({told})")));
                failure
            });
            finish(end, glance, &plain)
        }
    }
}

/// Until the command watches for signals itself, they end the process, which is said.
fn stand_by(color: anstream::ColorChoice) {
    // Where no thread is granted, a signal ends the process without a word.
    let _ = signal::stand_by(move |signal| {
        Output::new(color, false, false).aside(&format!("\ninterrupted by {}\n", signal.name()));
    });
}

/// Reads the words. Where a host stands in place of a command and they are none of a first look either, what is said is about the
/// command that was mistyped, where it was.
fn parse(argv: &[OsString], bare: Option<&Bare>) -> Result<Cli, clap::Error> {
    let read = |argv: &[OsString]| Cli::from_arg_matches(&definition().try_get_matches_from(argv)?);
    let Some(bare) = bare else { return read(argv) };
    let looked = read(&bare.argv);
    if looked.is_err() && bare.is_mistyped(&definition()) {
        return read(argv);
    }
    looked
}

/// A failure to look at what may have been meant as a command.
fn with_command_meant(mut failure: Failure, bare: Option<&Bare>) -> Failure {
    let meant = bare.filter(|bare| failure.told.to_whom.as_ref() == Some(&bare.word));
    if let Some(name) = meant.and_then(|bare| bare.nearest(&definition())) {
        let otherwise = failure.told.hint.take().map_or_else(String::new, |hint| format!("; otherwise: {hint}"));
        failure.told.hint = Some(format!("it is not a command either: `sonde {name}` is one{otherwise}"));
    }
    failure
}

fn act(command: Command, words: Vec<String>, output: &Arc<Output>) -> Result<Exit, Failure> {
    match command {
        Command::Measuring(Measuring::Rtt(options)) => rtt::run(*options, words, output),
        Command::Paths(options) => paths::run(*options, words, output),
        Command::Measuring(Measuring::Load(options)) => load::run(*options, words, output),
        Command::Measuring(Measuring::Throughput(options)) => throughput::run(*options, &words, output),
        Command::Compare(options) => compare::run(&options, words, output),
        Command::Sweep(options) => sweep::run(&options, words, output),
        Command::Why(options) => why::run(&options, words, output),
        Command::Study(options) => claims::run(&options, words, output),
        Command::Rerun(options) => rerun::run(&options, words, |argv| persona::asked(argv).is_some(), output),
        Command::Syn(options) => syn::run(options, words, output),
        Command::Dns(options) => dns::run(*options, words, output),
        Command::Look(options) => look::run(&options, words, output),
        Command::Replay(options) => replay::run(*options, words, output),
        Command::Check(options) => check::run(&options, output),
        Command::Run(options) => run::run(&options, words, output),
        Command::Watch(options) => Err(monitor::become_it("watch", &options.words)),
        Command::Monitor(options) => Err(monitor::become_it("monitor", &options.words)),
        Command::History(options) => Err(monitor::become_it("history", &options.words)),
        Command::Accept(options) => Err(monitor::become_it("accept", &options.words)),
        Command::Serve(options) => serve::run(options, output),
        Command::Forward(options) => forward::run(&options, output),
        Command::Lab(options) => lab::run(options, output),
        Command::Machine(options) => machine::run(&options, output),
        Command::Runs(options) => runs::run(&options, output),
        Command::Show(options) => show::run(&options, output),
        Command::Matrix(options) => matrix::run(&options, output),
        Command::Report(options) => pages::run(&options, output),
        Command::Export(options) => export::run(&options, output),
        Command::Part(part) => Err(part.misplaced()),
        Command::InstallNames(options) => install_names::run(&options, output),
        Command::Key(options) => key::run(&options, output),
        Command::Explain(options) => explain::run(&options, output),
        Command::Help(options) => help::run(&options, definition(), output),
        Command::Completions(options) => Ok(completions::run(&options, definition(), output)),
        Command::Man(options) => man::run(&options, definition(), output),
        Command::Agent(options) => agent::run(&options, output),
        Command::Reference(options) => reference::run(&options, definition()),
    }
}

fn finish(end: Result<Exit, Failure>, glance: Glance, output: &Output) -> Exit {
    let exit = end.unwrap_or_else(|failure| {
        // One document alone, one last line alone: where the record was printed, standard error and the exit status say
        // what else went wrong.
        if glance.json && !output.has_result() {
            output.result(&failure.document());
        } else if glance.json_lines && !output.has_whole_result() {
            output.result(&failure.line());
        }
        output.complain(&failure);
        failure.exit
    });
    match output.fault() {
        Some(fault) => {
            output.complain(&Failure::unwritten(&fault));
            if exit == Exit::Done { Exit::Usage } else { exit }
        }
        None => exit,
    }
}

/// The definition that help, man page, completions and reference are made from.
pub fn definition() -> clap::Command {
    let is_of_others = |command: &clap::Command| persona::named(command.get_name()).is_some();
    Cli::command().mut_subcommands(|command| if is_of_others(&command) { command } else { profile::offered(command) })
}

#[cfg(test)]
mod documents;
#[cfg(test)]
mod gates;

#[cfg(test)]
mod tests {
    #[test]
    fn the_definitions_are_sound() {
        super::definition().debug_assert();
    }
}
