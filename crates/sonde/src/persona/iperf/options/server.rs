//! The options of the server.

use measure::unit::Nanos;

use crate::persona::answer::Answer;
use crate::persona::iperf::options::reading::{Reading, port};
use crate::persona::iperf::options::table::Key;
use crate::persona::iperf::options::{Common, PORT, Server};

/// More ports than this are a mistake.
const MOST_PORTS: u16 = 256;

/// Reads them, behind those of both ends.
pub(super) fn read(reading: &Reading, common: Common) -> Result<Server, Answer> {
    let ports = reading.value(Key::Port, ports, "takes a port, or up to 256 as 5001-5004")?;
    Ok(Server {
        common,
        ports: ports.unwrap_or((PORT, PORT)),
        connections: reading.whole(Key::Parallel, 1..=u32::MAX)?,
        time: reading.seconds(Key::Time)?.filter(|time| *time > Nanos::ZERO),
        daemon: reading.has(Key::Daemon),
    })
}

fn ports(text: &str) -> Option<(u16, u16)> {
    let Some((first, last)) = text.split_once('-') else { return port(text).map(|port| (port, port)) };
    let (first, last) = (port(first)?, port(last)?);
    (first <= last && last - first < MOST_PORTS).then_some((first, last))
}
