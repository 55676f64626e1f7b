//! Result of a test, as text.

use protocol::iperf3::parameters::Protocol;

use crate::persona::iperf3::facts::{Cpu, Datagrams, Outcome, Summary, Test, bits_per_second, seconds};
use crate::persona::iperf3::output::number::amount;
use crate::persona::iperf3::output::row::{self, SEPARATOR, Style, Who};

/// The summary: of a client what both ends tell, of a server what it knows itself.
pub fn text(test: &Test, summary: &Summary, style: Style) -> String {
    let mut text = SEPARATOR.to_owned();
    if style.verbose {
        text += "Test Complete. Summary Results:\n";
    }
    text += &header(test, summary);
    for sends in test.ways() {
        for (place, stream) in test.way(sends) {
            if let Some(outcome) = summary.outcomes.get(place) {
                text += &pair(test, summary, (Who::Stream(stream.label), sends), outcome, style);
            }
        }
        if test.parallel > 1 {
            text += &pair(test, summary, (Who::Sum, sends), &sum(test, summary, sends), style);
        }
        if style.verbose {
            text += &verbose(test, summary, sends);
        }
    }
    text
}

/// The end of a client's output. `server_output`: what the server printed, where that was asked for.
pub fn done(server_output: Option<&str>) -> String {
    let output = server_output.map(|text| format!("\nServer output:\n{text}\n")).unwrap_or_default();
    output + "\niperf Done.\n"
}

/// All streams of a direction.
pub fn sum(test: &Test, summary: &Summary, sends: bool) -> Outcome {
    let of: Vec<&Outcome> = test.way(sends).filter_map(|(place, _)| summary.outcomes.get(place)).collect();
    Outcome {
        sent_bytes: of.iter().map(|one| one.sent_bytes).sum(),
        received_bytes: of.iter().map(|one| one.received_bytes).sum(),
        retransmits: of.iter().map(|one| one.retransmits).sum(),
        sent_packets: of.iter().map(|one| one.sent_packets).sum(),
        received: row::all(of.iter().map(|one| &one.received)),
        ..Outcome::default()
    }
}

fn header(test: &Test, summary: &Summary) -> String {
    // A server shows no row of a sender that is not itself.
    let shown = test.streams.iter().zip(&summary.outcomes);
    let mut shown = shown.filter(|(stream, _)| test.role.is_client() || stream.sends);
    let told = shown.any(|(_, outcome)| outcome.retransmits.is_some());
    let columns = match test.protocol {
        Protocol::Udp => "         Jitter    Lost/Total Datagrams",
        _ if told => "         Retr",
        _ => "",
    };
    format!("{}{columns}\n", row::header(test))
}

/// The row of the sender and that of the receiver.
fn pair(test: &Test, summary: &Summary, whose: (Who, bool), outcome: &Outcome, style: Style) -> String {
    let (who, sends) = whose;
    let client = test.role.is_client();
    let missing = |what: &str| match who {
        Who::Stream(number) if style.verbose => format!("[{number:>3}] ({what} statistics not available)\n"),
        _ => String::new(),
    };
    let sent = if client || sends { sender(test, summary, whose, outcome, style) } else { missing("sender") };
    let received = if client || !sends { receiver(test, summary, whose, outcome, style) } else { missing("receiver") };
    let file = if who == Who::Sum { String::new() } else { file(summary, outcome, sends) };
    // Behind the row of the end that has it, as the original does it.
    if sends { sent + &file + &received } else { sent + &received + &file }
}

fn sender(test: &Test, summary: &Summary, (who, sends): (Who, bool), outcome: &Outcome, style: Style) -> String {
    let time = seconds(summary.sender_ns);
    let rate = bits_per_second(outcome.sent_bytes, time);
    let head = row::head(&row::id(test, who, sends), (0.0, time), outcome.sent_bytes, rate, style);
    let tail = match (test.protocol, outcome.retransmits) {
        (Protocol::Udp, _) => {
            let sent = Datagrams { packets: outcome.sent_packets, lost: Some(0), ..Datagrams::default() };
            row::datagrams(&sent) + "  "
        }
        (_, Some(retransmits)) => {
            let room = if who == Who::Sum { "             " } else { "            " };
            format!("  {retransmits:>3}{room}")
        }
        (_, None) => "                  ".to_owned(),
    };
    format!("{head}{tail}sender\n")
}

fn receiver(test: &Test, summary: &Summary, (who, sends): (Who, bool), outcome: &Outcome, style: Style) -> String {
    let time = seconds(summary.receiver_ns);
    let rate = bits_per_second(outcome.received_bytes, time);
    let head = row::head(&row::id(test, who, sends), (0.0, time), outcome.received_bytes, rate, style);
    if test.protocol != Protocol::Udp {
        return format!("{head}                  receiver\n");
    }
    let late = outcome.received.out_of_order;
    let told = !sends && late > 0 && who != Who::Sum;
    let role = row::role(test, sends);
    let out_of_order = if told {
        format!("[SUM]{role} {:4.1}-{time:4.1} sec  {late} datagrams received out-of-order\n", 0.0)
    } else {
        String::new()
    };
    format!("{out_of_order}{head}{}  receiver\n", row::datagrams(&outcome.received))
}

/// Line on the share of a file that has gone.
fn file(summary: &Summary, outcome: &Outcome, sends: bool) -> String {
    let Some(file) = &summary.file else { return String::new() };
    let (what, bytes) = if sends { ("Sent", outcome.sent_bytes) } else { ("Received", outcome.received_bytes) };
    let percent = if file.size > 0 { 100.0 * bytes as f64 / file.size as f64 } else { 100.0 };
    let (bytes, size) = (amount(bytes), amount(file.size));
    let told = |amount: &str| amount.trim_start().trim_end_matches('s').to_owned();
    format!("        {what} {} / {} ({percent:.0}%) of {}\n", told(&bytes), told(&size), file.name)
}

fn verbose(test: &Test, summary: &Summary, sends: bool) -> String {
    let mut text = String::new();
    if sends {
        text += &cpu(summary, "sender", "receiver");
    }
    if sends && test.is_bidirectional() {
        text += &cpu(summary, "receiver", "sender");
    }
    if test.protocol != Protocol::Udp {
        let client = test.role.is_client();
        let line = |known: bool, name: &str, value: &Option<String>| match value {
            Some(value) if known => format!("{name}_tcp_congestion {value}\n"),
            _ => String::new(),
        };
        text += &line(client || sends, "snd", &summary.sender_congestion);
        text += &line(client || !sends, "rcv", &summary.receiver_congestion);
    }
    text
}

fn cpu(summary: &Summary, ours: &str, theirs: &str) -> String {
    let share = |cpu: &Cpu| format!("{:.1}% ({:.1}%u/{:.1}%s)", cpu.total, cpu.user, cpu.system);
    let (local, remote) = (share(&summary.cpu), share(&summary.peer_cpu));
    format!("CPU Utilization: local/{ours} {local}, remote/{theirs} {remote}\n")
}
