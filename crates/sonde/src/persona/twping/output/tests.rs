//! Texts of known records, in the forms of the original's source.

use super::*;
use crate::persona::twping::options::Mode;

const AT: u64 = 1_700_000_000_123_000_000;

fn estimate(synchronised: bool) -> ErrorEstimate {
    // 100 at 2^(14 - 32) s are 381 µs.
    ErrorEstimate { synchronised, format: Format::Ntp, scale: 14, multiplier: 100 }
}

fn session() -> Session {
    let place = |host: &str, address: &str, port: &str| Place {
        host: host.to_owned(),
        address: address.to_owned(),
        port: port.to_owned(),
    };
    Session {
        from: place("192.0.2.1", "192.0.2.1", "8760"),
        to: place("db1", "192.0.2.2", "9000"),
        id: Some(*b"\xc0\x00\x02\x02\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b"),
        ours: estimate(true),
        class: 46,
        timeout: Nanos::millis(2_500),
        padding: 27,
        count: 3,
        is_finished: true,
        zone: TimeZone::UTC,
    }
}

fn form() -> Form {
    let unit = Unit { name: "ms", of_a_second: 1e3 };
    Form { mode: Mode::Text, unit, percentiles: vec![90.0], bucket: 0.0001, part: None, lines: u32::MAX, unix: false }
}

/// An answer to a packet that took so many microseconds there, at the far side and back.
fn reply(seq: u32, [there, held, back]: [u64; 3], left: u8) -> Record {
    let sent = AT + u64::from(seq) * 100_000_000;
    let received = sent + there * 1_000;
    let times = FourTimes { sent, received, left: received + held * 1_000, came: received + (held + back) * 1_000 };
    Record::Reply(Reply { seq, own: seq, times, theirs: estimate(true), times_to_live: [Some(left), Some(252)] })
}

fn records() -> [Record; 3] {
    [
        reply(0, [1_250, 15, 1_430], 253),
        reply(1, [1_310, 20, 1_390], 252),
        Record::Lost { seq: 2, at: AT + 200_000_000 },
    ]
}

fn part(ours: ErrorEstimate) -> Part {
    Part { packets: 3, due: (AT, AT + 200_000_000), figures: Figures::of(&records(), ours, 0.0001) }
}

const HEAD: &str = "\n--- twping statistics from [192.0.2.1]:8760 to [db1]:9000 ---\nSID:\tc00002020001020304050607\
                    08090a0b\n";

#[test]
fn the_summary_is_that_of_the_original() {
    let expected = format!(
        "{HEAD}first:\t2023-11-14T22:13:20.123\nlast:\t2023-11-14T22:13:20.323\n\
         3 sent, 1 lost (33.333%), 0 send duplicates, 0 reflect duplicates\n\
         round-trip time min/median/max = 2.68/2.8/2.7 ms, (err=1.53 ms)\n\
         send time min/median/max = 1.25/1.4/1.31 ms, (err=0.763 ms)\n\
         reflect time min/median/max = 1.39/1.5/1.43 ms, (err=0.763 ms)\n\
         reflector processing time min/max = 0.015/0.02 ms\n\
         two-way jitter = nan ms (P95-P50)\nsend jitter = nan ms (P95-P50)\nreflect jitter = nan ms (P95-P50)\n\
         Percentiles:\n\t90.0: nan ms\n\
         send hops takes 2 values; min hops = 2, max hops = 3\nreflect hops = 3 (consistently)\n\n"
    );
    assert_eq!(summary(&session(), &part(estimate(true)), &form()), expected);
}

#[test]
fn clocks_that_are_not_kept_leave_the_round_trip_and_the_variation() {
    let session = Session { id: None, ours: estimate(false), ..session() };
    let answered = Figures::of(&records()[..2], estimate(false), 0.0001);
    let part = Part { figures: answered, ..part(estimate(false)) };
    let text = summary(&session, &part, &Form { percentiles: Vec::new(), ..form() });
    let expected = "ms, (unsync)\nsend time min/median/max = nan/nan/nan ms, (unsync)\n\
                    reflect time min/median/max = nan/nan/nan ms, (unsync)\n\
                    reflector processing time min/max = 0.015/0.02 ms\ntwo-way jitter = 0.1 ms (P95-P50)\n\
                    send jitter = 0.1 ms (P95-P50)\nreflect jitter = 0.1 ms (P95-P50)\nsend hops";
    assert!(text.contains(expected) && !text.contains("SID") && text.contains("time min/median/max = 2.68/"), "{text}");
}

#[test]
fn a_session_without_answers_has_no_times() {
    let lost = [Record::Lost { seq: 0, at: AT }];
    let part = Part { figures: Figures::of(&lost, estimate(true), 0.0001), ..part(estimate(true)) };
    let text = summary(&session(), &part, &form());
    assert!(text.contains("1 sent, 1 lost (100.000%), 0 send"), "{text}");
    assert!(text.contains("round-trip time min/median/max = nan/nan/nan ms, (err=0.381 ms)\n"), "{text}");
    assert!(text.ends_with("send TTL not reported\nreflect TTL not reported\n\n"), "{text}");
}

#[test]
fn packets_have_a_line_each() {
    let [first, _, lost] = records();
    let told = |record: &Record, ours: bool, unix: bool| line(record, &Form { unix, ..form() }, estimate(ours));
    assert_eq!(
        told(&first, true, false),
        "seq_no=0          fwd_delay=1.25 ms bck_delay=1.43 ms delay=2.68 ms proc_delay=0.015 ms\t(err=1.53 ms)\n"
    );
    assert_eq!(
        told(&first, false, false),
        "seq_no=0          fwd_delay=nan ms bck_delay=nan ms delay=2.68 ms proc_delay=0.015 ms\t(unsync)\n"
    );
    assert_eq!(
        told(&first, true, true),
        "seq_no=0 fwd_delay=1.250000e+00 ms bck_delay=1.430000e+00 ms delay=2.680000e+00 ms proc_delay=1.500000e-02 ms \
         (err=1.53 ms) sent=1700000000.123000 recv=1700000000.124250 reflected=1700000000.124265 recv=1700000000.125695\n"
    );
    assert_eq!(told(&lost, true, false), "seq_no=2          *LOST*\n");
}

#[test]
fn lines_of_numbers_have_what_both_clocks_say() {
    let time = |at: u64| u64::from_be_bytes(Format::Ntp.encode(at));
    let [first, _, lost] = records();
    let (sent, received, left, came) = (time(AT), time(AT + 1_250_000), time(AT + 1_265_000), time(AT + 2_695_000));
    assert_eq!(
        raw(&first, estimate(false)),
        format!(
            "0 {sent:020} 0 0.00038147 {received:020} 1 0.00038147 253 0 {left:020} 1 0.00038147 {came:020} 0 \
             0.00038147 252\n"
        )
    );
    assert!(sent.to_string().len() == 20, "as wide as the form");
    let none = "00000000000000000000 1 0.00038147";
    assert_eq!(
        raw(&lost, estimate(true)),
        format!("2 {:020} 0 2.32831e-10 {none} 255 0 {none} {none} 255\n", time(AT + 200_000_000))
    );
}

#[test]
fn programs_get_names_and_values() {
    let time = |at: u64| u64::from_be_bytes(Format::Ntp.encode(at));
    let expected = format!(
        "SUMMARY\t3.00\nSID\tc0000202000102030405060708090a0b\nFROM_HOST\t192.0.2.1\nFROM_ADDR\t192.0.2.1\n\
         FROM_PORT\t8760\nTO_HOST\tdb1\nTO_ADDR\t192.0.2.2\nTO_PORT\t9000\nSTART_TIME\t{:020}\nEND_TIME\t{:020}\n\
         DSCP\t0x2e\nLOSS_TIMEOUT\t10737418240\nPACKET_PADDING\t27\nSESSION_PACKET_COUNT\t3\nSAMPLE_PACKET_COUNT\t3\n\
         BUCKET_WIDTH\t0.0001\nSESSION_FINISHED\t1\nSENT\t3\nSYNC\t1\nMAXERR\t0.00152588\nMAXERR_FWD\t0.000762939\n\
         MAXERR_BCK\t0.000762939\nDUPS_FWD\t0\nDUPS_BCK\t0\nLOST\t1\nMIN\t0.00268\nMIN_FWD\t0.00125\nMIN_BCK\t0.00139\n\
         MIN_PROC\t1.5e-05\nMEDIAN\t0.0028\nMEDIAN_FWD\t0.0014\nMEDIAN_BCK\t0.0015\nMAX\t0.0027\nMAX_FWD\t0.00131\n\
         MAX_BCK\t0.00143\nMAX_PROC\t2e-05\n<BUCKETS>\n\t13\t0\t1\t0\n\t14\t0\t1\t1\n\t15\t0\t0\t1\n\t27\t1\t0\t0\n\
         \t28\t1\t0\t0\n</BUCKETS>\nMINTTL_FWD\t252\nMAXTTL_FWD\t253\nMINTTL_BCK\t252\nMAXTTL_BCK\t252\n<TTLBUCKETS>\n\t252\t1\t2\n\
         \t253\t1\t0\n</TTLBUCKETS>\n\n",
        time(AT),
        time(AT + 200_000_000)
    );
    assert_eq!(machine(&session(), &part(estimate(true)), &form()), expected);
}

#[test]
fn programs_are_told_no_delay_of_clocks_that_are_not_kept() {
    let session = Session { ours: estimate(false), ..session() };
    let text = machine(&session, &part(estimate(false)), &Form { unix: true, ..form() });
    assert!(text.contains("\nSYNC\t0\nDUPS_FWD\t0\n") && text.contains("\nMIN\t0.00268\nMIN_PROC\t"), "{text}");
    assert!(text.contains("<BUCKETS>\n\t27\t1\t0\t0\n\t28\t1\t0\t0\n</BUCKETS>\n"), "{text}");
    assert!(text.contains("\nUNIX_START_TIME\t1700000000.123000\nUNIX_END_TIME\t1700000000.323000\nDSCP"), "{text}");
}

#[test]
fn contradicting_clocks_are_told_of() {
    let figures = Figures { contradicts: true, ..Figures::of(&records(), estimate(true), 0.0001) };
    let text = summary(&session(), &Part { figures, ..part(estimate(true)) }, &form());
    assert!(
        text.starts_with("\nDirectional delays may be inaccurate due to out of sync clocks!\n\n--- twping"),
        "{text}"
    );
}

#[test]
fn the_announcement_has_tenths() {
    assert_eq!(announcement(12.04), "Approximately 12.0 seconds until results available\n");
}
