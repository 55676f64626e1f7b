//! Pods of a Kubernetes cluster as hosts: manifests, and how pods are read back.
//!
//! On each node a pod (a `DaemonSet`), or some in each zone (a Deployment by zone), with a network of their own or the node's; or one
//! shot (Job). The manifests are JSON, which `kubectl` takes as it takes YAML. Everything carries the label `sonde-run`, and is
//! removed by it; when it may go stands in an annotation.
//!
//! The pods do nothing but be there: they listen at loopback alone. What is measured is begun by `kubectl exec`.

use std::collections::BTreeMap;
use std::net::IpAddr;

use logbook::host::{Host, Pod, Reach};
use serde_json::{Value, json};

use crate::cloud::answer::{each, scalar};
use crate::cloud::fault::Kind;
use crate::cloud::vendor::Tool;
use crate::cloud::wanted::{EXPIRES, MADE, OWNER, RUN};

/// `kubectl`.
pub const TOOL: Tool = Tool {
    whose: "kubernetes",
    program: "kubectl",
    install: "kubectl, https://kubernetes.io/docs/tasks/tools",
    login: "`kubectl config current-context` names the cluster, `kubectl auth whoami` who you are there",
    rights: "get, list, create, patch and delete of daemonsets, deployments, jobs and pods, and pods/exec, in the namespace",
    environment: &[],
    always: &[],
    account: "--context",
    faults: &[
        ("you must be logged in", Kind::NotLoggedIn),
        ("unauthorized", Kind::NotLoggedIn),
        ("no configuration has been provided", Kind::NotLoggedIn),
        ("context was not found", Kind::NotLoggedIn),
        ("exceeded quota", Kind::Quota),
        ("forbidden", Kind::Permission),
        ("too many requests", Kind::RateLimited),
        ("alreadyexists", Kind::AlreadyExists),
        ("(notfound)", Kind::NotFound),
        ("connection refused", Kind::NotLoggedIn),
        ("was refused", Kind::NotLoggedIn),
        ("internal error", Kind::Passing),
        ("etcdserver", Kind::Passing),
    ],
};

/// What pods are wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pods {
    /// The run's id.
    pub run: String,
    /// The image that holds this program as its entry point.
    pub image: String,
    /// Which networks: a set of pods for each.
    pub networks: Vec<Network>,
    /// The zones (`topology.kubernetes.io/zone`); empty: wherever there are nodes.
    pub zones: Vec<String>,
    /// Pods in each zone, each on a node of its own; absent: one on every node.
    pub per_zone: Option<u32>,
    /// Whether they are root and may send raw packets: for ICMP and SYN probes.
    pub raw: bool,
    /// Who made it.
    pub owner: String,
    /// When it is made, in seconds since 1970.
    pub made: u64,
    /// When it may be removed by anybody, in seconds since 1970.
    pub expires: u64,
}

/// Whose network a pod has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// One of its own: what the cluster's network plugin makes of it.
    Pod,
    /// Its node's.
    Host,
}

impl Network {
    fn name(self) -> &'static str {
        match self {
            Self::Pod => "pod",
            Self::Host => "host",
        }
    }
}

/// The label by which zones are told.
const ZONE: &str = "topology.kubernetes.io/zone";

impl Pods {
    /// All manifests, as one list.
    pub fn manifests(&self) -> Value {
        let sets = self.networks.iter().flat_map(|network| match self.per_zone {
            None => vec![self.on_each_node(*network)],
            Some(count) => self.zones.iter().map(|zone| self.in_zone(*network, zone, count)).collect(),
        });
        list(&sets.collect::<Vec<_>>())
    }

    /// A Job that runs the program once with these words, in the first of the networks, and in one of the zones where some are
    /// named. It ends after `deadline` seconds at the latest.
    pub fn job(&self, words: &[String], deadline: u64) -> Value {
        let network = self.networks.first().copied().unwrap_or(Network::Pod);
        let name = format!("sonde-{}-once", self.run);
        let mut pod = self.pod(network, &self.zones, words);
        pod["spec"]["restartPolicy"] = "Never".into();
        let spec = json!({
            "backoffLimit": 0,
            "activeDeadlineSeconds": deadline,
            "ttlSecondsAfterFinished": self.expires.saturating_sub(self.made),
            "template": pod,
        });
        list(&[self.whole("batch/v1", "Job", &name, &spec)])
    }

    fn on_each_node(&self, network: Network) -> Value {
        let name = format!("sonde-{}-{}", self.run, network.name());
        let spec = json!({
            "selector": {"matchLabels": self.selecting(network, None)},
            "template": self.labelled(self.pod(network, &self.zones, &idle()), network, None),
        });
        self.whole("apps/v1", "DaemonSet", &name, &spec)
    }

    fn in_zone(&self, network: Network, zone: &str, count: u32) -> Value {
        let name = format!("sonde-{}-{}-{zone}", self.run, network.name());
        let mut pod = self.labelled(self.pod(network, &[zone.to_owned()], &idle()), network, Some(zone));
        // Each on a node of its own: two on one would measure that node's memory.
        pod["spec"]["affinity"]["podAntiAffinity"] = json!({
            "requiredDuringSchedulingIgnoredDuringExecution": [{
                "labelSelector": {"matchLabels": self.selecting(network, Some(zone))},
                "topologyKey": "kubernetes.io/hostname",
            }],
        });
        let spec = json!({
            "replicas": count,
            "selector": {"matchLabels": self.selecting(network, Some(zone))},
            "strategy": {"type": "Recreate"},
            "template": pod,
        });
        self.whole("apps/v1", "Deployment", &name, &spec)
    }

    fn whole(&self, version: &str, kind: &str, name: &str, spec: &Value) -> Value {
        let metadata = json!({"name": name, "labels": self.labels(), "annotations": self.annotations()});
        json!({"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec})
    }

    fn labels(&self) -> Value {
        json!({RUN: self.run, "app.kubernetes.io/name": "sonde", "app.kubernetes.io/managed-by": "sonde"})
    }

    fn annotations(&self) -> Value {
        json!({EXPIRES: self.expires.to_string(), MADE: self.made.to_string(), OWNER: self.owner})
    }

    /// What tells the pods of one set from all others.
    fn selecting(&self, network: Network, zone: Option<&str>) -> Value {
        let mut labels = json!({RUN: self.run, "sonde-network": network.name()});
        if let Some(zone) = zone {
            labels["sonde-zone"] = zone.into();
        }
        labels
    }

    fn labelled(&self, mut pod: Value, network: Network, zone: Option<&str>) -> Value {
        if let Value::Object(own) = self.selecting(network, zone) {
            for (key, value) in own {
                pod["metadata"]["labels"][key] = value;
            }
        }
        pod
    }

    fn pod(&self, network: Network, zones: &[String], words: &[String]) -> Value {
        let mut spec = json!({
            "automountServiceAccountToken": false,
            "enableServiceLinks": false,
            "terminationGracePeriodSeconds": 5,
            "containers": [{
                "name": "sonde",
                "image": self.image,
                "args": words,
                "securityContext": self.rights(),
            }],
        });
        if network == Network::Host {
            spec["hostNetwork"] = true.into();
            spec["dnsPolicy"] = "ClusterFirstWithHostNet".into();
        }
        if !zones.is_empty() {
            let here = json!({"key": ZONE, "operator": "In", "values": zones});
            spec["affinity"] = json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchExpressions": [here]}],
            }}});
        }
        json!({"metadata": {"labels": self.labels(), "annotations": self.annotations()}, "spec": spec})
    }

    fn rights(&self) -> Value {
        if self.raw {
            let raw = json!({"drop": ["ALL"], "add": ["NET_RAW"]});
            return json!({"runAsUser": 0, "allowPrivilegeEscalation": false, "capabilities": raw});
        }
        json!({
            "runAsNonRoot": true,
            "allowPrivilegeEscalation": false,
            "capabilities": {"drop": ["ALL"]},
            "seccompProfile": {"type": "RuntimeDefault"},
        })
    }
}

/// Words by which a pod is there and does nothing: it listens at loopback, at any port.
fn idle() -> Vec<String> {
    ["serve", "--port", "0"].map(String::from).to_vec()
}

fn list(items: &[Value]) -> Value {
    json!({"apiVersion": "v1", "kind": "List", "items": items})
}

/// How far the sets of a run have come.
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
    /// Of a list of `DaemonSet`s and Deployments. `None`: it is no list.
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

    /// Whether all pods there are to be are ready.
    pub fn is_whole(self) -> bool {
        self.unseen == 0 && self.wanted > 0 && self.ready >= self.wanted
    }
}

/// Why pods are not ready: `POD: REASON`, each once.
pub fn reasons(pods: &Value) -> Vec<String> {
    let reason = |pod: &&Value| {
        let name = scalar(pod, "metadata.name")?;
        let waiting =
            "status.containerStatuses.0.state.waiting.reason|status.containerStatuses.0.state.terminated.reason";
        let unscheduled = each(pod, "status.conditions.*").into_iter().find(|condition| {
            scalar(condition, "type").as_deref() == Some("PodScheduled")
                && scalar(condition, "status").as_deref() == Some("False")
        });
        let unscheduled = unscheduled.and_then(|condition| crate::cloud::answer::sentence(condition, "message"));
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
    Some(Host { name, reach, internal, external: outside, labels, machine: node })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pods() -> Pods {
        Pods {
            run: "r1".into(),
            image: "registry.example/sonde:1".into(),
            networks: vec![Network::Pod, Network::Host],
            zones: Vec::new(),
            per_zone: None,
            raw: false,
            owner: "me".into(),
            made: 1_000,
            expires: 2_000,
        }
    }

    #[test]
    fn every_manifest_carries_the_run_and_its_end() {
        let zoned = Pods { zones: vec!["a".into(), "b".into()], per_zone: Some(2), ..pods() };
        let lists = [pods().manifests(), zoned.manifests(), pods().job(&["rtt".into(), "x".into()], 60)];
        assert_eq!(lists.each_ref().map(|list| list["items"].as_array().unwrap().len()), [2, 4, 1]);
        for item in lists.iter().flat_map(|list| list["items"].as_array().unwrap()) {
            for marked in [&item["metadata"], &item["spec"]["template"]["metadata"]] {
                assert_eq!(marked["labels"][RUN], "r1");
                assert_eq!(marked["annotations"][EXPIRES], "2000");
            }
            let selector = item["spec"]["selector"]["matchLabels"].as_object().into_iter().flatten();
            for (key, value) in selector {
                assert_eq!(&item["spec"]["template"]["metadata"]["labels"][key], value, "a set selects its own pods");
            }
        }
        let host = &lists[0]["items"][1]["spec"]["template"]["spec"];
        assert_eq!(
            (&host["hostNetwork"], &lists[0]["items"][0]["spec"]["template"]["spec"]["hostNetwork"]),
            (&json!(true), &Value::Null)
        );
        let affinity = &lists[1]["items"][0]["spec"]["template"]["spec"]["affinity"];
        assert!(affinity["nodeAffinity"].is_object() && affinity["podAntiAffinity"].is_object());
    }

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
