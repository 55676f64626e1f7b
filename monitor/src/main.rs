//! `sonde-monitor`: what `sonde` measures, live. It measures nothing itself: for each way of asking a host it runs a `sonde rtt` of its
//! own and reads its JSON lines, so that drawing never shares a process with a stamp.
//!
//! `sonde watch` starts this program. It alone in this crate reads argv, the clock and the environment, and ends the process.

mod centre;
mod comparison;
mod history;
mod incident;
mod line;
mod options;
mod probe;
mod screen;
mod serve;
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
    let Arguments { command: Command::Watch(options) } = Arguments::parse();
    match watch::run(&options) {
        Ok(exit) => exit,
        Err(error) => {
            eprintln!("error: {}", report::markup::visible(&format!("{error:#}")));
            ExitCode::from(2)
        }
    }
}
