//! Exchanges, by the loop that their method needs.

use measure::method::{Method, Schedule, Window};
use protocol::link::Link;
use protocol::wire::Wire;

use crate::engine::lockstep::Lockstep;
use crate::engine::windowed::Windowed;
use crate::engine::{Flow, Outlet, Run, Told};

/// Runs `flows`, at least one, as the method says, on this thread, until it ends.
pub fn run<L: Link, W: Wire>(flows: Vec<Flow<L, W>>, told: Told<'_>, outlet: Outlet) -> Run {
    let one = flows.len() == 1 || told.method.spread.in_turn;
    if one && one_at_a_time(told.method) {
        Lockstep::new(flows, told, outlet).run()
    } else {
        Windowed::new(flows, told, outlet).run()
    }
}

/// Returns true where the method has at most one request in flight on each connection.
pub fn one_at_a_time(method: &Method) -> bool {
    // A loss holds up a loop that does nothing but wait for its one reply.
    let waits = !matches!(method.schedule, Schedule::AtLatest { .. });
    waits && matches!(method.traffic.window(), Window::Closed(1))
}
