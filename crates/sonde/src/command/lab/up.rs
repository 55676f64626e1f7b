//! `sonde lab up`: makes a lab and lists its hosts.

use std::path::PathBuf;

use clap::Args;
use endpoint::stop::Stop;
use lab::network;
use lab::network::plan::{Ends, Wanted, Worse, is_name};
use lab::network::state::State;
use logbook::host::Host;
use measure::unit::Nanos;
use serde::Serialize;
use uuid::Uuid;

use crate::command::lab::place::{self, failed};
use crate::command::throughput::words::BitRate;
use crate::command::{deliver, value};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;
use crate::signal;

pub(super) const EXAMPLES: &str = "\
Examples, as root:
  sonde lab up --hosts 5 -o hosts.toml        five hosts, listed in a file for `sonde run --inventory hosts.toml`
  sonde lab up --hosts 5 --ssh --name fleet   with an sshd in each, as the lab called fleet
  sonde lab up --hosts 3 --worse h3 --delay 20ms --line-rate 10M
";

/// Options of `sonde lab up`.
#[derive(Debug, Args)]
pub struct UpOptions {
    /// Number of hosts, 1 to 100: h1, h2, and so on
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=100))]
    hosts: u16,
    /// Number of zones, assigned in turn as the label zone: z1, z2, and so on
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=100))]
    zones: Option<u16>,
    /// Bits per second of each host's link and direction, as in 100M [default: no limit]
    #[arg(long, value_name = "BITS")]
    rate: Option<BitRate>,
    /// Start an sshd in each host, with separate keys; the inventory uses ssh
    #[arg(long)]
    ssh: bool,
    /// Name of the lab, 1 to 16 lower-case letters and digits [default: random]
    #[arg(long, value_name = "ID", value_parser = name)]
    name: Option<String>,
    /// Write the inventory to FILE, and print one line
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    worse: WorseOptions,
}

/// A part of the network that is worse.
#[derive(Debug, Args)]
#[command(next_help_heading = "Slow or lossy link")]
struct WorseOptions {
    /// Where: between two zones, as in z1,z2, or between one host and all others, as in h3
    #[arg(long, value_name = "ENDS", value_parser = ends)]
    worse: Option<Ends>,
    /// Delay per direction, as in 5ms
    #[arg(long, value_name = "TIME", value_parser = value::time_or_none, requires = "worse")]
    delay: Option<Nanos>,
    /// Random variation of the delay, up to TIME to either side; packets are reordered
    #[arg(long, value_name = "TIME", value_parser = value::time_or_none, requires = "worse")]
    jitter: Option<Nanos>,
    /// Loss rate, as in 1%
    #[arg(long, value_name = "PERCENT", value_parser = percent, requires = "worse")]
    loss: Option<String>,
    /// Bits of IP per second and direction, for all its hosts together
    #[arg(long, value_name = "BITS", requires = "worse")]
    line_rate: Option<BitRate>,
}

fn name(text: &str) -> Result<String, String> {
    let fault = || "is no name of a lab: write 1 to 16 lowercase letters and digits".to_owned();
    is_name(text).then(|| text.to_owned()).ok_or_else(fault)
}

fn ends(text: &str) -> Result<Ends, String> {
    let is = |text: &str, kind: char| text.strip_prefix(kind).is_some_and(|rest| rest.parse::<u16>().is_ok());
    match text.split_once(',') {
        None if is(text, 'h') => Ok(Ends::Host(text.to_owned())),
        Some((one, other)) if is(one, 'z') && is(other, 'z') => Ok(Ends::Zones(one.to_owned(), other.to_owned())),
        _ => Err("is neither a host, as h3, nor two zones, as z1,z2".to_owned()),
    }
}

/// Checked here, so that it is said before anything is made; the forwarder reads it again.
fn percent(text: &str) -> Result<String, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim().parse::<f64>();
    let sound = number.is_ok_and(|percent| (0.0..=100.0).contains(&percent));
    sound.then(|| text.to_owned()).ok_or_else(|| "is no share: write a percentage, as in 0.5%".to_owned())
}

/// The list as it is written: the part of a plan that names hosts.
#[derive(Serialize)]
struct Listed<'a> {
    hosts: &'a [Host],
}

/// Makes the lab, prints its hosts.
///
/// # Errors
/// Errors of the lab; a file that cannot be written, and then the lab is removed again.
pub fn run(options: &UpOptions, output: &Output) -> Result<Exit, Failure> {
    if let Some(file) = &options.output {
        deliver::check_path(file)?;
    }
    let folder = place::folder()?;
    let wanted = wanted(options)?;
    let stop = Stop::default();
    let asked = stop.clone();
    let interruption = signal::watch(move || asked.request(), || {})
        .map_err(|error| Failure::usage(format!("cannot wait for signals: {error}")))?;
    let state = network::up(&folder, &wanted, &stop).map_err(|told| {
        let exit = interruption.signal().map_or(Exit::Usage, Exit::CutShort);
        Failure { exit, ..failed(told) }
    })?;
    let listed = list(&state).and_then(|list| {
        let told = match &options.output {
            None => list,
            Some(file) => {
                deliver::write(file, &list)?;
                let (id, hosts, file) = (&state.id, state.hosts.len(), file.display());
                format!("lab {id}: {hosts} hosts, listed in {file}; `sonde lab down {id}` removes it\n")
            }
        };
        // A lab whose list nobody reads is of no use; one that was asked to stop in the last moment is not wanted.
        if output.result(&told) && !stop.requested() || options.output.is_some() && !stop.requested() {
            return Ok(());
        }
        Err(Failure::usage("the list of hosts could not be told, so the lab was removed").about(&state.id))
    });
    if let Err(failure) = listed {
        network::down(&folder, &state.id).map_err(failed)?;
        return Err(interruption
            .signal()
            .map_or(failure.clone(), |signal| Failure { exit: Exit::CutShort(signal), ..failure }));
    }
    if options.output.is_none() {
        let id = &state.id;
        output.note(&format!("lab {id}: {} hosts; `sonde lab down {id}` removes it\n", state.hosts.len()));
    }
    Ok(Exit::Done)
}

fn list(state: &State) -> Result<String, Failure> {
    let list = toml::to_string(&Listed { hosts: &state.hosts })
        .map_err(|error| Failure::usage(format!("the hosts cannot be listed as TOML: {error}")))?;
    Ok(format!("# Hosts of the lab {}, which `sonde lab down {0}` removes.\n{list}", state.id))
}

fn wanted(options: &UpOptions) -> Result<Wanted, Failure> {
    let program = std::env::current_exe()
        .map_err(|error| Failure::usage(format!("the system does not tell which program this is: {error}")))?;
    Ok(Wanted {
        // The random end of it: its first digits are the time.
        id: options.name.clone().unwrap_or_else(|| Uuid::now_v7().simple().to_string()[24..].to_owned()),
        hosts: options.hosts,
        zones: options.zones,
        rate: options.rate.map(|rate| rate.0),
        ssh: options.ssh,
        worse: worse(&options.worse),
        program,
    })
}

fn worse(options: &WorseOptions) -> Option<Worse> {
    let time = |time: Nanos| format!("{}ns", time.0);
    let words = [
        ("--delay", options.delay.map(time)),
        ("--jitter", options.jitter.map(time)),
        ("--loss", options.loss.clone()),
        ("--rate", options.line_rate.map(|rate| rate.0.to_string())),
    ];
    let words = words.into_iter().filter_map(|(name, value)| value.map(|value| [name.to_owned(), value]));
    Some(Worse { ends: options.worse.clone()?, words: words.flatten().collect() })
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use test_case::test_case;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        options: UpOptions,
    }

    fn parsed(words: &str) -> Result<Wanted, String> {
        let line = Line::try_parse_from(["up"].into_iter().chain(words.split_whitespace()));
        line.map(|line| wanted(&line.options).unwrap()).map_err(|error| error.to_string())
    }

    #[test]
    fn what_was_typed_is_what_is_wanted() {
        let wanted =
            parsed("--hosts 6 --zones 3 --rate 100M --ssh --name a1 --worse z1,z2 --delay 5ms --loss 1%").unwrap();
        assert_eq!((wanted.id.as_str(), wanted.hosts, wanted.zones), ("a1", 6, Some(3)));
        assert_eq!((wanted.rate, wanted.ssh), (Some(100_000_000), true));
        let worse = wanted.worse.unwrap();
        assert_eq!(worse.ends, Ends::Zones("z1".into(), "z2".into()));
        assert_eq!(worse.words, ["--delay", "5000000ns", "--loss", "1%"]);
    }

    #[test]
    fn a_drawn_name_is_a_name_and_another_each_time() {
        let [one, two] = [(); 2].map(|()| parsed("--hosts 1").unwrap().id);
        assert!(is_name(&one) && one != two, "{one} {two}");
    }

    #[test_case(""; "no number")]
    #[test_case("--hosts 0"; "none")]
    #[test_case("--hosts 101"; "too many")]
    #[test_case("--hosts 2 --name a-b"; "a name with a hyphen")]
    #[test_case("--hosts 2 --delay 5ms"; "a delay of nothing")]
    #[test_case("--hosts 2 --worse z1"; "one zone")]
    #[test_case("--hosts 2 --worse h1 --loss 101%"; "more than all")]
    #[test_case("--hosts 2 --rate 0"; "no rate")]
    fn what_makes_no_sense_is_refused(words: &str) {
        assert!(parsed(words).is_err());
    }
}
