//! Making a lab, step by step: each is a program that runs and ends, or one that is noted and stays.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use endpoint::clock::Monotonic;
use endpoint::pace;
use endpoint::stop::Stop;
use logbook::failure::Failure;
use logbook::host::Reach;
use measure::unit::Nanos;

use crate::child::{self, Unfinished};
use crate::network::layout::{LINK, Layout};
use crate::network::plan::Wanted;
use crate::network::state::{Held, Process};
use crate::network::{ours, process, sshd};

/// Longest duration of one step.
const PATIENCE: Nanos = Nanos::secs(30);
/// Settings of a switch that routes: below `/proc/sys/net`. Packets come back out of the link from where no route leads there.
const ROUTING: [(&str, &str); 6] = [
    ("ipv4/ip_forward", "1"),
    ("ipv6/conf/all/forwarding", "1"),
    ("ipv4/conf/all/rp_filter", "0"),
    ("ipv4/conf/default/rp_filter", "0"),
    ("ipv4/conf/all/send_redirects", "0"),
    ("ipv4/conf/default/send_redirects", "0"),
];

/// Makes all of it.
pub(super) fn all(held: &mut Held, wanted: &Wanted, layout: &Layout, stop: &Stop) -> Result<(), Failure> {
    let daemon = if wanted.ssh { Some(sshd::program(&layout.id)?) } else { None };
    let root = rustix::process::geteuid().is_root();
    if wanted.ssh && !root {
        return Err(ours(&layout.id, "an sshd in each host takes root", "run as root, or leave --ssh out"));
    }
    let mut maker = Maker { held, layout, stop };
    if !root {
        maker.hold()?;
    }
    maker.network()?;
    if layout.is_worse() {
        maker.worse(wanted)?;
    }
    if let Some(daemon) = daemon {
        sshd::start(&mut maker, &daemon)?;
    }
    let machine = process::machine();
    let files = maker.held.files();
    maker.held.state.hosts = layout.hosts(&machine, |seat| {
        if wanted.ssh {
            Reach::Ssh(sshd::reach(layout, seat, &files))
        } else {
            Reach::Namespace(layout.namespace(&seat.name))
        }
    });
    Ok(())
}

/// Words that lead to where the namespaces are listed.
pub(super) fn lead(holder: Option<&Process>) -> Vec<String> {
    let Some(holder) = holder else { return Vec::new() };
    let target = holder.pid.to_string();
    let words = ["nsenter", "--target", &target, "--user", "--net", "--mount", "--preserve-credentials"];
    words.map(str::to_owned).to_vec()
}

/// Maker of a lab.
pub(super) struct Maker<'a> {
    pub(super) held: &'a mut Held,
    pub(super) layout: &'a Layout,
    stop: &'a Stop,
}

impl Maker<'_> {
    /// Without root: a user namespace in which we are, with a list of network namespaces of its own, kept by a process that stays.
    fn hold(&mut self) -> Result<(), Failure> {
        let ready = self.held.files().join("held");
        let script = "mount -t tmpfs tmpfs /run && mkdir /run/netns && : >\"$0\" && exec tail -f /dev/null";
        let words = ["unshare", "--user", "--map-root-user", "--net", "--mount", "sh", "-c", script];
        let mut words: Vec<String> = words.map(str::to_owned).to_vec();
        words.push(ready.display().to_string());
        let log = self.held.files().join("holder.log");
        let process = self.spawn(&words, &log, "holder of the namespaces")?;
        self.held.state.holder = Some(process.clone());
        self.held.save()?;
        self.until(&process, &log, || ready.exists()).map_err(|failure| Failure {
            hint: Some("run as root: a user namespace cannot be had here".to_owned()),
            ..failure
        })
    }

    fn network(&mut self) -> Result<(), Failure> {
        let layout = self.layout;
        for namespace in layout.namespaces() {
            self.ip(&["netns", "add", &namespace], None)?;
        }
        let switch = layout.switch();
        if layout.is_worse() {
            for (setting, value) in ROUTING {
                let script = format!("echo {value} >/proc/sys/net/{setting}");
                self.ip(&["netns", "exec", &switch, "sh", "-c", &script], None)?;
            }
        }
        let cables: String = layout.seats.iter().map(|seat| layout.cable(seat)).collect();
        self.batch("ip", &switch, &(layout.bridges() + &cables))?;
        for seat in &layout.seats {
            let namespace = layout.namespace(&seat.name);
            self.batch("ip", &namespace, &layout.interface(seat))?;
            if let Some(bound) = layout.bound("eth0") {
                self.batch("tc", &namespace, &bound)?;
            }
        }
        let bounds: String = layout.seats.iter().filter_map(|seat| layout.bound(&seat.name)).collect();
        if bounds.is_empty() { Ok(()) } else { self.batch("tc", &switch, &bounds) }
    }

    /// Starts the forwarder, and leads through it what is to go there.
    fn worse(&mut self, wanted: &Wanted) -> Result<(), Failure> {
        let Some(worse) = &wanted.worse else { return Ok(()) };
        let switch = self.layout.switch();
        let mut words = lead(self.held.state.holder.as_ref());
        words.extend(["ip", "netns", "exec", &switch].map(str::to_owned));
        words.push(wanted.program.display().to_string());
        let ends = ["forward", "-", "-", "--interface", LINK, "--addresses", "10.182.255.1,10.182.255.2"];
        words.extend(ends.map(str::to_owned).into_iter().chain(worse.words.iter().cloned()));
        let log = self.held.files().join("forward.log");
        let process = self.start(&words, &log, "forwarder")?;
        self.until(&process, &log, || fs::read_to_string(&log).is_ok_and(|said| said.contains("forwarding between")))?;
        let rules = self.layout.rules().into_iter().flatten();
        for ((family, rules), routes) in ["-4", "-6"].into_iter().zip(rules).zip(Layout::link_routes()) {
            self.batch_of("ip", &[family], &switch, &(rules + &routes))?;
        }
        Ok(())
    }

    fn ip(&self, words: &[&str], input: Option<&str>) -> Result<(), Failure> {
        self.run("ip", words, input)
    }

    fn batch(&self, program: &str, namespace: &str, lines: &str) -> Result<(), Failure> {
        self.batch_of(program, &[], namespace, lines)
    }

    fn batch_of(&self, program: &str, options: &[&str], namespace: &str, lines: &str) -> Result<(), Failure> {
        let words: Vec<&str> = options.iter().copied().chain(["-n", namespace, "-batch", "-"]).collect();
        self.run(program, &words, Some(lines))
    }

    /// Runs a program to its end, where the namespaces are.
    pub(super) fn run(&self, program: &str, words: &[&str], input: Option<&str>) -> Result<(), Failure> {
        let id = &self.layout.id;
        let mut all = lead(self.held.state.holder.as_ref());
        all.extend([program].into_iter().chain(words.iter().copied()).map(str::to_owned));
        let stdin = match input {
            None => Stdio::null(),
            Some(lines) => self.file_of(lines).map_err(|error| {
                let what = format!("{}: cannot write there: {error}", self.held.files().display());
                ours(id, what, "make room there, or let XDG_STATE_HOME name another folder")
            })?,
        };
        let mut command = Command::new(&all[0]);
        command.args(&all[1..]).env(process::MARK, &self.held.state.token);
        let said = match child::run(&mut command, stdin, PATIENCE, self.stop) {
            Ok(finished) if finished.status.success() => return Ok(()),
            Ok(finished) => finished.said.lines().next().unwrap_or("it says nothing").trim().to_owned(),
            Err(Unfinished::NotStarted(error)) => {
                return Err(ours(
                    id,
                    format!("cannot run `{}`: {error}", all[0]),
                    format!("install {}", package(&all[0])),
                ));
            }
            Err(Unfinished::TooLong(_, took)) => took.to_string(),
            Err(Unfinished::Stopped) => return Err(self.stopped()),
        };
        Err(ours(
            id,
            format!("`{}` failed: {said}", all.join(" ")),
            "run as root, with CAP_NET_ADMIN and CAP_SYS_ADMIN",
        ))
    }

    fn file_of(&self, lines: &str) -> io::Result<Stdio> {
        let path = self.held.files().join("batch");
        fs::write(&path, lines)?;
        File::open(&path).map(Stdio::from)
    }

    /// Starts a program that stays, and notes it.
    pub(super) fn start(&mut self, words: &[String], log: &Path, what: &str) -> Result<Process, Failure> {
        let process = self.spawn(words, log, what)?;
        self.held.state.processes.push(process.clone());
        self.held.save()?;
        Ok(process)
    }

    fn spawn(&self, words: &[String], log: &Path, what: &str) -> Result<Process, Failure> {
        if self.stop.requested() {
            return Err(self.stopped());
        }
        let id = &self.layout.id;
        let cannot = |error: io::Error| {
            ours(id, format!("cannot start the {what}: {error}"), format!("install {}", package(&words[0])))
        };
        let file = File::create(log).map_err(cannot)?;
        let said = file.try_clone().map_err(cannot)?;
        // A session of its own: it has no terminal that could end it, and stays when we go.
        let mut command = Command::new("setsid");
        command.args(words).env(process::MARK, &self.held.state.token);
        let child = command.stdin(Stdio::null()).stdout(file).stderr(said).spawn().map_err(cannot)?;
        Ok(Process::of(child.id(), what))
    }

    /// Waits until a process that was started is `ready`.
    pub(super) fn until(&self, process: &Process, log: &Path, ready: impl Fn() -> bool) -> Result<(), Failure> {
        let begun = Monotonic::now();
        let fault = loop {
            if ready() {
                return Ok(());
            }
            if self.stop.requested() {
                return Err(self.stopped());
            }
            if !process.lives() {
                break "has ended";
            }
            if Monotonic::now().since(begun) > Some(PATIENCE) {
                break "does not get ready";
            }
            pace::sleep_until(Monotonic::now().after(Nanos::millis(5)));
        };
        let said = fs::read_to_string(log).unwrap_or_default();
        // Its error where it names one, for a hint may follow that.
        let error = said.lines().find(|line| line.starts_with("error")).or_else(|| child::last_line(&said));
        let said = error.unwrap_or("it says nothing").to_owned();
        Err(ours(&self.layout.id, format!("the {} {fault}: {said}", process.what), "what it said is its own reason"))
    }

    fn stopped(&self) -> Failure {
        ours(&self.layout.id, "stopped while it was made", "nothing of it is left")
    }
}

/// The Debian package that a program comes in.
fn package(program: &str) -> &'static str {
    match program {
        "ip" | "tc" => "iproute2",
        "ssh-keygen" => "openssh-client",
        _ => "util-linux",
    }
}

/// Path of a program that only root's PATH finds.
pub(super) fn program_in(folders: &[&str], name: &str) -> Option<PathBuf> {
    folders.iter().map(|folder| Path::new(folder).join(name)).find(|path| path.is_file())
}
