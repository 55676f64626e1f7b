//! Demands of pods on their cluster, as options.

use clap::Args;
use cloud::kubernetes::manifest::{Demands, Toleration};

/// Suffixes of a quantity, as Kubernetes reads them.
const SUFFIXES: [&str; 14] = ["", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
/// Effects of a taint.
const EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

/// Demands of pods on their cluster.
#[derive(Debug, Args)]
pub(super) struct DemandOptions {
    /// Resources that a node must have free for each pod, as cpu=500m,memory=64Mi
    #[arg(long, value_name = "NAME=QUANTITY", value_delimiter = ',', value_parser = quantity)]
    requests: Vec<(String, String)>,
    /// Resources that each pod may use at most, as cpu=1,memory=256Mi; a pod at its limit of cpu is throttled
    #[arg(long, value_name = "NAME=QUANTITY", value_delimiter = ',', value_parser = quantity)]
    limits: Vec<(String, String)>,
    /// Use nodes with this taint too: KEY, KEY=VALUE or KEY=VALUE:EFFECT; `*`: whatever their taints; repeatable
    #[arg(long, value_name = "TAINT", value_parser = toleration)]
    toleration: Vec<Toleration>,
    /// Only nodes of this architecture (kubernetes.io/arch), as amd64 or arm64; any [default: that of this program]
    #[arg(long, value_name = "ARCH", value_parser = named)]
    arch: Option<String>,
    /// Secret by which the image is pulled; repeatable
    #[arg(long, value_name = "NAME", value_parser = named)]
    image_pull_secret: Vec<String>,
    /// Priority class of the pods
    #[arg(long, value_name = "NAME", value_parser = named)]
    priority_class: Option<String>,
}

impl DemandOptions {
    /// The same as what a manifest takes.
    pub(super) fn demands(&self) -> Demands {
        let architecture = self.arch.clone().unwrap_or_else(|| own_architecture().to_owned());
        Demands {
            requests: self.requests.iter().cloned().collect(),
            limits: self.limits.iter().cloned().collect(),
            tolerations: self.toleration.clone(),
            architecture: Some(architecture).filter(|name| name != "any"),
            pull_secrets: self.image_pull_secret.clone(),
            priority_class: self.priority_class.clone(),
        }
    }
}

/// The architecture of this program, as Kubernetes calls it, which has Go's names.
fn own_architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

/// Most letters of a name in a cluster (RFC 1123).
const LONGEST: usize = 253;

/// A name in a cluster.
fn named(text: &str) -> Result<String, String> {
    let is_end = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit();
    let holds = text.len() <= LONGEST
        && text.starts_with(is_end)
        && text.ends_with(is_end)
        && text.chars().all(|letter| is_end(letter) || "-.".contains(letter));
    if holds { Ok(text.to_owned()) } else { Err("is no name in a cluster: small letters, digits and dashes".into()) }
}

/// A resource with its quantity.
fn quantity(text: &str) -> Result<(String, String), String> {
    let wrong = || "write a resource and a quantity of it, as cpu=500m or memory=64Mi".to_owned();
    let (name, amount) = text.split_once('=').ok_or_else(wrong)?;
    let number = amount.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let is_number = number.starts_with(|digit: char| digit.is_ascii_digit()) && number.parse::<f64>().is_ok();
    let is_name = is_key(name);
    if is_name && is_number && SUFFIXES.contains(&&amount[number.len()..]) {
        Ok((name.to_owned(), amount.to_owned()))
    } else {
        Err(wrong())
    }
}

/// A taint that is tolerated, as `kubectl taint` writes it.
fn toleration(text: &str) -> Result<Toleration, String> {
    if text == "*" {
        return Ok(Toleration::default());
    }
    let (rest, effect) = text.rsplit_once(':').map_or((text, None), |(rest, effect)| (rest, Some(effect)));
    let (key, value) = rest.split_once('=').map_or((rest, None), |(key, value)| (key, Some(value)));
    let is_value = |value: &str| value.is_empty() || named(&value.to_ascii_lowercase().replace('_', "-")).is_ok();
    if !is_key(key) || !value.is_none_or(is_value) {
        return Err("write a taint as kubectl does: dedicated=bench:NoSchedule, dedicated, or * for any".to_owned());
    }
    if let Some(effect) = effect.filter(|effect| !EFFECTS.contains(effect)) {
        return Err(format!("{effect} is no effect of a taint: one of {}", EFFECTS.join(", ")));
    }
    Ok(Toleration { key: Some(key.to_owned()), value: value.map(str::to_owned), effect: effect.map(str::to_owned) })
}

/// Returns true where `text` is a key in a cluster: a name, with a domain before it or without.
fn is_key(text: &str) -> bool {
    let (domain, name) = text.split_once('/').map_or((None, text), |(domain, name)| (Some(domain), name));
    domain.is_none_or(|domain| named(domain).is_ok()) && named(&name.to_ascii_lowercase().replace('_', "-")).is_ok()
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    fn taint(key: &str, value: Option<&str>, effect: Option<&str>) -> Toleration {
        Toleration { key: Some(key.to_owned()), value: value.map(str::to_owned), effect: effect.map(str::to_owned) }
    }

    #[test]
    fn taints_are_written_as_for_kubectl() {
        let read = |text: &str| toleration(text).unwrap();
        assert_eq!(read("dedicated=bench:NoSchedule"), taint("dedicated", Some("bench"), Some("NoSchedule")));
        assert_eq!(read("nvidia.com/gpu:NoExecute"), taint("nvidia.com/gpu", None, Some("NoExecute")));
        assert_eq!(
            read("node-role.kubernetes.io/control-plane"),
            taint("node-role.kubernetes.io/control-plane", None, None)
        );
        assert_eq!(read("*"), Toleration::default());
    }

    #[test_case(""; "nothing")]
    #[test_case("a:NoSchedul"; "a mistyped effect")]
    #[test_case("a b"; "two words")]
    #[test_case("=b:NoSchedule"; "no key")]
    fn what_is_no_taint_is_refused(text: &str) {
        assert!(toleration(text).is_err());
    }

    #[test]
    fn quantities_are_those_of_kubernetes() {
        for text in ["cpu=500m", "cpu=1.5", "memory=64Mi", "ephemeral-storage=1G", "example.com/nic=1"] {
            let (name, amount) = text.split_once('=').unwrap();
            assert_eq!(quantity(text), Ok((name.to_owned(), amount.to_owned())));
        }
        for text in ["cpu", "cpu=", "cpu=much", "memory=64MB", "memory=-1", "memory=1e", "=1"] {
            assert!(quantity(text).is_err(), "{text}");
        }
    }
}
