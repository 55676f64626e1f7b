//! A virtual clock and packets whose fates are counted beside.

use test_case::test_case;

use super::*;

const GAP: Nanos = Nanos::micros(100);

/// Sends `count` packets of 1000 bytes, one a [`GAP`], and lets all of them arrive: their numbers and times on the way.
fn cross(line: &mut Line, count: u64) -> Vec<(u64, Nanos)> {
    let mut came = Vec::new();
    let sent_at = |number: u64| Instant(1_000_000_000 + number * GAP.0);
    let arrive = |line: &mut Line, until: Instant, came: &mut Vec<(u64, Nanos)>| {
        while let Some(due) = line.due().filter(|due| *due <= until) {
            let packet = line.leave(until).expect("due");
            let number = u64::from_be_bytes(packet.bytes()[..8].try_into().expect("8 bytes"));
            came.push((number, due.since(sent_at(number)).expect("after it was sent")));
            line.left(packet, true);
        }
    };
    for number in 0..count {
        let mut packet = [0; 1_000];
        packet[..8].copy_from_slice(&number.to_be_bytes());
        arrive(line, sent_at(number), &mut came);
        line.take(sent_at(number), &packet);
    }
    arrive(line, Instant(u64::MAX), &mut came);
    came
}

fn balance(counts: Counts) {
    let Counts { lost, dropped, delivered, refused, held, .. } = counts;
    assert_eq!(counts.taken + counts.duplicated, lost + dropped + delivered + refused + held, "{counts:?}");
}

fn line(impairment: Impairment) -> Line {
    Line::new(impairment, 7, 0)
}

#[test]
fn a_link_without_faults_passes_all_at_once() {
    let mut line = line(Impairment::default());
    let came = cross(&mut line, 100);
    assert!(came.iter().copied().eq((0..100).map(|number| (number, Nanos::ZERO))));
    assert_eq!((line.counts().delivered, line.counts().delivered_bytes), (100, Bytes(100_000)));
}

#[test]
fn a_delay_is_exact_and_keeps_the_order() {
    let came = cross(&mut line(Impairment { delay: Nanos::millis(10), ..Impairment::default() }), 500);
    assert!(came.iter().copied().eq((0..500).map(|number| (number, Nanos::millis(10)))));
}

#[test]
fn jitter_stays_within_its_bounds_and_reaches_near_them() {
    let impairment = Impairment { delay: Nanos::millis(10), jitter: Nanos::millis(2), ..Impairment::default() };
    let times: Vec<Nanos> = cross(&mut line(impairment), 10_000).into_iter().map(|(_, time)| time).collect();
    let (least, most) = (times.iter().min().copied().unwrap(), times.iter().max().copied().unwrap());
    assert!((Nanos::millis(8)..Nanos::micros(8_010)).contains(&least), "{least}");
    assert!((Nanos::micros(11_990)..Nanos::millis(12)).contains(&most), "{most}");
}

/// 10,000 packets of a share of 0.1: five standard deviations are 150.
#[test_case(Impairment { loss: 0.1, ..Impairment::default() }, |counts| counts.lost; "loss")]
#[test_case(Impairment { duplicate: 0.1, ..Impairment::default() }, |counts| counts.duplicated; "duplication")]
#[test_case(Impairment { reorder: 0.1, delay: Nanos::millis(1), ..Impairment::default() }, |counts| counts.reordered; "reordering")]
fn chance_has_the_share_it_was_given_and_is_counted(impairment: Impairment, of: fn(Counts) -> u64) {
    let mut one = line(impairment);
    let came = cross(&mut one, 10_000);
    let counts = one.counts();
    balance(counts);
    assert!(of(counts).abs_diff(1_000) < 150, "{counts:?}");
    assert_eq!(came.len() as u64, 10_000 - counts.lost + counts.duplicated);
    let early = came.iter().filter(|(_, time)| *time < impairment.delay).count() as u64;
    assert_eq!(early, counts.reordered);
    // The same seed repeats the fates; the other direction has its own.
    assert_eq!(cross(&mut line(impairment), 10_000), came);
    assert_ne!(cross(&mut Line::new(impairment, 7, 1), 10_000), came);
}

#[test]
fn a_queue_waits_as_long_as_its_bytes_take_and_drops_the_rest() {
    // 80 Mbit/s come; 40 pass. 20 packets of 1000 bytes wait 4 ms at most.
    let impairment = Impairment { bits_per_s: Some(40_000_000), queue: Bytes(20_000), ..Impairment::default() };
    let mut line = line(impairment);
    let came = cross(&mut line, 1_000);
    balance(line.counts());
    let longest = came.iter().map(|(_, time)| *time).max().unwrap();
    assert_eq!(longest, Nanos::millis(4));
    // While 1000 packets come, 500 pass; those in the queue pass then.
    assert!(line.counts().delivered.abs_diff(520) <= 1, "{:?}", line.counts());
    assert_eq!(came[0].1, Nanos::micros(200), "a line takes its time of a packet alone, too");
}

#[test]
fn without_a_queue_passes_what_finds_the_line_free() {
    // A packet takes twice the time between two.
    let mut line = line(Impairment { bits_per_s: Some(40_000_000), ..Impairment::default() });
    let came = cross(&mut line, 100);
    assert!(came.iter().copied().eq((0..100).step_by(2).map(|number| (number, Nanos::micros(200)))), "{came:?}");
    assert_eq!(line.counts().dropped, 50);
    balance(line.counts());
}

#[test]
fn what_is_underway_at_the_end_is_held() {
    let mut line = line(Impairment { delay: Nanos::secs(1), ..Impairment::default() });
    line.take(Instant(5), &[0; 20]);
    assert!(line.leave(Instant(6)).is_none());
    assert_eq!(line.counts().held, 1);
    balance(line.counts());
    let packet = line.leave(Instant(2_000_000_000)).unwrap();
    line.left(packet, false);
    assert_eq!((line.counts().held, line.counts().refused), (0, 1));
}

#[test]
fn where_one_protocol_is_meant_the_others_pass_at_once() {
    let impairment = Impairment { delay: Nanos::millis(1), only: Some(Protocol::Icmp), ..Impairment::default() };
    let mut line = line(impairment);
    let packet = |version: u8, number: u8| {
        let mut packet = vec![0; 60];
        packet[0] = version << 4;
        packet[if version == 4 { 9 } else { 6 }] = number;
        packet
    };
    let mut delay = |packet: &[u8]| {
        line.take(Instant(5), packet);
        let due = line.due().expect("underway");
        let packet = line.leave(due).expect("due");
        line.left(packet, true);
        due.since(Instant(5)).expect("later")
    };
    for (version, number) in [(4, 1), (6, 58)] {
        assert_eq!(delay(&packet(version, number)), Nanos::millis(1), "{version}: {number}");
    }
    for (version, number) in [(4, 6), (4, 17), (6, 6), (6, 17), (4, 132), (9, 1)] {
        assert_eq!(delay(&packet(version, number)), Nanos::ZERO, "{version}: {number}");
    }
    assert_eq!(delay(&[0x45]), Nanos::ZERO, "too short to tell");
    balance(line.counts());
}
