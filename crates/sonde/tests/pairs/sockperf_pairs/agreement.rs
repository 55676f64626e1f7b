//! Agreement of the values of a result with each other.

/// The number behind the first `before`.
pub fn number(text: &str, before: &str) -> Option<f64> {
    let (_, rest) = text.split_once(before)?;
    let rest = rest.trim_start();
    let end = rest.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '-')).unwrap_or(rest.len());
    rest[..end].parse().ok()
}

fn needed(text: &str, before: &str) -> Result<f64, String> {
    number(text, before).ok_or_else(|| format!("there is no number behind {before:?}"))
}

/// All that is wrong with the values of a client that measured latency. `asks`: each so many-th message asks.
pub fn latency(text: &str, asks: u64) -> Result<(), String> {
    // Behind the last slot lie dropped ones that left while the last answer was on its way, for the longest round trip at most; of a
    // ping-pong none is on its way then. Late ones do not: each socket's order is its own.
    latency_with(text, asks, if asks > 1 { |way, dropped, _| f64::min(way, dropped) } else { |_, _, _| 0.0 })
}

/// The same of the original, which on a busy host counts as dropped or late also what left long behind the last answer.
pub fn latency_of_the_original(text: &str, asks: u64) -> Result<(), String> {
    latency_with(text, asks, |_, dropped, late| dropped + late)
}

/// `behind` says how many beyond the slots there may be, of those under way at the end, those dropped, and those late.
fn latency_with(text: &str, asks: u64, behind: fn(f64, f64, f64) -> f64) -> Result<(), String> {
    let (total, valid) = text.split_once("[Valid Duration]").ok_or("there is no valid duration")?;
    let (sent, received) = (needed(total, "SentMessages=")?, needed(total, "ReceivedMessages=")?);
    let (valid_sent, observations) = (needed(valid, "SentMessages=")?, needed(valid, "ReceivedMessages=")?);
    let average = needed(valid, "avg-latency=").or_else(|_| needed(valid, "avg-rtt="))?;
    let summary = needed(valid, "Latency is")
        .or_else(|_| needed(valid, "messages is"))
        .or_else(|_| needed(valid, "Round trip is"))?;
    let (dropped, late) = (needed(valid, "dropped messages =")?, needed(valid, "out-of-order messages =")?);
    let mut order: Vec<f64> = vec![needed(valid, "<MAX> observation =")?];
    for name in ["99.999", "99.990", "99.900", "99.000", "90.000", "75.000", "50.000", "25.000"] {
        order.extend(number(valid, &format!("percentile {name} =")));
    }
    order.push(needed(valid, "<MIN> observation =")?);
    // Every asks-th of the valid messages is a slot, from the first to the last.
    let slots = ((valid_sent - 1.0) / asks as f64).floor() + 1.0;
    // A client that stood still sends at once what became due meanwhile: what its valid time lacks at the rate of the whole.
    let (run, valid_run) = (needed(total, "RunTime=")?, needed(valid, "RunTime=")?);
    let lacking = (sent / run * valid_run - valid_sent).max(0.0);
    let way = (valid_sent / valid_run * 2.0 * order[0] / 1e6 + lacking) / asks as f64 + 1.0;
    let behind = behind(way, dropped, late);
    let rules = [
        (received <= sent / asks as f64 + 1.0, "more was received than asked for"),
        (valid_sent <= sent && observations <= received, "the valid time is more than the whole"),
        ((average - summary).abs() < 0.000_1, "the summary is not the average"),
        (needed(valid, "Total")? == observations, "observations are not those received"),
        ((needed(valid, "percentile contains")? - observations / 100.0).abs() < 0.006, "a percentile is a hundredth"),
        (order.windows(2).all(|pair| pair[0] >= pair[1]), "percentiles rise"),
        (average <= order[0] && average >= order[order.len() - 1], "the average lies outside"),
        (
            (-0.5..behind + 0.5).contains(&(observations + dropped + late - slots)),
            "slots are neither answered, nor dropped, nor late",
        ),
        // The last answers may come behind the end, for so long at the most.
        (run + 1.0 >= valid_run, "the valid time is longer than the whole"),
    ];
    broken(&rules)
}

/// All that is wrong with the values of a client that only sent, messages of `bytes`.
pub fn throughput(text: &str, bytes: f64) -> Result<(), String> {
    let (sent, seconds) = (needed(text, "Total of")?, needed(text, "messages sent in")?);
    let (rate, mebibytes) = (needed(text, "Message Rate is")?, needed(text, "BandWidth is")?);
    // Giga are thousands of mebi.
    let (name, unit) = if text.contains(" GBps (") { ("GBps (", 1_000.0) } else { ("MBps (", 1.0) };
    let bits = needed(text, name)?;
    let expected = rate * bytes / 1024.0 / 1024.0 / unit;
    let packets = number(text, "Packet Rate is about").zip(number(text, " [pkt/sec] ("));
    let rules = [
        // Seconds are printed to the millisecond.
        ((rate / (sent / seconds) - 1.0).abs() < 0.002 + 1.0 / rate, "the rate is messages over time"),
        ((mebibytes - expected).abs() < 0.001 + expected * 1e-4, "the bandwidth is rate times size"),
        ((bits - mebibytes * 8.0).abs() < 0.01, "bits are bytes times 8"),
        (
            packets.is_none_or(|(packets, each)| (packets / (rate * each) - 1.0).abs() < 0.001 + 1.0 / rate),
            "packets are messages times their packets",
        ),
    ];
    broken(&rules)
}

fn broken(rules: &[(bool, &str)]) -> Result<(), String> {
    let wrong: Vec<&str> = rules.iter().filter(|(holds, _)| !holds).map(|(_, what)| *what).collect();
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("; ")) }
}

#[test]
fn the_originals_values_agree_and_changed_ones_do_not() {
    let text = crate::sockperf_pairs::forms::model("02-pingpong-udp");
    let text = crate::sockperf_pairs::forms::told(&text);
    assert_eq!(latency(&text, 1), Ok(()));
    for (from, to) in [
        ("Latency is ", "Latency is 1"),
        ("percentile 50.000 =", "percentile 50.000 = 9"),
        ("dropped messages = ", "dropped messages = 1"),
    ] {
        assert!(latency(&text.replacen(from, to, 1), 1).is_err(), "{from}");
    }
    let text = crate::sockperf_pairs::forms::told(&crate::sockperf_pairs::forms::model("03-underload-udp-10k"));
    assert_eq!(latency(&text, 10), Ok(()));
    let dropped = crate::sockperf_pairs::forms::told(&crate::sockperf_pairs::forms::model("04-underload-udp-100k"));
    assert_eq!((latency(&dropped, 10), latency_of_the_original(&dropped, 10)), (Ok(()), Ok(())));
    for other in ["dropped messages = 77;", "dropped messages = 1781;"] {
        assert!(latency(&dropped.replace("dropped messages = 781;", other), 10).is_err(), "{other}");
    }
    let fewer = dropped.replace("dropped messages = 781;", "dropped messages = 77;");
    assert!(latency_of_the_original(&fewer, 10).is_err(), "none may lack");
    let text = crate::sockperf_pairs::forms::told(&crate::sockperf_pairs::forms::model("14-throughput-udp-max-2"));
    assert_eq!(throughput(&text, 1_472.0), Ok(()));
    assert!(throughput(&text, 1_470.0).is_err());
}
