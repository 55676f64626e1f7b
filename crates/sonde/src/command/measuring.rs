//! The commands that measure once, of which studies and plans are made.

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser, Subcommand};
use measure::method::Method;

use crate::command::argv;
use crate::command::everywhere::Everywhere;
use crate::command::load::{self, options::LoadOptions};
use crate::command::rtt::{self, options::RttOptions, plan::Plan};
use crate::command::syn::{self, options::SynOptions};
use crate::command::throughput::{self, options::ThroughputOptions};
use crate::failure::Failure;

/// A command that measures once.
#[derive(Debug, Subcommand)]
pub enum Measuring {
    /// Measure round-trip time
    ///
    /// Ctrl-C (SIGINT), SIGTERM and SIGHUP end a run; sonde prints and writes the results so far. A second Ctrl-C or SIGTERM ends it at
    /// once. An ignored SIGHUP stays ignored, as under nohup. SIGQUIT (Ctrl-\) prints the numbers so far on standard error; the run
    /// continues.
    Rtt(Box<RttOptions>),
    /// Measure latency and loss at a given message rate
    ///
    /// SIGINT, SIGTERM and SIGHUP end a run with the results so far. SIGQUIT (Ctrl-\) prints the numbers so far. See `sonde rtt --help`.
    Load(Box<LoadOptions>),
    /// Measure throughput of streams, its bottleneck and the latency under load
    ///
    /// Ctrl-C (SIGINT), SIGTERM and SIGHUP end a run; sonde prints and writes the results so far. A second Ctrl-C or SIGTERM ends it at
    /// once.
    Throughput(Box<ThroughputOptions>),
}

/// A command line of which nothing else is expected.
#[derive(Debug, Parser)]
#[command(name = "sonde")]
struct Line {
    #[command(flatten)]
    _everywhere: Everywhere,
    #[command(subcommand)]
    command: Trial,
}

/// A command that a trial is made of.
#[derive(Debug, Subcommand)]
enum Trial {
    #[command(flatten)]
    Measuring(Measuring),
    Syn(Box<SynOptions>),
}

/// The definitions of these commands, as those of a whole command line.
pub fn definition() -> clap::Command {
    Line::command()
}

/// The method by which a measuring command of these words (its name first) would measure.
///
/// # Errors
/// The command's own refusal.
pub fn method_of(words: Vec<String>) -> Result<Method, Failure> {
    let argv = std::iter::once(env!("CARGO_PKG_NAME").to_owned()).chain(words);
    let line = Line::try_parse_from(argv).map_err(|error| match error.kind() {
        ErrorKind::InvalidSubcommand => Failure::usage("trials are made of rtt, load, throughput and syn"),
        _ => argv::failure(&error),
    })?;
    match line.command {
        Trial::Measuring(Measuring::Rtt(options)) => rtt::method(&Plan::of(*options)?),
        Trial::Measuring(Measuring::Load(options)) => rtt::method(&load::plan::of(*options)?),
        Trial::Measuring(Measuring::Throughput(options)) => throughput::method(*options),
        Trial::Syn(options) => rtt::method(&syn::plan::Plan::of(*options)?.inner),
    }
}
