//! The matrix of a run: for each method and kind of address a table of which host measured what towards which, grouped by zone.
//!
//! A square is the median over repeats of one figure. The two directions of a pair are called different where their intervals over
//! repeats do not overlap ([`Square::worse`] has the rule); squares that failed say why in a word that a legend explains; where other
//! pairs were measured on the same machine at that time, that is marked. Not here: how much two runs differ (`logbook::run_comparison`).

mod chart;
mod list;
mod page;
mod square;
#[cfg(test)]
mod tests;
mod text;

use std::collections::{BTreeMap, BTreeSet};

use logbook::host::{Address, Host};
use logbook::run::{Cell, Place, RunDocument};
use measure::study::figure::Figure;

pub use chart::picture;
pub use page::{Beside, page};
pub use square::{Square, State};
pub use text::text;

/// One table: a method over one kind of address.
#[derive(Clone, Debug)]
pub struct Matrix {
    /// The method's name in the plan.
    pub method: String,
    /// Kind of the addresses.
    pub over: Address,
    /// The figure that its squares show.
    pub figure: Figure,
    /// Its hosts in the order of rows and columns: those of a zone together.
    pub hosts: Vec<Placed>,
    /// By row and column: what was measured from the one to the other, or was to be.
    pub squares: BTreeMap<(usize, usize), Square>,
}

/// A host with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Its name in the plan.
    pub name: String,
    /// Its zone, or its region where no host has a zone; absent where it has none.
    pub zone: Option<String>,
    /// True where it was given up.
    pub lost: bool,
}

/// The matrices of `run`: methods in the plan's order, internal addresses before external ones. `figure`: what squares show; absent,
/// and where a method has none of it: the median of exchanges, the throughput of streams.
pub fn all(run: &RunDocument, figure: Option<Figure>) -> Vec<Matrix> {
    let mut cells: BTreeMap<(&str, Address), Vec<&Cell>> = BTreeMap::new();
    for cell in run.last_cells().into_values() {
        cells.entry((&cell.place.method, cell.place.over)).or_default().push(cell);
    }
    let hosts = placed(run);
    let mut matrices = Vec::new();
    for method in &run.plan.methods {
        for &over in &[Address::Internal, Address::External] {
            let Some(cells) = cells.get(&(method.name.as_str(), over)) else { continue };
            matrices.push(Matrix::of(run, &method.name, over, figure_of(cells, figure), &hosts, cells));
        }
    }
    matrices
}

/// The figure that is asked for where there is any of it, and otherwise the usual one.
fn figure_of(cells: &[&Cell], asked: Option<Figure>) -> Figure {
    let has =
        |figure: Figure| cells.iter().any(|cell| cell.figures.is_some_and(|found| found.figure(figure).is_some()));
    let usual = [asked, Some(Figure::Quantile(0.5)), Some(Figure::Throughput)];
    usual.into_iter().flatten().find(|&figure| has(figure)).or(asked).unwrap_or(Figure::Quantile(0.5))
}

/// The hosts of the plan, zone by zone in the order in which these come first.
fn placed(run: &RunDocument) -> Vec<Placed> {
    let label =
        ["zone", "region"].into_iter().find(|name| run.plan.hosts.iter().any(|host| host.label(name).is_some()));
    let zone = |host: &Host| label.and_then(|name| host.label(name)).map(str::to_owned);
    let lost: BTreeSet<&str> =
        run.hosts.iter().filter(|seen| seen.lost.is_some()).map(|seen| seen.host.as_str()).collect();
    let mut order: Vec<Option<String>> = Vec::new();
    let mut hosts: Vec<Placed> = Vec::new();
    for host in &run.plan.hosts {
        let zone = zone(host);
        if !order.contains(&zone) {
            order.push(zone.clone());
        }
        hosts.push(Placed { name: host.name.clone(), zone, lost: lost.contains(host.name.as_str()) });
    }
    // Stable, so that hosts of a zone stay in the plan's order.
    hosts.sort_by_key(|host| order.iter().position(|zone| *zone == host.zone));
    hosts
}

impl Matrix {
    fn of(run: &RunDocument, method: &str, over: Address, figure: Figure, hosts: &[Placed], cells: &[&Cell]) -> Self {
        let places: BTreeMap<&str, usize> =
            hosts.iter().enumerate().map(|(at, host)| (host.name.as_str(), at)).collect();
        let mut repeats: BTreeMap<(usize, usize), Vec<&Cell>> = BTreeMap::new();
        for cell in cells {
            let Place { from, to, .. } = &cell.place;
            if let (Some(&from), Some(&to)) = (places.get(from.as_str()), places.get(to.as_str())) {
                repeats.entry((from, to)).or_default().push(cell);
            }
        }
        let checks: BTreeMap<(&str, &str), _> = run
            .checks
            .iter()
            .filter(|check| check.over == over)
            .map(|check| ((check.from.as_str(), check.to.as_str()), check))
            .collect();
        let square = |(&(from, to), cells): (&(usize, usize), &Vec<&Cell>)| {
            let check = checks.get(&(hosts[from].name.as_str(), hosts[to].name.as_str())).copied();
            ((from, to), Square::of(cells, figure, run.plan.repeats, check))
        };
        let mut squares: BTreeMap<(usize, usize), Square> = repeats.iter().map(square).collect();
        compare_directions(&mut squares, figure);
        Self { method: method.to_owned(), over, figure, hosts: hosts.to_vec(), squares }
    }

    /// Its title: `tcp-rr · internal · p50`.
    pub fn title(&self) -> String {
        format!("{} · {} · {}", self.method, crate::run::over(self.over), self.figure)
    }

    /// Least and greatest median; `None` where nothing was measured.
    pub fn range(&self) -> Option<(f64, f64)> {
        let values = || self.squares.values().filter_map(|square| square.spread.map(|spread| spread.median));
        Some((values().reduce(f64::min)?, values().reduce(f64::max)?))
    }

    /// Zones with the places of their hosts, in order; a run without zones has one that has no name.
    pub fn zones(&self) -> Vec<(Option<&str>, std::ops::Range<usize>)> {
        let mut zones: Vec<(Option<&str>, std::ops::Range<usize>)> = Vec::new();
        for (at, host) in self.hosts.iter().enumerate() {
            match zones.last_mut().filter(|(zone, _)| *zone == host.zone.as_deref()) {
                Some((_, range)) => range.end = at + 1,
                None => zones.push((host.zone.as_deref(), at..at + 1)),
            }
        }
        zones
    }

    /// The words of squares without a number, each with its reason and the number of squares.
    pub fn reasons(&self) -> BTreeMap<(&'static str, String), usize> {
        let mut reasons = BTreeMap::new();
        for square in self.squares.values() {
            if let Some((word, why)) = square.failed() {
                *reasons.entry((word, why.to_owned())).or_insert(0) += 1;
            }
        }
        reasons
    }
}

/// Marks of each pair the direction that is worse, where that is shown.
fn compare_directions(squares: &mut BTreeMap<(usize, usize), Square>, figure: Figure) {
    let pairs: Vec<(usize, usize)> = squares.keys().copied().filter(|(from, to)| from < to).collect();
    for (from, to) in pairs {
        let (Some(there), Some(back)) = (squares.get(&(from, to)), squares.get(&(to, from))) else { continue };
        let (one, other) = (there.is_worse_than(back, figure), back.is_worse_than(there, figure));
        for (place, worse) in [((from, to), one), ((to, from), other)] {
            if let Some(square) = squares.get_mut(&place) {
                square.worse = worse;
            }
        }
    }
}
