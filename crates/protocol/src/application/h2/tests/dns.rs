//! Questions of DNS, and replies in place of their answers.

use super::*;

fn resolver() -> H2 {
    H2::dns(Question::new("a.test", "A").unwrap(), "db1", "sonde/1").unwrap()
}

#[test]
fn a_question_of_dns_is_posted() {
    let question = b"\0\0\x01\0\0\x01\0\0\0\0\0\0\x01a\x04test\0\0\x01\0\x01";
    let block = b"\x83\x87\x04\x0a/dns-query\x01\x03db1\x0f\x2b\x07sonde/1\x10\x06accept\x17application/dns-message\
        \x10\x0ccontent-type\x17application/dns-message\x0f\x0d\x0224";
    let head = frame(frame::HEADERS, frame::END_HEADERS, 0, block);
    assert_eq!(resolver().request(), [head, frame(frame::DATA, frame::END_STREAM, 0, question)].concat());
    assert_eq!(resolver().words(), "A a.test");
    assert_eq!(H2::dns(Question::new("a", "A").unwrap(), "a b", "sonde/1"), Err(RequestError::Target));
}

/// Each answer of a list is to one of its questions, in whatever capitals.
#[test]
fn an_answer_is_to_a_question_of_the_list() {
    let asks = |name: &str| H2::dns(Question::new(name, "A").unwrap(), "db1", "sonde/1").unwrap();
    let item = |name: &str| Item { octets: asks(name).request(), weight: 1, class: 0, expected: None };
    let several = resolver().mixed(24, &[item("a.test"), item("cd.test")]);
    let answer = |question: &str| {
        let body = octets(&["00008580000100010000", "0000", question, "00010001"]);
        [frame(frame::HEADERS, 4, 3, &[0x88]), frame(frame::DATA, 1, 3, &body)].concat()
    };
    for (question, expected) in [
        ("0161047465737400", answered(kind::DNS, 0)),
        ("024344047465737400", answered(kind::DNS, 0)),
        ("026264047465737400", refused(200, 0)),
    ] {
        assert_eq!(alike(&opened(several.clone()), &answer(question)), [expected], "{question}");
    }
}

#[test]
fn a_response_with_a_message_is_an_answer_of_dns() {
    let answer = |flags: &str, question: &str| {
        let body = octets(&["0000", flags, question, "00010001c00c0001000100000e1000047f000007"]);
        [frame(frame::HEADERS, 4, 3, &[0x88]), frame(frame::DATA, 1, 3, &body)].concat()
    };
    let asked = "0001000100000000016104746573740000";
    let cut = "000085800001000100000000";
    for (said, expected) in [
        (answer("8580", asked), answered(kind::DNS, 0)),
        (answer("8583", asked), answered(kind::DNS + 3, 0)),
        (answer("8585", asked), refused(kind::DNS + 5, 0)),
        (answer("8580", "0001000100000000016204746573740000"), refused(200, 0)),
        (answer("0100", asked), refused(200, 0)),
        ([frame(frame::HEADERS, 4, 3, &[0x88]), frame(frame::DATA, 1, 3, &octets(&[cut]))].concat(), refused(200, 0)),
        (
            [frame(frame::HEADERS, 4, 3, &[0x88]), frame(frame::DATA, 1, 3, b"<html></html>\r\n\r\n")].concat(),
            refused(200, 0),
        ),
        (frame(frame::HEADERS, 5, 3, &[0x8D]), refused(404, 0)),
        (frame(frame::HEADERS, 5, 3, &[0x88]), refused(200, 0)),
    ] {
        assert_eq!(alike(&opened(resolver()), &said), [expected]);
    }
    let names = [kind::DNS, kind::DNS + 3, 404, RESET + 7].map(|kind| resolver().kind(Kind(kind)));
    assert_eq!(names, ["NOERROR", "NXDOMAIN", "HTTP 404", "REFUSED_STREAM"]);
}
