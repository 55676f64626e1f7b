//! netperf and netserver: the original, and sonde under their names, by the same command lines.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use lab::namespace::Pair;
use testbed::port;

use crate::process::{Call, Host, Priority};
use crate::row::{self, Figure, NetperfTest};
use crate::sonde::{CLIENT_CPU, SERVER_CPU, SIZE, said_by};

/// Both programs of one maker.
#[derive(Clone, Debug)]
pub enum Netperf {
    /// Those that are installed.
    Original,
    /// Sonde's, by its path.
    Ours(PathBuf),
}

impl Netperf {
    fn call(&self, name: &str, arguments: &str) -> Call {
        match self {
            Self::Original => Call::new(Path::new(name), arguments),
            Self::Ours(sonde) => Call::new(sonde, &format!("{name} {arguments}")),
        }
    }

    /// One run of `test` over `path`, with a server of its own: the figures asked for. `pair` is for [`row::Path::Veth`].
    pub fn run<const N: usize>(
        &self,
        test: NetperfTest,
        path: row::Path,
        pair: Option<&Arc<Pair>>,
        figures: [Figure; N],
        priority: Priority,
    ) -> Result<[f64; N]> {
        let (near, far, address) = match (path, pair) {
            (row::Path::Veth, Some(pair)) => {
                (Host::Near(Arc::clone(pair)), Host::Far(Arc::clone(pair)), pair.far().v4().to_string())
            }
            (row::Path::Veth, None) => anyhow::bail!("there are no namespaces here"),
            (row::Path::Loopback, _) => (Host::Here, Host::Here, "127.0.0.1".to_owned()),
        };
        let port = port::free();
        let server = self.call("netserver", &format!("-D -p {port}")).at(far).start(priority)?;
        let size = if test == NetperfTest::TcpStream { String::new() } else { format!("-r {SIZE},{SIZE}") };
        let selectors = figures.map(selector).join(",");
        let client = format!(
            "-p {port} -H {address} -t {} -l 1 -T {CLIENT_CPU},{SERVER_CPU} -P 0 -- {size} -k {selectors}",
            test.word()
        );
        let printed = said_by(server, self.call("netperf", &client).at(near).run(priority))?;
        let mut found = [0.0; N];
        for (place, figure) in found.iter_mut().zip(figures) {
            *place = value(&printed, selector(figure))?;
        }
        Ok(found)
    }
}

fn selector(figure: Figure) -> &'static str {
    match figure {
        Figure::Rate => "THROUGHPUT",
        Figure::Least => "MIN_LATENCY",
        Figure::Mean => "MEAN_LATENCY",
    }
}

/// The number of the line `name=number`, which must be above 0.
fn value(printed: &str, name: &str) -> Result<f64> {
    let found = printed.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
    let number = found.and_then(|number| number.trim().parse().ok()).filter(|number: &f64| *number > 0.0);
    number.with_context(|| format!("no {name} above 0 in `{}`", printed.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_found_by_its_whole_name() {
        let printed = "THROUGHPUT=23133.10\nTHROUGHPUT_UNITS=Trans/s\nMIN_LATENCY=12\nMEAN_LATENCY=0.00\n";
        assert_eq!(value(printed, "THROUGHPUT").unwrap(), 23_133.1);
        assert_eq!(value(printed, "MIN_LATENCY").unwrap(), 12.0);
    }

    #[test]
    fn what_is_absent_or_0_is_an_error_and_no_figure() {
        let said = |name| value("MEAN_LATENCY=0.00\nMIN_LATENCY=-1\n", name).unwrap_err().to_string();
        assert!(said("MEAN_LATENCY").contains("no MEAN_LATENCY above 0"));
        assert!(said("MIN_LATENCY").contains("no MIN_LATENCY"));
        assert!(said("THROUGHPUT").contains("no THROUGHPUT"));
    }
}
