//! Our iperf3 client: against the real iperf3's server where it is installed, against our own, through a path that loses
//! datagrams, and against servers that behave badly.

mod own;
mod real;
mod relay;
mod rogue;

use std::net::SocketAddr;

use endpoint::peer::iperf3::client::{Failure, Finish, Measured, Progress, Session, Setup, Test};
use endpoint::stop::Stop;
use measure::event::Event;
use protocol::iperf3::parameters::Parameters;

/// Runs a test.
fn run(server: SocketAddr, parameters: Parameters) -> Result<Measured, Failure> {
    run_test(server, &Test::new(parameters), &Stop::default())
}

fn run_test(server: SocketAddr, test: &Test, stop: &Stop) -> Result<Measured, Failure> {
    Session::open(Setup::towards(vec![server]), stop)?.measure(test, stop, &mut |_| {})
}

/// Runs a test that goes as it should, and the bytes of its intervals by stream.
fn complete(server: SocketAddr, test: &Test) -> (Measured, Vec<u64>) {
    let stop = Stop::default();
    let session = Session::open(Setup::towards(vec![server]), &stop).unwrap();
    let mut intervals = Vec::new();
    let measured = session.measure(test, &stop, &mut |progress| match progress {
        Progress::Streams(connections) => intervals = vec![0; connections.len()],
        Progress::Engine(Event::Carried { thread, interval }) if !interval.omitted => {
            intervals[thread as usize] += interval.carried.bytes.0;
        }
        Progress::Engine(_) => {}
    });
    let measured = measured.unwrap();
    assert_eq!(measured.finish, Finish::Complete, "{:?}", measured.trouble);
    (measured, intervals)
}

/// Bytes that each end counted of each stream.
fn bytes(measured: &Measured) -> Vec<(u64, u64)> {
    let theirs = measured.theirs.as_ref().expect("results");
    measured.ours.streams.iter().zip(&theirs.streams).map(|(ours, theirs)| (ours.bytes, theirs.bytes)).collect()
}
