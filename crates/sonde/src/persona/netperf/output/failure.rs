//! Lines of a run that comes to nothing: words and exit status of the original, on the stream it uses.

use std::net::IpAddr;

use endpoint::name::Family;

use crate::persona::answer::Answer;
use crate::persona::netperf::command_line::server::family_name;
use crate::persona::netperf::options::{Control, Length, Options};

/// Status where the original returns −1.
const MINUS_ONE: u8 = 255;

/// Nothing listens at the control port, or it can't be reached. `family`: of the address that was tried.
pub fn unreachable(control: &Control, family: Family, reason: &str) -> Answer {
    let (host, port) = (control.target(), control.port);
    let local = control.local_host.as_deref().unwrap_or("0.0.0.0");
    let (local_port, local_family) = (control.local_port, family_name(control.local_family));
    let family = family_name(family);
    let stdout = format!(
        "establish control: are you sure there is a netserver listening on {host} at port {port}?\n\
         establish_control could not establish the control connection from {local} port {local_port} address family \
         {local_family} to {host} port {port} address family {family}\n"
    );
    // The reason names the address: a host that is one is not said twice.
    let named = if host.parse::<IpAddr>().is_ok() { String::new() } else { format!("{host}:{port}: ") };
    let stderr = format!("netperf: {named}{reason}\n");
    Answer { stdout, stderr, status: MINUS_ONE }
}

/// A name that nobody knows. `reason`: what the resolver says.
pub fn unresolved(host: &str, family: Family, reason: &str) -> Answer {
    // The resolver's own numbers (netdb.h), which the standard library does not tell.
    let number = if reason.contains("Temporary failure") { -3 } else { -2 };
    let family = family_name(family);
    let stdout = format!(
        "resolve_host: could not resolve host '{host}' port '(null)' af {family}\n\
         \tgetaddrinfo returned {number} {reason}\n\
         Netperf could not resolve {host} as a host name\n"
    );
    Answer { stdout, stderr: String::new(), status: MINUS_ONE }
}

/// The data connection was refused or timed out.
pub fn no_data_connection(reason: &str) -> Answer {
    Answer::complaint(format!("netperf: send_omni: connect_data_socket failed: {reason}\n"))
}

/// Any other reason, in our words.
pub fn other(reason: &str) -> Answer {
    Answer::complaint(format!("netperf: {reason}\n"))
}

/// The sentence, with status 1, for a result that is worth nothing though the run came to its end; `None` where it is
/// worth something.
pub fn worthless(options: &Options, facts: &crate::persona::netperf::facts::Facts) -> Option<Answer> {
    let transactions = options.data.direction.is_transactions();
    let what = if transactions { "transaction" } else { "byte" };
    let done = |it: &crate::persona::netperf::facts::Iteration| {
        if transactions { it.transactions } else { it.local.received_bytes.max(it.remote.received_bytes) }
    };
    if facts.iterations.iter().any(|it| done(it) > 0) || !options.test.has_data() {
        return None;
    }
    let how_long = match options.length {
        Length::Seconds(seconds) => format!(" in {seconds} s"),
        Length::UntilInterrupted | Length::Count(_) => String::new(),
    };
    Some(other(&format!("not one {what} came through{how_long}: the result says nothing")))
}
