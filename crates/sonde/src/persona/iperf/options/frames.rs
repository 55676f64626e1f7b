//! Options of frames: `--isochronous`, `--burst-period` and `--burst-size`, and the gap within a frame (`--ipg`).

use measure::unit::Nanos;

use crate::persona::answer::Answer;
use crate::persona::iperf::options::reading::{Reading, conflict};
use crate::persona::iperf::options::table::Key;
use crate::persona::iperf::options::{Common, Kind, Rate, Transport, client};
use crate::persona::number::decimal;

/// Frames in place of a steady stream.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frames {
    /// Frames a second.
    pub per_second: f64,
    /// Their sizes.
    pub content: Content,
    /// `--ipg`: from datagram to datagram within a frame.
    pub gap: Nanos,
}

/// Sizes of frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// `--isochronous`: they vary.
    Varying {
        /// Mean of their rate, bits a second.
        mean: u64,
        /// Standard deviation, bits a second.
        deviation: u64,
    },
    /// `--burst-period`: so many bytes.
    Fixed(u32),
}

/// Frames where nothing is said behind `--isochronous`.
const USUAL: (f64, u64, u64) = (60.0, 20_000_000, 0);
/// Bytes of a burst of datagrams where nothing is said.
const BURST: u32 = 1 << 20;
/// More frames have periods that a timer cannot keep.
const MOST_A_SECOND: f64 = 100_000.0;
/// The headers of a datagram of a frame, of either version.
const SHORTEST: u32 = 112;
/// A frame of more is none that anything sends at once.
const LARGEST: u32 = 1 << 30;

impl Frames {
    /// True of isochronous ones.
    pub fn are_isochronous(self) -> bool {
        matches!(self.content, Content::Varying { .. })
    }
}

/// Reads them, and refuses what they do not go with.
pub(super) fn read(reading: &Reading, common: &Common, kind: &Kind) -> Result<Option<Frames>, Answer> {
    let udp = common.transport == Transport::Udp;
    let gap = gap(reading)?.filter(|_| udp);
    let bursts = bursts(reading, common)?;
    let isochronous = reading.has(Key::Isochronous);
    let faults = [
        (
            isochronous && reading.has(Key::BurstPeriod),
            "options of --burst-period and --isochronous cannot be applied together",
        ),
        (isochronous && reading.has(Key::BurstSize), "option of --burst-size goes with --burst-period"),
        (isochronous && reading.has(Key::Bandwidth), "options of --b and --isochronous cannot be applied together"),
        (
            gap.is_some() && !isochronous && bursts.is_none(),
            "option of --ipg goes with frames alone, of --isochronous or --burst-size: -b paces all others",
        ),
        (gap.is_some() && reading.has(Key::Bandwidth), "options of --b and --ipg cannot be applied together"),
        (
            isochronous && udp && common.length.is_some_and(|bytes| bytes < SHORTEST),
            "option of -l: datagrams of frames have headers of 112 bytes, and are no shorter",
        ),
    ];
    if let Some((_, line)) = faults.into_iter().find(|(found, _)| *found) {
        return Err(conflict(line));
    }
    let frames = if isochronous { Some(isochronous_of(reading)?) } else { bursts };
    let others = [Key::FileInput, Key::NearCongestion, Key::Compatibility];
    if frames.is_some() && (*kind != Kind::Upload || others.into_iter().any(|key| reading.has(key))) {
        let line = "options of --isochronous and --burst-period go with a plain upload: nothing else is sent in frames";
        return Err(conflict(line));
    }
    Ok(frames.map(|frames| Frames { gap: gap.unwrap_or_default(), ..frames }))
}

fn isochronous_of(reading: &Reading) -> Result<Frames, Answer> {
    let takes = "takes frames a second and their rate, as 60:20m, with a deviation, as 60:20m,2m";
    let read = |text: &str| {
        let (rate, sizes) = text.split_once(':').map_or((text, None), |(rate, sizes)| (rate, Some(sizes)));
        let per_second = decimal(rate).filter(|rate| (0.001..=MOST_A_SECOND).contains(rate))?;
        let Some(sizes) = sizes else { return Some((per_second, USUAL.1, USUAL.2)) };
        let (mean, deviation) = sizes.split_once(',').unwrap_or((sizes, "0"));
        let mean = client::bytes_or_bits(mean)?;
        let deviation = if decimal(deviation) == Some(0.0) { 0 } else { client::bytes_or_bits(deviation)? };
        (mean as f64 / per_second <= f64::from(LARGEST) * 8.0).then_some((per_second, mean, deviation))
    };
    let (per_second, mean, deviation) = reading.value(Key::Isochronous, read, takes)?.unwrap_or(USUAL);
    Ok(Frames { per_second, content: Content::Varying { mean, deviation }, gap: Nanos::ZERO })
}

/// `--ipg`, milliseconds.
fn gap(reading: &Reading) -> Result<Option<Nanos>, Answer> {
    let read = |text: &str| {
        decimal(text).filter(|millis| *millis <= 60_000.0).map(|millis| Nanos((millis * 1e6).round() as u64))
    };
    reading.value(Key::Ipg, read, "takes milliseconds up to 60000, as 0.5")
}

fn bursts(reading: &Reading, common: &Common) -> Result<Option<Frames>, Answer> {
    let takes = "takes seconds from 0.00001, as 0.1";
    let period =
        reading.value(Key::BurstPeriod, |text| decimal(text).filter(|period| (1e-5..=1e9).contains(period)), takes)?;
    let size = reading.bytes(Key::BurstSize, 1..=LARGEST)?;
    let udp = common.transport == Transport::Udp;
    let length = common.bytes(common.ipv6);
    // Of datagrams a rate says what is missing.
    let rate = match client::rate(reading)?.0.filter(|_| udp) {
        Some(Rate::Bits(bits)) => Some(bits as f64 / 8.0),
        Some(Rate::Packets(packets)) => Some(packets as f64 * f64::from(length)),
        None => None,
    };
    let (per_second, octets) = match (period, size) {
        (None, Some(octets)) if udp => (rate.map_or(1.0, |rate| rate / f64::from(octets)), octets),
        (None, _) => return Ok(None),
        (Some(period), Some(octets)) => (1.0 / period, octets),
        (Some(period), None) if udp => (1.0 / period, rate.map_or(BURST, |rate| (rate * period) as u32)),
        (Some(period), None) => (1.0 / period, 0),
    };
    if octets < length {
        let line = format!("option of --burst-size {octets} must be equal or larger to write length (-l) {length}");
        return Err(conflict(&line));
    }
    if !(1e-9..=MOST_A_SECOND).contains(&per_second) || octets > LARGEST {
        return Err(conflict("options of --burst-size and -b make no bursts that can be sent: choose --burst-period"));
    }
    Ok(Some(Frames { per_second, content: Content::Fixed(octets), gap: Nanos::ZERO }))
}
