//! The text of bare `sonde`: the questions there are, and the command that answers each.

use crate::exit::Exit;
use crate::output::Output;

const TEXT: &str = "\
sonde measures latency, loss and throughput between two hosts.

  sonde HOST                measure HOST with every protocol that answers
  sonde rtt                 try it here, over loopback
  sonde serve               start the server, on the other machine
  sonde rtt HOST            round-trip time to that server
  sonde load HOST --rate 10k
                            latency and loss at 10 000 messages/s
  sonde check HOST          route, ports and known programs of HOST
  sonde self                clock, timers and wake-up delay of this host
  sonde show FILE           print a record again
  sonde report FILE -o page.html
                            write an HTML page with charts

sonde --help lists all commands; sonde COMMAND --help has examples.
";

/// Prints it.
pub fn print(output: &Output) -> Exit {
    output.result(TEXT);
    Exit::Done
}
