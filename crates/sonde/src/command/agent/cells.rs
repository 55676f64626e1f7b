//! Assignment as the prober's work, and the prober's results as beats.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use endpoint::clock::Monotonic;
use endpoint::control::Credential;
use endpoint::prober::{Assignment as Probing, ProgramSecond, Target};
use logbook::monitor::talk::{Assignment, Beat, CellBeat, CellTask, Health, Over, Program};
use measure::method::Carrier;
use measure::prober::CellId;
use measure::prober::second::{Second, Tally};
use measure::unit::{Instant, Nanos};
use protocol::application::Application;
use protocol::native::PORT;
use protocol::native::key::Key;

use crate::command::application::{ApplicationOptions, Whom, expected};

/// Cells at the most.
const MOST: usize = 4_096;
/// Nothing is asked more often.
const SHORTEST: Nanos = Nanos::millis(1);
/// A program at work has other users.
const SHORTEST_PROGRAM: Nanos = Nanos::millis(10);
/// Nothing is asked more seldom.
const LONGEST: Nanos = Nanos::secs(3_600);
/// Shortest and longest wait for an answer.
const TIMEOUT: (Nanos, Nanos) = (Nanos::millis(1), Nanos::secs(60));
/// So long the name of a cell is remembered that is asked no more: its last seconds are told by then.
const REMEMBERED: Nanos = Nanos::secs(600);

/// The cells by the names that the prober has for them.
#[derive(Debug, Default)]
pub struct Cells {
    tasks: BTreeMap<CellId, CellTask>,
    /// Those that are asked no more, and since when.
    gone: BTreeMap<CellId, (CellTask, Instant)>,
    next: CellId,
    key: Option<String>,
}

/// A cell that cannot be asked as it was assigned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Host of the cell.
    pub to: String,
    /// Protocol of the cell.
    pub over: Over,
    /// Reason for which it is refused, for people.
    pub text: String,
}

impl Cells {
    /// Work of the prober for `assignment`, and the parts of it that make no sense.
    pub fn assign(&mut self, assignment: &Assignment) -> (Probing, Vec<Refused>) {
        let mut refused = Vec::new();
        let mut refuse = |to: &str, over, text: String| refused.push(Refused { to: to.to_owned(), over, text });
        let key = assignment.key.as_deref().map(Key::parse).transpose().unwrap_or_else(|error| {
            refuse(&assignment.host, Over::Udp, format!("the key is none: {error}"));
            None
        });
        let now = Monotonic::now();
        let before = std::mem::take(&mut self.tasks);
        let is_same_key = self.key == assignment.key;
        self.key.clone_from(&assignment.key);
        let mut known: BTreeMap<(&str, Over), (CellId, &CellTask)> =
            before.iter().map(|(cell, task)| ((task.to.as_str(), task.over), (*cell, task))).collect();
        for task in assignment.cells.iter().chain(&assignment.programs) {
            if let Err(text) = check(task, self.tasks.len()).and_then(|()| target(task).map(drop)) {
                refuse(&task.to, task.over, text);
                continue;
            }
            let same = known.remove(&(task.to.as_str(), task.over)).filter(|(_, other)| *other == task && is_same_key);
            let cell = same.map_or(self.next, |(cell, _)| cell);
            self.next = self.next.max(cell + 1);
            self.tasks.insert(cell, task.clone());
        }
        self.gone.retain(|_, (_, since)| now.since(*since) <= Some(REMEMBERED));
        let tasks = &self.tasks;
        self.gone.extend(
            before.into_iter().filter(|(cell, _)| !tasks.contains_key(cell)).map(|(cell, task)| (cell, (task, now))),
        );
        let cells = self.tasks.iter().filter_map(|(cell, task)| Some((*cell, target(task).ok()?))).collect();
        let timeout = assignment.timeout_ns.clamp(TIMEOUT.0, TIMEOUT.1);
        (Probing { timeout, credential: key.map(Credential::from), cells }, refused)
    }

    /// Host that a cell leads to, and its protocol.
    pub fn name(&self, cell: CellId) -> Option<(&str, Over)> {
        let task = self.tasks.get(&cell).or_else(|| self.gone.get(&cell).map(|(task, _)| task))?;
        Some((&task.to, task.over))
    }

    /// Returns true while a cell is asked.
    pub fn is_asked(&self, cell: CellId) -> bool {
        self.tasks.contains_key(&cell)
    }

    /// A second as it is told.
    pub fn beat(
        &self,
        second: Second,
        dropped: Option<u64>,
        own: Health,
        mut programs: BTreeMap<CellId, ProgramSecond>,
    ) -> Beat {
        let own = Health { slip_ns: second.slip, late: second.late(), dropped, ..own };
        let cell = |(cell, tally): (CellId, Tally)| {
            let (to, over) = self.name(cell)?;
            let ProgramSecond { replies, certified_until_s } = programs.remove(&cell).unwrap_or_default();
            Some(CellBeat { replies, certified_until_s, ..told(to, over, tally) })
        };
        Beat {
            seq: second.number + 1,
            at: second.at,
            own,
            cells: second.tallies.into_iter().filter_map(cell).collect(),
        }
    }
}

fn told(to: &str, over: Over, tally: Tally) -> CellBeat {
    CellBeat {
        to: to.to_owned(),
        over: Some(over).filter(|over| *over != Over::Udp),
        lost: tally.lost,
        lost_out: tally.lost_out,
        lost_back: tally.lost_back,
        late: tally.late,
        refused: tally.refused,
        corrupt: tally.corrupt,
        send_failed: tally.send_failed,
        duplicated: tally.duplicated,
        times_ns: tally.times.into_iter().map(|took| took.0).collect(),
        replies: BTreeMap::new(),
        certified_until_s: None,
    }
}

fn target(task: &CellTask) -> Result<Target, String> {
    if let Some(program) = &task.program {
        let (whom, application) = question(program)?;
        let port = whom.far.port.unwrap_or(application.protocol.port);
        let question = Some(Arc::new(application));
        return Ok(Target { host: whom.far.host, port, carrier: Carrier::Tcp, every: task.every_ns, question });
    }
    let carrier = match task.over {
        Over::Udp => Carrier::Udp,
        Over::Tcp => Carrier::Tcp,
        Over::Icmp => Carrier::Icmp,
        Over::TcpConnect => Carrier::TcpConnect,
        Over::Url => return Err("without a program nobody is asked by a URL".to_owned()),
    };
    let port = match task.over {
        Over::Icmp => 0,
        Over::Udp | Over::Tcp | Over::TcpConnect | Over::Url => task.port.unwrap_or(PORT),
    };
    Ok(Target { host: task.address.clone(), port, carrier, every: task.every_ns, question: None })
}

/// The program that is asked, and the question. Its files are read here and now.
fn question(program: &Program) -> Result<(Whom, Application), String> {
    let whom: Whom = program.url.parse().map_err(|error| format!("{} {error}", program.url))?;
    let file = |file: &Option<String>| file.as_ref().map(PathBuf::from);
    let options = ApplicationOptions {
        ca: file(&program.ca),
        tls_name: program.tls_name.clone(),
        insecure: program.insecure,
        headers: file(&program.headers),
        password_file: file(&program.password_file),
        expect: program.expect.as_deref().map(expected).transpose()?,
        ..ApplicationOptions::default()
    };
    let application = options.application(Some(&whom)).map_err(|failure| failure.told.what)?;
    Ok((whom, application.ok_or_else(|| format!("{} is no URL", program.url))?))
}

fn check(task: &CellTask, before: usize) -> Result<(), String> {
    if before >= MOST {
        return Err(format!("more than {MOST} cells from one host"));
    }
    let shortest = if task.program.is_some() { SHORTEST_PROGRAM } else { SHORTEST };
    if !(shortest..=LONGEST).contains(&task.every_ns) {
        return Err(format!("every {}: from {shortest} to {LONGEST} is possible", task.every_ns));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(to: &str, every: Nanos) -> CellTask {
        CellTask {
            to: to.to_owned(),
            address: "192.0.2.1".to_owned(),
            port: Some(7_663),
            over: Over::Udp,
            every_ns: every,
            program: None,
        }
    }

    fn assignment(cells: Vec<CellTask>, key: Option<&str>) -> Assignment {
        let key = key.map(str::to_owned);
        Assignment {
            revision: 1,
            host: "here".into(),
            port: None,
            key,
            timeout_ns: Nanos::secs(1),
            cells,
            programs: Vec::new(),
        }
    }

    fn asked(cells: &mut Cells, assignment: &Assignment) -> Vec<CellId> {
        cells.assign(assignment).0.cells.into_iter().map(|(cell, _)| cell).collect()
    }

    #[test]
    fn who_is_asked_as_before_keeps_its_name_and_no_name_is_given_twice() {
        let mut cells = Cells::default();
        let second = Nanos::secs(1);
        assert_eq!(asked(&mut cells, &assignment(vec![task("a", second), task("b", second)], None)), [0, 1]);
        assert_eq!(asked(&mut cells, &assignment(vec![task("b", second), task("c", second)], None)), [1, 2]);
        assert_eq!((cells.name(0), cells.is_asked(0)), (Some(("a", Over::Udp)), false), "its last seconds are untold");
        assert_eq!(
            asked(&mut cells, &assignment(vec![task("b", Nanos::millis(100)), task("a", second)], None)),
            [3, 4]
        );
        let key = Key([7; 32]).to_text();
        assert_eq!(asked(&mut cells, &assignment(vec![task("a", second)], Some(&key))), [5], "sessions by another key");
    }

    #[test]
    fn what_makes_no_sense_is_refused_by_name_and_the_rest_is_asked() {
        let mut cells = Cells::default();
        let all = vec![task("a", Nanos::ZERO), task("b", Nanos::secs(1)), task("c", Nanos::secs(4_000))];
        let (probing, refused) = cells.assign(&assignment(all, Some("no key")));
        assert_eq!(probing.cells.len(), 1);
        assert_eq!(refused.iter().map(|refused| refused.to.as_str()).collect::<Vec<_>>(), ["here", "a", "c"]);
    }
}
