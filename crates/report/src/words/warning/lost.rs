//! Actions against requests that got no reply: they depend on what decides when requests leave.

use measure::verdict::lost::LeavesBy;

use crate::words::command::Command;

/// Losses from which connections may be compared by them.
const OF_A_PATH: u64 = 3;

/// The action where `count` of `sent` requests were lost, of which our own sockets had no room for `dropped`.
pub fn advice(count: u64, sent: u64, dropped: Option<u64>, by: LeavesBy, command: Command) -> &'static str {
    let ours = dropped.is_some_and(|dropped| dropped.saturating_mul(2) >= count);
    match (ours, by) {
        (true, _) if command == Command::Syn => {
            "this host dropped most replies: read faster (--wait spin, --cpu), or lower --rate or --burst"
        }
        _ if command == Command::Syn && count >= sent => {
            "a firewall or a listener with a full queue may drop them, or the host is down: try another port, or `sonde check`"
        }
        (true, LeavesBy::Trace) => {
            "raise --receive-buffer and net.core.rmem_max, read faster (--wait spin, --cpu), or --reply-every"
        }
        (true, _) => "raise --receive-buffer and net.core.rmem_max, read faster (--wait spin, --cpu), or lower --rate",
        _ if command == Command::Ask && count >= sent => {
            "check the program (`sonde check HOST:PORT`, its log): it answers nothing in that time, or nothing that is a whole reply; raise --timeout if it is slow"
        }
        (_, LeavesBy::Connection) if command == Command::Ask => {
            "raise --timeout to separate lost from late. Where `connect` takes 1 s or more, the path or a full listen queue lost a SYN, and no log has it"
        }
        _ if command == Command::Ask => {
            "raise --timeout to separate lost from late; read the program's log for that time"
        }
        (_, LeavesBy::Rate | LeavesBy::Trace) if count >= sent => {
            "a firewall may drop them, or the peer is gone: try the other protocol (--tcp, --udp)"
        }
        _ if count >= sent => {
            "a firewall may drop them (or a path all of this --size, or a listener with a full queue), or the host is down: try a smaller --size, --tcp, --udp, --icmp or --connect"
        }
        (_, LeavesBy::Connection) if command == Command::Paths => {
            "raise --timeout to separate lost from late. Where some connections lose all, look for a rule for source ports or a member that is down; where all lose some, at a server that accepts slowly"
        }
        (_, LeavesBy::Connection) => {
            "ask less often (--every 10ms): a server that accepts slowly drops handshakes as a path does; raise --timeout to separate lost from late"
        }
        (_, LeavesBy::Reply) if command == Command::Paths || count < OF_A_PATH => {
            "raise --timeout to separate lost from late"
        }
        (_, LeavesBy::Reply) => {
            "raise --timeout to separate lost from late; `sonde paths` shows whether one path loses"
        }
        (_, LeavesBy::Rate) => "lower --rate or --size; raise --timeout to separate lost from late",
        (_, LeavesBy::Trace) => {
            "raise --timeout to separate lost from late, or try --tcp: the path does not carry this trace"
        }
        _ => "lower --rate or --window; raise --timeout to separate lost from late",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use test_case::test_case;

    /// Options that the command which measured so does not have.
    const NOT_OF: [(LeavesBy, &[&str]); 5] = [
        (LeavesBy::Connection, &["--reply-every"]),
        (LeavesBy::Reply, &["--reply-every"]),
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
        let of_program = advice(count, 100, dropped, LeavesBy::Reply, Command::Ask);
        assert!(!["--size", "--tcp", "--icmp"].iter().any(|option| of_program.contains(option)), "{of_program}");
    }
}
