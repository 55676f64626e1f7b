//! The options of the client.

use measure::unit::Nanos;

use crate::persona::answer::Answer;
use crate::persona::iperf::options::reading::{Reading, conflict};
use crate::persona::iperf::options::table::Key;
use crate::persona::iperf::options::{
    Amount, Bounceback, Client, Common, Kind, LENGTH, Load, PORT, Rate, Start, Transport, UDP_RATE, frames, number,
    server,
};
use crate::persona::number::whole;

/// Streams side by side at most.
const MOST_STREAMS: u32 = 1_024;
/// The shortest message of a bounce: a header of either version, and the four bytes that the original wants beside it.
pub(super) const SHORTEST_BOUNCE: u32 = 68;
/// The longest, which a server holds in memory.
const LONGEST_BOUNCE: u32 = 1 << 20;
/// The longest pause of `--near-congestion`, in round trips.
const MOST_ROUND_TRIPS: f64 = 1_000.0;
/// As much as a socket's buffer can be.
const LARGEST_PREFETCH: u32 = 1 << 30;

/// Reads them, behind those of both ends.
pub(super) fn read(reading: &Reading, mut common: Common) -> Result<Client, Answer> {
    let kind = kind(reading)?;
    if let Kind::Bounceback(_) = kind {
        bounce_of(reading, &mut common)?;
    }
    let prefetch = reading.bytes(Key::WritePrefetch, 1..=LARGEST_PREFETCH)?.filter(|_| !reading.has(Key::Udp));
    let write_times = reading.has(Key::WriteTimes) && !reading.has(Key::Udp);
    // A client with these options prints more.
    let frames = frames::read(reading, &common, &kind)?;
    common.display.enhanced |= prefetch.is_some() || write_times || frames.is_some();
    let (rate, deviation) = rate(reading)?;
    let client = Client {
        host: reading.text(Key::Client).unwrap_or_default().to_owned(),
        port: reading.port(Key::Port)?.unwrap_or(PORT),
        amount: amount(reading)?,
        rate: match rate {
            None if common.transport == Transport::Udp => Some(Rate::Bits(UDP_RATE)),
            asked => asked,
        },
        deviation,
        frames,
        file: reading.given.path(Key::FileInput),
        key: server::key(reading, common.transport)?,
        write_times,
        streams: reading.whole(Key::Parallel, 1..=MOST_STREAMS)?.unwrap_or(1),
        listen_port: reading.port(Key::ListenPort)?,
        trip_times: reading.has(Key::TripTimes),
        detects: reading.has(Key::PeerDetect),
        no_report: reading.has(Key::NoUdpFin),
        retries: reading.whole(Key::ConnectRetries, 0..=1_000_000)?.unwrap_or(0),
        start: start(reading)?,
        hops: reading.whole(Key::Ttl, 1..=255)?.and_then(|hops| u8::try_from(hops).ok()),
        prefetch,
        quick_acks: reading.has(Key::Quickack) && !reading.has(Key::Udp),
        near_congestion: near_congestion(reading)?,
        load: if let Kind::Bounceback(_) = kind { load(reading)? } else { None },
        kernel_rate: reading.value(Key::FqRate, bytes_or_bits, "takes bits a second, as 10m")?,
        kind,
        common,
    };
    check(reading, &client)?;
    Ok(client)
}

/// `-b`: bits a second, or datagrams a second; and how far it varies.
pub(super) fn rate(reading: &Reading) -> Result<(Option<Rate>, Option<u64>), Answer> {
    let takes = "takes bits a second, as 10m, with a deviation, as 10m,1m, or datagrams a second, as 1000pps";
    let read = |text: &str| {
        if let Some((mean, deviation)) = text.split_once(',') {
            let mean = number::amount(mean).filter(|mean| *mean > 0)?;
            return Some((
                Rate::Bits(mean),
                number::amount(deviation).map(|bits| Some(bits).filter(|bits| *bits > 0))?,
            ));
        }
        let packets = text.strip_suffix("pps").or_else(|| text.strip_suffix('p'));
        let rate = number::amount(packets.unwrap_or(text))?;
        Some((if packets.is_some() { Rate::Packets(rate) } else { Rate::Bits(rate) }, None))
    };
    let Some((rate, deviation)) = reading.value(Key::Bandwidth, read, takes)? else { return Ok((None, None)) };
    // Zero is no limit, as in the original.
    Ok((Some(rate).filter(|rate| !matches!(rate, Rate::Bits(0) | Rate::Packets(0))), deviation))
}

/// Upper case means bytes a second here.
pub(super) fn bytes_or_bits(text: &str) -> Option<u64> {
    let value = number::amount(text).filter(|rate| *rate > 0)?;
    Some(if text.ends_with(['K', 'M', 'G']) { value.checked_mul(8)? } else { value })
}

/// `--near-congestion`: half a round trip where nothing is said.
fn near_congestion(reading: &Reading) -> Result<Option<f64>, Answer> {
    if !reading.has(Key::NearCongestion) || reading.has(Key::Udp) || reading.has(Key::Reverse) {
        return Ok(None);
    }
    let weight = |text: &str| text.parse().ok().filter(|weight| (0.0..=MOST_ROUND_TRIPS).contains(weight));
    let takes = format!("takes a number of round trips from 0 to {MOST_ROUND_TRIPS}, as 0.5");
    reading.value(Key::NearCongestion, weight, &takes).map(|weight| weight.or(Some(0.5)))
}

/// `--working-load`, which 2.1 calls `--bounceback-congest`: one stream in both directions where nothing is said.
fn load(reading: &Reading) -> Result<Option<Load>, Answer> {
    let Some(key) = [Key::WorkingLoad, Key::Congest].into_iter().find(|key| reading.has(*key)) else { return Ok(None) };
    let takes = "takes up, down or bidir, and a number of streams behind a comma, as down,4";
    let (kind, streams) = reading.value(key, way_and_streams, takes)?.unwrap_or((Kind::FullDuplex, 1));
    let congestion = reading.text(Key::WorkingLoadCongestion).map(str::to_owned);
    let delay = reading.seconds(Key::BouncebackDelay)?.unwrap_or_default();
    Ok(Some(Load { kind, streams, congestion, delay }))
}

fn way_and_streams(text: &str) -> Option<(Kind, u32)> {
    let (way, streams) = text.split_once(',').unwrap_or((text, "1"));
    let kind = match way {
        "up" => Kind::Upload,
        "down" => Kind::Reverse,
        "bidir" | "" => Kind::FullDuplex,
        _ => return None,
    };
    let streams = whole::<u64>(streams).and_then(|streams| u32::try_from(streams).ok())?;
    (1..=MOST_STREAMS).contains(&streams).then_some((kind, streams))
}

fn kind(reading: &Reading) -> Result<Kind, Answer> {
    let turned = [
        (Key::FullDuplex, Kind::FullDuplex),
        (Key::Reverse, Kind::Reverse),
        (Key::Dual, Kind::Dual),
        (Key::Tradeoff, Kind::Tradeoff),
    ];
    let mut turned = turned.into_iter().filter(|(key, _)| reading.has(*key)).map(|(_, kind)| kind);
    let (first, second) = (turned.next(), turned.next());
    if second.is_some() {
        return Err(conflict("options of --full-duplex, --reverse, -d and -r are mutually exclusive"));
    }
    let special = match (reading.has(Key::Bounceback), reading.has(Key::ConnectOnly)) {
        (true, true) => return Err(conflict("options of --bounceback and --connect-only are mutually exclusive")),
        (true, false) => Some(Kind::Bounceback(bounceback(reading)?)),
        (false, true) => Some(Kind::ConnectOnly(reading.whole(Key::ConnectOnly, 1..=u32::MAX)?)),
        (false, false) => None,
    };
    match (first, special) {
        (Some(_), Some(_)) => Err(conflict(
            "options of --bounceback and --connect-only do not go with --full-duplex, --reverse, -d and -r",
        )),
        (first, special) => Ok(first.or(special).unwrap_or(Kind::Upload)),
    }
}

fn bounceback(reading: &Reading) -> Result<Bounceback, Answer> {
    let period = reading.seconds(Key::BouncebackPeriod)?.unwrap_or(Nanos::secs(1));
    Ok(Bounceback {
        burst: reading.whole(Key::Bounceback, 1..=1_000_000)?.unwrap_or(10),
        period: (period > Nanos::ZERO).then_some(period),
        hold_ms: reading.whole(Key::BouncebackHold, 0..=1_000_000)?.unwrap_or(0),
        quickack: !reading.has(Key::BouncebackNoQuickack),
        reply: reading.bytes(Key::BouncebackReply, SHORTEST_BOUNCE..=LONGEST_BOUNCE)?,
    })
}

/// Effects of `--bounceback` on the options of both ends: it prints more, each second, and its messages have a size.
fn bounce_of(reading: &Reading, common: &mut Common) -> Result<(), Answer> {
    let request = reading.bytes(Key::BouncebackRequest, SHORTEST_BOUNCE..=LONGEST_BOUNCE)?.or(common.length);
    let size = request.unwrap_or(super::BOUNCE_LENGTH);
    if !(SHORTEST_BOUNCE..=LONGEST_BOUNCE).contains(&size) {
        return Err(reading.misfit(Key::Length, "a message of --bounceback has 68 to 1048576 bytes"));
    }
    common.length = Some(size);
    common.display.enhanced = true;
    if !reading.has(Key::Interval) {
        common.display.interval = Some(Nanos::secs(1));
    }
    Ok(())
}

/// `-t` or `-n`, whichever stands later.
fn amount(reading: &Reading) -> Result<Amount, Answer> {
    let time = reading.seconds(Key::Time)?;
    let bytes = reading.value(Key::Number, number::amount, "takes a number of bytes, as 10M")?;
    if reading.given.place(Key::Number) > reading.given.place(Key::Time) {
        return match bytes {
            Some(0) | None => Err(reading.misfit(Key::Number, "takes a number of bytes above 0, as 10M")),
            Some(bytes) => Ok(Amount::Bytes(bytes)),
        };
    }
    match time.unwrap_or(LENGTH) {
        time if time < Nanos::millis(10) => Err(reading.misfit(Key::Time, "takes 0.01 seconds or more")),
        time => Ok(Amount::Time(time)),
    }
}

fn start(reading: &Reading) -> Result<Start, Answer> {
    let at = reading.value(Key::StartTime, epoch, "takes seconds since 1970, as 1700000000.5")?;
    let after = reading.seconds(Key::DelayTime)?;
    match (at, after) {
        (Some(_), Some(_)) => Err(conflict("options of --txstart-time and --txdelay-time are mutually exclusive")),
        (Some(at), None) => Ok(Start::At(at)),
        (None, after) => Ok(after.filter(|after| *after > Nanos::ZERO).map_or(Start::Now, Start::After)),
    }
}

/// Seconds since the epoch, which are more than a test is long.
fn epoch(text: &str) -> Option<Nanos> {
    let (seconds, fraction) = text.split_once('.').unwrap_or((text, ""));
    let seconds = whole::<u64>(seconds).filter(|seconds| *seconds < 1 << 33)?;
    let parts = if fraction.is_empty() { Nanos::ZERO } else { number::seconds(&format!("0.{fraction}"))? };
    Some(Nanos(seconds * 1_000_000_000 + parts.0))
}

/// Refuses options that do not go together.
fn check(reading: &Reading, client: &Client) -> Result<(), Answer> {
    let udp = client.common.transport == Transport::Udp;
    let compatible = client.common.compatibility;
    let turned = client.kind != Kind::Upload;
    let bounces = matches!(client.kind, Kind::Bounceback(_));
    let asked_rate = rate(reading)?.0;
    let shows_key = reading.has(Key::Permit);
    let faults = [
        (
            shows_key && client.key.is_none(),
            "option of --permit-key takes a value at a client: the key that the server says",
        ),
        (
            shows_key && (compatible || bounces || matches!(client.kind, Kind::ConnectOnly(_))),
            "option of --permit-key goes with a header, which -C, --bounceback and --connect-only have not",
        ),
        (udp && client.file.is_some(), "option of -F not supported with -u UDP: datagrams have headers in front"),
        (
            client.file.is_some() && (turned || client.trip_times),
            "option of -F goes with a plain upload: nothing else sends what a file holds",
        ),
        (udp && client.detects, "option of -X or --peer-detect not supported with -u UDP"),
        (!udp && matches!(client.rate, Some(Rate::Packets(_))), "units of pps not supported with TCP"),
        (udp && bounces, "option of --bounceback not supported with -u UDP"),
        (udp && matches!(client.kind, Kind::ConnectOnly(_)), "option of --connect-only not supported with -u UDP"),
        (
            compatible && turned,
            "option of -C or --compatibility goes with a plain test alone: who reads no header cannot be asked",
        ),
        (
            compatible && (client.trip_times || client.detects),
            "options of --trip-times and -X are said in the header that -C leaves away",
        ),
        (
            bounces && client.streams > 1,
            "option of --bounceback goes with one stream: its messages measure each other otherwise",
        ),
        (
            bounces && client.rate.is_some(),
            "option of -b not supported with --bounceback: --bounceback=n and --bounceback-period pace it",
        ),
        (
            udp && reading.text(Key::Bandwidth).is_some() && asked_rate.is_none(),
            "option of -b 0 not supported with -u UDP: say how fast, as -b 100m",
        ),
        (
            bounces && matches!(client.amount, Amount::Bytes(_)),
            "option of -n not supported with --bounceback: -t says how long",
        ),
        (
            reading.has(Key::ListenPort) && !matches!(client.kind, Kind::Dual | Kind::Tradeoff),
            "option of -L goes with -d and -r alone",
        ),
        (
            client.common.bind.port > 0 && client.streams > 1,
            "option of -B with a port goes with one stream: two cannot have the same",
        ),
    ];
    faults.into_iter().find(|(found, _)| *found).map_or(Ok(()), |(_, line)| Err(conflict(line)))
}
