//! Conditions as people type them: read, written, compared with data, and refused where they make no sense.

use super::*;
use proptest::prelude::*;
use test_case::test_case;

fn condition(text: &str) -> Condition {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// A probe of 10,000 messages, all sent and answered in 1 to 10,000 µs.
fn sound() -> Seen {
    Seen {
        achieved: 1.0,
        tried: 1.0,
        held: false,
        lost: 0,
        refused: 0,
        bunched: 0,
        sent: 10_000,
        unanswered: 0,
        declined: 0,
        response: Ranked::exact((1..=10_000).map(|us| us * 1_000).collect()),
        mean_ns: Some(5_000_500.0),
        slip: Ranked::exact(vec![2_000; 10_000]),
    }
}

fn said(text: &str, seen: &Seen) -> (Verdict, String) {
    let judgement = condition(text).judge(seen);
    (judgement.verdict, judgement.missed.join(", "))
}

#[test_case("p99<1ms,loss<0.1%", "p99<1ms,loss<0.1%,achieved>=99.9%"; "as in the manual")]
#[test_case(" p99.9 ≤ 1.25ms , achieved ≥ 99% ", "p99.9<=1.25ms,achieved>=99%"; "blanks and other signs")]
#[test_case("median<250us", "p50<250us,achieved>=99.9%"; "by name")]
#[test_case("mean<1234567ns,max<1m30s,slip<=50us", "mean<1.234567ms,max<90s,slip<=50us,achieved>=99.9%"; "all digits")]
#[test_case("loss<=0%", "loss<=0%,achieved>=99.9%"; "none at all")]
#[test_case("p99.999<1s,loss<0.0001%", "p99.999<1s,loss<0.0001%,achieved>=99.9%"; "far out")]
fn a_condition_is_read_and_printed_alike(typed: &str, printed: &str) {
    assert_eq!(condition(typed).to_string(), printed);
    assert_eq!(condition(printed), condition(typed));
    let json = serde_json::to_string(&condition(typed)).unwrap();
    assert_eq!(json, format!("\"{printed}\""));
    assert_eq!(serde_json::from_str::<Condition>(&json).unwrap(), condition(typed));
}

#[test_case("", "is empty"; "nothing")]
#[test_case("achieved>=99%", "is empty"; "of ourselves alone")]
#[test_case("p99", "`p99` is not a condition"; "no sign")]
#[test_case("p99=1ms", "`p99=1ms` is not a condition"; "another sign")]
#[test_case("p98x<1ms", "unknown quantity `p98x`"; "no quantile")]
#[test_case("p10<1ms", "unknown quantity `p10`"; "below the median")]
#[test_case("p100<1ms", "unknown quantity `p100`"; "beyond all")]
#[test_case("jitter<1ms", "unknown quantity `jitter`"; "unknown")]
#[test_case("p99>1ms", "has the wrong sign"; "latency above")]
#[test_case("achieved<99%", "has the wrong sign"; "achieved below")]
#[test_case("p99<1", "has no unit"; "no unit")]
#[test_case("p99<0ms", "is met by no answer"; "no time")]
#[test_case("loss<0.1", "write the share with its sign"; "no percent sign")]
#[test_case("loss<101%", "write the share with its sign"; "more than all")]
#[test_case("loss<0%", "is met by no rate"; "below none")]
#[test_case("loss<=100%", "is met by every rate"; "up to all")]
#[test_case("p99<1ms,p99<2ms", "p99 is given twice"; "twice")]
fn what_is_no_condition_is_refused_in_words(typed: &str, expected: &str) {
    let error = typed.parse::<Condition>().unwrap_err().to_string();
    assert!(error.contains(expected), "{error}");
}

#[test_case("p50<5001us", Verdict::Met, ""; "just below")]
#[test_case("p50<5ms", Verdict::Missed, "p50 5 ms"; "at the limit")]
#[test_case("p50<=5ms", Verdict::Met, ""; "at the limit, which may be")]
#[test_case("p99<9ms,mean<5ms", Verdict::Missed, "p99 9.90 ms, mean 5.00 ms"; "two")]
#[test_case("max<10ms", Verdict::Missed, "max 10 ms"; "the longest")]
#[test_case("p99.99<1s", Verdict::TooFew, ""; "one value beyond is too few")]
#[test_case("p99.99<1s,p50<1ms", Verdict::Missed, "p50 5 ms"; "what is known decides")]
#[test_case("slip<1us", Verdict::Missed, "slip 2 µs"; "late")]
#[test_case("loss<0.1%", Verdict::Met, ""; "nothing lost")]
fn a_sound_probe_is_judged(text: &str, verdict: Verdict, missed: &str) {
    assert_eq!(said(text, &sound()), (verdict, missed.to_owned()));
}

#[test]
fn the_unanswered_rank_above_every_answer() {
    let seen = Seen { unanswered: 300, lost: 300, sent: 10_300, ..sound() };
    assert_eq!(said("p99<1h", &seen), (Verdict::Missed, "p99 beyond the timeout".into()));
    assert_eq!(said("max<1h", &seen), (Verdict::Missed, "max beyond the timeout".into()));
    assert_eq!(said("p50<5152us", &seen), (Verdict::Met, String::new()));
    let silent = Seen { unanswered: 1_000, response: Ranked::exact(vec![]), ..sound() };
    assert_eq!(said("p50<1h", &silent), (Verdict::Missed, "p50 beyond the timeout".into()));
}

/// A limiter of rates answers at once, with a status that is a refusal: nothing timed out, and nothing was served.
#[test]
fn what_the_peer_refused_was_not_served_and_is_not_late() {
    let limited = Seen { unanswered: 300, declined: 300, sent: 10_300, ..sound() };
    let refused = "p99 among requests that the peer refused (300 of 10300)";
    assert_eq!(said("p99<1h", &limited), (Verdict::Missed, refused.into()));
    assert_eq!(said("loss<1%", &limited), (Verdict::Missed, "refused 2.9 %".into()));
    let both = Seen { unanswered: 400, lost: 100, sent: 10_400, ..limited };
    let either = "p99 among requests refused (300) or not answered in time (100) of 10400";
    assert_eq!(said("p99<1h", &both), (Verdict::Missed, either.into()));
    assert_eq!(said("loss<1%", &both), (Verdict::Missed, "loss 0.962 %, refused 2.9 %".into()));
    assert_eq!(said("loss<4%", &both).0, Verdict::Met);
}

#[test_case(10, Verdict::Missed, "loss 0.100 %"; "as many as may just not be")]
#[test_case(9, Verdict::Met, ""; "one fewer")]
fn losses_are_counted_and_not_rounded(lost: u64, verdict: Verdict, missed: &str) {
    assert_eq!(said("loss<0.1%", &Seen { lost, ..sound() }), (verdict, missed.to_owned()));
    assert_eq!(said("loss<=0.1%", &Seen { lost, ..sound() }).0, Verdict::Met);
}

#[test]
fn what_our_own_side_did_not_send_is_told_apart() {
    let slow = Seen { achieved: 0.998_9, lost: 5_000, ..sound() };
    let (verdict, missed) = said("loss<0.1%", &slow);
    assert_eq!((verdict, missed.as_str()), (Verdict::OurSide, "loss 50.0 %, sent 99.89 % of the rate"));
    assert_eq!(said("loss<0.1%", &Seen { achieved: 0.999, ..sound() }).0, Verdict::Met);
    assert_eq!(said("loss<0.1%,achieved>=99%", &Seen { lost: 0, ..slow }).0, Verdict::Met);
    let held = Seen { achieved: 0.95, held: true, ..sound() };
    let why = "sent 95.0 % of the rate: the path accepted no more";
    assert_eq!(said("loss<0.1%", &held), (Verdict::Missed, why.to_owned()), "the path's doing, not ours");
    let nothing = Seen { achieved: 0.0, sent: 0, response: Ranked::exact(vec![]), ..sound() };
    assert_eq!(said("loss<0.1%", &nothing).0, Verdict::OurSide);
}

#[test]
fn losses_that_our_own_bunches_explain_say_nothing_of_the_path() {
    let stalled = Seen { lost: 12, bunched: 12, ..sound() };
    let (verdict, why) = said("loss<0.1%", &stalled);
    assert_eq!(
        (verdict, why.as_str()),
        (Verdict::Bunched, "loss 0.120 %, 12 sent in bunches, because this host was late")
    );
    assert_eq!(said("loss<0.1%", &Seen { bunched: 11, ..stalled.clone() }).0, Verdict::Missed, "one too many for that");
    assert_eq!(said("loss<0.1%,p50<1ms", &stalled).0, Verdict::Missed, "a bunch does not move the median");
    assert_eq!(said("loss<0.2%", &stalled).0, Verdict::Met);
    assert_eq!(said("loss<0.1%", &Seen { achieved: 0.9, tried: 0.9, ..stalled }).0, Verdict::OurSide);
}

/// A queue of our own interface tells each message that it does not take, so none is lost beyond it.
#[test]
fn what_our_own_interface_refused_of_a_bunch_says_nothing_of_its_rate() {
    let stalled = Seen { achieved: 0.996, refused: 40, bunched: 48, sent: 9_960, ..sound() };
    let (verdict, why) = said("loss<0.1%", &stalled);
    assert_eq!(
        (verdict, why.as_str()),
        (Verdict::Bunched, "sent 99.60 % of the rate, 48 sent in bunches, because this host was late")
    );
    assert_eq!(
        said("loss<0.1%", &Seen { bunched: 39, ..stalled.clone() }).0,
        Verdict::OurSide,
        "one too many for that"
    );
    assert_eq!(
        said("loss<0.1%", &Seen { lost: 9, ..stalled.clone() }).0,
        Verdict::OurSide,
        "with what was lost as well"
    );
    assert_eq!(said("loss<0.1%", &Seen { tried: 0.998, ..stalled.clone() }).0, Verdict::OurSide, "not even tried");
    assert_eq!(said("loss<0.1%", &Seen { held: true, ..stalled }).0, Verdict::Missed, "held back by a socket");
}

#[test_case("p99<1ms", 1, 1_000; "ten beyond, and a thousand to tell 99.9 % sent")]
#[test_case("p99<1ms", 100, 100_000; "of every hundredth message")]
#[test_case("p99.9<1ms", 1, 10_000)]
#[test_case("loss<0.1%", 100, 3_000; "the rule of three")]
#[test_case("loss<=0%", 1, 3_000; "none can never be shown")]
fn a_condition_says_how_many_messages_it_takes(text: &str, reply_every: u32, messages: u64) {
    assert_eq!(condition(text).needed(reply_every), messages);
}

#[test]
fn only_a_response_time_sees_a_queue() {
    let asks = |text: &str| condition(text).asks_a_time();
    assert!(asks("p99<1ms,loss<1%") && asks("mean<1ms") && !asks("loss<0.1%") && !asks("loss<0.1%,slip<1ms"));
}

proptest! {
    #[test]
    fn no_text_is_misread(text in "[p0-9.a-z<>=%, ]{0,40}") {
        if let Ok(read) = text.parse::<Condition>() {
            prop_assert_eq!(read.to_string().parse::<Condition>(), Ok(read));
        }
    }
}
