//! hping3: the original, and sonde under its name, by the same command line.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Result, ensure};
use lab::namespace::Pair;

use crate::process::{Call, Host, Priority};

/// Probes of a run: of the original's a few seconds.
const PROBES: u32 = 20_000;
/// A port where nobody listens: each probe is answered by a reset.
const PORT: u16 = 9;

/// Program that probes.
#[derive(Clone, Debug)]
pub enum Hping3 {
    /// The one that is installed.
    Original,
    /// Sonde, by its path.
    Ours(PathBuf),
}

impl Hping3 {
    /// Probes a second of a run at the shortest interval either takes, its start and its wait for the last replies among the
    /// time: that is the original's as it is used.
    pub fn rate(&self, hosts: &Arc<Pair>, priority: Priority) -> Result<f64> {
        let words = format!("-S -q -i u1 -c {PROBES} -p {PORT} {}", hosts.far().v4());
        let call = match self {
            // It ends with 1 where it saw no reply, as it does at this rate.
            Self::Original => Call::new(Path::new("hping3"), &words).ending_anyhow(),
            Self::Ours(sonde) => Call::new(sonde, &format!("hping3 {words}")),
        };
        let took = call.at(Host::Near(Arc::clone(hosts))).time(priority)?.as_secs_f64();
        ensure!(took > 0.0, "{PROBES} probes took no time");
        Ok(f64::from(PROBES) / took)
    }
}
