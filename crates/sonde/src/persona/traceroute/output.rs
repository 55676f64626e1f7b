//! The text of traceroute, from plain values.

use std::fmt::Write as _;
use std::net::IpAddr;

use measure::hops::{Answer, Says};
use measure::outcome::hops::Probing;

/// The first line.
pub fn heading(host: &str, address: IpAddr, last: u8, octets: u32) -> String {
    format!("traceroute to {host} ({address}), {last} hops max, {octets} byte packets\n")
}

/// The line of a hop: each probe's answer, where there is one; `name` tells an address.
pub fn hop(ttl: u8, answers: &[Option<Answer>], protocol: Probing, name: &dyn Fn(IpAddr) -> String) -> String {
    let mut text = format!("{ttl:2} ");
    let mut before = None;
    for answer in answers {
        let Some(answer) = answer else {
            text.push_str(" *");
            continue;
        };
        if before.replace(answer.from) != Some(answer.from) {
            let _ = write!(text, " {}", name(answer.from));
        }
        let _ = write!(text, "  {:.3} ms", answer.time.0 as f64 / 1e6);
        if let Says::Unreachable(kind, code) = answer.says
            && let Some(flag) = flag(answer.from.is_ipv6(), kind, code, protocol)
        {
            let _ = write!(text, " {flag}");
        }
    }
    text.push('\n');
    text
}

/// The mark of an error that ends the way; none where it is the host's own answer.
fn flag(ipv6: bool, kind: u8, code: u8, protocol: Probing) -> Option<String> {
    let port = if ipv6 { (1, 4) } else { (3, 3) };
    if (kind, code) == port {
        return (protocol == Probing::Icmp).then(|| "!p".to_owned());
    }
    let letter = if ipv6 {
        match code {
            0 => "N",
            1 => "X",
            2 => "S",
            3 => "H",
            _ => "",
        }
    } else {
        match code {
            0 | 6 | 11 => "N",
            1 | 7 | 8 | 12 => "H",
            2 => "P",
            5 => "S",
            9 | 10 | 13 => "X",
            14 => "V",
            15 => "C",
            _ => "",
        }
    };
    Some(if letter.is_empty() { format!("!<{code}>") } else { format!("!{letter}") })
}

#[cfg(test)]
mod tests {
    use measure::unit::Nanos;

    use super::*;

    fn answer(from: &str, says: Says, micros: u64) -> Answer {
        Answer { from: from.parse().unwrap(), says, time: Nanos::micros(micros), stamped: true, ttl: None }
    }

    fn line(answers: &[Option<Answer>]) -> String {
        hop(2, answers, Probing::Udp, &|address| address.to_string())
    }

    #[test]
    fn an_address_stands_where_it_changes() {
        let passed = |from| Some(answer(from, Says::Passed, 32));
        assert_eq!(line(&[passed("10.0.0.1"), passed("10.0.0.1")]), " 2  10.0.0.1  0.032 ms  0.032 ms\n");
        assert_eq!(
            line(&[None, passed("10.0.0.1"), None, passed("10.0.0.9")]),
            " 2  * 10.0.0.1  0.032 ms * 10.0.0.9  0.032 ms\n"
        );
        assert_eq!(line(&[None, None]), " 2  * *\n");
    }

    #[test]
    fn an_end_before_the_host_has_a_mark() {
        let unreachable = |code| line(&[Some(answer("10.0.0.1", Says::Unreachable(3, code), 7))]);
        assert_eq!(unreachable(1), " 2  10.0.0.1  0.007 ms !H\n");
        assert_eq!(unreachable(13), " 2  10.0.0.1  0.007 ms !X\n");
        assert_eq!(unreachable(3), " 2  10.0.0.1  0.007 ms\n");
        assert_eq!(line(&[Some(answer("fd00::1", Says::Unreachable(1, 0), 7))]), " 2  fd00::1  0.007 ms !N\n");
    }
}
