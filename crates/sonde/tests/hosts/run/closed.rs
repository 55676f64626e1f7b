//! Ports that a packet filter shuts between hosts: said before anything is measured, with the rule that opens them, which
//! does.

use std::process::Command;

use crate::run::{Lab, cells, methods_of};

/// Two hosts as namespaces, removed at the end.
struct Hosts<'a> {
    lab: &'a Lab,
    id: String,
}

impl<'a> Hosts<'a> {
    /// `None`: they are not to be had here, which was said aloud.
    fn up(lab: &'a Lab) -> Option<Self> {
        let what = "a packet filter between hosts of a plan";
        if !rustix::process::geteuid().is_root() {
            testbed::skip::aloud(&format!("{what}: namespaces are made as root"));
            return None;
        }
        if ["ip", "nft"].iter().any(|program| Command::new(program).arg("-V").output().is_err()) {
            testbed::skip::aloud(&format!("{what}: no ip (iproute2), or no nft (nftables)"));
            return None;
        }
        let id = format!("run{}", lab.port());
        let hosts = lab.path("hosts.toml").display().to_string();
        let output = lab.command(&["lab", "up", "--hosts", "2", "--name", &id, "-o", &hosts, "-q"]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Some(Self { lab, id })
    }

    fn on(&self, host: &str, words: &str) {
        let name = format!("sondelab-{}-{host}", self.id);
        let output = Command::new("ip").args(["netns", "exec", &name, "sh", "-c", words]).output().unwrap();
        assert!(output.status.success(), "{words}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

impl Drop for Hosts<'_> {
    fn drop(&mut self) {
        let _ = self.lab.command(&["lab", "down", &self.id]).output();
    }
}

#[test]
fn what_is_shut_is_said_with_the_rule_that_opens_it() {
    let lab = Lab::new();
    let Some(hosts) = Hosts::up(&lab) else { return };
    hosts.on(
        "h2",
        "nft add table inet filter && nft add chain inet filter input '{ type filter hook input priority 0; }' && \
         nft add rule inet filter input tcp dport 7663 drop",
    );
    let methods =
        methods_of(&[("udp_rr", "rtt --udp -c 20 --warm-up 0"), ("ping", "rtt --icmp -c 3 --every 1ms --warm-up 0")]);
    let plan = lab.write("plan.toml", &format!("inventory = [\"hosts.toml\"]\ndirections = \"forward\"\n{methods}"));
    let (code, run, said) = lab.run(&[&plan]);
    assert_eq!(code, Some(3), "{said}");
    assert_eq!(cells(&run), [("h1>h2 ping 0".to_owned(), true), ("h1>h2 udp_rr 0".to_owned(), false)]);
    assert_eq!((&run["checks"][0]["icmp"], &run["checks"][0]["tcp"]), (&"open".into(), &"silent".into()));
    assert!(said.contains("closed: TCP port 7663 at h2, from h1"), "{said}");
    let rule = said.lines().map(str::trim).find(|line| line.starts_with("nft ")).expect("a rule of nftables");
    hosts.on("h2", rule);
    let (code, run, said) = lab.run(&["--resume", "last"]);
    assert_eq!(code, Some(0), "{said}");
    let measured: Vec<String> =
        cells(&run).into_iter().filter(|(_, measured)| *measured).map(|(name, _)| name).collect();
    assert_eq!(measured, ["h1>h2 ping 0", "h1>h2 udp_rr 0"]);
}

#[test]
fn namespaces_are_hosts_as_others_are() {
    let lab = Lab::new();
    let Some(hosts) = Hosts::up(&lab) else { return };
    let methods = methods_of(&[("tcp_rr", "rtt --tcp -c 50 --warm-up 0")]);
    let plan = lab.write("plan.toml", &format!("inventory = [\"hosts.toml\"]\n{methods}"));
    let (code, run, said) = lab.run(&[&plan]);
    assert_eq!((code, cells(&run).len()), (Some(0), 2), "{said}");
    assert!(run["cells"].as_array().unwrap().iter().all(|cell| cell["beside"] == 0));
    drop(hosts);
}
