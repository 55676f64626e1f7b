//! The options that every subcommand takes.

use crate::persona::answer::Answer;
use crate::persona::sockperf::options::reading::Reading;
use crate::persona::sockperf::options::table::{Key, Subcommand};
use crate::persona::sockperf::options::{
    Activity, Common, MULTICAST_TTL, Multicast, Multiplex, PORT, Place, Socket, Transport, refused,
};

/// The largest value of a C `int`.
const MOST: i64 = i32::MAX as i64;

/// Reads them.
pub(super) fn read(reading: &mut Reading) -> Result<Common, Answer> {
    let place = place(reading)?;
    let activity = activity(reading)?;
    // A tick that would never be waited for is complained of all the same.
    reading.number::<i64>(Key::Timeout, "--timeout", -1..=MOST, |text| {
        format!("'--timeout' Invalid select/poll/epoll timeout val: {text} (milliseconds, or -1 for no end)")
    })?;
    let buffer_bytes = reading.number(Key::BufferSize, "--buffer-size", 1..=MOST, |text| {
        format!("'-6' Invalid socket buffer size: {text} (--buffer-size takes bytes)")
    })?;
    let tos = reading.number(Key::Tos, "--tos", 0..=255, |text| format!("'--tos' Invalid value: {text} (0 to 255)"))?;
    let busy_poll_us = reading.number(Key::BusyPoll, "--lls", 0..=MOST, |text| {
        format!("'-39' Invalid LLS value: {text} (--lls takes microseconds)")
    })?;
    receive_loops(reading)?;
    let pre_warm_up_wait_s = reading.number(Key::PreWarmUpWait, "--pre-warmup-wait", 1..=MOST, |text| {
        format!("'-11' Invalid pre warmup wait: {text} (--pre-warmup-wait takes seconds)")
    })?;
    let pacing_rate = reading.number(Key::RateLimit, "--rate-limit", 1..=i64::from(u32::MAX), |text| {
        format!("'-42' Invalid rate limit : {text} (--rate-limit takes bytes a second)")
    })?;
    // Throughput lets the kernel gather small sends, all else sends each at once; the option turns either around.
    let nodelay = (reading.subcommand == Subcommand::Throughput) == reading.has(Key::AvoidNodelay);
    Ok(Common {
        place,
        activity,
        nodelay,
        skip_blocking_send: reading.has(Key::SkipBlockingSend),
        tos,
        reuse_address: reading.has(Key::ReuseAddress),
        busy_poll_us,
        buffer_bytes,
        nonblocked: reading.has(Key::Nonblocked),
        skip_warm_up: reading.has(Key::SkipWarmUp),
        pre_warm_up_wait_s: pre_warm_up_wait_s.unwrap_or(0),
        daemonize: reading.has(Key::Daemonize),
        pacing_rate,
    })
}

/// Options on groups.
pub(super) fn multicast(reading: &mut Reading) -> Result<Multicast, Answer> {
    let ttl = reading.number(Key::McTtl, "--mc-ttl", 0..=255, |text| {
        format!("'-30' Invalid value: {text} (--mc-ttl takes 0 to 255)")
    })?;
    Ok(Multicast {
        receive_interface: reading.text(Key::McReceive).map(str::to_owned),
        send_interface: reading.text(Key::McSend).map(str::to_owned),
        loopback: reading.has(Key::McLoopback),
        ttl: ttl.unwrap_or(MULTICAST_TTL),
        source: reading.text(Key::McSource).map(str::to_owned),
        unicast_reply: reading.has(Key::ForceUnicastReply),
    })
}

fn place(reading: &Reading) -> Result<Place, Answer> {
    let complaint = |line: &str| Err(reading.complaint(line));
    let port = reading.port(Key::Port, "'-p' Invalid port")?;
    let host = reading.text(Key::Address).map(str::to_owned);
    if host.as_deref().is_some_and(str::is_empty) {
        return complaint("'-i' Invalid address");
    }
    if let Some((host, why)) = host.as_deref().and_then(|host| refused::host(host).map(|why| (host, why))) {
        return Err(Reading::refusal(&format!("-i {host}"), why));
    }
    let Some(file) = reading.path(Key::File) else {
        if reading.has(Key::Multiplex) {
            return complaint("-F must be used with feed file (option '-f')");
        }
        let transport = if reading.has(Key::Tcp) { Transport::Tcp } else { Transport::Udp };
        return Ok(Place::One(Socket { transport, host, port: port.unwrap_or(PORT) }));
    };
    if host.is_some() || port.is_some() {
        return complaint("-f conflicts with -i,-p options");
    }
    if reading.has(Key::Tcp) {
        return complaint("--tcp conflicts with -f option");
    }
    Ok(Place::Feed { file, multiplex: multiplex(reading)? })
}

fn multiplex(reading: &Reading) -> Result<Multiplex, Answer> {
    match reading.text(Key::Multiplex) {
        None | Some("e" | "epoll") => Ok(Multiplex::Epoll),
        Some("s" | "select") => Ok(Multiplex::Select),
        Some("p" | "poll") => Ok(Multiplex::Poll),
        Some("r" | "recvfrom") => Ok(Multiplex::Recvfrom),
        Some(other) => {
            let line =
                format!("'-F' Invalid multiply io handle type: {other} (there are select, poll, epoll and recvfrom)");
            Err(reading.complaint(&line))
        }
    }
}

fn activity(reading: &mut Reading) -> Result<Option<Activity>, Answer> {
    let mut every = |key, name: &str| {
        reading.number::<u64>(key, name, 0..=MOST, |text| {
            format!("'{name}' Invalid message rate stats print value: {text} (a number of messages)")
        })
    };
    let (dots, figures) = (every(Key::Dots, "-a")?, every(Key::Activity, "-A")?);
    let asked = figures.map(|every| (every, true)).or(dots.map(|every| (every, false)));
    // 0 asks for nothing.
    Ok(asked.filter(|(every, _)| *every > 0).map(|(every, detailed)| Activity { every, detailed }))
}

fn receive_loops(reading: &mut Reading) -> Result<(), Answer> {
    let loops: Option<i64> = reading.number(Key::ReceiveLoops, "--recv_looping_num", -MOST..=MOST, |text| {
        format!("Invalid number of loops - 34: {text} (--recv_looping_num takes a number, or -1 for no end)")
    })?;
    match loops {
        Some(0) => Err(reading.complaint("recv_looping_num cannot be equal to 0.")),
        Some(2.. | ..0) if !reading.has(Key::Nonblocked) => Err(reading
            .complaint("recv_looping_num larger then one must be used in a none-blocked mode only. add --nonblocked.")),
        _ => Ok(()),
    }
}
