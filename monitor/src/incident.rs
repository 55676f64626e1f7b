//! Incidents in words: what changed, where, by how much and since when.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use logbook::monitor::silence::Silence;
use measure::lookout::incident::{Direction, Ending, Estimate, Incident, Kind, Onset, Role, Scope, Size};
use uuid::Uuid;

use crate::store::Baseline;

/// One sentence without its full stop: `db3 answers slower: p50 +31 % [24, 40], since 14:02:10 ± 3 s (12 of 12 cells)`.
pub fn sentence(incident: &Incident, zone: &TimeZone) -> String {
    let share =
        if incident.of > 0 { format!(" ({} of {} cells)", incident.affected, incident.of) } else { String::new() };
    let size = incident.size.map(|size| format!(": {}", sized(size))).unwrap_or_default();
    let way = match incident.direction {
        Some(Direction::Out) => ", on the way there",
        Some(Direction::Back) => ", on the way back",
        Some(Direction::Both) => ", both ways",
        None => "",
    };
    let port = incident.port.map(|port| format!(", from source port {port} alone")).unwrap_or_default();
    format!("{}{size}{way}{port}, since {}{share}", subject(incident), onset(incident.onset, zone))
}

/// The same with the number by which a person may name it.
pub fn numbered(incident: &Incident, zone: &TimeZone) -> String {
    format!("{}, incident {}", sentence(incident, zone), incident.id)
}

/// The same without when and how many: for a heading.
pub fn heading(incident: &Incident) -> String {
    let size = incident.size.map(|size| format!(": {}", sized(size))).unwrap_or_default();
    format!("{}{size}", subject(incident))
}

/// Change and its size, where the place is known to the reader: `p50 +31 % [24, 40]`.
pub fn change(incident: &Incident) -> String {
    match (incident.kind, incident.size) {
        (Kind::Slower | Kind::Faster | Kind::Loss | Kind::Tail, Some(size)) => sized(size),
        (Kind::Overloaded, Some(size)) => format!("this host was late itself: {}", sized(size)),
        (kind, _) => what(kind).to_owned(),
    }
}

fn what(kind: Kind) -> &'static str {
    match kind {
        Kind::Silent => "nothing is answered",
        Kind::AgentSilent => "the agent tells nothing",
        Kind::Overloaded => "late itself, so that nothing is known of its network",
        Kind::Loss => "requests are lost",
        Kind::Slower => "slower",
        Kind::Faster => "faster",
        Kind::Tail => "more slow answers at the same median",
    }
}

fn subject(incident: &Incident) -> String {
    let what = what(incident.kind);
    match (&incident.scope, incident.kind) {
        // These kinds mean the host itself, whichever of its cells show it.
        (Scope::Host { host, .. }, Kind::Overloaded | Kind::AgentSilent) => format!("{host}: {what}"),
        (scope, _) => format!("{}: {what}", place(scope)),
    }
}

/// Scope, for people: `db3`, `db3 as it answers`, `db1 → db2`, `zone a → zone b`.
pub fn place(scope: &Scope) -> String {
    let arrow = |both: bool| if both { "↔" } else { "→" };
    match scope {
        Scope::Everything => "all hosts".to_owned(),
        Scope::Zone { zone } => format!("zone {zone}"),
        Scope::Zones { from, to, both_ways } => format!("zones {from} {} {to}", arrow(*both_ways)),
        Scope::Machine { machine } => format!("machine {machine}"),
        Scope::Host { host, role: Role::Both } => host.clone(),
        Scope::Host { host, role: Role::Client } => format!("{host} as it asks"),
        Scope::Host { host, role: Role::Server } => format!("{host} as it answers"),
        Scope::Pair { from, to, both_ways } => format!("{from} {} {to}", arrow(*both_ways)),
        Scope::HostOrPair { host, from, to, both_ways } => {
            format!("{host} or the path {from} {} {to}", arrow(*both_ways))
        }
        Scope::Unknown => "several cells, no one place".to_owned(),
    }
}

fn sized(size: Size) -> String {
    let percent = |estimate: Estimate, of: fn(f64) -> f64| {
        let [value, low, high] = [estimate.value, estimate.low, estimate.high].map(of);
        // Between them the two ends differ by ten steps or so.
        let digits = if (high - low).abs() < 1.0 { 2 } else { usize::from((high - low).abs() < 10.0) };
        (value, low, high, digits)
    };
    match size {
        Size::Ratio(estimate) => {
            let (value, low, high, digits) = percent(estimate, |ratio| (ratio - 1.0) * 100.0);
            format!("p50 {value:+.digits$} % [{low:.digits$}, {high:.digits$}]")
        }
        Size::Lost(estimate) => {
            let (value, low, high, digits) = percent(estimate, |share| share * 100.0);
            format!("{value:.digits$} % lost [{low:.digits$}, {high:.digits$}]")
        }
        Size::Slow(estimate) => {
            let (value, low, high, digits) = percent(estimate, |share| share * 100.0);
            format!("{value:.digits$} % above the usual p99 [{low:.digits$}, {high:.digits$}]")
        }
        Size::Disturbed(share) => format!("{:.0} % of the last minute", share * 100.0),
    }
}

/// `14:02:10 ± 3 s`; with the day where that is not today's of `zone` is for the reader to add.
pub fn onset(onset: Onset, zone: &TimeZone) -> String {
    let spread = onset.latest.saturating_sub(onset.likely).max(onset.likely.saturating_sub(onset.earliest));
    let at = clock(onset.likely, zone);
    if spread == 0 {
        at
    } else if spread < 120 {
        format!("{at} ± {spread} s")
    } else {
        format!("{at} ± {} min", spread.div_ceil(60))
    }
}

/// A second since 1970 as `14:02:10`.
pub fn clock(second: u64, zone: &TimeZone) -> String {
    moment(second).map_or_else(|| second.to_string(), |at| at.to_zoned(zone.clone()).strftime("%H:%M:%S").to_string())
}

/// A second since 1970 as RFC 3339 in UTC.
pub fn rfc3339(second: u64) -> String {
    moment(second).map_or_else(|| second.to_string(), |at| at.to_string())
}

fn moment(second: u64) -> Option<Timestamp> {
    Timestamp::from_second(i64::try_from(second).ok()?).ok()
}

/// Reason for its end.
pub fn ending(ending: Ending) -> String {
    match ending {
        Ending::Resolved => "it is over".to_owned(),
        Ending::Merged { into } => format!("it is part of incident {into}"),
        Ending::Accepted => "it was accepted as usual".to_owned(),
        Ending::Unwatched => "it is not watched any more".to_owned(),
    }
}

/// The kind's name for machines.
pub fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Silent => "silent",
        Kind::AgentSilent => "agent-silent",
        Kind::Overloaded => "overloaded",
        Kind::Loss => "loss",
        Kind::Slower => "slower",
        Kind::Faster => "faster",
        Kind::Tail => "tail",
    }
}

/// Scope that an incident is put down to, as a label that stays the same while it goes on: `host=db3`.
pub fn label(scope: &Scope) -> String {
    match scope {
        Scope::Everything => "everything".to_owned(),
        Scope::Zone { zone } => format!("zone={zone}"),
        Scope::Zones { from, to, .. } => format!("zones={from}>{to}"),
        Scope::Machine { machine } => format!("machine={machine}"),
        Scope::Host { host, role: Role::Both } => format!("host={host}"),
        Scope::Host { host, role: Role::Client } => format!("client={host}"),
        Scope::Host { host, role: Role::Server } => format!("server={host}"),
        Scope::Pair { from, to, .. } => format!("pair={from}>{to}"),
        Scope::HostOrPair { from, to, .. } => format!("host-or-pair={from}>{to}"),
        Scope::Unknown => "unknown".to_owned(),
    }
}

/// Hosts that a scope names.
pub fn hosts(scope: &Scope) -> Vec<String> {
    match scope {
        Scope::Host { host, .. } => vec![host.clone()],
        Scope::Pair { from, to, .. } | Scope::HostOrPair { from, to, .. } => vec![from.clone(), to.clone()],
        Scope::Everything | Scope::Zone { .. } | Scope::Zones { .. } | Scope::Machine { .. } | Scope::Unknown => {
            Vec::new()
        }
    }
}

/// Returns true where a silence is about it.
pub fn is_meant(incident: &Incident, silence: &Silence) -> bool {
    let is_kind = silence.kinds.is_empty() || silence.kinds.contains(&incident.kind);
    is_kind && (silence.is_everywhere() || is_placed(&incident.scope, silence))
}

fn is_placed(scope: &Scope, silence: &Silence) -> bool {
    let names_zone = |zone: &str| silence.zones.iter().any(|named| named == zone);
    let names_pair = |from: &String, to: &String| {
        silence.pairs.iter().any(|[one, other]| (one, other) == (from, to) || (one, other) == (to, from))
    };
    match scope {
        Scope::Zone { zone } => names_zone(zone),
        Scope::Zones { from, to, .. } => names_zone(from) || names_zone(to),
        Scope::Pair { from, to, .. } | Scope::HostOrPair { from, to, .. } if names_pair(from, to) => true,
        scope => hosts(scope).iter().any(|host| silence.hosts.contains(host)),
    }
}

/// Seconds of an accepted time that have to be over before an incident ends by it: what they showed is usual from then on.
const SEEN: u64 = 60;

/// Returns true where somebody accepted a time in which it went on, or the incident itself, which the store calls `id`: its
/// level is how things should be.
pub fn is_accepted(incident: &Incident, id: Uuid, baseline: &Baseline, now: u64) -> bool {
    let is_seen = baseline.from + SEEN <= now;
    if let Some(accepted) = baseline.incident {
        return accepted == id && is_seen;
    }
    let is_meant = baseline.hosts.is_empty() || hosts(&incident.scope).iter().any(|host| baseline.hosts.contains(host));
    // A person who accepted it knew of it.
    let is_since = baseline.from >= incident.onset.likely && baseline.accepted >= incident.noticed;
    is_meant && is_since && is_seen
}

/// An incident for tests: a host that answers 31 % slower.
#[cfg(test)]
pub fn example(id: u64) -> Incident {
    Incident {
        id,
        kind: Kind::Slower,
        scope: Scope::Host { host: "db3".to_owned(), role: Role::Server },
        size: Some(Size::Ratio(Estimate { value: 1.31, low: 1.24, high: 1.4 })),
        onset: Onset { earliest: 1_764_115_327, likely: 1_764_115_330, latest: 1_764_115_333 },
        affected: 12,
        of: 12,
        direction: None,
        port: None,
        noticed: 1_764_115_400,
        returned: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slower_host_is_told_with_size_interval_and_onset() {
        assert_eq!(
            sentence(&example(1), &TimeZone::UTC),
            "db3 as it answers: slower: p50 +31 % [24, 40], since 00:02:10 ± 3 s (12 of 12 cells)"
        );
        assert_eq!(label(&example(1).scope), "server=db3");
    }

    #[test]
    fn a_silence_is_about_the_places_and_kinds_that_it_names() {
        let none = || Silence {
            hosts: Vec::new(),
            pairs: Vec::new(),
            zones: Vec::new(),
            kinds: Vec::new(),
            from: None,
            until: u64::MAX,
            why: None,
        };
        let [a, b, c] = ["a", "b", "c"].map(str::to_owned);
        let (from, to, both_ways) = (a.clone(), b.clone(), false);
        let pair = Incident { scope: Scope::Pair { from, to, both_ways }, ..example(1) };
        let zones = Incident { scope: Scope::Zones { from: a.clone(), to: c.clone(), both_ways }, ..example(2) };
        let all = Incident { scope: Scope::Everything, kind: Kind::Loss, ..example(3) };
        let meant = |silence: &Silence| [&example(0), &pair, &zones, &all].map(|incident| is_meant(incident, silence));
        assert_eq!(meant(&none()), [true; 4]);
        assert_eq!(meant(&Silence { kinds: vec![Kind::Loss], ..none() }), [false, false, false, true]);
        assert_eq!(meant(&Silence { hosts: vec!["db3".to_owned()], ..none() }), [true, false, false, false]);
        assert_eq!(meant(&Silence { hosts: vec![b.clone()], ..none() }), [false, true, false, false]);
        assert_eq!(meant(&Silence { pairs: vec![[b.clone(), a.clone()]], ..none() }), [false, true, false, false]);
        assert_eq!(meant(&Silence { pairs: vec![[a.clone(), c.clone()]], ..none() }), [false; 4]);
        assert_eq!(meant(&Silence { zones: vec![c], ..none() }), [false, false, true, false]);
        let slower = Silence { pairs: vec![[a, b]], kinds: vec![Kind::Slower], ..none() };
        assert_eq!(meant(&slower), [false, true, false, false]);
        assert_eq!(meant(&Silence { kinds: vec![Kind::Silent], ..slower }), [false; 4]);
    }

    #[test]
    fn a_time_that_began_before_it_accepts_nothing() {
        let incident = example(1);
        let onset = incident.onset.likely;
        let good = |from: u64, hosts: &[&str]| Baseline {
            name: "good".to_owned(),
            from,
            to: from + 600,
            hosts: hosts.iter().map(|host| (*host).to_owned()).collect(),
            accepted: from + 600,
            incident: None,
        };
        let is_accepted = |baseline: &Baseline, now: u64| is_accepted(&incident, Uuid::from_u128(1), baseline, now);
        assert!(is_accepted(&good(onset, &[]), onset + 700) && is_accepted(&good(onset, &["db3", "db1"]), onset + 700));
        assert!(!is_accepted(&good(onset - 1, &[]), onset + 700), "it was fine then");
        assert!(!is_accepted(&good(onset, &["db1"]), onset + 700), "of other hosts");
        assert!(!is_accepted(&good(onset, &[]), onset + 59), "nothing is known of it yet");
        let before = Baseline { accepted: incident.noticed - 1, ..good(onset, &[]) };
        assert!(!is_accepted(&before, onset + 700), "nobody knew of it");
        // By its own name, whatever its time and hosts are; and another one.
        let named = |id| Baseline { incident: Some(Uuid::from_u128(id)), ..good(onset - 5, &["db1"]) };
        assert!(is_accepted(&named(1), onset + 55) && !is_accepted(&named(1), onset + 54));
        assert!(!is_accepted(&named(2), onset + 700));
    }

    #[test]
    fn every_kind_of_size_is_written_as_json_and_read_again() {
        let estimate = Estimate { value: 0.1, low: 0.05, high: 0.2 };
        for size in [Size::Ratio(estimate), Size::Lost(estimate), Size::Slow(estimate), Size::Disturbed(0.6)] {
            let incident = Incident { size: Some(size), ..example(3) };
            let text = serde_json::to_string(&incident).unwrap();
            assert_eq!(serde_json::from_str::<Incident>(&text).unwrap(), incident);
        }
    }

    #[test]
    fn a_small_loss_has_the_digits_it_needs_and_its_way() {
        let lost = Incident {
            kind: Kind::Loss,
            scope: Scope::Pair { from: "a".to_owned(), to: "b".to_owned(), both_ways: false },
            size: Some(Size::Lost(Estimate { value: 0.0102, low: 0.0081, high: 0.0127 })),
            direction: Some(Direction::Back),
            ..example(2)
        };
        assert_eq!(
            sentence(&lost, &TimeZone::UTC),
            "a → b: requests are lost: 1.02 % lost [0.81, 1.27], on the way back, since 00:02:10 ± 3 s (12 of 12 cells)"
        );
    }
}
