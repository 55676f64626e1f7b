//! Words for long times that come back at even distances.

use measure::outcome::periodic::Periodic;
use measure::unit::Nanos;

use crate::number;

/// `Every 1.00 s something takes about 100 ms longer (9 times)`, `Every 100 requests …`, or both.
pub fn seen(periodic: &Periodic) -> String {
    let Periodic { period_ns, longer_ns, count, .. } = periodic;
    format!("{} something takes about {longer_ns} longer ({count} times)", distance(periodic, *period_ns))
}

fn distance(periodic: &Periodic, period_ns: Nanos) -> String {
    let requests = periodic.requests.map(|requests| number::count(requests, "request", "requests"));
    match requests {
        None => format!("Every {period_ns}"),
        Some(requests) if periodic.by_requests_alone => format!("Every {requests}"),
        Some(requests) => format!("Every {requests}, or every {period_ns} at this rate,"),
    }
}

/// The action against it, in the imperative.
pub fn advice(periodic: &Periodic) -> &'static str {
    match periodic {
        Periodic { requests: None, .. } => "look for what runs so often on either host, or on the path",
        Periodic { by_requests_alone: true, .. } => {
            "look for what the server does after so many requests, as a flush or a cleanup"
        }
        Periodic { .. } => "repeat at another rate: the cause is the one of the two that stays the same",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_a_count_of_requests_may_be_the_cause_it_is_named() {
        let timed =
            Periodic { period_ns: Nanos::secs(1), longer_ns: Nanos::millis(10), count: 9, ..Periodic::default() };
        assert_eq!(seen(&timed), "Every 1 s something takes about 10 ms longer (9 times)");
        let both = Periodic { requests: Some(100), ..timed };
        assert_eq!(
            seen(&both),
            "Every 100 requests, or every 1 s at this rate, something takes about 10 ms longer (9 times)"
        );
        let counted = Periodic { by_requests_alone: true, ..both };
        assert_eq!(seen(&counted), "Every 100 requests something takes about 10 ms longer (9 times)");
        assert!(advice(&timed).contains("so often") && advice(&counted).contains("so many requests"));
        assert!(advice(&both).contains("another rate"));
    }
}
