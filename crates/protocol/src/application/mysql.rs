//! MySQL and MariaDB (MySQL Source Code Documentation, "Client/Server Protocol"): the server greets, a user logs in, and `COM_PING`
//! is answered by `OK`: the way through the connection's thread without a statement.
//!
//! A server counts each connection that is dropped before its login against the host where it comes from, and after `max_connect_errors` of them
//! without a good one between (100, unless set otherwise) refuses that host until an administrator unblocks it. So sonde always logs in or is
//! refused: where it cannot prove the password it answers with an empty one, and goes once the server has refused that, which does not
//! count. Only where a greeting is none, or one from before 4.1, is there nothing to answer.
//!
//! A password is proved and not sent, but for a server that wants to have it whole, as `caching_sha2_password` does when it has forgotten
//! its user, and that has shown by its certificate who it is: within TLS that is verified. No compression.
//!
//! TLS begins behind the greeting: a first part of the login goes in clear (`SSLRequest`), the login within it.
//!
//! A mix asks statements (`COM_QUERY`) in place of pings.
//!
//! The documentation knows one command at a time. MariaDB 10.11 answers several pings of one write all the same, in order; a reply carries no number.

mod greeting;
mod packet;
mod proof;
mod results;

use std::borrow::Cow;

use measure::reach::Transport;

use self::greeting::{Greeting, Unanswerable};
use self::packet::{ANSWERED, DISORDER, ERROR, ERRORS, FOREIGN, LONGEST, OK, RESULT, SHORTEST_OK, reply};
use self::proof::{NONCE, Plugin};
use self::results::Results;
use super::login::Login;
use super::speech::{Came, Kind, Protocol, Speech, Taken};

/// Its row.
pub const PROTOCOL: Protocol = Protocol {
    schemes: &["mysql", "mariadb"],
    over: Transport::Tcp,
    port: 3306,
    tls: None,
    asks: "COM_PING, which runs no statement, in a session; mysql://USER@HOST/DATABASE",
};

/// The same within TLS, which is asked for behind the greeting.
pub const SECURE: Protocol =
    Protocol { schemes: &["mysql+tls", "mariadb+tls"], tls: Some(""), asks: "the same within TLS", ..PROTOCOL };

/// Length, number in its sequence and the command.
const PING: [u8; 5] = [1, 0, 0, 0, 14];
/// The same of a client that goes: a server writes a line of log for one that goes without a word.
const QUIT: [u8; 5] = [1, 0, 0, 0, 1];
/// The command of a statement, and the most octets of it that go in one packet.
const QUERY: u8 = 3;
const LONGEST_QUERY: usize = (1 << 24) - 16;
/// The version of the protocol in a greeting.
const VERSION: u8 = 10;
/// First octets of packets.
const MORE_DATA: u8 = 1;
const SWITCH: u8 = 0xFE;
/// Words of `caching_sha2_password` in a packet with more data.
const FAST: u8 = 3;
const FULL: u8 = 4;
/// Reason of a login that is given up where TLS is wanted.
const NO_TLS: &str = "offers no TLS (`have_ssl` is off there)";
/// Most packets of a login that are answered.
const MOST_STEPS: u8 = 8;

/// The part of a connection that has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Greeting,
    Login(Plugin),
    /// The login will be refused, for this reason.
    GivenUp(&'static str),
    Open,
}

/// A statement that cannot be asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a statement needs at least one word and must be shorter than 16 MiB")]
pub struct QueryError;

/// A client that pings, or asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mysql {
    login: Login,
    /// The statement; absent where it pings.
    query: Option<String>,
    results: Results,
    step: Step,
    /// The number in its sequence that the next packet of the server has.
    next: u8,
    /// Packets of a login that have come.
    steps: u8,
    /// The way of a session; the login behind the handshake of TLS waits for it there.
    tls: Option<Tls>,
    answer: Vec<u8>,
}

/// TLS that is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Tls {
    /// True where the server's certificate is believed.
    verified: bool,
    /// The packet that logs in.
    login: Vec<u8>,
}

impl Mysql {
    /// A client that is let in by `login`.
    pub fn new(login: Login) -> Self {
        Self {
            login,
            query: None,
            results: Results::default(),
            step: Step::Greeting,
            next: 0,
            steps: 0,
            tls: None,
            answer: Vec::new(),
        }
    }

    /// The same within TLS: `verified` where the server has to show who it is.
    #[must_use]
    pub fn within_tls(self, verified: bool) -> Self {
        Self { tls: Some(Tls { verified, login: Vec::new() }), ..self }
    }

    /// The same that asks `query` instead of pinging.
    ///
    /// # Errors
    /// A text that has no place in a packet.
    pub fn asking(self, query: &str) -> Result<Self, QueryError> {
        if query.trim().is_empty() || query.len() > LONGEST_QUERY {
            return Err(QueryError);
        }
        Ok(Self { query: Some(query.to_owned()), ..self })
    }

    /// One request in words.
    pub fn words(&self) -> &str {
        self.query.as_deref().unwrap_or("COM_PING")
    }

    /// Answers in the same sequence.
    fn say(&mut self, body: &[u8], octets: usize) -> Taken {
        self.answer = packet(self.next, body);
        self.next = self.next.wrapping_add(1);
        Taken::aside(octets)
    }

    /// Gives an empty password, so that the server refuses the login, as it could not be proved `why`.
    fn give_up(&mut self, why: &'static str, empty: &[u8], octets: usize) -> Taken {
        self.step = Step::GivenUp(why);
        self.say(empty, octets)
    }

    fn greet(&mut self, body: &[u8], octets: usize) -> Taken {
        match Greeting::read(body) {
            Ok(greeting) => {
                self.step = Step::Login(greeting.plugin());
                let Some(tls) = &mut self.tls else {
                    let answer = greeting.answer(&self.login, false);
                    return self.say(&answer, octets);
                };
                if !greeting.offers_tls() {
                    // A login without a password is refused, or leads nowhere: either is better than a connection that is dropped.
                    let nobody = Login { password: None, ..self.login.clone() };
                    return self.give_up(NO_TLS, &greeting.answer(&nobody, false), octets);
                }
                let request = packet(self.next, &greeting.tls_request(&self.login));
                tls.login = packet(self.next.wrapping_add(1), &greeting.answer(&self.login, true));
                (self.answer, self.next) = (request, self.next.wrapping_add(2));
                Taken { octets, came: Came::Secure }
            }
            Err(Unanswerable::Old) => {
                Taken::declined(octets, b"greets as a server before MySQL 4.1, whose logins are not known here")
            }
            Err(Unanswerable::Foreign) => Taken::unsound(FOREIGN),
        }
    }

    /// The server wants another proof than the one it was given: its name, and a nonce of its own.
    fn switch(&mut self, body: &[u8], octets: usize) -> Taken {
        let mut parts = body.splitn(2, |octet| *octet == 0);
        let (name, nonce) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        let Some(plugin) = Plugin::named(name) else {
            let why = "wants a proof of the password that is not known here \
                       (mysql_native_password and caching_sha2_password are)";
            return self.give_up(why, empty_for(name), octets);
        };
        let Some(nonce) = nonce.first_chunk::<NONCE>() else { return Taken::unsound(FOREIGN) };
        self.step = Step::Login(plugin);
        let proof = plugin.prove(self.login.password.as_ref(), *nonce);
        self.say(&proof, octets)
    }

    fn log_in(&mut self, body: &[u8], octets: usize) -> Taken {
        self.steps = self.steps.saturating_add(1);
        if self.steps > MOST_STEPS {
            return Taken::declined(octets, b"asks for one proof after another");
        }
        match (self.step, body) {
            (Step::GivenUp(why), [OK, ..]) if self.tls.is_some() => Taken::declined(octets, why.as_bytes()),
            (_, [OK, ..]) if body.len() >= SHORTEST_OK => {
                (self.step, self.next) = (Step::Open, 1);
                Taken { octets, came: Came::Opened }
            }
            (Step::GivenUp(why), [ERROR, ..]) => Taken::declined(octets, why.as_bytes()),
            (_, [ERROR, ..]) => Taken::declined(octets, &words(body)),
            (Step::GivenUp(why), _) => self.give_up(why, &[0], octets),
            (_, [SWITCH, body @ ..]) => self.switch(body, octets),
            // OK comes behind it.
            (Step::Login(Plugin::CachingSha2), [MORE_DATA, FAST]) => Taken::part(octets),
            (Step::Login(Plugin::CachingSha2), [MORE_DATA, FULL])
                if self.tls.as_ref().is_some_and(|tls| tls.verified) =>
            {
                let mut whole = self.login.password.as_ref().map_or(Vec::new(), |password| password.octets().to_vec());
                whole.push(0);
                self.say(&whole, octets)
            }
            (Step::Login(Plugin::CachingSha2), [MORE_DATA, FULL]) => {
                let why = "wants the whole password, which is not sent without verified TLS (full authentication of \
                           caching_sha2_password): it is wrong, or its user has not logged in over TLS of late";
                self.give_up(why, &[0], octets)
            }
            _ => Taken::unsound(FOREIGN),
        }
    }
}

/// An empty password as the plugin of this name reads it. One of another length is no password to it, and counts against the host as if the
/// connection had been dropped (MariaDB 10.11 with `client_ed25519`).
fn empty_for(plugin: &[u8]) -> &'static [u8] {
    match plugin {
        b"client_ed25519" => &[0; 64],
        _ => &[0],
    }
}

/// An error as MySQL's own client prints it.
fn words(body: &[u8]) -> Vec<u8> {
    let Some(([_, low, high], rest)) = body.split_first_chunk() else { return b"an error without words".to_vec() };
    let number = u16::from_le_bytes([*low, *high]);
    // Before the login an error has no SQLSTATE.
    let stated = rest.strip_prefix(b"#").and_then(|rest| rest.split_at_checked(5));
    let number = number.to_string();
    match stated {
        Some((state, message)) => [b"ERROR ", number.as_bytes(), b" (", state, b"): ", message].concat(),
        None => [b"ERROR ", number.as_bytes(), b": ", rest].concat(),
    }
}

fn packet(number: u8, body: &[u8]) -> Vec<u8> {
    let [a, b, c, _] = (body.len() as u32).to_le_bytes();
    [&[a, b, c, number], body].concat()
}

impl Speech for Mysql {
    fn begin(&mut self) {
        (self.step, self.next, self.steps) = (Step::Greeting, 0, 0);
        self.results = Results::default();
        self.answer.clear();
    }

    fn is_open(&self) -> bool {
        self.step == Step::Open
    }

    fn lacks_tls(&self) -> bool {
        self.step == Step::GivenUp(NO_TLS)
    }

    fn asks_for_tls(&self) -> bool {
        self.tls.is_some()
    }

    fn secured(&self) -> Cow<'static, [u8]> {
        Cow::Owned(self.tls.as_ref().map_or(Vec::new(), |tls| tls.login.clone()))
    }

    fn request(&self) -> Vec<u8> {
        self.query.as_ref().map_or_else(|| PING.to_vec(), |query| packet(0, &[&[QUERY], query.as_bytes()].concat()))
    }

    #[inline]
    fn take(&mut self, octets: &[u8]) -> Taken {
        if self.step == Step::Open && self.query.is_some() {
            return self.results.take(&mut self.next, octets);
        }
        let [a, b, c, rest @ ..] = octets else { return Taken::MORE };
        let length = u32::from_le_bytes([*a, *b, *c, 0]) as usize;
        if !(1..=LONGEST).contains(&length) {
            return Taken::unsound(FOREIGN);
        }
        let [number, body @ ..] = rest else { return Taken::MORE };
        let Some(first) = body.first() else { return Taken::MORE };
        if self.step == Step::Greeting && !matches!(*first, VERSION | ERROR) {
            return Taken::unsound(FOREIGN);
        }
        // An error that nobody asked for begins a sequence of its own.
        if *number != self.next && *first != ERROR {
            return Taken::unsound(DISORDER);
        }
        let Some(body) = body.get(..length) else { return Taken::MORE };
        let taken = 4 + length;
        if self.step == Step::Open {
            return reply(body, taken);
        }
        self.answer.clear();
        self.next = number.wrapping_add(1);
        match (self.step, body) {
            (Step::Greeting, [VERSION, greeting @ ..]) => self.greet(greeting, taken),
            (Step::Greeting, error) => Taken::declined(taken, &words(error)),
            _ => self.log_in(body, taken),
        }
    }

    fn answer(&self) -> &[u8] {
        &self.answer
    }

    fn farewell(&self) -> Cow<'static, [u8]> {
        Cow::Borrowed(if self.is_open() { &QUIT } else { &[] })
    }

    fn kind(&self, kind: Kind) -> Cow<'static, str> {
        if kind == ANSWERED {
            return Cow::Borrowed("OK");
        }
        if kind == RESULT {
            return Cow::Borrowed("rows");
        }
        let known = ERRORS.iter().find(|(number, _)| *number == kind.0);
        known.map_or_else(|| Cow::Owned(format!("error {}", kind.0)), |(_, name)| Cow::Borrowed(*name))
    }
}

#[cfg(test)]
pub(in crate::application) mod tests {
    use proptest::prelude::*;
    use test_case::test_case;

    use super::*;
    use crate::application::login::Password;
    use crate::application::speech::Reply;
    use crate::application::speech::tests::{alike, hear};

    // The packets below are those of MariaDB 10.11.19, but for those of caching_sha2_password, which are written after the documentation.

    const NONCE_SEEN: &[u8; 20] = b"5}8<c_4$Vds6S~Cn$cI\"";
    const DENIED: &[u8] = b"C\0\0\x04\xff\x15\x04#28000Access denied for user 'ed'@'tester' (using password: YES)";
    const BLOCKED: &[u8] = b"j\0\0\0\xffi\x04Host '10.77.0.1' is blocked because of many connection errors; \
                             unblock with 'mariadb-admin flush-hosts'";
    const OK_OPENS: &[u8] = b"\x07\0\0\x02\0\0\0\x02\0\0\0";
    const OK_PINGED: &[u8] = b"\x07\0\0\x01\0\0\0\x02\0\0\0";

    fn greeting(plugin: &str) -> Vec<u8> {
        let (first, second) = NONCE_SEEN.split_at(8);
        let mut body = b"\x0a5.5.5-10.11.19-MariaDB-0+deb12u1\0\x0c\0\0\0".to_vec();
        body.extend(first);
        body.extend(b"\0\xfe\xf7\x08\x02\0\xff\x81\x15\0\0\0\0\0\0\x1d\0\0\0");
        body.extend(second);
        body.push(0);
        body.extend(plugin.as_bytes());
        body.push(0);
        packet(0, &body)
    }

    fn login(password: Option<&str>) -> Login {
        let password = password.map(|word| Password::new(word.to_owned()));
        Login { user: "nat".into(), database: None, password }
    }

    fn client(password: Option<&str>) -> Mysql {
        Mysql::new(login(password))
    }

    impl Mysql {
        /// One that has answered the greeting.
        pub(in crate::application) fn greeted(login: Login) -> Self {
            let mut mysql = Self::new(login);
            mysql.take(&greeting("mysql_native_password"));
            mysql
        }

        /// One that is let in.
        pub(in crate::application) fn opened(login: Login) -> Self {
            let mut mysql = Self::greeted(login);
            mysql.take(OK_OPENS);
            mysql
        }
    }

    /// One that is let in, and asks.
    pub(in crate::application) fn asking(query: &str) -> Mysql {
        Mysql::opened(login(None)).asking(query).unwrap()
    }

    #[test]
    fn a_statement_is_a_command() {
        assert_eq!(asking("select 1").request(), b"\x09\0\0\0\x03select 1");
        assert_eq!(client(None).asking(" "), Err(QueryError));
        assert_eq!(asking("select 1").words(), "select 1");
    }

    fn pinged() -> Came {
        Came::Reply(Reply::answered(ANSWERED))
    }

    fn declined(octets: &[&[u8]], password: Option<&str>) -> String {
        match alike(&client(password), &octets.concat()).pop() {
            Some(Came::Declined(words)) => words.to_string(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_session_is_opened_and_pinged() {
        let octets = [&greeting("mysql_native_password"), OK_OPENS, OK_PINGED, OK_PINGED, OK_PINGED].concat();
        let expected = [Came::Aside, Came::Opened, pinged(), pinged(), pinged()];
        assert_eq!(alike(&client(None), &octets), expected);
        let mut mysql = Mysql::opened(login(None));
        assert!(mysql.is_open() && mysql.answer().is_empty());
        assert_eq!(mysql.request(), b"\x01\0\0\0\x0e");
        mysql.begin();
        assert!(!mysql.is_open());
        assert_eq!(alike(&mysql, &octets), expected);
    }

    /// The greeting of a server that offers TLS.
    fn offering(plugin: &str) -> Vec<u8> {
        let mut octets = greeting(plugin);
        let place = octets.windows(2).position(|pair| pair == [0xfe, 0xf7]).unwrap();
        octets[place + 1] |= 8;
        octets
    }

    #[test]
    fn tls_begins_behind_the_greeting_and_the_login_goes_within() {
        let client = client(Some("pencil")).within_tls(true);
        let ok = b"\x07\0\0\x03\0\0\0\x02\0\0\0";
        let octets = [&offering("mysql_native_password"), &ok[..], OK_PINGED].concat();
        assert_eq!(alike(&client, &octets), [Came::Secure, Came::Opened, pinged()]);
        let mut client = client;
        client.take(&offering("mysql_native_password"));
        let mut request = b"\x20\0\0\x01\x01\xaa\x18\0\0\0\0\x01\x21".to_vec();
        request.extend([0; 23]);
        assert_eq!(client.answer(), request, "nothing of the user in clear");
        let login = client.secured();
        assert_eq!((login[3], &login[4..36]), (2, &request[4..]), "the login begins as the request for TLS did");
        assert!(login[36..].starts_with(b"nat\0\x14"));
    }

    #[test]
    fn a_server_without_tls_is_told_no_password_and_measured_by_none() {
        let client = client(Some("pencil")).within_tls(true);
        let mut asked = client.clone();
        asked.take(&greeting("mysql_native_password"));
        assert!(asked.answer().windows(6).any(|part| part == b"nat\0\0m"), "an empty password");
        for last in [OK_OPENS, DENIED] {
            let octets = [&greeting("mysql_native_password"), last].concat();
            let Some(Came::Declined(words)) = alike(&client, &octets).pop() else { panic!("{last:?}") };
            assert!(words.0.starts_with("offers no TLS"), "{words}");
        }
    }

    #[test_case(true, b"\x07\0\0\x04pencil\0"; "to whom it is known")]
    #[test_case(false, b"\x01\0\0\x04\0"; "to anybody")]
    fn a_whole_password_goes_to_a_server_that_has_shown_who_it_is(verified: bool, answer: &[u8]) {
        let mut client = client(Some("pencil")).within_tls(verified);
        client.take(&offering("caching_sha2_password"));
        let taken = client.take(b"\x02\0\0\x03\x01\x04");
        assert_eq!((taken.came, client.answer()), (Came::Aside, answer));
    }

    #[test]
    fn a_login_has_user_proof_database_and_name() {
        let mut mysql = Mysql::new(Login { database: Some("shop".into()), ..login(Some("pencil")) });
        mysql.take(&greeting("mysql_native_password"));
        let mut expected = b"\x68\0\0\x01\x09\xa2\x18\0\0\0\0\x01\x21".to_vec();
        expected.extend([0; 23]);
        expected.extend(b"nat\0\x14\xa2\xd7\x3d\xc4\x33\xcc\x38\x55\x20\x33\x65\x5d\x59\x09\x40\x94\xbb\xc1\x37\x1f");
        expected.extend(b"shop\0mysql_native_password\0\x13\x0cprogram_name\x05sonde");
        assert_eq!(mysql.answer(), expected);
        let without = Mysql::greeted(login(None));
        assert!(without.answer().windows(30).any(|part| part == b"nat\0\0mysql_native_password\0\x13\x0c\x70"));
    }

    #[test]
    fn a_server_that_names_no_way_to_log_in_is_given_none() {
        // As MySQL 5.1 greets, after the documentation.
        let mut mysql = client(Some("pencil"));
        let octets = b"\x0a5.1.73\0\x01\0\0\x005}8<c_4$\0\xff\xf7\x08\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\0Vds6S~Cn$cI\"\0";
        assert_eq!(mysql.take(&packet(0, octets)), Taken::aside(4 + octets.len()));
        assert!(
            mysql.answer().ends_with(
                b"nat\0\x14\xa2\xd7\x3d\xc4\x33\xcc\x38\x55\x20\x33\x65\x5d\x59\x09\x40\x94\xbb\xc1\x37\x1f"
            )
        );
    }

    #[test]
    fn a_server_that_wants_another_proof_gets_it() {
        let switch = b",\0\0\x02\xfemysql_native_password\x005}8<c_4$Vds6S~Cn$cI\"\0";
        let opens = b"\x07\0\0\x04\0\0\0\x02\0\0\0";
        let greeted = greeting("caching_sha2_password");
        let came = alike(&client(Some("pencil")), &[&greeted[..], switch, opens, OK_PINGED].concat());
        assert_eq!(came, [Came::Aside, Came::Aside, Came::Opened, pinged()]);
        let mut mysql = client(Some("pencil"));
        mysql.take(&greeted);
        mysql.take(switch);
        assert_eq!(mysql.answer()[..8], [20, 0, 0, 3, 0xa2, 0xd7, 0x3d, 0xc4]);
        let mut mysql = client(None);
        mysql.take(&greeted);
        mysql.take(switch);
        assert_eq!(mysql.answer(), [0, 0, 0, 3]);
    }

    #[test]
    fn the_fast_path_of_caching_sha2_is_taken() {
        let opens = b"\x02\0\0\x02\x01\x03\x07\0\0\x03\0\0\0\x02\0\0\0";
        let came =
            alike(&client(Some("pencil")), &[&greeting("caching_sha2_password"), &opens[..], OK_PINGED].concat());
        assert_eq!(came, [Came::Aside, Came::Opened, pinged()]);
        let mut mysql = client(Some("pencil"));
        mysql.take(&greeting("caching_sha2_password"));
        assert!(mysql.answer().windows(5).any(|part| part == b"nat\0\x20"), "a proof of 32 octets");
    }

    #[test]
    fn a_whole_password_is_not_given_and_the_server_has_the_last_word() {
        let full = b"\x02\0\0\x02\x01\x04";
        let mut mysql = client(Some("pencil"));
        mysql.take(&greeting("caching_sha2_password"));
        assert_eq!(mysql.take(full), Taken::aside(6));
        assert_eq!(mysql.answer(), [1, 0, 0, 3, 0]);
        let said = declined(&[&greeting("caching_sha2_password"), full, DENIED], Some("pencil"));
        assert!(
            said.starts_with("wants the whole password, which is not sent without verified TLS")
                && said.ends_with("of late")
        );
    }

    #[test]
    fn a_proof_that_is_not_known_ends_by_a_refusal() {
        let switch = b"\x30\0\0\x02\xfeclient_ed25519\0\xa7Sv\xb2w\xec\xc4\xedW>6-\xad\xd0\\\xd5+J\x1b\x95w-\xe0\xbf\
                       \xb7_e\xce>\x82\x9cE";
        let greeted = greeting("mysql_native_password");
        let mut mysql = client(Some("pencil"));
        mysql.take(&greeted);
        assert_eq!(mysql.take(switch), Taken::aside(52));
        assert_eq!(mysql.answer(), [&[64, 0, 0, 3][..], &[0; 64]].concat());
        let said = declined(&[&greeted, switch, DENIED], Some("pencil"));
        assert!(said.starts_with("wants a proof of the password that is not known here") && said.ends_with(')'));
        // Whatever else it asks gets an empty password, and there is an end to it.
        let mut octets = [&greeted, &switch[..]].concat();
        for number in (4..40).step_by(2) {
            octets.extend(packet(number, b"\x01Password:"));
        }
        let came = alike(&client(None), &octets);
        assert_eq!(came[2..9], vec![Came::Aside; 7]);
        assert_eq!(came[9], Taken::declined(0, b"asks for one proof after another").came);
    }

    #[test]
    fn a_server_that_does_not_let_us_in_says_why() {
        let blocked = "ERROR 1129: Host '10.77.0.1' is blocked because of many connection errors; \
                       unblock with 'mariadb-admin flush-hosts'";
        assert_eq!(declined(&[BLOCKED], None), blocked);
        let greeted = greeting("mysql_native_password");
        let full = b"\x1d\0\0\x02\xff\x10\x04#08004Too many connections";
        assert_eq!(declined(&[&greeted, full], None), "ERROR 1040 (08004): Too many connections");
        let denied = "ERROR 1045 (28000): Access denied for user 'ed'@'tester' (using password: YES)";
        assert_eq!(declined(&[&greeted, DENIED], Some("wrong")), denied);
        assert_eq!(declined(&[&[1, 0, 0, 0, ERROR]], None), "an error without words");
        // MySQL 3.23 greets without the capabilities of 4.1.
        let old = packet(0, b"\x0a3.23.58\0\x01\0\0\0abcdefgh\0\x2c\x00\x08\x02\0");
        assert_eq!(declined(&[&old], None), "greets as a server before MySQL 4.1, whose logins are not known here");
    }

    #[test_case(b"\x18\0\0\x01\xff\x17\x04#08S01Unknown command", 1047, false; "a command that a proxy does not know")]
    #[test_case(b"!\0\0\0\xff\x84\x04#08S01Got packets out of order", 1156, true; "in a sequence of its own")]
    #[test_case(b"\x03\0\0\x01\xff\x1d\x04", 1053, true; "without words")]
    #[test_case(b"\x05\0\0\0\xff\xbf\x0f..", 4031, true; "that nobody asked for")]
    #[test_case(b"\x03\0\0\x01\xff\x0a\x0a", 2570, false; "another")]
    fn errors_are_told_apart(octets: &[u8], number: u16, closes: bool) {
        let refused = Came::Reply(Reply { closes, ..Reply::refused(Kind(number)) });
        assert_eq!(alike(&Mysql::opened(login(None)), &[octets, OK_PINGED].concat()), [refused, pinged()]);
    }

    #[test_case(b"HTTP/1.1 400 Bad Request", FOREIGN; "another program")]
    #[test_case(b"\x05\0\0\0\x0b\x08\x05\x1a\0", FOREIGN; "MySQL X Protocol")]
    #[test_case(b"\x05\0\0\x01\x0a1.0\0", DISORDER; "a greeting that is no first packet")]
    #[test_case(b"\x05\0\0\0\x0a1.0x", FOREIGN; "a greeting without an end")]
    #[test_case(b"\0\0\0\0", FOREIGN; "nothing")]
    #[test_case(b"\x01\x10\0\0\x0a", FOREIGN; "longer than is believed")]
    fn other_programs_are_told_by_their_first_octets(octets: &[u8], why: &'static str) {
        assert_eq!(alike(&client(None), octets), [Came::Unsound(why)]);
    }

    #[test_case(b"\x07\0\0\x02\0\0\0\x02\0\0\0", DISORDER; "of a login")]
    #[test_case(b"\x06\0\0\x01\0\0\0\x02\0\0", FOREIGN; "OK cut short")]
    #[test_case(b"\x02\0\0\x01\xff\x15", FOREIGN; "an error without a number")]
    #[test_case(b"\x03\0\0\x01\xff\0\0", FOREIGN; "an error of number 0")]
    #[test_case(b"\x01\0\0\x01\x05", FOREIGN; "a result")]
    fn what_is_no_reply_is_not_taken(octets: &[u8], why: &'static str) {
        assert_eq!(alike(&Mysql::opened(login(None)), octets), [Came::Unsound(why)]);
    }

    proptest! {
        /// Packets in order, whatever is in them, upset nothing, and are read alike however they are cut.
        #[test]
        fn no_packets_upset_a_client(
            packets in prop::collection::vec((prop::sample::select(vec![OK, MORE_DATA, VERSION, SWITCH, ERROR]), prop::collection::vec(any::<u8>(), 0..90)), 1..9),
            every in 1_usize..40,
            greeted: bool,
        ) {
            let mut octets = if greeted { greeting("caching_sha2_password") } else { Vec::new() };
            for (place, (first, body)) in packets.iter().enumerate() {
                let number = 2 * place as u8 + if greeted { 2 } else { 0 };
                octets.extend(packet(number, &[&[*first], &body[..]].concat()));
            }
            let whole = hear(&mut client(Some("x")), &octets, |_| false);
            let cut = hear(&mut client(Some("x")), &octets, |end| end.is_multiple_of(every));
            prop_assert_eq!(whole, cut);
        }
    }

    #[test]
    fn kinds_have_the_names_of_mysql() {
        let names = [0, 1053, 2570].map(|kind| client(None).kind(Kind(kind)));
        assert_eq!(names, ["OK", "1053 ER_SERVER_SHUTDOWN", "error 2570"]);
    }
}
