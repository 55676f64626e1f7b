//! Check of the ports that answer between hosts, before anything is measured.

use logbook::failure::{Failure, Side};
use logbook::host::Address;
use logbook::host::data::DataAddress;
use logbook::plan::Directions;
use logbook::reach::ReachDocument;
use logbook::run::{Answer, PairCheck};
use measure::reach::mtu::MtuFinding;
use measure::reach::{AddressReach, Reporter, Seen, Verdict};
use measure::unit::Nanos;

use super::crew::{Crew, Member};
use super::{Campaign, KEY_FILE, Needs, fan};
use crate::pairs::Pair;
use crate::trial::Run;

/// Longest check of one host.
const MOST: Nanos = Nanos::secs(30);

/// Asks each of `pairs`, from either end where the plan measures so, and tells what answers. A pair with a host that is lost
/// is not asked: nobody measures there.
pub fn all(campaign: &Campaign<'_>, crew: &Crew, pairs: &[Pair]) -> Vec<PairCheck> {
    let found = fan::each(&asked(campaign, crew, pairs), &|_, asked| {
        let (from, to) = (crew.member(asked.from), crew.member(asked.to));
        if campaign.stop.requested() || from.lost().is_some() || to.lost().is_some() {
            return None;
        }
        let check = one(campaign, from, to, asked.over, &asked.address);
        campaign.watcher.checked(&check);
        from.tell_loss(campaign);
        Some(check)
    });
    found.into_iter().flatten().collect()
}

/// A check from one host to another.
struct Asked {
    from: usize,
    to: usize,
    over: Address,
    address: DataAddress,
}

/// Checks in their order: the first of every host, then the second of every host, so that many of them are busy at a time
/// with little each.
fn asked(campaign: &Campaign<'_>, crew: &Crew, pairs: &[Pair]) -> Vec<Asked> {
    let back = campaign.plan.directions == Directions::Both;
    let ends = |pair: &Pair| [Some((pair.first, pair.second)), back.then_some((pair.second, pair.first))];
    let mut asked: Vec<(usize, Asked)> = Vec::new();
    let mut questions = vec![0; crew.members().len()];
    for (from, to) in pairs.iter().flat_map(ends).flatten() {
        for &over in campaign.plan.addresses.each() {
            let near = &crew.member(from).host;
            if let Some(address) = crew.member(to).host.seen_from(near, over, None).cloned() {
                asked.push((questions[from], Asked { from, to, over, address }));
                questions[from] += 1;
            }
        }
    }
    asked.sort_by_key(|(nth, _)| *nth);
    asked.into_iter().map(|(_, asked)| asked).collect()
}

fn one(campaign: &Campaign<'_>, from: &Member, to: &Member, over: Address, address: &DataAddress) -> PairCheck {
    campaign.watcher.going_on(&format!("{} asks {}", from.host.name, to.host.name));
    let mut check = PairCheck {
        from: from.host.name.clone(),
        to: to.host.name.clone(),
        over,
        address: address.ip(),
        name: Some(address.to_string()).filter(|_| address.ip().is_none()),
        icmp: Answer::NotAsked,
        tcp: Answer::NotAsked,
        udp: Answer::NotAsked,
        mtu_bytes: None,
        mtu_hole: false,
        failure: None,
    };
    let port = to.port(campaign).to_string();
    match reached(campaign, from, address, &port) {
        Ok(Some(found)) => {
            check.address = check.address.or_else(|| found.address.parse().ok());
            check.icmp = echo(&found.echo);
            check.tcp = found.ports.first().map_or(Answer::NotAsked, |port| answer(port.verdict, &port.seen));
            (check.mtu_bytes, check.mtu_hole) = mtu(&found.mtu);
        }
        Ok(None) => {}
        Err(failure) => check.failure = Some(failure),
    }
    if check.tcp == Answer::Open && campaign.measures.iter().any(|measure| measure.needs == Needs::Reflector) {
        check.udp = datagrams(campaign, from, address, &port);
    }
    check
}

/// Result of `sonde check` there, from that host.
fn reached(
    campaign: &Campaign<'_>,
    from: &Member,
    address: &DataAddress,
    port: &str,
) -> Result<Option<AddressReach>, Failure> {
    let words = ["check", &address.to_string(), "--tcp", port, "--no-service", "--tries", "2", "--json", "--quiet"];
    let agent = from.agent()?;
    let ended = agent.begin(&words.map(str::to_owned), None, false)?.wait(MOST, campaign.stop)?;
    if let Ok(document) = serde_json::from_str::<ReachDocument>(&ended.printed) {
        return Ok(document.check.addresses.into_iter().next());
    }
    let what = ended.said.lines().last().unwrap_or("the check told nothing").to_owned();
    let to_whom = Some(from.host.name.clone());
    Err(Failure { what, to_whom, side: Some(Side::Theirs), hint: None, partial: None })
}

/// Tests that datagrams come there and back: the reflector answers nobody without a session, so one exchange is made.
fn datagrams(campaign: &Campaign<'_>, from: &Member, address: &DataAddress, port: &str) -> Answer {
    let (address, key) = (address.to_string(), KEY_FILE);
    let words = ["rtt", &address, "--udp", "--port", port, "--key", key, "-c", "3", "--warm-up", "0"];
    let Ok(agent) = from.agent() else { return Answer::NotAsked };
    match agent.measure(&words.map(str::to_owned), Some(campaign.key), MOST, campaign.stop) {
        Run::Measured(record) => {
            let answered = record.outcome.is_some_and(|outcome| outcome.counts.answered > 0);
            if answered { Answer::Open } else { Answer::Silent }
        }
        Run::Failed(_) => Answer::Silent,
    }
}

fn echo(seen: &Seen) -> Answer {
    match seen {
        Seen::Answer { .. } => Answer::Open,
        Seen::Reset { .. } | Seen::AcceptedThenReset { .. } => Answer::Closed,
        Seen::Error { .. } => Answer::Rejected,
        Seen::Silence { .. } => Answer::Silent,
        Seen::NotAsked { .. } => Answer::NotAsked,
    }
}

fn answer(verdict: Verdict, seen: &Seen) -> Answer {
    match (verdict, seen) {
        (Verdict::Open, _) => Answer::Open,
        (Verdict::NotAsked, _) => Answer::NotAsked,
        (_, Seen::Error { by: Reporter::Hop, .. }) | (Verdict::Filtered, Seen::Error { .. }) => Answer::Rejected,
        (Verdict::Refused | Verdict::Reset, _) => Answer::Closed,
        _ => Answer::Silent,
    }
}

fn mtu(found: &MtuFinding) -> (Option<u32>, bool) {
    match found {
        MtuFinding::Whole { bytes } | MtuFinding::Told { bytes, .. } => (Some(*bytes), false),
        MtuFinding::Hole { bytes, .. } => (Some(*bytes), true),
        MtuFinding::NotFound { .. } => (None, false),
    }
}
