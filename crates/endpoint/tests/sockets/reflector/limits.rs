//! Each bound is kept by a refusal that names it.

use measure::method::Carrier;
use measure::unit::{Bytes, Nanos, Rate};
use protocol::native::error::SessionError;
use protocol::native::header::Token;
use protocol::native::limits::Limits;
use protocol::native::message::{Open, Reason};
use protocol::native::preamble::{Data, DataAnswer, DataRefusal, Decline};
use test_case::test_case;

use crate::reflector::{with_limits, with_reflector};
use testbed::client::open;
use testbed::client::{self, Session};

fn narrow() -> Limits {
    Limits {
        sessions: 2,
        flows_per_session: 2,
        rate_per_flow: Rate::per_second(100),
        duration_ns: Nanos::secs(5),
        idle_ns: Nanos::secs(5),
        memory_bytes: Bytes(2_000),
        largest_request: Bytes(1_000),
        largest_response: Bytes(900),
    }
}

#[test_case(|open| open.flows = 3, Reason::Flows, "flows per session: 3")]
#[test_case(|open| open.request_bytes = Bytes(1_001), Reason::RequestSize, "largest request: 1001 B")]
#[test_case(|open| open.response_bytes = Bytes(901), Reason::ResponseSize, "largest response: 901 B")]
#[test_case(|open| open.duration_ns = Some(Nanos::secs(6)), Reason::Duration, "duration: 6 s")]
#[test_case(|open| open.rate_per_flow = Rate::per_second(101), Reason::Rate, "rate per flow: 101/s")]
#[test_case(|open| { open.flows = 2; open.request_bytes = Bytes(1_000) }, Reason::Memory, "memory per session: 2128 B")]
#[test_case(|open| open.cpus = vec![100_000], Reason::Cpus, "CPU 100000")]
fn a_bound_is_named_by_its_refusal(change: impl Fn(&mut Open), reason: Reason, words: &str) {
    with_limits(narrow(), |address, _| {
        let mut wanted = open(Carrier::Tcp);
        change(&mut wanted);
        match Session::open(address, wanted).expect_err("refused") {
            SessionError::Refused(refused) => {
                assert_eq!(refused.reason, reason);
                assert!(refused.detail.contains(words), "{}", refused.detail);
            }
            other => panic!("{other}"),
        }
        assert!(Session::open(address, open(Carrier::Tcp)).is_ok(), "what is within the bounds is let in");
    });
}

#[test]
fn one_session_too_many_is_turned_away_until_another_ends() {
    with_limits(narrow(), |address, _| {
        let first = Session::open(address, open(Carrier::Tcp)).unwrap();
        let _second = Session::open(address, open(Carrier::Udp)).unwrap();
        match Session::open(address, open(Carrier::Tcp)).expect_err("turned away") {
            SessionError::Declined { decline: Decline::Busy, .. } => {}
            SessionError::Refused(refused) => assert_eq!(refused.reason, Reason::Sessions),
            other => panic!("{other}"),
        }
        // The report comes when the session is over for the reflector too.
        first.close();
        assert!(Session::open(address, open(Carrier::Tcp)).is_ok(), "there is room again");
    });
}

#[test]
fn a_data_connection_needs_a_token_a_flow_and_a_version_that_fit() {
    with_reflector(|address| {
        let session = Session::open(address, open(Carrier::Tcp)).unwrap();
        let good = Data { version: 1, token: session.token(), flow: 0 };
        let refused = |data| client::data(address, data).expect_err("refused");
        let guess = Data { token: Token([7; 16]), ..good };
        assert_eq!(refused(guess), DataAnswer::Refused(DataRefusal::UnknownToken));
        assert_eq!(refused(Data { flow: 1, ..good }), DataAnswer::Refused(DataRefusal::FlowBeyond));
        assert_eq!(refused(Data { version: 2, ..good }), DataAnswer::Refused(DataRefusal::Version));
        let _carried = client::data(address, good).expect("let in");
        assert_eq!(refused(good), DataAnswer::Refused(DataRefusal::FlowTaken));
        let udp = Session::open(address, open(Carrier::Udp)).unwrap();
        assert_eq!(refused(Data { token: udp.token(), ..good }), DataAnswer::Refused(DataRefusal::NotTcp));
    });
}
