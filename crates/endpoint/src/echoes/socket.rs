//! The socket of one IP version. None of its calls waits.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};

use measure::method::SocketOptions;
use protocol::icmp::echo::Echo;
use protocol::native::header::Flags;
use protocol::wire::{Reading, Wire};
use socket2::Socket;

use super::Task;
use crate::error::EndpointError;
use crate::socket::icmp::{self, Wishes};
use crate::socket::queue::{Notice, next_notice_into};
use crate::socket::{self, echo};

/// Attempts at a send that errors of earlier requests keep from leaving.
const TRIES: u32 = 8;
/// Octets that are looked at of what an error quotes.
const QUOTE: usize = 128;
/// The largest IP header.
const IP_HEADER: usize = 60;

/// A message that came.
pub enum Message {
    /// A reply.
    Reply {
        /// The request's number.
        number: u64,
        /// Octets of the ICMP message.
        octets: usize,
        /// Its sender.
        from: IpAddr,
        /// The kernel's stamp, wall clock, nanoseconds since 1970.
        stamp: Option<u64>,
    },
    /// An ICMP error.
    Error {
        /// The last 16 bits of the request's number.
        number: u16,
        /// Its sender.
        from: IpAddr,
        /// ICMP type.
        kind: u8,
        /// ICMP code.
        code: u8,
    },
    /// A message that concerns no request.
    Other,
}

/// A socket, not connected.
pub struct EchoSocket {
    socket: Socket,
    echo: Echo,
    request: Vec<u8>,
    buffer: Vec<u8>,
}

impl EchoSocket {
    /// One for hosts such as `first`.
    pub fn open(task: &Task, first: SocketAddr, source: Option<IpAddr>) -> Result<Self, EndpointError> {
        let options = SocketOptions { bind: source, ..task.socket.clone() };
        let wishes = Wishes { anybody: true, ..task.wishes.clone() };
        let opened = icmp::open_as(first, &options, &wishes)?;
        echo::tell_all(&opened.socket, first.is_ipv6(), true);
        let mut request = vec![0; Echo::message_length(0)];
        request.extend_from_slice(&task.payload);
        let buffer = vec![0; request.len() + IP_HEADER + 1];
        let echo = opened.echo.for_payload(task.payload.len());
        Ok(Self { socket: opened.socket, echo, request, buffer })
    }

    /// For those who wait.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Sends the request with this number; `told` hears of errors that earlier ones met.
    pub fn send(&mut self, number: u64, to: SocketAddr, told: &mut dyn FnMut(Message)) -> io::Result<()> {
        self.echo.prepare(&mut self.request, number, Flags::NONE);
        let name = socket::towards(&self.socket, to);
        let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
        let mut tries = 1;
        loop {
            match self.socket.send_to_with_flags(&self.request, &name, flags) {
                Ok(_) => return Ok(()),
                Err(error) => {
                    // An error of an earlier request fails the next call.
                    let mut any = false;
                    while let Some(message) = self.error() {
                        any = true;
                        told(message);
                    }
                    if !any || tries == TRIES {
                        return Err(error);
                    }
                    tries += 1;
                }
            }
        }
    }

    /// The next message. `oldest` is the number of the oldest request that may be answered.
    pub fn hear(&mut self, oldest: u64) -> Option<Message> {
        let Ok(heard) = echo::receive(self.socket.as_fd(), &mut self.buffer, libc::MSG_DONTWAIT) else {
            return self.error();
        };
        let delivered = &self.buffer[..heard.length];
        let octets = self.echo.message(delivered).map_or(0, <[u8]>::len);
        Some(match (self.echo.identify(delivered, oldest), heard.from) {
            (Reading::Reply(number), Some(from)) => {
                Message::Reply { number, octets, from: from.ip(), stamp: heard.stamp }
            }
            _ => Message::Other,
        })
    }

    /// Returns the next error that another host sent.
    fn error(&mut self) -> Option<Message> {
        let mut quote = [0; QUOTE];
        let (notice, length) = next_notice_into(self.socket.as_fd(), &mut quote)?;
        let Notice::Error(report) = notice else { return Some(Message::Other) };
        let number = self.echo.quoted(&quote[..length]);
        Some(match (number, report.from) {
            (Some(number), Some(from)) => Message::Error { number, from, kind: report.kind, code: report.code },
            _ => Message::Other,
        })
    }
}
