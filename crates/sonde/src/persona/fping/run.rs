//! A run: hosts are looked up, requests go to all of them in turn, and what happens becomes text.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use endpoint::clock::Monotonic;
use endpoint::echoes::{self, Happening, Reply, Task};
use endpoint::error::{Cause, EndpointError};
use endpoint::random;
use endpoint::signal::{Signal, end_by};
use endpoint::socket::icmp::{Fragments, Wishes};
use endpoint::stop::Stop;
use jiff::tz::TimeZone;
use measure::method::SocketOptions;
use measure::unit::{Instant, Nanos};
use rustix::io::Errno;

use crate::exit::Exit;
use crate::output::{Output, plain};
use crate::persona::answer::Answer;
use crate::persona::fping::options::{Asked, Course, complaint};
use crate::persona::fping::output::{self, Form};
use crate::persona::fping::statistics::{Host, Tally, Totals};
use crate::persona::fping::targets::{self, Target};
use crate::persona::process;
use crate::signal;
use crate::system::now;

/// Runs what was asked for.
///
/// # Errors
/// The answer in place of a run.
pub fn run(asked: &Asked, output: &Arc<Output>) -> Result<Exit, Answer> {
    let (stop, interim) = (Stop::default(), Arc::new(AtomicBool::new(false)));
    let (asked_to_stop, asked_for_part) = (stop.clone(), Arc::clone(&interim));
    let interruption =
        signal::watch(move || asked_to_stop.request(), move || asked_for_part.store(true, Ordering::Relaxed))
            .map_err(|error| fatal(&format!("cannot wait for signals: {error}")))?;
    let (hosts, unknown) = look_up(asked, output, &stop)?;
    if hosts.is_empty() {
        return Ok(Exit::Persona(if unknown > 0 { 2 } else { 1 }));
    }
    let task = task(asked, &hosts)?;
    let mut teller = Teller::new(asked, output, &hosts, unknown, &stop);
    echoes::run(&task, &stop, &interim, &mut |happening| teller.take(happening))
        .map_err(|error| refused(asked, &error))?;
    match interruption.signal() {
        // The original ends by these without a word.
        Some(signal @ (Signal::Terminate | Signal::Hangup)) => end_by(signal),
        _ => Ok(teller.finish()),
    }
}

fn fatal(what: &str) -> Answer {
    Answer { status: 4, ..complaint(what) }
}

/// A socket that cannot be had, in the original's words where it has some.
fn refused(asked: &Asked, error: &EndpointError) -> Answer {
    let Cause::System(system) = &error.cause else { return fatal(&format!("{error}: {}", error.cause)) };
    let said = process::said(system);
    match system.raw_os_error() {
        Some(code) if code == Errno::ADDRNOTAVAIL.raw_os_error() && asked.sources != [None; 2] => {
            fatal(&format!("cannot bind source address : {said}"))
        }
        Some(code) if code == Errno::NODEV.raw_os_error() && asked.interface.is_some() => {
            Answer::complaint(format!("binding to specific interface (SO_BINTODEVICE): {said}\n"))
        }
        _ => fatal(&format!("{error}: {}", error.cause)),
    }
}

/// The hosts with an address, and the number of names without one.
fn look_up(asked: &Asked, output: &Output, stop: &Stop) -> Result<(Vec<Target>, usize), Answer> {
    let (mut hosts, mut unknown) = (Vec::new(), 0);
    for name in targets::names(asked)? {
        match targets::look_up(&name, asked, stop) {
            Ok(found) => hosts.extend(found),
            Err(why) => {
                unknown += 1;
                if !asked.quiet {
                    output.aside(&format!("{}: {why}\n", plain(&name)));
                }
            }
        }
    }
    Ok((hosts, unknown))
}

fn task(asked: &Asked, hosts: &[Target]) -> Result<Task, Answer> {
    let mut payload = vec![0; usize::from(asked.size)];
    if asked.random {
        for part in payload.chunks_mut(64) {
            let drawn = random::bytes::<64>().map_err(|error| fatal(&format!("no random data: {error}")))?;
            part.copy_from_slice(&drawn[..part.len()]);
        }
    }
    let period = asked.period;
    Ok(Task {
        targets: hosts.iter().map(|host| host.address).collect(),
        payload,
        course: match asked.course {
            Course::UntilAnswered => echoes::Course::UntilAnswered { retries: asked.retries, backoff: asked.backoff },
            Course::Count(count) => echoes::Course::Every { count: Some(count), period },
            Course::Endless => echoes::Course::Every { count: None, period },
        },
        interval: asked.interval,
        timeout: asked.timeout,
        report: asked.report.filter(|_| !asked.once()),
        sources: asked.sources,
        socket: SocketOptions { tos: asked.tos, interface: asked.interface.clone(), ..SocketOptions::default() },
        wishes: Wishes {
            ttl: asked.ttl,
            fragments: asked.dont_fragment.then_some(Fragments::Never),
            ..Wishes::default()
        },
    })
}

/// Tells of what happens.
struct Teller<'a> {
    asked: &'a Asked,
    output: &'a Output,
    targets: &'a [Target],
    stop: &'a Stop,
    form: Form,
    hosts: Vec<Host>,
    totals: Totals,
    drawn: bool,
    began: Instant,
}

impl<'a> Teller<'a> {
    fn new(asked: &'a Asked, output: &'a Output, targets: &'a [Target], unknown: usize, stop: &'a Stop) -> Self {
        // A name may come from a file or a resolver: nothing of it reaches a terminal as a command.
        let hosts: Vec<Host> = targets.iter().map(|target| Host::new(plain(&target.shown), &target.given)).collect();
        let width = hosts.iter().map(|host| host.shown.len()).max().unwrap_or(0);
        let form = Form { width, each: asked.each, outage: asked.outage.then_some(asked.period) };
        let totals = Totals { unknown, ..Totals::default() };
        Self { asked, output, targets, stop, form, hosts, totals, drawn: false, began: Monotonic::now() }
    }

    fn take(&mut self, happening: Happening) {
        match happening {
            Happening::Sent(_) => self.totals.sent += 1,
            Happening::Unsent(target, index, error) => self.unsent(target, index, &error),
            Happening::Reply(target, reply) => self.answered(target, reply),
            Happening::Duplicate(target, reply) => self.again(target, reply),
            Happening::Late(_) => self.totals.replies += 1,
            Happening::TimedOut(target, index) => self.lost(target, index),
            Happening::Error { target, from, kind, code } => {
                let text = output::error(&self.hosts[target], from, kind, code);
                self.totals.others += u64::from(text.is_some());
                if let Some(text) = text.filter(|_| !self.asked.quiet) {
                    self.output.aside(&text);
                }
            }
            Happening::Due => self.part(),
        }
        if !self.output.is_open() {
            self.stop.request();
        }
    }

    fn unsent(&mut self, target: usize, index: u32, error: &std::io::Error) {
        let host = &mut self.hosts[target];
        host.lost(index, self.asked.each);
        if self.asked.verbose() {
            let text = format!("{}: error while sending ping: {}\n", host.shown, process::said(error));
            self.output.aside(&text);
        }
    }

    fn answered(&mut self, target: usize, reply: Reply) {
        let host = &mut self.hosts[target];
        let is_first = host.all.received == 0;
        host.answered(reply.index, reply.time, self.asked.each);
        self.totals.answered(reply.time);
        self.totals.alive += usize::from(is_first);
        let host = &self.hosts[target];
        let mut line = String::new();
        if is_first && self.asked.once() && (self.asked.verbose() || self.asked.alive) {
            line.push_str(&host.shown);
            line.push_str(if self.asked.verbose() { " is alive" } else { "" });
            if self.asked.elapsed {
                line.extend([" (", &output::millis(reply.time), " ms)"]);
            }
            line.push('\n');
        } else if self.asked.lines() {
            line = if self.asked.timestamps { output::stamp(reply.at) } else { String::new() };
            line.push_str(&output::reply(self.form, host, (reply.index, reply.octets, reply.time)));
        }
        if line.is_empty() {
            return;
        }
        if reply.from != self.targets[target].address.ip() {
            self.output.aside(&output::sender(reply.from));
        }
        self.output.result(&line);
    }

    fn again(&mut self, target: usize, reply: Reply) {
        self.totals.replies += 1;
        if self.asked.lines() {
            return;
        }
        let mut line = output::duplicate(&self.hosts[target], (reply.index, reply.octets, reply.time));
        if reply.from != self.targets[target].address.ip() {
            line.push_str(&output::sender(reply.from));
        }
        line.push('\n');
        self.output.aside(&line);
    }

    fn lost(&mut self, target: usize, index: u32) {
        let host = &mut self.hosts[target];
        host.lost(index, self.asked.each);
        self.totals.timeouts += 1;
        if self.asked.lines() {
            let stamp = if self.asked.timestamps { output::stamp(endpoint::clock::wall()) } else { String::new() };
            self.output.result(&format!("{stamp}{}", output::lost(self.form, &self.hosts[target], index)));
        }
    }

    /// The summary of a part.
    fn part(&mut self) {
        if let Some(every) = self.asked.report.filter(|_| self.asked.netdata) {
            self.output.result(&output::netdata(&self.hosts, every, !self.drawn));
            self.drawn = true;
        } else {
            let before = if self.asked.lines() || self.asked.verbose() { "\n" } else { "" };
            let time = now().timestamp().to_zoned(TimeZone::system()).strftime("%H:%M:%S").to_string();
            self.output.aside(&format!("{before}{}", output::part(self.form, &self.hosts, &time)));
        }
        for host in &mut self.hosts {
            host.part = Tally::default();
        }
    }

    /// Says what the end says.
    fn finish(self) -> Exit {
        let asked = self.asked;
        let reachable = self.hosts.iter().filter(|host| host.all.received > 0).count();
        let unreachable = self.hosts.len() - reachable;
        if asked.once() && (asked.verbose() || asked.unreachable) {
            let ending = if asked.verbose() { " is unreachable" } else { "" };
            let silent = self.hosts.iter().filter(|host| host.all.received == 0);
            let lines: String = silent.flat_map(|host| [host.shown.as_str(), ending, "\n"]).collect();
            self.output.result(&lines);
        }
        if !asked.once() {
            let before = if asked.lines() { "\n" } else { "" };
            self.output.aside(&format!("{before}{}", output::summary(self.form, &self.hosts)));
        }
        if asked.stats {
            let elapsed = Monotonic::now().since(self.began).unwrap_or(Nanos::ZERO);
            self.output.aside(&output::totals(&self.totals, self.hosts.len(), unreachable, elapsed));
        }
        let status = if let Some(wanted) = asked.enough {
            self.output.result(&output::enough(wanted, reachable));
            u8::from(reachable < wanted as usize)
        } else if self.totals.unknown > 0 {
            2
        } else {
            u8::from(unreachable > 0)
        };
        if status == 0 { Exit::Done } else { Exit::Persona(status) }
    }
}
