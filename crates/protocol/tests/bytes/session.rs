//! The client's machine against the server's, in memory: whole sessions, every refusal, and what happens on a bad path.

mod identity;

use std::collections::BTreeSet;

use measure::authentication::Authentication;
use measure::environment::Environment;
use measure::interval::glance::TcpGlance;
use measure::method::{Carrier, Pattern, Waiting};
use measure::outcome::SocketFacts;
use measure::throughput::{Interval, Stream};
use measure::unit::{Bytes, Instant, Nanos};
use proptest::prelude::*;
use protocol::native::client::{ANSWER, Client, ClientEvent};
use protocol::native::error::{SessionError, Side, Step};
use protocol::native::frame;
use protocol::native::header::Token;
use protocol::native::key::{Key, Keyring, Secret};
use protocol::native::limits::Limits;
use protocol::native::message::{Ending, Notice, Open, Reason, Received, Refused, Report};
use protocol::native::preamble::{Answer, Control, Data, Decline, Versions};
use protocol::native::server::{STEP, Server, ServerEvent, Terms};
use protocol::native::stranger::Speaker;
use protocol::native::stream::Told;
use test_case::test_case;

const NOW: Instant = Instant(1_000);
const TOKEN: Token = Token([9; 16]);

fn open() -> Open {
    Open {
        program: "client 1".into(),
        capabilities: BTreeSet::new(),
        carrier: Carrier::Tcp,
        pattern: Pattern::Exchange,
        request_bytes: Bytes(64),
        response_bytes: Bytes(64),
        reply_every: 1,
        waiting: Some(Waiting::Block),
        cpus: vec![],
        flows: 2,
        stamps: false,
        batch: None,
        receive_buffer_bytes: None,
        stream: None,
        rate_per_flow: None,
        duration_ns: Some(Nanos::secs(10)),
        idle_ns: Nanos::secs(6),
    }
}

fn terms() -> Terms {
    Terms {
        program: "server 1".into(),
        versions: Versions::OURS,
        capabilities: BTreeSet::new(),
        limits: Limits::default(),
        udp: true,
        keyring: None,
        decline: None,
    }
}

fn secret(key: u8, ephemeral: u8) -> Secret {
    Secret { proof: Key([key; 32]).into(), ephemeral: [ephemeral; 32] }
}

fn keyring(key: u8) -> Keyring {
    of_keys(&[Key([key; 32])])
}

fn of_keys(keys: &[Key]) -> Keyring {
    Keyring { holders: keys.iter().cloned().map(Into::into).collect(), identity: None, ephemeral: [2; 32] }
}

/// Both ends, and the path between them.
struct Pair {
    client: Client,
    server: Server,
    piece: usize,
    /// The octet of the way up (even) or down (odd) that is changed: half of this number.
    flip: Option<usize>,
    carried: [usize; 2],
    ends: [Result<(), SessionError>; 2],
}

impl Pair {
    fn new(client: Client, terms: Terms) -> Self {
        let server = Server::new(terms, NOW);
        Self { client, server, piece: usize::MAX, flip: None, carried: [0, 0], ends: [Ok(()), Ok(())] }
    }

    fn plain(terms: Terms) -> Self {
        Self::new(Client::new(open(), None, NOW), terms)
    }

    fn keyed(client: u8, server: u8) -> Self {
        let terms = Terms { keyring: Some(keyring(server)), ..terms() };
        Self::new(Client::new(open(), Some(secret(client, 3)), NOW), terms)
    }

    /// Carries octets both ways until neither end has more; an end that failed hears nothing further.
    fn carry(&mut self) -> &mut Self {
        loop {
            let mut ways = [self.client.outgoing(), self.server.outgoing()];
            if ways.iter().all(Vec::is_empty) {
                return self;
            }
            for (way, octets) in ways.iter_mut().enumerate() {
                self.damage(way, octets);
                for part in octets.chunks(self.piece) {
                    if self.ends[1 - way].is_ok() {
                        self.ends[1 - way] =
                            if way == 0 { self.server.feed(part, NOW) } else { self.client.feed(part, NOW) };
                    }
                }
            }
        }
    }

    fn damage(&mut self, way: usize, octets: &mut [u8]) {
        let start = self.carried[way];
        self.carried[way] += octets.len();
        if let Some(flip) = self.flip.filter(|flip| flip % 2 == way)
            && let Some(octet) = (flip / 2).checked_sub(start).and_then(|at| octets.get_mut(at))
        {
            *octet ^= 0x40;
        }
    }

    /// From the preambles to an open session.
    fn opened(&mut self) -> &mut Self {
        self.carry();
        if let Some(ServerEvent::Open(asked)) = self.server.event() {
            let got = Limits::default().grant(&asked);
            self.server.accept(TOKEN, got, NOW).expect("the request was just made");
        }
        self.carry()
    }

    /// A whole session as a driver runs it; the events of the client, as far as it came.
    fn run(&mut self) -> Vec<ClientEvent> {
        self.opened();
        let _ = self.client.progress(NOW);
        self.carry();
        if self.server.event() == Some(ServerEvent::Progress) {
            let _ = self.server.received(vec![3, 4]);
        }
        self.carry();
        let _ = self.client.close(NOW);
        self.carry();
        if self.server.event() == Some(ServerEvent::Close) {
            let _ = self.server.report(report());
        }
        self.carry();
        std::iter::from_fn(|| self.client.event()).collect()
    }
}

fn report() -> Report {
    Report { received: vec![5, 6], replied: vec![5, 5], malformed: 1, ..Report::default() }
}

fn is_whole(events: &[ClientEvent]) -> bool {
    let [ClientEvent::Opened(opened), ClientEvent::Received(received), ClientEvent::Report(last)] = events else {
        return false;
    };
    opened.token == TOKEN && *received == Received { received: vec![3, 4] } && **last == report()
}

#[test_case(1)]
#[test_case(7)]
#[test_case(usize::MAX)]
fn a_session_goes_from_preamble_to_report_in_any_pieces(piece: usize) {
    for pair in [Pair::plain(terms()), Pair::keyed(1, 1), Pair::identified()] {
        let mut pair = Pair { piece, ..pair };
        let events = pair.run();
        assert!(is_whole(&events), "{events:?} {:?}", pair.ends);
        assert_eq!((pair.client.step(), pair.server.step()), (Step::Done, Step::Done));
        assert_eq!((pair.client.ended(), pair.server.ended()), (Ok(()), Ok(())));
        assert_eq!((pair.client.deadline(), pair.server.deadline()), (None, None));
    }
}

#[test]
fn a_keyed_conversation_shows_nothing_but_the_preambles() {
    let mut pair = Pair::keyed(1, 1);
    let hello = pair.client.outgoing();
    assert_eq!(hello, Control { versions: Versions::OURS, keyed: Some(Authentication::PreShared) }.encode());
    pair.server.feed(&hello, NOW).unwrap();
    pair.client.feed(&pair.server.outgoing(), NOW).unwrap();
    pair.server.feed(&pair.client.outgoing(), NOW).unwrap();
    pair.client.feed(&pair.server.outgoing(), NOW).unwrap();
    let open = pair.client.outgoing();
    assert!(open.len() > 100 && !open.windows(4).any(|window| window == b"open"), "the request is sealed");
}

#[test_case(|| Pair::keyed(1, 1); "a pre-shared key")]
#[test_case(Pair::identified; "identities")]
fn any_octet_changed_on_the_way_is_seen_where_there_is_a_key(pair: fn() -> Pair) {
    let mut whole = pair();
    assert!(is_whole(&whole.run()));
    let octets = 2 * whole.carried[0].max(whole.carried[1]);
    assert!(octets > 1_000, "{octets}");
    // Each octet of the preambles and the handshake, then one of each few: unoptimised cryptography takes its time.
    let tried = |flip: &usize| flip / 2 < whole.carried[flip % 2] && (*flip < 280 || flip.is_multiple_of(97));
    for flip in (0..octets).filter(tried) {
        let mut pair = Pair { flip: Some(flip), ..pair() };
        let events = pair.run();
        assert!(!is_whole(&events), "octet {} of way {} was changed, and nobody saw it", flip / 2, flip % 2);
    }
}

#[test]
fn a_wrong_key_is_named_at_both_ends() {
    let mut pair = Pair::keyed(1, 7);
    pair.carry();
    assert_eq!(pair.ends, [Err(SessionError::WrongKey), Err(SessionError::WrongKey)]);
}

#[test_case(0)]
#[test_case(1)]
#[test_case(2)]
fn any_key_of_several_lets_in_and_which_is_known(which: u8) {
    let keys = [4, 5, 6].map(|octet| Key([octet; 32]));
    let keyring = of_keys(&keys);
    let client =
        Client::new(open(), Some(Secret { proof: keys[usize::from(which)].clone().into(), ephemeral: [3; 32] }), NOW);
    let mut pair = Pair::new(client, Terms { keyring: Some(keyring), ..terms() });
    assert_eq!(pair.server.holder(), None);
    pair.opened();
    assert_eq!((pair.client.step(), pair.server.holder()), (Step::Run, Some(usize::from(which))));
}

#[test]
fn with_no_key_at_all_nobody_is_let_in() {
    let keyring = of_keys(&[]);
    let mut pair = Pair::new(Client::new(open(), Some(secret(1, 3)), NOW), Terms { keyring: Some(keyring), ..terms() });
    pair.carry();
    assert_eq!(pair.ends, [Err(SessionError::WrongKey), Err(SessionError::WrongKey)]);
}

#[test]
fn a_downgrade_of_the_versions_fails_the_handshake() {
    let versions = Versions { lowest: 1, highest: 2 };
    let mut client = Client::with_versions(open(), Some(secret(1, 3)), versions, NOW);
    let mut server = Server::new(Terms { keyring: Some(keyring(1)), versions, ..terms() }, NOW);
    let mut hello = client.outgoing();
    hello[13] = 1; // as if the client spoke version 1 alone
    server.feed(&hello, NOW).unwrap();
    client.feed(&server.outgoing(), NOW).unwrap();
    assert_eq!(client.version(), Some(1));
    assert_eq!(server.feed(&client.outgoing(), NOW), Err(SessionError::WrongKey));
}

#[test_case(Answer { verdict: Ok(1), keyed: None, versions: Versions::OURS }; "the key left aside")]
#[test_case(Answer { verdict: Ok(2), keyed: Some(Authentication::PreShared), versions: Versions::OURS }; "a version nobody offered")]
fn an_answer_that_contradicts_the_question_is_refused(answer: Answer) {
    let mut client = Client::new(open(), Some(secret(1, 3)), NOW);
    let error = client.feed(&answer.encode(), NOW).unwrap_err();
    assert!(matches!(error, SessionError::Contradiction { .. }), "{error}");
    assert_eq!(client.feed(b"more", NOW), Err(error), "an error is final");
}

#[test_case(None, Some(1), None, Decline::KeyRequired)]
#[test_case(Some(1), None, None, Decline::NoKeyHere)]
#[test_case(None, None, Some(Decline::Busy), Decline::Busy)]
#[test_case(Some(1), Some(1), Some(Decline::Stopping), Decline::Stopping)]
fn a_declined_preamble_says_why(client: Option<u8>, server: Option<u8>, decline: Option<Decline>, said: Decline) {
    let terms = Terms { keyring: server.map(keyring), decline, ..terms() };
    let mut pair = Pair::new(Client::new(open(), client.map(|key| secret(key, 3)), NOW), terms);
    pair.carry();
    let error = Err(SessionError::Declined { decline: said, ours: Versions::OURS, theirs: Versions::OURS });
    assert_eq!(pair.ends, [error.clone(), error]);
}

#[test_case(Versions { lowest: 1, highest: 1 }, Versions { lowest: 1, highest: 4 }, Ok(1); "an old client")]
#[test_case(Versions { lowest: 1, highest: 4 }, Versions { lowest: 1, highest: 1 }, Ok(1); "an old server")]
#[test_case(Versions { lowest: 1, highest: 1 }, Versions { lowest: 2, highest: 4 }, Err(Decline::TooOld); "too old")]
#[test_case(Versions { lowest: 5, highest: 6 }, Versions { lowest: 1, highest: 4 }, Err(Decline::TooNew); "from the future")]
fn versions_agree_or_say_who_is_behind(client: Versions, server: Versions, agreed: Result<u16, Decline>) {
    let terms = Terms { versions: server, ..terms() };
    let mut pair = Pair::new(Client::with_versions(open(), None, client, NOW), terms);
    pair.opened();
    match agreed {
        Ok(version) => assert_eq!((pair.client.version(), pair.client.step()), (Some(version), Step::Run)),
        Err(decline) => {
            let error = SessionError::Declined { decline, ours: client, theirs: server };
            assert!(error.to_string().contains(&server.to_string()), "{error}");
            assert_eq!(pair.ends[0], Err(error));
        }
    }
}

#[test]
fn a_kind_of_connection_from_the_future_is_answered() {
    let mut server = Server::new(terms(), NOW);
    let mut hello = Control { versions: Versions::OURS, keyed: None }.encode();
    hello[8] = 3;
    assert!(server.feed(&hello, NOW).is_err());
    let (answer, _) = Answer::read(&server.outgoing()).unwrap().unwrap();
    assert_eq!(answer.verdict, Err(Decline::UnknownKind));
}

#[test_case(Limits { flows_per_session: 1, ..Limits::default() }, Reason::Flows)]
#[test_case(Limits { duration_ns: Nanos::secs(1), ..Limits::default() }, Reason::Duration)]
#[test_case(Limits { memory_bytes: Bytes(100), ..Limits::default() }, Reason::Memory)]
#[test_case(Limits { largest_request: Bytes(63), ..Limits::default() }, Reason::RequestSize)]
#[test_case(Limits { largest_response: Bytes(63), ..Limits::default() }, Reason::ResponseSize)]
fn a_request_beyond_a_limit_is_refused_and_the_limit_named(limits: Limits, reason: Reason) {
    let mut pair = Pair::plain(Terms { limits, ..terms() });
    pair.carry();
    let [Err(SessionError::Refused(heard)), Err(SessionError::Refused(said))] = &pair.ends else {
        panic!("{:?}", pair.ends)
    };
    assert_eq!((heard, heard.reason), (said, reason));
    assert_eq!(pair.server.event(), None, "the driver is not asked");
}

#[test]
fn the_driver_refuses_what_it_alone_knows() {
    let mut pair = Pair::plain(terms());
    pair.carry();
    let refused = Refused { reason: Reason::Cpus, detail: "cpu 99: there are 2".into(), hint: Some("0 or 1".into()) };
    pair.server.refuse(refused.clone()).unwrap();
    pair.carry();
    let error = SessionError::Refused(refused);
    assert_eq!(error.to_string(), "refused: cpu 99: there are 2");
    assert_eq!((pair.ends[0].clone(), pair.server.step()), (Err(error), Step::Done));
}

#[test]
fn a_data_connection_leaves_with_what_came_behind_its_preamble() {
    let data = Data { version: 1, token: TOKEN, flow: 3 };
    let octets = [&data.encode()[..], b"request"].concat();
    for piece in [1, octets.len()] {
        let mut server = Server::new(Terms { keyring: Some(keyring(1)), ..terms() }, NOW);
        let (preamble, request) = octets.split_at(if piece == 1 { 32 } else { octets.len() });
        for part in preamble.chunks(piece) {
            server.feed(part, NOW).unwrap();
        }
        assert_eq!(server.event(), Some(ServerEvent::Data(data)));
        assert_eq!([&server.unread()[..], request].concat(), b"request");
        assert_eq!((server.step(), server.deadline(), server.outgoing()), (Step::Done, None, vec![]));
    }
}

#[test_case(b"SSH-2.0-OpenSSH_9.2\r\n", Speaker::Ssh)]
#[test_case(b"HTTP/1.1 400 Bad Request\r\n", Speaker::Http)]
#[test_case(b"son of a gun", Speaker::Unknown)]
fn a_stranger_is_named(said: &[u8], speaker: Speaker) {
    let mut client = Client::new(open(), None, NOW);
    let error = client.feed(said, NOW).unwrap_err();
    let SessionError::NotSonde(stranger) = &error else { panic!("{error}") };
    assert_eq!((stranger.saw.speaker, error.side()), (speaker, Side::Theirs));
    let mut server = Server::new(terms(), NOW);
    assert_eq!(server.feed(said, NOW), Err(error));
}

#[test]
fn silence_and_a_closed_door_are_no_sonde_either() {
    let late = NOW.after(ANSWER);
    let mut silent = Client::new(open(), None, NOW);
    assert_eq!(silent.deadline(), Some(late));
    assert_eq!(silent.overdue(late.before(Nanos(1))), Ok(()));
    let error = silent.overdue(late).unwrap_err();
    assert!(error.to_string().contains("sends nothing"), "{error}");
    let error = Client::new(open(), None, NOW).ended().unwrap_err();
    assert!(error.to_string().contains("without sending anything"), "{error}");
    let mut server = Server::new(terms(), NOW);
    assert_eq!(server.deadline(), Some(NOW.after(STEP)));
    assert!(matches!(server.overdue(NOW.after(STEP)), Err(SessionError::NotSonde(_))));
}

#[test]
fn a_peer_that_hangs_or_dies_is_told_by_its_step() {
    let mut pair = Pair::plain(terms());
    pair.carry();
    assert_eq!(pair.client.step(), Step::Open);
    let mut dies = Pair::plain(terms());
    dies.opened();
    assert_eq!(dies.client.ended(), Err(SessionError::Closed { step: Step::Run }));
    assert_eq!(dies.server.ended(), Err(SessionError::Closed { step: Step::Run }));
    let error = Err(SessionError::Overdue { step: Step::Open, allowed: ANSWER });
    assert_eq!(pair.client.overdue(NOW.after(ANSWER)), error);
    assert_eq!(pair.client.close(NOW), error, "an error is final");
}

#[test]
fn an_answer_to_progress_that_does_not_come_is_overdue() {
    let mut pair = Pair::plain(terms());
    pair.opened();
    assert_eq!(pair.client.progress(NOW), Ok(true));
    assert_eq!(pair.client.progress(NOW), Ok(false), "one question at a time");
    let error = Err(SessionError::Overdue { step: Step::Run, allowed: ANSWER });
    assert_eq!(pair.client.overdue(NOW.after(ANSWER)), error);
}

#[test]
fn a_client_keeps_its_session_alive_and_a_dead_one_loses_it() {
    let mut pair = Pair::plain(terms());
    pair.opened();
    let third = NOW.after(Nanos::secs(2));
    assert_eq!(pair.client.deadline(), Some(third), "a third of the silence allowed");
    assert_eq!(pair.client.keep_alive(third.before(Nanos(1))), Ok(false));
    assert_eq!(pair.client.keep_alive(third), Ok(true));
    assert_eq!(pair.server.deadline(), Some(NOW.after(Nanos::secs(6))));
    pair.server.feed(&pair.client.outgoing(), third).unwrap();
    assert_eq!(pair.server.deadline(), Some(third.after(Nanos::secs(6))), "it was heard");
    pair.server.touch(third.after(Nanos::secs(1)));
    let end = third.after(Nanos::secs(7));
    assert_eq!(pair.server.deadline(), Some(end), "data is a sign of life too");
    assert_eq!(pair.server.overdue(end.before(Nanos(1))), Ok(()));
    let error = pair.server.overdue(end).unwrap_err();
    assert_eq!(error, SessionError::Overdue { step: Step::Run, allowed: Nanos::secs(6) });
    let heard = pair.client.feed(&pair.server.outgoing(), end).unwrap_err();
    assert!(matches!(heard, SessionError::Fault(Notice { reason: Ending::Idle, .. })), "{heard}");
}

#[test]
fn a_session_ends_at_its_time_however_busy_it_is() {
    let mut pair = Pair::plain(terms());
    pair.opened();
    let end = NOW.after(Nanos::secs(10));
    pair.server.touch(end);
    assert_eq!(pair.server.deadline(), Some(end));
    assert_eq!(pair.server.overdue(end), Err(SessionError::Outlived { allowed: Nanos::secs(10) }));
    let heard = pair.client.feed(&pair.server.outgoing(), end).unwrap_err();
    assert!(matches!(heard, SessionError::Fault(Notice { reason: Ending::Duration, .. })), "{heard}");
}

#[test]
fn a_server_that_stops_says_so() {
    let mut pair = Pair::keyed(1, 1);
    pair.opened();
    pair.server.stop(Ending::Stopping, "asked to by its service manager");
    pair.carry();
    let notice = Notice { reason: Ending::Stopping, detail: "asked to by its service manager".into() };
    assert_eq!((pair.ends[0].clone(), pair.server.step()), (Err(SessionError::Fault(notice)), Step::Done));
}

#[test]
fn a_client_that_gives_up_says_so() {
    let mut pair = Pair::plain(terms());
    pair.opened();
    pair.client.give_up(Ending::Stopping, "interrupted", NOW);
    pair.carry();
    assert_eq!((pair.client.step(), pair.client.deadline()), (Step::Done, None));
    assert!(matches!(&pair.ends[1], Err(SessionError::Fault(notice)) if notice.detail == "interrupted"));
}

/// Frames of these texts behind an open, plain session, at one end.
fn framed(texts: &[&str]) -> Vec<u8> {
    let mut octets = Vec::new();
    for text in texts {
        frame::write(text.as_bytes(), &mut octets).unwrap();
    }
    octets
}

#[test_case(r#"{"type":"open","carrier":"tcp","pattern":"exchange","request_bytes":1,"response_bytes":1,"waiting":"block","flows":1,"idle_ns":1}"#, "open")]
#[test_case(r#"{"type":"#, ""; "half a message")]
#[test_case("", ""; "nothing")]
fn a_server_tells_what_it_does_not_take(text: &str, what: &str) {
    let mut pair = Pair::plain(terms());
    pair.opened();
    let error = pair.server.feed(&framed(&[text]), NOW).unwrap_err();
    assert!(matches!(error, SessionError::Unreadable { .. } | SessionError::OutOfOrder { .. }), "{error}");
    assert!(error.to_string().contains(what));
    pair.carry();
    assert!(matches!(pair.ends[0], Err(SessionError::Fault(_))), "{:?}", pair.ends);
}

#[test]
fn a_carrier_from_the_future_is_refused_with_a_hint() {
    let mut pair = Pair::plain(terms());
    pair.server.feed(&pair.client.outgoing(), NOW).unwrap();
    pair.client.feed(&pair.server.outgoing(), NOW).unwrap();
    let mut octets = pair.client.outgoing();
    let at = octets.windows(5).position(|window| window == b"\"tcp\"").unwrap();
    octets[at..at + 5].copy_from_slice(b"\"ufo\"");
    assert!(pair.server.feed(&octets, NOW).is_err());
    pair.carry();
    let Err(SessionError::Refused(refused)) = &pair.ends[0] else { panic!("{:?}", pair.ends) };
    assert_eq!(refused.reason, Reason::NotUnderstood);
    assert!(refused.detail.contains("ufo") && refused.hint.is_some(), "{refused:?}");
}

#[test_case(r#"{"type":"report","received":[1,2],"replied":[1,2],"malformed":0}"#; "a report nobody asked for")]
#[test_case(r#"{"type":"received","received":[1]}"#; "counts of too few flows")]
#[test_case(r#"{"type":"refused","reason":"flows"}"#; "a refusal of what is open")]
#[test_case(r#"{"type":"received","received":[1,-2]}"#; "a negative count")]
fn a_client_takes_no_nonsense(text: &str) {
    let mut pair = Pair::plain(terms());
    pair.opened();
    let error = pair.client.feed(&framed(&[text]), NOW).unwrap_err();
    assert!(matches!(error, SessionError::Unreadable { .. } | SessionError::OutOfOrder { .. }), "{error}");
}

#[test]
fn what_is_newer_than_this_version_is_passed_over() {
    let mut pair = Pair::plain(terms());
    pair.opened();
    let newer = framed(&[r#"{"type":"hibernate","until":[{}]}"#, r#"{"type":"received","received":[1,2],"more":{}}"#]);
    pair.client.feed(&newer, NOW).unwrap();
    assert!(matches!(pair.client.event(), Some(ClientEvent::Opened(_))));
    assert_eq!(pair.client.event(), Some(ClientEvent::Received(Received { received: vec![1, 2] })));
}

#[test]
fn a_frame_too_long_ends_the_session() {
    let mut pair = Pair::plain(terms());
    pair.opened();
    assert!(matches!(pair.server.feed(&[0xFF; 4], NOW), Err(SessionError::Frame(_))));
}

#[test]
fn a_client_that_asks_on_before_it_has_an_answer_is_cut_off() {
    let mut pair = Pair::plain(terms());
    pair.opened();
    let question = framed(&[r#"{"type":"progress"}"#]);
    assert_eq!(pair.server.feed(&question, NOW), Ok(()));
    assert_eq!(pair.server.feed(&question, NOW), Err(SessionError::Flood));
}

#[test]
fn a_client_that_does_not_read_is_cut_off() {
    let mut pair = Pair::plain(Terms { limits: Limits { flows_per_session: 4_096, ..Limits::default() }, ..terms() });
    pair.opened();
    let question = framed(&[r#"{"type":"progress"}"#]);
    let mut asked = 0;
    while pair.server.feed(&question, NOW).is_ok() {
        pair.server.received(vec![u64::MAX; 4_096]).unwrap();
        asked += 1;
        assert!(asked < 20, "no bound");
    }
    assert_eq!(pair.server.feed(&question, NOW), Err(SessionError::Flood));
}

#[test]
fn a_client_that_talks_on_while_the_driver_decides_is_cut_off() {
    let mut pair = Pair::plain(terms());
    pair.carry();
    let mut fed = 0;
    while pair.server.feed(&[b' '; 4_096], NOW).is_ok() {
        fed += 4_096;
        assert!(fed < 4 << 20, "no bound");
    }
}

#[test]
fn calls_out_of_order_are_errors_and_change_nothing() {
    let mut pair = Pair::plain(terms());
    assert!(matches!(pair.client.progress(NOW), Err(SessionError::OutOfOrder { what: "progress", step: Step::Greet })));
    assert!(matches!(pair.client.close(NOW), Err(SessionError::OutOfOrder { what: "close", .. })));
    let got = Limits::default().grant(&open());
    assert!(matches!(pair.server.accept(TOKEN, got, NOW), Err(SessionError::OutOfOrder { what: "accept", .. })));
    assert!(matches!(pair.server.received(vec![]), Err(SessionError::OutOfOrder { what: "received", .. })));
    assert!(matches!(pair.server.report(report()), Err(SessionError::OutOfOrder { what: "report", .. })));
    assert!(is_whole(&pair.run()));
}

#[test]
fn an_environment_too_long_for_a_message_is_left_out_and_says_so() {
    let mut pair = Pair::keyed(1, 1);
    pair.opened();
    pair.client.close(NOW).unwrap();
    pair.carry();
    assert_eq!(pair.server.event(), Some(ServerEvent::Close));
    let settings = (0..9_000).map(|index| (format!("/proc/sys/{index}"), "x".repeat(40))).collect();
    let environment = Environment { program: "server 1".into(), settings, ..Environment::default() };
    pair.server.report(Report { environment, ..report() }).unwrap();
    pair.carry();
    let events: Vec<_> = std::iter::from_fn(|| pair.client.event()).collect();
    let Some(ClientEvent::Report(last)) = events.last() else { panic!("{:?}", pair.ends) };
    assert_eq!((last.received.as_slice(), last.environment.program.as_str()), (&[5, 6][..], "server 1"));
    assert!(last.environment.unread[0].contains("did not fit"));
}

#[test]
fn what_is_told_of_streams_is_cut_to_what_fits_a_message() {
    let interval = Interval { tcp: Some(TcpGlance::default()), ..Interval::default() };
    // Some intervals of many streams, and more streams than fit whatever is left out of each.
    for (flows, intervals, left) in [(64, 100, Some(64)), (4_096, 0, None)] {
        let stream = Stream { intervals: vec![interval; intervals], ..Stream::default() };
        let socket = Some(SocketFacts::default());
        let told = Told { stream, socket, trouble: Some("x".repeat(100)), ..Told::default() };
        let mut pair = Pair::plain(terms());
        pair.opened();
        pair.client.close(NOW).unwrap();
        pair.carry();
        let environment = Environment { program: "server 1".into(), ..Environment::default() };
        pair.server.report(Report { streams: Some(vec![told; flows]), environment, ..report() }).unwrap();
        pair.carry();
        let events: Vec<_> = std::iter::from_fn(|| pair.client.event()).collect();
        let Some(ClientEvent::Report(last)) = events.last() else { panic!("{:?}", pair.ends) };
        let streams = last.streams.as_ref();
        assert_eq!(streams.map(Vec::len), left);
        assert!(streams.is_none_or(|streams| streams[0].stream.intervals.len() > 10), "only what must be is left out");
        assert!(last.environment.unread.is_empty(), "the environment had room");
    }
}

#[test]
fn a_message_of_several_sealed_chunks_arrives_whole() {
    let mut pair = Pair { piece: 1_000, ..Pair::keyed(1, 1) };
    pair.opened();
    pair.client.close(NOW).unwrap();
    pair.carry();
    let settings = (0..3_000).map(|index| (format!("/proc/sys/{index}"), "x".repeat(40))).collect();
    let long = Report { environment: Environment { settings, ..Environment::default() }, ..report() };
    pair.server.report(long.clone()).unwrap();
    pair.carry();
    assert!(pair.carried[1] > 150_000, "{:?}", pair.carried);
    let events: Vec<_> = std::iter::from_fn(|| pair.client.event()).collect();
    assert_eq!(events.last(), Some(&ClientEvent::Report(Box::new(long))));
}

/// Draws a message of a peer for any moment, in order or not.
fn message() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(r#"{"type":"progress"}"#.to_owned()),
        Just(r#"{"type":"close"}"#.to_owned()),
        Just(r#"{"type":"fault","reason":"idle"}"#.to_owned()),
        Just(r#"{"type":"newer"}"#.to_owned()),
        Just(serde_json::to_string(&protocol::native::message::FromClient::Open(open())).unwrap()),
        Just(r#"{"type":"received","received":[1,2]}"#.to_owned()),
        Just(r#"{"type":"report","received":[1,2],"replied":[1,2],"malformed":0}"#.to_owned()),
        Just(r#"{"type":"refused","reason":"flows"}"#.to_owned()),
        ".{0,40}",
    ]
}

proptest! {
    #[test]
    fn messages_in_any_order_panic_neither_end(texts in prop::collection::vec(message(), 0..12), early: bool) {
        let mut pair = Pair::plain(terms());
        if early { pair.carry() } else { pair.opened() };
        for text in &texts {
            let octets = framed(&[text]);
            let (client, server) = (pair.client.feed(&octets, NOW), pair.server.feed(&octets, NOW));
            prop_assert!(client.is_ok() || pair.client.feed(&octets, NOW) == client, "an error is final");
            prop_assert!(server.is_ok() || pair.server.feed(&octets, NOW) == server, "an error is final");
        }
        let _ = (pair.client.close(NOW), pair.server.report(report()));
    }

    #[test]
    fn garbage_at_any_point_panics_neither_end(
        garbage in prop::collection::vec(any::<u8>(), 0..300), after in 0..5_usize, keyed: bool,
    ) {
        let mut pair = if keyed { Pair::keyed(1, 1) } else { Pair::plain(terms()) };
        for _ in 0..after {
            let (up, down) = (pair.client.outgoing(), pair.server.outgoing());
            let _ = (pair.server.feed(&up, NOW), pair.client.feed(&down, NOW));
        }
        let _ = (pair.server.feed(&garbage, NOW), pair.client.feed(&garbage, NOW));
        let _ = (pair.server.ended(), pair.client.ended());
    }
}
