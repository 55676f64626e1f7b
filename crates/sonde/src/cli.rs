//! The command line: what there is to say, and who acts on it.

use std::ffi::OsString;
use std::sync::Arc;

use clap::{CommandFactory, Parser, Subcommand};

use crate::command::argv::{Bare, Glance};
use crate::command::everywhere::Everywhere;
use crate::command::measuring::Measuring;
use crate::command::{
    agent, argv, check, compare, completions, explain, export, forward, key, lab, load, look, machine, man, matrix,
    orientation, pages, reference, replay, rtt, run, runs, serve, show, study, sweep, syn, throughput, why,
};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;
use crate::persona::{self, install_names, part::Part};
use crate::signal;

/// Measures what two endpoints can do with the network between them
///
/// How fast can these two endpoints exchange a request and a response, and why so? Every number comes with the method
/// by which it was found.
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
    /// Look at a host for the first time: how far is it by each carrier, and which number should be believed?
    ///
    /// Needs nothing on the far side. `sonde HOST` is the same. Echo, TCP handshake and every program that is recognised there (a
    /// reflector of ours, netserver, sockperf, iperf 2, STAMP, an echo service) are asked side by side, in the same rounds; a sentence says which
    /// number stands for what an application will see, and why the others differ, where that was shown.
    Look(look::options::LookOptions),
    #[command(flatten)]
    Measuring(Measuring),
    /// Compare methods, far sides, settings or stored records: do they differ, by how much, and in which axis lies the cause?
    ///
    /// Live sides take turns in random order, each run a process with connections of its own; where their methods differ, the
    /// axes in which they differ are moved one at a time. Before it starts it says how long it takes. SIGINT, SIGTERM and SIGHUP
    /// end it in order, with what was found until then.
    Compare(compare::options::CompareOptions),
    /// Sweep along an axis: how does the answer move with the interval, the size, the rate, …?
    ///
    /// Every point of every method is a trial of its own in each block, in random order, and each trial a process with
    /// connections of its own. Before it starts it says how long it takes. SIGINT, SIGTERM and SIGHUP end it in order: what
    /// was measured until then is told and kept, and --resume goes on.
    Sweep(sweep::options::SweepOptions),
    /// Why does a round trip take so long? Where the time goes, and which switch shows it
    ///
    /// Measures at several intervals, with kernel timestamps, and then moves what can be moved: how we wait for the next
    /// request, how we wait for a reply, how the peer waits, on which CPU it runs. A cause is named where its switch shows it.
    /// Before it starts it says how long it takes. SIGINT, SIGTERM and SIGHUP end it in order.
    Why(why::options::WhyOptions),
    /// Probe a TCP port without a connection: does anyone answer, what, and is it the host?
    ///
    /// Sends SYNs through a raw socket, which needs `CAP_NET_RAW`, and tells SYN+ACK (open), RST (closed), ICMP errors (refused, by
    /// whom) and silence (filtered) apart, each with its TTL, window and options. No connection is ever made: the kernel resets
    /// what is accepted.
    Syn(syn::options::SynOptions),
    /// Replay a recorded schedule: a CSV of time,size, a playback file of sockperf, or one flow of a capture
    Replay(replay::options::ReplayOptions),
    /// Does anyone answer there, and how? Addresses, route, MTU, echo, ports, and which known program is at each
    Check(check::CheckOptions),
    /// Carry out a plan over many hosts: which pairs, by which methods, how often
    ///
    /// Each host is given this program, which is spoken to over its standard input and output (ssh, a namespace, kubectl): no port
    /// is wanted for control, only the one that is measured to. Pairs are measured in rounds in which no host and no machine
    /// appears twice. Before it starts it says how long it takes; SIGINT, SIGTERM and SIGHUP end it in order, and --resume goes on.
    Run(run::options::RunOptions),
    /// Be the far side: answer what `sonde rtt`, `sonde load` and `sonde throughput` ask
    Serve(serve::options::ServeOptions),
    /// Be a worse path: a link between two network namespaces that delays, loses, reorders and queues, and counts what it did
    ///
    /// Two TUN devices and a relay between them, for kernels without netem and for paths whose truth has to be known. Runs until
    /// SIGINT (Ctrl-C), SIGTERM or SIGHUP, and then prints what became of the packets each way. Needs `CAP_NET_ADMIN`.
    Forward(forward::ForwardOptions),
    /// Make hosts on this machine: network namespaces on a bridge, with an sshd in each where asked; list and remove them
    Lab(lab::LabOptions),
    /// What can this machine resolve at all? Clock, timers, wake-ups, loopback, and what would spoil a measurement
    #[command(name = "self")]
    Machine(machine::SelfOptions),
    /// List the runs that are kept, the latest first
    ///
    /// A run of a plan is kept in a store, with every record of it; where the store cannot be written, beside it, until it can.
    Runs(runs::RunsOptions),
    /// Print records and runs again
    Show(show::ShowOptions),
    /// Show a run of a plan host by host: squares on the terminal, a page, or a picture
    Matrix(matrix::MatrixOptions),
    /// Make a page of records, or a picture of one chart: self-contained, for a browser or paper
    Report(pages::ReportOptions),
    /// Make a table of records, one row each: CSV or Parquet
    Export(export::ExportOptions),
    #[command(flatten)]
    Part(Part),
    #[command(about = install_names::about())]
    InstallNames(install_names::InstallNamesOptions),
    /// Make a pre-shared key for `serve` and those who measure against it
    Key(key::KeyOptions),
    /// Explain a warning or a term of the output
    Explain(explain::ExplainOptions),
    /// Print the completions of a shell
    Completions(completions::CompletionsOptions),
    /// Print the manual page, or write all of them
    Man(man::ManOptions),
    /// Be an agent of `sonde run` on this host: orders come on standard input, one JSON object a line
    #[command(hide = true)]
    Agent(agent::AgentOptions),
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
    // Where no thread is granted, a signal ends the process without a word.
    let _ = signal::stand_by(move |signal| {
        Output::new(glance.color, false, false).aside(&format!("\ninterrupted by {}\n", signal.name()));
    });
    let words = argv.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let definition = definition();
    let argv = study::argv::arranged(argv, &definition);
    let bare = Bare::at(&argv, &definition);
    match parse(argv, bare.as_ref()) {
        Ok(cli) => {
            let Everywhere { color, quiet, verbose } = cli.everywhere;
            let output = Arc::new(Output::new(color, quiet, verbose));
            let end = cli.command.map_or_else(|| Ok(orientation::print(&output)), |it| act(it, words, &output));
            finish(end.map_err(|failure| with_command_meant(failure, bare.as_ref())), glance, &output)
        }
        Err(error) => {
            let output = Output::new(glance.color, false, false);
            finish(argv::answer(&error, &output), glance, &output)
        }
    }
}

/// Reads the words. Where a host stands in place of a command and they are none of a first look either, what is said is about the
/// command that was mistyped, where it was.
fn parse(argv: Vec<OsString>, bare: Option<&Bare>) -> Result<Cli, clap::Error> {
    let Some(bare) = bare else { return Cli::try_parse_from(argv) };
    let looked = Cli::try_parse_from(&bare.argv);
    if looked.is_err() && bare.is_mistyped(&definition()) {
        return Cli::try_parse_from(argv);
    }
    looked
}

/// A failure to look at what may have been meant as a command.
fn with_command_meant(mut failure: Failure, bare: Option<&Bare>) -> Failure {
    let meant = bare.filter(|bare| failure.told.to_whom.as_ref() == Some(&bare.word));
    if let Some(name) = meant.and_then(|bare| bare.nearest(&definition())) {
        let otherwise = failure.told.hint.take().map_or_else(String::new, |hint| format!("; otherwise: {hint}"));
        failure.told.hint = Some(format!("it is no command either: `sonde {name}` is one{otherwise}"));
    }
    failure
}

fn act(command: Command, words: Vec<String>, output: &Arc<Output>) -> Result<Exit, Failure> {
    match command {
        Command::Measuring(Measuring::Rtt(options)) => rtt::run(options, words, output),
        Command::Measuring(Measuring::Load(options)) => load::run(options, words, output),
        Command::Measuring(Measuring::Throughput(options)) => throughput::run(options, &words, output),
        Command::Compare(options) => compare::run(&options, words, output),
        Command::Sweep(options) => sweep::run(&options, words, output),
        Command::Why(options) => why::run(&options, words, output),
        Command::Syn(options) => syn::run(options, words, output),
        Command::Look(options) => look::run(&options, words, output),
        Command::Replay(options) => replay::run(options, words, output),
        Command::Check(options) => check::run(&options, output),
        Command::Run(options) => run::run(&options, words, output),
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
        Command::Completions(options) => Ok(completions::run(&options, definition(), output)),
        Command::Man(options) => man::run(&options, definition(), output),
        Command::Agent(_) => agent::run(),
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
        output.aside(&failure.text());
        failure.exit
    });
    match output.fault() {
        Some(fault) => {
            output.aside(&Failure::unwritten(&fault).text());
            if exit == Exit::Done { Exit::Usage } else { exit }
        }
        None => exit,
    }
}

/// The definition that help, man page, completions and reference are made from.
pub fn definition() -> clap::Command {
    Cli::command()
}

#[cfg(test)]
mod documents;

#[cfg(test)]
mod tests {
    #[test]
    fn the_definitions_are_sound() {
        super::definition().debug_assert();
    }
}
