//! One test of any kind, from the first data to its results.

use std::net::SocketAddr;
use std::os::fd::AsFd;

use measure::unit::{Instant, Nanos};
use protocol::netperf::answer::{Cpu, Method, Results, Traffic};
use protocol::netperf::ask::{Ask, Carrier, Flags, Length};
use socket2::Socket;

use super::course::{Course, Over};
use super::data::{Errno, Prepared};
use super::{connections, exchange, stream};
use crate::clock::Monotonic;
use crate::cpu_usage::{Snapshot, Usage};
use crate::facts::socket::socket_facts;
use crate::stop::Stop;

/// Context of a test.
#[derive(Debug)]
pub struct Setting<'a> {
    /// Request of the client.
    pub ask: &'a Ask,
    /// Its control connection, which it closes when it gives up.
    pub control: &'a Socket,
    /// Address of the client.
    pub from: SocketAddr,
    /// Set once the netserver stops.
    pub stop: &'a Stop,
}

/// Payload of a test.
#[derive(Debug, Default)]
pub struct Done {
    /// Received.
    pub received: Traffic,
    /// Sent.
    pub sent: Traffic,
    /// Transactions.
    pub transactions: u64,
    /// Time of the last payload; absent: the present time is the best known.
    pub ended: Option<Instant>,
    /// Data socket at the end; absent where each transaction had its own.
    pub socket: Option<Socket>,
}

/// Kind of a test, in netperf's words.
pub fn name(ask: &Ask) -> String {
    let carrier = match ask.carrier {
        Carrier::Tcp => "TCP".to_owned(),
        Carrier::Udp => "UDP".to_owned(),
        Carrier::Other { protocol, .. } => format!("IP protocol {protocol}"),
    };
    let what = match (ask.server_receives, ask.server_sends) {
        (true, true) if ask.per_connection => "connections with a request and a response",
        (true, true) => "requests and responses",
        (false, false) => "connections",
        (true, false) => "a stream from the client",
        (false, true) => "a stream to the client",
    };
    let length = match ask.length {
        Length::Seconds(seconds) => format!("for {seconds} s"),
        Length::Count(count) => format!("{count} of them"),
        Length::UntilTold => "until told".to_owned(),
    };
    format!("{what} over {carrier}, {length}")
}

/// Runs the test that was prepared. `None`: no client waits for its results.
pub fn run(prepared: Prepared, setting: &Setting<'_>) -> Result<Option<Results>, Errno> {
    let ask = setting.ask;
    let course = Course::new(setting);
    // The receive buffer of a listener that is closed says nothing any more.
    let buffers = (prepared.ready.receive_buffer, prepared.ready.send_buffer);
    let mut busy = None;
    let mut begin = || busy = ask.flags.has(Flags::MEASURE_CPU).then(Snapshot::take).flatten();
    let done = match (ask.carrier, ask.per_connection, ask.server_receives, ask.server_sends) {
        (_, true, ..) => connections::serve(&prepared, setting, &course, &mut begin),
        (Carrier::Udp, _, true, true) => exchange::datagrams(prepared, setting, &course, &mut begin),
        (_, _, true, true) => exchange::connection(prepared, setting, &course, &mut begin),
        (_, _, true, false) => stream::sink(prepared, setting, &course, &mut begin),
        (_, _, _, true) => stream::source(prepared, setting, &course, &mut begin),
        (_, false, false, false) => return Err(Errno(libc::EINVAL)),
    }?;
    let now = Monotonic::now();
    if course.why() == Some(Over::Abandoned) {
        return Ok(None);
    }
    Ok(Some(results(&done, &course, busy.as_ref(), buffers, now)))
}

fn results(
    done: &Done,
    course: &Course<'_>,
    busy: Option<&Snapshot>,
    buffers: (Option<u32>, Option<u32>),
    now: Instant,
) -> Results {
    let ended = done.ended.unwrap_or(now);
    let elapsed = course.began().and_then(|began| ended.since(began)).unwrap_or(Nanos::ZERO);
    let facts = done.socket.as_ref().map(|socket| socket_facts(socket.as_fd()));
    let bytes = |bytes: Option<measure::unit::Bytes>| bytes.and_then(|bytes| u32::try_from(bytes.0).ok());
    let cpu = busy.and_then(|before| Snapshot::take()?.since(before));
    Results {
        received: Some(done.received),
        sent: Some(done.sent),
        receive_buffer: facts.as_ref().and_then(|facts| bytes(facts.receive_buffer_bytes)).or(buffers.0),
        send_buffer: facts.as_ref().and_then(|facts| bytes(facts.send_buffer_bytes)).or(buffers.1),
        transactions: Some(done.transactions),
        elapsed_seconds: Some(elapsed.as_secs_f64() as f32),
        cpu: cpu.map(|usage| told(&usage)),
        retransmits: facts.as_ref().and_then(|facts| u32::try_from(facts.retransmitted?).ok()),
        congestion: facts.and_then(|facts| facts.congestion),
    }
}

/// CPU use in netperf's percent.
fn told(usage: &Usage) -> Cpu {
    let percent = |share: f64| Some((share * 100.0) as f32);
    Cpu {
        util: percent(usage.busy_share),
        user: percent(usage.user_share),
        system: percent(usage.system_share),
        iowait: percent(usage.iowait_share),
        irq: percent(usage.irq_share),
        swintr: percent(usage.softirq_share),
        method: Method::PROC_STAT,
        count: usage.cpus,
        peak_id: Some(usage.busiest),
        peak_util: percent(usage.busiest_share),
    }
}
