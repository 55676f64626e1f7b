//! Round trips over loopback with nothing around the calls: the floor under every exchange on this machine.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use measure::resolution::{FloorCarrier, LoopbackFloor, Placement, Times};
use measure::unit::Nanos;
use socket2::Socket;

use super::on;
use crate::clock::Monotonic;

/// Bytes each way.
const SIZE: usize = 64;

/// Round trips there is room for from the start: 8 MB.
const MOST_AT_ONCE: u64 = 1_000_000;

/// Settings of one floor.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setting {
    pub(super) carrier: FloorCarrier,
    pub(super) spinning: bool,
    pub(super) placement: Placement,
    /// The asking end's CPU and the answering end's.
    pub(super) cpus: [u32; 2],
}

/// Exchanges for `span`.
pub(super) fn measure(set: Setting, span: Nanos) -> io::Result<LoopbackFloor> {
    let (near, far) = match set.carrier {
        FloorCarrier::Tcp => tcp_pair()?,
        FloorCarrier::Udp => udp_pair()?,
    };
    near.set_nonblocking(set.spinning)?;
    far.set_nonblocking(set.spinning)?;
    let over = AtomicBool::new(false);
    let (times, elapsed) = thread::scope(|scope| {
        let answering = scope.spawn(|| {
            // Nobody waits for answers that will not come.
            on(set.cpus[1], || answer(&far, &over)).inspect_err(|_| drop(end(&near, &over)))
        });
        let asked = on(set.cpus[0], || ask(&near, span, &over));
        let shut = end(&far, &over);
        let answered = answering.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        // Without answers ours fails too: the reason of the answering end is the one to report.
        answered.and(asked).and_then(|asked| shut.map(|()| asked))
    })?;
    let per_s = times.len() as f64 / elapsed.as_secs_f64();
    let Setting { carrier, spinning, placement, .. } = set;
    Ok(LoopbackFloor { carrier, spinning, placement, round_trip: Times::of(times), per_s })
}

fn ask(near: &Socket, span: Nanos, over: &AtomicBool) -> io::Result<(Vec<u64>, Nanos)> {
    // Room for 4 us each, and written once, so that no page fault falls into the loop; more than that grows as it comes.
    let mut times = vec![1; (span.0 / 4_000).min(MOST_AT_ONCE) as usize];
    times.clear();
    let mut message = [1; SIZE];
    let start = Monotonic::now();
    let mut sent = start;
    loop {
        (&*near).write_all(&message)?;
        receive(near, &mut message, over)?;
        let received = Monotonic::now();
        times.extend(received.since(sent).map(|time| time.0));
        let elapsed = received.since(start).unwrap_or_default();
        if elapsed >= span {
            return Ok((times, elapsed));
        }
        sent = received;
    }
}

/// Ends what waits at an end, whatever became of the other: a read that blocks ends with the shutdown, one that polls UDP sees
/// nothing of that and looks at the flag.
fn end(socket: &Socket, over: &AtomicBool) -> io::Result<()> {
    over.store(true, Ordering::Relaxed);
    socket.shutdown(Shutdown::Both)
}

/// Answers until it is ended.
fn answer(far: &Socket, over: &AtomicBool) -> io::Result<()> {
    let mut message = [0; SIZE];
    loop {
        match receive(far, &mut message, over) {
            Ok(()) => (&*far).write_all(&message)?,
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            Err(error) => return Err(error),
        }
    }
}

/// One message, whole; polls where the socket does not block. Loopback does not divide 64 bytes.
fn receive(mut socket: &Socket, message: &mut [u8], over: &AtomicBool) -> io::Result<()> {
    loop {
        match socket.read_exact(message) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                if over.load(Ordering::Relaxed) {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                std::hint::spin_loop();
            }
            done => return done,
        }
    }
}

fn tcp_pair() -> io::Result<(Socket, Socket)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let near = TcpStream::connect(listener.local_addr()?)?;
    // Someone else may have been faster: only our own connection counts.
    let far = loop {
        let (far, from) = listener.accept()?;
        if from == near.local_addr()? {
            break far;
        }
    };
    near.set_nodelay(true)?;
    far.set_nodelay(true)?;
    Ok((near.into(), far.into()))
}

fn udp_pair() -> io::Result<(Socket, Socket)> {
    let near = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    let far = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    near.connect(far.local_addr()?)?;
    far.connect(near.local_addr()?)?;
    Ok((near.into(), far.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answering_end_ends_when_told_and_has_answered_all() {
        for pair in [tcp_pair, udp_pair] {
            for spinning in [false, true] {
                let (near, far) = pair().unwrap();
                let over = AtomicBool::new(false);
                far.set_nonblocking(spinning).unwrap();
                thread::scope(|scope| {
                    let answering = scope.spawn(|| answer(&far, &over));
                    for n in 0..10 {
                        (&near).write_all(&[n; SIZE]).unwrap();
                        let mut back = [0; SIZE];
                        (&near).read_exact(&mut back).unwrap();
                        assert_eq!(back, [n; SIZE]);
                    }
                    end(&far, &over).unwrap();
                    answering.join().unwrap().unwrap();
                });
            }
        }
    }

    #[test]
    fn an_answering_end_that_fails_leaves_nobody_waiting() {
        for carrier in [FloorCarrier::Tcp, FloorCarrier::Udp] {
            for spinning in [false, true] {
                // There is no such CPU to answer on.
                let set = Setting { carrier, spinning, placement: Placement::TwoCpus, cpus: [0, 1_000_000] };
                assert!(measure(set, Nanos::secs(60)).is_err());
            }
        }
    }
}
