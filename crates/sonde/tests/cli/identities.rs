//! Identities: made, listed, used beside pre-shared keys, and refused in words that say what to do.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use predicates::str::contains;
use protocol::native::identity::{Identity, Public};
use rustix::process::Signal;

use crate::keys::{entry, rtt};
use crate::serve::Reflector;
use crate::{document, printed, sonde_in};

/// Makes an identity in the file `NAME.identity`; its public part.
fn made(folder: &Path, name: &str) -> String {
    let line = printed(&mut sonde_in(folder, &["key", &format!("{name}.identity"), "--identity"]));
    line.trim_end().to_owned()
}

/// The list, with a pre-shared key `team` and the identity of Alice, which has these rights; the public parts of the server's
/// identity and hers.
fn list(folder: &Path, rights: &str) -> (String, String) {
    let (server, alice) = (made(folder, "db1"), made(folder, "alice"));
    sonde_in(folder, &["key", "keys.toml", "--add", "team"]).assert().success();
    sonde_in(folder, &["key", "keys.toml", "--add", "alice", "--peer-identity", &alice]).assert().success();
    let path = folder.join("keys.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(path, format!("{text}{rights}\n")).unwrap();
    (server, alice)
}

const SERVED: [&str; 5] = ["--key", "keys.toml", "--identity", "db1.identity", "--audit=json"];

#[test]
fn an_identity_is_new_each_time_and_shows_its_public_part_alone() {
    let folder = tempfile::tempdir().unwrap();
    let public = made(folder.path(), "a");
    assert_ne!(public, made(folder.path(), "b"));
    let path = folder.path().join("a.identity");
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o600);
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(Public::parse(&public).as_ref(), Ok(Identity::parse(&text).unwrap().public()));
    sonde_in(folder.path(), &["key", "a.identity", "--public"])
        .assert()
        .success()
        .stdout(format!("{public}\n"))
        .stderr("");
    sonde_in(folder.path(), &["key", "a.identity", "--identity"]).assert().code(2).stderr(contains("exists already"));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).unwrap();
    sonde_in(folder.path(), &["key", "a.identity", "--public"])
        .assert()
        .code(2)
        .stderr(contains("chmod 600 a.identity"));
    sonde_in(folder.path(), &["key", "a.key"]).assert().success();
    sonde_in(folder.path(), &["key", "a.key", "--public"]).assert().code(2).stderr(contains("does not start with"));
}

#[test]
fn identities_are_listed_and_revoked_like_keys() {
    let folder = tempfile::tempdir().unwrap();
    let (_, alice) = list(folder.path(), "expires = 2027-01-31");
    let table = printed(&mut sonde_in(folder.path(), &["key", "keys.toml", "--list"]));
    assert_eq!(table, "team   all rights\nalice  identity; expires 2027-01-31T00:00:00Z\n");
    // The same by its file, under another name; and what is no public part.
    let add = |name: &str, peer: &str| {
        sonde_in(folder.path(), &["key", "keys.toml", "--add", name, "--peer-identity", peer]).assert()
    };
    std::fs::write(folder.path().join("alice.public"), format!("# alice\n{alice}\n")).unwrap();
    add("again", "alice.public").code(2).stderr(contains("key `again` is the key of `alice` again"));
    add("bob", "alice.identity").code(2).stderr(contains("does not start with `sonde-public-1:`"));
    add("bob", "bob.public").code(2).stderr(contains("bob.public: cannot read"));
    add("bob", &format!("sonde-public-1:{}", "0".repeat(64)))
        .code(2)
        .stderr(contains("anyone could impersonate its holder"));
    sonde_in(folder.path(), &["key", "keys.toml", "--revoke", "alice"]).assert().success();
    let table = printed(&mut sonde_in(folder.path(), &["key", "keys.toml", "--list"]));
    assert_eq!(table, "team  all rights\n");
}

#[test]
fn a_list_says_of_each_either_a_key_or_an_identity_and_no_error_repeats_a_secret() {
    let folder = tempfile::tempdir().unwrap();
    let (_, alice) = list(folder.path(), "");
    let private = std::fs::read_to_string(folder.path().join("alice.identity")).unwrap();
    let private = private.trim();
    for (entry, said) in [
        (format!("public = \"{alice}\"\nkey = \"sonde-key-1:{}\"", "1".repeat(64)), "either `key` or `public`"),
        (String::new(), "either `key` or `public`"),
        (format!("public = \"{private}\""), "does not start with `sonde-public-1:`"),
        (format!("key = \"{private}\""), "a key in the place of something else"),
        (format!("\"{private}\" = 1"), "a key in the place of something else"),
    ] {
        std::fs::write(folder.path().join("bad.toml"), format!("[[keys]]\nname = \"x\"\n{entry}\n")).unwrap();
        std::fs::set_permissions(folder.path().join("bad.toml"), PermissionsExt::from_mode(0o600)).unwrap();
        let assert = sonde_in(folder.path(), &["key", "bad.toml", "--list"]).assert().code(2).stderr(contains(said));
        let shown = String::from_utf8_lossy(&assert.get_output().stderr).into_owned();
        assert!(!shown.contains(&private[20..]), "{shown}");
    }
    sonde_in(folder.path(), &["serve", "--key", "keys.toml"])
        .assert()
        .code(2)
        .stderr(contains("key \"alice\" is an identity, and this server has none to show it"));
}

#[test]
fn identities_and_keys_measure_beside_each_other_each_with_its_rights() {
    let folder = tempfile::tempdir().unwrap();
    let (server, _) = list(folder.path(), "patterns = [\"exchange\"]\nmax_duration = \"1m\"");
    let mut reflector = Reflector::start(folder.path(), &SERVED);
    let address = reflector.address();
    let alice = ["--key", "alice.identity", "--peer-identity", &server];
    let team = ["--key", "team.key"];
    for (who, words, kind) in [("alice", &alice[..], "identity"), ("team", &team, "pre-shared")] {
        for carrier in ["--tcp", "--udp"] {
            let words = [words, &[carrier, "-c", "10"]].concat();
            let record = document(printed(&mut rtt(folder.path(), &address, &words)).as_bytes());
            assert_eq!(record["peer"]["authentication"], kind);
            assert_eq!(record["peer"]["datagrams_authenticated"].as_bool(), (carrier == "--udp").then_some(true));
            assert_eq!(record["outcome"]["counts"]["answered"], 10);
            for event in ["began", "ended"] {
                let entry = entry(&mut reflector);
                assert_eq!((&entry["event"], &entry["key"]), (&event.into(), &who.into()));
            }
        }
    }
    for (words, said) in [(&["--crr", "-c", "10"][..], "is not for the pattern"), (&["-t", "10m"], "duration: ")] {
        let assert = rtt(folder.path(), &address, &[&alice[..], words].concat()).assert().code(1);
        let error = document(&assert.get_output().stdout)["error"].clone();
        assert!(error["what"].as_str().unwrap().contains(said), "{error}");
        assert_eq!(entry(&mut reflector)["key"], "alice");
    }
    // Without a key nobody is asked for one, and the record says nothing of it.
    let own = document(printed(&mut sonde_in(folder.path(), &["rtt", "-q", "--json", "-c", "10"])).as_bytes());
    assert!(own["peer"].get("authentication").is_none());
}

#[test]
fn every_command_that_measures_comes_by_its_identity() {
    let folder = tempfile::tempdir().unwrap();
    let (server, _) = list(folder.path(), "");
    let mut reflector = Reflector::start(folder.path(), &SERVED);
    let address = reflector.address();
    let port = address.rsplit_once(':').unwrap().1;
    std::fs::write(folder.path().join("trace.csv"), "time,size\n0,64\n10ms,64\n20ms,64\n").unwrap();
    let alice = ["--key", "alice.identity", "--peer-identity", &server, "--json", "-q"];
    for words in [
        &["load", &address, "--rate", "500", "-t", "500ms"][..],
        &["replay", &address, "trace.csv"],
        &["throughput", &address, "-t", "500ms"],
        &["paths", &address, "--flows", "4", "-c", "40"],
        &["paths", "127.0.0.1", "--port", port, "--udp", "--flows", "4", "-c", "40"],
    ] {
        let record = document(printed(&mut sonde_in(folder.path(), &[words, &alice].concat())).as_bytes());
        assert_eq!(record["peer"]["authentication"], "identity", "{words:?}");
        assert_eq!(entry(&mut reflector)["key"], "alice");
        assert_eq!(entry(&mut reflector)["event"], "ended");
    }
    // The first look asks the program at a port that is named alone, not its kernel only.
    for words in [&["127.0.0.1", "--port", port, "-t", "1"][..], &[&address, "-t", "1"]] {
        let look = document(printed(&mut sonde_in(folder.path(), &[words, &alice].concat())).as_bytes());
        let legs = look["look"]["legs"].as_array().unwrap();
        let of_program =
            legs.iter().filter(|leg| leg["who"]["service"] == "sonde" && leg["sums"]["answered"].as_u64() > Some(0));
        assert_eq!(of_program.count(), 2, "{look}");
    }
}

#[test]
fn who_is_not_known_hears_how_to_become_known() {
    let folder = tempfile::tempdir().unwrap();
    let (server, _) = list(folder.path(), "");
    let mut reflector = Reflector::start(folder.path(), &SERVED);
    let address = reflector.address();
    let bob = made(folder.path(), "bob");
    let words = ["--key", "bob.identity", "--peer-identity", &server, "-c", "10"];
    let assert = rtt(folder.path(), &address, &words).assert().code(1);
    let error = document(&assert.get_output().stdout)["error"].clone();
    assert_eq!(error["side"], "theirs");
    assert!(error["what"].as_str().unwrap().contains(&format!("the server does not know the client's identity {bob}")));
    let command = format!("`sonde key LIST --add NAME --peer-identity {bob}`");
    assert!(error["hint"].as_str().unwrap().contains(&command), "{error}");
    let refused = entry(&mut reflector);
    assert_eq!((&refused["event"], refused["key"].as_str()), (&"refused".into(), None));
    assert!(refused["reason"].as_str().unwrap().contains(&bob), "{refused}");
    sonde_in(folder.path(), &["key", "keys.toml", "--add", "bob", "--peer-identity", &bob]).assert().success();
    reflector.signal(Signal::HUP);
    reflector.line_that("sonde serve: keys.toml: 3 keys read again");
    rtt(folder.path(), &address, &words).assert().success();
    assert_eq!(entry(&mut reflector)["key"], "bob");
}

#[test]
fn another_server_than_the_one_expected_is_said_to_be_that() {
    let folder = tempfile::tempdir().unwrap();
    let (_, alice) = list(folder.path(), "");
    let reflector = Reflector::start(folder.path(), &SERVED);
    let address = reflector.address();
    let error_of = |words: &[&str], status: i32| {
        let assert = rtt(folder.path(), &address, &[words, &["-c", "10"]].concat()).assert().code(status);
        document(&assert.get_output().stdout)["error"].clone()
    };
    let error = error_of(&["--key", "alice.identity", "--peer-identity", &alice], 1);
    assert!(error["what"].as_str().unwrap().contains("the server's identity is not the one that the client expects"));
    assert!(error["hint"].as_str().unwrap().contains("`sonde key FILE --public`"), "{error}");
    let error = error_of(&["--key", "alice.identity"], 2);
    assert_eq!(error["what"], "alice.identity: holds an identity, and that of the server is not given");
    assert!(error["hint"].as_str().unwrap().contains("--peer-identity PUBLIC"), "{error}");
    let error = error_of(&["--key", "team.key", "--peer-identity", &alice], 2);
    assert_eq!(error["what"], "team.key: a pre-shared key, by which no server shows an identity");
}

#[test]
fn a_server_without_an_identity_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let (server, alice) = list(folder.path(), "");
    sonde_in(folder.path(), &["key", "team.toml", "--add", "members"]).assert().success();
    let mut reflector = Reflector::start(folder.path(), &["--key", "team.toml"]);
    let words = ["--key", "alice.identity", "--peer-identity", &server, "-c", "10"];
    let assert = rtt(folder.path(), &reflector.address(), &words).assert().code(1);
    let error = document(&assert.get_output().stdout)["error"].clone();
    assert!(error["what"].as_str().unwrap().contains("it accepts only pre-shared keys"), "{error}");
    assert!(error["hint"].as_str().unwrap().contains("--identity FILE"), "{error}");
    // An identity that is added while it runs is not forgotten in silence.
    sonde_in(folder.path(), &["key", "team.toml", "--add", "alice", "--peer-identity", &alice]).assert().success();
    reflector.signal(Signal::HUP);
    reflector.line_that("key \"alice\" is an identity, and this server has none to show it");
    reflector.line_that("sonde serve: the keys of before stay in force");
    rtt(folder.path(), &reflector.address(), &["--key", "members.key", "-c", "10"]).assert().success();
}
