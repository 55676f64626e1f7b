//! Both ends of netperf's control connection.

use measure::unit::Nanos;

use super::Input;
use protocol::netperf::answer::{Calibration, Ready, Results, SAID};
use protocol::netperf::ask::{Ask, Carrier, Dialect, Flags, Length, Test};
use protocol::netperf::client::{Answer, Client};
use protocol::netperf::error::Error;
use protocol::netperf::passphrase::Passphrase;
use protocol::netperf::server::{Action, Reason, Server};
use protocol::netperf::{MESSAGE, OLD_MESSAGE};

const CALIBRATION: Calibration = Calibration { rate: Some(100.0), count: 2 };

/// Acts of a driver in a test, by the bits of the input's first octet.
#[derive(Clone, Copy)]
struct Driver(u8);

impl Driver {
    fn passphrase(self) -> Option<Passphrase> {
        (self.0 & 1 != 0).then(|| Passphrase::new("sesame").expect("a short one"))
    }

    /// It lets tests run on and on.
    fn is_slow(self) -> bool {
        self.0 & 2 != 0
    }

    fn answers(self, server: &mut Server) -> Vec<Vec<u8>> {
        match self.0 >> 2 & 3 {
            0 => vec![server.refuse(98)],
            1 => vec![server.ready(&Ready::at(7)), server.refuse(104)],
            _ => vec![server.ready(&Ready::at(7)), server.results(&Results::default())],
        }
    }
}

/// The server's machine, fed by a client that says anything, in pieces and message by message.
pub fn netperf_server(data: &[u8]) {
    let mut input = Input(data);
    let driver = Driver(input.byte());
    let piece = 1 + 4 * usize::from(input.byte());
    let by_pieces = serve(driver, input.0.chunks(piece));
    if !driver.is_slow() {
        assert_eq!(by_pieces, serve(driver, input.0.chunks(MESSAGE)), "pieces of {piece}");
    }
}

fn serve<'a>(driver: Driver, pieces: impl Iterator<Item = &'a [u8]>) -> Vec<Action> {
    let mut server = Server::new(driver.passphrase(), CALIBRATION);
    let mut seen = Vec::new();
    for piece in pieces {
        let mut actions = server.feed(piece);
        while !actions.is_empty() {
            let asked = actions.iter().any(|action| matches!(action, Action::Run(_)));
            seen.append(&mut actions);
            if asked && !driver.is_slow() {
                seen.extend(driver.answers(&mut server).into_iter().map(Action::Answer));
                actions = server.feed(&[]);
            }
        }
        assert!(server.partial() < MESSAGE);
    }
    seen.extend(server.stale());
    seen.iter().for_each(check_action);
    if let Some(end) = seen.iter().position(|action| matches!(action, Action::Close(_))) {
        assert_eq!(end, seen.len() - 1, "once closed, closed");
        assert!(server.feed(&[0; MESSAGE]).is_empty() && server.stale().is_empty());
        let short = |action: &Action| matches!(action, Action::Answer(octets) if octets.len() == OLD_MESSAGE);
        let old = seen[end] == Action::Close(Reason::OldClient);
        assert_eq!(seen.iter().filter(|action| short(action)).count(), usize::from(old));
    }
    seen
}

fn check_action(action: &Action) {
    match action {
        Action::Answer(octets) => assert!(matches!(octets.len(), MESSAGE | OLD_MESSAGE)),
        Action::Close(reason) => assert!(!reason.to_string().is_empty()),
        Action::Run(ask) => {
            let octets = Client::new(None).ask(ask).expect("what was asked can be asked");
            let again = Server::new(None, CALIBRATION).feed(&octets);
            assert_eq!(again, [Action::Run(ask.clone())], "a test is read as it was written");
        }
    }
}

/// The client's machine, fed by a server that answers anything: in pieces, all at once, and to question after question.
pub fn netperf_client(data: &[u8]) {
    let mut input = Input(data);
    let question = Question::of(input.byte());
    let piece = 1 + 4 * usize::from(input.byte());
    let by_pieces = answers(&question, input.0.chunks(piece));
    let whole = answers(&question, input.0.chunks(input.0.len().max(1)));
    assert_eq!(by_pieces, whole, "pieces of {piece}");
    check_answers(&question, &whole.0);
    asks_on(&question, input.0.chunks(piece));
}

/// Request of the client.
enum Question {
    Calibrate,
    Test(Box<Ask>),
}

impl Question {
    fn of(byte: u8) -> Self {
        let mut ask = match Test::ALL.get(usize::from(byte & 15)) {
            Some(test) => Ask::classic(*test, Length::Seconds(1)),
            None if byte & 15 == 15 => return Self::Calibrate,
            None => Ask::omni(Carrier::Tcp, false, true, Length::Seconds(1)),
        };
        if byte & 16 != 0 {
            ask.flags = ask.flags.with(Flags::MEASURE_CPU);
        }
        Self::Test(Box::new(ask))
    }

    fn ask(&self, client: &mut Client) -> Result<Vec<u8>, Error> {
        match self {
            Self::Calibrate => client.calibrate(Some(1)),
            Self::Test(ask) => client.ask(ask),
        }
    }
}

/// Answers to one question, and the error at which it ended.
type Brought = (Vec<Answer>, Option<Error>);

fn answers<'a>(question: &Question, pieces: impl Iterator<Item = &'a [u8]>) -> Brought {
    let mut client = Client::new(None);
    question.ask(&mut client).expect("its turn");
    let mut seen = Vec::new();
    for piece in pieces {
        match client.feed(piece) {
            Ok(answers) => seen.extend(answers),
            Err(error) => return (seen, Some(check_error(&mut client, error))),
        }
        assert!(client.partial() < MESSAGE);
    }
    let error = client.silent(Nanos::secs(5)).and_then(|()| client.end()).err();
    (seen, error.map(|error| check_error(&mut client, error)))
}

/// Errors are final and say something. The number of unasked octets depends on the pieces they came in.
fn check_error(client: &mut Client, error: Error) -> Error {
    assert!(!error.to_string().is_empty());
    let _ = error.side();
    assert_eq!((client.feed(&[1]), client.end()), (Err(error.clone()), Err(error.clone())));
    assert_eq!(client.partial(), 0, "nothing is kept");
    match error {
        Error::Unasked { .. } => Error::Unasked { octets: 0 },
        other => other,
    }
}

fn check_answers(question: &Question, answers: &[Answer]) {
    let Question::Test(ask) = question else {
        assert!(matches!(answers, [] | [Answer::Cpu(_)]), "{answers:?}");
        return;
    };
    let (ready, results) = match answers {
        [] => return,
        [Answer::Ready(ready)] => (ready, None),
        [Answer::Ready(ready), Answer::Results(results)] => (ready, Some(results)),
        other => panic!("{other:?}"),
    };
    assert!(ready.data_port > 0 && ready.flags.without(SAID) == Flags::NONE);
    let measured = ask.flags.has(Flags::MEASURE_CPU) && ready.flags.has(Flags::MEASURE_CPU);
    let told = results.cloned().unwrap_or_default();
    assert_eq!(told.cpu.is_some(), measured && results.is_some(), "CPU use where it was measured, and only there");
    // An absent value may be written as a number that is one; then the number stays.
    let (first, once) = retold(ask, ready, &told);
    assert_eq!(&first, ready);
    assert_eq!(retold(ask, &first, &once), (first, once.clone()));
    if ask.dialect == Dialect::Omni && results.is_some() {
        assert_eq!((once.received, once.sent, once.transactions), (told.received, told.sent, told.transactions));
    }
}

/// Answer that a client sees where a server of ours gives the same.
fn retold(ask: &Ask, ready: &Ready, results: &Results) -> (Ready, Results) {
    let (mut client, mut server) = (Client::new(None), Server::new(None, CALIBRATION));
    server.feed(&client.ask(ask).expect("its turn"));
    let said = [server.ready(ready), server.results(results)].concat();
    match client.feed(&said).as_deref() {
        Ok([Answer::Ready(ready), Answer::Results(results)]) => (ready.clone(), results.clone()),
        other => panic!("{other:?}"),
    }
}

/// As many questions as there are answers: no more than that is checked.
fn asks_on<'a>(question: &Question, pieces: impl Iterator<Item = &'a [u8]>) {
    let mut client = Client::new(None);
    for piece in pieces {
        let _ = question.ask(&mut client);
        if client.feed(piece).is_err() {
            return;
        }
    }
}
