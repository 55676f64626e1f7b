//! Faults of our output in a transcript's place.

use testbed::form::{differences, same_line};
use testbed::process::Ended;

use super::Plan;
use super::read::{Transcript, file};
use crate::sockperf_pairs::agreement::{self, number};
use crate::sockperf_pairs::forms::{compared, told};

/// Lines that `-d` has the original print, which ours does not.
const DEBUGGING: [&str; 5] = ["sockperf: +INFO", "\t", "sockperf: thread", "sockperf: [fd=", "sockperf: testStart"];

/// A text less what is a matter of how long it went on, and of what was measured: signs of life stand once, a histogram not
/// at all.
fn prepared(text: &str) -> String {
    let mut lines: Vec<&str> = Vec::new();
    let plain = text.split_once("sockperf: [Histogram]").map_or(text, |(before, _)| before);
    for line in plain.lines().filter(|line| !DEBUGGING.iter().any(|begin| line.starts_with(begin))) {
        let is_sign = |line: &str| line.ends_with(" [msg]") || line.trim_start().starts_with("-- Interval --");
        if is_sign(line) && lines.iter().any(|before| is_sign(before) && same_line(before, line).is_ok()) {
            continue;
        }
        let line = without_skipped(line);
        let is_dots = !line.is_empty() && line.chars().all(|letter| letter == '.');
        lines.push(if is_dots { "." } else { line });
    }
    lines.into_iter().flat_map(|line| [line, "\n"]).collect()
}

/// A line without how many messages were left out, which is told where any were.
fn without_skipped(line: &str) -> &str {
    let begin = if line.ends_with(" messages skipped)") { line.rfind(" (") } else { line.find("; SkippedMessages=") };
    begin.map_or(line, |at| &line[..at])
}

/// Output expected of ours where it differs on purpose: a connection is waited for, so its end is reported.
fn model(of: &Transcript) -> String {
    of.stdout.replace("socket. fd=3 (errno=115 Operation now in progress)", "socket (errno=111 Connection refused)")
}

/// A text with the same port behind each address of this host: which it was is a matter of the run. A shorter one had more
/// blanks behind it.
fn without_ports(text: &str) -> String {
    let mut parts = text.split("127.0.0.");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |told, part| {
        let (address, rest) = part.split_once(':').unwrap_or((part, ""));
        let digits = rest.chars().take_while(char::is_ascii_digit).count();
        if digits == 0 || address.len() > 3 {
            return told + "127.0.0." + part;
        }
        let (behind, rest) = (&rest[digits..], 5_usize.saturating_sub(digits));
        let padded = behind.strip_prefix(']').and_then(|rest_of| rest_of.strip_prefix(&*" ".repeat(rest)));
        let behind = padded.map_or_else(|| behind.to_owned(), |rest| format!("]{rest}"));
        told + "127.0.0." + address + ":PORT" + &behind
    })
}

fn form(of: &Transcript, model: &str, seen: &str) -> Vec<String> {
    let [model, seen] = [model, seen].map(|text| without_ports(&prepared(text)));
    compared(&model, &seen, of.is_three_seven, false)
}

/// Faults of a client that ran. `nothing`: it had nobody to measure with.
pub fn client(of: &Transcript, ended: &Ended, status: i32, nothing: bool) -> Vec<String> {
    let mut wrong = form(of, &model(of), &ended.stdout);
    if ended.overdue || ended.code != Some(status) {
        wrong.push(format!("ended otherwise than with {status}"));
    }
    if nothing {
        wrong.extend(ended.stderr.is_empty().then(|| "nothing is said of why".to_owned()));
    } else {
        wrong.extend(values(of, &told(&ended.stdout)));
    }
    wrong
}

/// Disagreements between the values of a client.
fn values(of: &Transcript, text: &str) -> Vec<String> {
    let throughput = ["throughput", "tp"].contains(&&*of.words[0]);
    let asks = if ["ping-pong", "pp"].contains(&&*of.words[0]) { 1 } else { of.number("--reply-every").unwrap_or(100) };
    let bytes = of.number("-m").or_else(|| of.number("--msg-size")).unwrap_or(14) as f64;
    let agreed = if throughput { agreement::throughput(text, bytes) } else { agreement::latency(text, asks) };
    let mut wrong: Vec<String> = agreed.err().into_iter().collect();
    let asked = of.number("--mps").or_else(|| of.number("--pps")).zip(of.number("-t"));
    if let (Some((rate, seconds)), Some(sent)) = (asked, sent_of(text)) {
        // The time that is left out at both ends comes on top, and one message leaves at once.
        let seconds = seconds as f64 + if throughput { 0.0 } else { 0.45 };
        let most = (rate as f64 * seconds).floor() + of.number("-b").unwrap_or(1) as f64;
        wrong.extend((sent > most).then(|| format!("{sent} were sent, of {most} due")));
    }
    wrong.extend(histogram(of, text));
    wrong
}

/// Rows of a histogram: two edges, signs, and whether they are outliers.
fn histogram(of: &Transcript, text: &str) -> Option<String> {
    of.value("--histogram")?;
    let Some((_, rows)) = text.split_once("sockperf: [Histogram] Display ") else {
        return Some("no histogram".to_owned());
    };
    let mut rows = rows.lines().skip(1);
    let names = rows.next().is_some_and(|line| line.split_whitespace().eq(["sockperf:", "bins", "frequency"]));
    let is_row = |line: &str| {
        let mut words = line.split_whitespace().skip(1);
        let edges = words.next().and_then(|edges| edges.split_once('-'));
        let edges = edges.and_then(|(low, high)| Some((low.parse::<u64>().ok()?, high.parse::<u64>().ok()?)));
        let signs = words.next().is_some_and(|signs| signs.chars().all(|letter| letter == '#'));
        edges.is_some_and(|(low, high)| low <= high) && signs && words.next().is_none_or(|word| word == "(outliers)")
    };
    let rows: Vec<&str> = rows.collect();
    let sound = names && !rows.is_empty() && rows.iter().all(|row| is_row(row));
    (!sound).then(|| format!("no such histogram: {rows:?}"))
}

/// Messages that a client says it sent.
pub fn sent(ended: &Ended) -> Option<f64> {
    sent_of(&told(&ended.stdout))
}

fn sent_of(text: &str) -> Option<f64> {
    number(text, "SentMessages=").or_else(|| number(text, "Total of"))
}

/// Faults of a server's output.
pub fn server(of: &Transcript, said: &str) -> Vec<String> {
    let wrong = form(of, &of.stdout, said);
    if wrong.is_empty() { wrong } else { vec![format!("{}: {}\n{said}", of.name, wrong.join("\n"))] }
}

/// Fault of a server's count, against the messages that its clients sent.
pub fn counted(counted: Option<u64>, sent: f64, tcp: bool, clients: usize) -> Option<String> {
    let counted = counted.unwrap_or(0) as f64;
    // Nothing is lost on a connection; the last message may have left in part where sends do not wait.
    let least = if tcp { sent - clients as f64 } else { 1.0 };
    let sound = (least..=sent).contains(&counted);
    (!sound).then(|| format!("the server took {counted} of {sent} messages"))
}

/// Faults of a full log: its head, with the names and the first row of values.
pub fn log(of: &Transcript, words: &[String]) -> Vec<String> {
    // A histogram in the log follows the width of a screen.
    let Some((name, None)) = of.value("--full-log").map(|name| (name, of.value("--histogram"))) else { return vec![] };
    let path = words.iter().find(|word| word.ends_with(name)).expect("a path");
    let seen = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) => return vec![format!("{path}: {error}")],
    };
    let head = |text: &str| {
        let until = text.lines().position(|line| line.starts_with("packet, ")).unwrap_or_default();
        text.lines().take(until + 2).flat_map(|line| [line, "\n"]).collect::<String>()
    };
    compared(&head(&file(&format!("{}.{name}", of.name))), &head(&seen), of.is_three_seven, false)
}

/// Faults of a client whose server went away: the results until then stand in front of the error, where the original has
/// nothing.
pub fn cut_short(of: &Transcript, ended: &Ended) -> Vec<String> {
    let text = told(&ended.stdout);
    let Some((before, (result, error))) =
        text.split_once("sockperf: Test end ").and_then(|(before, rest)| Some((before, rest.split_once("ADDR = ")?)))
    else {
        return vec!["there is no result, or no error".to_owned()];
    };
    let mut wrong = form(of, &of.stdout, &format!("{before}ADDR = {error}"));
    wrong.extend(values(of, result));
    wrong.extend((ended.overdue || ended.code != Some(of.status)).then(|| format!("not status {}", of.status)));
    wrong
}

/// Faults of a run that is refused, or that asks for the version or help.
pub fn refusal(of: &Transcript, ended: &Ended, plan: Plan) -> Vec<String> {
    let first = |text: &str| text.lines().next().unwrap_or_default().trim_end().to_owned();
    let model = first(&of.stdout);
    let (status, sound) = match plan {
        Plan::FirstLine => {
            let what = |line: String| line.split(" version ").next().map(str::to_owned);
            (0, what(first(&ended.stdout)) == what(model))
        }
        Plan::Refused(sentence) => (1, ended.stdout.is_empty() && ended.stderr.contains(sentence)),
        // A file that lacks is told on standard output, by a status of its own.
        _ if of.status != 0 => (of.status, differences(&of.stdout, &ended.stdout).is_empty()),
        // The original looks a name up before it says whom it is; of what it does not know it prints the help alone.
        _ => {
            let is_help = !model.starts_with("sockperf: ") && !model.starts_with("Option ");
            let named = of.words.last().is_some_and(|word| ended.stderr.contains(&**word));
            (1, !ended.stderr.is_empty() && (is_help || named || first(&ended.stderr) == model))
        }
    };
    let mut wrong = Vec::new();
    wrong.extend((ended.overdue || ended.code != Some(status)).then(|| format!("not status {status}")));
    wrong.extend((!sound).then(|| format!("it does not say {:?}", first(&of.stdout))));
    wrong
}

#[test]
fn a_transcript_is_as_it_should_be_and_a_changed_one_is_not() {
    let of = Transcript::of("23-activity-2");
    let ended = |stdout: String| Ended {
        code: Some(0),
        overdue: false,
        stdout,
        stderr: String::new(),
        took: std::time::Duration::ZERO,
    };
    assert_eq!(client(&of, &ended(of.stdout.clone()), 0, false), [""; 0]);
    for (from, to) in [
        ("SentMessages=2001", "SentMessages=4001"),
        ("SentMessages=1099", "SentMessages=1299"),
        ("-- Interval --", "-- Intervals --"),
        ("[msg/s]", "[msgs]"),
        ("percentile 50.000 =    4.300", "percentile 50.000 =    9.300"),
        ("sockperf: Summary", "sockperf:Summary"),
    ] {
        assert_ne!(client(&of, &ended(of.stdout.replace(from, to)), 0, false), [""; 0], "{from}");
    }
    assert_ne!(client(&of, &ended(of.stdout.clone()), 1, false), [""; 0]);
    let of = Transcript::of("12-pingpong-histogram");
    assert_eq!(client(&of, &ended(of.stdout.clone()), 0, false), [""; 0]);
    assert_ne!(client(&of, &ended(of.stdout.replace("6-8  ", "8-6  ")), 0, false), [""; 0]);
    let session = "[127.0.0.9:4321]        Summary";
    assert_eq!(without_ports(session), without_ports("[127.0.0.9:54321]       Summary"));
    assert_ne!(without_ports(session), without_ports("[127.0.0.8:54321]       Summary"));
    assert_eq!(without_ports("IP = 127.0.0.1       PORT"), "IP = 127.0.0.1       PORT");
    let of = Transcript::of("25-server-gaps-3.10-server");
    assert_eq!(server(&of, &of.stdout), [""; 0]);
    assert_ne!(server(&of, &of.stdout.replace("GAP:", "GAPS:")), [""; 0]);
    assert_eq!(counted(Some(99), 100.0, true, 1), None);
    assert!(counted(Some(98), 100.0, true, 1).is_some() && counted(Some(101), 100.0, false, 1).is_some());
}
