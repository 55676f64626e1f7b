//! The options of the server.

use measure::unit::Nanos;

use crate::persona::answer::Answer;
use crate::persona::iperf::options::client::rate;
use crate::persona::iperf::options::reading::{Reading, port};
use crate::persona::iperf::options::table::Key;
use crate::persona::iperf::options::{Common, Histograms, PORT, Rate, Server, number};

/// Bins of a histogram where nothing is said, and their width in microseconds.
const BINS: Histograms = Histograms { width_us: 100, bins: 10_000 };
/// More bins than this are a mistake.
const MOST_BINS: u32 = 1_000_000;
/// More ports than this are one.
const MOST_PORTS: u16 = 256;

/// Reads them, behind those of both ends.
pub(super) fn read(reading: &Reading, common: Common) -> Result<Server, Answer> {
    let ports = reading.value(Key::Port, ports, "takes a port, or up to 256 as 5001-5004")?;
    let read_rate = match rate(reading)? {
        Some(Rate::Packets(_)) => return Err(reading.misfit(Key::Bandwidth, "a server reads at bits a second")),
        Some(Rate::Bits(bits)) => Some(bits),
        None => None,
    };
    Ok(Server {
        common,
        ports: ports.unwrap_or((PORT, PORT)),
        one_by_one: reading.has(Key::SingleClient),
        connections: reading.whole(Key::Parallel, 1..=u32::MAX)?,
        time: reading.seconds(Key::Time)?.filter(|time| *time > Nanos::ZERO),
        daemon: reading.has(Key::Daemon),
        read_rate,
        histograms: histograms(reading)?,
    })
}

fn ports(text: &str) -> Option<(u16, u16)> {
    let Some((first, last)) = text.split_once('-') else { return port(text).map(|port| (port, port)) };
    let (first, last) = (port(first)?, port(last)?);
    (first <= last && last - first < MOST_PORTS).then_some((first, last))
}

fn histograms(reading: &Reading) -> Result<Option<Histograms>, Answer> {
    match reading.has(Key::Histograms) {
        true if reading.text(Key::Histograms).is_none() => Ok(Some(BINS)),
        _ => reading.value(Key::Histograms, bins, "takes a bin's width and their number, as 100u,1000 or 1m,1000"),
    }
}

/// `100u,1000`, `1m,1000`, `1,1000`: a width in microseconds or milliseconds (without a letter the latter), and how many.
fn bins(text: &str) -> Option<Histograms> {
    let mut parts = text.split(',');
    let (width, bins) = (parts.next()?, parts.next());
    let (digits, factor) = match (width.strip_suffix('u'), width.strip_suffix('m')) {
        (Some(digits), _) => (digits, 1),
        (_, Some(digits)) => (digits, 1_000),
        _ => (width, 1_000),
    };
    let whole = |text: &str| number::whole(text).and_then(|value| u32::try_from(value).ok()).filter(|value| *value > 0);
    let width_us = whole(digits)?.checked_mul(factor)?;
    let bins = bins.map_or(Some(BINS.bins), whole).filter(|bins| *bins <= MOST_BINS)?;
    // Confidence bounds may stand behind: the output's are fixed.
    parts.next().is_none().then_some(Histograms { width_us, bins })
}
