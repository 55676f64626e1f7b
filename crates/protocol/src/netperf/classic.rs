//! The layouts of the classic tests' messages: a request of its own for three of them, one for all transactions.

use crate::netperf::answer::{Cpu, Method, Ready, Results, Traffic};
use crate::netperf::ask::{Ask, Dialect, Flags, Length, Test};
use crate::netperf::error::{Nonsense, Unsayable};
use crate::netperf::message::{Message, SECOND};
use crate::netperf::pass::Pass;

/// The request for `ask`, which has to be this `test`.
pub(super) fn write_ask(ask: &Ask, test: Test) -> Result<Message, Unsayable> {
    let mut pass = Pass::writing(ask.dialect.request(), 0);
    walk_ask(&mut pass, &mut ask.clone(), test);
    let message = pass.written()?;
    match read_ask(&message, test).ok().and_then(|said| left_out(ask, &said)) {
        Some(field) => Err(Unsayable::NoPlace { field }),
        None => Ok(message),
    }
}

/// Reads a request.
pub(super) fn read_ask(message: &Message, test: Test) -> Result<Ask, Nonsense> {
    let mut ask = Ask::classic(test, Length::UntilTold);
    let mut pass = Pass::over(message);
    walk_ask(&mut pass, &mut ask, test);
    pass.read().map(|()| ask)
}

/// The first thing asked for that the request does not say. Where the client's socket is, a classic server needs not know.
fn left_out(ask: &Ask, said: &Ask) -> Option<&'static str> {
    let shape = |ask: &Ask| (ask.carrier, ask.server_sends, ask.server_receives, ask.per_connection);
    let rings = |ask: &Ask| (ask.send_ring, ask.receive_ring);
    let compared = [
        ("direction", shape(ask) == shape(said)),
        ("length of the test", ask.length == said.length),
        ("request size", ask.request_bytes == said.request_bytes),
        ("response size", ask.response_bytes == said.response_bytes),
        ("server send size", ask.send_bytes == said.send_bytes),
        ("server receive size", ask.receive_bytes == said.receive_bytes),
        ("server send buffer", ask.send_buffer == said.send_buffer),
        ("server receive buffer", ask.receive_buffer == said.receive_buffer),
        ("the server's buffers", rings(ask) == rings(said)),
        ("flags", ask.flags == said.flags),
        ("server data address", ask.server_address == said.server_address),
        ("pacing at the server", ask.pacing == said.pacing),
        ("socket priority", ask.priority == said.priority),
        ("type of service", ask.tos == said.tos),
        ("congestion control", ask.congestion == said.congestion),
        ("fill file", ask.fill_file == said.fill_file),
    ];
    compared.into_iter().find(|(_, same)| !same).map(|(field, _)| field)
}

fn walk_ask(pass: &mut Pass, ask: &mut Ask, test: Test) {
    pass.size(SECOND, "server CPU", &mut ask.server_cpu);
    match test {
        Test::TcpSink | Test::TcpMaerts => walk_stream(pass, ask, test),
        Test::UdpStream => walk_datagrams(pass, ask),
        Test::TcpRr | Test::TcpCrr | Test::TcpCc | Test::UdpRr => walk_transactions(pass, ask),
    }
}

fn walk_stream(pass: &mut Pass, ask: &mut Ask, test: Test) {
    pass.size(8, "server send buffer", &mut ask.send_buffer);
    pass.size(12, "server receive buffer", &mut ask.receive_buffer);
    let (size, ring) = match test {
        Test::TcpMaerts => (&mut ask.send_bytes, &mut ask.send_ring),
        _ => (&mut ask.receive_bytes, &mut ask.receive_ring),
    };
    pass.positive(16, "size of a call", size);
    pass.word(20, &mut ring.alignment);
    pass.word(24, &mut ring.offset);
    pass.positive(52, "words to dirty", &mut ring.dirty);
    if test == Test::TcpSink {
        pass.positive(56, "words to read", &mut ring.clean);
    }
    pass.flag(28, Flags::NODELAY, &mut ask.flags);
    pass.flag(32, Flags::MEASURE_CPU, &mut ask.flags);
    pass.rate(36, &mut ask.cpu_rate);
    pass.length(40, &mut ask.length);
    pass.switch(44, &mut ask.receive_ring.avoid_copies);
    pass.switch(48, &mut ask.send_ring.avoid_copies);
    pass.port(60, "server data port", &mut ask.data_port);
    pass.family(64, &mut ask.family);
}

fn walk_transactions(pass: &mut Pass, ask: &mut Ask) {
    pass.size(8, "server receive buffer", &mut ask.receive_buffer);
    pass.size(12, "server send buffer", &mut ask.send_buffer);
    pass.word(16, &mut ask.receive_ring.alignment);
    pass.word(20, &mut ask.receive_ring.offset);
    pass.word(24, &mut ask.send_ring.alignment);
    pass.word(28, &mut ask.send_ring.offset);
    pass.size(32, "request size", &mut ask.request_bytes);
    pass.size(36, "response size", &mut ask.response_bytes);
    pass.flag(40, Flags::NODELAY, &mut ask.flags);
    pass.flag(44, Flags::MEASURE_CPU, &mut ask.flags);
    pass.rate(48, &mut ask.cpu_rate);
    pass.length(52, &mut ask.length);
    pass.switch(56, &mut ask.receive_ring.avoid_copies);
    pass.switch(60, &mut ask.send_ring.avoid_copies);
    pass.port(64, "server data port", &mut ask.data_port);
    pass.family(68, &mut ask.family);
}

fn walk_datagrams(pass: &mut Pass, ask: &mut Ask) {
    pass.size(8, "server receive buffer", &mut ask.receive_buffer);
    pass.positive(12, "datagram size", &mut ask.receive_bytes);
    pass.flag(16, Flags::CONNECT_UDP, &mut ask.flags);
    pass.word(20, &mut ask.receive_ring.alignment);
    pass.word(24, &mut ask.receive_ring.offset);
    pass.flag(28, Flags::NO_CHECKSUM, &mut ask.flags);
    pass.flag(32, Flags::MEASURE_CPU, &mut ask.flags);
    pass.rate(36, &mut ask.cpu_rate);
    pass.length(40, &mut ask.length);
    pass.switch(44, &mut ask.receive_ring.avoid_copies);
    pass.switch(48, &mut ask.send_ring.avoid_copies);
    pass.port(52, "server data port", &mut ask.data_port);
    pass.family(56, &mut ask.family);
}

/// The response that says as much of `ready` as its layout has room for.
pub(super) fn write_ready(ready: &Ready, test: Test) -> Message {
    let mut pass = Pass::writing(Dialect::Classic(test).response(), 0);
    walk_ready(&mut pass, &mut ready.clone(), test);
    pass.nearest()
}

/// Reads a response.
pub(super) fn read_ready(message: &Message, test: Test) -> Result<Ready, Nonsense> {
    let mut ready = Ready::at(0);
    let mut pass = Pass::over(message);
    walk_ready(&mut pass, &mut ready, test);
    pass.read().map(|()| ready)
}

fn walk_ready(pass: &mut Pass, ready: &mut Ready, test: Test) {
    pass.size(8, "receive buffer", &mut ready.receive_buffer);
    match test {
        Test::TcpSink | Test::TcpMaerts => {
            let size = if test == Test::TcpMaerts { &mut ready.send_bytes } else { &mut ready.receive_bytes };
            pass.positive(12, "size of a call", size);
            pass.flag(16, Flags::NODELAY, &mut ready.flags);
            pass.flag(20, Flags::MEASURE_CPU, &mut ready.flags);
            pass.size(28, "send buffer", &mut ready.send_buffer);
            walk_ready_end(pass, 32, ready);
        }
        Test::UdpStream => {
            pass.size(12, "send buffer", &mut ready.send_buffer);
            pass.flag(16, Flags::MEASURE_CPU, &mut ready.flags);
            walk_ready_end(pass, 24, ready);
        }
        Test::TcpRr | Test::TcpCrr | Test::TcpCc | Test::UdpRr => {
            pass.flag(12, Flags::NODELAY, &mut ready.flags);
            pass.flag(16, Flags::MEASURE_CPU, &mut ready.flags);
            pass.size(24, "send buffer", &mut ready.send_buffer);
            walk_ready_end(pass, 28, ready);
        }
    }
}

/// Port, CPU rate and two switches, which stand together in every layout.
fn walk_ready_end(pass: &mut Pass, at: usize, ready: &mut Ready) {
    pass.data_port(at, &mut ready.data_port);
    pass.rate(at + 4, &mut ready.cpu_rate);
    pass.switch(at + 8, &mut ready.avoids_copies.receive);
    pass.switch(at + 12, &mut ready.avoids_copies.send);
}

/// The results that say as much of `results` as their layout has room for.
pub(super) fn write_results(results: &Results, test: Test) -> Message {
    let mut pass = Pass::writing(Dialect::Classic(test).results(), 0);
    let mut results = results.clone();
    let cpu_at = walk_results(&mut pass, &mut results, test);
    if let Some(cpu) = &mut results.cpu {
        walk_cpu(&mut pass, cpu_at, cpu);
    }
    pass.nearest()
}

/// Reads results; CPU use only where it was `measured`.
pub(super) fn read_results(message: &Message, test: Test, measured: bool) -> Results {
    let mut results = Results::default();
    let mut pass = Pass::over(message);
    let cpu_at = walk_results(&mut pass, &mut results, test);
    if measured {
        let mut cpu = Cpu::default();
        walk_cpu(&mut pass, cpu_at, &mut cpu);
        results.cpu = Some(cpu);
    }
    results
}

/// Where use, method and count of the CPUs stand.
type CpuAt = [usize; 3];

fn walk_results(pass: &mut Pass, results: &mut Results, test: Test) -> CpuAt {
    let mut traffic = Traffic::default();
    let way = if test == Test::TcpMaerts { &mut results.sent } else { &mut results.received };
    if let Some(some) = way {
        traffic = *some;
    }
    let (elapsed, cpu) = match test {
        Test::TcpSink | Test::TcpMaerts => {
            pass.double(8, &mut traffic.bytes);
            pass.count(16, &mut traffic.calls);
            (20, [24, 32, 36])
        }
        Test::UdpStream => {
            pass.count(8, &mut traffic.calls);
            pass.count(12, &mut traffic.bytes);
            (16, [20, 24, 28])
        }
        Test::TcpRr | Test::TcpCrr | Test::TcpCc | Test::UdpRr => {
            pass.count(8, &mut traffic.bytes);
            pass.count(12, &mut traffic.calls);
            let mut transactions = results.transactions.unwrap_or_default();
            pass.count(16, &mut transactions);
            results.transactions = Some(transactions);
            (20, [24, 32, 36])
        }
    };
    *way = Some(traffic);
    pass.amount(elapsed, &mut results.elapsed_seconds);
    if test == Test::TcpSink {
        pass.positive(40, "receive buffer", &mut results.receive_buffer);
        pass.positive(44, "send buffer", &mut results.send_buffer);
    }
    cpu
}

fn walk_cpu(pass: &mut Pass, [util, method, count]: CpuAt, cpu: &mut Cpu) {
    pass.amount(util, &mut cpu.util);
    let Method(number) = &mut cpu.method;
    pass.word(method, number);
    pass.word(count, &mut cpu.count);
}
