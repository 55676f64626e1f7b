//! Three hosts, and checks from the first of them.

use std::process::{Child, Command, Output, Stdio};

use lab::chain::Chain;
use lab::namespace::{Namespace, NamespaceError};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// Programs at work at a time: more would wait for each other and not for the network.
const TOGETHER: usize = 4;

/// Near, middle and far; `None`: there are no namespaces here, or no nft, which was said aloud.
pub fn chain(what: &str) -> Option<Chain> {
    if Command::new("nft").arg("--version").stdin(Stdio::null()).output().is_err() {
        testbed::skip::aloud(&format!("{what}: nft is not installed (nftables)"));
        return None;
    }
    match Chain::new() {
        Ok(chain) => Some(chain),
        Err(error @ NamespaceError::Step { .. }) => panic!("{error}"),
        Err(error) => {
            testbed::skip::aloud(&format!("{what} between three namespaces: {error}"));
            None
        }
    }
}

/// The same where the middle does `rule` to what it forwards.
pub fn forwarding(what: &str, rule: &str) -> Option<Chain> {
    let chain = chain(what)?;
    nft(chain.middle(), "forward", rule);
    Some(chain)
}

/// Has a host do `rule` in one of its hooks.
pub fn nft(host: &Namespace, hook: &str, rule: &str) {
    let rules = format!("table inet {hook} {{ chain one {{ type filter hook {hook} priority 0; {rule}; }}; }}");
    run(host, &["nft", &rules]);
}

/// Sets one of the network's settings of a host, below `/proc/sys/net`.
pub fn set(host: &Namespace, setting: &str, value: &str) {
    run(host, &["sh", "-c", &format!("echo '{value}' > /proc/sys/net/{setting}")]);
}

/// Runs a tool, which must go well; what it printed.
pub fn run(host: &Namespace, words: &[&str]) -> String {
    let output = host.command(words[0]).args(&words[1..]).output().expect("started");
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// An address of `host`, of IPv6 where `six`.
pub fn address(host: &Namespace, six: bool) -> String {
    if six { host.v6().to_string() } else { host.v4().to_string() }
}

/// The far host and these ports, as a target is written.
pub fn target(chain: &Chain, six: bool, ports: &str) -> String {
    if six { format!("[{}]:{ports}", chain.far().v6()) } else { format!("{}:{ports}", chain.far().v4()) }
}

/// The program, not started yet.
pub fn sonde(host: &Namespace) -> Command {
    let mut command = host.command(assert_cmd::cargo::cargo_bin!("sonde"));
    for name in ["SONDE_KEY_FILE", "SONDE_COLOR", "NOTIFY_SOCKET", "CLICOLOR_FORCE"] {
        command.env_remove(name);
    }
    command.stdin(Stdio::null());
    command
}

/// Result of a check.
pub struct Found {
    /// The exit status.
    pub status: i32,
    /// Its result for the one address.
    pub address: Value,
}

impl Found {
    fn of(output: &Output) -> Self {
        let said = String::from_utf8_lossy(&output.stderr);
        let document: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {said}"));
        jsonschema::validate(&logbook::schema::check_schema(), &document).expect("as the schema says");
        let status = output.status.code().expect("ended by itself");
        assert_eq!(document["holds"], status == 0, "the status says the same: {document}");
        Self { status, address: document["check"]["addresses"][0].clone() }
    }

    /// Result at a port, as `tcp 80`.
    pub fn port(&self, port: &str) -> &Value {
        let (transport, number) = port.split_once(' ').expect("as in tcp 80");
        let number: u64 = number.parse().expect("a number");
        let ports = self.address["ports"].as_array().expect("ports");
        let found = ports.iter().find(|port| port["transport"] == transport && port["port"] == number);
        found.unwrap_or_else(|| panic!("no {port} in {ports:?}"))
    }

    /// The verdict on a port, what was seen, and of an ICMP error what it says and who says so.
    pub fn told(&self, port: &str) -> [&str; 4] {
        let found = self.port(port);
        let word =
            |value: &'_ Value| -> &'static str { Box::leak(value.as_str().unwrap_or_default().to_owned().into()) };
        let seen = &found["seen"];
        [word(&found["verdict"]), word(&seen["seen"]), word(&seen["says"]), word(&seen["by"])]
    }
}

/// Checks with these words from the near host, so often as a planted cause is to be named, and hands each to `judge`.
pub fn each_check(chain: &Chain, words: &[&str], judge: impl Fn(&Found)) {
    let times = std::env::var_os("SONDE_PLANTED");
    checks(chain, times.map_or(2, |times| times.to_string_lossy().parse().expect("a count")), words, judge);
}

/// So many checks with these words from the near host, some of them at once; hands each to `judge`.
pub fn checks(chain: &Chain, mut left: usize, words: &[&str], judge: impl Fn(&Found)) {
    while left > 0 {
        let batch = left.min(TOGETHER);
        left -= batch;
        let running: Vec<Child> = (0..batch).map(|_| start(chain, words)).collect();
        for child in running {
            judge(&Found::of(&child.wait_with_output().expect("ended")));
        }
    }
}

/// One check with these words.
pub fn check(chain: &Chain, words: &[&str]) -> Found {
    Found::of(&start(chain, words).wait_with_output().expect("ended"))
}

fn start(chain: &Chain, words: &[&str]) -> Child {
    let mut command = sonde(chain.near());
    command.args(["check", "--json", "-q"]).args(words);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started")
}

/// A program in a namespace; ended in order when it goes out of scope.
pub struct Server(Child);

impl Server {
    /// Starts it, and returns when `host` has a socket at each of these: `tcp 5201`.
    pub fn start(host: &Namespace, mut command: Command, at: &[&str]) -> Self {
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("started");
        let server = Self(child);
        for socket in at {
            testbed::wait::until(socket, || listens(host, socket));
        }
        server
    }
}

/// Returns true where the kernel's table has such a socket in the namespace.
fn listens(host: &Namespace, socket: &str) -> bool {
    let (transport, port) = socket.split_once(' ').expect("as in tcp 5201");
    let table = run(host, &["sh", "-c", &format!("cat /proc/net/{transport} /proc/net/{transport}6")]);
    let end = format!(":{:04X}", port.parse::<u16>().expect("a number"));
    table.lines().any(|line| {
        let mut words = line.split_whitespace().skip(1);
        let bound = words.next().is_some_and(|local| local.ends_with(&end));
        bound && (transport == "udp" || words.nth(1) == Some("0A"))
    })
}

impl Drop for Server {
    fn drop(&mut self) {
        // In order, so that its namespace is empty when that is removed.
        let _ = kill_process(Pid::from_child(&self.0), Signal::TERM);
        let _ = self.0.wait();
    }
}
