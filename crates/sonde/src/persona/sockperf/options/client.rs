//! The options of the clients.

use crate::command::value::CpuList;
use crate::persona::answer::Answer;
use crate::persona::sockperf::options::reading::Reading;
use crate::persona::sockperf::options::table::{Key, Subcommand};
use crate::persona::sockperf::options::{
    Client, Common, Display, Histogram, Kind, LARGEST, LARGEST_DATAGRAM, Load, Local, Mps, Own, Place, SMALLEST, Size,
    Stop, Transport, either_end, own, refused,
};

/// Seconds of `-t` where none are asked for.
const TIME_S: u32 = 1;
/// Longest `-t`: more than a year.
const LONGEST_S: i64 = 36_000_000;
/// Largest `-n`.
const MOST_MESSAGES: i64 = 100_000_000;
/// Largest `--mps` and `--reply-every`.
const MOST_RATE: i64 = 1 << 30;
/// `--mps` of under-load where none is asked for.
const MPS: u32 = 10_000;
/// `--reply-every` where none is asked for.
const REPLY_EVERY: u32 = 100;
/// `--tcp_nb_connect_timeout_ms` where none is asked for.
const CONNECT_TIMEOUT_MS: u32 = 5_000;
/// `--ci_sig_level` where none is asked for.
const CI_LEVEL: u8 = 99;
/// Most bins of a histogram: each that holds something takes a line.
const MOST_BINS: u32 = 1_000_000;

/// Reads them, behind those of every subcommand.
pub(super) fn read(reading: &mut Reading, common: Common) -> Result<(Client, Own), Answer> {
    let sender_cpus: Option<CpuList> = reading.parsed(Key::SenderAffinity, "--sender-affinity")?;
    let receiver_cpus: Option<CpuList> = reading.parsed(Key::ReceiverAffinity, "--receiver-affinity")?;
    let connect_timeout_ms = connect_timeout_ms(reading, &common)?;
    let kind = kind(reading, &common)?;
    let display = display(reading)?;
    let local = local(reading)?;
    let multicast = either_end::multicast(reading)?;
    let client = Client {
        common,
        kind,
        local,
        sender_cpus: sender_cpus.unwrap_or_default(),
        receiver_cpus: receiver_cpus.unwrap_or_default(),
        connect_timeout_ms,
        display,
        multicast,
    };
    Ok((client, own::read(reading)?))
}

fn connect_timeout_ms(reading: &mut Reading, common: &Common) -> Result<u32, Answer> {
    let over_tcp = matches!(&common.place, Place::One(socket) if socket.transport == Transport::Tcp);
    if reading.has(Key::ConnectTimeout) && !over_tcp && !reading.has(Key::File) {
        return Err(reading.complaint("--tcp_nb_connect_timeout_ms requires --tcp or -f"));
    }
    let fault = |text: &str| format!("Invalid TCP connect timeout value {text} for --tcp_nb_connect_timeout_ms");
    let asked = reading.number(Key::ConnectTimeout, "--tcp_nb_connect_timeout_ms", 0..=i64::from(i32::MAX), fault)?;
    Ok(asked.unwrap_or(CONNECT_TIMEOUT_MS))
}

fn kind(reading: &mut Reading, common: &Common) -> Result<Kind, Answer> {
    match reading.subcommand {
        Subcommand::UnderLoad => {
            let load = load(reading, common, Mps::At(MPS))?;
            Ok(Kind::UnderLoad { load, reply_every: reply_every(reading)? })
        }
        Subcommand::Playback => {
            let reply_every = reply_every(reading)?;
            let file = reading.path(Key::DataFile);
            let file = file.ok_or_else(|| reading.complaint("--data-file must be used with playback mode"))?;
            Ok(Kind::Playback { file, reply_every })
        }
        Subcommand::Throughput => Ok(Kind::Throughput { load: load(reading, common, Mps::Max)? }),
        Subcommand::PingPong | Subcommand::Server => {
            let load = load(reading, common, Mps::Max)?;
            let data_integrity = reading.has(Key::DataIntegrity);
            if data_integrity && reading.has(Key::Burst) {
                return Err(reading.complaint("--data-integrity conflicts with -b option"));
            }
            Ok(Kind::PingPong { load, data_integrity })
        }
    }
}

fn load(reading: &mut Reading, common: &Common, rate: Mps) -> Result<Load, Answer> {
    let stop = stop(reading)?;
    let burst = reading.number(Key::Burst, "-b", 1..=i64::from(i32::MAX), |text| {
        format!("'-b' Invalid burst size: {text} (1 or more messages)")
    })?;
    let rate = mps(reading)?.unwrap_or(rate);
    Ok(Load { stop, rate, burst: burst.unwrap_or(1), size: size(reading, common)? })
}

fn stop(reading: &mut Reading) -> Result<Stop, Answer> {
    if reading.has(Key::Number) && (reading.has(Key::Time) || reading.has(Key::Mps)) {
        return Err(reading.complaint("-n conflicts with -t,--mps options"));
    }
    let messages = reading.number(Key::Number, "-n", 1..=MOST_MESSAGES, |text| {
        format!("'-n' Invalid number of packets: {text} (1 to 100000000)")
    })?;
    let seconds = reading
        .number(Key::Time, "-t", 1..=LONGEST_S, |text| format!("'-t' Invalid duration: {text} (1 to 36000000 s)"))?;
    Ok(messages.map_or(Stop::Seconds(seconds.unwrap_or(TIME_S)), Stop::Messages))
}

fn mps(reading: &mut Reading) -> Result<Option<Mps>, Answer> {
    if matches!(reading.text(Key::Mps), Some("max" | "MAX")) {
        return Ok(Some(Mps::Max));
    }
    let fault = |text: &str| format!("Invalid 18 val: {text} (--mps takes 1 to 1073741824 messages a second, or max)");
    Ok(reading.number(Key::Mps, "--mps", 1..=MOST_RATE, fault)?.map(Mps::At))
}

fn reply_every(reading: &mut Reading) -> Result<u32, Answer> {
    let fault = |text: &str| format!("Invalid 19 val: {text} (--reply-every takes 1 to 1073741824)");
    Ok(reading.number(Key::ReplyEvery, "--reply-every", 1..=MOST_RATE, fault)?.unwrap_or(REPLY_EVERY))
}

fn size(reading: &mut Reading, common: &Common) -> Result<Size, Answer> {
    let over_tcp = matches!(&common.place, Place::One(socket) if socket.transport == Transport::Tcp);
    let largest = if over_tcp { LARGEST } else { LARGEST_DATAGRAM };
    let most = reading.number(Key::Size, "-m", i64::from(SMALLEST)..=i64::from(largest), |text| {
        let too_large = super::number::read(text).is_some_and(|read| read.value > i64::from(largest));
        let bound = if too_large { format!("max: {largest}") } else { format!("min: {SMALLEST}") };
        format!("'-m' Invalid message size: {text} ({bound})")
    })?;
    let range = reading.digits(Key::Range, "-r", 0..=i64::from(i32::MAX), |text| {
        format!("'-r' Invalid value: {text} (so many bytes below -m)")
    })?;
    Ok(Size { most: most.unwrap_or(SMALLEST), range: range.unwrap_or(0) })
}

fn display(reading: &mut Reading) -> Result<Display, Answer> {
    let level = reading.number(Key::CiLevel, "--ci_sig_level", 1..=99, |text| {
        format!("'--ci_sig_level' Invalid Significance level: {text} (1 to 99 percent)")
    })?;
    if reading.has(Key::CiLevel) && level.is_none() {
        return Err(reading.complaint("'--ci_sig_level' Invalid value"));
    }
    Ok(Display {
        full_log: reading.path(Key::FullLog),
        full_rtt: reading.has(Key::FullRtt),
        giga_size: reading.has(Key::GigaSize),
        increase_output_precision: reading.has(Key::Precision),
        ci_level: level.unwrap_or(CI_LEVEL),
        histogram: histogram(reading)?,
    })
}

fn histogram(reading: &Reading) -> Result<Option<Histogram>, Answer> {
    let Some(text) = reading.text(Key::Histogram) else { return Ok(None) };
    let refused = |why: &str| Reading::refusal(&format!("--histogram {text}"), why);
    let numbers: Vec<u32> = text.split(':').map_while(|part| part.parse().ok()).collect();
    let &[bin_us, low_us, high_us] = numbers.as_slice() else {
        let line = format!("Invalid argument: {text} Format should be binsize:lowerrange:upperrange");
        return Err(reading.complaint(&line));
    };
    if bin_us == 0 || low_us >= high_us {
        return Err(refused("a bin has a width, and the range an end above its beginning: 10:0:200"));
    }
    if (high_us - low_us) / bin_us > MOST_BINS {
        return Err(refused("is more than a million bins: widen them"));
    }
    Ok(Some(Histogram { bin_us, low_us, high_us }))
}

fn local(reading: &Reading) -> Result<Local, Answer> {
    if reading.has(Key::ClientPort) && reading.has(Key::File) {
        return Err(reading.complaint("--client_port conflicts with -f option"));
    }
    let port = reading.port(Key::ClientPort, "'--client_port' Invalid value")?;
    let host = reading.text(Key::ClientAddress).map(str::to_owned);
    match host.as_deref().and_then(refused::host) {
        Some(why) => Err(Reading::refusal(&format!("--client_ip {}", host.unwrap_or_default()), why)),
        None => Ok(Local { host, port: port.unwrap_or(0) }),
    }
}
