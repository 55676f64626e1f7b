//! Servers under strangers: from many addresses a thousand connections or datagrams a second begin something and do not go on.
//! Sessions that run lose nothing, all that come meanwhile are served, and the server's memory stays bounded.
//!
//! The time in which the native server opens a session is compared in pairs, with the strangers and without them, in one
//! run. It is told here and judged by `make strangers`: of an optimised build on a quiet machine, since the strangers
//! themselves take a CPU.

mod attack;

use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use endpoint::clock::Monotonic;
use endpoint::pace;
use lab::namespace::Namespace;
use measure::authentication::Authentication;
use measure::event::Counts;
use measure::method::Carrier;
use measure::unit::{Instant, Nanos};
use protocol::bulk::Numbering;
use protocol::iperf::ask::Ask;
use protocol::iperf::datagram::IperfNumbering;
use protocol::iperf::time::Stamp;
use protocol::native::client::Client;
use protocol::native::header::Flags;
use protocol::native::identity::Identity;
use protocol::native::key::{Key, Proof, Secret};
use protocol::native::preamble::{ANSWER_LENGTH, Control, Versions};
use protocol::sockperf::message::{Flags as Kind, HEADER, Header};
use test_case::test_case;
use testbed::client::{self, Session, open};
use testbed::process::{self, Ended, LIMIT, Running};

use crate::losses::without_room;
use crate::scene::{Scene, key_in, sonde_in, tell};
use attack::{Attack, Beginning, Sources, inside};

/// Most that thousands of strangers may add to a server's memory, kB: some 4,096 half-open connections of ours, the 2,048 connections
/// of another tool's server, or 1,024 flows that are counted each.
const ROOM: u64 = 50_000;

/// A server of ours in the far namespace, with what it takes.
struct Server {
    running: Running,
    before: u64,
}

impl Server {
    fn start(scene: &Scene, words: &[&str], port: u16) -> Self {
        let mut command = sonde_in(scene.far());
        let running = process::started(command.args(words));
        let table = format!("cat /proc/net/*p /proc/net/*p6 | grep -i ':{port:04X} '");
        testbed::wait::until("a server that listens", || {
            assert!(!running.has_ended(), "{}", running.told());
            scene.far().command("sh").args(["-c", &table]).output().is_ok_and(|output| output.status.success())
        });
        let before = resident(running.id());
        Self { running, before }
    }

    /// Memory beyond that at its start, kB.
    fn grown(&self) -> u64 {
        resident(self.running.id()).saturating_sub(self.before)
    }
}

/// The resident memory of a process, kB.
fn resident(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).expect("a process that runs");
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB"));
    resident.expect("told").parse().expect("a number")
}

fn scene(what: &str, sources: Sources) -> Option<Scene> {
    if !rustix::process::geteuid().is_root() {
        testbed::skip::aloud(&format!("{what}: only root can enter a namespace by its name"));
        return None;
    }
    let scene = Scene::crowded(what)?;
    sources.add(scene.near(), scene.far());
    Some(scene)
}

/// Sessions that are opened in each half of a pair.
const STARTS: u64 = 20;
/// Pairs that a comparison takes. Where times are told and not judged, two crowds, one after the other, show what memory is bounded under.
const PAIRS: u64 = 3;
const CROWDS: u64 = 2;
/// Strangers before the first of them: more than there is room for.
const CROWD: u64 = 4_200;
/// Strangers, or as much time as they take, between two.
const BETWEEN: u64 = 20;

/// Sessions that are opened one after the other: how long each took.
struct Starts<'a> {
    address: SocketAddr,
    proof: &'a Proof,
}

impl Starts<'_> {
    fn one(&self) -> Nanos {
        let began = Monotonic::now();
        let session = Session::proved(self.address, open(Carrier::Tcp), Some(self.proof.clone())).expect("let in");
        let took = Monotonic::now().since(began).unwrap_or_default();
        assert_eq!(session.close().received, [0]);
        took
    }

    /// As many as belong to a half of a pair, as far from each other as under attack.
    fn usual(&self) -> Vec<Nanos> {
        let began = Monotonic::now();
        let one = |number| {
            pace::sleep_until(began.after(Nanos(number * BETWEEN * attack::EVERY.0)));
            self.one()
        };
        (0..STARTS).map(one).collect()
    }

    /// As many while strangers come, of whom there are `crowd` before the first.
    fn under(&self, attack: &Attack, crowd: u64) -> Vec<Nanos> {
        let one = |number| {
            attack.await_count(crowd + number * BETWEEN);
            self.one()
        };
        (0..STARTS).map(one).collect()
    }
}

#[test_case(Sources::V4; "from 200 addresses")]
#[test_case(Sources::OneNet; "from thousands of addresses of one network of 64 bits")]
#[test_case(Sources::Nets; "from thousands of addresses of 50 networks of 64 bits")]
fn sessions_by_key_start_and_run_on_under_half_open_connections(sources: Sources) {
    let what = &format!("sessions by key under half-open connections ({sources:?})");
    let Some(scene) = scene(what, sources) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let file = key_in(folder.path());
    let key = Key::parse(std::fs::read_to_string(&file).expect("a key").trim()).expect("a key");
    let server = Server::start(&scene, &["serve", "--key", &file], protocol::native::PORT);
    let (host, from): (IpAddr, IpAddr) = match sources {
        Sources::V4 => (scene.far().v4().into(), scene.near().v4().into()),
        Sources::OneNet | Sources::Nets => (scene.far().v6().into(), scene.near().v6().into()),
    };
    let address = (host, protocol::native::PORT).into();
    let proof = Proof::from(key.clone());
    let starts = Starts { address, proof: &proof };
    // One crowd shows of other addresses what two show of these.
    let pairs = pairs(if matches!(sources, Sources::V4) { CROWDS } else { 1 });
    let half = Control { versions: Versions::OURS, keyed: Some(Authentication::PreShared) }.encode();
    let (usual, attacked, memory) = inside(scene.near(), || {
        let [tcp, udp] =
            [Carrier::Tcp, Carrier::Udp].map(|carrier| Session::by_key(address, open(carrier), Some(key.clone())));
        let (tcp, udp) = (tcp.expect("let in"), udp.expect("let in"));
        let running = Exchanges::over(&tcp, &udp, (from, 0).into());
        let (mut usual, mut attacked, mut memory) = (Vec::new(), Vec::new(), 0);
        for _ in 0..pairs {
            usual.append(&mut starts.usual());
            // One who came before them all, and has not said anything: of a source that has no other he does not give way.
            let slow = client::connect(address);
            let attack = Attack::start(sources, address, CROWD + STARTS * BETWEEN, Beginning::Connections(&half));
            attack.await_count(CROWD);
            let slow = Session::over(slow, address, open(Carrier::Tcp), Some(proof.clone())).expect("still there");
            attacked.append(&mut starts.under(&attack, CROWD));
            memory = memory.max(server.grown());
            attack.end(what);
            assert_eq!(slow.close().received, [0]);
        }
        let asked = running.end();
        // Whatever was asked was answered, or this would not have come back; and the server has counted the same.
        assert_eq!((tcp.close().received, udp.close().received), (vec![asked], vec![asked]));
        tell(&format!("{what}: {asked} exchanges over TCP and UDP each, none lost"));
        (usual, attacked, memory)
    });
    assert!(memory < ROOM, "{memory} kB more than at the start");
    tell(&format!("{what}: {memory} kB more than at the start"));
    compare(what, usual, attacked);
}

/// Octets of a client with this proof until it is let in, as somebody on the path hears them: its preamble and its
/// handshake.
fn heard(address: SocketAddr, proof: Proof) -> Vec<u8> {
    let secret = Secret { proof, ephemeral: [0x11; 32] };
    let mut machine = Client::new(open(Carrier::Tcp), Some(secret), Instant(0));
    let mut stream = client::connect(address);
    let mut words = machine.outgoing();
    stream.write_all(&words).expect("a server that listens");
    let mut answer = [0; ANSWER_LENGTH];
    stream.read_exact(&mut answer).expect("an answer to the preamble");
    machine.feed(&answer, Instant(0)).expect("a server of ours");
    words.append(&mut machine.outgoing());
    words
}

/// A handshake that was heard costs the server three multiplications on the curve: more than any other that a stranger can say.
#[test]
fn sessions_by_identity_start_under_a_flood_of_handshakes() {
    let what = "sessions by identity under a thousand handshakes a second";
    let Some(scene) = scene(what, Sources::V4) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let made = |name: &str, octet: u8| {
        let identity = Identity::new([octet; 32]);
        let path = folder.path().join(name);
        std::fs::write(&path, identity.to_text() + "\n").expect("a file");
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).expect("a file of ours");
        (path.display().to_string(), identity)
    };
    let ((file, server_identity), (_, alice)) = (made("server.identity", 5), made("alice.identity", 6));
    let keys = folder.path().join("keys.toml");
    let list = format!("[[keys]]\nname = \"alice\"\npublic = \"{}\"\n", alice.public());
    std::fs::write(&keys, list).expect("a file");
    std::fs::set_permissions(&keys, PermissionsExt::from_mode(0o600)).expect("a file of ours");
    let keys = keys.display().to_string();
    let server = Server::start(&scene, &["serve", "--key", &keys, "--identity", &file], protocol::native::PORT);
    let address = (scene.far().v4(), protocol::native::PORT).into();
    let proof = Proof::Identity { own: alice, peer: *server_identity.public() };
    let starts = Starts { address, proof: &proof };
    let (usual, attacked, memory) = inside(scene.near(), || {
        let words = heard(address, proof.clone());
        let (mut usual, mut attacked, mut memory) = (Vec::new(), Vec::new(), 0);
        for _ in 0..pairs(CROWDS) {
            usual.append(&mut starts.usual());
            let attack = Attack::start(Sources::V4, address, SOME + STARTS * BETWEEN, Beginning::Words(&words));
            attacked.append(&mut starts.under(&attack, SOME));
            memory = memory.max(server.grown());
            attack.end(what);
        }
        (usual, attacked, memory)
    });
    assert!(memory < ROOM, "{memory} kB more than at the start");
    compare(what, usual, attacked);
}

/// Handshakes before the first session: by then the server has some of them to do at any time.
const SOME: u64 = 1_000;

/// Tells how much longer a session takes to open while strangers come. At most twice the usual time is promised, of which
/// `make strangers` is the judge: here other tests may have the CPU that the sessions would.
fn compare(what: &str, mut usual: Vec<Nanos>, mut attacked: Vec<Nanos>) {
    usual.sort_unstable();
    attacked.sort_unstable();
    let [usual, under_attack] =
        [usual, attacked].map(|times| [times.len() / 10, times.len() / 2].map(|place| times[place]));
    let [fast, ratio] = [0, 1].map(|place| under_attack[place].0 as f64 / usual[place].0 as f64);
    let told = format!(
        "{what}: a session opens in {} (median), usually in {}: {ratio:.2} times; a tenth in {} or less, usually in {}: {fast:.2} times",
        under_attack[1], usual[1], under_attack[0], usual[0]
    );
    tell(&told);
    assert!(ratio <= 2.0 || !is_judged(), "{told}");
}

/// Pairs of which times are judged, or `crowds` where they are not.
fn pairs(crowds: u64) -> u64 {
    if is_judged() { PAIRS } else { crowds }
}

/// True for `make strangers`.
fn is_judged() -> bool {
    std::env::var_os("SONDE_STRANGERS").is_some()
}

/// A session over each carrier whose client asks again and again, until it is told to end.
struct Exchanges {
    ends: Arc<AtomicBool>,
    thread: JoinHandle<u64>,
}

impl Exchanges {
    fn over(tcp: &Session, udp: &Session, from: SocketAddr) -> Self {
        let mut stream = tcp.data(0).expect("a connection of the session");
        let socket = UdpSocket::bind(from).expect("an address of this host");
        socket.connect(udp.address).expect("a way there");
        socket.set_read_timeout(Some(client::PATIENCE)).expect("a socket that does what it is asked for");
        let requests = |session: &Session| -> Vec<Vec<u8>> {
            (0..MOST).map(|seq| session.request(seq, Flags::NONE, 64, 64)).collect()
        };
        let requests: Vec<_> = requests(tcp).into_iter().zip(requests(udp)).collect();
        let ends = Arc::<AtomicBool>::default();
        let ended = Arc::clone(&ends);
        let thread = thread::spawn(move || {
            let began = Monotonic::now();
            for (number, (over_tcp, over_udp)) in (0..).zip(&requests) {
                if ended.load(Ordering::Relaxed) {
                    return number;
                }
                pace::sleep_until(began.after(Nanos(number * ASKED_EVERY.0)));
                stream.write_all(over_tcp).expect("a session that runs");
                stream.read_exact(&mut [0; 64]).expect("an answer");
                assert_eq!(client::asked(&socket, over_udp).len(), 64);
            }
            panic!("the attack never ends")
        });
        Self { ends, thread }
    }

    /// Number of exchanges over each.
    fn end(self) -> u64 {
        self.ends.store(true, Ordering::Relaxed);
        self.thread.join().expect("each was answered")
    }
}

/// From one request of theirs to the next, and how many there may be.
const ASKED_EVERY: Nanos = Nanos::millis(5);
const MOST: u64 = 50_000;

/// A server of another tool's protocol, how its strangers begin, and a client that counts what it lost.
struct Foreign {
    what: &'static str,
    server: &'static [&'static str],
    port: u16,
    /// By datagrams; else by connections.
    datagrams: bool,
    word: Vec<u8>,
    client: &'static [&'static str],
    /// True of the end of a client whose requests were all answered.
    whole: fn(&Ended) -> bool,
}

impl Foreign {
    /// The client's words, to measure so many seconds.
    fn words(&self, host: &str, seconds: &str) -> Vec<String> {
        let word = |word: &&str| word.replace("HOST", host).replace("SECONDS", seconds);
        self.client.iter().map(word).collect()
    }

    fn beginning(&self) -> Beginning<'_> {
        if self.datagrams { Beginning::Datagrams(&self.word) } else { Beginning::Connections(&self.word) }
    }

    /// Holds a client that has ended against this: a server serves all that its kernel hands to it. Datagrams for which a socket has had no room
    /// since `before`, as where the machine did not let the server run for a while, may have been the client's.
    fn judge(&self, ended: &Ended, server: &Namespace, before: u64) {
        let without_room = without_room(server) - before;
        if self.datagrams && without_room > 0 {
            let what = self.what;
            return testbed::skip::aloud(&format!(
                "{what} under strangers: its socket had no room for {without_room} datagrams"
            ));
        }
        assert!(ended.code == Some(0) && (self.whole)(ended), "{}: {}", self.what, ended.told());
    }
}

/// By the record, whose counts always add up.
fn all_answered(ended: &Ended) -> bool {
    let record: serde_json::Value = serde_json::from_str(&ended.stdout).expect("a record");
    let counts: Counts = serde_json::from_value(record["outcome"]["counts"].clone()).expect("counts");
    assert!(counts.balance(), "{counts:?}");
    counts.answered > 0 && counts.answered == counts.scheduled
}

fn none_dropped(ended: &Ended) -> bool {
    ended.said("# dropped messages = 0;")
}

/// Returns true where no datagram was lost, by the server's report.
fn none_lost(ended: &Ended) -> bool {
    ended.stdout.lines().rfind(|line| line.contains('%')).is_some_and(|line| line.contains("(0%)"))
}

fn sockperf_question() -> Vec<u8> {
    let mut message = vec![0; HEADER];
    let flags = Kind::CLIENT.with(Kind::PONG_REQUEST);
    Header { sequence: 1, flags, length: HEADER as u32 }.write(&mut message);
    message
}

fn first_of_an_iperf_flow() -> Vec<u8> {
    let mut first = vec![0; 500];
    Ask::default().opening(Stamp::default()).write(&mut first);
    IperfNumbering::CURRENT.write(&mut first, 1, Nanos::micros(1));
    first
}

fn foreign(what: &'static str) -> Foreign {
    let connections = |server, port, word: &[u8], client, whole| Foreign {
        what,
        server,
        port,
        datagrams: false,
        word: word.to_vec(),
        client,
        whole,
    };
    let datagrams =
        |server, port, word, client, whole| Foreign { what, server, port, datagrams: true, word, client, whole };
    match what {
        "netserver" => connections(&["netserver", "-D"], 12_865, &[0; 10], &NETPERF, all_answered),
        "iperf3" => connections(&["iperf3", "-s"], 5_201, &[b'a'; 20], &IPERF3, none_lost),
        "iperf" => connections(
            &["iperf", "-s"],
            5_001,
            &[0x40, 1, 0],
            &["iperf", "-c", "HOST", "-b", "1M", "-t", "SECONDS"],
            |_| true,
        ),
        "iperf over UDP" => datagrams(
            &["iperf", "-s", "-u"],
            5_001,
            first_of_an_iperf_flow(),
            &["iperf", "-c", "HOST", "-u", "-b", "1M", "-t", "SECONDS"],
            none_lost,
        ),
        "sockperf over TCP" => connections(
            &["sockperf", "server", "--tcp"],
            11_111,
            &sockperf_question()[..10],
            &["sockperf", "ping-pong", "--tcp", "-i", "HOST", "--mps", "200", "-t", "SECONDS"],
            none_dropped,
        ),
        "sockperf" => datagrams(
            &["sockperf", "server"],
            11_111,
            sockperf_question(),
            &["sockperf", "ping-pong", "-i", "HOST", "--mps", "200", "-t", "SECONDS"],
            none_dropped,
        ),
        "STAMP" => datagrams(&["serve", "--open", "--stamp"], 862, vec![0; 44], &STAMP, all_answered),
        other => panic!("{other}"),
    }
}

const NETPERF: [&str; 12] =
    ["rtt", "HOST", "--peer", "netperf", "--every", "5ms", "--warm-up", "0", "--timeout", "20s", "--json", "-tSECONDS"];
const STAMP: [&str; 12] =
    ["rtt", "HOST", "--peer", "stamp", "--every", "5ms", "--warm-up", "0", "--timeout", "20s", "--json", "-tSECONDS"];
const IPERF3: [&str; 8] = ["iperf3", "-c", "HOST", "-u", "-b", "1M", "-t", "SECONDS"];

/// Strangers, and so many of them before the first client that begins among them: more than any of these servers has room for.
const STRANGERS: u64 = 3_500;
const FIRST: u64 = 2_500;

#[test_case("netserver"; "netserver")]
#[test_case("iperf3"; "iperf3")]
#[test_case("iperf"; "iperf")]
#[test_case("iperf over UDP"; "iperf over udp")]
#[test_case("sockperf over TCP"; "sockperf over tcp")]
#[test_case("sockperf"; "sockperf")]
#[test_case("STAMP"; "stamp")]
fn clients_of_other_tools_start_and_run_on_under_those_who_begin_and_do_not_go_on(what: &'static str) {
    let told = format!("clients of a server of {what} under strangers from 200 addresses");
    let Some(scene) = scene(&told, Sources::V4) else { return };
    let foreign = foreign(what);
    let server = Server::start(&scene, foreign.server, foreign.port);
    let (host, address) = (scene.target(false), SocketAddr::from((scene.far().v4(), foreign.port)));
    let client = |seconds: &str| process::started(sonde_in(scene.near()).args(foreign.words(&host, seconds)));
    let memory = inside(scene.near(), || {
        let first = without_room(scene.far());
        let running = client("4");
        let attack = Attack::start(Sources::V4, address, STRANGERS, foreign.beginning());
        attack.await_count(FIRST);
        if running.has_ended() {
            tell(&format!("{what}: the client had ended before so many strangers had come"));
        }
        let (mut clients, mut memory) = (0, 0);
        while attack.count() < STRANGERS {
            let before = without_room(scene.far());
            foreign.judge(&client("1").end(LIMIT), scene.far(), before);
            memory = memory.max(server.grown());
            clients += 1;
        }
        foreign.judge(&running.end(LIMIT), scene.far(), first);
        attack.end(what);
        tell(&format!("{what}: {clients} clients began meanwhile, all were served"));
        memory
    });
    tell(&format!("{what}: {memory} kB more than at the start"));
    assert!(memory < ROOM, "{memory} kB more than at the start");
}
