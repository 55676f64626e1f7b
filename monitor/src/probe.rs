//! A measuring process of one way, and what it says.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::Sender;
use std::thread;

use anyhow::{Context, Result};
use logbook::event::Line;
use rustix::process::{Pid, Signal, kill_process};

use crate::options::{Options, Protocol};
use crate::way::Way;

/// The longest line that is read, octets: a record of an hour has some hundred thousand.
const LONGEST: u64 = 64 << 20;
/// Duration of one process's measurement where nobody named one: the next one goes on. So each record has an end, and a
/// server that bounds sessions is not asked for more than a usual one.
const PIECE: &str = "1h";

/// News of a way.
#[derive(Debug)]
pub enum News {
    /// The process said something.
    Said(Box<Line>),
    /// It says nothing more.
    Ended,
}

/// A process that measures.
#[derive(Debug)]
pub struct Probe {
    child: Child,
    /// True once it was asked to end: asked twice, it would end without a record.
    is_ending: bool,
}

impl Probe {
    /// Starts to measure `way`, with kernel timestamps where that `is_stamped`. Its news are sent with `number`, in a thread that ends with the process.
    ///
    /// # Errors
    /// The program cannot be run.
    pub fn start<E: Send + 'static>(
        way: &Way,
        is_stamped: bool,
        options: &Options,
        sonde: &Path,
        sender: Sender<E>,
        tell: impl Fn(News) -> E + Send + 'static,
    ) -> Result<Self> {
        let mut command = Command::new(sonde);
        command.args(words(way, is_stamped, options)).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().with_context(|| format!("cannot run {}", sonde.display()))?;
        let stdout = child.stdout.take().expect("it is piped");
        thread::Builder::new().name("lines".to_owned()).spawn(move || {
            listen(stdout, |news| sender.send(tell(news)).is_ok());
        })?;
        Ok(Self { child, is_ending: false })
    }

    /// Asks it for an orderly end: it goes on to tell what it has.
    pub fn end(&mut self) {
        if !std::mem::replace(&mut self.is_ending, true) {
            // One that has ended already needs no signal.
            let _gone = kill_process(Pid::from_child(&self.child), Signal::INT);
        }
    }

    /// Waits until the process is gone: it has ended what it says.
    pub fn wait(&mut self) {
        let _status = self.child.wait();
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        self.wait();
    }
}

/// The words for `sonde`.
fn words(way: &Way, is_stamped: bool, options: &Options) -> Vec<OsString> {
    let host = if way.protocol == Protocol::Icmp { way.peer() } else { &way.host };
    let time = options.time.as_deref().unwrap_or(PIECE);
    let mut words: Vec<OsString> = ["rtt", host, "--every", &options.every, "--time", time].map(OsString::from).into();
    words.extend(["--json-lines", "--histograms", "--quiet"].map(OsString::from));
    if way.protocol == Protocol::Application {
        words.extend(options.refining.words(way));
    } else {
        words.extend(["--protocol", way.protocol.word()].map(OsString::from));
    }
    // By itself a measurement stamps one request in four or fewer, which is too few for each second of a live view.
    words.push(if is_stamped { "--stamps" } else { "--no-stamps" }.into());
    if let Some(key) = options.key.as_ref().filter(|_| matches!(way.protocol, Protocol::Tcp | Protocol::Udp)) {
        words.extend(["--key".into(), key.clone().into_os_string()]);
    }
    words
}

/// Reads lines until there are no more, or nobody wants them.
fn listen(stdout: ChildStdout, tell: impl Fn(News) -> bool) {
    let mut lines = BufReader::new(stdout);
    let mut text = Vec::new();
    loop {
        text.clear();
        match (&mut lines).take(LONGEST).read_until(b'\n', &mut text) {
            Ok(read) if read > 0 && text.ends_with(b"\n") => {}
            _ => break,
        }
        // A line of a later version that is not known here is none of ours.
        let Ok(line) = serde_json::from_slice(&text) else { continue };
        if !tell(News::Said(Box::new(line))) {
            break;
        }
    }
    tell(News::Ended);
}
