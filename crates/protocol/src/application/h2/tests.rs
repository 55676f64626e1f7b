//! Words of servers, as they say them and as they should not.

mod dns;

use proptest::prelude::*;
use test_case::test_case;

use super::*;
use crate::application::speech::tests::{alike, hear};

fn request(method: &str, target: &str) -> Request {
    Request {
        method: method.into(),
        host: "db1".into(),
        target: target.into(),
        fields: Vec::new(),
        body: Vec::new(),
        agent: "sonde/1".into(),
    }
}

fn h2() -> H2 {
    H2::new(&request("GET", "/"), Expected::Any, false).unwrap()
}

/// The last word of it holds, of a connection for itself; pings are none.
#[test]
fn the_server_says_how_many_it_takes_at_once() {
    let settings = |most: u8| frame(frame::SETTINGS, 0, 0, &[0, 4, 0, 1, 0, 0, 0, 3, 0, 0, 0, most]);
    for (mut h2, counts) in [(h2(), true), (H2::ping(), false)] {
        h2.begin();
        assert_eq!(h2.most_at_once(), None);
        for most in [100, 0, 7] {
            h2.take(&settings(most));
            assert_eq!(h2.most_at_once(), Some(u32::from(most)).filter(|_| counts));
        }
        h2.take(&frame(frame::SETTINGS, 0, 0, &[]));
        assert_eq!(h2.most_at_once(), Some(7).filter(|_| counts));
        h2.begin();
        assert_eq!(h2.most_at_once(), None);
    }
}

fn health() -> H2 {
    H2::health("db1", "", false).unwrap()
}

fn opened(mut h2: H2) -> H2 {
    h2.begin();
    assert_eq!(h2.take(&frame(frame::SETTINGS, 0, 0, b"")).came, Came::Opened);
    h2
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    frame::write(&mut out, kind, flags, stream, payload);
    out
}

fn octets(lines: &[&str]) -> Vec<u8> {
    let digits = lines.concat();
    let pairs = digits.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).unwrap());
    pairs.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect()
}

fn answered(kind: u16, number: u32) -> Came {
    Came::Reply(Reply { number: Some(number), ..Reply::answered(Kind(kind)) })
}

fn refused(kind: u16, number: u32) -> Came {
    Came::Reply(Reply { number: Some(number), ..Reply::refused(Kind(kind)) })
}

fn closing(kind: u16, number: u32) -> Came {
    Came::Reply(Reply { number: Some(number), closes: true, ..Reply::answered(Kind(kind)) })
}

#[test]
fn streams_grow_with_numbers_and_the_trial_has_the_first() {
    assert_eq!([u64::MAX, 0, 1, (1 << 30) - 2, (1 << 30) - 1].map(stream_of), [1, 3, 5, LAST_STREAM, 1]);
    for number in [0, 1, 77, (1 << 30) - 2, (1 << 30) - 1] {
        assert_eq!(u64::from(number_of(stream_of(number))), number);
    }
    assert_eq!((h2().mark_bits(), H2::ping().mark_bits()), (30, 32));
}

#[test]
fn a_client_begins_with_its_preface_and_settings() {
    let opening = h2().opening();
    assert_eq!(&opening[..24], b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    let update = frame(frame::WINDOW_UPDATE, 0, 0, &[0x7F, 0xFF, 0, 0]);
    assert_eq!(opening[24..], [frame(frame::SETTINGS, 0, 0, SET), update].concat());
}

#[test]
fn a_request_is_written_once_and_its_stream_each_time() {
    let h2 = h2();
    let mut request = h2.request();
    h2.mark(&mut request, 0);
    // As nginx 1.22.1 answered it.
    assert_eq!(request, octets(&["00001201050000000382868401036462310f2b07736f6e64652f31"]));
    h2.mark(&mut request, 7);
    assert_eq!(Frame::read(&request).unwrap().unwrap().stream, 17);
}

#[test]
fn a_request_has_fields_and_a_body() {
    let fields = ["Host: other", "X-Y: z"].map(|line| Request::field(line).unwrap()).to_vec();
    let post = Request { fields, body: b"abc".to_vec(), ..request("POST", "/in") };
    let mut expected = b"\x83\x87\x04\x03/in\x01\x05other\x0f\x2b\x07sonde/1\x10\x03x-y\x01z\x0f\x0d\x013".to_vec();
    let head = frame(frame::HEADERS, frame::END_HEADERS, 0, &expected);
    let body = frame(frame::DATA, frame::END_STREAM, 0, b"abc");
    assert_eq!(H2::new(&post, Expected::Any, true).unwrap().request(), [head, body].concat());
    expected = b"\x02\x04HEAD\x86\x84\x01\x03db1\x0f\x2b\x07sonde/1".to_vec();
    let head = frame(frame::HEADERS, frame::END_HEADERS | frame::END_STREAM, 0, &expected);
    assert_eq!(H2::new(&request("HEAD", "/"), Expected::Any, false).unwrap().request(), head);
}

#[test]
fn requests_that_http_2_does_not_have() {
    let with = |line| Request { fields: vec![Request::field(line).unwrap()], ..request("GET", "/") };
    for (wrong, why) in [
        (request("GET /", "/"), RequestError::Method("GET /".into())),
        (request("GET", "/a b"), RequestError::Target),
        (with("Upgrade: h2c"), RequestError::OldField("Upgrade".into())),
        (with("TE: gzip"), RequestError::OldField("TE".into())),
        (Request { body: vec![0; 65_536], ..request("POST", "/") }, RequestError::Body(65_536)),
    ] {
        assert_eq!(H2::new(&wrong, Expected::Any, false), Err(why));
    }
    assert!(H2::new(&with("TE: trailers"), Expected::Any, false).is_ok());
    assert_eq!(H2::health("db1", &"x".repeat(128), false), Err(RequestError::Target));
    assert!(H2::health("db1", &"x".repeat(127), false).is_ok());
}

/// As nginx 1.22.1 opens a connection: its settings, a larger window, and that it has read ours.
const NGINX: [&str; 3] =
    ["000012040000000000000300000080000400010000000500ffffff", "0000040800000000007fff0000", "000000040100000000"];

#[test]
fn nginx_is_read() {
    let came = alike(
        &h2(),
        &octets(&[
            &NGINX.concat(),
            "00003101040000000320887689aa6355e580ae212e1f6196df3dbf4a09c5349fba82009c5041b8d86e01a53168df5f87497ca58ae819aa5c0133",
            "0000030001000000036f6b0a",
            // A status that stands in no table, and one without a body.
            "00003601040000000548033530337689aa6355e580ae212e1f6196df3dbf4a09c5349fba82009c5041b8d86e01a53168df5f87497ca589d34d1f5c03313937",
            "00000300010000000568686d",
            "000024010500ffffff897689aa6355e580ae212e1f6196df3dbf4a09c5349fba82009c5041b8d86e01b53168df",
            // After keepalive_requests: the last stream is still answered.
            "00000807000000000000ffffff00000000",
        ]),
    );
    let [start @ .., end] = &came[..] else { panic!() };
    let expected = [Came::Opened, Came::Aside, Came::Aside, answered(200, 0), refused(503, 1)];
    assert_eq!(start, [&expected[..], &[answered(204, 0x007F_FFFE)]].concat());
    assert_eq!(end, &Taken::declined(0, b"GOAWAY NO_ERROR").came, "nothing more comes");
}

// Each with a table of no size: a server chooses itself what it codes by Huffman, what it names by number or literal, and
// the order.
#[test_case(&["000006040000000000000300000064", "000000040100000000",
    "00006101040000000320880f2790aa69d29ae452a9a74a6b13015db12e0f0f0989a47e561cc58197000f0f1296df3dbf4a09c5349fba82009c5042b8076e042a62d1bf0f0d01330f1d96df3dbf4a09c5349fba82009c5042b8072e01f53168df0f1087497ca589d34d1f",
    "0000030001000000036f6b0a"]; "nghttpd 1.52.0")]
#[test_case(&["00000c040000000000000800000001000300000064", "000000040100000000",
    "00001101040000000320885c01325f0a746578742f706c61696e", "0000020001000000036f6b"]; "haproxy 2.6.12")]
#[test_case(&["00001e0400000000000005001000000003000000fa000600100140000100001000000400100000", "000000040100000000000004080000000000000f0001",
    "00003d01040000000320880003782d6e837190350f1092497ca58ae819aafb50938ec415305a99567b0f0d01340f1296df3dbf4a09c5349fba82009c5042b8076e05953168df",
    "0000040001000000036f6b2030"]; "net/http of Go 1.26")]
fn other_servers_are_read(lines: &[&str]) {
    let came = alike(&h2(), &octets(lines));
    assert_eq!((came.first(), came.last()), (Some(&Came::Opened), Some(&answered(200, 0))));
    assert!(came[1..came.len() - 1].iter().all(|came| *came == Came::Aside));
}

#[test]
fn a_server_that_goes_answers_what_it_has_taken() {
    // As nginx 1.22.1 answers the thousandth request of a connection.
    let goes = octets(&[
        "000008070000000000000007cf00000000",
        "0000300104000007cf887689aa6355e580ae212e1f6196df3dbf4a09c5349fba82009c5041b8d86e36053168df5f87497ca58ae819aa5c0133",
        "0000030001000007cf6f6b0a",
    ]);
    assert_eq!(alike(&opened(h2()), &goes), [Came::Aside, closing(200, 998)]);
    // As grpc-go 1.85.0 stops: it names all streams, then those that it has seen.
    let stops = octets(&[
        "0000150700000000007fffffff00000000677261636566756c5f73746f70",
        "0000080600000000000106010800030309",
        "0000150700000000000000000300000000677261636566756c5f73746f70",
    ]);
    let mut stopped = opened(health());
    stopped.ended = 3;
    let expected = [Came::Aside, Came::Aside, Taken::declined(0, b"GOAWAY NO_ERROR graceful_stop").came];
    assert_eq!(alike(&stopped, &stops), expected);
    // A response under way is waited for.
    let mut begun = opened(h2());
    begun.take(&frame(frame::HEADERS, frame::END_HEADERS, 3, &[0x88]));
    begun.ended = 5;
    let rest = [&frame(frame::GOAWAY, 0, 0, &[0, 0, 0, 5, 0, 0, 0, 0])[..], &frame(0, 1, 3, b"ok")].concat();
    assert_eq!(alike(&begun, &rest), [closing(200, 0)]);
}

#[test]
fn the_last_stream_of_all_ends_its_connection() {
    let last = frame(frame::HEADERS, 5, LAST_STREAM, &[0x88]);
    assert_eq!(alike(&opened(h2()), &last), [closing(200, (1 << 30) - 2)]);
}

#[test]
fn an_end_by_an_error_is_told_in_its_words() {
    // As grpc-go 1.85.0 ends a connection at the fourth PING in a row.
    let pinged = octets(&[
        "0000080601000000000000000000000003",
        "000016070000000000000000000000000b746f6f5f6d616e795f70696e6773",
    ]);
    let words = Taken::declined(0, b"GOAWAY ENHANCE_YOUR_CALM too_many_pings").came;
    assert_eq!(alike(&opened(H2::ping()), &pinged), [answered(0, 3), words]);
    let early = frame(frame::GOAWAY, 0, 0, &[0, 0, 0, 0, 0, 0, 0, 77]);
    assert_eq!(alike(&h2(), &early), [Taken::declined(0, b"GOAWAY an error without a name").came]);
}

/// As grpc-go 1.85.0 opens a connection.
const GRPC_GO: [&str; 2] = ["000006040000000000000500004000", "000000040100000000"];
/// As it comes before each reply: a window and a ping of the server's.
const BEFORE: [&str; 2] = ["00000408000000000000000005", "00000806000000000002041010090e0707"];

#[test]
fn the_health_of_a_server_is_read() {
    let came = alike(
        &health(),
        &octets(&[
            &GRPC_GO.concat(),
            &BEFORE.concat(),
            "00001001040000000320880f108b1d75d0620d263d4c4d6564",
            "00000700000000000300000000020801",
            "00001801050000000300889acac8b21234da8f013000899acac8b5254207317f00",
            &BEFORE.concat(),
            "00000f010400000007880f108b1d75d0620d263d4c4d6564",
            "00000700000000000700000000020802",
            "00001801050000000700889acac8b21234da8f013000899acac8b5254207317f00",
            // A service that it does not know, and health checks that it does not have.
            "00003201050000000b880f108b1d75d0620d263d4c4d656400889acac8b21234da8f013500899acac8b5254207317f8bb6aeb51fc54a20b677310b",
            "00004401050000000d20880f108b1d75d0620d263d4c4d656400889acac8b21234da8f02313200899acac8b5254207317f9bb6aeb51fc54a20b677310aa4d65645e728e84cebf70af8ca3a133f",
        ]),
    );
    let asides = [Came::Aside, Came::Aside];
    let (serving, not) = (answered(SERVING + 1, 0), answered(SERVING + 2, 2));
    let end = [answered(GRPC + 5, 4), answered(GRPC + 12, 5)];
    let expected = [&[Came::Opened, Came::Aside][..], &asides, &[serving], &asides, &[not], &end].concat();
    assert_eq!(came, expected);
}

#[test]
fn a_question_for_health_is_written_as_its_protocol_says() {
    let mut request = health().request();
    health().mark(&mut request, 0);
    // As grpc-go 1.85.0 answered it.
    let head = "0000450104000000038386041c2f677270632e6865616c74682e76312e4865616c74682f436865636b01036462310f10106170706c69636174696f6e2f677270631002746508747261696c657273";
    assert_eq!(request, octets(&[head, "0000050001000000030000000000"]));
    let named = H2::health("db1", "down", false).unwrap();
    assert!(named.request().ends_with(b"\0\0\0\0\x06\x0a\x04down"));
    assert_eq!((named.words(), health().words()), ("Health/Check down", "Health/Check"));
}

fn trailers(status: &str) -> Vec<u8> {
    let mut block = Vec::new();
    hpack::literal(&mut block, "grpc-status", status);
    frame(frame::HEADERS, 5, 3, &block)
}

#[test_case(&[b"\0\0\0\0\x02\x08\x01"], "0", &answered(SERVING + 1, 0); "one frame")]
#[test_case(&[b"\0\0\0", b"\0\x02\x08", b"", b"\x03"], "0", &answered(SERVING + 3, 0); "a message in parts")]
#[test_case(&[b"\0\0\0\0\0"], "0", &answered(SERVING, 0); "a status that is left out")]
#[test_case(&[b"\x01\0\0\0\x02\x08\x01"], "0", &answered(GRPC, 0); "a message that is compressed")]
#[test_case(&[b"\0\0\0\0\x40\x12\x3eany other field, and so long that it is not kept as a whole"], "0", &answered(GRPC, 0); "another message")]
#[test_case(&[], "0", &answered(GRPC, 0); "no message")]
#[test_case(&[], "14", &refused(GRPC + 14, 0); "unavailable")]
#[test_case(&[], "8", &refused(GRPC + 8, 0); "exhausted")]
#[test_case(&[], "16", &answered(GRPC + 16, 0); "no login")]
#[test_case(&[], "999", &answered(GRPC + 17, 0); "beyond all")]
fn statuses_of_grpc(parts: &[&[u8]], status: &str, expected: &Came) {
    let mut octets = frame(frame::HEADERS, frame::END_HEADERS, 3, &[0x88]);
    for part in parts {
        octets.extend(frame(frame::DATA, 0, 3, part));
    }
    octets.extend(trailers(status));
    assert_eq!(alike(&opened(health()), &octets), std::slice::from_ref(expected));
}

#[test_case(&frame(frame::HEADERS, 5, 3, b"\x08\x03404"), &refused(404, 0); "a server of something else")]
#[test_case(&frame(frame::HEADERS, 5, 3, &[0x88]), &refused(200, 0); "an end without trailers")]
#[test_case(&[frame(frame::HEADERS, 4, 3, &[0x88]), frame(frame::DATA, 1, 3, b"\0\0\0\0\x02\x08\x01")].concat(), &refused(200, 0); "a message without trailers")]
#[test_case(&frame(frame::HEADERS, 5, 3, b"\x08\x03503"), &refused(503, 0); "a proxy without a server")]
fn a_response_without_a_status_of_grpc_is_refused_and_told_by_that_of_http(octets: &[u8], expected: &Came) {
    assert_eq!(alike(&opened(health()), octets), std::slice::from_ref(expected));
    assert_eq!(health().kind(Kind(404)), "HTTP 404 without grpc-status");
}

#[test]
fn responses_may_overtake_each_other() {
    let head = |stream| frame(frame::HEADERS, frame::END_HEADERS, stream, &[0x88]);
    let data = |stream, flags| frame(frame::DATA, flags, stream, b"body");
    let octets =
        [head(3), head(5), data(3, 0), data(5, 1), frame(frame::HEADERS, 5, 9, &[0x8D]), data(3, 0), data(3, 1)];
    let expected = [answered(200, 1), answered(404, 3), answered(200, 0)];
    assert_eq!(alike(&opened(h2()), &octets.concat()), expected);
}

#[test]
fn heads_in_parts_interim_ones_and_fields_behind_bodies() {
    let octets = [
        frame(frame::HEADERS, frame::END_HEADERS, 3, b"\x08\x03103"),
        frame(frame::HEADERS, 0, 3, b"\x08"),
        frame(frame::CONTINUATION, 0, 3, b""),
        frame(frame::CONTINUATION, frame::END_HEADERS, 3, b"\x03200"),
        frame(frame::DATA, 0, 3, b"body"),
        frame(0xEE, 0xFF, 8, b"unknown"),
        frame(frame::HEADERS, 5, 3, b"\0\x01a\x01b"),
    ];
    assert_eq!(alike(&opened(h2()), &octets.concat()), [Came::Aside, answered(200, 0)]);
}

#[test]
fn a_stream_may_be_reset() {
    let reset = |stream, error| frame(frame::RST_STREAM, 0, stream, &[0, 0, 0, error]);
    let head = |flags| frame(frame::HEADERS, flags, 5, &[0x88]);
    let octets = [reset(3, 7), head(4), reset(5, 2), head(5), reset(5, 0), reset(5, 5), reset(7, 0), reset(9, 99)];
    let expected = [
        refused(RESET + 7, 0),
        refused(RESET + 2, 1),
        answered(200, 1),
        // As Go's net/http 1.26 does behind a response that ended before its request was read.
        Came::Aside,
        Came::Aside,
        refused(RESET, 2),
        refused(RESET + 14, 3),
    ];
    assert_eq!(alike(&opened(h2()), &octets.concat()), expected);
    let names = [0, 7, 11, 14].map(|error| h2().kind(Kind(RESET + error)));
    assert_eq!(names, ["NO_ERROR", "REFUSED_STREAM", "ENHANCE_YOUR_CALM", "an error without a name"]);
}

#[test]
fn kinds_have_the_names_of_their_protocol() {
    let names = [200, GRPC, GRPC + 12, GRPC + 17, SERVING, SERVING + 2, u16::MAX].map(|kind| health().kind(Kind(kind)));
    let expected = [
        "HTTP 200 without grpc-status",
        "OK",
        "UNIMPLEMENTED",
        "a status without a name",
        "health UNKNOWN",
        "NOT_SERVING",
        "a status without a name",
    ];
    assert_eq!(names, expected);
    assert_eq!([h2().kind(Kind(404)), H2::ping().kind(Kind(0))], ["404", "PING"]);
}

#[test]
fn pings_and_settings_of_the_server_are_answered() {
    let mut h2 = h2();
    h2.begin();
    h2.take(&frame(frame::SETTINGS, 0, 0, b""));
    assert_eq!(h2.answer(), frame(frame::SETTINGS, frame::ACK, 0, b""));
    h2.take(&frame(frame::PING, 0, 0, b"12345678"));
    assert_eq!(h2.answer(), frame(frame::PING, frame::ACK, 0, b"12345678"));
    h2.take(&frame(frame::PING, frame::ACK, 0, b"12345678"));
    assert_eq!(h2.answer(), b"");
}

#[test]
fn a_flood_is_not_answered_without_end() {
    let flood = frame(frame::PING, 0, 0, b"12345678").repeat(1_001);
    let came = hear(&mut opened(h2()), &flood, |_| false);
    assert_eq!(came.len(), 1_001);
    assert_eq!(came.last(), Some(&Came::Unsound("the server floods with frames that want an answer")));
}

#[test]
fn responses_without_an_end_are_not_kept_without_end() {
    let head = |at: usize| frame(frame::HEADERS, frame::END_HEADERS, 2 * at as u32 + 1, &[0x88]);
    let flood: Vec<u8> = (0..=MOST_STREAMS).flat_map(head).collect();
    let came = hear(&mut opened(h2()), &flood, |_| false);
    assert_eq!(came, [Came::Unsound("too many responses are under way at once")]);
}

#[test]
fn the_window_is_opened_as_bodies_are_taken() {
    let mut h2 = opened(h2());
    h2.take(&frame(frame::HEADERS, frame::END_HEADERS, 3, &[0x88]));
    h2.consumed = UPDATE_AFTER - 3;
    let (body, end) = (frame(frame::DATA, 0, 3, b"body"), frame(frame::DATA, 1, 3, b""));
    assert_eq!(alike(&h2, &[&body[..], &end].concat()), [Came::Aside, answered(200, 0)]);
    h2.take(&body);
    assert_eq!(h2.take(&end), Taken::aside(0));
    assert_eq!(h2.answer(), frame(frame::WINDOW_UPDATE, 0, 0, &[0x40, 0, 0, 1]));
    assert_eq!(h2.take(&end).came, answered(200, 0));
    assert_eq!(h2.answer(), b"");
}

#[test]
fn a_body_that_the_server_does_not_take_at_once_is_not_sent() {
    let post = Request { body: vec![0; 100], ..request("POST", "/") };
    let post = H2::new(&post, Expected::Any, false).unwrap();
    let settings = |size| frame(frame::SETTINGS, 0, 0, &[0, 4, 0, 0, 0, size]);
    assert_eq!(alike(&post, &settings(100)), [Came::Opened]);
    let words = Taken::declined(0, b"takes 99 octets of a body at once: SETTINGS_INITIAL_WINDOW_SIZE").came;
    assert_eq!(alike(&post, &settings(99)), [words]);
}

#[test_case(false, b"HTTP/1.1 400 Bad Request\r\n", "the server answers in HTTP/1: it has no HTTP/2 here"; "the version before")]
#[test_case(false, b"SSH-2.0-x\r\n", frame::FOREIGN; "another program")]
#[test_case(false, &frame(frame::PING, 0, 0, b"12345678"), frame::FOREIGN; "no settings at first")]
#[test_case(false, &frame(frame::SETTINGS, 0, 0, &[0, 4, 0x80, 0, 0, 0]), frame::FOREIGN; "a window beyond all")]
#[test_case(true, &frame(frame::DATA, 1, 3, b"x"), "a body without a response"; "no head")]
#[test_case(true, &frame(frame::HEADERS, 5, 3, b""), "a response has no status"; "no status")]
#[test_case(true, &frame(frame::HEADERS, 5, 3, b"\x08\x03100"), "a response has no status"; "an interim response that ends")]
#[test_case(true, &frame(frame::HEADERS, 5, 3, &[0xBE]), "a response refers to a table that the server was told not to have"; "a table")]
#[test_case(true, &[frame(1, 4, 3, &[0x88]), frame(1, 4, 3, &[])].concat(), "the fields behind a body do not end the response"; "fields that end nothing")]
#[test_case(true, &frame(frame::CONTINUATION, 4, 3, &[0x88]), frame::FOREIGN; "the end of no head")]
fn what_is_none_of_http_2(is_open: bool, octets: &[u8], why: &'static str) {
    let h2 = if is_open { opened(h2()) } else { h2() };
    assert_eq!(alike(&h2, octets), [Came::Unsound(why)]);
}

#[test]
fn a_ping_gives_its_number_back() {
    let ping = H2::ping();
    let mut request = ping.request();
    ping.mark(&mut request, 0x1_0203_0405);
    assert_eq!(request, frame(frame::PING, 0, 0, &[0, 0, 0, 1, 2, 3, 4, 5]));
    let pong = frame(frame::PING, frame::ACK, 0, &[0, 0, 0, 1, 2, 3, 4, 5]);
    assert_eq!(alike(&opened(H2::ping()), &pong), [answered(0, 0x0203_0405)]);
    let response = frame(frame::HEADERS, 5, 3, &[0x88]);
    assert_eq!(alike(&opened(H2::ping()), &response), [Came::Unsound("a response that nobody asked for")]);
    // To a client of streams it answers nothing.
    assert_eq!(alike(&opened(h2()), &pong), [Came::Aside]);
}

proptest! {
    /// Frames of any kind, flags and payload, in any order: no panic, and the same is said of them however they are cut.
    #[test]
    fn no_frames_upset_a_reader(
        frames in prop::collection::vec(
            (0_u8..11, any::<u8>(), prop::sample::select(vec![0, 1, 3, 5, LAST_STREAM]),
             prop_oneof![
                 prop::collection::vec(any::<u8>(), 0..20),
                 Just(vec![0x88]), Just(vec![0; 4]), Just(vec![0, 0, 0, 3, 0, 0, 0, 0]), Just(trailers("0")[frame::HEADER..].to_vec()),
             ]),
            0..12),
        every in 1_usize..30,
    ) {
        let octets: Vec<u8> = frames.iter().flat_map(|(kind, flags, stream, payload)| frame(*kind, *flags, *stream, payload)).collect();
        for speech in [h2(), health(), H2::ping()] {
            let whole = hear(&mut opened(speech.clone()), &octets, |_| false);
            let cut = hear(&mut opened(speech), &octets, |end| end.is_multiple_of(every));
            prop_assert_eq!(whole, cut);
        }
    }
}
