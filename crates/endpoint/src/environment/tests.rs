//! Facts read equal the files' contents: trees whose content is known, and this host against other sources.

use std::io::Write;
use std::process::Command;

use super::files::planted::Tree;
use super::watch::Watch;
use super::*;
use crate::clock::Monotonic;
use crate::facts::thread::{ThreadFacts, ThreadSpan};
use measure::unit::Nanos;
use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};

fn guest() -> Tree {
    Tree::of(include_str!("../../tests/fixtures/guest.tree"))
}

fn metal() -> Tree {
    Tree::of(include_str!("../../tests/fixtures/metal.tree"))
}

fn read(tree: &Tree, interface: &str) -> Environment {
    Reader::tree("sonde 0", tree.root()).through(interface).read()
}

fn output(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().expect("the other source runs");
    String::from_utf8(output.stdout).expect("text").trim().to_owned()
}

#[test]
fn a_guest_is_told_as_it_stands() {
    let facts = read(&guest(), "eth0");
    assert_eq!((facts.program.as_str(), facts.host.as_deref()), ("sonde 0", Some("guest-1")));
    assert_eq!(facts.kernel.as_deref(), Some("6.18.44 #1 SMP PREEMPT_DYNAMIC Mon Jan 5 2026"));
    assert_eq!(facts.cpu_model.as_deref(), Some("AMD EPYC"));
    assert_eq!((facts.cpus_allowed, facts.cpus_online, facts.smt), (Some(2), Some(3), Some(true)));
    assert_eq!(facts.machine.as_deref(), Some("Microsoft Corporation Virtual Machine"));
    assert_eq!(facts.hypervisor, facts.machine, "the flag is set, and only the maker tells which");
    assert_eq!(facts.clock_source.as_deref(), Some("kvm-clock"));
    assert_eq!(facts.idle_driver.as_deref(), Some("haltpoll"));
    assert_eq!(facts.deepest_idle_state.as_deref(), Some("haltpoll idle 1 us"));
    assert_eq!(facts.congestion_control.as_deref(), Some("bbr"));
    assert_eq!(facts.default_qdisc.as_deref(), Some("fq_codel"));
    let settings = |name: &str| facts.settings.get(name).map(String::as_str);
    assert_eq!(settings("/proc/sys/net/ipv4/tcp_rmem"), Some("4096\t131072\t6291456"));
    assert_eq!(settings("/proc/sys/net/ipv4/ping_group_range"), Some("1\t0"));
    assert_eq!(settings("/sys/devices/system/cpu/vulnerabilities/spectre_v2"), Some("Mitigation: Retpolines"));
    assert_eq!(settings("/sys/devices/system/cpu/isolated"), Some(""), "none are isolated: a fact");
    assert_eq!(settings("/sys/module/haltpoll/parameters/guest_halt_poll_ns"), Some("200000"));
    assert_eq!(settings("/proc/cmdline"), Some("mitigations=auto"));
    assert_eq!(settings("process.policy"), Some("other"));
    assert_eq!(settings("cgroup.cpu_limit"), Some("none"));
}

#[test]
fn an_interface_is_told_as_it_stands() {
    let facts = read(&guest(), "eth0");
    let interface = facts.interface.unwrap();
    assert_eq!((interface.name.as_str(), interface.driver.as_deref()), ("eth0", Some("virtio_net")));
    assert_eq!((interface.mtu_bytes, interface.tx_queue_len), (Some(1_400), Some(1_000)));
    assert_eq!(interface.speed_mbps, None, "-1 is no speed");
    assert!(facts.unread.contains(&"/sys/class/net/eth0/speed: the driver knows none".to_owned()));
    assert_eq!(facts.settings["/sys/class/net/eth0/queues/tx-0/xps_cpus"], "3");
    assert!(!facts.settings.contains_key("/sys/class/net/eth0/queues/rx-0/rps_cpus"), "no CPU in it: not set");
    assert_eq!(read(&metal(), "eth1").interface.unwrap().speed_mbps, Some(25_000));
}

#[test]
fn bare_metal_is_told_as_it_stands() {
    let facts = read(&metal(), "eth1");
    assert_eq!(facts.hypervisor, None);
    assert_eq!(facts.governors, ["performance", "powersave"]);
    assert_eq!((facts.cpus_allowed, facts.cpus_online, facts.smt), (Some(5), Some(64), Some(false)));
    assert_eq!(facts.deepest_idle_state.as_deref(), Some("C1E 10 us"), "C6 is disabled");
    let cpu = |file: &str| facts.settings[&format!("/sys/devices/system/cpu/{file}")].clone();
    assert_eq!(cpu("cpu*/cpufreq/scaling_cur_freq"), "800000 to 3200000 kHz");
    assert_eq!(cpu("cpu*/cpufreq/energy_performance_preference"), "balance_performance");
    assert_eq!(cpu("intel_pstate/no_turbo"), "0");
    assert_eq!((&*facts.settings["process.policy"], &*facts.settings["process.nice"]), ("fifo", "-10"));
}

#[test]
fn what_is_not_there_is_absent_and_said_so() {
    let facts = read(&metal(), "eth1");
    assert_eq!((facts.kernel, facts.clock_synchronised, facts.congestion_control), (None, None, None));
    for missing in [
        "/proc/sys/kernel/osrelease: not there",
        "/proc/sys/net/core/rmem_max: not there",
        "adjtimex: not asked for a tree of files",
        "cgroup CPU limit: /proc/self/cgroup not there",
        "/sys/class/net/eth1/device/driver: no driver is named",
    ] {
        assert!(facts.unread.iter().any(|line| line == missing), "{missing} in {:#?}", facts.unread);
    }
    // An empty machine: nothing is made up.
    let empty = Reader::tree("sonde 0", Tree::of("== /x\n").root()).read();
    let expected = Environment { program: "sonde 0".into(), unread: empty.unread.clone(), ..Environment::default() };
    assert_eq!(empty, expected);
}

#[test]
fn what_names_a_machine_or_its_owner_is_not_kept() {
    let told = format!("{:?} {:?}", read(&guest(), "eth0"), read(&metal(), "eth1"));
    for secret in ["not-to-be-read", "owned-by-someone", "02:00:5e", "rack-7", "/dev/vda"] {
        assert!(!told.contains(secret), "{secret}");
    }
    assert!(told.contains("7783-7084-3265-9085-8269-3286-77"), "the tag that means a cloud, and no machine of it");
}

#[test]
fn every_setting_is_documented() {
    let documentation = include_str!("../../../../docs/facts.md");
    for path in settings::PATHS.iter().chain(settings::WHERE_PRESENT) {
        assert!(documentation.contains(&format!("`{path}`")), "{path} is missing from docs/facts.md");
    }
    for word in settings::WORDS {
        assert!(documentation.contains(&format!("`{word}`")), "{word} is missing from docs/facts.md");
    }
}

#[test]
fn this_host_is_told_as_other_sources_tell_it() {
    let facts = Reader::host("sonde 0").towards([127, 0, 0, 1].into()).read();
    let (release, build) = (output("uname", &["-r"]), output("uname", &["-v"]));
    assert_eq!(facts.kernel, Some(format!("{release} {build}")));
    assert_eq!(facts.host, Some(output("uname", &["-n"])));
    assert_eq!(facts.cpus_online, Some(output("getconf", &["_NPROCESSORS_ONLN"]).parse().unwrap()));
    let affinity = sched_getaffinity(rustix::process::getpid().into()).unwrap();
    assert_eq!(facts.cpus_allowed, Some(affinity.count()));
    let interface = facts.interface.unwrap();
    assert_eq!((interface.name.as_str(), interface.qdisc.as_deref()), ("lo", Some("noqueue")));
    assert!(!interface.offloads.is_empty());
    assert!(facts.clock_synchronised.is_some());
}

#[test]
fn an_address_of_ours_is_reached_over_loopback_and_not_by_its_interface() {
    // Any address of this host that is not 127.0.0.1; without one there is nothing to see.
    let sockets = std::net::UdpSocket::bind("0.0.0.0:0").unwrap();
    if sockets.connect("192.0.2.77:9").is_ok() {
        let ours = sockets.local_addr().unwrap().ip();
        let facts = Reader::host("sonde 0").towards(ours).read();
        assert_eq!(facts.interface.unwrap().name, "lo");
    }
}

#[test]
fn a_thread_in_a_new_network_namespace_is_told_of_that_one() {
    let told = std::thread::spawn(|| {
        // SAFETY: concerns this thread alone, which has no file of the old namespace open and ends right after.
        if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
            return Err(std::io::Error::last_os_error());
        }
        Ok(Reader::host("sonde 0").through("lo").towards([127, 0, 0, 1].into()).read())
    });
    let facts = match told.join().unwrap() {
        Ok(facts) => facts,
        Err(error) => {
            return writeln!(std::io::stderr(), "skipped: no new network namespace: {error}").expect("standard error");
        }
    };
    let interface = facts.interface.unwrap();
    // In a new one loopback is down: it has an MTU, but no route leads over it, and no qdisc works on it yet.
    assert_eq!(interface.mtu_bytes, Some(65_536), "{:?}", facts.unread);
    assert_ne!(interface.qdisc.as_deref(), Some("noqueue"));
    assert!(facts.unread.iter().any(|line| line.starts_with("route to 127.0.0.1: ")), "{:?}", facts.unread);
}

/// Keeps the calling thread on `cpu`, busy until `end`; returns the scheduler's facts of that time.
fn busy(cpu: usize, span: Nanos) -> ThreadSpan {
    let mut set = CpuSet::new();
    set.set(cpu);
    sched_setaffinity(None, &set).expect("a CPU we run on is one we may be pinned to");
    let begin = ThreadFacts::own().expect("this kernel keeps scheduler statistics");
    while Monotonic::now() < begin.at.after(span) {
        std::hint::spin_loop();
    }
    ThreadFacts::own().unwrap().since(&begin).unwrap()
}

#[test]
fn a_hog_on_the_same_cpu_is_seen_also_by_a_thread_that_has_ended() {
    let cpu = sched_getcpu();
    let mut watch = Watch::start(Reader::host("sonde 0"));
    let spans = std::thread::scope(|scope| {
        let both = [(); 2].map(|()| scope.spawn(move || busy(cpu, Nanos::millis(400))));
        both.map(|thread| thread.join().unwrap())
    });
    watch.add(spans[0]);
    let disturbance = watch.finish().disturbance.unwrap();
    let share = disturbance.run_queue_share.unwrap();
    assert!(share > 0.2 && share <= 1.05, "{disturbance:?} {spans:?}");
    assert!(disturbance.involuntary_switches.unwrap() > 0);
    // Two threads on one CPU for 400 ms: at least the CPU time that one of them had.
    assert!(disturbance.user_ns.unwrap().0 + disturbance.system_ns.unwrap().0 >= spans[0].ran_ns.0 / 2);
}

#[test]
fn a_hog_is_seen_by_a_thread_that_lives_on_without_handing_over() {
    let cpu = sched_getcpu();
    let disturbance = std::thread::scope(|scope| {
        let victim = scope.spawn(move || {
            let watch = Watch::start(Reader::host("sonde 0"));
            let hog = std::thread::spawn(move || busy(cpu, Nanos::millis(400)));
            busy(cpu, Nanos::millis(400));
            let disturbance = watch.finish().disturbance.unwrap();
            hog.join().unwrap();
            disturbance
        });
        victim.join().unwrap()
    });
    assert!(disturbance.run_queue_share.unwrap() > 0.2, "{disturbance:?}");
}

#[test]
fn many_that_ask_at_the_same_time_share_a_reading() {
    let [one, other] = ["one", "other"].map(|program| Reader::host(program).shared());
    // A machine that stands still between two of them reads anew.
    let shares = |_| one.look().is_of_one_reading(&other.look());
    assert!((0..20).any(shares));
    let (shared, own) = (other.read(), Reader::host("other").read());
    assert_eq!((shared.program.as_str(), &shared.host, &shared.kernel), ("other", &own.host, &own.kernel));
    assert_eq!(shared.settings.keys().collect::<Vec<_>>(), own.settings.keys().collect::<Vec<_>>());
}

#[test]
fn a_record_says_how_long_before_its_start_shared_facts_were_read() {
    let reader = || Reader::host("sonde 0").towards([127, 0, 0, 1].into()).shared();
    // A machine that stands still between the two has both read anew.
    let shares = |_| {
        let _first = Watch::start_without_threads(reader());
        let facts = Watch::start_without_threads(reader()).finish();
        facts.read_before_ns.is_some_and(|early| early > Nanos::ZERO && early <= Nanos::millis(200))
    };
    assert!((0..20).any(shares));
    let own = Watch::start_without_threads(Reader::host("sonde 0")).finish();
    assert_eq!(own.read_before_ns, None);
}
