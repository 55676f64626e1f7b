//! `ping`: 100 echoes, one a second, from either end.

use logbook::plan::Directions;

use super::{Wanted, test};
use crate::persona::pkb::ask::Metrics;

/// As PKB: nothing of it can be said by flags.
pub fn wanted() -> Wanted {
    // No warm-up: ping has none. A reply is waited for as ping waits, and is no loss before that.
    let command = "rtt --icmp --every 1s --size 56 --count 100 --timeout 10s --warm-up 0".to_owned();
    let test = test("ping", command, Metrics::Ping, &[], 100);
    Wanted { hosts: 2, directions: Directions::Both, fan: Vec::new(), repeats: 1, tests: vec![test], notes: Vec::new() }
}
