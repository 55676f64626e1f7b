//! The result of a client that only sent.

use crate::persona::sockperf::options::{Display, Load, Mps};
use crate::persona::sockperf::output::end::seconds;
use crate::persona::sockperf::output::paint::Paint;
use crate::persona::sockperf::output::say;

/// Bytes of a UDP datagram that an Ethernet frame carries over IPv4.
const FRAME_BYTES: u32 = 1_472;

/// Result of a run.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// The load.
    pub load: &'a Load,
    /// Form of the output.
    pub display: &'a Display,
    /// From the first send to the end.
    pub lasted_ns: u64,
    /// Messages sent.
    pub sent: u64,
    /// Sends left out because they would have waited.
    pub skipped: u64,
    /// A rate was asked for, and the sender never had to wait for a message's time.
    pub never_waited: bool,
    /// Messages that arrived, where the receiver told.
    pub arrived: Option<u64>,
}

impl Run<'_> {
    /// Text of the result; empty for a run of no time.
    pub fn text(&self, paint: Paint) -> String {
        if self.sent == 0 {
            return say("No messages were sent");
        }
        if self.lasted_ns == 0 {
            return String::new();
        }
        let mut text = self.total() + &self.note(paint) + &self.message_rate() + &self.bandwidth();
        if let Some(arrived) = self.arrived {
            text += &self.loss(arrived);
        }
        if self.never_waited {
            text +=
                &say("Info: The requested message-per-second rate is too high. Try tuning --mps or --burst arguments");
        }
        text
    }

    fn total(&self) -> String {
        let skipped = match self.skipped {
            0 => String::new(),
            skipped => format!(" ({skipped} messages skipped)"),
        };
        let run = seconds(self.lasted_ns);
        say(format_args!("Total of {} messages sent in {run:.3} sec{skipped}\n", self.sent))
    }

    /// Options that could have got more; empty where they were given.
    fn note(&self, paint: Paint) -> String {
        let size = self.load.size;
        let lengths = match size.range {
            0 => format!("msg-size={}", size.most),
            range => format!("average msg-size={} (+/-{range})", size.most),
        };
        let advice = match self.load.rate {
            Mps::At(rate) => {
                // The closing parenthesis lacks in the original where lengths vary.
                let close = if size.range == 0 { ")" } else { "" };
                format!(
                    "{lengths}, mps={rate}. For getting maximum throughput use --mps=max \
                     (and consider --msg-size=1472 or --msg-size=4096{close}"
                )
            }
            Mps::Max if size.most == FRAME_BYTES => return String::new(),
            Mps::Max => {
                format!("{lengths}. For getting maximum throughput consider using --msg-size=1472")
            }
        };
        say(paint.magenta(&format!("NOTE: test was performed, using {advice}")))
    }

    fn messages_a_second(&self) -> u64 {
        (self.sent as f64 / seconds(self.lasted_ns)).round() as u64
    }

    fn message_rate(&self) -> String {
        let rate = self.messages_a_second();
        let packets = u64::from(self.load.size.most.div_ceil(FRAME_BYTES));
        let packet_rate = match packets {
            1 => String::new(),
            _ => format!(", Packet Rate is about {} [pkt/sec] ({packets} ip frags / msg)", rate * packets),
        };
        say(format_args!("Summary: Message Rate is {rate} [msg/sec]{packet_rate}"))
    }

    fn bandwidth(&self) -> String {
        let mebibytes = self.messages_a_second() as f64 * f64::from(self.load.size.most) / 1024.0 / 1024.0;
        let (value, unit) = if self.display.giga_size { (mebibytes / 1000.0, 'G') } else { (mebibytes, 'M') };
        let digits = if self.display.increase_output_precision && !self.display.giga_size { 9 } else { 3 };
        let bits = value * 8.0;
        say(format_args!("Summary: BandWidth is {value:.digits$} {unit}Bps ({bits:.digits$} {unit}bps)"))
    }

    /// Line on losses, which the original does not know. No line of its own begins like this.
    fn loss(&self, arrived: u64) -> String {
        let lost = self.sent.saturating_sub(arrived);
        let percent = lost as f64 / self.sent as f64 * 100.0;
        say(format_args!("Receiver: {arrived} messages arrived, {lost} of {} lost ({percent:.2} %)", self.sent))
    }
}
