//! Manifests: which pods are wanted, as what `kubectl` takes.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::ZONE;
use crate::wanted::{EXPIRES, MADE, OWNER, RUN};

/// Wanted pods.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pods {
    /// The run's id.
    pub run: String,
    /// The image that holds this program as its entry point.
    pub image: String,
    /// Networks: a set of pods for each.
    pub networks: Vec<Network>,
    /// The zones (`topology.kubernetes.io/zone`); empty: wherever there are nodes.
    pub zones: Vec<String>,
    /// Pods in each zone, each on a node of its own; absent: one on every node.
    pub per_zone: Option<u32>,
    /// True where they are root and may send raw packets: for ICMP and SYN probes.
    pub raw: bool,
    /// Their demands on the cluster.
    pub demands: Demands,
    /// Owner of the run.
    pub owner: String,
    /// Time at which it is made, in seconds since 1970.
    pub made: u64,
    /// Time from which anybody may remove it, in seconds since 1970.
    pub expires: u64,
}

/// Demands of pods on their cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Demands {
    /// Resources that a node has to have free for each pod: quantities by name, as Kubernetes writes them.
    pub requests: BTreeMap<String, String>,
    /// The most that a pod may use, likewise.
    pub limits: BTreeMap<String, String>,
    /// Taints of nodes that do not keep pods away.
    pub tolerations: Vec<Toleration>,
    /// The architecture of the nodes, as Kubernetes calls it; absent: any.
    pub architecture: Option<String>,
    /// Names of secrets by which the image is pulled.
    pub pull_secrets: Vec<String>,
    /// Name of the priority class; absent: the cluster's default.
    pub priority_class: Option<String>,
}

/// A taint that is tolerated; what is absent may be any.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Toleration {
    /// The taint's key.
    pub key: Option<String>,
    /// Its value.
    pub value: Option<String>,
    /// Its effect.
    pub effect: Option<String>,
}

/// Network of a pod.
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

    /// Labels that tell the pods of one set from all others.
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
        match network {
            Network::Host => {
                spec["hostNetwork"] = true.into();
                spec["dnsPolicy"] = "ClusterFirstWithHostNet".into();
            }
            // Echo requests without a right: one of the settings that the restricted level lets a pod have in its own network.
            Network::Pod => {
                let range = json!({"name": "net.ipv4.ping_group_range", "value": "0 2147483647"});
                spec["securityContext"] = json!({"sysctls": [range]});
            }
        }
        self.demands.add_to(&mut spec);
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

impl Demands {
    fn add_to(&self, spec: &mut Value) {
        let quantities = |of: &BTreeMap<String, String>| Some(json!(of)).filter(|_| !of.is_empty());
        let resources: Map<String, Value> = [("requests", &self.requests), ("limits", &self.limits)]
            .into_iter()
            .filter_map(|(name, of)| Some((name.to_owned(), quantities(of)?)))
            .collect();
        if !resources.is_empty() {
            spec["containers"][0]["resources"] = resources.into();
        }
        if let Some(architecture) = &self.architecture {
            spec["nodeSelector"] = json!({"kubernetes.io/arch": architecture});
        }
        if !self.tolerations.is_empty() {
            spec["tolerations"] = self.tolerations.iter().map(Toleration::written).collect();
        }
        if !self.pull_secrets.is_empty() {
            spec["imagePullSecrets"] = self.pull_secrets.iter().map(|name| json!({"name": name})).collect();
        }
        if let Some(class) = &self.priority_class {
            spec["priorityClassName"] = class.as_str().into();
        }
    }
}

impl Toleration {
    fn written(&self) -> Value {
        let mut written = json!({"operator": if self.value.is_some() { "Equal" } else { "Exists" }});
        for (name, part) in [("key", &self.key), ("value", &self.value), ("effect", &self.effect)] {
            if let Some(part) = part {
                written[name] = part.as_str().into();
            }
        }
        written
    }
}

/// Words by which a pod is there and does nothing: it listens at loopback, at any port.
fn idle() -> Vec<String> {
    ["serve", "--port", "0"].map(String::from).to_vec()
}

fn list(items: &[Value]) -> Value {
    json!({"apiVersion": "v1", "kind": "List", "items": items})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pods() -> Pods {
        Pods {
            run: "r1".into(),
            image: "registry.example/sonde:1".into(),
            networks: vec![Network::Pod, Network::Host],
            zones: Vec::new(),
            per_zone: None,
            raw: false,
            demands: Demands::default(),
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
    fn what_is_asked_of_the_cluster_stands_in_every_pod() {
        let quantities = |cpu: &str| [("cpu".to_owned(), cpu.to_owned())].into();
        let demands = Demands {
            requests: quantities("500m"),
            limits: quantities("2"),
            tolerations: vec![
                Toleration { key: Some("gpu".into()), value: Some("a".into()), effect: Some("NoSchedule".into()) },
                Toleration::default(),
            ],
            architecture: Some("arm64".into()),
            pull_secrets: vec!["registry".into()],
            priority_class: Some("low".into()),
        };
        let asking = Pods { zones: vec!["a".into()], per_zone: Some(1), demands, ..pods() };
        let mut items = asking.manifests()["items"].as_array().unwrap().clone();
        items.extend(asking.job(&["rtt".into()], 60)["items"].as_array().unwrap().clone());
        assert_eq!(items.len(), 3);
        for spec in items.iter().map(|item| &item["spec"]["template"]["spec"]) {
            let resources = json!({"requests": {"cpu": "500m"}, "limits": {"cpu": "2"}});
            assert_eq!(spec["containers"][0]["resources"], resources);
            let tolerations = json!([
                {"key": "gpu", "operator": "Equal", "value": "a", "effect": "NoSchedule"},
                {"operator": "Exists"},
            ]);
            assert_eq!(spec["tolerations"], tolerations);
            assert_eq!(spec["nodeSelector"], json!({"kubernetes.io/arch": "arm64"}));
            assert_eq!(spec["imagePullSecrets"], json!([{"name": "registry"}]));
            assert_eq!(spec["priorityClassName"], "low");
        }
    }

    #[test]
    fn a_pod_may_ping_in_its_own_network_without_a_right() {
        let list = pods().manifests();
        let spec = |item: usize| &list["items"][item]["spec"]["template"]["spec"];
        assert_eq!(spec(0)["securityContext"]["sysctls"][0]["name"], "net.ipv4.ping_group_range");
        assert_eq!(spec(0)["containers"][0]["securityContext"]["capabilities"], json!({"drop": ["ALL"]}));
        // A node's own settings are not a pod's to change, and a cluster refuses one that asks.
        assert_eq!(spec(1)["securityContext"], Value::Null);
    }
}
