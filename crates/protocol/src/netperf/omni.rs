//! The layout of omni's three messages, as netperf 2.6 to 2.7.1 have it.

use crate::netperf::answer::{Cpu, Method, Ready, Results, SAID, Traffic};
use crate::netperf::ask::{Ask, CONGESTION, Carrier, Dialect, FILL_FILE, Flags, Length, Pacing, Ring};
use crate::netperf::error::{Nonsense, Unsayable};
use crate::netperf::message::{Message, SECOND};
use crate::netperf::pass::Pass;

/// Bits of the server's directions.
const SENDS: u32 = 2;
const RECEIVES: u32 = 4;
/// The flag beside [`Flags`].
const PER_CONNECTION: u32 = 4;
/// Words that netperf 2.6 has not in its results: five shares of CPU use, from [`SHARES`] on.
const SHARES: usize = 56;
const SHARES_LENGTH: usize = 20;

/// The request for `ask`.
pub(super) fn write_ask(ask: &Ask) -> Result<Message, Unsayable> {
    if ask.send_ring.clean.is_some() {
        return Err(Unsayable::NoPlace { field: "words to read before each send" });
    }
    if let Some(field) = missing(ask) {
        return Err(Unsayable::Missing { field });
    }
    let mut pass = Pass::writing(Dialect::Omni.request(), 0);
    walk_ask(&mut pass, &mut ask.clone());
    pass.written()
}

/// Reads a request.
pub(super) fn read_ask(message: &Message) -> Result<Ask, Nonsense> {
    let mut ask = Ask::omni(Carrier::Tcp, false, false, Length::UntilTold);
    let mut pass = Pass::over(message);
    walk_ask(&mut pass, &mut ask);
    pass.read()?;
    match missing(&ask) {
        Some(field) => Err(Nonsense { field, value: -1 }),
        None => Ok(ask),
    }
}

/// The size without which an exchange can't be.
fn missing(ask: &Ask) -> Option<&'static str> {
    let sizes = [("request size", ask.request_bytes), ("response size", ask.response_bytes)];
    let exchange = ask.server_sends && ask.server_receives;
    sizes.into_iter().find(|(_, size)| exchange && size.is_none()).map(|(field, _)| field)
}

fn walk_ask(pass: &mut Pass, ask: &mut Ask) {
    pass.size(SECOND, "server CPU", &mut ask.server_cpu);
    pass.size(8, "server send buffer", &mut ask.send_buffer);
    pass.size(12, "server send size", &mut ask.send_bytes);
    walk_ring(pass, 16, &mut ask.send_ring);
    pass.size(28, "request size", &mut ask.request_bytes);
    pass.size(32, "server receive buffer", &mut ask.receive_buffer);
    pass.size(36, "server receive size", &mut ask.receive_bytes);
    walk_ring(pass, 40, &mut ask.receive_ring);
    pass.size(52, "response size", &mut ask.response_bytes);
    walk_flags(pass, ask);
    pass.rate(60, &mut ask.cpu_rate);
    pass.length(64, &mut ask.length);
    pass.switch(68, &mut ask.receive_ring.avoid_copies);
    pass.switch(72, &mut ask.send_ring.avoid_copies);
    pass.size(76, "words to dirty before each send", &mut ask.send_ring.dirty);
    pass.size(80, "words to dirty before each receive", &mut ask.receive_ring.dirty);
    pass.size(84, "words to read before each receive", &mut ask.receive_ring.clean);
    pass.port(88, "server data port", &mut ask.data_port);
    pass.family(92, &mut ask.family);
    pass.carrier(96, &mut ask.carrier);
    walk_directions(pass, ask);
    pass.port(108, "client data port", &mut ask.client_port);
    walk_pacing(pass, 112, &mut ask.pacing);
    pass.address(120, ask.family, &mut ask.client_address);
    pass.address(136, ask.family, &mut ask.server_address);
    pass.size(152, "socket priority", &mut ask.priority);
    pass.size(156, "type of service", &mut ask.tos);
    pass.name(160, CONGESTION + 1, "congestion control", &mut ask.congestion);
    pass.name(176, FILL_FILE + 1, "fill file", &mut ask.fill_file);
}

fn walk_ring(pass: &mut Pass, at: usize, ring: &mut Ring) {
    pass.word(at, &mut ring.alignment);
    pass.word(at + 4, &mut ring.offset);
    pass.positive(at + 8, "buffers", &mut ring.buffers);
}

fn walk_flags(pass: &mut Pass, ask: &mut Ask) {
    let own = Flags(PER_CONNECTION);
    let mut flags = ask.flags.without(own).with(own.when(ask.per_connection));
    pass.word(56, &mut flags.0);
    ask.per_connection = flags.has(own);
    ask.flags = flags.without(own);
}

fn walk_directions(pass: &mut Pass, ask: &mut Ask) {
    let mut bits = Flags(SENDS).when(ask.server_sends).with(Flags(RECEIVES).when(ask.server_receives));
    pass.word(104, &mut bits.0);
    ask.server_sends = bits.has(Flags(SENDS));
    ask.server_receives = bits.has(Flags(RECEIVES));
}

fn walk_pacing(pass: &mut Pass, at: usize, pacing: &mut Option<Pacing>) {
    const NONE: Pacing = Pacing { burst: 0, interval_us: 0 };
    let mut said = pacing.unwrap_or(NONE);
    pass.word(at, &mut said.burst);
    pass.word(at + 4, &mut said.interval_us);
    *pacing = Some(said).filter(|said| *said != NONE);
}

/// The response that says `ready`; a number too large for its field is the largest.
pub(super) fn write_ready(ready: &Ready) -> Message {
    let mut pass = Pass::writing(Dialect::Omni.response(), 0);
    walk_ready(&mut pass, &mut ready.clone());
    pass.nearest()
}

/// Reads a response.
pub(super) fn read_ready(message: &Message) -> Result<Ready, Nonsense> {
    let mut ready = Ready::at(0);
    let mut pass = Pass::over(message);
    walk_ready(&mut pass, &mut ready);
    pass.read().map(|()| ready)
}

fn walk_ready(pass: &mut Pass, ready: &mut Ready) {
    pass.size(8, "receive buffer", &mut ready.receive_buffer);
    pass.size(12, "receive size", &mut ready.receive_bytes);
    pass.positive(16, "receive buffers", &mut ready.receive_buffers);
    pass.size(20, "send buffer", &mut ready.send_buffer);
    pass.size(24, "send size", &mut ready.send_bytes);
    pass.positive(28, "send buffers", &mut ready.send_buffers);
    // Bits above these are left from an earlier answer.
    let mut flags = ready.flags.0 & SAID.0;
    pass.word(32, &mut flags);
    ready.flags = Flags(flags & SAID.0);
    pass.rate(36, &mut ready.cpu_rate);
    pass.switch(44, &mut ready.avoids_copies.receive);
    pass.switch(48, &mut ready.avoids_copies.send);
    pass.data_port(52, &mut ready.data_port);
    walk_pacing(pass, 56, &mut ready.pacing);
    pass.size(72, "socket priority", &mut ready.priority);
    pass.size(76, "type of service", &mut ready.tos);
}

/// The results; counters are carried as far as their fields go.
pub(super) fn write_results(results: &Results) -> Message {
    let mut pass = Pass::writing(Dialect::Omni.results(), 0);
    let mut results = results.clone();
    walk_results(&mut pass, &mut results);
    if let Some(cpu) = &mut results.cpu {
        walk_cpu(&mut pass, cpu, Release::Seven);
    }
    walk_end(&mut pass, &mut results, Release::Seven);
    pass.nearest()
}

/// Reads results; CPU use only where it was `measured`, for otherwise its fields are old words.
pub(super) fn read_results(message: &Message, measured: bool) -> Results {
    let release = Release::of(message, measured);
    let mut results = Results::default();
    let mut pass = Pass::over(message);
    walk_results(&mut pass, &mut results);
    if measured {
        let mut cpu = Cpu::default();
        walk_cpu(&mut pass, &mut cpu, release);
        results.cpu = Some(cpu);
    }
    walk_end(&mut pass, &mut results, release);
    results
}

fn walk_results(pass: &mut Pass, results: &mut Results) {
    walk_traffic(pass, [8, 16], &mut results.received);
    pass.positive(20, "receive buffer", &mut results.receive_buffer);
    walk_traffic(pass, [24, 32], &mut results.sent);
    pass.positive(36, "send buffer", &mut results.send_buffer);
    let mut transactions = results.transactions.unwrap_or_default();
    pass.count(44, &mut transactions);
    results.transactions = Some(transactions);
    pass.amount(48, &mut results.elapsed_seconds);
}

fn walk_traffic(pass: &mut Pass, [bytes, calls]: [usize; 2], traffic: &mut Option<Traffic>) {
    let mut said = traffic.unwrap_or_default();
    pass.wide(bytes, &mut said.bytes);
    pass.count(calls, &mut said.calls);
    *traffic = Some(said);
}

fn walk_cpu(pass: &mut Pass, cpu: &mut Cpu, release: Release) {
    pass.amount(52, &mut cpu.util);
    if release == Release::Seven {
        let shares = [&mut cpu.user, &mut cpu.system, &mut cpu.iowait, &mut cpu.irq, &mut cpu.swintr];
        for (index, share) in shares.into_iter().enumerate() {
            pass.amount(SHARES + 4 * index, share);
        }
    }
    let Method(method) = &mut cpu.method;
    pass.word(release.place(80), method);
    pass.word(release.place(84), &mut cpu.count);
    pass.size(release.place(88), "busiest CPU", &mut cpu.peak_id);
    pass.amount(release.place(92), &mut cpu.peak_util);
}

fn walk_end(pass: &mut Pass, results: &mut Results, release: Release) {
    pass.size(release.place(112), "retransmits", &mut results.retransmits);
    pass.lax_name(release.place(276), CONGESTION + 1, &mut results.congestion);
}

/// Release of the server that wrote the results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Release {
    /// netperf 2.6, whose results lack the shares of CPU use. Read of it, not seen on the wire.
    Six,
    /// netperf 2.7 and later.
    Seven,
}

impl Release {
    /// Nothing in the message names its release. Where CPU use was measured, 2.6 has two small integers where 2.7 has
    /// percentages as singles, which can't look like them; otherwise the congestion control's name tells.
    fn of(message: &Message, measured: bool) -> Self {
        let six = |offset: usize| offset - SHARES_LENGTH;
        let method = (1..=12).contains(&message.word(six(80)));
        let count = (1..=1 << 16).contains(&message.word(six(84)));
        let name = |at| message.text(at, CONGESTION + 1).first().is_some_and(u8::is_ascii_graphic);
        if (measured && method && count) || (name(six(276)) && !name(276)) { Self::Six } else { Self::Seven }
    }

    /// Where a field behind the shares stands.
    fn place(self, offset: usize) -> usize {
        match self {
            Self::Six => offset - SHARES_LENGTH,
            Self::Seven => offset,
        }
    }
}
