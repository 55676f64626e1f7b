//! The sentence of a first look: which number stands for what an application will see, and why the others differ.

use measure::comparison::Word;
use measure::look::{Believed, Cause, Finding, Leg, Look, Stands, Subject};

use super::name;
use crate::number;

/// The sentence, without a full stop inside it.
pub(super) fn of(look: &Look) -> String {
    let Some(believed) = look.judgement.believed else { return nothing(look) };
    let leg = &look.legs[believed.leg as usize];
    let mut parts = vec![opening(look, believed, leg)];
    parts.extend(explained(look));
    format!("{}.", parts.join("; "))
}

/// What has no place in the sentence, because no difference was shown of it.
pub(super) fn besides(look: &Look) -> Option<String> {
    let words = [(Word::NotShown, "no difference was shown of"), (Word::TooFewRuns, "too few rounds to compare")];
    let parts: Vec<String> = words.into_iter().filter_map(|(word, words)| plain(look, word, words)).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

fn opening(look: &Look, believed: Believed, leg: &Leg) -> String {
    let half = leg.sums.quantiles.iter().find(|quantile| quantile.q == 0.5);
    let firm = half.and_then(number::quantile);
    let median = firm.or_else(|| Some(format!("~{}", half?.value_ns?))).unwrap_or_default();
    match believed.stands {
        Stands::Application => format!(
            "{} with {}: {median} is what an application sees that asks every {}",
            name(leg),
            leg.who,
            look.interval_ns
        ),
        Stands::Handshake => format!(
            "{}: {median} is what the path and both kernels take; what a program there adds was not seen",
            name(leg)
        ),
        Stands::Echo => format!(
            "{}, for want of anything else: {median} is what the path takes for ICMP; no application uses that",
            name(leg)
        ),
    }
}

/// The causes, each with all that it explains.
fn explained(look: &Look) -> Vec<String> {
    const ORDER: [Cause; 7] = [
        Cause::SlowIcmp,
        Cause::NobodyWoken,
        Cause::Interval,
        Cause::Address,
        Cause::Filtered,
        Cause::AnotherHop,
        Cause::NotEstablished,
    ];
    let told = |cause: Cause| {
        let findings: Vec<&Finding> =
            look.judgement.findings.iter().filter(|finding| finding.cause == Some(cause)).collect();
        (!findings.is_empty()).then(|| why(look, cause, &findings))
    };
    ORDER.into_iter().filter_map(told).collect()
}

fn why(look: &Look, cause: Cause, findings: &[&Finding]) -> String {
    let subjects = listed(&findings.iter().map(|finding| subject(look, finding)).collect::<Vec<_>>());
    let are = if findings.len() > 1 { "are" } else { "is" };
    match cause {
        Cause::SlowIcmp => format!("{subjects}: {cause}, so TCP is to be believed"),
        Cause::Filtered => format!("{subjects} {are} {cause}"),
        Cause::NotEstablished => format!("{subjects}: why is {cause}"),
        _ => format!("{subjects}: {cause}"),
    }
}

/// Those of which it is said that no difference was shown, or that there were too few rounds.
fn plain(look: &Look, word: Word, words: &str) -> Option<String> {
    let of = look.judgement.findings.iter().filter(|finding| finding.word == Some(word));
    let subjects: Vec<String> = of.map(|finding| called(look, finding.of)).collect();
    (!subjects.is_empty()).then(|| format!("{words} {}", listed(&subjects)))
}

/// `icmp echo (−114 µs)`.
fn subject(look: &Look, finding: &Finding) -> String {
    let called = called(look, finding.of);
    match finding.shift {
        Some(shift) => format!("{called} ({})", number::signed_time(shift.value_ns.round() as i64)),
        None => called,
    }
}

fn called(look: &Look, of: Subject) -> String {
    let leg = |place: u32| look.legs.get(place as usize).map_or_else(String::new, name);
    let address = |place: u32| {
        let asked = look.addresses.get(place as usize).filter(|_| look.addresses.len() > 1);
        asked.map_or_else(String::new, |asked| format!(" at {}", asked.address))
    };
    match of {
        Subject::Leg { leg: place } => leg(place),
        Subject::Further { leg: place, .. } => {
            let at = look.legs.get(place as usize).map_or(0, |leg| leg.address);
            format!("{}{}", leg(place), address(at))
        }
        Subject::Burst { burst } => {
            let place = look.bursts.get(burst as usize).map_or(0, |burst| burst.leg);
            format!("{} back to back", leg(place))
        }
        Subject::Echo { address: place } => format!("icmp echo{}", address(place)),
        Subject::Tcp { address: place } => format!("TCP{}", address(place)),
        Subject::Port { address: place, port } => {
            let reset = look.resets.iter().find(|reset| (reset.address, reset.port) == (place, port));
            let how = reset.map_or_else(String::new, |reset| format!(" ({})", reset.origin));
            format!("tcp port {port}{}{how}", address(place))
        }
    }
}

fn nothing(look: &Look) -> String {
    let silent = look.judgement.findings.is_empty();
    let ports: usize = look.addresses.iter().map(|asked| asked.ports.len()).sum();
    let mut text = format!("answers, of an echo and {ports} ports");
    if !silent {
        text.push_str(": ");
        text.push_str(&explained(look).join("; "));
    }
    text.push_str(". Name a port where something listens (--port), or ask `sonde check` about the way there.");
    text
}

fn listed(items: &[String]) -> String {
    match items.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
        None => String::new(),
    }
}
