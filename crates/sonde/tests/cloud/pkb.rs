//! The founders' command lines for PKB: machines made on a cloud that is a stand-in, measured over ssh, and removed again. The machines
//! are hosts of a lab on this one, with a real sshd each, at the addresses that the stand-in tells.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use testbed::process::{LIMIT, ended};

use crate::scene::{CLOUDS, Scene};

/// Two hosts of a lab whose addresses are those of a scene's machines; removed when it goes out of scope.
struct Machines<'a> {
    scene: &'a Scene,
    lab: String,
}

impl<'a> Machines<'a> {
    /// `None`: they cannot be had here, which was said aloud.
    fn of(scene: &'a Scene, what: &str) -> Option<Self> {
        let lacks = |program: &str, word: &str| Command::new(program).arg(word).output().is_err();
        let why = match () {
            () if !rustix::process::geteuid().is_root() => "machines that are namespaces are tested as root",
            () if !Path::new("/usr/sbin/sshd").exists() || lacks("ssh", "-V") => "no sshd or no ssh (openssh)",
            () if lacks("ip", "-V") => "no ip (iproute2)",
            () => "",
        };
        if !why.is_empty() {
            testbed::skip::aloud(&format!("{what}: {why}"));
            return None;
        }
        let lab = format!("p{:x}{what}", std::process::id());
        let machines = Self { scene, lab };
        let up = ended(&mut scene.command(&["up", "--hosts", "2", "--ssh", "--name", &machines.lab, "-q"]), LIMIT);
        assert_eq!(up.code, Some(0), "{}", up.told());
        for number in 1..=2 {
            let (host, address) = (machines.namespace(&format!("h{number}")), format!("192.0.2.{number}/24"));
            let added = ended(Command::new("ip").args(["-n", &host, "addr", "add", &address, "dev", "eth0"]), LIMIT);
            assert_eq!(added.code, Some(0), "{}", added.told());
        }
        fs::write(scene.path("cloud/addresses"), "10.182.0.1 192.0.2.1\n10.182.0.2 192.0.2.2\n").unwrap();
        machines.write_ssh();
        Some(machines)
    }

    fn namespace(&self, name: &str) -> String {
        format!("sondelab-{}-{name}", self.lab)
    }

    /// The machines' ssh: as the lab's user and with its key, from where its hosts are reached.
    fn write_ssh(&self) {
        let files = self.scene.path("state/sonde/lab").join(&self.lab);
        let (switch, files) = (self.namespace("switch"), files.display());
        let text = format!(
            "#!/bin/sh\nfor word do\n    shift\n    case $word in sonde@192.0.2.*) word=root@10.182.0.${{word##*.}} ;; esac\n    set -- \"$@\" \"$word\"\ndone\n\
             exec ip netns exec {switch} /usr/bin/ssh -i {files}/key -o UserKnownHostsFile={files}/known_hosts \"$@\"\n"
        );
        let path = self.scene.path("bin/ssh");
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Runs PKB's words; the samples that were written, and what was said.
    fn run(&self, words: &[&str]) -> (Vec<Value>, String) {
        let samples = self.scene.path("samples.json");
        let mut command = self.scene.bare();
        command.arg("pkb").args(words).arg(format!("--json_path={}", samples.display()));
        command.args(["--ssh_public_key=key.pub", "--run_uri=ab12", "--collapse_labels=false"]);
        command.env("SONDE_STORE", self.scene.path("runs.db")).env("XDG_RUNTIME_DIR", self.scene.path("state"));
        command.env("TMPDIR", self.scene.path("state"));
        let run = ended(&mut command, LIMIT);
        assert_eq!(run.code, Some(0), "{}\n{}", run.told(), self.scene.calls());
        assert_eq!(self.scene.things(), [""; 0], "left\n{}\n{}", run.told(), self.scene.calls());
        let lines = fs::read_to_string(samples).unwrap();
        (lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect(), run.told())
    }
}

impl Drop for Machines<'_> {
    fn drop(&mut self) {
        ended(&mut self.scene.command(&["down", &self.lab]), LIMIT);
    }
}

/// Values of a metric, each of which must be of this unit.
fn values(samples: &[Value], metric: &str, unit: &str) -> Vec<f64> {
    let own: Vec<&Value> = samples.iter().filter(|sample| sample["metric"] == metric).collect();
    assert!(own.iter().all(|sample| sample["unit"] == unit), "{own:?}");
    own.iter().map(|sample| sample["value"].as_f64().unwrap()).collect()
}

#[test]
fn netperf_in_a_cluster_makes_measures_and_removes() {
    let scene = Scene::of(CLOUDS[0]);
    let Some(machines) = Machines::of(&scene, "netperf") else { return };
    let words = [
        "--benchmarks=netperf",
        "--cloud=GCP",
        "--zone=us-central1-c",
        "--machine_type=c2-standard-16",
        "--placement_group_style=cluster",
        "--netperf_benchmarks=TCP_RR",
        "--netperf_test_length=1",
        "--netperf_warmup_test_length=1",
    ];
    let (samples, said) = machines.run(&words);
    let calls = scene.calls();
    assert!(calls.contains("--collocation COLLOCATED") && calls.contains("c2-standard-16"), "{calls}");
    let rate = values(&samples, "TCP_RR_Transaction_Rate", "transactions_per_second");
    let median = values(&samples, "TCP_RR_Latency_p50", "us");
    let [rate, median] = [rate, median].map(|found| <[f64; 1]>::try_from(found).expect(&said)[0]);
    // One exchange after another: their rate is about one by their time, whatever the machine.
    assert!(rate > 0.0 && median > 0.0 && rate * median < 2e6, "{rate} a second, {median} us");
    for sample in &samples {
        assert_eq!((&sample["test"], &sample["product_name"]), (&"netperf".into(), &"PerfKitBenchmarker".into()));
        assert!(sample["run_uri"].as_str().unwrap().starts_with("ab12-"));
        for end in ["sending", "receiving"] {
            assert_eq!(sample["metadata"][format!("{end}_zone")], "us-central1-c");
            assert_eq!(sample["metadata"][format!("{end}_machine_type")], "c2-standard-16");
        }
    }
}

#[test]
fn iperf_between_zones_tells_internal_and_external_addresses_apart() {
    let scene = Scene::of(CLOUDS[0]);
    let Some(machines) = Machines::of(&scene, "iperf") else { return };
    let words = [
        "--benchmarks=iperf",
        "--cloud=GCP",
        "--zone=us-east1-c",
        "--zone=us-central1-c",
        "--ip_addresses=BOTH",
        "--iperf_runtime_in_seconds=1",
    ];
    let (samples, said) = machines.run(&words);
    let rates = values(&samples, "Throughput", "Mbits/sec");
    assert!(rates.len() == 4 && rates.iter().all(|rate| *rate > 0.0), "two ways, two addresses: {rates:?}\n{said}");
    let kinds: Vec<String> = samples
        .iter()
        .filter(|sample| sample["metric"] == "Throughput")
        .map(|sample| format!("{} {}", sample["metadata"]["ip_type"], sample["metadata"]["sending_zone"]))
        .collect();
    for zone in ["us-east1-c", "us-central1-c"] {
        for over in ["internal", "external"] {
            assert!(kinds.contains(&format!("\"{over}\" \"{zone}\"")), "{kinds:?}");
        }
    }
}
