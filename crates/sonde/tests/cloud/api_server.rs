//! `sonde lab kubernetes` against a real API server: etcd, kube-apiserver, its controllers and its scheduler, on loopback.
//!
//! No kubelet is here: its part, pods that come to run and pods that go, is played by the test. The cluster itself makes
//! pods of a set, puts them onto nodes, and takes or refuses a manifest.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use measure::method::Carrier;
use serde_json::{Value, json};
use testbed::process::{Ended, LIMIT, Running, ended, started};
use testbed::{port, skip, wait};

use crate::real::program;
use crate::scene::{CLOUDS, Scene};

/// The parts of a cluster, in the order in which they are started, and the program that speaks with it.
const PARTS: [&str; 5] = ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl"];
/// Two nodes, each in a zone of its own.
const NODES: [(&str, &str); 2] = [("n1", "a"), ("n2", "b")];
const TOKEN: &str = "a-token-of-this-test";
/// A server that starts makes its own certificates, and many tables, first.
const START: Duration = Duration::from_mins(2);

#[test]
fn a_real_server_takes_the_manifests_and_its_pods_are_hosts() {
    let Some(cluster) = Cluster::start() else {
        return skip::aloud(&format!("pods by a real API server: not all of {} are here", PARTS.join(", ")));
    };
    cluster.takes_what_is_printed();
    let _kubelet = cluster.kubelet();
    let image = ["--image", "registry.example/sonde:1", "--run", "k1", "-o", "hosts.toml"];
    for (more, expected) in [
        (
            &["--network", "both"][..],
            [("host", "n1", "a"), ("host", "n2", "b"), ("pod", "n1", "a"), ("pod", "n2", "b")].as_slice(),
        ),
        (&["--zone", "b", "--per-zone", "1"], &[("pod", "n2", "b")]),
    ] {
        let up = cluster.sonde(&[&["up"], &image[..], more].concat());
        assert_eq!(up.code, Some(0), "{}", up.told());
        let hosts: toml::Table = fs::read_to_string(cluster.scene.path("hosts.toml")).unwrap().parse().unwrap();
        let told = |host: &toml::Value| {
            let label = |name: &str| host["labels"][name].as_str().unwrap().to_owned();
            assert_eq!(host["labels"]["cpus"].as_str(), Some("4"));
            (label("network"), host["machine"].as_str().unwrap().to_owned(), label("zone"))
        };
        let mut found: Vec<_> = hosts["hosts"].as_array().unwrap().iter().map(told).collect();
        found.sort();
        let expected: Vec<_> =
            expected.iter().map(|(a, b, c)| ((*a).to_owned(), (*b).to_owned(), (*c).to_owned())).collect();
        assert_eq!(found, expected);
        let down = cluster.sonde(&["down", "--run", "k1"]);
        assert_eq!(down.code, Some(0), "{}", down.told());
        assert_eq!(cluster.left(), [""; 0]);
    }
}

#[test]
fn what_a_real_scheduler_says_of_pods_without_a_node_is_told() {
    let Some(cluster) = Cluster::start() else {
        return skip::aloud(&format!("reasons of a real scheduler: not all of {} are here", PARTS.join(", ")));
    };
    let words = ["--image", "registry.example/sonde:1", "--run", "k2", "--zone", "nowhere", "--per-zone", "1"];
    let up = cluster.sonde(&[&["up"], &words[..], &["--ready-timeout", "5s"]].concat());
    assert!(up.code == Some(1) && up.said("0 of 1 pods are ready") && up.said("nodes are available"), "{}", up.told());
    assert_eq!(cluster.left(), [""; 0]);
    let wrong = cluster.sonde(&["up", "--image", "registry.example/sonde:1", "--namespace", "none-such"]);
    assert!(wrong.code == Some(1) && wrong.said("none-such") && wrong.said("not found"), "{}", wrong.told());
}

/// A cluster of this test's own; its parts end with it.
struct Cluster {
    scene: Arc<Scene>,
    _parts: Vec<Running>,
}

impl Cluster {
    /// `None`: some of the programs are not here.
    fn start() -> Option<Self> {
        let programs: Vec<PathBuf> = PARTS.iter().map(|name| program(name)).collect::<Option<_>>()?;
        let scene = Arc::new(Scene::of(CLOUDS[0]));
        fs::remove_file(scene.path("bin/kubectl")).unwrap();
        std::os::unix::fs::symlink(&programs[4], scene.path("bin/kubectl")).unwrap();
        fs::write(scene.path("tokens.csv"), format!("{TOKEN},me,1,\"system:masters\"\n")).unwrap();
        let key = scene.path("accounts.key");
        let made = ended(
            Command::new("ssh-keygen").args(["-q", "-t", "rsa", "-b", "2048", "-m", "PEM", "-N", "", "-f"]).arg(&key),
            LIMIT,
        );
        assert_eq!(made.code, Some(0), "{}", made.told());
        let (clients, peers, secure) = (port::free(), port::free(), port::free());
        let path = |name: &str| scene.path(name).display().to_string();
        let start =
            |at: usize, words: &[String]| started(Command::new(&programs[at]).args(words).current_dir(scene.path("")));
        let etcd = start(
            0,
            &[
                format!("--data-dir={}", path("etcd")),
                format!("--listen-client-urls=http://127.0.0.1:{clients}"),
                format!("--advertise-client-urls=http://127.0.0.1:{clients}"),
                format!("--listen-peer-urls=http://127.0.0.1:{peers}"),
                format!("--initial-advertise-peer-urls=http://127.0.0.1:{peers}"),
                format!("--initial-cluster=default=http://127.0.0.1:{peers}"),
            ],
        );
        etcd.until_listening(Carrier::Tcp, clients);
        let server = start(
            1,
            &[
                format!("--etcd-servers=http://127.0.0.1:{clients}"),
                "--bind-address=127.0.0.1".into(),
                "--advertise-address=127.0.0.1".into(),
                format!("--secure-port={secure}"),
                format!("--cert-dir={}", path("certificates")),
                "--service-account-issuer=https://accounts.example".into(),
                format!("--service-account-key-file={}", key.display()),
                format!("--service-account-signing-key-file={}", key.display()),
                format!("--token-auth-file={}", path("tokens.csv")),
                "--authorization-mode=RBAC".into(),
                "--service-cluster-ip-range=10.96.0.0/24".into(),
                // Nobody here makes accounts, or takes the taints of new nodes away.
                "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition".into(),
            ],
        );
        let address = format!("https://127.0.0.1:{secure}");
        let config = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{"name": "c", "cluster": {"server": address, "insecure-skip-tls-verify": true}}],
            "users": [{"name": "me", "user": {"token": TOKEN}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "me"}}],
        });
        fs::create_dir(scene.path(".kube")).unwrap();
        fs::write(scene.path(".kube/config"), config.to_string()).unwrap();
        let ready = || kubectl(&scene, &["get", "--raw", "/readyz"], None).code == Some(0);
        assert!(wait::within(START, ready), "{}", server.told());
        let alone =
            [format!("--kubeconfig={}", path(".kube/config")), "--leader-elect=false".into(), "--secure-port=0".into()];
        let sets = "--controllers=daemonset-controller,deployment-controller,replicaset-controller,job-controller,garbage-collector-controller";
        let controllers = start(2, &[&alone[..], &[sets.into()]].concat());
        let scheduler = start(3, &[&alone[..], &["--authentication-skip-lookup=true".into()]].concat());
        let cluster = Self { scene: Arc::clone(&scene), _parts: vec![scheduler, controllers, server, etcd] };
        for (name, zone) in NODES {
            cluster.done(&["create", "-f", "-"], Some(&node(name, zone)));
        }
        wait::until("the namespace that is there from the beginning", || {
            cluster.kubectl(&["get", "namespace", "default"], None).code == Some(0)
        });
        Some(cluster)
    }

    fn kubectl(&self, words: &[&str], input: Option<&Value>) -> Ended {
        kubectl(&self.scene, words, input)
    }

    /// Output of these words, which must be taken.
    #[track_caller]
    fn done(&self, words: &[&str], input: Option<&Value>) -> String {
        let said = self.kubectl(words, input);
        assert_eq!(said.code, Some(0), "{words:?}: {}", said.told());
        said.stdout
    }

    fn sonde(&self, words: &[&str]) -> Ended {
        let verb = words[0];
        let quick: &[&str] = if verb == "print" { &[] } else { &["--look-every", "200ms"] };
        ended(&mut self.scene.command(&[&["kubernetes"], words, quick].concat()), START)
    }

    /// Every form of the manifests is taken by the server as it checks what it is to keep, and a word it does not know is not.
    fn takes_what_is_printed(&self) {
        let image = ["print", "--image", "registry.example/sonde:1", "--run", "k0"];
        let check = ["apply", "--dry-run=server", "--validate=strict", "-f", "-"];
        for more in [
            &["--network", "both", "--raw"][..],
            &["--zone", "a,b", "--per-zone", "2"],
            &["--zone", "a", "--once", "--", "rtt", "db1", "--json"],
        ] {
            let printed = self.sonde(&[&image[..], more].concat());
            let list: Value =
                serde_json::from_str(&printed.stdout).unwrap_or_else(|error| panic!("{error}: {}", printed.told()));
            self.done(&check, Some(&list));
            let mut wrong = list;
            wrong["items"][0]["spec"]["template"]["spec"]["hostNetwrok"] = true.into();
            let refused = self.kubectl(&check, Some(&wrong));
            assert!(refused.code != Some(0) && refused.said("hostNetwrok"), "{}", refused.told());
        }
    }

    /// Things of ours that the cluster still holds.
    fn left(&self) -> Vec<String> {
        let kinds = "daemonsets,deployments,replicasets,jobs,pods";
        let listed = self.done(&["get", kinds, "-A", "--selector", "sonde-run", "-o", "name"], None);
        listed.lines().map(str::to_owned).collect()
    }

    fn kubelet(&self) -> Kubelet {
        let over = Arc::new(AtomicBool::new(false));
        let (scene, ends) = (Arc::clone(&self.scene), Arc::clone(&over));
        let thread = std::thread::spawn(move || {
            while !ends.load(Ordering::Relaxed) {
                round(&scene);
            }
        });
        Kubelet { over, thread: Some(thread) }
    }
}

/// The part of the nodes: pods that were put on one run, and those that are to go are gone.
struct Kubelet {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Kubelet {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// One look at all pods. A step that fails is tried again by the next look: a pod may be changed, or gone, in between.
fn round(scene: &Scene) {
    let listed = kubectl(scene, &["get", "pods", "-A", "-o", "json"], None);
    let Ok(listed) = serde_json::from_str::<Value>(&listed.stdout) else { return };
    for (number, pod) in listed["items"].as_array().into_iter().flatten().enumerate() {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let (Some(name), Some(namespace)) = (text(&pod["metadata"]["name"]), text(&pod["metadata"]["namespace"]))
        else {
            continue;
        };
        let of = ["pod", &name, "--namespace", &namespace];
        if pod["metadata"]["deletionTimestamp"].is_string() {
            kubectl(scene, &[&["delete"], &of[..], &["--force", "--grace-period=0", "--wait=false"]].concat(), None);
        } else if pod["spec"]["nodeName"].is_string() && pod["status"]["phase"] != "Running" {
            let ready = json!([{"type": "Ready", "status": "True"}, {"type": "PodScheduled", "status": "True"}]);
            let address = format!("10.244.0.{}", number + 2);
            let status = json!({"status": {"phase": "Running", "podIP": address, "podIPs": [{"ip": address}], "conditions": ready}});
            let patch = status.to_string();
            let words = ["--subresource=status", "--type=merge", "-p", &patch];
            kubectl(scene, &[&["patch"], &of[..], &words].concat(), None);
        }
    }
}

/// The real program with these words, in which `-` stands for `input`.
fn kubectl(scene: &Scene, words: &[&str], input: Option<&Value>) -> Ended {
    let file = scene.path("input.json");
    if let Some(input) = input {
        fs::write(&file, input.to_string()).unwrap();
    }
    let mut command = Command::new(scene.path("bin/kubectl"));
    command.env_clear().env("HOME", scene.path(""));
    for word in words {
        if *word == "-" {
            command.arg(&file)
        } else {
            command.arg(word)
        };
    }
    ended(&mut command, LIMIT)
}

fn node(name: &str, zone: &str) -> Value {
    let capacity = json!({"cpu": "4", "memory": "8Gi", "pods": "110"});
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "labels": {
            "kubernetes.io/arch": if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" },
            "kubernetes.io/hostname": name,
            "topology.kubernetes.io/zone": zone,
        }},
        "status": {
            "capacity": capacity, "allocatable": capacity,
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "it is"}],
        },
    })
}
