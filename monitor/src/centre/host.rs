//! A host of the plan as the centre sees it: the process that leads to its agent, and what that tells.

use std::collections::BTreeMap;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::Sender;
use std::thread;

use anyhow::{Context, Result};
use logbook::monitor::talk::{Hello, Over};
use measure::lookout::HostId;
use uuid::Uuid;

use super::Event;
use super::picture::{AgentNow, Standing};

/// The first wait before an agent is reached for again, seconds; each is twice the one before, up to the longest.
const FIRST: u64 = 1;
const LONGEST: u64 = 30;
/// Time by which an agent that asked in vain has asked again, seconds: the longest pause of an agent, and some.
const ASKED_AGAIN: u64 = 15;
/// Difference of its clock from the centre's beyond which its seconds are moved, seconds.
const SKEW: i64 = 2;
/// Seconds that a second may be ahead of the centre's clock.
const AHEAD: i64 = 5;
/// Seconds after which what an agent tells is not of now.
const BEHIND: u64 = 10;
/// The most of what the leading process says on its standard error that is kept, octets.
const SAID: u64 = 4_096;

/// A host with an agent.
#[derive(Debug)]
pub struct Host {
    /// Its place in the mesh.
    pub id: HostId,
    /// State of its agent, for people.
    pub agent: AgentNow,
    /// The number of the line to it; absent: there is none.
    pub line: Option<u64>,
    child: Option<Child>,
    /// Time at which it is to be reached for again, seconds since 1970; absent: it is reached, or being reached.
    pub again: Option<u64>,
    tries: u32,
    /// Start of the agent whose beats come.
    pub instance: Option<Uuid>,
    /// The first second it told; absent: its agent does not stand yet, and what asks it has no answer to expect.
    pub stands_since: Option<u64>,
    /// Seconds that are subtracted from its own, since its clock differs.
    pub skew: i64,
    /// Its latest second by its own clock, and the centre's second in which that came.
    latest: Option<(u64, u64)>,
    /// Seconds for which its clock kept one second, since it was set back.
    held: u64,
    /// Standard error of the leading process, where that ended before the line.
    pub last_words: Option<String>,
    /// Cells that cannot be measured as they were assigned: why.
    troubles: BTreeMap<(String, Over), String>,
    /// Reasons for which it is not reached, or facts of its hello that people should know.
    notes: Vec<String>,
}

impl Host {
    /// One that is to be reached at once.
    pub fn new(id: HostId, now: u64) -> Self {
        let agent = AgentNow {
            standing: Standing::Starting,
            since: now,
            last: None,
            version: None,
            slip_ns: None,
            cpu_pressure: None,
            counters: None,
            troubles: Vec::new(),
        };
        Self {
            id,
            agent,
            line: None,
            child: None,
            again: Some(now),
            tries: 0,
            instance: None,
            stands_since: None,
            skew: 0,
            latest: None,
            held: 0,
            last_words: None,
            troubles: BTreeMap::new(),
            notes: Vec::new(),
        }
    }

    /// Starts the process that leads to the agent of `host`: the ends of its line, what it says first to be written by the caller.
    ///
    /// # Errors
    /// The program cannot be run.
    pub fn reach(
        &mut self,
        line: u64,
        state: &str,
        sonde: &Path,
        events: &Sender<Event>,
    ) -> Result<(OwnedFd, OwnedFd)> {
        (self.again, self.last_words) = (None, None);
        let mut child = Command::new(sonde)
            .args(["agent", "--reach", "--state", state])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot run {}", sonde.display()))?;
        let (stdin, stdout) = (child.stdin.take().expect("it is piped"), child.stdout.take().expect("it is piped"));
        let stderr = child.stderr.take().expect("it is piped");
        let events = events.clone();
        thread::Builder::new().name("said".to_owned()).stack_size(64 << 10).spawn(move || {
            let mut said = Vec::new();
            let mut stderr = stderr;
            let _all = (&mut stderr).take(SAID).read_to_end(&mut said);
            // Whoever writes on is not to wait for a reader that is gone.
            let _rest = std::io::copy(&mut stderr, &mut std::io::sink());
            let _gone = events.send(Event::Said(line, String::from_utf8_lossy(&said).trim().to_owned()));
        })?;
        (self.child, self.line) = (Some(child), Some(line));
        Ok((stdout.into(), stdin.into()))
    }

    /// Takes what the agent says of itself; its seconds are moved where its clock differs from `wall_ns`.
    pub fn hello(&mut self, hello: &Hello, wall_ns: u64) {
        self.tries = 0;
        self.instance = Some(hello.instance);
        self.agent.version = Some(hello.program_version.clone());
        let skew = (i128::from(hello.wall_ns) - i128::from(wall_ns)) / 1_000_000_000;
        self.skew = i64::try_from(skew).unwrap_or_default();
        if self.skew.abs() <= SKEW {
            self.skew = 0;
        }
        (self.latest, self.held) = (None, 0);
        self.notes.clear();
        self.troubles.clear();
        if self.skew != 0 {
            let way = if self.skew > 0 { "ahead of" } else { "behind" };
            self.notes.push(format!("its clock is {} s {way} the monitor's", self.skew.abs()));
        }
        if hello.given_up > 0 {
            self.notes.push(format!("{} seconds of it were given up while nobody took them", hello.given_up));
        }
        self.retell();
    }

    /// A second by the centre's clock, of one of the agent's. Nothing was measured in the future: an agent whose clock was set forward since it
    /// said hello has its seconds moved back. One whose clock was set back keeps its second until that clock has come to it again: meanwhile the centre's goes on.
    pub fn second_of(&mut self, at: u64, now: u64) -> u64 {
        let before = self.latest.replace((at, now));
        if let Some(passed) = before.filter(|(second, _)| *second == at).map(|(_, came)| now.saturating_sub(came)) {
            self.skew = self.skew.saturating_sub_unsigned(passed);
            self.held += passed;
            if self.held > SKEW.unsigned_abs() {
                self.notes = vec!["its clock was set back".to_owned()];
                self.retell();
            }
        }
        let second = at.saturating_add_signed(self.skew.saturating_neg());
        let ahead = i64::try_from(second.saturating_sub(now)).unwrap_or(i64::MAX);
        if ahead <= AHEAD {
            return second;
        }
        self.skew = self.skew.saturating_add(ahead);
        self.notes = vec![format!("its clock was set forward by {ahead} s")];
        self.retell();
        now
    }

    /// Takes note of a second that came.
    pub fn heard(&mut self, at: u64, now: u64) {
        self.stands_since.get_or_insert(at);
        self.agent.last = self.agent.last.max(Some(at));
        let standing = if at + BEHIND >= now { Standing::Measuring } else { Standing::CatchingUp };
        self.stand(standing, now);
    }

    /// Takes note that it tells nothing, where that is so: its line may be dead and not have ended yet.
    pub fn listen(&mut self, now: u64) {
        if self.agent.standing == Standing::Measuring && self.agent.last.is_some_and(|last| last + BEHIND < now) {
            self.stand(Standing::Quiet, now);
        }
    }

    /// Takes note of what does not work, or works again where `text` is empty.
    pub fn trouble(&mut self, to: &str, over: Over, text: &str) {
        if text.is_empty() {
            self.troubles.remove(&(to.to_owned(), over));
        } else {
            self.troubles.insert((to.to_owned(), over), text.to_owned());
        }
        self.retell();
    }

    /// Returns true where its agent was there to answer in the second `at`, as far as it ever was, and long enough for all
    /// that ask it to have tried again.
    pub fn stood(&self, at: u64) -> bool {
        self.stands_since.is_some_and(|since| since + ASKED_AGAIN < at)
    }

    /// Returns true while the way to it is being laid.
    pub fn is_being_reached(&self) -> bool {
        self.child.is_some() && self.instance.is_none()
    }

    /// The line is over: it is reached for again, later each time.
    pub fn gone(&mut self, why: &str, now: u64) {
        self.end();
        let wait = FIRST.saturating_mul(1 << self.tries.min(10)).min(LONGEST);
        self.tries += 1;
        self.again = Some(now + wait);
        self.instance = None;
        (self.agent.slip_ns, self.agent.cpu_pressure, self.agent.counters) = (None, None, None);
        self.notes = vec![format!("not reached: {why}")];
        self.stand(Standing::Away, now);
        self.retell();
        if let Some(text) = &self.last_words {
            let text = text.clone();
            self.said(&text);
        }
    }

    /// Takes the last words of the leading process for the reason of its end.
    pub fn said(&mut self, text: &str) {
        if let (false, Some(last)) = (text.is_empty(), self.notes.last_mut()) {
            let first = text.lines().next().unwrap_or_default();
            *last = format!("not reached: {}", first.trim_start_matches("error: "));
            self.retell();
        }
    }

    /// Ends the leading process; the agent goes on.
    pub fn end(&mut self) {
        self.line = None;
        if let Some(mut child) = self.child.take() {
            // It may be gone already; then there is nothing to end.
            let _gone = child.kill();
            let _status = child.wait();
        }
    }

    fn stand(&mut self, standing: Standing, now: u64) {
        if self.agent.standing != standing {
            (self.agent.standing, self.agent.since) = (standing, now);
        }
    }

    fn retell(&mut self) {
        /// So many troubles are told; of the others how many.
        const MOST: usize = 5;
        let mut told = self.notes.clone();
        told.extend(
            self.troubles.iter().take(MOST).map(|((to, over), text)| format!("{to} by {}: {text}", over.name())),
        );
        if self.troubles.len() > MOST {
            told.push(format!("and {} more", self.troubles.len() - MOST));
        }
        self.agent.troubles = told;
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello(wall_ns: u64) -> Hello {
        Hello {
            version: 1,
            program: "sonde".to_owned(),
            program_version: "0.1.0".to_owned(),
            instance: Uuid::nil(),
            oldest: None,
            given_up: 0,
            revision: None,
            boot_id: None,
            wall_ns,
        }
    }

    #[test]
    fn seconds_of_a_clock_that_differs_are_those_of_the_centre() {
        let mut host = Host::new(0, 1_000);
        host.hello(&hello(4_600_000_000_000), 1_000_000_000_000);
        assert_eq!(host.second_of(4_601, 1_001), 1_001);
        assert_eq!(host.agent.troubles, ["its clock is 3600 s ahead of the monitor's"]);
        host.hello(&hello(1_001_000_000_000), 1_000_000_000_000);
        assert_eq!(host.second_of(1_001, 1_000), 1_001, "a second is the way");
    }

    #[test]
    fn a_clock_that_is_set_forward_puts_nothing_into_the_future() {
        let mut host = Host::new(0, 1_000);
        host.hello(&hello(1_000_000_000_000), 1_000_000_000_000);
        assert_eq!(host.second_of(1_010, 1_010), 1_010);
        assert_eq!(host.second_of(4_611, 1_011), 1_011);
        assert_eq!(host.second_of(4_612, 1_012), 1_012, "and goes on");
    }

    #[test]
    fn a_clock_that_is_set_back_holds_nothing_up() {
        let mut host = Host::new(0, 1_000);
        host.hello(&hello(1_000_000_000_000), 1_000_000_000_000);
        assert_eq!(host.second_of(1_010, 1_011), 1_010);
        // An hour back: its second stays as it is for an hour, and then goes on.
        let held: Vec<u64> = (1_012..4_612).map(|now| host.second_of(1_010, now)).collect();
        assert_eq!(held, (1_011..4_611).collect::<Vec<_>>());
        assert_eq!(host.second_of(1_011, 4_612), 4_611);
        assert_eq!(host.agent.troubles, ["its clock was set back"]);
        // Seconds of one name that come at the same time stay one.
        assert_eq!(host.second_of(1_011, 4_612), 4_611);
    }

    #[test]
    fn an_agent_that_tells_nothing_does_not_stand_as_one_that_measures() {
        let mut host = Host::new(0, 0);
        host.heard(100, 101);
        host.listen(110);
        assert_eq!((host.agent.standing, host.agent.since), (Standing::Measuring, 101));
        host.listen(111);
        assert_eq!((host.agent.standing, host.agent.since), (Standing::Quiet, 111));
        host.heard(112, 113);
        assert_eq!(host.agent.standing, Standing::Measuring);
    }

    #[test]
    fn an_agent_that_is_gone_is_reached_for_ever_more_seldom() {
        let mut host = Host::new(0, 0);
        let waits: Vec<u64> = (0..8)
            .map(|_| {
                host.gone("it ended", 100);
                host.again.unwrap() - 100
            })
            .collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 30, 30, 30]);
        host.said("error: cannot reach a: no route\nmore");
        assert_eq!(host.agent.troubles, ["not reached: cannot reach a: no route"]);
    }
}
