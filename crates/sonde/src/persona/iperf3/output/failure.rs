//! Lines of a run that comes to nothing, in the words that the original's errors have.

use protocol::iperf3::code::Code;

/// A line of standard error.
pub fn line(text: &str) -> String {
    format!("iperf3: error - {text}\n")
}

/// The words of a fault; `said`: what the system says of it, where it was the system's.
pub fn text(code: Code, said: Option<&str>) -> String {
    match said {
        Some(said) if code.with_system_error() => format!("{code}: {said}"),
        _ => code.to_string(),
    }
}

/// A client whose server is not there.
pub fn unconnected(said: &str) -> String {
    format!(
        "unable to connect to server - server may have stopped running or use a different port, firewall issue, etc.: \
         {said}"
    )
}

/// We were ended by a signal: `name` as in `Interrupt`, and its number.
pub fn interrupted(client: bool, name: &str, number: i32) -> String {
    let end = if client { "client" } else { "server" };
    format!("interrupt - the {end} has terminated by signal {name}({number})")
}
