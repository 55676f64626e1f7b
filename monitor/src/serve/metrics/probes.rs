//! Targets as `blackbox_exporter` names what it sees of them, so that rules and dashboards made for it go on: each is one second's probe.

use super::{Family, Labels, Series};
use crate::centre::picture::{CellNow, HostNow, Picture, ProbeNow};

/// A cell whose far end is a target.
struct Probed<'a> {
    labels: Labels,
    target: &'a HostNow,
    probe: &'a ProbeNow,
}

/// The metrics of targets; none where there are none.
pub fn families(picture: &Picture) -> Vec<Family> {
    let host = |place: u32| picture.hosts.get(place as usize);
    let probed = |cell: &'_ CellNow| {
        let (from, target) = (host(cell.from)?, host(cell.to)?);
        let labels = vec![("from", from.name.clone()), ("to", target.name.clone())];
        let probe = cell.probe.clone()?;
        target.agent.is_none().then_some((labels, target, probe))
    };
    let found: Vec<_> = picture.cells.iter().filter_map(probed).collect();
    let all: Vec<Probed<'_>> =
        found.iter().map(|(labels, target, probe)| Probed { labels: labels.clone(), target, probe }).collect();
    let gauge = |name, unit, help, value: &dyn Fn(&Probed<'_>) -> Option<f64>| {
        let series: Vec<_> = all.iter().filter_map(|each| Some((each.labels.clone(), value(each)?))).collect();
        (!series.is_empty()).then_some(Family { name, help, unit, series: Series::Gauges(series) })
    };
    let is_up = |success: bool| f64::from(u8::from(success));
    let families = [
        gauge(
            "probe_success",
            None,
            "1 where all requests to a target that were due in the latest second were answered, else 0.",
            &|each| Some(is_up(each.probe.success)),
        ),
        gauge(
            "probe_duration_seconds",
            Some("seconds"),
            "The longest response time of a target in the latest second, on a connection that stays.",
            &|each| Some(each.probe.took_ns?.as_secs_f64()),
        ),
        gauge("probe_http_status_code", None, "The status of the latest reply of HTTP.", &|each| {
            let code = each.probe.reply.as_ref().filter(|_| is_of(each.target, HTTP))?;
            code.parse::<u16>().ok().map(f64::from)
        }),
        gauge(
            "probe_ssl_earliest_cert_expiry",
            None,
            "The time at which the first certificate of a target ends, seconds after the begin of 1970.",
            &|each| each.probe.certified_until_s.map(|until| until as f64),
        ),
        gauge(
            "probe_dns_query_succeeded",
            None,
            "1 where all questions of DNS that were due in the latest second were answered, else 0.",
            &|each| is_of(each.target, DNS).then_some(is_up(each.probe.success)),
        ),
    ];
    families.into_iter().flatten().chain(replies(&all)).collect()
}

const HTTP: &[&str] = &["http", "https", "h2c", "h2", "h3"];
const DNS: &[&str] = &["dns", "dns+tcp", "dns+tls", "dns+https"];

fn is_of(target: &HostNow, schemes: &[&str]) -> bool {
    target.scheme.as_deref().is_some_and(|scheme| schemes.contains(&scheme))
}

/// The latest reply of each program, as a label: its names are the protocol's.
fn replies(all: &[Probed<'_>]) -> Option<Family> {
    let each = all.iter().filter_map(|each| {
        let (scheme, reply) = (each.target.scheme.clone()?, each.probe.reply.clone()?);
        let mut labels = each.labels.clone();
        labels.extend([("protocol", scheme), ("reply", reply)]);
        Some((labels, 1.0))
    });
    let series: Vec<_> = each.collect();
    (!series.is_empty()).then_some(Family {
        name: "sonde_target_reply_info",
        help: "The latest reply of a program at work, as its protocol names it.",
        unit: None,
        series: Series::Gauges(series),
    })
}
