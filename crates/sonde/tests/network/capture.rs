//! A packet capture beside a measurement, by tcpdump, up to a mark that the measurement's end sends.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use lab::namespace::Namespace;
use rustix::process::{Pid, Signal, kill_process};

use crate::pcap::{Packet, Reader, segment};

/// Nothing listens at this port: a segment to it marks the end of what is captured.
const MARK: u16 = 9;

/// A packet capture at a namespace's end of the cable.
pub struct Capture {
    child: Child,
    reader: JoinHandle<Vec<Packet>>,
    marked: Receiver<()>,
}

impl Capture {
    /// Starts it, and returns when it captures.
    pub fn start(namespace: &Namespace) -> Self {
        Self::start_on(namespace, namespace.interface())
    }

    /// The same on another of its interfaces.
    pub fn start_on(namespace: &Namespace, interface: &str) -> Self {
        let mut command = namespace.command("tcpdump");
        command.args(["-i", interface, "-n", "-s", "160", "-Z", "root", "-B", "8192"]);
        // Not in immediate mode: waking the capture for each packet would lie between its stamp and the driver's.
        command.args(["--time-stamp-precision=nano", "-U", "-w", "-", "ip or ip6"]);
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
        let mut stderr = BufReader::new(child.stderr.take().expect("piped"));
        let mut said = String::new();
        while !said.contains("listening on") {
            assert!(stderr.read_line(&mut said).expect("text") > 0, "no capture: {said}");
        }
        let mut stdout = child.stdout.take().expect("piped");
        let (mark, marked) = channel();
        let reader = thread::spawn(move || {
            let (mut reader, mut all, mut buffer) = (Reader::default(), Vec::new(), vec![0; 1 << 16]);
            loop {
                let count = stdout.read(&mut buffer).expect("a capture");
                if count == 0 {
                    return all;
                }
                let packets = reader.feed(&buffer[..count]);
                if packets.iter().any(is_mark) {
                    // Nobody waits for a second one.
                    let _ = mark.send(());
                }
                all.extend(packets);
            }
        });
        Self { child, reader, marked }
    }

    /// Ends it when the mark has come by; all its packets.
    pub fn end(mut self) -> Vec<Packet> {
        self.marked.recv_timeout(Duration::from_mins(1)).expect("the mark is captured");
        kill_process(Pid::from_child(&self.child), Signal::INT).expect("ended");
        self.child.wait().expect("ended");
        self.reader.join().expect("read")
    }
}

/// The answer to the mark, which comes last.
fn is_mark(packet: &Packet) -> bool {
    packet.protocol == 6 && segment(packet).is_some_and(|(from, _, _)| from == MARK)
}
