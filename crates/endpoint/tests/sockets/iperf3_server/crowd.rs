//! Many clients at once.

use std::thread;

use endpoint::peer::iperf3::client::{Finish, Session, Setup, Test};
use endpoint::stop::Stop;
use protocol::iperf3::parameters::{Direction, Parameters, Protocol};

use super::Ours;

/// Runs a test of our client against `server`: bytes that each end counted of each stream.
fn run(server: &Ours, host: &str, parameters: Parameters) -> Vec<(u64, u64)> {
    let stop = Stop::default();
    let session = Session::open(Setup::towards(vec![server.at(host)]), &stop).unwrap();
    let measured = session.measure(&Test::new(parameters), &stop, &mut |_| {}).unwrap();
    assert_eq!(measured.finish, Finish::Complete, "{:?}", measured.trouble);
    let theirs = measured.theirs.unwrap();
    measured.ours.streams.iter().zip(&theirs.streams).map(|(ours, theirs)| (ours.bytes, theirs.bytes)).collect()
}

#[test]
fn two_hundred_clients_at_once_are_served_alike() {
    let server = Ours::start();
    thread::scope(|scope| {
        let clients: Vec<_> = (0..200_u64)
            .map(|number| {
                let server = &server;
                // Every third over UDP, and no more than a socket's buffer holds: its thread may come late.
                let udp = number % 3 == 0;
                let parameters = Parameters {
                    protocol: if udp { Protocol::Udp } else { Protocol::Tcp },
                    blocks: 20 + number % 50,
                    block: Some(1_000),
                    rate: udp.then_some(2_000_000),
                    time: 0,
                    ..Parameters::default()
                };
                scope.spawn(move || (number, run(server, "127.0.0.1", parameters)))
            })
            .collect();
        for client in clients {
            let (number, seen) = client.join().unwrap();
            let bytes = (20 + number % 50) * 1_000;
            assert_eq!(seen, [(bytes, bytes)], "client {number}");
        }
    });
    assert!((1..=200).all(|test| server.notes.over(test).failed.is_none()));
}

/// Flows of one address cannot be told apart but by whose turn it is: what each test carries shows whether they were.
#[test]
fn tests_over_udp_from_one_address_keep_their_flows() {
    let server = Ours::start();
    thread::scope(|scope| {
        let clients: Vec<_> = (1..20_u64)
            .map(|number| {
                let server = &server;
                let reverse = number % 2 == 0;
                let parameters = Parameters {
                    protocol: Protocol::Udp,
                    direction: if reverse { Direction::Reverse } else { Direction::Upload },
                    parallel: 3,
                    bytes: number * 3_000,
                    block: Some(1_000),
                    rate: Some(400_000),
                    time: 0,
                    ..Parameters::default()
                };
                scope.spawn(move || (number, reverse, run(server, "::1", parameters)))
            })
            .collect();
        for client in clients {
            let (number, reverse, seen) = client.join().unwrap();
            let (ours, theirs) = seen.iter().fold((0, 0), |sum, stream| (sum.0 + stream.0, sum.1 + stream.1));
            assert_eq!(seen.len(), 3);
            if reverse {
                assert!(ours >= number * 3_000 && theirs >= ours, "{number}: {seen:?}");
            } else {
                assert_eq!((ours, theirs), (number * 3_000, number * 3_000), "{number}: {seen:?}");
            }
        }
    });
}
