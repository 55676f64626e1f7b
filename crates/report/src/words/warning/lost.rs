//! What to try against requests that got no reply: it depends on what decides when they leave.

use measure::verdict::lost::LeavesBy;

use crate::words::command::Command;

/// What to try where `count` of `sent` requests were lost, of which our own sockets had no room for `dropped`.
pub fn advice(count: u64, sent: u64, dropped: Option<u64>, by: LeavesBy, command: Command) -> &'static str {
    let ours = dropped.is_some_and(|dropped| dropped.saturating_mul(2) >= count);
    match (ours, by) {
        (true, _) if command == Command::Syn => {
            "most came back and were dropped on our side: read faster (--wait spin, a --cpu of its own), or lower --rate or --burst"
        }
        _ if command == Command::Syn && count >= sent => {
            "a firewall may drop them, or nobody is there: try another port, or `sonde check`"
        }
        (true, LeavesBy::Trace) => {
            "most came back and were dropped on our side: raise --receive-buffer (and net.core.rmem_max), read faster (--wait spin, a --cpu of its own), or ask for fewer replies (--reply-every)"
        }
        (true, _) => {
            "most came back and were dropped on our side: raise --receive-buffer (and net.core.rmem_max), read faster (--wait spin, a --cpu of its own), or lower --rate or --burst"
        }
        (_, LeavesBy::Rate | LeavesBy::Trace) if count >= sent => {
            "a firewall may drop them, or the far side is gone: try the other carrier (--tcp, --udp)"
        }
        _ if count >= sent => {
            "a firewall may drop them, or nobody is there: try another carrier (--tcp, --udp, --icmp, --connect)"
        }
        (_, LeavesBy::Rate) => "lower --rate or --size; raise --timeout to tell the lost from the late",
        (_, LeavesBy::Trace) => {
            "raise --timeout to tell the lost from the late, or try --tcp: the path does not carry what the schedule asks for"
        }
        _ => "lower --rate or --window; raise --timeout to tell the lost from the late",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use test_case::test_case;

    /// Options that the command which measured so does not have.
    const NOT_OF: [(LeavesBy, &[&str]); 3] = [
        (LeavesBy::Window, &["--reply-every"]),
        (LeavesBy::Rate, &["--window", "--icmp", "--connect"]),
        (LeavesBy::Trace, &["--window", "--icmp", "--connect", "--rate", "--burst", "--size"]),
    ];

    #[test_case(1, None; "some")]
    #[test_case(100, None; "all")]
    #[test_case(10, Some(5); "on our side")]
    fn nothing_is_advised_that_the_command_does_not_have(count: u64, dropped: Option<u64>) {
        for (by, absent) in NOT_OF {
            let advice = advice(count, 100, dropped, by, Command::Rtt);
            let has = |option: &&str| advice.split([' ', ',', ';', '(', ')']).any(|word| word == *option);
            assert_eq!(absent.iter().find(|option| has(option)), None, "{by:?}: {advice}");
        }
    }
}
