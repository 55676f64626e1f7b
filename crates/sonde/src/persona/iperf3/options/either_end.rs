//! Options of both ends.

use endpoint::name::Family;
use protocol::iperf3::PORT;
use protocol::iperf3::code::Code;

use crate::persona::answer::Answer;
use crate::persona::iperf3::options::reading::{Reading, error, takes};
use crate::persona::iperf3::options::table::Key;
use crate::persona::iperf3::options::{Common, Form, Keepalive};
use crate::persona::iperf3::strftime::strftime;
use crate::persona::number::{decimal, whole};

/// Milliseconds without data after which a receiver gives up.
const RECEIVE_TIMEOUT_MS: u32 = 120_000;
/// The longest timeout in milliseconds: a day.
const LONGEST_TIMEOUT_MS: u32 = 86_400_000;
/// Prefix of a line by `--timestamps` unless told otherwise: date and time, and a blank.
const TIMESTAMP: &str = "%c ";

pub(super) fn read(reading: &Reading) -> Result<Common, Answer> {
    let (bind, device) = split_device(reading.text(Key::Bind));
    Ok(Common {
        port: reading.whole(Key::Port, 1..=65_535, Code(26))?.map_or(PORT, |port| port as u16),
        format: format(reading)?,
        interval_s: interval(reading)?,
        pidfile: reading.path(Key::Pidfile),
        file: reading.path(Key::File),
        cpu: affinity(reading)?.0,
        bind,
        device: reading.owned(Key::BindDevice).or(device),
        verbose: reading.has(Key::Verbose),
        form: form(reading),
        logfile: reading.path(Key::Logfile),
        timestamps: timestamps(reading)?,
        receive_timeout_ms: reading
            .whole(Key::ReceiveTimeout, 100..=LONGEST_TIMEOUT_MS, Code(31))?
            .unwrap_or(RECEIVE_TIMEOUT_MS),
        send_timeout_ms: reading
            .whole(Key::SendTimeout, 0..=LONGEST_TIMEOUT_MS, Code(33))?
            .filter(|timeout| *timeout > 0),
        keepalive: keepalive(reading)?,
        family: match (reading.has(Key::OnlyV4), reading.has(Key::OnlyV6)) {
            (true, true) => return Err(takes("-4", "-6", "one of the two: leave the other away")),
            (true, false) => Family::V4,
            (false, true) => Family::V6,
            (false, false) => Family::Any,
        },
        pkcs1: reading.has(Key::Pkcs1),
    })
}

/// Splits `host%device`. The device is a part of a link-local address of IPv6.
pub(super) fn split_device(text: Option<&str>) -> (Option<String>, Option<String>) {
    match text.and_then(|text| text.split_once('%')) {
        Some((host, device)) if !host.to_ascii_lowercase().starts_with("fe80:") => {
            (Some(host.to_owned()), Some(device.to_owned()))
        }
        _ => (text.map(str::to_owned), None),
    }
}

/// Our CPU, and that of the server.
pub(super) fn affinity(reading: &Reading) -> Result<(Option<u32>, Option<u32>), Answer> {
    let Some(given) = reading.text(Key::Affinity) else { return Ok((None, None)) };
    // The original's help writes `n/n,m`, and who types a slash has the first number of it: a note says so.
    let (text, _passed_over) = given.split_once('/').unwrap_or((given, ""));
    let cpu = |text: &str| whole(text).filter(|cpu| *cpu < 1_024);
    let cpus = match text.split_once(',') {
        Some((ours, theirs)) => cpu(ours).zip(cpu(theirs)).map(|(ours, theirs)| (Some(ours), Some(theirs))),
        None => cpu(text).map(|ours| (Some(ours), None)),
    };
    cpus.ok_or_else(|| takes("-A", given, "the number of a CPU, and of a client another behind a comma: 0 or 0,1"))
}

fn format(reading: &Reading) -> Result<Option<char>, Answer> {
    let Some(text) = reading.text(Key::Format) else { return Ok(None) };
    let letter = text.chars().next().filter(|letter| "kmgtKMGT".contains(*letter) && text.len() == 1);
    letter.map(Some).ok_or_else(|| error(Code(24)))
}

fn interval(reading: &Reading) -> Result<f64, Answer> {
    let Some(text) = reading.text(Key::Interval) else { return Ok(1.0) };
    let seconds = decimal(text).filter(|seconds| *seconds == 0.0 || (0.1..=60.0).contains(seconds));
    seconds.ok_or_else(|| error(Code(9)))
}

fn form(reading: &Reading) -> Form {
    let full = reading.has(Key::JsonStreamFull);
    match (reading.has(Key::JsonStream) || full, reading.has(Key::Json)) {
        (true, _) => Form::Stream { full },
        (false, true) => Form::Json,
        (false, false) => Form::Text,
    }
}

fn timestamps(reading: &Reading) -> Result<Option<String>, Answer> {
    if !reading.has(Key::Timestamps) {
        return Ok(None);
    }
    let format = reading.text(Key::Timestamps).unwrap_or(TIMESTAMP);
    let fault = |why| takes("--timestamps", format, &format!("a format that strftime knows: {why}"));
    let sample = jiff::Zoned::new(jiff::Timestamp::UNIX_EPOCH, jiff::tz::TimeZone::UTC);
    strftime(format, &sample).map_err(fault)?;
    Ok(Some(format.to_owned()))
}

fn keepalive(reading: &Reading) -> Result<Option<Keepalive>, Answer> {
    if !reading.has(Key::Keepalive) {
        return Ok(None);
    }
    let Some(text) = reading.text(Key::Keepalive) else { return Ok(Some(Keepalive::default())) };
    let part = |part: Option<&str>| match part {
        None | Some("" | "0") => Some(None),
        Some(digits) => whole::<u32>(digits).map(Some),
    };
    let mut parts = text.split('/');
    let read = (part(parts.next()), part(parts.next()), part(parts.next()), parts.next());
    let (Some(idle_s), Some(interval_s), Some(count), None) = read else {
        return Err(takes("--cntl-ka", text, "idle/interval/count, the first two in seconds"));
    };
    // Probing that takes longer than the idle time makes no sense: the original's number for it.
    match (idle_s, interval_s, count) {
        (Some(idle), Some(interval), Some(count)) if idle <= interval.saturating_mul(count) => Err(error(Code(36))),
        _ => Ok(Some(Keepalive { idle_s, interval_s, count })),
    }
}
