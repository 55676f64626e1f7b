//! `sonde-monitor`: what `sonde` measures, live and for ever. It measures nothing itself: it runs `sonde` and reads its JSON lines, so that
//! drawing and serving never share a process with a stamp.
//!
//! `sonde watch`, `sonde monitor` and `sonde history` start this program. It alone in this crate reads argv, the clock and the environment, and ends the process.

mod breakdown;
mod centre;
mod comparison;
mod discovery;
mod environment;
mod estimate;
mod failure;
mod generate;
mod history;
mod incident;
mod line;
mod notices;
mod options;
mod page;
mod past;
mod probe;
mod refining;
mod refusals;
mod screen;
mod serve;
mod start;
mod store;
mod summary;
mod telling;
mod view;
mod watch;
mod way;
mod words;

use std::process::ExitCode;

use clap::Parser;
use jiff::Zoned;

use crate::failure::Failure;
use crate::options::{Arguments, Command};

#[expect(clippy::disallowed_macros, reason = "this program's room that prints what failed")]
fn main() -> ExitCode {
    let Arguments { command } = Arguments::parse();
    let done = match command {
        Command::Watch(options) => watch::run(&options),
        Command::Monitor(options) => start::run(&options),
        Command::History(options) => past::run(&options, &Zoned::now()),
        Command::Compare(options) => past::compare(&options, &Zoned::now()),
        Command::Accept(options) => past::accept(&options, &Zoned::now()),
        Command::Estimate(options) => estimate::run(&options),
        Command::Generate(options) => generate::run(&options),
    };
    done.unwrap_or_else(|error| {
        eprintln!("error: {}", report::markup::visible(&format!("{error:#}")));
        if let Some(failure) = error.downcast_ref::<Failure>() {
            eprintln!("try:   {}", report::markup::visible(&failure.hint));
        }
        ExitCode::from(2)
    })
}
