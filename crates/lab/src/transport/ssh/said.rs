//! Words of `ssh`, as a kind of failure: it has one status for all of its own errors, so its words have to tell.
//!
//! The words are OpenSSH's, from 8 on. Words that fit none of them are reported as they are.

use logbook::failure::Side;
use logbook::host;

use super::word::quoted;
use crate::child::Finished;
use crate::transport::remote::{Fault, words_of};

/// The status with which `ssh` tells of an error of its own.
const OWN: i32 = 255;

/// Words of `ssh` and what they mean: what happened, on whose side, what to try. The first that fits is told; `{host}`
/// stands for the destination.
const KINDS: [(&[&str], &str, Option<Side>, &str); 13] = [
    (
        &["REMOTE HOST IDENTIFICATION HAS CHANGED", "Offending key", "Offending ECDSA", "Offending ED25519"],
        "its host key is another than the known one",
        Some(Side::Theirs),
        "where the host was made anew: `ssh-keygen -R {host}`, then log in once by hand; otherwise somebody may be in between",
    ),
    (
        &["host key is known for", "Host key verification failed"],
        "its host key is not known here",
        Some(Side::Ours),
        "log in once by hand with `ssh {host}` and compare its fingerprint, or give options = [\"StrictHostKeyChecking=accept-new\"]",
    ),
    (
        &["UNPROTECTED PRIVATE KEY FILE", "bad permissions"],
        "the key file can be read by others, so ssh does not take it",
        Some(Side::Ours),
        "chmod 600 that file",
    ),
    (
        &["Too many authentication failures"],
        "none of the first keys was taken, and it asks no further",
        Some(Side::Ours),
        "name the right one as key_file",
    ),
    (
        &["Permission denied (", "No supported authentication methods", "no more authentication methods"],
        "it takes none of the keys that were offered",
        Some(Side::Ours),
        "bring a key there with `ssh-copy-id {host}`, name it as key_file, or load it with `ssh-add`",
    ),
    (
        &["Could not resolve hostname", "Name or service not known", "nodename nor servname"],
        "its name is not known",
        Some(Side::Ours),
        "look at its spelling; a name of ~/.ssh/config needs its HostName there",
    ),
    (
        &["Connection refused"],
        "nobody listens at its port of ssh",
        Some(Side::Theirs),
        "start sshd there (openssh-server), or give the port at which it listens",
    ),
    (
        &["timed out", "timeout"],
        "it does not answer at its port of ssh",
        Some(Side::Path),
        "see that it is up and that a firewall lets port 22 through: `sonde check {host}` tells more",
    ),
    (
        &["No route to host", "Network is unreachable", "Host is down"],
        "there is no way to it",
        Some(Side::Path),
        "look at the route from here: `ip route get` its address",
    ),
    (
        &[
            "kex_exchange_identification",
            "Connection closed by",
            "Connection reset by",
            "Broken pipe",
            "not responding",
        ],
        "the connection was cut",
        None,
        "its sshd may be full (MaxStartups), be no sshd at all, or have gone: look at its log",
    ),
    (
        &["Bad configuration option", "Unsupported option", "configuration options", "keyword", "extra arguments"],
        "ssh does not understand its settings",
        Some(Side::Ours),
        "look at the options of this host and at ~/.ssh/config",
    ),
    (
        &["Identity file", "no such identity", "Load key", "invalid format"],
        "the key file is none",
        Some(Side::Ours),
        "give the file of a private key as key_file",
    ),
    (
        &["Cannot open network namespace"],
        "the network namespace that leads there is not there",
        Some(Side::Ours),
        "`sonde lab list` shows the labs that stand; going into one takes root",
    ),
];

/// Words of a connection that was cut, or that a loaded machine was too slow for: the next may stay.
const CUT: [&str; 8] = [
    "kex_exchange_identification",
    "Connection closed by",
    "Connection reset by",
    "Broken pipe",
    "banner exchange",
    "mux_client",
    "Session open refused",
    "Control socket",
];

/// Reason for which `ssh` itself failed; `None`: it did not.
pub(super) fn fault(told: &host::Ssh, finished: &Finished) -> Option<Fault> {
    let in_front = !told.through.is_empty() && finished.said.contains("Cannot open network namespace");
    if finished.status.code() != Some(OWN) && !in_front {
        return None;
    }
    let fault = of(told, &finished.said, &words_of(finished));
    let passes = CUT.iter().any(|words| finished.said.contains(words));
    Some(if passes { fault.passing() } else { fault })
}

/// The kind that fits what was said.
fn of(told: &host::Ssh, said: &str, last: &str) -> Fault {
    if let Some(fault) = wants_password(told, said, last) {
        return fault;
    }
    let fits = |words: &&[&str]| words.iter().any(|words| said.contains(words));
    match KINDS.iter().find(|(words, ..)| fits(words)) {
        Some((_, what, side, hint)) => Fault::new(format!("{what}: {last}"), *side, filled(hint, told)),
        None => Fault::new(last, None, filled("try `ssh {host} true` by hand", told)),
    }
}

/// A host that would take a password is told apart: nobody is there to type one.
fn wants_password(told: &host::Ssh, said: &str, last: &str) -> Option<Fault> {
    let methods = said.split("Permission denied (").nth(1)?.split(')').next()?;
    methods.split(',').any(|method| method == "password" || method == "keyboard-interactive").then(|| {
        let hint =
            "passwords are never asked for: bring a key there with `ssh-copy-id {host}`, or load one with `ssh-add`";
        Fault::new(format!("it wants a password, and takes none of the keys: {last}"), Side::Ours, filled(hint, told))
    })
}

fn filled(hint: &str, told: &host::Ssh) -> String {
    hint.replace("{host}", &quoted(&told.to))
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    fn told() -> host::Ssh {
        host::Ssh { to: "db1".into(), port: None, key_file: None, options: vec![], through: vec![] }
    }

    #[test_case(
        "ssh: Could not resolve hostname db1: Name or service not known",
        "its name is not known",
        Some(Side::Ours)
    )]
    #[test_case("ssh: connect to host db1 port 22: Connection refused", "nobody listens", Some(Side::Theirs))]
    #[test_case("ssh: connect to host db1 port 22: Connection timed out", "it does not answer", Some(Side::Path))]
    #[test_case(
        "Connection timed out during banner exchange\nConnection to 10.0.0.1 port 22 timed out",
        "it does not answer",
        Some(Side::Path)
    )]
    #[test_case("ssh: connect to host db1 port 22: No route to host", "there is no way", Some(Side::Path))]
    #[test_case("kex_exchange_identification: read: Connection reset by peer", "the connection was cut", None)]
    #[test_case("root@db1: Permission denied (publickey).", "it takes none of the keys", Some(Side::Ours))]
    #[test_case("root@db1: Permission denied (publickey,password).", "it wants a password", Some(Side::Ours))]
    #[test_case(
        "root@db1: Permission denied (publickey,keyboard-interactive).",
        "it wants a password",
        Some(Side::Ours)
    )]
    #[test_case("Host key verification failed.", "its host key is not known", Some(Side::Ours))]
    #[test_case(
        "@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\nHost key verification failed.",
        "its host key is another",
        Some(Side::Theirs)
    )]
    #[test_case("command-line: line 0: Bad configuration option: nonsense", "does not understand", Some(Side::Ours))]
    #[test_case("something never heard of", "something never heard of", None)]
    fn words_are_a_kind(said: &str, kind: &str, side: Option<Side>) {
        let last = said.lines().last().unwrap();
        let fault = of(&told(), said, last);
        assert!(fault.what.contains(kind), "{fault:?}");
        assert!(fault.what.ends_with(last), "its last words are kept: {fault:?}");
        assert_eq!(fault.side, side);
    }

    #[test]
    fn hints_name_the_host() {
        let fault = of(&told(), "Connection timed out", "Connection timed out");
        assert!(fault.hint.contains("`sonde check db1`"), "{fault:?}");
        let fault = of(&told(), "Could not resolve hostname db1", "Could not resolve hostname db1");
        assert!(fault.hint.contains("HostName"), "{fault:?}");
    }

    #[test]
    fn a_name_in_a_hint_is_one_word_of_a_shell() {
        let told = host::Ssh { to: "db1; reboot".into(), ..told() };
        assert_eq!(filled("`sonde check {host}` tells more", &told), "`sonde check 'db1; reboot'` tells more");
    }
}
