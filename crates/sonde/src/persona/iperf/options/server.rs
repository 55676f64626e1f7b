//! The options of the server.

use measure::unit::Nanos;
use protocol::iperf::first;

use crate::persona::answer::Answer;
use crate::persona::iperf::options::reading::{Reading, conflict, port};
use crate::persona::iperf::options::table::Key;
use crate::persona::iperf::options::{Common, Histograms, PORT, PermitKey, Server, Transport};
use crate::persona::number::whole;

/// More ports than this are a mistake.
const MOST_PORTS: u16 = 256;
/// The time for which a key holds by default.
const KEY_TIME: Nanos = Nanos::secs(20);
/// Bins of a histogram where nothing is said.
const BINS: Histograms = Histograms { width_us: 100, bins: 10_000 };
/// Each flow keeps as many.
const MOST_BINS: u32 = 100_000;

/// Reads them, behind those of both ends.
pub(super) fn read(reading: &Reading, common: Common) -> Result<Server, Answer> {
    let transport = common.transport;
    let ports = reading.value(Key::Port, ports, "takes a port, or up to 256 as 5001-5004")?;
    Ok(Server {
        common,
        ports: ports.unwrap_or((PORT, PORT)),
        connections: reading.whole(Key::Parallel, 1..=u32::MAX)?,
        time: reading.seconds(Key::Time)?.filter(|time| *time > Nanos::ZERO),
        daemon: reading.has(Key::Daemon),
        key: permit_key(reading, transport)?,
        histograms: histograms(reading)?,
        source: reading.value(Key::SsmHost, |text| text.parse().ok(), "takes the address of a sender")?,
    })
}

fn permit_key(reading: &Reading, transport: Transport) -> Result<Option<PermitKey>, Answer> {
    if !reading.has(Key::Permit) {
        return Ok(None);
    }
    let time = reading.seconds(Key::PermitTimeout)?.unwrap_or(KEY_TIME);
    Ok(Some(PermitKey { key: key(reading, transport)?, time: Some(time).filter(|time| *time > Nanos::ZERO) }))
}

/// The value of `--permit-key`, where it has one.
pub(super) fn key(reading: &Reading, transport: Transport) -> Result<Option<String>, Answer> {
    if reading.has(Key::Permit) && transport == Transport::Udp {
        return Err(conflict("Option of --permit-key not supported with UDP"));
    }
    let fits = |text: &str| first::KEY.contains(&text.len()).then(|| text.to_owned());
    let plain = |text: &str| fits(text).filter(|text| text.chars().all(|c| c.is_ascii_graphic()));
    reading.value(Key::Permit, plain, "takes 4 to 128 letters, digits and signs")
}

/// `--histograms`: nothing, a width, or a width and how many bins.
fn histograms(reading: &Reading) -> Result<Option<Histograms>, Answer> {
    if !reading.has(Key::Histograms) {
        return Ok(None);
    }
    let read = |text: &str| {
        let (width, bins) = text.split_once(',').map_or((text, None), |(width, bins)| (width, Some(bins)));
        let (digits, factor) = match width.strip_suffix(['m', 'u']) {
            Some(digits) if width.ends_with('m') => (digits, 1_000),
            Some(digits) => (digits, 1),
            None => (width, 1),
        };
        let width_us = u32::try_from(whole::<u64>(digits)?).ok()?.checked_mul(factor).filter(|width| *width > 0)?;
        let bins = bins.map_or(Some(u64::from(BINS.bins)), whole::<u64>)?;
        let bins = u32::try_from(bins).ok().filter(|bins| (1..=MOST_BINS).contains(bins))?;
        Some(Histograms { width_us, bins })
    };
    let asked = reading.value(
        Key::Histograms,
        read,
        "takes a width of bins in microseconds, as 100 or 1m, and how many, as 100,10000",
    )?;
    Ok(Some(asked.unwrap_or(BINS)))
}

fn ports(text: &str) -> Option<(u16, u16)> {
    let Some((first, last)) = text.split_once('-') else { return port(text).map(|port| (port, port)) };
    let (first, last) = (port(first)?, port(last)?);
    (first <= last && last - first < MOST_PORTS).then_some((first, last))
}
