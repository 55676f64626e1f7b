//! Keys that do not fit and versions from the future: refused in words, before anything is measured.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use protocol::native::preamble::{Answer, Control, Decline, Versions};
use test_case::test_case;

use crate::rogue::Rogue;
use crate::{Ended, Serve, assert_error, rtt, sonde};

fn key(folder: &tempfile::TempDir, name: &str) -> String {
    let path = folder.path().join(name).display().to_string();
    assert_eq!(Ended::of(&mut sonde(&["key", &path])).code, Some(0));
    path
}

#[test]
fn keys_that_do_not_fit_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let (right, wrong) = (key(&folder, "right"), key(&folder, "wrong"));
    let (keyed, open) = (Serve::start(&["--key", &right]), Serve::start(&[]));
    let brief = |key: &'static [&'static str]| key;
    assert_error(
        &keyed.address,
        brief(&["-c", "5"]),
        1,
        "ours",
        &["it requires a key, and none was given", "give the server's key"],
    );
    assert_error(&keyed.address, &["-c", "5", "--key", &wrong], 1, "path", &["the key differs from the peer's"]);
    assert_error(&open.address, &["-c", "5", "--key", &wrong], 1, "theirs", &["a key was given, and it has none"]);
    let ended = rtt(&keyed.address, &["-c", "5", "--warm-up", "0", "--key", &right]);
    assert_eq!(crate::count(&ended.record(), "answered"), 5);
}

#[test]
fn a_reflector_of_the_future_says_that_we_are_behind() {
    let versions = Versions { lowest: 2, highest: 3 };
    let (address, _seen) = Rogue { versions, ..Rogue::default() }.start();
    let said = ["no longer speaks a version as old as ours", "versions 2 to 3", "update this end"];
    assert_error(&address, &["-c", "5"], 1, "ours", &said);
}

#[test]
fn a_reflector_of_the_future_that_still_speaks_ours_is_measured() {
    let versions = Versions { lowest: 1, highest: 7 };
    let (address, _seen) = Rogue { versions, ..Rogue::default() }.start();
    let record = rtt(&address, &["-c", "5", "--warm-up", "0"]).record();
    assert_eq!((crate::count(&record, "answered"), &record["peer"]["protocol_version"]), (5, &1.into()));
}

/// A server that gives this answer to every preamble.
fn answering(answer: Answer) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for connection in listener.incoming() {
            let mut connection = connection.unwrap();
            connection.read_exact(&mut [0; 16]).unwrap();
            let _told = connection.write_all(&answer.encode());
        }
    });
    address
}

#[test_case(Ok(9), "contradicts"; "a version that we did not offer")]
#[test_case(Err(Decline::Busy), "reached its limit of clients"; "a full one")]
#[test_case(Err(Decline::Stopping), "it is shutting down"; "one that goes down")]
#[test_case(Err(Decline::Other(99)), "a reason unknown to this version (code 99)"; "a reason of the future")]
fn an_answer_out_of_the_ordinary_is_said_in_words(verdict: Result<u16, Decline>, said: &str) {
    let address = answering(Answer { verdict, keyed: None, versions: Versions { lowest: 1, highest: 9 } });
    let (ended, error) = crate::error(&address, &["-c", "5"]);
    assert_eq!((ended.code, error["side"].as_str()), (Some(1), Some("theirs")), "{error:#}");
    assert!(ended.stderr.contains(said) && ended.stderr.contains("\ntry:   "), "{}", ended.stderr);
}

#[test_case(Versions { lowest: 2, highest: 9 }, Err(Decline::TooNew); "one that speaks nothing of ours")]
#[test_case(Versions { lowest: 1, highest: 9 }, Ok(1); "one that speaks ours as well")]
fn a_client_of_the_future_is_answered_by_the_versions_we_speak(versions: Versions, verdict: Result<u16, Decline>) {
    let serve = Serve::start(&[]);
    let mut connection = TcpStream::connect(&serve.address).unwrap();
    connection.write_all(&Control { versions, keyed: None }.encode()).unwrap();
    let mut answer = [0; 16];
    connection.read_exact(&mut answer).unwrap();
    let wanted = Answer { verdict, keyed: None, versions: Versions::OURS };
    assert_eq!(Answer::read(&answer).unwrap(), Some((wanted, 16)));
}
