//! Histogram of durations, ten columns to each power of ten.

use std::fmt::Write;

use crate::persona::netperf::facts::Histogram;
use crate::persona::netperf::options::form::Form;
use crate::persona::netperf::test_name::Test;
use crate::persona::netperf::view::View;

/// Rows by name.
const NAMES: [&str; 8] =
    ["UNIT_USEC", "TEN_USEC", "HUNDRED_USEC", "UNIT_MSEC", "TEN_MSEC", "HUNDRED_MSEC", "UNIT_SEC", "TEN_SEC"];

/// Empty line, title and rows; empty without `-v 2` and without durations.
pub fn text(view: &View<'_>) -> String {
    match &view.facts.latency {
        Some(latency) if view.options.display.histogram() => {
            format!("\n{}\n{}", title(view), rows(&latency.histogram))
        }
        _ => String::new(),
    }
}

/// Titles as they are spelled in the original.
fn title(view: &View<'_>) -> &'static str {
    if view.options.display.form == Form::Classic {
        match view.options.test {
            Test::TcpRr | Test::TcpCrr => return "Histogram of request/response times",
            Test::UdpRr => return "Histogram of request/reponse times.",
            // A second empty line stands before these two.
            Test::TcpStream | Test::TcpSendfile => return "\nHistogram of time spent in send() call.",
            Test::TcpMaerts => return "\nHistogram of time spent in recv() call.",
            Test::UdpStream => return "Histogram of time spent in send() call",
            _ => {}
        }
    }
    match view.options.data.direction.words() {
        "Send" => "Histogram of send times",
        "Receive" => "Histogram of recv times",
        "Connection" => "Histogram of connect/close times",
        "Connect|Send|Recv" => "Histogram of connect/request/response/close times",
        _ => "Histogram of request/response times",
    }
}

fn rows(histogram: &Histogram) -> String {
    let mut text = String::new();
    for (name, counts) in NAMES.iter().zip(&histogram.rows) {
        let _ = write!(text, "{name:<14}");
        for count in counts {
            let _ = write!(text, ": {count:>4}");
        }
        text.push('\n');
    }
    let _ = write!(text, ">100_SECS: {}\nHIST_TOTAL:      {}\n", histogram.over_100_s, histogram.total());
    text
}
