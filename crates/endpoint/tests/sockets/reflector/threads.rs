//! One thread serves connections of many sessions, one after the other: nothing of one session is left to the next.

use std::io::{Read, Write};

use measure::method::{Carrier, Pattern, Waiting};
use measure::unit::Nanos;
use protocol::native::header::Flags;
use protocol::native::message::{Open, Report};
use rustix::thread::{CpuSet, sched_getaffinity};

use crate::reflector::with_reflector;
use testbed::client::Session;
use testbed::client::open;

fn exchange(session: &Session, flow: u16, count: u64) -> std::net::TcpStream {
    let mut stream = session.data(flow).unwrap();
    let mut request = session.request(0, Flags::NONE, 64, 64);
    request[26..28].copy_from_slice(&flow.to_be_bytes());
    for _ in 0..count {
        stream.write_all(&request).unwrap();
        stream.read_exact(&mut [0; 64]).unwrap();
    }
    stream
}

#[test]
fn a_pinned_session_leaves_no_thread_pinned_to_the_next() {
    let allowed = sched_getaffinity(None).unwrap();
    let cpus: Vec<u32> = (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu)).map(|cpu| cpu as u32).collect();
    let [first, .., last] = cpus[..] else {
        return testbed::skip::aloud("threads pinned in turn: there is one CPU to run on");
    };
    with_reflector(|address| {
        for cpu in [first, last].repeat(8) {
            let pinned = Open { cpus: vec![cpu], pattern: Pattern::ConnectExchange, ..open(Carrier::Tcp) };
            // A control connection on a thread that was still pinned could not offer the other CPU.
            let session = Session::open(address, pinned).expect("every CPU of the reflector's can be had");
            assert_eq!(session.opened.got.cpus, [cpu]);
            for _ in 0..4 {
                exchange(&session, 0, 1);
            }
            assert_eq!(session.close().received, [4]);
        }
    });
}

fn used(report: &Report) -> Nanos {
    Nanos(report.user_ns.expect("told").0 + report.system_ns.expect("told").0)
}

#[test]
fn cpu_time_is_told_of_a_session_not_of_its_threads_before() {
    with_reflector(|address| {
        let two = |waiting| Open { flows: 2, waiting: Some(waiting), ..open(Carrier::Tcp) };
        let busy = Session::open(address, two(Waiting::Spin)).unwrap();
        // Both spin until the first has answered all.
        drop([exchange(&busy, 1, 1), exchange(&busy, 0, 5_000)]);
        let first = used(&busy.close());
        // Three connections again: whichever thread attends to which, at least one that was busy has a flow.
        let calm = Session::open(address, two(Waiting::Block)).unwrap();
        drop([exchange(&calm, 0, 1), exchange(&calm, 1, 1)]);
        let second = used(&calm.close());
        assert!(second.0 * 4 < first.0, "{second} after {first}");
    });
}
