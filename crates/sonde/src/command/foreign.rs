//! Other tools' options by their names here.
//!
//! One letter means different things in ping, netperf, iperf, iperf3, sockperf and hping3, so none of these is ours:
//! each is answered with the long option that says what was meant. Facts of their command lines, no code of theirs.

/// Options of other tools, and what says the same here.
const OURS: [(&str, &str); 41] = [
    ("-A", "iperf3 pins to a CPU with it: --cpu CPUS, and --peer-cpu CPUS for the far side"),
    ("-B", "iperf and iperf3 bind with it: --bind ADDRESS"),
    ("-C", "iperf3 chooses the congestion control with it: --congestion NAME"),
    (
        "-D",
        "netperf sets TCP_NODELAY with it, which is on here (--nagle turns it off); as a daemon, `sonde serve` is left to a supervisor",
    ),
    ("-F", "iperf3 sends a file with it; requests here are made up: --size BYTES"),
    ("-H", "netperf names the far side with it: here it is an argument, as in `sonde rtt HOST`"),
    ("-I", "ping names its interface or source with it: --interface NAME or --bind ADDRESS"),
    ("-L", "netserver listens at it: `sonde serve --listen ADDRESS`; for a local address to send from, --bind ADDRESS"),
    ("-N", "iperf3 sets TCP_NODELAY with it, which is on here; --nagle turns it off"),
    ("-O", "iperf3 leaves out the start with it: --warm-up TIME"),
    ("-P", "iperf and iperf3 run streams side by side with it: --connections NUMBER"),
    ("-Q", "ping sets the type of service with it: --tos OCTET or --dscp CODE"),
    (
        "-R",
        "iperf3 turns the direction with it; a round trip goes both ways: --request-size and --response-size say how much",
    ),
    (
        "-S",
        "iperf sets the type of service with it (--tos OCTET), hping3 probes with SYN (--connect times whole handshakes)",
    ),
    ("-T", "netperf pins to CPUs with it: --cpu CPUS and --peer-cpu CPUS"),
    ("-W", "ping waits so long for a reply: --timeout TIME"),
    ("-a", "there is nothing to hear here; sockperf's size of a batch is --burst REQUESTS"),
    (
        "-b",
        "netperf's and sockperf's burst is --burst REQUESTS with --every TIME, or --window REQUESTS; iperf3's rate is --rate RATE",
    ),
    ("-d", "hping3's data size is --size BYTES; iperf's two directions at once are what every round trip is"),
    (
        "-f",
        "ping floods with it: back to back is what happens here without a schedule; iperf3's output format is --json",
    ),
    ("-i", "an interval between requests is --every TIME, as in --every 10ms; sockperf's address is the argument HOST"),
    ("-k", "iperf3 counts blocks with it: -c COUNT"),
    (
        "-l",
        "netperf's length of a run is -t TIME, iperf3's buffer --size BYTES, ping's preload --burst REQUESTS with --every TIME",
    ),
    ("-m", "sockperf sizes messages with it: --size BYTES"),
    ("-n", "a number of requests is -c COUNT, as in -c 1000"),
    ("-p", "the far side's port is --port PORT, or HOST:PORT"),
    ("-r", "netperf sizes request and response with it: --request-size BYTES and --response-size BYTES"),
    ("-s", "ping's size is --size BYTES; the far side, iperf's and iperf3's server, is `sonde serve`"),
    ("-u", "over UDP is --udp"),
    (
        "-w",
        "netperf's wait between bursts is --every TIME, ping's deadline -t TIME, iperf3's socket buffer --send-buffer and --receive-buffer BYTES",
    ),
    ("--bandwidth", "a rate of requests is --rate RATE, as in --rate 10k/s"),
    ("--bitrate", "a rate of requests is --rate RATE, as in --rate 10k/s"),
    ("--client", "the far side is an argument: sonde rtt HOST"),
    ("--interval", "an interval between requests is --every TIME, as in --every 10ms"),
    ("--length", "the size of a request and its reply is --size BYTES"),
    ("--mps", "messages a second are --rate RATE, as in --rate 10k/s"),
    ("--msg-size", "the size of a request and its reply is --size BYTES"),
    ("--omit", "what is left out at the start is --warm-up TIME"),
    ("--parallel", "connections side by side are --connections NUMBER"),
    ("--server", "the far side is a command: sonde serve"),
    ("--duration", "the length of a run is -t TIME"),
];

/// The option here for `option` (as typed: `-i`, `--interval`) of another tool.
pub fn ours_for(option: &str) -> Option<&'static str> {
    OURS.iter().find(|(theirs, _)| *theirs == option).map(|(_, ours)| *ours)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every option that an answer names exists, so that nobody is sent to a place that is not there.
    #[test]
    fn every_answer_names_options_that_exist() {
        let definition = crate::cli::definition();
        let known: Vec<String> = definition
            .get_subcommands()
            .flat_map(clap::Command::get_arguments)
            .flat_map(|argument| {
                let long = argument.get_long().map(|name| format!("--{name}"));
                long.into_iter().chain(argument.get_short().map(|letter| format!("-{letter}")))
            })
            .collect();
        for (theirs, ours) in OURS {
            let named: Vec<&str> = ours
                .split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'))
                .filter(|word| word.starts_with('-') && word.len() > 1)
                .collect();
            for word in named {
                assert!(
                    known.iter().any(|option| option == word),
                    "{theirs} is answered with {word}, which is not ours"
                );
            }
        }
    }

    #[test]
    fn none_of_theirs_is_ours() {
        for (theirs, _) in OURS {
            let line = ["sonde", "rtt", theirs];
            let error = <crate::cli::Cli as clap::Parser>::try_parse_from(line).unwrap_err();
            assert_eq!(error.kind(), clap::error::ErrorKind::UnknownArgument, "{theirs}");
        }
    }
}
