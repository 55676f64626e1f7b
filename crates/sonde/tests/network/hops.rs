//! The hops of paths that are known: routers in namespaces, whose addresses the test gave, and whose tables say which way a port takes.
//!
//! ```text
//! near ─ one ─┬─ above ─┬─ last ─ far
//!   └─────────┴─ below ─┘
//! ```
//! The first router sends all to the one above, but for ports that a rule of it sends below. The cable that leads below at once is for flows
//! that the sender's own table deals out.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Output, Stdio};

use lab::namespace::Namespace;
use rustix::process::geteuid;
use serde_json::Value;

use crate::scene::{Reflector, Scene, document, installed, let_ping, sonde_in, tell};

/// The far host and this one, whichever way leads there; of IPv4 and IPv6.
const HOST: [&str; 2] = ["10.99.9.9", "fd99::9"];
const NEAR: [&str; 2] = ["10.99.8.8", "fd99::8"];

/// A namespace that lives as long as a program in it waits for its standard input.
struct Router {
    child: Child,
    _ready: BufReader<ChildStdout>,
}

impl Router {
    fn new(near: &Namespace) -> Self {
        let script = "ip link set lo up && sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1 \
            net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.default.rp_filter=0 net.ipv4.icmp_ratelimit=0 \
            net.ipv6.icmp.ratelimit=0 && echo ready && exec cat";
        let mut command = near.command("unshare");
        command.args(["--net", "sh", "-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("started");
        let (mut ready, mut said) = (BufReader::new(child.stdout.take().expect("piped")), String::new());
        ready.read_line(&mut said).expect("a line");
        assert_eq!(said, "ready\n");
        Self { child, _ready: ready }
    }

    fn process(&self) -> String {
        self.child.id().to_string()
    }

    fn command(&self, near: &Namespace, words: &[&str]) -> Command {
        let mut command = near.command("nsenter");
        command.args(["--net", "--target", &self.process()]).args(words);
        command
    }
}

impl Drop for Router {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

/// Host of the row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Near,
    One,
    Above,
    Below,
    Last,
    Far,
}

/// The cables, by their ends: networks `10.60.NUMBER.0/24` and `fd60:NUMBER::/64` from 1 on, with .1 at the first and .2 at the second.
const CABLES: [(Place, Place); 7] = [
    (Place::Near, Place::One),
    (Place::One, Place::Above),
    (Place::One, Place::Below),
    (Place::Above, Place::Last),
    (Place::Below, Place::Last),
    (Place::Last, Place::Far),
    (Place::Near, Place::Below),
];

/// The address of an end of a cable.
fn end(cable: usize, second: bool, six: bool) -> String {
    let host = if second { 2 } else { 1 };
    let network = cable + 1;
    if six { format!("fd60:{network}::{host}") } else { format!("10.60.{network}.{host}") }
}

/// The hosts and cables.
struct Row {
    scene: Scene,
    routers: Vec<Router>,
}

impl Row {
    fn new(what: &str) -> Option<Self> {
        let scene = Scene::beside(what)?;
        let routers = (0..5).map(|_| Router::new(scene.near())).collect();
        let row = Self { scene, routers };
        for (cable, (first, second)) in CABLES.into_iter().enumerate() {
            let names = [format!("c{cable}a"), format!("c{cable}b")];
            let other = row.routers[second as usize - 1].process();
            row.run(
                first,
                &["ip", "link", "add", &names[0], "type", "veth", "peer", "name", &names[1], "netns", &other],
            );
            let ends = [(first, &names[0], false), (second, &names[1], true)];
            // Both before any address: one that is given to an interface without a carrier works over IPv6 only after a second.
            for (place, name, _) in ends {
                row.run(place, &["ip", "link", "set", name, "addrgenmode", "none", "up"]);
            }
            for (place, name, is_second) in ends {
                for (six, bits) in [(false, 24), (true, 64)] {
                    let address = format!("{}/{bits}", end(cable, is_second, six));
                    row.run(place, &["ip", "address", "add", &address, "dev", name, "nodad"]);
                }
                // A router asks for its neighbours by an address of the link.
                let link = format!("fe80::{}/64", 1 + u8::from(is_second));
                row.run(place, &["ip", "address", "add", &link, "dev", name, "nodad"]);
            }
        }
        for six in [false, true] {
            row.lay_routes(six);
        }
        let near = ["net.ipv4.fib_multipath_hash_policy=1", "net.ipv6.fib_multipath_hash_policy=1"];
        row.run(Place::Near, &[&["sysctl", "-qw"][..], &near].concat());
        // Else another one at each boot: eight ports of one way alone are drawn once in 64 times. Kernels before 6.11 have none to set.
        let seed = "/proc/sys/net/ipv4/fib_multipath_hash_seed";
        row.run(Place::Near, &["sh", "-c", &format!("test ! -e {seed} || echo 7 > {seed}")]);
        Some(row)
    }

    fn lay_routes(&self, six: bool) {
        let bits = if six { "128" } else { "32" };
        for (place, address) in [(Place::Near, NEAR), (Place::Far, HOST)] {
            let address = format!("{}/{bits}", address[usize::from(six)]);
            self.run(place, &["ip", "address", "add", &address, "dev", "lo"]);
        }
        let (there, back) = (HOST[usize::from(six)], NEAR[usize::from(six)]);
        for (place, to, cable, second) in [
            (Place::One, there, 1, true),
            (Place::Above, there, 3, true),
            (Place::Below, there, 4, true),
            (Place::Last, there, 5, true),
            (Place::Far, back, 5, false),
            (Place::Last, back, 3, false),
            (Place::Above, back, 1, false),
            (Place::Below, back, 2, false),
            (Place::One, back, 0, false),
        ] {
            self.route(place, six, to, &["via", &end(cable, second, six)]);
        }
        self.route(Place::Near, six, there, &["via", &end(0, true, six), "src", back]);
    }

    fn route(&self, place: Place, six: bool, to: &str, hops: &[&str]) {
        let family = if six { "-6" } else { "-4" };
        self.run(place, &[&["ip", family, "route", "replace", to], hops].concat());
    }

    /// The sender deals flows out to both ways.
    fn take_both(&self, six: bool) {
        let hops = [end(0, true, six), end(6, true, six)];
        let ways = ["src", NEAR[usize::from(six)], "nexthop", "via", &hops[0], "nexthop", "via", &hops[1]];
        self.route(Place::Near, six, HOST[usize::from(six)], &ways);
    }

    /// The first router sends these source ports below.
    fn divert(&self, ports: &str, six: bool) {
        let family = if six { "-6" } else { "-4" };
        let (to, via) = (HOST[usize::from(six)], end(2, true, six));
        self.run(Place::One, &["ip", family, "route", "add", to, "via", &via, "table", "77"]);
        self.run(Place::One, &["ip", family, "rule", "add", "ipproto", "tcp", "sport", ports, "table", "77"]);
    }

    fn command(&self, place: Place, words: &[&str]) -> Command {
        match place {
            Place::Near => {
                let mut command = self.scene.near().command(words[0]);
                command.args(&words[1..]);
                command
            }
            place => self.routers[place as usize - 1].command(self.scene.near(), words),
        }
    }

    fn run(&self, place: Place, words: &[&str]) -> String {
        let output = self.command(place, words).output().expect("started");
        assert!(output.status.success(), "{place:?} {words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text")
    }

    fn reflector(&self, six: bool) -> Reflector {
        let program = assert_cmd::cargo::cargo_bin!("sonde").to_str().expect("text").to_owned();
        let words = [&program, "serve", "--open", "--listen", HOST[usize::from(six)]];
        Reflector::started(self.command(Place::Far, &words), "listening on")
    }

    fn paths(&self, six: bool, words: &[&str]) -> Output {
        let few = ["--trace", "-q", "-t", "10"];
        let words = [&["paths", HOST[usize::from(six)]], &few[..], words].concat();
        sonde_in(self.scene.near()).args(words).output().expect("started")
    }

    /// The next hop of this flow by the table of a host, where it comes in there by `cable`.
    fn oracle(&self, place: Place, cable: Option<usize>, local: &str, port: u16, six: bool) -> String {
        let (port, incoming) = (port.to_string(), cable.map(|cable| format!("c{cable}b")));
        let mut words = vec!["ip", "route", "get", HOST[usize::from(six)]];
        // A socket of IPv6 that is bound to a port alone takes its way before it takes its address.
        if !six || place != Place::Near {
            words.extend(["from", local]);
        }
        words.extend(incoming.iter().flat_map(|name| ["iif", name]));
        words.extend(["ipproto", "tcp", "sport", &port, "dport", "7663"]);
        let said = self.run(place, &words);
        let via = said.split_whitespace().skip_while(|word| *word != "via").nth(1);
        via.unwrap_or_else(|| panic!("{said}")).to_owned()
    }
}

fn hops_of(flow: &Value) -> &[Value] {
    flow["hops"].as_array().expect("hops")
}

/// The addresses of a flow's hops by TTL, the silent ones empty.
fn addresses(flow: &Value) -> Vec<String> {
    let first = |hop: &Value| hop["addresses"][0]["address"].as_str().unwrap_or_default().to_owned();
    hops_of(flow).iter().map(first).collect()
}

fn each(record: &Value) -> &[Value] {
    record["outcome"]["hops"]["each"].as_array().expect("traced flows")
}

fn socket<'a>(record: &'a Value, flow: &Value) -> &'a Value {
    let number = usize::try_from(flow["flow"].as_u64().expect("a number")).expect("small");
    &record["outcome"]["sockets"][number]
}

/// The local port of a traced flow.
fn port(record: &Value, flow: &Value) -> u16 {
    let local = socket(record, flow)["local"].as_str().expect("local");
    local.rsplit_once(':').expect("a port").1.parse().expect("a number")
}

/// True where there are two ways, and those of another way than the first side part at `ttl`, which is established. Groups
/// of times that are found besides are not of the ways.
fn parts_alone_at(record: &Value, ttl: u64) -> bool {
    let sides = record["outcome"]["hops"]["sides"].as_array().expect("sides");
    let ways: BTreeSet<u64> = sides.iter().filter_map(|side| side["way"].as_u64()).collect();
    ways.len() == 2
        && sides[1..].iter().all(|side| {
            let expected = if side["way"] == sides[0]["way"] { Value::Null } else { ttl.into() };
            let parting = &side["parting"];
            parting["first_apart"] == expected && (expected.is_null() || parting["last_common"] == ttl - 1)
        })
}

fn above(six: bool) -> Vec<String> {
    // Each router answers by the address of the cable by which it sends to near; the last one's way back leads above.
    vec![end(0, true, six), end(1, true, six), end(3, true, six), HOST[usize::from(six)].to_owned()]
}

#[test]
fn hops_are_found_in_order_by_tcp_and_stamped_by_the_kernel() {
    let Some(row) = Row::new("the hops of a path") else { return };
    for six in [false, true] {
        let _reflector = row.reflector(six);
        let record = document(&row.paths(six, &["--flows", "2", "-c", "40", "--json"]));
        assert_eq!(each(&record).len(), 2, "{:#}", record["outcome"]["hops"]);
        for flow in each(&record) {
            assert_eq!(addresses(flow), above(six), "{flow:#}");
            assert_eq!(flow["reached"], 4);
            for hop in hops_of(flow) {
                assert_eq!((&hop["sent"], &hop["answered"], &hop["lost"]), (&5.into(), &5.into(), &Value::Null));
                // Where no socket of this machine asked for stamps before, the first answers come before the kernel stamps.
                assert!(hop["stamped"].as_u64() >= Some(4), "{hop:#}");
                // Each hop back takes one of the 64 that a router begins with.
                let left = 65 - hop["ttl"].as_u64().expect("a number");
                assert!(hop["ttl"] == 4 || hop["addresses"][0]["reply_ttls"] == serde_json::json!([left]), "{hop:#}");
            }
        }
    }
}

/// The reflector takes what is no request of a session without a word; where nothing listens the kernel answers.
#[test]
fn datagrams_find_the_same_hops_and_a_program_that_says_nothing_is_not_called_loss() {
    let Some(row) = Row::new("hops by datagrams") else { return };
    let _reflector = row.reflector(false);
    let record = document(&row.paths(false, &["--udp", "--flows", "2", "-c", "40", "--json"]));
    for flow in each(&record) {
        assert_eq!(addresses(flow)[..3], above(false)[..3], "{flow:#}");
        assert_eq!(flow["reached"], Value::Null);
    }
    let hops = record["outcome"]["hops"]["sides"][0]["hops"].as_array().expect("hops");
    assert!(hops.iter().all(|hop| hop.get("lost").is_none()), "{hops:#?}");
}

/// By raw sockets and by ping sockets, which the far kernel answers to alike.
#[test]
fn echo_requests_find_the_same_hops_and_the_peer() {
    let Some(row) = Row::new("hops by echo requests") else { return };
    for (range, six) in [("1 0", false), ("1 0", true), ("0 2147483647", false), ("0 2147483647", true)] {
        let_ping(row.scene.near(), range);
        let record = document(&row.paths(six, &["--icmp", "--flows", "2", "-c", "40", "--json"]));
        assert_eq!((&record["outcome"]["hops"]["protocol"], each(&record).len()), (&"icmp".into(), 2));
        for flow in each(&record) {
            assert_eq!((addresses(flow), &flow["reached"]), (above(six), &4.into()), "{range} {flow:#}");
            for hop in hops_of(flow) {
                assert_eq!((&hop["sent"], &hop["answered"]), (&5.into(), &5.into()), "{range} {hop:#}");
            }
        }
    }
}

#[test]
fn where_this_host_deals_out_the_first_hop_is_that_of_its_table() {
    let Some(row) = Row::new("ways that part at this host") else { return };
    for six in [false, true] {
        let _reflector = row.reflector(six);
        row.take_both(six);
        let record = document(&row.paths(six, &["--flows", "16", "-c", "160", "--json"]));
        let mut seen = BTreeSet::new();
        for flow in each(&record) {
            let by_table = row.oracle(Place::Near, None, NEAR[usize::from(six)], port(&record, flow), six);
            let told = socket(&record, flow)["next_hop"].as_str().expect("a next hop");
            assert!(told.starts_with(&format!("{by_table} ")), "{told} is not {by_table}");
            // Over IPv4 the one below answers by the cable to the first router, its way back; over IPv6 by that of the probe.
            let below = by_table == end(6, true, six);
            let expected = if below && !six { end(2, true, six) } else { by_table };
            assert_eq!(addresses(flow)[0], expected, "{flow:#}");
            assert_eq!(flow["reached"], if below { 3 } else { 4 });
            seen.insert(expected);
        }
        assert_eq!(seen.len(), 2, "eight random ports of one way only");
        assert!(parts_alone_at(&record, 1), "{:#}", record["outcome"]["hops"]["sides"]);
    }
}

#[test]
fn where_a_router_deals_out_the_hop_behind_it_is_that_of_its_table() {
    let Some(row) = Row::new("ways that part at a router") else { return };
    for six in [false, true] {
        let _reflector = row.reflector(six);
        row.divert("40008-40031", six);
        let record =
            document(&row.paths(six, &["--flows", "16", "--source-port", "40000..40015", "-c", "160", "--json"]));
        for flow in each(&record) {
            let by_table = row.oracle(Place::One, Some(0), NEAR[usize::from(six)], port(&record, flow), six);
            assert_eq!(addresses(flow)[1], by_table, "{flow:#}");
        }
        assert!(parts_alone_at(&record, 2), "{:#}", record["outcome"]["hops"]["sides"]);
        let text =
            String::from_utf8(row.paths(six, &["--flows", "16", "--source-port", "40000..40015", "-c", "160"]).stdout);
        let text = text.expect("text");
        tell(&text);
        assert!(text.replace("\n          ", " ").contains("part at hop 1: no address at hop 2 is of both"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}

/// The router above drops its own errors, and still forwards.
#[test]
fn a_silent_hop_is_silent_and_the_parting_behind_it_not_established() {
    let what = "a silent hop";
    if !installed("nft", "nftables", what) {
        return;
    }
    let Some(row) = Row::new(what) else { return };
    let _reflector = row.reflector(false);
    row.divert("40008-40031", false);
    for place in [Place::One, Place::Above, Place::Below] {
        let table =
            "table inet quiet { chain out { type filter hook output priority 0; icmp type time-exceeded drop; }; }";
        row.run(place, &["nft", table]);
    }
    let words = ["--flows", "16", "--source-port", "40000..40015", "-c", "160", "--json"];
    let record = document(&row.paths(false, &words));
    for flow in each(&record) {
        assert_eq!(addresses(flow), ["", "", &end(3, true, false), HOST[0]], "{flow:#}");
        assert!(hops_of(flow).iter().all(|hop| hop.get("lost").is_none()), "{flow:#}");
    }
    let sides = record["outcome"]["hops"]["sides"].as_array().expect("sides");
    assert!(sides.iter().all(|side| side.get("way").is_none()), "nothing tells the ways apart: {sides:#?}");
    for side in &sides[1..] {
        assert_eq!(
            (&side["parting"]["first_apart"], &side["parting"]["gaps"]),
            (&Value::Null, &true.into()),
            "{side:#}"
        );
    }
}

/// As routers come: one error a second to one host, behind a burst.
#[test]
fn hops_that_limit_their_errors_are_not_called_loss() {
    let Some(row) = Row::new("hops that limit their errors") else { return };
    let _reflector = row.reflector(false);
    for place in [Place::One, Place::Above, Place::Last] {
        row.run(place, &["sysctl", "-qw", "net.ipv4.icmp_ratelimit=1000"]);
    }
    let record = document(&row.paths(false, &["--flows", "16", "-c", "160", "--json"]));
    let hops = record["outcome"]["hops"]["sides"][0]["hops"].as_array().expect("hops").clone();
    assert!(hops[0]["answered"].as_u64() < hops[0]["sent"].as_u64(), "it does limit: {:#}", hops[0]);
    assert!(hops.iter().all(|hop| hop.get("lost").is_none()), "{hops:#?}");
    for flow in each(&record) {
        assert_eq!(addresses(flow), above(false), "who was left out is asked first in the next round: {flow:#}");
    }
}

/// No handshake comes through from the port that the wall takes for its own; the other one shows that the host is there.
#[test]
fn a_port_that_is_filtered_ends_at_who_says_so_or_in_silence() {
    let what = "filtered ports";
    if !installed("nft", "nftables", what) {
        return;
    }
    let Some(row) = Row::new(what) else { return };
    let _reflector = row.reflector(false);
    let filter = |verdict: &str| {
        let rule = format!("tcp dport 7663 tcp sport 40001 {verdict};");
        let chain = format!("table inet walls {{ chain way {{ type filter hook forward priority 0; {rule} }}; }}");
        row.run(Place::Last, &["nft", &format!("add table inet walls; flush table inet walls; {chain}")]);
    };
    let words = ["--flows", "2", "--source-port", "40000..40001", "-c", "4", "--json"];
    let filtered = || {
        let record = document(&row.paths(false, &words));
        assert_eq!(addresses(&each(&record)[0]), above(false), "{:#}", each(&record)[0]);
        each(&record)[1].clone()
    };
    filter("reject with icmpx type admin-prohibited");
    let flow = filtered();
    // The wall stands behind the place where a TTL ends: what has one hop more left meets it, and the same router answers.
    let last = &flow["hops"][3]["addresses"][0];
    assert_eq!((&last["address"], &last["unreachable"]), (&end(3, true, false).into(), &serde_json::json!([3, 13])));
    assert_eq!((addresses(&flow).len(), &flow["reached"]), (4, &Value::Null), "{flow:#}");
    filter("drop");
    let flow = filtered();
    assert_eq!((&addresses(&flow)[..3], &flow["reached"]), (&above(false)[..3], &Value::Null), "{flow:#}");
    // Five silent ones behind the last answer in the first round; then one behind the farthest of all flows.
    let sent: Vec<u64> = hops_of(&flow)[3..].iter().filter_map(|hop| hop["sent"].as_u64()).collect();
    assert_eq!(sent, [5, 5, 1, 1, 1], "{flow:#}");
    assert!(hops_of(&flow).iter().all(|hop| hop.get("lost").is_none()), "{flow:#}");
}

/// Routers that send one of the ports to each other.
#[test]
fn a_circle_ends_and_is_told() {
    let Some(row) = Row::new("a circle of routers") else { return };
    let _reflector = row.reflector(false);
    row.divert("40001", false);
    row.route(Place::Below, false, HOST[0], &["via", &end(2, false, false)]);
    let words = ["--flows", "2", "--source-port", "40000..40001", "-c", "4", "-m", "12", "--json"];
    let record = document(&row.paths(false, &words));
    let flow = &each(&record)[1];
    assert_eq!((&flow["circles"], &flow["reached"]), (&true.into(), &Value::Null), "{flow:#}");
    let expected: Vec<String> =
        (0..12).map(|hop| if hop % 2 == 0 { end(0, true, false) } else { end(2, true, false) }).collect();
    assert_eq!(addresses(flow), expected);
    assert!(each(&record)[0].get("circles").is_none());
}

/// The link behind the second hop takes less, which that hop says, or keeps to itself.
#[test]
fn the_hop_before_a_narrow_link_is_found_and_a_hole_where_it_says_nothing() {
    let what = "packets that are too large";
    if !installed("nft", "nftables", what) {
        return;
    }
    let Some(row) = Row::new(what) else { return };
    for (place, end) in [(Place::Above, "c3a"), (Place::Last, "c3b")] {
        row.run(place, &["ip", "link", "set", end, "mtu", "1400"]);
    }
    let found = |six: bool| {
        let _reflector = row.reflector(six);
        let record = document(&row.paths(six, &["--mtu", "--flows", "1", "-c", "10", "--json"]));
        let mtu = record["outcome"]["hops"]["mtu"].clone();
        assert_eq!(mtu.as_array().map(Vec::len), Some(1), "{:#}", record["outcome"]["hops"]);
        mtu[0].clone()
    };
    for six in [false, true] {
        let by = end(1, true, six);
        let narrower = serde_json::json!([{ "ttl": 3, "bytes": 1400, "by": by }]);
        let expected = serde_json::json!({ "flow": 0, "interface_bytes": 1500, "narrower": narrower, "shown_to": 4 });
        assert_eq!(found(six), expected);
    }
    let rule = "icmp type destination-unreachable drop";
    row.run(
        Place::Above,
        &["nft", &format!("table ip mute {{ chain out {{ type filter hook output priority 0; {rule}; }}; }}")],
    );
    let hole = serde_json::json!([{ "ttl": 3, "bytes": 1400, "by": null, "vanishing_bytes": 1401 }]);
    let mtu = found(false);
    assert_eq!((&mtu["narrower"], &mtu["shown_to"]), (&hole, &4.into()));
}

/// Count and time are those of the rounds, which begin a second apart; what goes ahead is not theirs.
#[test]
fn a_live_trace_has_all_its_rounds_in_the_record() {
    let Some(row) = Row::new("a trace that goes on") else { return };
    let _reflector = row.reflector(false);
    let traced = |words: &[&str]| {
        let words = [&["paths", HOST[0], "--trace", "--live", "-q", "--json"], words].concat();
        let record = document(&sonde_in(row.scene.near()).args(words).output().expect("started"));
        let hops = &record["outcome"]["hops"];
        assert_eq!((each(&record).len(), addresses(&each(&record)[0])), (1, above(false)), "{hops:#}");
        let answered: Vec<Value> = hops_of(&each(&record)[0]).iter().map(|hop| hop["answered"].clone()).collect();
        assert_eq!((&record["ended"]["how"], answered), (&"complete".into(), vec![hops["rounds"].clone(); 4]));
        hops["rounds"].clone()
    };
    assert_eq!(traced(&["-c", "7"]), 7);
    assert!(traced(&["-t", "2"]).as_u64() <= Some(3), "none begins behind the end");
}

#[test]
fn nobody_traces_the_same() {
    let what = "hops without privileges";
    if !installed("setpriv", "util-linux", what) {
        return;
    }
    if !geteuid().is_root() {
        return testbed::skip::aloud(&format!("{what}: only root can be somebody else"));
    }
    let Some(row) = Row::new(what) else { return };
    let program = crate::unprivileged::program();
    for six in [false, true] {
        let _reflector = row.reflector(six);
        let words =
            ["paths", HOST[usize::from(six)], "--trace", "-q", "-c", "40", "-t", "10", "--flows", "2", "--json"];
        let output = crate::unprivileged::start_as_nobody(&row.scene, &program, &words);
        let record = document(&output);
        assert_eq!(record["ours"]["settings"]["process.capabilities"], "0000000000000000");
        for flow in each(&record) {
            assert_eq!((addresses(flow), &flow["reached"]), (above(six), &4.into()), "{flow:#}");
        }
    }
}
