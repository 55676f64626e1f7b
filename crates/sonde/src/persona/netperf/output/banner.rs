//! The first line of a test: what runs, from where to where, and how it was asked for.

use std::fmt::Write;
use std::net::SocketAddr;

use measure::method::Pacing;

use crate::persona::netperf::facts::Path;
use crate::persona::netperf::options::Options;
use crate::persona::netperf::test_name::Test;

/// The line; empty with `-P 0`.
pub fn line(options: &Options, path: &Path) -> String {
    if !options.display.headers {
        return String::new();
    }
    let title = title(options);
    let source = place(&path.source_name, path.source, options.data.port.local);
    let destination = place(&path.destination_name, path.destination, options.data.port.remote);
    let mut line = format!("{title} from {source} to {destination}");
    for feature in features(options, &title) {
        let _ = write!(line, " : {feature}");
    }
    line + "\n"
}

fn title(options: &Options) -> String {
    let title = match options.test {
        Test::TcpStream => "MIGRATED TCP STREAM TEST",
        Test::TcpMaerts => "MIGRATED TCP MAERTS TEST",
        Test::TcpRr => "MIGRATED TCP REQUEST/RESPONSE TEST",
        Test::TcpCrr => "MIGRATED TCP Connect/Request/Response TEST",
        Test::UdpStream => "MIGRATED UDP STREAM TEST",
        Test::UdpRr => "MIGRATED UDP REQUEST/RESPONSE TEST",
        Test::TcpCc => "TCP Connect/Close TEST",
        Test::TcpSendfile => "TCP SENDFILE TEST",
        Test::TcpMss => "TCP MSS TEST",
        Test::Omni => return format!("OMNI {} TEST", options.data.direction.words()),
        Test::Uuid | Test::LocCpu | Test::RemCpu => "",
    };
    title.to_owned()
}

fn place(name: &str, address: SocketAddr, port: u16) -> String {
    let family = if address.is_ipv4() { "AF_INET" } else { "AF_INET6" };
    format!("{name} ({}) port {port} {family}", address.ip())
}

fn features(options: &Options, title: &str) -> Vec<String> {
    let mut features = Vec::new();
    if let Some(asked) = options.confidence {
        let only = if asked.result_only { " on result only" } else { "" };
        // The blank behind `conf.` is the original's.
        features.push(format!("+/-{:.3}% @ {}% conf. {only}", asked.width_percent / 2.0, asked.level));
    }
    let mut word = |given: bool, word: &str| {
        if given {
            features.push(word.to_owned());
        }
    };
    word(options.data.nodelay, "nodelay");
    word(true, "histogram");
    word(true, if options.own.pacing == Some(Pacing::Sleep) { "interval" } else { "spin interval" });
    word(true, "demo");
    word(title.contains("REQUEST/RESPONSE"), &format!("first burst {}", options.data.first_burst));
    word(options.bind_cpu.local.is_some() || options.bind_cpu.remote.is_some(), "cpu bind");
    features
}
