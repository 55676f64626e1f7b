//! Hosts that do not answer, are lost in the middle, or say nonsense: each costs its own cells, in bounded time, and no others.

use std::os::unix::fs::PermissionsExt;

use endpoint::clock::Monotonic;
use measure::unit::Nanos;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use testbed::process::LIMIT;
use testbed::wait;

use crate::run::{Lab, cells, local, methods_of, running};

/// A stand-in of `ssh` for a host on loopback: runs the last of its words by a shell here, after what `first` does.
fn ssh(lab: &Lab, name: &str, first: &str) -> String {
    let path = lab
        .write(name, &format!("#!/bin/sh\n{first}\nfor word in \"$@\"; do last=$word; done\nexec sh -c \"$last\"\n"));
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// A table of a host that is reached by such a stand-in.
fn host(number: usize, ssh: &str) -> String {
    format!(
        "[[hosts]]\nname = \"h{number}\"\ninternal = \"127.0.0.{number}\"\nreach = {{ ssh = {{ to = \"h{number}\", through = [\"{ssh}\"] }} }}\n"
    )
}

fn lost(run: &Value) -> Vec<(String, String)> {
    let hosts = run["hosts"].as_array().unwrap().iter().filter(|host| !host["lost"].is_null());
    hosts
        .map(|host| (host["host"].as_str().unwrap().to_owned(), host["lost"]["what"].as_str().unwrap().to_owned()))
        .collect()
}

#[test]
fn by_ssh_the_program_is_put_there_once_and_run() {
    let lab = Lab::new();
    let way = ssh(&lab, "ssh", "");
    let hosts: String = (1..=2).map(|number| host(number, &way)).collect();
    let methods = methods_of(&[("udp_rr", "rtt --udp -c 20 --warm-up 0")]);
    let plan = lab.write("plan.toml", &format!("port = {}\n{methods}{hosts}", lab.port()));
    let (code, run, said) = lab.run(&[&plan]);
    assert_eq!((code, cells(&run).len()), (Some(0), 2), "{said}");
    let cache = lab.path(".cache/sonde");
    assert_eq!(std::fs::read_dir(&cache).unwrap().count(), 1, "one program, under its checksum");
    assert_eq!(run["hosts"][0]["tool"]["name"], "sonde");
    // Taken away where that is asked for.
    let (code, run, said) = lab.run(&["--resume", "last", "--stage", "run,cleanup"]);
    assert_eq!((code, &run["stages"]), (Some(0), &json!(["prepare", "run", "cleanup"])), "{said}");
    assert!(crate::run::is_empty(&cache));
}

#[test]
fn hosts_that_hang_cost_their_own_cells_and_a_bounded_time() {
    let lab = Lab::new();
    let hangs = ssh(&lab, "hangs", "exec sleep 600");
    let rubbish = ssh(&lab, "rubbish", "yes 'Welcome!'");
    let refused = ssh(&lab, "refused", "echo 'root@h6: Permission denied (publickey,password).' >&2; exit 255");
    let methods = methods_of(&[("udp_rr", "rtt --udp -c 20 --warm-up 0")]);
    let good = (1..=3).map(local).collect::<Vec<_>>().concat();
    let bad: String =
        [(4, &hangs), (5, &rubbish), (6, &refused)].iter().map(|(number, way)| host(*number, way)).collect();
    let plan = lab.write("plan.toml", &format!("port = {}\n{methods}{good}{bad}", lab.port()));
    let (code, run, said) = lab.run(&[&plan, "--patience", "15s"]);
    assert_eq!(code, Some(3), "{said}");
    let (measured, not): (Vec<_>, Vec<_>) = cells(&run).into_iter().partition(|(_, measured)| *measured);
    assert_eq!((measured.len(), not.len()), (6, 24), "three hosts with each other; 30 in all");
    assert!(
        run["cells"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|cell| !cell["failure"].is_null())
            .all(|cell| cell["host_lost"] == true)
    );
    let lost = lost(&run);
    assert_eq!(lost.iter().map(|(host, _)| host.as_str()).collect::<Vec<_>>(), ["h4", "h5", "h6"]);
    assert!(lost[2].1.contains("Permission denied"), "{lost:?}");
    for (host, _) in &lost {
        assert!(said.contains(host.as_str()), "said meanwhile: {said}");
    }
}

/// Four hosts that tell 80 MiB each, none of which is a line too long: together they are more than is kept at a time.
#[test]
fn hosts_that_tell_too_much_together_cost_their_own_cells_and_bounded_memory() {
    let lab = Lab::new();
    let much = "head -c 83886080 /dev/zero | tr '\\0' a";
    let agents =
        format!("for word in \"$@\"; do last=$word; done\ncase \"$last\" in *agent*) {much}; exec sleep 600;; esac");
    let way = ssh(&lab, "babbles", &agents);
    let bad: String = (3..=6).map(|number| host(number, &way)).collect();
    let good = (1..=2).map(local).collect::<Vec<_>>().concat();
    let methods = methods_of(&[("udp_rr", "rtt --udp -c 20 --warm-up 0")]);
    let plan = lab.write("plan.toml", &format!("port = {}\n{methods}{good}{bad}", lab.port()));
    let result = lab.path("run.json").display().to_string();
    let mut child = lab.start(&[&plan, "--patience", "15s", "--json", "-o", &result]);
    let mut peak_kib = 0;
    // It reads 320 MiB, beside whatever else is tested.
    let has_ended = wait::within(LIMIT, || {
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let of = |name: &str| -> Option<u64> {
            status.lines().find_map(|line| line.strip_prefix(name)?.trim().strip_suffix(" kB")?.parse().ok())
        };
        // Pages of the program itself are the file's.
        let peak = of("VmHWM:").zip(of("RssFile:")).map(|(peak, file)| peak.saturating_sub(file));
        peak_kib = peak.unwrap_or(0).max(peak_kib);
        child.try_wait().unwrap().is_some()
    });
    assert!(has_ended, "not within {LIMIT:?}, with {peak_kib} KiB");
    // 256 MiB are kept, beside the program as it is and as it is sent, and room for all else.
    let program = std::fs::metadata(env!("CARGO_BIN_EXE_sonde")).unwrap().len() >> 10;
    let most = (256 << 10) + program + (32 << 10);
    assert!((200 << 10..most).contains(&peak_kib), "{peak_kib} of {most} KiB");
    let run: Value = serde_json::from_str(&std::fs::read_to_string(result).unwrap()).unwrap();
    let lost = lost(&run);
    assert_eq!(lost.iter().map(|(host, _)| host.as_str()).collect::<Vec<_>>(), ["h3", "h4", "h5", "h6"]);
    let beyond = |why: &String| why.contains("tells more than there is room for: 256 MiB, of all hosts at a time");
    assert!(lost.iter().any(|(_, why)| beyond(why)), "{lost:?}");
    assert!(lost.iter().all(|(_, why)| beyond(why) || why.contains("did not say hello")), "{lost:?}");
    assert_eq!(cells(&run).into_iter().filter(|(_, measured)| *measured).count(), 2, "the others are measured");
}

#[test]
fn two_runs_over_the_same_hosts_leave_each_other_whole_though_one_cleans_up() {
    let lab = Lab::new();
    let way = ssh(&lab, "ssh", "");
    let hosts: String = (1..=2).map(|number| host(number, &way)).collect();
    let methods =
        methods_of(&[("tcp_rr", "rtt --tcp -t 300ms --warm-up 0"), ("udp_rr", "rtt --udp -t 300ms --warm-up 0")]);
    let plan = lab.write("plan.toml", &format!("port = {}\nrepeats = 6\n{methods}{hosts}", lab.port()));
    let result = lab.path("first.json").display().to_string();
    let mut first = lab.start(&[&plan, "--no-check", "--json", "-o", &result]);
    let stored = || {
        let output = lab.command(&["show", "last", "--json"]).output().unwrap();
        let run: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        run["cells"].as_array().map_or(0, Vec::len)
    };
    wait::until("some cells of the first are there", || stored() >= 2);
    let (code, second, said) = lab.run(&[&plan, "--repeats", "1", "--stage", "prepare,run,cleanup"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(first.try_wait().unwrap().is_none(), "the first goes on behind the cleaning");
    assert!(crate::run::is_empty(&lab.path(".cache/sonde")));
    assert_eq!(first.wait().unwrap().code(), Some(0));
    let first: Value = serde_json::from_str(&std::fs::read_to_string(result).unwrap()).unwrap();
    for (run, count) in [(&first, 24), (&second, 4)] {
        assert_eq!(cells(run).into_iter().filter(|(_, measured)| *measured).count(), count);
    }
    let ports = |run: &Value| [&run["hosts"][0]["port"], &run["hosts"][1]["port"]].map(|port| port.as_u64().unwrap());
    let wanted = u64::from(lab.port());
    assert_eq!((ports(&first), ports(&second)), ([wanted; 2], [wanted + 1; 2]));
    assert!(said.contains(&format!("note: h2: port {wanted} is taken; this run uses {} there", wanted + 1)), "{said}");
}

#[test]
fn a_program_that_is_taken_away_before_its_agent_starts_is_put_again() {
    let lab = Lab::new();
    // As the clean-up of another run between two commands of this one.
    let first = format!(
        "case \"$*\" in *agent*) [ -e {0}/cleaned ] || {{ : >{0}/cleaned; rm -rf {0}/.cache/sonde; }};; esac",
        lab.path("").display()
    );
    let hosts = [local(1), host(2, &ssh(&lab, "ssh", &first))].concat();
    let methods = methods_of(&[("udp_rr", "rtt --udp -c 20 --warm-up 0")]);
    let plan = lab.write("plan.toml", &format!("port = {}\n{methods}{hosts}", lab.port()));
    let (code, run, said) = lab.run(&[&plan]);
    assert_eq!((code, lost(&run).len()), (Some(0), 0), "{said}");
    assert!(lab.path("cleaned").exists());
}

#[test]
fn a_connection_that_is_cut_at_first_is_made_again_within_the_patience() {
    let lab = Lab::new();
    // Three are cut before they say who they are, and the fourth, an agent's, when it is there.
    let first = format!(
        "n=$(cat {0}/count 2>/dev/null || echo 0); echo $((n + 1)) >{0}/count\n\
         cut() {{ echo 'kex_exchange_identification: read: Connection reset by peer' >&2; exit 255; }}\n\
         [ $n -lt 3 ] && cut\n\
         case \"$*\" in *agent*) [ -e {0}/cut ] || {{ : >{0}/cut; cut; }};; esac",
        lab.path("").display()
    );
    let hosts = [local(1), host(2, &ssh(&lab, "ssh", &first))].concat();
    let methods = methods_of(&[("udp_rr", "rtt --udp -c 20 --warm-up 0")]);
    let plan = lab.write("plan.toml", &format!("port = {}\n{methods}{hosts}", lab.port()));
    let (code, run, said) = lab.run(&[&plan]);
    assert_eq!((code, lost(&run).len()), (Some(0), 0), "{said}");
    assert!(lab.path("cut").exists());
}

#[test]
fn a_host_in_no_pair_is_left_alone() {
    let lab = Lab::new();
    let asked = lab.path("asked");
    let way = ssh(&lab, "ssh", &format!(": >{}", asked.display()));
    let hosts = [local(1), local(2), host(3, &way)].concat();
    let methods = methods_of(&[("udp_rr", "rtt --udp -c 20 --warm-up 0")]);
    let pairs = "pairs.listed = [[\"h1\", \"h2\"]]";
    let plan = lab.write("plan.toml", &format!("port = {}\n{pairs}\n{methods}{hosts}", lab.port()));
    let (code, run, said) = lab.run(&[&plan, "--stage", "prepare,run,cleanup"]);
    assert_eq!((code, cells(&run).len()), (Some(0), 2), "{said}");
    assert!(!asked.exists());
    assert_eq!(run["hosts"].as_array().unwrap().len(), 2);
}

/// Words in front of an agent that let orders through until one holds both words; then nothing comes or goes any more.
fn deaf_to(one: &str, other: &str) -> String {
    format!(
        "for word in \"$@\"; do last=$word; done\ncase \"$last\" in *agent*) ;; *) exec sh -c \"$last\";; esac\n\
         while IFS= read -r line; do case $line in *'\"{one}\"'*'\"{other}\"'*) exec sleep 600;; esac; printf '%s\\n' \"$line\"; done \
         | sh -c \"$last\"\nexit"
    )
}

/// Makes hosts have the program already, without reading all of it for each: the tested steps take seconds, and so would
/// that.
fn already_there(scene: &Lab) -> String {
    let program = assert_cmd::cargo::cargo_bin!("sonde").display().to_string();
    let sum = protocol::checksum::sha256(&lab::transport::program::stripped(&std::fs::read(&program).unwrap()));
    let cache = scene.path(".cache/sonde").join(&sum[..16]);
    std::fs::create_dir_all(&cache).unwrap();
    std::os::unix::fs::symlink(&program, cache.join("sonde")).unwrap();
    std::fs::create_dir(scene.path("bin")).unwrap();
    let teller = scene
        .write("bin/sha256sum", &format!("#!/bin/sh\n[ -s /dev/stdin ] && echo {sum} || exec /usr/bin/sha256sum\n"));
    std::fs::set_permissions(&teller, std::fs::Permissions::from_mode(0o755)).unwrap();
    format!("export PATH={}:$PATH", scene.path("bin").display())
}

/// Sixty hosts in thirty pairs, seven of which hang or babble, each at another place of a run, the last behind its end.
#[test]
fn of_sixty_hosts_those_that_hang_anywhere_cost_their_own_cells_and_a_bounded_time() {
    const HOSTS: usize = 60;
    let lab = Lab::new();
    let there = already_there(&lab);
    let only_agents = |what: &str| {
        format!(
            "{there}\nfor word in \"$@\"; do last=$word; done\ncase \"$last\" in *agent*) {what};; *) exec sh -c \"$last\";; esac\nexit"
        )
    };
    let deaf_to = |one: &str, other: &str| format!("{there}\n{}", deaf_to(one, other));
    let elsewhere = lab.path("elsewhere").display().to_string();
    let uploads = "for word in \"$@\"; do case \"$word\" in *part.*) exec sleep 600;; esac; done";
    let ways = [
        ssh(&lab, "never", "exec sleep 600"),
        ssh(&lab, "silent", &only_agents("exec sleep 600")),
        ssh(&lab, "rubbish", &only_agents("exec yes 'Welcome!'")),
        ssh(&lab, "put", &format!("export XDG_CACHE_HOME={elsewhere}\n{uploads}")),
        ssh(&lab, "serve", &deaf_to("serve", "--listen")),
        ssh(&lab, "test", &deaf_to("rtt", "--every")),
        ssh(&lab, "end", &only_agents("sh -c \"$last\"; exec sleep 600")),
    ];
    let (bad, good) = (ways.len(), HOSTS - ways.len());
    let hosts: String =
        (1..=good).map(local).chain(ways.iter().zip(good + 1..).map(|(way, at)| host(at, way))).collect();
    // Each that is bad with one that is good, the others with each other.
    let pair = |one: usize, other: usize| format!("[\"h{one}\", \"h{other}\"]");
    let pairs: Vec<String> =
        (1..=bad).map(|at| pair(at, good + at)).chain((bad + 1..=good).step_by(2).map(|at| pair(at, at + 1))).collect();
    let methods = methods_of(&[("udp_rr", "rtt --udp -c 5 --every 1ms --warm-up 0")]);
    let top = format!("port = {}\nat_once = \"sharing\"\npairs.listed = [{}]\n", lab.port(), pairs.join(", "));
    let plan = lab.write("plan.toml", &format!("{top}{methods}{hosts}"));
    let begun = Monotonic::now();
    let (code, run, said) = lab.run(&[&plan, "--patience", "3s"]);
    // Bounded by what is waited for, not by how long they would hang: 600 s each.
    assert!(Monotonic::now().since(begun).unwrap() < Nanos::secs(300));
    assert_eq!(code, Some(3), "{said}");
    let lost = lost(&run);
    let reasons =
        ["nothing came of it", "did not say hello", "tells what makes no sense: `Welcome!`", "nothing came of it"]
            .into_iter()
            .chain(["has said nothing for 3 s"; 2]);
    assert_eq!(lost.len(), bad - 1, "{lost:?}");
    for ((at, reason), (name, why)) in (good + 1..).zip(reasons).zip(&lost) {
        assert_eq!((name, why.contains(reason)), (&format!("h{at}"), true), "{why}");
        assert!(said.contains(&format!("error: {why}")), "said meanwhile: {said}");
    }
    // One that hangs behind its end has been measured; of all others nothing is missing.
    let (measured, not): (Vec<_>, Vec<_>) = cells(&run).into_iter().partition(|(_, measured)| *measured);
    let lost: Vec<&str> = lost.iter().map(|(name, _)| name.as_str()).collect();
    for (name, _) in &not {
        assert!(name.split(['>', ' ']).any(|end| lost.contains(&end)), "{name} has nothing to do with them");
    }
    assert_eq!(measured.len() + not.len(), HOSTS);
    assert!(not.len() <= 2 * (bad - 1) && measured.len() >= HOSTS - 2 * (bad - 1));
    // The way to those that hang was killed with its group; a process that an agent had started ends an instant later.
    wait::until("nothing of it runs any more", || running(&lab.port().to_string()).is_empty());
}

#[test]
fn a_host_that_is_killed_in_the_middle_is_marked_and_measured_when_it_is_back() {
    let lab = Lab::new();
    let way = ssh(&lab, "ssh", "");
    let methods = methods_of(&[("tcp_rr", "rtt --tcp -t 300ms --warm-up 0")]);
    let hosts: String = (1..=3).map(|number| host(number, &way)).collect();
    let plan = lab.write("plan.toml", &format!("port = {}\nrepeats = 3\nseed = 3\n{methods}{hosts}", lab.port()));
    let mut child = lab.start(&[&plan, "--no-check", "--json", "-o", &lab.path("run.json").display().to_string()]);
    let done = || {
        let output = lab.command(&["show", "last", "--json"]).output().unwrap();
        let run: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        run["cells"].as_array().map_or(0, Vec::len)
    };
    wait::until("some cells are there", || done() >= 2);
    // The reflector of h2 tells which of the agents is h2's.
    let agent = agent_of("127.0.0.2", lab.port()).expect("h2 serves");
    kill_process(agent, Signal::KILL).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(3));
    let run: Value = serde_json::from_str(&std::fs::read_to_string(lab.path("run.json")).unwrap()).unwrap();
    let with_h2 = |name: &str| name.contains("h2");
    for (name, measured) in cells(&run) {
        assert!(measured || with_h2(&name), "{name} has nothing to do with h2: {:#}", run["cells"]);
    }
    assert!(cells(&run).iter().any(|(name, measured)| with_h2(name) && !measured), "what was left of h2's");
    assert_eq!(cells(&run).len(), 18, "each cell has come to an end");
    assert_eq!(lost(&run).len(), 1);
    let (code, run, said) = lab.run(&["--resume", "last"]);
    assert_eq!(code, Some(0), "{said}");
    let measured: std::collections::BTreeSet<String> =
        cells(&run).into_iter().filter(|(_, measured)| *measured).map(|(name, _)| name).collect();
    assert_eq!(measured.len(), 18);
    assert_eq!(running(&lab.port().to_string()), [] as [String; 0]);
}

#[test]
fn a_program_that_is_replaced_on_its_host_goes_on() {
    let lab = Lab::new();
    let way = ssh(&lab, "ssh", "");
    let methods = methods_of(&[("tcp_rr", "rtt --tcp -t 300ms --warm-up 0")]);
    let hosts: String = (1..=2).map(|number| host(number, &way)).collect();
    let plan = lab.write("plan.toml", &format!("port = {}\nrepeats = 3\n{methods}{hosts}", lab.port()));
    let mut child = lab.start(&[&plan, "--no-check", "--json", "-o", &lab.path("run.json").display().to_string()]);
    let done = || {
        let output = lab.command(&["show", "last", "--json"]).output().unwrap();
        let run: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        run["cells"].as_array().map_or(0, Vec::len)
    };
    // Both have measured or served by then.
    wait::until("a cell is there", || done() >= 1);
    // As a host with the same home does, or an upgrade.
    for entry in std::fs::read_dir(lab.path(".cache/sonde")).unwrap() {
        std::fs::remove_dir_all(entry.unwrap().path()).unwrap();
    }
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let run: Value = serde_json::from_str(&std::fs::read_to_string(lab.path("run.json")).unwrap()).unwrap();
    let cells = cells(&run);
    assert!(cells.len() == 6 && cells.iter().all(|(_, measured)| *measured), "{:#}", run["cells"]);
}

/// The process that started the reflector at this address and the port of this test: others have hosts at the same addresses.
fn agent_of(address: &str, port: u16) -> Option<Pid> {
    let port = port.to_string();
    let entries = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    entries.map(|entry| entry.path()).find_map(|folder| {
        let line = std::fs::read_to_string(folder.join("cmdline")).ok()?.replace('\0', " ");
        let status = std::fs::read_to_string(folder.join("status")).ok()?;
        let parent = status.lines().find_map(|line| line.strip_prefix("PPid:"))?.trim().parse().ok()?;
        (line.contains(" serve ") && line.contains(address) && line.contains(&port)).then(|| Pid::from_raw(parent))?
    })
}

#[test]
fn where_a_port_is_taken_the_next_is_used_and_noted() {
    let lab = Lab::new();
    // Somebody else is at the port of one host.
    let taken = std::net::TcpListener::bind(("127.0.0.2", lab.port())).unwrap();
    let plan = lab.plan(
        2,
        &[("tcp_rr", "rtt --tcp -c 20 --warm-up 0"), ("ping", "rtt --icmp -c 3 --every 1ms --warm-up 0")],
        "",
    );
    let (code, run, said) = lab.run(&[&plan]);
    drop(taken);
    assert_eq!(code, Some(0), "{said}");
    let ports = [0, 1].map(|host: usize| run["hosts"][host]["port"].as_u64().unwrap());
    let wanted = u64::from(lab.port());
    assert!(ports[0] == wanted && ports[1] > wanted, "{ports:?}");
    assert!(said.contains(&format!("note: h2: port {wanted} is taken; this run uses {} there", ports[1])), "{said}");
    assert!(!said.contains("note: h1"), "{said}");
}

#[test]
fn plans_that_make_no_sense_are_refused_before_anything_is_touched() {
    let lab = Lab::new();
    let methods = [("tcp_rr", "rtt --tcp -c 20")];
    let cases: [(String, &str); 5] = [
        (lab.plan(1, &methods, ""), "at least two hosts"),
        (lab.write("a.toml", "nonsense = 3\nmethods = []\n"), "a.toml, line 1, column 1: unknown key `nonsense`"),
        (
            lab.write("b.toml", &std::fs::read_to_string(lab.plan(2, &[("x", "rtt db1 --tcp")], "")).unwrap()),
            "method `x`: names a host, `db1`",
        ),
        (
            lab.write("c.toml", &std::fs::read_to_string(lab.plan(2, &[("x", "rtt --nonsense")], "")).unwrap()),
            "--nonsense",
        ),
        (
            lab.write("d.toml", &std::fs::read_to_string(lab.plan(2, &[("x", "rtt --tcp --port 5")], "")).unwrap()),
            "method `x`: says --port",
        ),
    ];
    for (plan, expected) in cases {
        let plan = if plan.ends_with("plan.toml") { lab.plan(1, &methods, "") } else { plan };
        let output = lab.command(&["run", &plan]).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(expected), "{said}");
    }
    assert!(!lab.path("runs.db").exists());
    let output = lab.command(&["run", "--resume", "last"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "there is none to go on with");
}
