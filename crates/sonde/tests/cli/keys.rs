//! Keys with rights, and who may come to `sonde serve` at all.

use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use predicates::str::contains;
use rustix::process::Signal;
use serde_json::Value;
use socket2::{Domain, Socket, Type};
use test_case::test_case;
use testbed::client::PATIENCE;
use testbed::port;

use crate::serve::Reflector;
use crate::{document, printed, sonde_in};

/// A list with these keys, of which `limited` has these rights.
fn list(folder: &Path, names: &[&str], limited: &str, rights: &str) {
    for name in names {
        sonde_in(folder, &["key", "keys.toml", "--add", name]).assert().success();
    }
    let path = folder.join("keys.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    let head = format!("name = \"{limited}\"\n");
    assert!(text.contains(&head));
    std::fs::write(path, text.replace(&head, &format!("{head}{rights}\n"))).unwrap();
}

pub fn rtt(folder: &Path, address: &str, words: &[&str]) -> assert_cmd::Command {
    sonde_in(folder, &[&["rtt", address, "-q", "--json", "--warm-up", "0"], words].concat())
}

/// The next line of the audit.
pub fn entry(reflector: &mut Reflector) -> Value {
    document(reflector.line_that("{\"time\":").as_bytes())
}

#[test]
fn each_key_has_its_own_rights_and_each_use_of_it_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let rights = "patterns = [\"exchange\"]\nmax_duration = \"1m\"\nspin = false\npin = false\nfacts = false";
    list(folder.path(), &["all", "few"], "few", rights);
    let mut reflector = Reflector::start(folder.path(), &["--key", "keys.toml", "--audit=json"]);
    let address = reflector.address();
    let all = document(
        printed(&mut rtt(folder.path(), &address, &["--key", "all.key", "-c", "10", "--peer-wait", "spin"])).as_bytes(),
    );
    assert_eq!(all["method"]["peer_waiting"], "spin");
    assert!(all["theirs"]["kernel"].is_string());
    let began = entry(&mut reflector);
    assert_eq!((&began["event"], &began["key"], &began["session"]), (&"began".into(), &"all".into(), &1.into()));
    let ended = entry(&mut reflector);
    assert_eq!((&ended["event"], &ended["how"], &ended["session"]), (&"ended".into(), &"closed".into(), &1.into()));
    assert_eq!((&ended["received_bytes"], &ended["sent_bytes"]), (&640.into(), &640.into()));
    let few = document(
        printed(&mut rtt(folder.path(), &address, &["--key", "few.key", "-c", "10", "--peer-wait", "spin"])).as_bytes(),
    );
    assert_eq!(few["method"]["peer_waiting"], "block", "told as it was");
    assert!(
        few["theirs"]["kernel"].is_null()
            && few["theirs"]["host"].is_null()
            && few["theirs"]["settings"] == serde_json::json!({})
    );
    assert!(few["theirs"]["disturbance"].is_object(), "what would make the values doubtful is told");
    assert_eq!(
        (entry(&mut reflector)["key"].clone(), entry(&mut reflector)["key"].clone()),
        ("few".into(), "few".into())
    );
    for (words, said) in [
        (&["--crr", "-c", "10"][..], "key `few` is not for the pattern"),
        (&["--peer-cpu", "0", "-c", "10"], "key `few` does not give the right to choose CPUs"),
        (&["-t", "10m"], "duration: "),
    ] {
        let assert = rtt(folder.path(), &address, &[&["--key", "few.key"], words].concat()).assert().code(1);
        let error = document(&assert.get_output().stdout)["error"].clone();
        assert!(error["what"].as_str().unwrap().contains(said), "{error}");
        let refused = entry(&mut reflector);
        assert_eq!((&refused["event"], &refused["key"]), (&"refused".into(), &"few".into()));
        assert!(refused["reason"].as_str().unwrap().contains(said), "{refused}");
    }
}

#[test]
fn datagrams_are_authenticated_unless_a_client_says_that_it_trusts_the_network() {
    let folder = tempfile::tempdir().unwrap();
    list(folder.path(), &["one"], "one", "");
    let reflector = Reflector::start(folder.path(), &["--key", "keys.toml"]);
    let address = reflector.address();
    for (words, authenticated) in [
        (&["--udp", "-c", "10"][..], Value::Bool(true)),
        (&["--udp", "-c", "10", "--no-datagram-auth"], Value::Bool(false)),
        (&["-c", "10"], Value::Null),
    ] {
        let record =
            document(printed(&mut rtt(folder.path(), &address, &[&["--key", "one.key"], words].concat())).as_bytes());
        assert_eq!(record["peer"]["datagrams_authenticated"], authenticated, "{words:?}");
        assert_eq!(record["outcome"]["counts"]["answered"], 10);
    }
}

#[test]
fn a_bound_of_the_server_is_never_told_as_the_network_s() {
    let folder = tempfile::tempdir().unwrap();
    list(folder.path(), &["all", "slow"], "slow", "max_bandwidth = \"16k\"");
    let reflector = Reflector::start(folder.path(), &["--key", "keys.toml", "--max-total-rate", "10k/s"]);
    let address = reflector.address();
    let warned = |key: &str, words: &[&str]| {
        let record =
            document(printed(&mut rtt(folder.path(), &address, &[&["--key", key], words].concat())).as_bytes());
        record["warnings"].to_string().contains("server-limited")
    };
    // 64 octets each way: 31 a second of 2,000 octets.
    assert!(warned("slow.key", &["-c", "20"]));
    assert!(!warned("all.key", &["-c", "20", "--every", "10ms"]));
    let assert = rtt(folder.path(), &address, &["--key", "slow.key", "-c", "20", "--every", "1ms"]).assert().code(1);
    let error = document(&assert.get_output().stdout)["error"].clone();
    assert!(error["what"].as_str().unwrap().contains("traffic of all sessions"), "{error}");
}

#[test]
fn a_key_that_is_taken_away_lets_nobody_in_and_ends_no_session() {
    let folder = tempfile::tempdir().unwrap();
    list(folder.path(), &["old"], "old", "");
    let mut reflector = Reflector::start(folder.path(), &["--key", "keys.toml", "--audit=json"]);
    let address = reflector.address();
    let running = start(&mut rtt(folder.path(), &address, &["--key", "old.key", "--every", "10ms", "-c", "200"]));
    assert_eq!(entry(&mut reflector)["event"], "began");
    sonde_in(folder.path(), &["key", "keys.toml", "--add", "new"]).assert().success();
    sonde_in(folder.path(), &["key", "keys.toml", "--revoke", "old"]).assert().success();
    reflector.signal(Signal::HUP);
    reflector.line_that("sonde serve: keys.toml: 1 key read again");
    rtt(folder.path(), &address, &["--key", "new.key", "-c", "10"]).assert().success();
    rtt(folder.path(), &address, &["--key", "old.key", "-c", "10"]).assert().code(1);
    let output = running.wait_with_output().unwrap();
    assert_eq!(document(&output.stdout)["outcome"]["counts"]["answered"], 200);
    // The last one too.
    sonde_in(folder.path(), &["key", "keys.toml", "--revoke", "new"]).assert().success();
    reflector.signal(Signal::HUP);
    reflector.line_that("sonde serve: keys.toml: 0 keys read again");
    rtt(folder.path(), &address, &["--key", "new.key", "-c", "10"]).assert().code(1);
    // A list that cannot be read changes nothing, and is reported.
    std::fs::write(folder.path().join("keys.toml"), "[[keys]]\nname = 1\n").unwrap();
    reflector.signal(Signal::HUP);
    reflector.line_that("error: keys.toml, line 2: ");
    reflector.line_that("sonde serve: the keys of before stay in force");
    rtt(folder.path(), &address, &["--key", "new.key", "-c", "10"]).assert().code(1);
    assert_eq!(reflector.end(Signal::TERM).0, Some(0));
}

fn start(command: &mut assert_cmd::Command) -> Child {
    Command::new(command.get_program())
        .args(command.get_args())
        .current_dir(command.get_current_dir().unwrap())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

#[test_case("--connect", "the peer's kernel answers tcp-connect"; "handshakes")]
#[test_case("--icmp", "the peer's kernel answers icmp"; "echo")]
#[test_case("--peer netperf", "a netserver knows no keys"; "a netserver")]
fn a_key_that_nothing_asks_for_is_said_to_be_of_no_use(words: &str, why: &str) {
    // No file of this name is there: what is not used is not read.
    let folder = tempfile::tempdir().unwrap();
    let nobody = port::free();
    let rtt = |more: &[&str]| {
        let words = words.split(' ').chain(["-c", "1", "--timeout", "100ms", "--warm-up", "0"]);
        let mut rtt = sonde_in(folder.path(), &["rtt", "127.0.0.1", "--port", &nobody.to_string()]);
        rtt.args(words).args(more);
        rtt
    };
    let said = format!("note: --key is not used: {why}");
    let told = |mut rtt: assert_cmd::Command| String::from_utf8(rtt.output().unwrap().stderr).unwrap();
    assert!(told(rtt(&["--key", "gone.key"])).starts_with(&said));
    let mut usual = rtt(&[]);
    usual.env("SONDE_KEY_FILE", "gone.key");
    let usual = told(usual);
    assert!(!usual.contains("--key") && !usual.contains("gone.key"), "{usual}");
}

#[test]
fn a_key_that_others_can_read_is_refused_unless_that_is_wanted() {
    let folder = tempfile::tempdir().unwrap();
    sonde_in(folder.path(), &["key", "a.key"]).assert().success();
    let reflector = Reflector::start(folder.path(), &["--key", "a.key"]);
    let address = reflector.address();
    std::fs::set_permissions(folder.path().join("a.key"), PermissionsExt::from_mode(0o640)).unwrap();
    let words = ["--key", "a.key", "-c", "10"];
    let assert = rtt(folder.path(), &address, &words).assert().code(2);
    let error = document(&assert.get_output().stdout)["error"].clone();
    assert_eq!(error["what"], "a.key: other users of this machine can read this key");
    assert!(error["hint"].as_str().unwrap().starts_with("chmod 600 a.key"), "{error}");
    sonde_in(folder.path(), &["serve", "--key", "a.key"]).assert().code(2).stderr(contains("chmod 600 a.key"));
    rtt(folder.path(), &address, &[&words[..], &["--insecure-key-file"]].concat()).assert().success();
}

#[test]
fn who_is_of_no_allowed_network_is_not_heard() {
    let folder = tempfile::tempdir().unwrap();
    let mut reflector =
        Reflector::start(folder.path(), &["--allow", "127.0.0.2", "--allow", "192.0.2.0/24", "--audit"]);
    let address = reflector.address();
    rtt(folder.path(), &address, &["-c", "10", "--bind", "127.0.0.2"]).assert().success();
    rtt(folder.path(), &address, &["-c", "10", "--udp", "--bind", "127.0.0.2"]).assert().success();
    rtt(folder.path(), &address, &["-c", "10"]).assert().code(1);
    let line = reflector.line_that("reason=");
    assert!(line.contains(" refused from=127.0.0.1:") && line.contains("its address is in no network"), "{line}");
    sonde_in(folder.path(), &["serve", "--allow", "10.0.0.0/33"]).assert().code(2).stderr(contains("is no network"));
}

#[test]
fn the_servers_beside_are_there_for_the_allowed_networks_alone() {
    let folder = tempfile::tempdir().unwrap();
    let ports: Vec<u16> = (0..5).map(|_| port::free()).collect();
    let [netperf, sockperf, iperf, iperf3, stamp] = ports[..].try_into().unwrap();
    let numbers: Vec<String> = ports.iter().map(ToString::to_string).collect();
    let options = ["--netperf", "--sockperf", "--iperf", "--iperf3", "--stamp-port"];
    let mut words = vec!["--allow", "127.0.0.2", "--stamp"];
    words.extend(options.iter().zip(&numbers).flat_map(|(option, port)| [*option, port]));
    let _reflector = Reflector::start(folder.path(), &words);
    for port in [netperf, sockperf, iperf, iperf3] {
        let connect = |from: &str, patience| {
            let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
            socket.bind(&SocketAddr::new(from.parse().unwrap(), 0).into()).unwrap();
            socket.connect_timeout(&SocketAddr::from(([127, 0, 0, 1], port)).into(), patience)
        };
        connect("127.0.0.2", PATIENCE).unwrap();
        // Not even refused: no patience is long enough.
        assert_eq!(connect("127.0.0.1", Duration::from_millis(200)).unwrap_err().kind(), ErrorKind::TimedOut);
    }
    // A packet of STAMP (RFC 8762, section 4.2.1), and a message of sockperf that wants a reply.
    for (port, message) in [(stamp, &[0; 44][..]), (sockperf, &[0, 0, 0, 0, 0, 0, 0, 1, 0, 3, 0, 0, 0, 14])] {
        let senders = ["127.0.0.1", "127.0.0.2"].map(|from| {
            let socket = UdpSocket::bind((from, 0)).unwrap();
            socket.set_read_timeout(Some(PATIENCE)).unwrap();
            socket.send_to(message, ("127.0.0.1", port)).unwrap();
            socket
        });
        senders[1].recv(&mut [0; 64]).unwrap();
        // It asked before, and would have been answered by now.
        senders[0].set_nonblocking(true).unwrap();
        assert_eq!(senders[0].recv(&mut [0; 64]).unwrap_err().kind(), ErrorKind::WouldBlock);
    }
}

#[test]
fn all_measurements_together_have_a_bound_of_memory_and_of_spinning_threads() {
    let folder = tempfile::tempdir().unwrap();
    let reflector = Reflector::start(folder.path(), &["--max-total-memory", "1MiB", "--max-spin", "1"]);
    let address = reflector.address();
    let assert = rtt(folder.path(), &address, &["-c", "10", "--flows", "8", "--size", "128KiB"]).assert().code(1);
    let error = document(&assert.get_output().stdout)["error"].clone();
    assert!(error["what"].as_str().unwrap().contains("memory of all sessions: 2 MiB more were asked for"), "{error}");
    let waiting = |flows: &str| {
        let words = ["-c", "10", "--flows", flows, "--peer-wait", "spin"];
        document(printed(&mut rtt(folder.path(), &address, &words)).as_bytes())["method"]["peer_waiting"].clone()
    };
    assert_eq!((waiting("1"), waiting("2")), ("spin".into(), "block".into()));
}

#[test]
fn a_list_is_kept_by_name_and_never_shows_a_key() {
    let folder = tempfile::tempdir().unwrap();
    list(
        folder.path(),
        &["a", "b c", "d"],
        "b c",
        "# a word of its own\nnetworks = [\"10.0.0.0/8\"]\nexpires = 2001-02-03",
    );
    let mode = std::fs::metadata(folder.path().join("keys.toml")).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o600);
    let listed = printed(&mut sonde_in(folder.path(), &["key", "keys.toml", "--list"]));
    assert_eq!(listed, "a    all rights\nb c  expired 2001-02-03T00:00:00Z; from 10.0.0.0/8\nd    all rights\n");
    let before = std::fs::read_to_string(folder.path().join("keys.toml")).unwrap();
    sonde_in(folder.path(), &["key", "keys.toml", "--add", "a"])
        .assert()
        .code(2)
        .stderr(contains("a key \"a\" is in it already"))
        .stderr(contains("--revoke a"));
    sonde_in(folder.path(), &["key", "keys.toml", "--revoke", "x"])
        .assert()
        .code(2)
        .stderr(contains("it has: a, b c, d"));
    assert_eq!(std::fs::read_to_string(folder.path().join("keys.toml")).unwrap(), before);
    sonde_in(folder.path(), &["key", "keys.toml", "--revoke", "a"]).assert().success();
    let after = std::fs::read_to_string(folder.path().join("keys.toml")).unwrap();
    let (from, to) = (before.find("[[keys]]").unwrap(), before.match_indices("[[keys]]").nth(1).unwrap().0);
    assert_eq!(after, format!("{}{}", &before[..from], &before[to..]));
    // A key in a wrong place is not repeated.
    let key = std::fs::read_to_string(folder.path().join("d.key")).unwrap();
    std::fs::write(folder.path().join("keys.toml"), format!("[[keys]]\nname = \"a\"\nspin = \"{}\"\n", key.trim()))
        .unwrap();
    let assert = sonde_in(folder.path(), &["key", "keys.toml", "--list"]).assert().code(2);
    let said = String::from_utf8(assert.get_output().stderr.clone()).unwrap();
    assert!(
        said.contains("keys.toml, line 3: a key in the place of something else") && !said.contains(key.trim()),
        "{said}"
    );
}
