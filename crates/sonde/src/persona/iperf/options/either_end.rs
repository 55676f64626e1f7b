//! The options of both ends.

use std::path::PathBuf;

use measure::unit::Nanos;

use crate::persona::answer::Answer;
use crate::persona::iperf::options::reading::{Reading, port};
use crate::persona::iperf::options::table::Key;
use crate::persona::iperf::options::{Bind, Common, Display, Exclude, Form, Own, Transport, Unit, tos};

/// The shortest interval: what a report takes would be seen in shorter ones.
const SHORTEST: Nanos = Nanos::millis(5);
/// The largest datagram.
const LARGEST_DATAGRAM: u32 = 65_507;
/// The largest write.
const LARGEST_WRITE: u32 = 1 << 30;
/// The largest buffer.
const LARGEST_WINDOW: u32 = 1 << 30;

/// Reads them.
pub(super) fn read(reading: &Reading) -> Result<Common, Answer> {
    let transport = if reading.has(Key::Udp) { Transport::Udp } else { Transport::Tcp };
    let largest = if transport == Transport::Udp { LARGEST_DATAGRAM } else { LARGEST_WRITE };
    let bind = reading.text(Key::Bind).map_or(Some(Bind::default()), bind);
    let bind =
        bind.ok_or_else(|| reading.misfit(Key::Bind, "takes an address, as 10.0.0.2, 10.0.0.2:6000 or [::1]:6000"))?;
    Ok(Common {
        transport,
        length: reading.bytes(Key::Length, 1..=largest)?,
        window: reading.bytes(Key::Window, 1..=LARGEST_WINDOW)?,
        bind,
        mss: reading.bytes(Key::Mss, 1..=LARGEST_DATAGRAM)?,
        nodelay: reading.has(Key::Nodelay),
        tos: service(reading)?,
        congestion: reading.text(Key::Congestion).map(str::to_owned),
        ipv6: reading.has(Key::Ipv6),
        compatibility: reading.has(Key::Compatibility),
        output: reading.text(Key::OutputFile).map(PathBuf::from),
        display: display(reading)?,
    })
}

/// `-S`, or `--dscp`, which leaves the bits of congestion alone.
fn service(reading: &Reading) -> Result<Option<u8>, Answer> {
    let octet = reading.value(Key::Tos, tos::read, "takes a number to 255 or a name, as ef, cs1 or af41")?;
    let number = |text: &str| tos::number(text).filter(|point| *point < 64).map(|point| point << 2);
    let point = |text: &str| tos::named(&text.to_ascii_lowercase()).map(|octet| octet & !3).or_else(|| number(text));
    let point = reading.value(Key::Dscp, point, "takes a code point to 63 or a name, as ef, cs1 or af41")?;
    // The option that was typed last counts.
    Ok(if reading.given.place(Key::Dscp) > reading.given.place(Key::Tos) { point } else { octet })
}

/// Those that the original has not.
pub(super) fn own(reading: &Reading) -> Own {
    Own { json: reading.has(Key::Json), record: reading.text(Key::Record).map(PathBuf::from) }
}

fn display(reading: &Reading) -> Result<Display, Answer> {
    let interval = reading.seconds(Key::Interval)?.filter(|interval| *interval > Nanos::ZERO);
    if interval.is_some_and(|interval| interval < SHORTEST) {
        return Err(reading.misfit(Key::Interval, "takes 0.005 seconds or more, or 0 for none"));
    }
    let csv = reading.value(Key::ReportStyle, |text| ["c", "C"].contains(&text).then_some(()), "takes C")?;
    let decimals = |text: &str| text.parse().ok().filter(|decimals| [2, 4].contains(decimals));
    let spelled = reading.has(Key::EnhancedReports);
    let form = if spelled { Form::V2_0_13 } else { reading.form };
    let usual = if form == Form::V2_0_13 { 2 } else { 4 };
    Ok(Display {
        enhanced: reading.has(Key::Enhanced) || spelled,
        utc: reading.has(Key::Utc),
        form,
        unit: reading.value(Key::Format, unit, "takes a, b, k, m, g, A, B, K, M or G")?.unwrap_or_default(),
        hides: reading.has(Key::HideIps),
        interval,
        mss: reading.has(Key::PrintMss),
        sum_only: reading.has(Key::SumOnly),
        csv: csv.is_some(),
        exclude: reading.value(Key::ReportExclude, exclude, "takes letters of CDMSV")?.unwrap_or_default(),
        decimals: reading.value(Key::Decimals, decimals, "takes 2 or 4")?.unwrap_or(usual),
    })
}

fn unit(text: &str) -> Option<Unit> {
    let unit = match text {
        "a" => Unit::Bits,
        "A" => Unit::Bytes,
        "b" => Unit::FixedBits(0),
        "k" => Unit::FixedBits(1),
        "m" => Unit::FixedBits(2),
        "g" => Unit::FixedBits(3),
        "B" => Unit::FixedBytes(0),
        "K" => Unit::FixedBytes(1),
        "M" => Unit::FixedBytes(2),
        "G" => Unit::FixedBytes(3),
        _ => return None,
    };
    Some(unit)
}

fn exclude(text: &str) -> Option<Exclude> {
    let mut exclude = Exclude::default();
    for letter in text.chars() {
        match letter.to_ascii_uppercase() {
            'C' => exclude.connections = true,
            'D' => exclude.data = true,
            'S' => exclude.settings = true,
            'V' => exclude.server = true,
            // Reports of groups, of which there are none.
            'M' => {}
            _ => return None,
        }
    }
    Some(exclude)
}

/// `host`, `host:port`, `[host]:port`, each with `%device` behind it, or `%device` alone.
fn bind(text: &str) -> Option<Bind> {
    let (place, device) = match text.split_once('%') {
        Some((place, device)) if !device.is_empty() => (place, Some(device.to_owned())),
        Some(_) => return None,
        None => (text, None),
    };
    let (host, local) = match place.strip_prefix('[') {
        Some(rest) => {
            let (host, rest) = rest.split_once(']')?;
            (host, if rest.is_empty() { 0 } else { port(rest.strip_prefix(':')?)? })
        }
        None => match place.split_once(':') {
            // More colons than one are an address of IPv6.
            Some((host, rest)) if !rest.contains(':') => (host, port(rest)?),
            _ => (place, 0),
        },
    };
    let host = (!host.is_empty()).then(|| host.to_owned());
    (host.is_some() || device.is_some()).then_some(Bind { host, port: local, device })
}
