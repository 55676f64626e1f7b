//! Telling people: each receiver of a plan hears of incidents, by a thread of its own, so that one that does not answer holds nobody up.

pub mod form;
pub mod otlp;
pub mod outbox;
pub mod post;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver as Inbox, RecvTimeoutError, Sender as Channel};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use jiff::Timestamp;
use logbook::monitor::plan::{MonitorPlan, Receiver};

use self::form::Sender;
use self::outbox::{Manner, Note, Outbox, Outcome, Status};
use self::post::Post;

/// Repeats to Alertmanager of an incident that goes on, and for how long that it is over, seconds.
const ALERTMANAGER: Manner = Manner { repeat: 60, resolved_for: 300 };

/// All receivers of a plan.
#[derive(Debug)]
pub struct Telling {
    receivers: Vec<Channel<Note>>,
}

/// A fault, and its receiver.
#[derive(Debug)]
pub struct Fault {
    /// Name of the receiver.
    pub receiver: String,
    /// The fault, for people.
    pub text: String,
}

impl Telling {
    /// Starts a thread for each receiver. The notices that they still had to get stand in `state`; faults go to `tell`.
    ///
    /// # Errors
    /// A secret cannot be read; the system starts no thread.
    pub fn start(
        plan: &MonitorPlan,
        sender: &Sender,
        folder: &Path,
        state: &Path,
        tell: impl Fn(Fault) + Clone + Send + 'static,
    ) -> Result<Self> {
        let mut receivers = Vec::new();
        for (number, receiver) in plan.tell.iter().enumerate() {
            let name = format!("{} ({})", receiver.name(), number + 1);
            let post = Post::new(receiver, folder).with_context(|| format!("receiver {name}"))?;
            let manner = manner(receiver, plan);
            let path = state.join(format!("told-{}.json", number + 1));
            let (channel, inbox) = mpsc::channel();
            let clerk = Clerk { name, post, sender: sender.clone(), manner, outbox: read(&path), path };
            let tell = tell.clone();
            thread::Builder::new().name("telling".to_owned()).spawn(move || clerk.run(&inbox, &tell))?;
            receivers.push(channel);
        }
        Ok(Self { receivers })
    }

    /// Has all receivers told of an incident as it is now.
    pub fn note(&self, note: &Note) {
        for channel in &self.receivers {
            // A thread ends with the program alone.
            let _gone = channel.send(note.clone());
        }
    }
}

fn manner(receiver: &Receiver, plan: &MonitorPlan) -> Manner {
    match receiver {
        Receiver::Alertmanager { .. } => ALERTMANAGER,
        _ => Manner { repeat: (plan.notice.repeat.0 / 1_000_000_000).max(1), resolved_for: 0 },
    }
}

struct Clerk {
    name: String,
    post: Post,
    sender: Sender,
    manner: Manner,
    outbox: Outbox,
    path: PathBuf,
}

impl Clerk {
    fn run(mut self, inbox: &Inbox<Note>, tell: &dyn Fn(Fault)) {
        let fault = |text: String| tell(Fault { receiver: self.name.clone(), text });
        loop {
            let wait = self.outbox.next(self.manner).map(|at| Duration::from_secs(at.saturating_sub(now())));
            let heard = match wait {
                None => inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(wait) => inbox.recv_timeout(wait),
            };
            match heard {
                Ok(note) => self.outbox.note(note, now()),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            // Notes that came by now are taken before anything is sent: an incident that changed is told as it is now.
            for note in inbox.try_iter() {
                self.outbox.note(note, now());
            }
            for letter in self.outbox.due(now(), self.manner) {
                let (outcome, why) = self.post.tell(&self.sender, &letter, now());
                if let Some(why) = why.filter(|_| outcome != Outcome::Taken) {
                    let again = if outcome == Outcome::Refused { "it is not told again" } else { "it is tried again" };
                    let over = if letter.status == Status::Resolved { " (over)" } else { "" };
                    fault(format!("incident {}{over} was not told: {why}; {again}", letter.incident.id));
                }
                self.outbox.tried(letter.incident.id, letter.status, outcome, now(), self.manner);
            }
            if let Err(error) = keep(&self.path, &self.outbox) {
                fault(format!("{error:#}: after a restart incidents may be told again"));
            }
        }
    }
}

/// Seconds since 1970.
fn now() -> u64 {
    u64::try_from(Timestamp::now().as_second()).unwrap_or_default()
}

/// Outbox in the file at `path`; empty where that is none of ours: then incidents that go on are told again.
fn read(path: &Path) -> Outbox {
    fs::read(path).ok().and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default()
}

fn keep(path: &Path, outbox: &Outbox) -> Result<()> {
    let text = serde_json::to_string(outbox).context("an outbox has string keys alone")?;
    let beside = path.with_extension("part");
    let written = fs::write(&beside, text).and_then(|()| fs::rename(&beside, path));
    written.with_context(|| format!("cannot write {}", path.display()))
}
