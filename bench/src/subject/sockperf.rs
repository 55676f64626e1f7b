//! The rows against sockperf. Each side of a flood is first tried with every setting of its ends, and runs with its best.

use anyhow::{Context, Result, bail};
use testbed::port;

use super::Bench;
use crate::c_loop::figure;
use crate::ladder::Ladder;
use crate::process::{Priority, rest};
use crate::row::{Carrier, Ends, Share, Waiting};
use crate::sockperf::{Setting, Sockperf};
use crate::sonde::Sonde;
use crate::trial::Pair;

/// Priority of both sides of a flood. At real-time priority the original's sender, which never waits, keeps its own receiver
/// from the CPU, and no run of it gives a result.
const FLOODING: Priority = Priority::Normal;

/// One side of a row of one-way messages, with its best setting and the way down the rates it went last.
#[derive(Clone, Debug)]
pub enum Side {
    /// sockperf's words.
    Sockperf {
        /// Program that sends.
        client: Sockperf,
        /// Program that receives.
        server: Sockperf,
        /// The best of all for these two.
        setting: Setting,
        /// The rates.
        ladder: Ladder,
    },
    /// `sonde load` and `sonde serve`, in segments.
    Load {
        /// The program.
        sonde: Sonde,
        /// The rates.
        ladder: Ladder,
    },
}

impl Side {
    /// The best of all settings.
    fn sockperf(client: &Sockperf, server: &Sockperf) -> Result<Self> {
        let mut best: Option<(f64, Setting, Ladder)> = None;
        let mut fault = None;
        for setting in Setting::all() {
            let mut ladder = Ladder::default();
            match ladder.highest(|rung| client.flood(server, setting, rung, FLOODING)) {
                Ok(rate) if best.as_ref().is_none_or(|(most, ..)| rate > *most) => best = Some((rate, setting, ladder)),
                Ok(_) => {}
                Err(error) => fault = Some(error),
            }
        }
        match (best, fault) {
            (Some((_, setting, ladder)), _) => {
                Ok(Self::Sockperf { client: client.clone(), server: server.clone(), setting, ladder })
            }
            (None, Some(fault)) => Err(fault),
            (None, None) => bail!("there is no setting to try"),
        }
    }

    fn rate(&mut self) -> Result<f64> {
        match self {
            Self::Sockperf { client, server, setting, ladder } => {
                ladder.highest(|rung| client.flood(server, *setting, rung, FLOODING))
            }
            Self::Load { sonde, ladder } => ladder.highest(|rung| sonde.flood(true, rung, FLOODING)),
        }
    }
}

impl Bench {
    pub(super) fn sockperf_flood(&self, ends: Ends) -> Result<Vec<Pair>> {
        let ours = Sockperf::Ours(self.sonde.program().to_owned());
        let mut ours = match ends {
            Ends::Both => Side::sockperf(&ours, &ours),
            Ends::Client => Side::sockperf(&ours, &Sockperf::Original),
            Ends::Segments => Ok(Side::Load { sonde: self.sonde.clone(), ladder: Ladder::default() }),
        }?;
        let mut theirs = self.original_flood()?;
        self.alternate(|| ours.rate(), || theirs.rate())
    }

    /// The original's best is sought once, and holds for all rows.
    fn original_flood(&self) -> Result<Side> {
        if let Some(side) = self.original.get() {
            return Ok(side.clone());
        }
        let side = Side::sockperf(&Sockperf::Original, &Sockperf::Original)?;
        Ok(self.original.get_or_init(|| side).clone())
    }

    pub(super) fn sockperf_exchanges(&self, carrier: Carrier, waiting: Waiting) -> Result<Vec<Pair>> {
        let run = |maker: &Sockperf| maker.exchanges(carrier, waiting, self.priority);
        let (ours, theirs) = (Sockperf::Ours(self.sonde.program().to_owned()), Sockperf::Original);
        self.alternate(|| run(&ours), || run(&theirs))
    }

    pub(super) fn sockperf_pacing(&self, per_s: u32, share: Share) -> Result<Vec<Pair>> {
        let run = |maker: &Sockperf| self.pacing_error(maker, per_s, share);
        let (ours, theirs) = (Sockperf::Ours(self.sonde.program().to_owned()), Sockperf::Original);
        self.alternate(|| run(&ours), || run(&theirs))
    }

    /// Percentile of the pacing errors of `maker`'s sender, microseconds.
    fn pacing_error(&self, maker: &Sockperf, per_s: u32, share: Share) -> Result<f64> {
        let port = port::free();
        let receiver = self.c.arrivals(port, 1_000_000_000 / u64::from(per_s)).start(self.priority)?;
        rest();
        let sent = maker.paced(port, per_s, self.priority);
        let told = receiver.end()?;
        sent?;
        figure(&told, share.key()).with_context(|| format!("the receiver said `{}`", told.trim()))
    }
}
