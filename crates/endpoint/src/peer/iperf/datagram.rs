//! Sending a flow of datagrams, towards a server or back to a client, and its end.

use std::os::fd::AsFd;

use measure::unit::Instant;
use protocol::bulk::{Bulk, Call, Numbering};
use protocol::iperf::closing::Closing;
use protocol::iperf::datagram::{HEAD, IperfNumbering};
use protocol::iperf::fin::{self, AckFin};
use protocol::iperf::frame::{Block, Layout};
use protocol::link::Fault;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use socket2::Socket;

use super::framed::Cut;
use super::tcp::wall;
use crate::clock::{self, Monotonic};
use crate::link::bulk::by_the_machines_clocks;
use crate::link::clockwork::{fault_of, poll_one};
use crate::pace;
use crate::socket::envelope::Envelope;
use crate::socket::queue;
use crate::stop::Stop;

/// Destination of datagrams.
pub enum Aim {
    /// The peer to which the socket is connected.
    Connected,
    /// To who sent the datagram that this held, from where it was sent to.
    Answering(Box<Envelope>),
}

/// Sends numbered datagrams, all of one size but the first.
pub struct Flowing {
    socket: Socket,
    aim: Aim,
    datagram: Vec<u8>,
    /// The first one, where it is longer.
    first: Option<Vec<u8>>,
    sent: u64,
    left: Option<u64>,
    /// The frame that is sent, where frames are.
    frame: Option<Block>,
    /// Place of what datagrams say of it; absent: nothing.
    layout: Option<Layout>,
}

impl Flowing {
    /// Datagrams like `datagram` over `socket`, the first like `first` where that is given; it ends with the one that
    /// reaches `bytes`.
    pub fn new(socket: Socket, aim: Aim, datagram: Vec<u8>, first: Option<Vec<u8>>, bytes: Option<u64>) -> Self {
        let mut datagram = datagram;
        datagram.resize(datagram.len().max(HEAD), 0);
        Self { socket, aim, datagram, first, sent: 0, left: bytes, frame: None, layout: None }
    }

    /// Datagrams say at `layout` of which frame they are.
    #[must_use]
    pub fn told_at(self, layout: Layout) -> Self {
        Self { layout: Some(layout), ..self }
    }

    /// The socket itself.
    pub fn socket(&self) -> &Socket {
        &self.socket
    }

    /// Says once that it was the last, and waits for nothing.
    pub fn say_last(&mut self) {
        IperfNumbering::CURRENT.write_last(&mut self.datagram, self.sent, 0, wall());
        let _gone = dispatch(&self.socket, &mut self.aim, &self.datagram);
    }

    /// Says that it was the last until the report comes, over a connected socket: the report, where there is one.
    pub fn close(&mut self, stop: &Stop) -> Option<AckFin> {
        let mut closing = Closing::new(IperfNumbering::CURRENT, self.sent, Monotonic::now());
        let mut buffer = [0; 2 * fin::LONG];
        while let Some(due) = closing.wake()
            && !stop.requested()
        {
            if closing.depart(&mut self.datagram, Monotonic::now(), wall()) {
                // One that does not leave is said again.
                let _gone = dispatch(&self.socket, &mut self.aim, &self.datagram);
            }
            poll_one(self.socket.as_fd(), false, due.after(protocol::iperf::closing::AGAIN));
            while let Ok((count, _)) = recv(self.socket.as_fd(), &mut buffer[..], RecvFlags::DONTWAIT) {
                closing.arrive(&buffer[..count.min(fin::LONG)]);
            }
        }
        closing.report().copied()
    }
}

fn dispatch(socket: &Socket, aim: &mut Aim, datagram: &[u8]) -> Result<usize, Errno> {
    match aim {
        Aim::Connected => send(socket, datagram, SendFlags::NOSIGNAL),
        Aim::Answering(envelope) => envelope.answer(socket.as_fd(), datagram).map(|()| datagram.len()),
    }
}

impl Cut for Flowing {
    fn begin_frame(&mut self, frame: &Block) {
        self.frame = Some(*frame);
    }

    fn is_whole(&self) -> bool {
        self.frame.is_none_or(|frame| frame.left == 0)
    }
}

impl Bulk for Flowing {
    #[inline]
    fn call(&mut self) -> Result<Call, Fault> {
        if self.left == Some(0) {
            return Ok(Call::End);
        }
        let Self { socket, aim, datagram, first, sent, left, frame, layout } = self;
        let datagram = first.as_mut().unwrap_or(datagram);
        let least = layout.map_or(HEAD, Layout::end);
        let mut length = datagram.len();
        if let Some(frame) = frame {
            // The part that a datagram shorter than its own header would have is as long as that.
            frame.left = frame.left.max(u32::try_from(least).unwrap_or(u32::MAX));
            frame.size = frame.size.max(frame.left);
            length = length.min(frame.left as usize);
            if let Some(layout) = layout {
                frame.write(datagram, *layout);
            }
        }
        IperfNumbering::CURRENT.write(datagram, *sent + 1, wall());
        match dispatch(socket, aim, &datagram[..length]) {
            Ok(count) => {
                *sent += 1;
                if let Some(frame) = frame {
                    frame.left = frame.left.saturating_sub(u32::try_from(count).unwrap_or(u32::MAX));
                }
                *left = left.map(|left| left.saturating_sub(count as u64));
                *first = None;
                Ok(Call::Moved(count))
            }
            Err(errno) => not_sent(socket, errno),
        }
    }

    by_the_machines_clocks!();
}

#[cold]
fn not_sent(socket: &Socket, errno: Errno) -> Result<Call, Fault> {
    match errno {
        Errno::AGAIN | Errno::INTR => Ok(Call::Nothing),
        Errno::NOBUFS | Errno::NOMEM => Ok(Call::Failed),
        errno => {
            // The details of an error that an earlier datagram met would wake every poll from now on.
            while queue::next_notice(socket.as_fd()).is_some() {}
            Err(fault_of(errno))
        }
    }
}
