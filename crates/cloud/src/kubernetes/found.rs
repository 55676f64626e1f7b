//! Answers of `kubectl` about a run's pods: their progress, the reasons for which they are not ready, and the ready ones as
//! hosts.

use std::collections::BTreeMap;
use std::net::IpAddr;

use logbook::host::{Host, Pod, Reach};
use serde_json::Value;

use super::ZONE;
use crate::answer::{each, scalar, sentence};
use crate::wanted::RUN;

/// Progress of the sets of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Pods that are wanted.
    pub wanted: u64,
    /// Pods that are ready.
    pub ready: u64,
    /// Sets whose controller has not looked at them yet.
    pub unseen: u64,
}

impl Progress {
    /// Reads a list of `DaemonSet`s and Deployments. `None`: it is no list.
    pub fn read(answer: &Value) -> Option<Self> {
        let items = answer.get("items")?.as_array()?;
        Some(items.iter().fold(Self::default(), |sum, item| {
            let number = |path: &str| scalar(item, path).and_then(|text| text.parse::<u64>().ok()).unwrap_or_default();
            let seen = number("status.observedGeneration") >= number("metadata.generation").max(1);
            Self {
                wanted: sum.wanted + number("status.desiredNumberScheduled|spec.replicas"),
                ready: sum.ready + number("status.numberReady|status.readyReplicas"),
                unseen: sum.unseen + u64::from(!seen),
            }
        }))
    }

    /// Returns true where all wanted pods are ready.
    pub fn is_whole(self) -> bool {
        self.unseen == 0 && self.wanted > 0 && self.ready >= self.wanted
    }
}

/// Reasons for which pods are not ready: `POD: REASON`, each once.
pub fn reasons(pods: &Value) -> Vec<String> {
    let reason = |pod: &&Value| {
        let name = scalar(pod, "metadata.name")?;
        let waiting =
            "status.containerStatuses.0.state.waiting.reason|status.containerStatuses.0.state.terminated.reason";
        let unscheduled = each(pod, "status.conditions.*").into_iter().find(|condition| {
            scalar(condition, "type").as_deref() == Some("PodScheduled")
                && scalar(condition, "status").as_deref() == Some("False")
        });
        let unscheduled = unscheduled.and_then(|condition| sentence(condition, "message"));
        Some(format!("{name}: {}", scalar(pod, waiting).or(unscheduled)?))
    };
    each(pods, "items.*").iter().filter_map(reason).collect()
}

/// The pods of a list that are ready, as hosts: by their name; with the labels of their nodes where `nodes` tells them.
pub fn hosts(pods: &Value, nodes: Option<&Value>, context: Option<&str>) -> Vec<Host> {
    let nodes: BTreeMap<String, &Value> = nodes
        .map(|nodes| each(nodes, "items.*"))
        .into_iter()
        .flatten()
        .filter_map(|node| Some((scalar(node, "metadata.name")?, node)))
        .collect();
    let ready = |pod: &&Value| {
        each(pod, "status.conditions.*").into_iter().any(|condition| {
            scalar(condition, "type").as_deref() == Some("Ready")
                && scalar(condition, "status").as_deref() == Some("True")
        })
    };
    let pods = each(pods, "items.*").into_iter().filter(ready);
    pods.filter_map(|pod| host(pod, &nodes, context)).collect()
}

fn host(pod: &Value, nodes: &BTreeMap<String, &Value>, context: Option<&str>) -> Option<Host> {
    let name = scalar(pod, "metadata.name")?;
    let node = scalar(pod, "spec.nodeName");
    let known = node.as_ref().and_then(|node| nodes.get(node));
    // The names of labels hold dots, so no path leads to them.
    let of_node = |label: &str| known?.get("metadata")?.get("labels")?.get(label)?.as_str().map(str::to_owned);
    let own = |label: &str| pod.get("metadata")?.get("labels")?.get(label)?.as_str().map(str::to_owned);
    let labels = [
        ("run", own(RUN)),
        ("network", own("sonde-network")),
        ("node", node.clone()),
        ("zone", of_node(ZONE)),
        ("region", of_node("topology.kubernetes.io/region")),
        ("machine_type", of_node("node.kubernetes.io/instance-type")),
        ("cpus", known.and_then(|node| scalar(node, "status.capacity.cpu"))),
    ];
    let labels = labels.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect();
    let on_node = scalar(pod, "spec.hostNetwork").as_deref() == Some("true");
    let outside = known.filter(|_| on_node).and_then(|node| {
        let addresses = each(node, "status.addresses.*").into_iter();
        let mut external = addresses.filter(|address| scalar(address, "type").as_deref() == Some("ExternalIP"));
        external.find_map(|address| scalar(address, "address")?.parse::<IpAddr>().ok())
    });
    let reach = Reach::Pod(Pod {
        pod: name.clone(),
        namespace: scalar(pod, "metadata.namespace"),
        container: Some("sonde".into()),
        context: context.map(str::to_owned),
    });
    let internal = scalar(pod, "status.podIP").and_then(|address| address.parse().ok());
    Some(Host { name, reach, internal, external: outside.map(Into::into), labels, machine: node })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn progress_is_whole_only_when_every_set_was_seen() {
        let set = |generation: u64, seen: u64, wanted: u64, ready: u64| {
            json!({"metadata": {"generation": generation}, "status":
                {"observedGeneration": seen, "desiredNumberScheduled": wanted, "numberReady": ready}})
        };
        let whole = |items: Vec<Value>| Progress::read(&json!({"items": items})).unwrap().is_whole();
        assert!(whole(vec![set(1, 1, 3, 3)]));
        assert!(!whole(vec![set(2, 1, 3, 3)]));
        assert!(!whole(vec![set(1, 1, 3, 3), set(1, 1, 2, 1)]));
        assert!(!whole(vec![]), "no pod is no lab");
        assert!(whole(vec![json!({"metadata": {"generation": 1}, "spec": {"replicas": 2},
            "status": {"observedGeneration": 1, "readyReplicas": 2}})]));
        assert_eq!(Progress::read(&json!("rubbish")), None);
    }

    #[test]
    fn ready_pods_are_hosts() {
        let pod = |name: &str, ready: &str| {
            json!({"metadata": {"name": name, "namespace": "lab", "labels": {RUN: "r1", "sonde-network": "host"}},
                "spec": {"nodeName": "n1", "hostNetwork": true},
                "status": {"podIP": "10.1.0.7", "conditions": [{"type": "Ready", "status": ready}]}})
        };
        let nodes = json!({"items": [{"metadata": {"name": "n1", "labels": {ZONE: "z1"}}, "status": {
            "capacity": {"cpu": "8"}, "addresses": [{"type": "ExternalIP", "address": "198.51.100.4"}]}}]});
        let hosts = hosts(&json!({"items": [pod("a", "True"), pod("b", "False")]}), Some(&nodes), Some("c"));
        assert_eq!(hosts.len(), 1);
        assert_eq!((hosts[0].label("zone"), hosts[0].label("cpus")), (Some("z1"), Some("8")));
        assert_eq!(hosts[0].external, Some("198.51.100.4".parse().unwrap()));
        assert_eq!(hosts[0].machine.as_deref(), Some("n1"));
        let Reach::Pod(reach) = &hosts[0].reach else { panic!("a pod") };
        assert_eq!(
            (reach.pod.as_str(), reach.namespace.as_deref(), reach.context.as_deref()),
            ("a", Some("lab"), Some("c"))
        );
    }

    #[test]
    fn reasons_are_told() {
        let pods = json!({"items": [
            {"metadata": {"name": "a"}, "status": {"containerStatuses": [{"state": {"waiting": {"reason": "ErrImagePull"}}}]}},
            {"metadata": {"name": "b"}, "status": {"conditions": [{"type": "PodScheduled", "status": "False", "message": "no node fits"}]}},
            {"metadata": {"name": "c"}, "status": {}},
        ]});
        assert_eq!(reasons(&pods), ["a: ErrImagePull", "b: no node fits"]);
    }

    proptest! {
        #[test]
        fn no_answer_makes_a_reader_panic(text in r#"[\[\]{}":,a-z0-9 ]{0,64}"#) {
            if let Ok(value) = serde_json::from_str::<Value>(&text) {
                let listed = json!({"items": [value, {"metadata": value, "status": value, "spec": value}]});
                for answer in [&value, &listed] {
                    hosts(answer, Some(answer), None);
                    reasons(answer);
                    Progress::read(answer);
                }
            }
        }
    }
}
