//! Actions where a session with an iperf3 server failed.

use protocol::iperf3::code::Code;
use protocol::iperf3::error::{Error, Step};

/// The action against `error`; `None` where nothing is known to help.
pub fn iperf3(error: &Error) -> Option<&'static str> {
    Some(match error {
        Error::Busy => "an iperf3 server runs one test at a time: wait for the other to end, or use another port",
        Error::Server { code: Some(Code::AUTHORISATION), .. } => {
            "user, password or key do not fit, the clocks differ, or the versions pad otherwise: iperf3 before 3.17 wants --use-pkcs1-padding"
        }
        Error::Server { code: Some(Code::TOTAL_RATE), .. } => {
            "the server limits the bits a second of all streams together: lower -b or -P"
        }
        Error::Server { code: Some(Code::SERVER_DURATION), .. } => "the server limits how long a test is: lower -t",
        Error::Closed { step: Step::Streams } => {
            "a server of 3.17 and later closes so where a login fails: user, password, key, the clocks, or --use-pkcs1-padding"
        }
        Error::Closed { .. } => "the server stopped, or the connection was cut: its own output may tell",
        Error::Silent { step: Step::Greeting, .. } => "is this an iperf3 server?",
        Error::Silent { .. } => "the server or the path to it fell silent: see whether it still runs",
        Error::Unknown { step: Step::Greeting, .. } => "this is no iperf3 server (iperf 2 speaks another protocol)",
        _ => return None,
    })
}
