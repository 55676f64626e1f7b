//! sockperf: the original, and sonde under its name, by the same command lines, client and server.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use testbed::port;

use crate::ladder::{Flood, Rung};
use crate::process::{Call, Priority, Signal, rest};
use crate::row::{Carrier, Waiting};
use crate::sonde::{CLIENT_CPU, SERVER_CPU, SIZE};

/// Every how many-th message of a flood asks for a reply.
pub const REPLY_EVERY: u32 = 100;
/// Seconds of a run: sockperf takes whole ones, 1 at least.
const SECONDS: u32 = 1;
/// The buffers asked for at both ends of a flood, bytes: what is not lost in them is not lost.
const ROOM: u32 = 4 << 20;

/// A program of one maker, client and server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sockperf {
    /// The one that is installed.
    Original,
    /// Sonde's, by its path.
    Ours(PathBuf),
}

/// Settings of both ends of a flood where they may help: each side of a row gets its best. Buffers are large in all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// True where the client's threads may use both CPUs.
    pub roams: bool,
    /// True where the server polls its socket.
    pub polls: bool,
}

impl Setting {
    /// All there are.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..4).map(|bits| Self { roams: bits & 1 != 0, polls: bits & 2 != 0 })
    }
}

impl Sockperf {
    fn call(&self, cpus: &str, arguments: &str) -> Call {
        let program = match self {
            Self::Original => "sockperf".to_owned(),
            Self::Ours(sonde) => format!("{} sockperf", sonde.display()),
        };
        Call::new(Path::new("taskset"), &format!("-c {cpus} {program} {arguments}"))
    }

    /// Messages one way as `rung` says, against a server of `server`'s maker.
    pub fn flood(&self, server: &Self, setting: Setting, rung: Rung, priority: Priority) -> Result<Flood> {
        let (port, buffers) = (port::free(), format!("--buffer-size {ROOM}"));
        let polls = if setting.polls { "--nonblocked" } else { "" };
        let cpu = SERVER_CPU.to_string();
        let running = server.call(&cpu, &format!("server -i 127.0.0.1 -p {port} {buffers} {polls}")).start(priority)?;
        rest();
        let rate = match rung {
            Rung::Max => "max".to_owned(),
            Rung::Rate(rate) => rate.to_string(),
        };
        let client = format!(
            "under-load -i 127.0.0.1 -p {port} -m {SIZE} -t {SECONDS} --mps {rate} --reply-every {REPLY_EVERY} {buffers}"
        );
        let cpus = if setting.roams { format!("{CLIENT_CPU},{SERVER_CPU}") } else { CLIENT_CPU.to_string() };
        let printed = self.call(&cpus, &client).run(priority);
        // All that the client sent has come by now: `run` rests.
        let told = running.end_by(Signal::Interrupt)?;
        let printed = printed.with_context(|| format!("the server said `{}`", last_line(&told)))?;
        let run = Total::read(&printed, "[Total Run]")?;
        Ok(Flood { sent: run.sent, received: handled(&told)?, seconds: run.seconds })
    }

    /// Exchanges a second of ping-pong, both ends of this maker.
    pub fn exchanges(&self, carrier: Carrier, waiting: Waiting, priority: Priority) -> Result<f64> {
        let port = port::free();
        let tcp = if carrier == Carrier::Tcp { "--tcp" } else { "" };
        let polls = if waiting == Waiting::Spin { "--nonblocked" } else { "" };
        let ends = format!("-i 127.0.0.1 -p {port} {tcp} {polls}");
        let running = self.call(&SERVER_CPU.to_string(), &format!("server {ends}")).start(priority)?;
        rest();
        let client = format!("ping-pong {ends} -m {SIZE} -t {SECONDS}");
        let printed = self.call(&CLIENT_CPU.to_string(), &client).run(priority);
        let told = running.end_by(Signal::Interrupt)?;
        let printed = printed.with_context(|| format!("the server said `{}`", last_line(&told)))?;
        let run = Total::read(&printed, "[Valid Duration]")?;
        Ok(run.received / run.seconds)
    }

    /// Messages one way at `per_s`, to a receiver at `port` that stamps them.
    pub fn paced(&self, port: u16, per_s: u32, priority: Priority) -> Result<()> {
        let arguments = format!(
            "under-load -i 127.0.0.1 -p {port} -m {SIZE} -t {SECONDS} --mps {per_s} --reply-every {REPLY_EVERY}"
        );
        self.call(&CLIENT_CPU.to_string(), &arguments).run(priority).map(drop)
    }
}

/// A line of totals that the client prints.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Total {
    seconds: f64,
    sent: f64,
    received: f64,
}

impl Total {
    /// The line of `printed` that has `head`: `RunTime=1.000 sec; SentMessages=550; ReceivedMessages=550`. A figure that is
    /// not there, or is not above 0, is an error.
    fn read(printed: &str, head: &str) -> Result<Self> {
        let line = printed.lines().find(|line| line.contains(head));
        let line = line.with_context(|| format!("no `{head}` in `{}`", last_line(printed)))?;
        let figure = |key: &str| {
            let after = line.split(key).nth(1).and_then(|rest| rest.split([' ', ';']).next());
            let number = after.and_then(|word| word.trim().parse().ok()).filter(|number: &f64| *number > 0.0);
            number.with_context(|| format!("no {key} above 0 in `{line}`"))
        };
        Ok(Self {
            seconds: figure("RunTime=")?,
            sent: figure("SentMessages=")?,
            received: figure("ReceivedMessages=")?,
        })
    }
}

/// Messages that the server reports: `sockperf: Total 1001 messages received and handled`.
fn handled(told: &str) -> Result<f64> {
    let line = told.lines().find_map(|line| line.split_once("Total ")?.1.split_once(" messages received and handled"));
    let number = line.and_then(|(number, _)| number.trim().parse().ok());
    number.with_context(|| format!("the server told no total, but `{}`", last_line(told)))
}

fn last_line(text: &str) -> &str {
    text.lines().last().unwrap_or("nothing").trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLIENT: &str = "sockperf: Test ended\n\
        sockperf: [Total Run] RunTime=1.002 sec; Warm up time=400 msec; SentMessages=56987; ReceivedMessages=569\n\
        sockperf: [Valid Duration] RunTime=0.549 sec; SentMessages=31000; ReceivedMessages=310\n";

    #[test]
    fn totals_are_read_of_the_line_that_is_meant() {
        let total = Total { seconds: 1.002, sent: 56_987.0, received: 569.0 };
        assert_eq!(Total::read(CLIENT, "[Total Run]").unwrap(), total);
        assert_eq!(Total::read(CLIENT, "[Valid Duration]").unwrap().received, 310.0);
    }

    #[test]
    fn what_is_absent_or_0_is_an_error_and_no_figure() {
        let said = |printed, head| Total::read(printed, head).unwrap_err().to_string();
        assert!(said("sockperf: ERROR: no answer\n", "[Total Run]").contains("no answer"));
        let silent = "[Total Run] RunTime=1.000 sec; SentMessages=5; ReceivedMessages=0";
        assert!(said(silent, "[Total Run]").contains("no ReceivedMessages= above 0"));
    }

    #[test]
    fn the_servers_total_is_found_behind_whatever_it_said_before() {
        let told = "sockperf: Test end (interrupted by user)\nsockperf: Total 14000 messages received and handled\n";
        assert_eq!(handled(told).unwrap(), 14_000.0);
        assert!(handled("sockperf: ERROR: Address already in use\n").unwrap_err().to_string().contains("in use"));
    }

    #[test]
    fn every_setting_is_tried_once() {
        let all: Vec<Setting> = Setting::all().collect();
        assert!(all.iter().enumerate().all(|(index, one)| !all[..index].contains(one)) && all.len() == 4);
    }
}
