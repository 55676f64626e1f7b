//! Exchanges by whichever loop their method takes.

use measure::method::{Method, Schedule, Window};
use protocol::link::Link;
use protocol::wire::Wire;

use crate::engine::lockstep::Lockstep;
use crate::engine::windowed::Windowed;
use crate::engine::{Flow, Outlet, Run, Told};

/// Runs `flows` as the method says, on this thread, until it ends.
pub fn run<L: Link, W: Wire>(mut flows: Vec<Flow<L, W>>, told: Told<'_>, outlet: Outlet) -> Run {
    match flows.pop() {
        Some(only) if flows.is_empty() && one_at_a_time(told.method) => Lockstep::new(only, told, outlet).run(),
        Some(last) => {
            flows.push(last);
            Windowed::new(flows, told, outlet).run()
        }
        None => unreachable!("a thread is started for at least one connection"),
    }
}

/// Whether the method has one request out at a time on each connection.
pub fn one_at_a_time(method: &Method) -> bool {
    // A loss holds up a loop that does nothing but wait for its one reply.
    let waits = !matches!(method.schedule, Schedule::AtLatest { .. });
    waits && matches!(method.traffic.window(), Window::Closed(1))
}
