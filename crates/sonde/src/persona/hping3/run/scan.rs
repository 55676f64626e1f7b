//! A scan: each port is probed once, and again while it is silent, as often as the original does; no faster than a host bears.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use endpoint::stop::Stop;
use endpoint::syn::{self, Ears, Probing};
use measure::answer::{Answer as Came, Content, Flags};
use measure::unit::Nanos;
use protocol::syn::probe::Aim;

use crate::exit::Exit;
use crate::output::Output;
use crate::persona::answer::Answer;
use crate::persona::hping3::options::Asked;
use crate::persona::hping3::output;
use crate::persona::hping3::ports::{self, Ports};
use crate::persona::hping3::run::{method, place, probing, told};

/// A port is probed at most so often.
const TRIES: u32 = 8;
/// From one packet to the next at least, whatever is asked for.
const SHORTEST: Nanos = Nanos::micros(100);
/// The host's list of services.
const SERVICES: &str = "/etc/services";

/// Scans, and prints.
///
/// # Errors
/// The lines where nothing could be sent.
pub fn run(asked: &Asked, ports: &Ports, peer: SocketAddr, stop: &Stop, out: &Arc<Output>) -> Result<Exit, Answer> {
    let services = std::fs::read_to_string(SERVICES);
    if let (Err(cause), true) = (&services, ports.wants_known()) {
        return Err(Answer::refusal("hping3", "--scan known", format!("{SERVICES}: {cause}: name the ports")));
    }
    let names = ports::names(&services.unwrap_or_default());
    let known: Vec<u16> = names.keys().copied().collect();
    let mut silent = ports.all(&known);
    let place = place(asked, peer).map_err(|error| told(&error))?;
    if asked.verbose {
        out.exactly(&output::using(&place));
    }
    out.aside(&output::scanning(asked, &place, &ports.text, silent.len()));
    for _ in 0..TRIES {
        if silent.is_empty() || stop.requested() {
            break;
        }
        silent = pass(asked, silent, peer, &names, stop, out)?;
    }
    if !stop.requested() {
        out.aside("All replies received. Done.\n");
        out.exactly(&output::silent(&silent, &names));
    }
    Ok(Exit::Done)
}

/// Probes each of these ports once; those that stay silent.
fn pass(
    asked: &Asked,
    ports: Vec<u16>,
    peer: SocketAddr,
    names: &BTreeMap<u16, String>,
    stop: &Stop,
    out: &Output,
) -> Result<Vec<u16>, Answer> {
    let count = Some(ports.len() as u64);
    let (_, method) = method(&Asked { count, interval: asked.interval.max(SHORTEST), ..asked.clone() })?;
    // For as long as the process lives, of which this is all.
    let ports: &'static [u16] = ports.leak();
    let probing = Probing { aim: Aim::Among(ports), ..probing(asked, method, peer) };
    let mut answered = vec![false; ports.len()];
    let mut answer = |came: Came| {
        let place = usize::try_from(came.seq).unwrap_or(usize::MAX);
        let (Some(port), Some(before)) = (ports.get(place), answered.get_mut(place)) else { return };
        if !std::mem::replace(before, true) {
            tell(asked, *port, &came, names, out);
        }
    };
    let ears = Ears { on_event: &mut |_| {}, on_answer: &mut answer };
    syn::measure(&probing, stop, ears).map_err(|error| told(&error))?;
    if out.fault().is_some() {
        stop.request();
    }
    Ok(ports.iter().zip(answered).filter(|(_, answered)| !answered).map(|(port, _)| *port).collect())
}

/// Closed ports are told of with `-V` alone.
fn tell(asked: &Asked, port: u16, came: &Came, names: &BTreeMap<u16, String>, out: &Output) {
    match came.content {
        Content::Segment(segment) if segment.flags.has(Flags::SYN) || asked.verbose => {
            out.exactly(&output::scanned(port, names.get(&port).map_or("", String::as_str), &segment));
        }
        Content::Icmp { kind, code, .. } => {
            out.exactly(&output::scan_error(port, (kind, code), came.from));
        }
        _ => {}
    }
}
