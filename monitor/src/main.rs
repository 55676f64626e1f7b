//! `sonde-monitor`: what `sonde` measures, live and for ever. It measures nothing itself: it runs `sonde` and reads its JSON lines, so that
//! drawing and serving never share a process with a stamp.
//!
//! `sonde watch` and `sonde monitor` start this program. It alone in this crate reads argv, the clock and the environment, and ends the process.

mod centre;
mod comparison;
mod history;
mod incident;
mod line;
mod options;
mod past;
mod probe;
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

use crate::options::{Arguments, Command};

#[expect(clippy::disallowed_macros, reason = "this program's room that prints what failed")]
fn main() -> ExitCode {
    let ran = match Arguments::parse().command {
        Command::Watch(options) => watch::run(&options),
        Command::Monitor(options) => start::run(&options),
    };
    match ran {
        Ok(exit) => exit,
        Err(error) => {
            eprintln!("error: {}", report::markup::visible(&format!("{error:#}")));
            ExitCode::from(2)
        }
    }
}
