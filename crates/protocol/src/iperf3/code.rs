//! iperf3's own error numbers, as they go over the wire and as it words them.
//!
//! The words are those that users and parsers know from iperf3's error output, up to the 3.12 that prints them; later numbers,
//! and those that were never seen in a run, are worded here.

use std::fmt;

/// An error number of iperf3. Any number may come from a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Code(pub i32);

impl Code {
    /// The test is longer than is allowed.
    pub const DURATION: Self = Self(5);
    /// Too many streams, or none.
    pub const STREAMS: Self = Self(6);
    /// Calls of too many bytes.
    pub const BLOCK_SIZE: Self = Self(7);
    /// Too large a socket buffer.
    pub const BUFFER_SIZE: Self = Self(8);
    /// Too large a segment.
    pub const SEGMENT_SIZE: Self = Self(10);
    /// Too long a time to be left out.
    pub const OMIT: Self = Self(12);
    /// Too large a burst.
    pub const BURST: Self = Self(15);
    /// No SCTP here.
    pub const NO_SCTP: Self = Self(18);
    /// Datagrams too small or too large.
    pub const DATAGRAM_SIZE: Self = Self(20);
    /// No type of service.
    pub const TYPE_OF_SERVICE: Self = Self(21);
    /// One direction and both.
    pub const DIRECTION: Self = Self(25);
    /// More bits a second than the server allows.
    pub const TOTAL_RATE: Self = Self(27);
    /// The test is longer than this server allows.
    pub const SERVER_DURATION: Self = Self(37);
    /// No connection could be made.
    pub const CONNECT: Self = Self(103);
    /// No connection could be accepted.
    pub const ACCEPT: Self = Self(104);
    /// The control connection ended.
    pub const CLOSED: Self = Self(109);
    /// A message that is none.
    pub const MESSAGE: Self = Self(110);
    /// Parameters that cannot be read.
    pub const PARAMETERS: Self = Self(114);
    /// Results that cannot be read.
    pub const RESULTS: Self = Self(117);
    /// The client ended by itself.
    pub const CLIENT_TERMINATED: Self = Self(119);
    /// The server ended by itself.
    pub const SERVER_TERMINATED: Self = Self(120);
    /// The server is busy.
    pub const BUSY: Self = Self(121);
    /// Congestion control.
    pub const CONGESTION: Self = Self(134);
    /// The kernel grants smaller socket buffers than asked for.
    pub const BUFFER_NOT_SET: Self = Self(141);
    /// The login failed.
    pub const AUTHORISATION: Self = Self(142);
    /// Nothing came for too long.
    pub const NOTHING_RECEIVED: Self = Self(144);
    /// The server waited for the end of the test long enough.
    pub const EXPIRED: Self = Self(160);
    /// No stream could be made.
    pub const CREATE_STREAM: Self = Self(200);
    /// No data connection could be made.
    pub const STREAM_CONNECT: Self = Self(203);
    /// No data connection could be accepted.
    pub const STREAM_ACCEPT: Self = Self(204);
    /// A stream could not be written.
    pub const STREAM_WRITE: Self = Self(205);
    /// A stream could not be read.
    pub const STREAM_READ: Self = Self(206);
    /// Results of a stream that is not there.
    pub const STREAM_ID: Self = Self(208);

    /// Returns true where iperf3 adds the system's words for the second number behind this one's.
    pub fn with_system_error(self) -> bool {
        matches!(self.0, 14 | 17 | 100..=108 | 111..=118 | 122..=126 | 128..=130 | 132 | 133 | 135..=140 | 148 | 150..=159)
            || matches!(self.0, 200..=206 | 300 | 301)
    }

    /// The words of it.
    pub fn text(self) -> Option<&'static str> {
        let at = TEXTS.binary_search_by_key(&self.0, |(number, _)| *number).ok()?;
        Some(TEXTS[at].1)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.text() {
            Some(text) => f.write_str(text),
            None => write!(f, "int_errno={}", self.0),
        }
    }
}

/// In the order of their numbers.
const TEXTS: [(i32, &str); 112] = [
    (0, "no error"),
    (1, "cannot be both server and client"),
    (2, "must either be a client (-c) or server (-s)"),
    (3, "some option you are trying to set is server only"),
    (4, "some option you are trying to set is client only"),
    (5, "test duration valid values are 0 to 86400 seconds"),
    (6, "number of parallel streams too large (maximum = 128)"),
    (7, "block size too large (maximum = 1048576 bytes)"),
    (8, "socket buffer size too large (maximum = 536870912 bytes)"),
    (9, "invalid report interval (min = 0.1, max = 60 seconds)"),
    (10, "TCP MSS too large (maximum = 32767 bytes)"),
    (11, "this OS does not support sendfile"),
    (12, "bogus value for --omit"),
    (13, "an option you are trying to set is not implemented yet"),
    (14, "unable to open -F file"),
    (15, "invalid burst count (maximum = 1000)"),
    (16, "only one test end condition (-t, -n, -k) may be specified"),
    (17, "unable to open log file"),
    (18, "no SCTP support available"),
    (19, "--bind must be specified to use --cport"),
    (20, "block size invalid (minimum = 16 bytes, maximum = 65507 bytes)"),
    (21, "bad TOS value (must be between 0 and 255 inclusive)"),
    (22, "you must specify a username, password, and path to a valid RSA public key"),
    (23, "you must specify a path to a valid RSA private key and a user credential file"),
    (24, "bad format specifier (valid formats are in the set [kmgtKMGT])"),
    (25, "cannot be both reverse and bidirectional"),
    (26, "port number must be between 1 and 65535 inclusive"),
    (27, "total required bandwidth is larger than server limit"),
    (28, "the averaging time of the server's bitrate limit is out of range"),
    (29, "skew threshold must be a positive number"),
    (30, "idle timeout parameter is not positive or larger than allowed limit"),
    (31, "receive timeout value is incorrect or not in range"),
    (32, "client receive timeout is valid only in receiving mode"),
    (33, "send timeout value is incorrect or not in range"),
    (34, "a file cannot be sent over UDP"),
    (35, "the server's file of users cannot be read"),
    (36, "the control connection's keepalive values are wrong"),
    (37, "the test is longer than the server allows"),
    (38, "invalid unit value or suffix"),
    (39, "--skip-rx-copy is for an end that receives"),
    (40, "bad DSCP value"),
    (100, "unable to create a new test"),
    (101, "test initialization failed"),
    (102, "unable to start listener for connections"),
    (
        103,
        "unable to connect to server - server may have stopped running or use a different port, firewall issue, etc.",
    ),
    (104, "unable to accept connection from client"),
    (105, "unable to send cookie to server"),
    (106, "unable to receive cookie at server"),
    (107, "unable to write to the control socket"),
    (108, "unable to read from the control socket"),
    (109, "control socket has closed unexpectedly"),
    (110, "received an unknown control message"),
    (111, "unable to send control message"),
    (112, "unable to receive control message"),
    (113, "unable to send parameters to server"),
    (114, "unable to receive parameters from client"),
    (115, "unable to package results"),
    (116, "unable to send results"),
    (117, "unable to receive results"),
    (118, "select failed"),
    (119, "the client has terminated"),
    (120, "the server has terminated"),
    (121, "the server is busy running a test. try again later"),
    (122, "unable to set TCP/SCTP NODELAY"),
    (123, "unable to set TCP/SCTP MSS"),
    (124, "unable to set socket buffer size"),
    (125, "unable to set IP TOS"),
    (126, "unable to set IPv6 traffic class"),
    (127, "unable to set IPv6 flow label"),
    (128, "unable to reuse address on socket"),
    (129, "unable to set socket to non-blocking"),
    (130, "unable to set socket window size"),
    (131, "protocol does not exist"),
    (132, "unable to set CPU affinity"),
    (133, "unable to become a daemon"),
    (134, "unable to set TCP_CONGESTION: Supplied congestion control algorithm not supported on this host"),
    (135, "unable to write PID file"),
    (136, "Unable to set/reset IPV6_V6ONLY"),
    (137, "unable to set SCTP_DISABLE_FRAGMENTS"),
    (138, "unable to set SCTP_INIT num of SCTP streams"),
    (139, "unable to bind an SCTP socket to its addresses"),
    (140, "unable to set socket pacing"),
    (141, "socket buffer size not set correctly"),
    (142, "test authorization failed"),
    (143, "Unable to bind-to-device (check perror, maybe permissions?)"),
    (144, "idle timeout for receiving data"),
    (145, "unable to set IP Do-Not-Fragment flag"),
    (146, "`<ip>%<dev>` is not supported as system does not support bind to device"),
    (147, "host device name (ip%<dev>) is supported (and required) only for IPv6 link-local address"),
    (148, "unable to set TCP USER_TIMEOUT"),
    (150, "a thread cannot be prepared"),
    (151, "a thread cannot be started"),
    (152, "a thread cannot be cancelled"),
    (153, "a thread cannot be waited for"),
    (154, "a lock between threads cannot be made"),
    (155, "the control connection's keepalive cannot be set"),
    (156, "the control connection's keepalive time cannot be set"),
    (157, "the control connection's keepalive interval cannot be set"),
    (158, "the control connection's keepalive count cannot be set"),
    (159, "a lock between threads cannot be given back"),
    (160, "the server waited for the end of the test in vain"),
    (200, "unable to create a new stream"),
    (201, "unable to initialize stream"),
    (202, "unable to start stream listener"),
    (203, "unable to connect stream"),
    (204, "unable to accept stream connection"),
    (205, "unable to write to stream socket"),
    (206, "unable to read from stream socket"),
    (207, "stream socket has closed unexpectedly"),
    (208, "stream has an invalid id"),
    (300, "unable to create new timer"),
    (301, "unable to update timer"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_texts_are_in_order() {
        assert!(TEXTS.is_sorted_by(|one, other| one.0 < other.0));
        assert_eq!(Code(121).to_string(), "the server is busy running a test. try again later");
        assert_eq!((Code(-7).to_string(), Code(161).text()), ("int_errno=-7".to_owned(), None));
    }
}
