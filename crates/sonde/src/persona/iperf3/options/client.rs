//! Options of a client alone.

use protocol::iperf3::code::Code;
use protocol::iperf3::parameters::{
    DATAGRAM, Direction, LARGEST_BLOCK, LARGEST_BURST, LARGEST_SEGMENT, LARGEST_WINDOW, LONGEST, LONGEST_OMIT,
    MOST_STREAMS, Protocol,
};

use crate::command::value;
use crate::persona::answer::Answer;
use crate::persona::iperf3::options::either_end::{affinity, split_device};
use crate::persona::iperf3::options::number::Factor;
use crate::persona::iperf3::options::reading::{Reading, error, scaled, takes};
use crate::persona::iperf3::options::table::Key;
use crate::persona::iperf3::options::{Client, ClientLogin, Common, Until};
use crate::persona::number::{octet, whole};

/// Bits a second of a UDP stream unless told otherwise.
const UDP_RATE: u64 = 1 << 20;

/// Reads them, behind those of both ends, to which the server's name may add a device.
pub(super) fn read(reading: &Reading, common: &mut Common) -> Result<Client, Answer> {
    let (host, device) = split_device(reading.text(Key::Client));
    common.device = common.device.take().or(device);
    let protocol = if reading.has(Key::Udp) { Protocol::Udp } else { Protocol::Tcp };
    let direction = direction(reading)?;
    if reading.has(Key::ReceiveTimeout) && direction == Direction::Upload {
        return Err(error(Code(32)));
    }
    if common.file.is_some() && protocol == Protocol::Udp {
        return Err(error(Code(34)));
    }
    let (rate, burst) = rate(reading, protocol)?;
    Ok(Client {
        host: host.filter(|host| !host.is_empty()).ok_or_else(|| takes("-c", "", "a name or an address"))?,
        protocol,
        direction,
        parallel: reading.whole(Key::Parallel, 1..=MOST_STREAMS, Code::STREAMS)?.unwrap_or(1),
        until: until(reading)?,
        omit_s: reading.whole(Key::Omit, 0..=LONGEST_OMIT, Code::OMIT)?.unwrap_or(0),
        block_bytes: block(reading, protocol)?,
        rate,
        burst,
        pacing_timer_us: pacing_timer(reading)?,
        fq_rate: if reading.has(Key::NoFqPacing) { None } else { reading.rate(Key::FqRate)? },
        window: window(reading)?,
        congestion: reading.owned(Key::Congestion),
        segment_bytes: reading.whole(Key::SegmentSize, 1..=LARGEST_SEGMENT, Code::SEGMENT_SIZE)?,
        nodelay: reading.has(Key::NoDelay),
        tos: tos(reading)?,
        zerocopy: reading.has(Key::ZeroCopy),
        skip_copy: reading.has(Key::SkipCopy),
        mptcp: reading.has(Key::Mptcp),
        gsro: reading.has(Key::Gsro),
        first_port: reading.whole(Key::ClientPort, 1..=65_535, Code(26))?.map(|port| port as u16),
        connect_timeout_ms: connect_timeout(reading)?,
        title: reading.owned(Key::Title),
        extra_data: reading.owned(Key::ExtraData),
        server_output: reading.has(Key::ServerOutput),
        counters_64bit: reading.has(Key::Counters64),
        repeating_payload: reading.has(Key::Repeating),
        dont_fragment: reading.has(Key::DontFragment),
        server_cpu: affinity(reading)?.1,
        login: login(reading)?,
        record: reading.path(Key::Record),
    })
}

fn direction(reading: &Reading) -> Result<Direction, Answer> {
    match (reading.has(Key::Reverse), reading.has(Key::Bidirectional)) {
        (true, true) => Err(error(Code::DIRECTION)),
        (true, false) => Ok(Direction::Reverse),
        (false, true) => Ok(Direction::Both),
        (false, false) => Ok(Direction::Upload),
    }
}

fn until(reading: &Reading) -> Result<Until, Answer> {
    let seconds = reading.whole(Key::Time, 0..=LONGEST, Code::DURATION)?;
    let (bytes, blocks) = (reading.size(Key::Bytes)?, reading.size(Key::Blocks)?);
    match (seconds, bytes.filter(|bytes| *bytes > 0), blocks.filter(|blocks| *blocks > 0)) {
        (seconds, None, None) => Ok(Until::Seconds(seconds.unwrap_or(10))),
        (None, Some(bytes), None) => Ok(Until::Bytes(bytes)),
        (None, None, Some(blocks)) => Ok(Until::Blocks(blocks)),
        _ => Err(error(Code(16))),
    }
}

fn block(reading: &Reading, protocol: Protocol) -> Result<Option<u32>, Answer> {
    let Some(bytes) = reading.size(Key::Length)?.filter(|bytes| *bytes > 0) else { return Ok(None) };
    let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
    match protocol {
        Protocol::Udp if !DATAGRAM.contains(&bytes) => Err(error(Code::DATAGRAM_SIZE)),
        _ if bytes > LARGEST_BLOCK => Err(error(Code::BLOCK_SIZE)),
        _ => Ok(Some(bytes)),
    }
}

fn rate(reading: &Reading, protocol: Protocol) -> Result<(Option<u64>, u32), Answer> {
    let Some(text) = reading.text(Key::Bitrate) else {
        return Ok(((protocol == Protocol::Udp).then_some(UDP_RATE), 0));
    };
    let (rate, burst) = match text.split_once('/') {
        Some((rate, burst)) => (rate, whole(burst).filter(|burst| (1..=LARGEST_BURST).contains(burst))),
        None => (text, Some(0)),
    };
    let burst = burst.ok_or_else(|| error(Code::BURST))?;
    Ok((Some(scaled(rate, Factor::Thousand)?).filter(|rate| *rate > 0), burst))
}

fn pacing_timer(reading: &Reading) -> Result<u32, Answer> {
    let Some(text) = reading.text(Key::PacingTimer) else { return Ok(1_000) };
    let micros = scaled(text, Factor::Kibi)?;
    u32::try_from(micros).map_err(|_| takes("--pacing-timer", text, "microseconds, below 2^32"))
}

fn window(reading: &Reading) -> Result<Option<u32>, Answer> {
    let bytes = reading.size(Key::Window)?.filter(|bytes| *bytes > 0);
    let within = |bytes| u32::try_from(bytes).ok().filter(|bytes| *bytes <= LARGEST_WINDOW);
    bytes.map(|bytes| within(bytes).ok_or_else(|| error(Code::BUFFER_SIZE))).transpose()
}

fn tos(reading: &Reading) -> Result<u8, Answer> {
    let fault = || error(Code::TYPE_OF_SERVICE);
    match (reading.text(Key::Tos), reading.text(Key::Dscp)) {
        (Some(_), Some(_)) => Err(takes("-S", "--dscp", "one of the two: leave the other away")),
        (Some(text), None) => octet(text).ok_or_else(fault),
        (None, Some(code)) => {
            let named = value::dscp(code).ok().filter(|_| !code.starts_with('0'));
            let code = named.or_else(|| octet(code).filter(|code| *code < 64));
            code.map(|code| code << 2).ok_or_else(fault)
        }
        (None, None) => Ok(0),
    }
}

fn connect_timeout(reading: &Reading) -> Result<Option<u32>, Answer> {
    let Some(text) = reading.text(Key::ConnectTimeout) else { return Ok(None) };
    let ms = whole(text).filter(|ms| *ms > 0);
    ms.map(Some).ok_or_else(|| takes("--connect-timeout", text, "milliseconds, 1 or more"))
}

fn login(reading: &Reading) -> Result<Option<ClientLogin>, Answer> {
    match (reading.owned(Key::User), reading.path(Key::ClientPem)) {
        (Some(user), Some(key)) => Ok(Some(ClientLogin { user, key })),
        (None, None) => Ok(None),
        _ => Err(error(Code(22))),
    }
}
