//! The hops of some of the connections that a record tells of, traced once they are measured.

use std::net::SocketAddr;

use endpoint::hops::{Flow, manner, trace};
use endpoint::stop::Stop;
use logbook::record::{Ended, Record};
use measure::hops::{choose, judge};
use measure::method::Carrier;
use measure::outcome::Outcome;
use measure::outcome::hops::Probing;

use crate::output::Output;
use crate::signal::Interruption;

/// The record with the hops of some of its connections, up to TTL `max_hops`; as it was where it was cut short, or has none.
pub fn traced(mut record: Record, max_hops: u8, stop: &Stop, interruption: &Interruption, output: &Output) -> Record {
    let carrier = record.method.traffic.carrier();
    let Some(outcome) = record.outcome.as_mut().filter(|_| !stop.requested()) else { return record };
    let groups: Vec<Vec<u32>> =
        outcome.flows.iter().flat_map(|flows| flows.groups.iter().flatten()).map(|group| group.flows.clone()).collect();
    let groups: Vec<&[u32]> = groups.iter().map(Vec::as_slice).collect();
    let chosen = choose(&groups, outcome.sockets.len() as u32);
    let flows: Vec<Flow> = chosen.into_iter().filter_map(|flow| addresses(outcome, flow)).collect();
    if flows.is_empty() {
        return record;
    }
    let manner = manner(if carrier == Carrier::Udp { Probing::Udp } else { Probing::Tcp }, max_hops);
    let told = format!("tracing {} connections, round", flows.len());
    let walks = trace(&flows, manner, &record.method.socket, stop, &mut |round| {
        if output.shows_progress() {
            output.progress(&format!("{told} {round} of {}", manner.rounds));
        }
    });
    output.progress_done();
    outcome.hops = Some(judge(walks, &groups, record.target.address, manner));
    if let (true, Some(signal)) = (stop.requested(), interruption.signal()) {
        record.ended = Ended::Interrupted { signal: signal.name().to_owned() };
    }
    record
}

/// The addresses of a connection, as its socket had them.
fn addresses(outcome: &Outcome, flow: u32) -> Option<Flow> {
    let socket = outcome.sockets.get(flow as usize)?;
    let read = |text: &str| text.parse::<SocketAddr>().ok().filter(|address| address.port() > 0);
    Some(Flow { flow, local: read(&socket.local)?, remote: read(&socket.remote)? })
}
