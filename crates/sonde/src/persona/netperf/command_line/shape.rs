//! Shape of a test, from its name and omni's options: direction, transport, sizes, unit.

use crate::persona::netperf::command_line::draft::Draft;
use crate::persona::netperf::command_line::specific::Asked;
use crate::persona::netperf::options::Data;
use crate::persona::netperf::test_name::{Direction, SocketType, Test, Transport};
use crate::persona::netperf::unit::Unit;

/// Settles direction, transport, sizes and what follows from them.
pub fn settle(draft: &mut Draft, asked: &Asked) {
    let test = draft.options.test;
    note_what_the_name_fixes(draft, asked);
    let data = &mut draft.options.data;
    data.direction = direction(test, asked);
    data.transport = transport(test, asked, data.socket_type);
    sizes(data, test, asked);
    // One-way datagrams stay on the link unless routing is asked for, so that a mistyped address floods nobody.
    let one_way_datagrams = data.transport.is_lossy() && !data.direction.is_transactions();
    data.routing = asked.routing.unwrap_or(!one_way_datagrams);
    let unit = unit(draft.unit, data.direction);
    if let Some(pace) = paceless(draft) {
        draft.note(pace);
    }
    draft.options.display.unit = unit;
}

fn note_what_the_name_fixes(draft: &mut Draft, asked: &Asked) {
    let (test, fixed) = (draft.options.test, asked.direction.is_some() || asked.per_connection);
    if test == Test::Omni || !(fixed || asked.transport.is_some()) {
        return;
    }
    let wanted = (direction(Test::Omni, asked), asked.transport.unwrap_or(test.transport()));
    if wanted != (test.direction(), test.transport()) {
        draft.note(format!("{}: the name fixes direction and transport: -d, -c and -T are for omni", test.name()));
    }
}

fn direction(test: Test, asked: &Asked) -> Direction {
    if test != Test::Omni {
        return test.direction();
    }
    let (sends, receives) = match (asked.direction, asked.request) {
        (Some((false, false)), _) if !asked.per_connection => (true, false),
        (Some(both), _) => both,
        (None, Some(_)) => (true, true),
        (None, None) if asked.per_connection => (true, true),
        (None, None) if asked.sized == (false, false) => (true, false),
        (None, None) => asked.sized,
    };
    Direction { sends, receives, per_connection: asked.per_connection }
}

fn transport(test: Test, asked: &Asked, socket_type: Option<SocketType>) -> Transport {
    if test != Test::Omni {
        return test.transport();
    }
    asked.transport.unwrap_or(match socket_type {
        Some(SocketType::Datagram) => Transport::Udp,
        Some(SocketType::Dccp) => Transport::Dccp,
        _ => Transport::Tcp,
    })
}

fn sizes(data: &mut Data, test: Test, asked: &Asked) {
    let exchanged = data.direction.sends && data.direction.receives;
    // TCP_CC tells the sizes of requests it never sends, omni's connection test does not.
    let otherwise = (exchanged || test == Test::TcpCc).then_some(1);
    let (request, response) = asked.request.unwrap_or((None, None));
    data.request_bytes = request.or(otherwise);
    data.response_bytes = response.or(otherwise);
}

fn unit(asked: Option<Unit>, direction: Direction) -> Unit {
    match asked {
        None | Some(Unit::Transactions) if direction.is_transactions() => Unit::Transactions,
        None | Some(Unit::Transactions) => Unit::Mbits,
        Some(unit) => unit,
    }
}

fn paceless(draft: &Draft) -> Option<String> {
    let pace = draft.options.pace;
    let alone = |pace: crate::persona::netperf::options::Pace| pace.interval_ns > 0 && pace.burst == 0;
    (alone(pace.local) || alone(pace.remote))
        .then(|| "-w: paces nothing without -b, the operations of an interval: add `-b 1`".to_owned())
}
