//! Kernel facts of a TCP connection, `TCP_INFO`, field by field as far as this kernel reports them.
//!
//! The structure grows from kernel to kernel: it is read into a zeroed buffer longer than any known one, and a field
//! beyond the length that came back is absent, not 0. Layout: include/uapi/linux/tcp.h, up to Linux 6.18 (280 bytes).
//! Not here: what these numbers explain.

use std::io;
use std::mem::{offset_of, size_of};
use std::os::fd::{AsFd, AsRawFd};

use measure::interval::glance::TcpGlance;
use measure::unit::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

/// State of a TCP connection as its kernel sees it. Absent fields are unknown to this kernel.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TcpInfo {
    /// State of the connection, `established`, `close-wait`, …
    pub state: Option<String>,
    /// State of congestion avoidance: `open`, `disorder`, `cwr`, `recovery` or `loss`.
    pub ca_state: Option<String>,
    /// Options agreed on in the handshake.
    pub options: Option<Options>,
    /// Retransmission timeout, nanoseconds (kernel: microseconds).
    pub rto_ns: Option<Nanos>,
    /// Present timeout of a delayed acknowledgement, nanoseconds.
    pub ato_ns: Option<Nanos>,
    /// Bytes of payload in a segment we send.
    pub snd_mss_bytes: Option<Bytes>,
    /// Bytes of payload in a segment the peer sends, as estimated from what came.
    pub rcv_mss_bytes: Option<Bytes>,
    /// Maximum segment size we advertised, bytes.
    pub advmss_bytes: Option<Bytes>,
    /// Path MTU, bytes of IP.
    pub pmtu_bytes: Option<Bytes>,
    /// Segments sent and not yet acknowledged.
    pub unacked: Option<u32>,
    /// Segments of `unacked` that were acknowledged selectively.
    pub sacked: Option<u32>,
    /// Segments of `unacked` that are taken for lost.
    pub lost: Option<u32>,
    /// Segments of `unacked` that were retransmitted and are still outstanding.
    pub retrans: Option<u32>,
    /// Segments retransmitted since the connection began.
    pub total_retrans: Option<u32>,
    /// Bytes retransmitted since the connection began.
    pub bytes_retrans: Option<Bytes>,
    /// Duplicate arrivals the peer told of (DSACK): retransmissions that were not needed.
    pub dsack_dups: Option<u32>,
    /// Reorderings seen on the way to the peer.
    pub reord_seen: Option<u32>,
    /// Segments by which arrivals at the peer may be out of order before loss is assumed.
    pub reordering: Option<u32>,
    /// Segments that came out of order.
    pub rcv_ooopack: Option<u32>,
    /// Smoothed round trip (1/8 each), nanoseconds. Includes the peer's delayed acknowledgements: no latency.
    pub smoothed_rtt_ns: Option<Nanos>,
    /// Mean deviation of the smoothed round trip, nanoseconds.
    pub rttvar_ns: Option<Nanos>,
    /// Smallest round trip, nanoseconds; absent where none was taken yet.
    pub min_rtt_ns: Option<Nanos>,
    /// Round trip as the receiver estimates it, nanoseconds; absent where none was taken yet.
    pub rcv_rtt_ns: Option<Nanos>,
    /// Congestion window, segments.
    pub snd_cwnd: Option<u32>,
    /// Slow start threshold, segments; absent before the first loss (the kernel's "infinite").
    pub snd_ssthresh: Option<u32>,
    /// The peer's receive window, bytes.
    pub snd_wnd_bytes: Option<Bytes>,
    /// Our receive window, bytes.
    pub rcv_wnd_bytes: Option<Bytes>,
    /// Receive buffer that autotuning aims at, bytes.
    pub rcv_space_bytes: Option<Bytes>,
    /// Bytes written and not yet sent.
    pub notsent_bytes: Option<Bytes>,
    /// Pacing rate, bytes per second; absent where TCP does not pace.
    pub pacing_rate_bytes_per_s: Option<u64>,
    /// Largest pacing rate allowed, bytes per second; absent where there is no limit.
    pub max_pacing_rate_bytes_per_s: Option<u64>,
    /// Latest estimate of the delivery rate, bytes per second; absent where none was taken yet.
    pub delivery_rate_bytes_per_s: Option<u64>,
    /// True where the application's writes, not the path, limited that estimate.
    pub delivery_rate_app_limited: Option<bool>,
    /// Bytes the peer acknowledged. Linux counts the SYN as one.
    pub bytes_acked: Option<Bytes>,
    /// Bytes received in order.
    pub bytes_received: Option<Bytes>,
    /// Bytes of payload sent, retransmissions included.
    pub bytes_sent: Option<Bytes>,
    /// Segments sent.
    pub segs_out: Option<u32>,
    /// Segments received.
    pub segs_in: Option<u32>,
    /// Segments with payload sent, retransmissions included.
    pub data_segs_out: Option<u32>,
    /// Segments with payload received.
    pub data_segs_in: Option<u32>,
    /// Segments delivered to the peer.
    pub delivered: Option<u32>,
    /// Segments of `delivered` that met congestion marks (ECN CE).
    pub delivered_ce: Option<u32>,
    /// Time with something to send or outstanding, nanoseconds.
    pub busy_ns: Option<Nanos>,
    /// Part of `busy_ns` in which the peer's receive window held sending back, nanoseconds.
    pub rwnd_limited_ns: Option<Nanos>,
    /// Part of `busy_ns` in which our send buffer held sending back, nanoseconds.
    pub sndbuf_limited_ns: Option<Nanos>,
    /// Retransmission timeouts since the connection began.
    pub total_rto: Option<u16>,
    /// Recoveries from a timeout.
    pub total_rto_recoveries: Option<u16>,
    /// Time spent in recoveries from timeouts, nanoseconds (kernel: milliseconds).
    pub total_rto_time_ns: Option<Nanos>,
    /// Times the flow changed its hash after timeouts, to try another path.
    pub rehash: Option<u32>,
    /// State of congestion control `bbr`; absent where another is in force.
    pub bbr: Option<Bbr>,
    /// Bytes of the structure this kernel gave.
    pub given_bytes: Bytes,
}

/// Options of a TCP connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Options {
    /// Timestamps (RFC 7323).
    pub timestamps: bool,
    /// Selective acknowledgements (RFC 2018).
    pub sack: bool,
    /// Shift of the peer's window, and of ours, where windows are scaled (RFC 7323).
    pub window_scale: Option<WindowScale>,
    /// Explicit congestion notification was negotiated (RFC 3168).
    pub ecn: bool,
}

/// Shifts of scaled windows, bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WindowScale {
    /// Shift of the window that the peer advertises.
    pub send: u8,
    /// Shift of the window that we advertise.
    pub receive: u8,
}

/// State of congestion control `bbr`, from `TCP_CC_INFO`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bbr {
    /// Estimated bottleneck bandwidth, bytes per second.
    pub bandwidth_bytes_per_s: u64,
    /// Smallest round trip of its window, nanoseconds; absent where none was taken yet.
    pub min_rtt_ns: Option<Nanos>,
    /// Factor on the bandwidth when pacing.
    pub pacing_gain: f64,
    /// Factor on the bandwidth-delay product for the window.
    pub cwnd_gain: f64,
}

impl TcpInfo {
    /// Reads the facts of a connected TCP socket. Any other socket is refused by the kernel (`ENOPROTOOPT` or
    /// `EOPNOTSUPP`).
    pub fn of(socket: impl AsFd) -> io::Result<Self> {
        let mut raw = Raw::default();
        let length = get_option(&socket, libc::TCP_INFO, &mut raw)?;
        let mut info = Self::from_raw(&raw, length);
        if rustix::net::sockopt::tcp_congestion(&socket).is_ok_and(|name| name == "bbr") {
            info.bbr = bbr(&socket)?;
        }
        Ok(info)
    }

    /// Returns the part that shows the limit of a stream's rate.
    pub fn glance(&self) -> TcpGlance {
        let segments = |count: u32, size: Bytes| Bytes(u64::from(count).saturating_mul(size.0));
        TcpGlance {
            retransmits: self.total_retrans.map(u64::from),
            sent_bytes: self.bytes_sent,
            retransmitted_bytes: self.bytes_retrans,
            delivered: self.delivered.map(u64::from),
            delivered_marked: self.delivered_ce.map(u64::from),
            acknowledged_bytes: self.bytes_acked,
            cwnd_bytes: self.snd_cwnd.zip(self.snd_mss_bytes).map(|(count, size)| segments(count, size)),
            snd_wnd_bytes: self.snd_wnd_bytes,
            mss_bytes: self.snd_mss_bytes,
            pmtu_bytes: self.pmtu_bytes,
            rtt_ns: self.smoothed_rtt_ns,
            rttvar_ns: self.rttvar_ns,
            min_rtt_ns: self.min_rtt_ns,
            reordering: self.reordering,
            reorderings: self.reord_seen,
            delivery_bytes_per_s: self.delivery_rate_bytes_per_s,
            pacing_bytes_per_s: self.pacing_rate_bytes_per_s,
            busy_ns: self.busy_ns,
            rwnd_limited_ns: self.rwnd_limited_ns,
            sndbuf_limited_ns: self.sndbuf_limited_ns,
        }
    }

    fn from_raw(raw: &Raw, length: usize) -> Self {
        /// A field, where the kernel's structure reaches to its end.
        macro_rules! field {
            ($name:ident) => {
                (offset_of!(Raw, $name) + size_of_val(&raw.$name) <= length).then_some(raw.$name)
            };
        }
        let micros = |count: u32| Nanos::micros(u64::from(count));
        let bytes = |count: u32| Bytes(u64::from(count));
        // 0 and all ones are the kernel's words for "none yet" and "no limit" in these; a field that can truly be 0 keeps it.
        let some_rate = |rate: u64| (rate != 0 && rate != u64::MAX).then_some(rate);
        Self {
            state: field!(state).map(state_name),
            ca_state: field!(ca_state).map(ca_state_name),
            options: field!(flags).map(|_| Options::decode(raw.options, raw.wscale)),
            rto_ns: field!(rto).map(micros),
            ato_ns: field!(ato).map(micros),
            snd_mss_bytes: field!(snd_mss).map(bytes),
            rcv_mss_bytes: field!(rcv_mss).map(bytes),
            advmss_bytes: field!(advmss).map(bytes),
            pmtu_bytes: field!(pmtu).map(bytes),
            unacked: field!(unacked),
            sacked: field!(sacked),
            lost: field!(lost),
            retrans: field!(retrans),
            total_retrans: field!(total_retrans),
            bytes_retrans: field!(bytes_retrans).map(Bytes),
            dsack_dups: field!(dsack_dups),
            reord_seen: field!(reord_seen),
            reordering: field!(reordering),
            rcv_ooopack: field!(rcv_ooopack),
            smoothed_rtt_ns: field!(rtt).filter(|&rtt| rtt != 0).map(micros),
            rttvar_ns: field!(rttvar).map(micros),
            min_rtt_ns: field!(min_rtt).filter(|&rtt| rtt != 0 && rtt != u32::MAX).map(micros),
            rcv_rtt_ns: field!(rcv_rtt).filter(|&rtt| rtt != 0).map(micros),
            snd_cwnd: field!(snd_cwnd),
            snd_ssthresh: field!(snd_ssthresh).filter(|&segments| segments < INFINITE_SSTHRESH),
            snd_wnd_bytes: field!(snd_wnd).map(bytes),
            rcv_wnd_bytes: field!(rcv_wnd).map(bytes),
            rcv_space_bytes: field!(rcv_space).map(bytes),
            notsent_bytes: field!(notsent_bytes).map(bytes),
            pacing_rate_bytes_per_s: field!(pacing_rate).and_then(some_rate),
            max_pacing_rate_bytes_per_s: field!(max_pacing_rate).and_then(some_rate),
            delivery_rate_bytes_per_s: field!(delivery_rate).and_then(some_rate),
            delivery_rate_app_limited: field!(delivery_rate).map(|_| app_limited(raw.flags)),
            bytes_acked: field!(bytes_acked).map(Bytes),
            bytes_received: field!(bytes_received).map(Bytes),
            bytes_sent: field!(bytes_sent).map(Bytes),
            segs_out: field!(segs_out),
            segs_in: field!(segs_in),
            data_segs_out: field!(data_segs_out),
            data_segs_in: field!(data_segs_in),
            delivered: field!(delivered),
            delivered_ce: field!(delivered_ce),
            busy_ns: field!(busy_time).map(Nanos::micros),
            rwnd_limited_ns: field!(rwnd_limited).map(Nanos::micros),
            sndbuf_limited_ns: field!(sndbuf_limited).map(Nanos::micros),
            total_rto: field!(total_rto),
            total_rto_recoveries: field!(total_rto_recoveries),
            total_rto_time_ns: field!(total_rto_time).map(|millis| Nanos::millis(u64::from(millis))),
            rehash: field!(rehash),
            bbr: None,
            given_bytes: Bytes(length as u64),
        }
    }
}

impl Options {
    fn decode(options: u8, wscale: u8) -> Self {
        // Two 4-bit fields of C in one octet: the first is the lower half on little-endian machines only.
        let (low, high) = (wscale & 0x0f, wscale >> 4);
        let (send, receive) = if cfg!(target_endian = "little") { (low, high) } else { (high, low) };
        Self {
            timestamps: options & 1 != 0,
            sack: options & 2 != 0,
            window_scale: (options & 4 != 0).then_some(WindowScale { send, receive }),
            ecn: options & 8 != 0,
        }
    }
}

/// The kernel's "infinite" slow start threshold, `TCP_INFINITE_SSTHRESH`.
const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;

fn app_limited(flags: u8) -> bool {
    flags & (if cfg!(target_endian = "little") { 0x01 } else { 0x80 }) != 0
}

fn state_name(state: u8) -> String {
    const NAMES: [&str; 13] = [
        "none",
        "established",
        "syn-sent",
        "syn-received",
        "fin-wait-1",
        "fin-wait-2",
        "time-wait",
        "closed",
        "close-wait",
        "last-ack",
        "listen",
        "closing",
        "new-syn-received",
    ];
    NAMES.get(usize::from(state)).map_or_else(|| format!("state {state}"), |name| (*name).to_owned())
}

fn ca_state_name(state: u8) -> String {
    const NAMES: [&str; 5] = ["open", "disorder", "cwr", "recovery", "loss"];
    NAMES.get(usize::from(state)).map_or_else(|| format!("state {state}"), |name| (*name).to_owned())
}

fn bbr(socket: &impl AsFd) -> io::Result<Option<Bbr>> {
    let mut raw = RawBbr::default();
    let length = get_option(socket, libc::TCP_CC_INFO, &mut raw)?;
    Ok((length >= size_of::<RawBbr>()).then(|| raw.decode()))
}

/// A C structure of integers without padding that matters: any bytes are a valid value of it.
///
/// # Safety
/// The implementing type must be `#[repr(C)]` and hold nothing but integers.
unsafe trait Plain: Default {}

// SAFETY: `#[repr(C)]`, integers only.
unsafe impl Plain for Raw {}
// SAFETY: `#[repr(C)]`, integers only.
unsafe impl Plain for RawBbr {}

/// Reads a TCP option into `value`, which may be longer or shorter than the kernel's; returns how many bytes came.
fn get_option<T: Plain>(socket: &impl AsFd, option: libc::c_int, value: &mut T) -> io::Result<usize> {
    let mut length = size_of::<T>() as libc::socklen_t;
    // SAFETY: `value` is writable for `length` bytes and any bytes are a valid `T`; `length` is a valid socklen_t;
    // both and the descriptor live through the call.
    let result = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::IPPROTO_TCP,
            option,
            std::ptr::from_mut(value).cast(),
            &raw mut length,
        )
    };
    if result == 0 { Ok(length as usize) } else { Err(io::Error::last_os_error()) }
}

/// `struct tcp_info` of the kernel's user interface, up to the fields of 6.18.
#[derive(Debug, Default)]
#[repr(C)]
struct Raw {
    state: u8,
    ca_state: u8,
    retransmits: u8,
    probes: u8,
    backoff: u8,
    options: u8,
    wscale: u8,
    flags: u8,
    rto: u32,
    ato: u32,
    snd_mss: u32,
    rcv_mss: u32,
    unacked: u32,
    sacked: u32,
    lost: u32,
    retrans: u32,
    fackets: u32,
    last_data_sent: u32,
    last_ack_sent: u32,
    last_data_recv: u32,
    last_ack_recv: u32,
    pmtu: u32,
    rcv_ssthresh: u32,
    rtt: u32,
    rttvar: u32,
    snd_ssthresh: u32,
    snd_cwnd: u32,
    advmss: u32,
    reordering: u32,
    rcv_rtt: u32,
    rcv_space: u32,
    total_retrans: u32,
    pacing_rate: u64,
    max_pacing_rate: u64,
    bytes_acked: u64,
    bytes_received: u64,
    segs_out: u32,
    segs_in: u32,
    notsent_bytes: u32,
    min_rtt: u32,
    data_segs_in: u32,
    data_segs_out: u32,
    delivery_rate: u64,
    busy_time: u64,
    rwnd_limited: u64,
    sndbuf_limited: u64,
    delivered: u32,
    delivered_ce: u32,
    bytes_sent: u64,
    bytes_retrans: u64,
    dsack_dups: u32,
    reord_seen: u32,
    rcv_ooopack: u32,
    snd_wnd: u32,
    rcv_wnd: u32,
    rehash: u32,
    total_rto: u16,
    total_rto_recoveries: u16,
    total_rto_time: u32,
    accurate_ecn: [u32; 8],
}

/// `struct tcp_bbr_info` of the kernel's user interface.
#[derive(Debug, Default)]
#[repr(C)]
struct RawBbr {
    bandwidth_low: u32,
    bandwidth_high: u32,
    min_rtt: u32,
    pacing_gain: u32,
    cwnd_gain: u32,
}

impl RawBbr {
    fn decode(&self) -> Bbr {
        Bbr {
            bandwidth_bytes_per_s: u64::from(self.bandwidth_high) << 32 | u64::from(self.bandwidth_low),
            min_rtt_ns: (self.min_rtt != u32::MAX).then(|| Nanos::micros(u64::from(self.min_rtt))),
            // Both shifted left by 8 bits.
            pacing_gain: f64::from(self.pacing_gain) / 256.0,
            cwnd_gain: f64::from(self.cwnd_gain) / 256.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream, UdpSocket};

    fn connection() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (near, listener.accept().unwrap().0)
    }

    #[test]
    fn our_structure_is_laid_out_as_the_kernels() {
        // libc's is the older, shorter prefix of it; the end is that of Linux 6.18.
        assert_eq!(offset_of!(Raw, rto), offset_of!(libc::tcp_info, tcpi_rto));
        assert_eq!(offset_of!(Raw, rtt), offset_of!(libc::tcp_info, tcpi_rtt));
        assert_eq!(offset_of!(Raw, total_retrans), offset_of!(libc::tcp_info, tcpi_total_retrans));
        assert_eq!(offset_of!(Raw, pacing_rate), 104);
        assert_eq!(offset_of!(Raw, delivery_rate), 160);
        assert_eq!(offset_of!(Raw, bytes_sent), 200);
        assert_eq!(offset_of!(Raw, snd_wnd), 228);
        assert_eq!(offset_of!(Raw, total_rto_time), 244);
        assert_eq!(size_of::<Raw>(), 280);
    }

    #[test]
    fn bytes_over_loopback_are_counted_exactly() {
        let (mut near, mut far) = connection();
        let mut buffer = [0_u8; 1_000];
        for _ in 0..30 {
            near.write_all(&buffer).unwrap();
            far.read_exact(&mut buffer).unwrap();
            far.write_all(&buffer[..100]).unwrap();
            near.read_exact(&mut buffer[..100]).unwrap();
        }
        let info = TcpInfo::of(&near).unwrap();
        assert_eq!(info.state.as_deref(), Some("established"));
        assert_eq!(info.bytes_sent, Some(Bytes(30_000)));
        assert_eq!(info.bytes_received, Some(Bytes(3_000)));
        // The last reply acknowledged the last request; the SYN counts as one byte.
        assert_eq!(info.bytes_acked, Some(Bytes(30_001)));
        assert_eq!((info.data_segs_out, info.data_segs_in), (Some(30), Some(30)));
        assert_eq!((info.total_retrans, info.bytes_retrans), (Some(0), Some(Bytes(0))));
        let min = info.min_rtt_ns.unwrap();
        assert!(min > Nanos::ZERO && min <= info.smoothed_rtt_ns.unwrap(), "{info:?}");
    }

    #[test]
    fn a_field_beyond_the_returned_length_is_absent() {
        let raw = Raw { total_retrans: 7, min_rtt: 20, rcv_wnd: 5, rehash: 9, ..Raw::default() };
        // 104 bytes are what Linux 3.10 gives, 232 Linux 5.10.
        let old = TcpInfo::from_raw(&raw, 104);
        assert_eq!((old.total_retrans, old.min_rtt_ns, old.bytes_sent, old.rehash), (Some(7), None, None, None));
        let newer = TcpInfo::from_raw(&raw, 232);
        assert_eq!((newer.min_rtt_ns, newer.rcv_wnd_bytes), (Some(Nanos(20_000)), None));
        assert_eq!(TcpInfo::from_raw(&raw, 240).rehash, Some(9));
        // Cut in the middle of a field: still absent.
        assert_eq!(TcpInfo::from_raw(&raw, 239).rehash, None);
        assert_eq!(TcpInfo::from_raw(&raw, 0), TcpInfo::default());
    }

    #[test]
    fn the_kernels_words_for_none_are_absent() {
        let raw = Raw { min_rtt: u32::MAX, snd_ssthresh: INFINITE_SSTHRESH, pacing_rate: u64::MAX, ..Raw::default() };
        let info = TcpInfo::from_raw(&raw, size_of::<Raw>());
        assert_eq!((info.min_rtt_ns, info.snd_ssthresh, info.pacing_rate_bytes_per_s), (None, None, None));
        assert_eq!((info.lost, info.notsent_bytes), (Some(0), Some(Bytes(0))));
    }

    #[test]
    fn options_are_decoded() {
        let options = Options::decode(0b0111, if cfg!(target_endian = "little") { 0x97 } else { 0x79 });
        assert_eq!(options.window_scale, Some(WindowScale { send: 7, receive: 9 }));
        assert!(options.timestamps && options.sack && !options.ecn);
        assert_eq!(Options::decode(0, 0x97).window_scale, None);
    }

    #[test]
    fn bbr_is_decoded() {
        let raw = RawBbr { bandwidth_low: 5, bandwidth_high: 1, min_rtt: u32::MAX, pacing_gain: 739, cwnd_gain: 512 };
        let bbr = raw.decode();
        assert_eq!((bbr.bandwidth_bytes_per_s, bbr.min_rtt_ns, bbr.cwnd_gain), ((1 << 32) + 5, None, 2.0));
        // Its start-up gain, 2 / ln 2.
        assert!((bbr.pacing_gain - 2.885).abs() < 0.01, "{bbr:?}");
    }

    #[test]
    fn bbr_is_told_where_it_is_in_force_and_only_there() {
        let (near, mut far) = connection();
        if rustix::net::sockopt::set_tcp_congestion(&near, "bbr").is_ok() {
            (&near).write_all(&[0; 1_000]).unwrap();
            far.read_exact(&mut [0; 1_000]).unwrap();
            let bbr = TcpInfo::of(&near).unwrap().bbr.expect("bbr is in force");
            assert!((1.0..10.0).contains(&bbr.cwnd_gain), "{bbr:?}");
        }
        rustix::net::sockopt::set_tcp_congestion(&near, "reno").expect("reno is always there");
        assert_eq!(TcpInfo::of(&near).unwrap().bbr, None);
    }

    #[test]
    fn a_udp_socket_has_none() {
        assert!(TcpInfo::of(UdpSocket::bind("127.0.0.1:0").unwrap()).is_err());
    }
}
