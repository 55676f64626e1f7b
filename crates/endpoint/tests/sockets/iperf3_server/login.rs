//! Servers that admit only known users: by the real iperf3 3.12, whose padding is the old one, and by our own client.

use std::process::Command;
use std::sync::Arc;

use endpoint::peer::iperf3::client::{Credentials, Session, Setup, Test};
use endpoint::stop::Stop;
use protocol::iperf3::code::Code;
use protocol::iperf3::login::{Login, Padding, PrivateKey, PublicKey, Users, password_hash};
use protocol::iperf3::parameters::Parameters;
use test_case::test_case;

use super::Ours;

const PRIVATE: &str = include_str!("../../../../protocol/tests/fixtures/iperf3/login/private.pem");
const PUBLIC: &str = include_str!("../../../../protocol/tests/fixtures/iperf3/login/public.pem");

fn server(padding: Padding) -> Ours {
    let users = Users::read(&format!("mario,{}\n", password_hash("mario", "rossi"))).unwrap();
    let login = Login { key: PrivateKey::from_pem(PRIVATE).unwrap(), users, skew_s: 10, padding };
    Ours::with(|settings| settings.login = Some(Arc::new(login)))
}

fn ask(server: &Ours, user: Option<(&str, &str)>, padding: Padding) -> Result<(), Code> {
    let stop = Stop::default();
    let session = Session::open(Setup::towards(vec![server.at("127.0.0.1")]), &stop).unwrap();
    let mut test = Test::new(Parameters { blocks: 3, time: 0, ..Parameters::default() });
    test.credentials = user.map(|(user, password)| Credentials {
        user: user.to_owned(),
        password: password.to_owned(),
        key: PublicKey::from_pem(PUBLIC).unwrap(),
        padding,
    });
    session.measure(&test, &stop, &mut |_| {}).map(drop).map_err(|failure| failure.code)
}

#[test_case(Padding::Oaep)]
#[test_case(Padding::Pkcs1)]
fn who_is_known_is_let_in(padding: Padding) {
    let server = server(padding);
    assert_eq!(ask(&server, Some(("mario", "rossi")), padding), Ok(()));
    for user in [None, Some(("mario", "wrong")), Some(("luigi", "rossi"))] {
        assert_eq!(ask(&server, user, padding), Err(Code::AUTHORISATION), "{user:?}");
    }
    let other = if padding == Padding::Oaep { Padding::Pkcs1 } else { Padding::Oaep };
    assert_eq!(ask(&server, Some(("mario", "rossi")), other), Err(Code::AUTHORISATION));
    let why = server.notes.over(3).failed.unwrap().1;
    assert!(why.contains("unknown user"), "the server's own eyes see why: {why}");
}

#[test_case("rossi", true)]
#[test_case("verdi", false)]
fn the_real_iperf3_logs_in_by_the_old_padding(password: &str, let_in: bool) {
    let server = server(Padding::Pkcs1);
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("public.pem");
    std::fs::write(&key, PUBLIC).unwrap();
    let mut command = Command::new("iperf3");
    command.args(["-c", "127.0.0.1", "-p", &server.port().to_string(), "-k", "5", "--username", "mario"]);
    command.arg("--rsa-public-key-path").arg(&key).env("IPERF3_PASSWORD", password);
    let Ok(output) = command.output() else {
        return testbed::skip::aloud("a login of the real iperf3 at our server: it is not installed");
    };
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if said.contains("unrecognized option") {
        return testbed::skip::aloud("a login of the real iperf3 at our server: it was built without OpenSSL");
    }
    assert_eq!(output.status.success(), let_in, "{said}");
    assert!(let_in || said.contains("test authorization failed"), "{said}");
}
