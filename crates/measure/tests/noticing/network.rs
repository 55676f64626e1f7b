//! A mesh of hosts in virtual time, whose every change is planted: written apart from what notices them.

use fastrand::Rng;
use measure::lookout::agent::Punctuality;
use measure::lookout::{Cell, CellId, Host, Mesh};
use measure::span::Span;
use measure::unit::Nanos;

/// First second of every story: a Thursday, midnight UTC.
pub const START: u64 = 1_764_201_600;

/// Fluctuation of a cell's latency.
#[derive(Clone, Copy, Debug)]
pub struct Wander {
    /// Autocorrelation of the level from one minute to the next.
    pub rho: f64,
    /// Standard deviation of the level's logarithm.
    pub deviation: f64,
    /// Amplitude of a day's rhythm, a share.
    pub daily: f64,
}

/// Planted fault.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fault {
    /// Response times are multiplied.
    Factor(f64),
    /// A share of the requests is lost, on the way out.
    LossOut(f64),
    /// Likewise of the replies.
    LossBack(f64),
    /// Response times grow by this factor within three hours, evenly.
    Creeps(f64),
    /// Response times spread more: the deviation of their logarithm grows by so much within a quarter of an hour, evenly.
    Widens(f64),
    /// Nothing is answered.
    Silent,
    /// One in ten responses takes five times as long.
    Slow,
    /// The probing host is late in every second second: its responses take twice as long.
    Busy,
    /// One in ten responses takes five times as long, and the host says that some of its requests leave late.
    Stalls,
    /// The agent reports nothing.
    NoReport,
}

/// Where and when.
pub struct Planted {
    pub from: u64,
    pub to: u64,
    pub fault: Fault,
    pub hits: Box<dyn Fn(u32, u32) -> bool>,
}

/// The mesh: all pairs of hosts, which stand in zones in turn.
pub struct Network {
    pub mesh: Mesh,
    wander: Wander,
    rate: u64,
    rng: Rng,
    levels: Vec<f64>,
    bases: Vec<f64>,
    pub planted: Vec<Planted>,
    next: Option<f64>,
}

/// Report of an agent about one second.
pub struct Report {
    pub host: u32,
    pub own: Punctuality,
    pub cells: Vec<(CellId, Span)>,
}

impl Network {
    /// `hosts` in `zones`, each cell asked `rate` times a second.
    pub fn new(hosts: u32, zones: u32, rate: u64, wander: Wander, seed: u64) -> Self {
        let named = (0..hosts)
            .map(|k| Host { name: format!("h{k}"), zone: Some(format!("z{}", k % zones)), machine: None })
            .collect();
        let pairs = (0..hosts).flat_map(|from| (0..hosts).filter(move |to| *to != from).map(move |to| (from, to)));
        let cells: Vec<Cell> = pairs.map(|(from, to)| Cell { from, to, over: "udp".to_owned() }).collect();
        let mut network = Self {
            wander,
            rate,
            rng: Rng::with_seed(seed),
            levels: vec![0.0; cells.len()],
            bases: Vec::new(),
            planted: Vec::new(),
            next: None,
            mesh: Mesh { hosts: named, cells },
        };
        network.bases = (0..network.levels.len()).map(|_| 50_000.0 * (1.0 + 9.0 * network.rng.f64())).collect();
        for at in 0..network.levels.len() {
            network.levels[at] = wander.deviation * network.normal();
        }
        network
    }

    /// Two of them at a time, by Box and Muller.
    fn normal(&mut self) -> f64 {
        if let Some(next) = self.next.take() {
            return next;
        }
        let radius = (-2.0 * (1.0 - self.rng.f64()).ln()).sqrt();
        let (sin, cos) = (std::f64::consts::TAU * self.rng.f64()).sin_cos();
        self.next = Some(radius * sin);
        radius * cos
    }

    /// Everything that agents report of the second.
    pub fn second(&mut self, second: u64) -> Vec<Report> {
        if second.is_multiple_of(10) {
            let rho = self.wander.rho.powf(1.0 / 6.0);
            let moves = self.wander.deviation * (1.0 - rho * rho).sqrt();
            for at in 0..self.levels.len() {
                self.levels[at] = rho * self.levels[at] + moves * self.normal();
            }
        }
        let day = (second % 86_400) as f64 / 86_400.0;
        let season = 1.0 + self.wander.daily * (std::f64::consts::TAU * day).sin();
        let mut reports: Vec<Report> = Vec::new();
        for at in 0..self.mesh.cells.len() {
            let Cell { from, to, .. } = self.mesh.cells[at];
            let faults: Vec<Fault> = self
                .planted
                .iter()
                .filter(|planted| (planted.from..planted.to).contains(&second) && (planted.hits)(from, to))
                .map(|planted| match planted.fault {
                    Fault::Creeps(by) => Fault::Factor(by.powf(((second - planted.from) as f64 / 10_800.0).min(1.0))),
                    Fault::Widens(by) => Fault::Widens(by * ((second - planted.from) as f64 / 900.0).min(1.0)),
                    fault => fault,
                })
                .collect();
            if faults.contains(&Fault::NoReport) {
                continue;
            }
            let busy = faults.contains(&Fault::Busy) && second.is_multiple_of(2);
            if reports.last().is_none_or(|report| report.host != from) {
                let own = match () {
                    () if busy => Punctuality::Disturbed,
                    () if faults.contains(&Fault::Stalls) => Punctuality::SomeLate,
                    () => Punctuality::Punctual,
                };
                reports.push(Report { host: from, own, cells: Vec::new() });
            }
            let span = self.span(at, season, &faults, busy);
            reports.last_mut().unwrap().cells.push((at as u32, span));
        }
        reports
    }

    fn span(&mut self, at: usize, season: f64, faults: &[Fault], busy: bool) -> Span {
        let mut span = Span::default();
        let middle = self.bases[at] * season * self.levels[at].exp();
        let widens = faults.iter().map(|fault| if let Fault::Widens(by) = fault { *by } else { 0.0 }).sum::<f64>();
        for _ in 0..self.rate {
            let mut takes = middle * ((0.25 + widens) * self.normal()).exp();
            let (mut out, mut back) = (self.rng.f64() < 5e-5, self.rng.f64() < 5e-5);
            for fault in faults {
                match fault {
                    Fault::Factor(by) => takes *= by,
                    Fault::LossOut(share) => out |= self.rng.f64() < *share,
                    Fault::LossBack(share) => back |= self.rng.f64() < *share,
                    Fault::Silent => out = true,
                    Fault::Slow | Fault::Stalls => takes *= if self.rng.u32(0..10) == 0 { 5.0 } else { 1.0 },
                    Fault::Busy => takes *= if busy { 2.0 } else { 1.0 },
                    Fault::NoReport | Fault::Creeps(_) | Fault::Widens(_) => {}
                }
            }
            if out || back {
                span.counts.end(measure::event::Fate::Lost);
                span.lost_out += u64::from(out);
                span.lost_back += u64::from(!out);
            } else {
                span.answer(Nanos(takes as u64));
            }
        }
        span
    }
}
