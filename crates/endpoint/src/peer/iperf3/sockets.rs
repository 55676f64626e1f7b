//! Data sockets as a test's parameters want them, at either end, and the ways over them.

use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsRawFd;
use std::path::PathBuf;

use measure::method::{Schedule, SocketOptions, Waiting};
use measure::unit::{Bytes, Nanos, Rate};
use protocol::iperf3::datagram::Counter;
use protocol::iperf3::parameters::{Parameters, Protocol};
use socket2::Socket;

use crate::error::{Cause, EndpointError, Side, Step};
use crate::link::bulk::any::Any;
use crate::link::bulk::numbered::{NumberedReceiver, NumberedSender};
use crate::link::bulk::{FileSender, Receiver, Sender, any_file, new_file};
use crate::link::ring::{Ring, Shape};
use crate::socket::tuning::Tuning;
use crate::socket::{self, option};
use crate::stop::GLANCE;

/// Content that is repeated where a client asks for compressible payload.
const DIGITS: &[u8] = b"0123456789";
/// Interval at which a receiver without data checks for the end of the test.
const LOOK: Nanos = Nanos::millis(25);

/// One stream as both ends and outputs name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connection {
    /// Its number in the results: 1, 3, 4, …
    pub id: i64,
    /// The socket's descriptor, which iperf3 shows in its output.
    pub descriptor: i32,
    /// Local address.
    pub local: SocketAddr,
    /// Address of the peer.
    pub remote: SocketAddr,
    /// True where our end sends.
    pub sends: bool,
    /// Size of its send buffer, bytes; absent where the system does not say.
    pub send_buffer_bytes: Option<u64>,
    /// Size of its receive buffer, bytes; absent where the system does not say.
    pub receive_buffer_bytes: Option<u64>,
}

impl Connection {
    /// Describes the connected `socket` as stream number `index`, from 0.
    pub fn of(socket: &Socket, index: usize, sends: bool) -> io::Result<Self> {
        let address = |address: socket2::SockAddr| address.as_socket().ok_or(io::ErrorKind::Unsupported.into());
        Ok(Self {
            id: protocol::iperf3::stream_id(index),
            descriptor: socket.as_raw_fd(),
            local: socket.local_addr().and_then(address)?,
            remote: socket.peer_addr().and_then(address)?,
            sends,
            send_buffer_bytes: socket.send_buffer_size().ok().map(|bytes| bytes as u64),
            receive_buffer_bytes: socket.recv_buffer_size().ok().map(|bytes| bytes as u64),
        })
    }
}

/// The options that both ends set, as the parameters say.
pub fn options(parameters: &Parameters) -> SocketOptions {
    let tcp = parameters.protocol == Protocol::Tcp;
    let buffer = parameters.window.map(|bytes| Bytes(u64::from(bytes)));
    SocketOptions {
        source_ports: None,
        bind: None,
        interface: None,
        tos: (parameters.tos > 0).then_some(parameters.tos),
        nodelay: tcp && parameters.nodelay,
        congestion: parameters.congestion.clone().filter(|_| tcp),
        send_buffer_bytes: buffer,
        receive_buffer_bytes: buffer,
    }
}

/// Socket options among the parameters that no method has.
pub fn tuning(parameters: &Parameters) -> Tuning {
    let tcp = parameters.protocol == Protocol::Tcp;
    Tuning {
        segment_bytes: parameters.mss.filter(|_| tcp),
        whole_packets: !tcp && parameters.dont_fragment,
        pacing_bytes_per_s: parameters.fq_rate.map(|bits| (bits / 8).max(1)),
        ..Tuning::default()
    }
}

/// Sets a socket that was accepted, or is a flow of datagrams already, as the parameters say. A congestion control that
/// this host does not have is left aside, as a real server does; what was left aside is returned.
pub fn set_up(socket: &Socket, peer: SocketAddr, parameters: &Parameters) -> Result<Option<String>, EndpointError> {
    let options = options(parameters);
    socket::prepare(socket, peer, &options)?;
    check_window(socket, peer, parameters)?;
    tuning(parameters).apply(socket, peer)?;
    let fail = |cause: io::Error| EndpointError::new(Step::Set("TCP_NODELAY"), peer, cause);
    if options.nodelay {
        socket.set_tcp_nodelay(true).map_err(fail)?;
    }
    Ok(options.congestion.filter(|name| socket.set_tcp_congestion(name.as_bytes()).is_err()))
}

/// An error where the kernel grants a socket smaller buffers than the client asked for: its figures would be those of another test.
pub fn check_window(socket: &Socket, peer: SocketAddr, parameters: &Parameters) -> Result<(), EndpointError> {
    let Some(asked) = parameters.window else { return Ok(()) };
    let fail = |cause: Cause| EndpointError::new(Step::Set("socket buffers"), peer, cause).on(Side::Ours);
    let sizes = socket.send_buffer_size().and_then(|sent| Ok(sent.min(socket.recv_buffer_size()?)));
    match sizes.map_err(|cause| fail(cause.into()))? {
        granted if granted >= asked as usize => Ok(()),
        granted => Err(fail(io::Error::other(format!("{granted} of {asked} bytes are granted")).into())),
    }
}

/// Sets the longest time that unacknowledged data may wait before the connection is given up (`TCP_USER_TIMEOUT`).
pub fn set_send_timeout(socket: &Socket, peer: SocketAddr, patience: Nanos) -> Result<(), EndpointError> {
    let millis = i32::try_from(patience.0 / 1_000_000).unwrap_or(i32::MAX);
    option::set_int(std::os::fd::AsFd::as_fd(socket), libc::IPPROTO_TCP, libc::TCP_USER_TIMEOUT, millis)
        .map_err(|cause| EndpointError::new(Step::Set("TCP_USER_TIMEOUT"), peer, cause))
}

/// Makes a stream's way over `socket`. `file`: what is sent in place of random octets.
pub fn way(
    socket: Socket,
    parameters: &Parameters,
    sends: bool,
    file: Option<&PathBuf>,
) -> Result<Any<Counter>, EndpointError> {
    let peer = socket.peer_addr().ok().and_then(|address| address.as_socket());
    let peer = peer.map_or_else(|| "the peer".to_owned(), |peer| peer.to_string());
    let fail = |step: Step| move |cause: io::Error| EndpointError::new(step.clone(), peer.clone(), cause);
    let block = parameters.block_bytes() as usize;
    let wait = || Step::Set("how long a call waits");
    socket.set_write_timeout(Some(GLANCE.into())).map_err(fail.clone()(wait()))?;
    socket.set_read_timeout(Some(LOOK.into())).map_err(fail.clone()(wait()))?;
    let counter = Counter::of(parameters.counters_64bit);
    let datagrams = parameters.protocol == Protocol::Udp;
    let content = || Step::Set("content to be sent");
    Ok(match (datagrams, sends) {
        (true, true) => {
            let pattern = pattern(parameters, block);
            let segments = parameters.segments() as usize;
            Any::SendNumbered(NumberedSender::new(socket, counter, block, segments, &pattern, Waiting::Block))
        }
        (true, false) => Any::ReceiveNumbered(NumberedReceiver::new(socket, counter, Waiting::Block)),
        (false, true) => match file {
            Some(path) => {
                let opened = File::open(path).and_then(|file| FileSender::new(socket, file, block));
                Any::File(opened.map_err(|cause| EndpointError::new(content(), path.display(), cause))?)
            }
            None if parameters.zerocopy => {
                let pattern = pattern(parameters, block);
                let made =
                    if parameters.repeating_payload { new_file(&pattern, block) } else { any_file(&pattern, block) };
                let made = made.and_then(|file| FileSender::new(socket, file, block));
                Any::File(made.map_err(fail.clone()(content()))?)
            }
            None => {
                let ring = Ring::filled(Shape::of(block), &pattern(parameters, block));
                Any::Send(Sender::new(socket, ring, Waiting::Block))
            }
        },
        (false, false) => {
            let receiver = Receiver::new(socket, Ring::new(Shape::of(block)), Waiting::Block);
            Any::Receive(if parameters.skip_rx_copy { receiver.discarding() } else { receiver })
        }
    })
}

/// One call's content.
fn pattern(parameters: &Parameters, block: usize) -> Vec<u8> {
    if parameters.repeating_payload {
        return DIGITS.to_vec();
    }
    // Nobody looks at it; it only must not compress.
    let seed = u64::from_be_bytes(crate::random::bytes().unwrap_or([0x5a; 8]));
    Ring::random(Shape::of(block), seed).turn().to_vec()
}

/// Schedule of a sender's calls.
pub fn schedule(parameters: &Parameters) -> Schedule {
    let Some(rate) = parameters.rate.filter(|rate| *rate > 0) else { return Schedule::BackToBack };
    let burst = parameters.burst.max(1);
    let bits = u128::from(parameters.block_bytes()) * u128::from(parameters.segments()) * 8;
    let interval = (bits * u128::from(burst) * 1_000_000_000 + u128::from(rate / 2)) / u128::from(rate);
    let often = u64::try_from(u128::from(rate) * 1_000 / bits).ok().and_then(std::num::NonZeroU64::new);
    match often {
        // A nanosecond is too coarse for what is due this often.
        Some(calls) if burst == 1 && interval < 100_000 => Schedule::Rate { rate_per_1000s: Rate(calls) },
        _ => Schedule::Bursts { count: burst, interval_ns: Nanos(u64::try_from(interval).unwrap_or(u64::MAX)) },
    }
}

#[cfg(test)]
mod tests {
    use protocol::iperf3::parameters::Segmentation;

    use super::*;

    #[test]
    fn a_rate_is_kept_in_calls_of_a_block_each() {
        let asked = |rate, block, burst| {
            let parameters = Parameters { rate: Some(rate), block: Some(block), burst, ..Parameters::default() };
            schedule(&parameters)
        };
        let every = |count, nanos| Schedule::Bursts { count, interval_ns: Nanos(nanos) };
        let cut = Parameters {
            protocol: Protocol::Udp,
            rate: Some(8_000_000),
            block: Some(1_000),
            segmentation: Some(Segmentation::of(1_000)),
            ..Parameters::default()
        };
        assert_eq!((cut.segments(), schedule(&cut)), (64, every(1, 64_000_000)));
        assert_eq!(asked(1_048_576, 131_072, 0), every(1, 1_000_000_000));
        assert_eq!(asked(1_000_000, 500, 5), every(5, 20_000_000));
        let fast = Schedule::Rate { rate_per_1000s: Rate(std::num::NonZeroU64::new(8_561_643_835).unwrap()) };
        assert_eq!(asked(100_000_000_000, 1_460, 0), fast);
        assert_eq!(asked(1, 1 << 20, 1_000), every(1_000, 8_388_608_000_000_000_000));
        assert_eq!(schedule(&Parameters::default()), Schedule::BackToBack);
    }
}
