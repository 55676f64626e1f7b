//! Headings over lines, each printed once, and again when another connection has been told of in between.

use crate::persona::iperf::options::Form;
use crate::persona::iperf::output::line::Style;

/// Heading over lines of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heading {
    /// Bytes and rate alone.
    Plain,
    /// The same of a sum alone (`--sum-only`).
    Sums,
    /// A receiver of UDP.
    Received,
    /// Both ways of UDP in one.
    BothWays,
    /// `-e`: a writer of TCP.
    Writer,
    /// `--tcp-write-times`: a writer of TCP, and how long its writes took.
    WriteTimes,
    /// `-e`: a reader of TCP.
    Reader,
    /// `--trip-times`: a reader of TCP.
    Bursts,
    /// `-e`: a sender of UDP.
    Sender,
    /// `-e`: a receiver of UDP whose clock and the sender's agree (`--trip-times`); before 2.2 any.
    Receiver,
    /// `-e` of 2.2: a receiver of UDP.
    Read,
    /// `-e` of 2.2: writers of TCP together.
    Writers,
    /// `-e` of 2.2: readers of TCP together.
    Readers,
    /// `-e` of 2.2: senders of UDP together.
    Senders,
    /// `-e` of 2.2: receivers of UDP together.
    Receivers,
    /// `--isochronous`: a writer of TCP.
    FrameWriter,
    /// `--isochronous`: a sender of UDP.
    FrameSender,
    /// `--isochronous` with `--trip-times`: a reader of TCP.
    Frames,
    /// `--isochronous` with `--trip-times`: a receiver of UDP.
    FrameReceiver,
    /// `--bounceback`.
    Bounce,
}

impl Heading {
    /// The line.
    pub fn line(self, style: Style) -> String {
        let is_newest = style.form == Form::V2_2_1;
        if self == Self::WriteTimes {
            let writer = Self::Writer.line(style);
            let writer = match style.form {
                Form::V2_1_8 => writer.replace("(var)", ""),
                Form::V2_2_1 => writer.replace("Rtry     InF", "Rtry    InF").replace("        NetPwr", "   NetPwr"),
                Form::V2_0_13 => writer,
            };
            return format!("{}  write-times avg/min/max/stdev (cnt)\n", writer.trim_end());
        }
        let (interval, rest) = match self {
            Self::Plain | Self::Sums => ("", "Interval       Transfer     Bandwidth"),
            Self::Received => ("", "Interval       Transfer     Bandwidth        Jitter   Lost/Total Datagrams"),
            Self::BothWays => ("", "Interval       Transfer     Bandwidth    Datagrams   PPS"),
            Self::Writer | Self::WriteTimes => (
                WIDE,
                match style.form {
                    Form::V2_0_13 => "Transfer    Bandwidth       Write/Err  Rtry     Cwnd/RTT        NetPwr",
                    Form::V2_1_8 => "Transfer    Bandwidth       Write/Err  Rtry     Cwnd/RTT(var)        NetPwr",
                    Form::V2_2_1 => {
                        "Transfer    Bandwidth       Write/Err  Rtry     InF(pkts)/Cwnd(pkts)/RTT(var)        NetPwr"
                    }
                },
            ),
            Self::Reader | Self::Readers => (WIDE, "Transfer    Bandwidth       Reads=Dist"),
            Self::Writers => (WIDE, "Transfer    Bandwidth       Write/Err  Rtry"),
            Self::Receivers => ("", "Interval     Transfer     Bandwidth       Lost/Total  Latency avg/min/max  PPS"),
            Self::Read => (
                WIDE,
                "Transfer     Bandwidth        Jitter   Lost/Total  Latency avg/min/max/stdev PPS Read/Timeo/NA NetPwr",
            ),
            Self::Bursts => {
                (WIDE, "Transfer    Bandwidth    Burst Latency avg/min/max/stdev (cnt/size) inP NetPwr  Reads=Dist")
            }
            Self::FrameWriter if !is_newest => {
                (WIDE, "Transfer     Bandwidth      Write/Err  Rtry     Cwnd/RTT     isoch:tx/miss/slip  NetPwr")
            }
            Self::FrameWriter => (
                WIDE,
                "Transfer     Bandwidth      Write/Err  Rtry     Cwnd(pkts)/RTT(var)     isoch:tx/miss/slip  NetPwr",
            ),
            Self::FrameSender => (WIDE, "Transfer     Bandwidth      Write/Err  PPS  isoch:tx/miss/slip"),
            Self::Frames => {
                (WIDE, "Transfer    Bandwidth    Burst Latency avg/min/max/stdev (cnt/size) NetPwr  Reads=Dist")
            }
            Self::FrameReceiver if !is_newest => (
                WIDE,
                "Transfer     Bandwidth        Jitter   Lost/Total Latency avg/min/max/stdev  PPS  Frame:rx/lost  latency  NetPwr",
            ),
            Self::FrameReceiver => (
                WIDE,
                "Transfer     Bandwidth        Jitter   Lost/Total Latency avg/min/max/stdev  PPS  Frame:rx/lost  Frame-latency avg/min/max/stdev  NetPwr",
            ),
            Self::Sender if is_newest => (WIDE, "Transfer     Bandwidth      Write/Err/Timeo  PPS"),
            Self::Sender | Self::Senders => (WIDE, "Transfer     Bandwidth      Write/Err  PPS"),
            Self::Receiver if is_newest => (
                WIDE,
                "Transfer     Bandwidth        Jitter   Lost/Total  Latency avg/min/max/stdev PPS  Rx/inP  Read/Timeo/Trunc  NetPwr",
            ),
            Self::Receiver => (
                WIDE,
                "Transfer     Bandwidth        Jitter   Lost/Total  Latency avg/min/max/stdev PPS  Rx/inP  NetPwr",
            ),
            Self::Bounce if is_newest => (
                WIDE,
                "Transfer    Bandwidth         BB cnt=avg/min/max/stdev         Rtry  Cwnd(pkts)/RTT(var)   Tx/Rx bytes  RPS(avg)",
            ),
            Self::Bounce => {
                (WIDE, "Transfer    Bandwidth         BB cnt=avg/min/max/stdev         Rtry  Cwnd/RTT    RPS")
            }
        };
        // Times with fewer decimals are four columns shorter.
        let cut = if style.decimals < 4 { 4.min(interval.len()) } else { 0 };
        let together = [Self::Sums, Self::Writers, Self::Readers, Self::Senders, Self::Receivers];
        let id = if together.contains(&self) { "[SUM-cnt]" } else { "[ ID]" };
        format!("{id} {}{rest}\n", &interval[..interval.len() - cut])
    }
}

const WIDE: &str = "Interval            ";

/// Headings that stand already.
#[derive(Debug, Default)]
pub struct Headings {
    standing: Vec<Heading>,
}

impl Headings {
    /// The heading in front of a line of its kind; nothing where it stands already.
    pub fn over(&mut self, heading: Heading, style: Style) -> String {
        if self.standing.contains(&heading) {
            return String::new();
        }
        self.standing.push(heading);
        heading.line(style)
    }

    /// Another connection, or a server's report, has been told of: all are printed again but that of `-e` over UDP.
    pub fn interrupted(&mut self) {
        self.standing.retain(|heading| *heading == Heading::Receiver);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_stands_once_until_something_comes_between() {
        let (mut headings, style) = (Headings::default(), Style::default());
        assert_eq!(headings.over(Heading::Plain, style), "[ ID] Interval       Transfer     Bandwidth\n");
        assert_eq!(headings.over(Heading::Plain, style), "");
        assert_ne!(headings.over(Heading::Receiver, style), "");
        headings.interrupted();
        assert_eq!(headings.over(Heading::Receiver, style), "");
        assert_ne!(headings.over(Heading::Plain, style), "");
    }

    #[test]
    fn two_decimals_take_less_room() {
        let style = Style { decimals: 2, ..Style::default() };
        assert!(Heading::Reader.line(style).starts_with("[ ID] Interval        Transfer  "));
        assert_eq!(Heading::Plain.line(style), Heading::Plain.line(Style::default()));
    }
}
