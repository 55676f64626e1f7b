//! The cases against a server that is started for them, and what can go wrong with one.

use std::fs;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::process::Signal;
use tempfile::{TempDir, tempdir};
use testbed::process::{Running, ended, started};
use testbed::{skip, template, wait};

use super::*;
use crate::store::tests::{CASES, DAY, agent, batch, cell, seen};

/// A server of our own, on a socket in a folder of its own.
struct Server {
    folder: TempDir,
    programs: PathBuf,
    /// User it runs as where we are root, as whom it will not.
    user: Option<u32>,
    running: Option<Running>,
}

impl Server {
    /// A new one. `None`, said aloud, where there is no PostgreSQL here.
    fn start() -> Option<Self> {
        let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
        let Some(programs) = versions.map(|entry| entry.path().join("bin")).find(|bin| bin.join("initdb").exists())
        else {
            skip::aloud("the monitor's store in PostgreSQL: its server is not installed (Debian: postgresql)");
            return None;
        };
        let is_root = rustix::process::geteuid().is_root();
        let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
        let found = ["postgres:", "nobody:"].iter().find_map(|name| users.lines().find(|line| line.starts_with(name)));
        let user = found.and_then(|line| line.split(':').nth(2)?.parse().ok()).filter(|_| is_root);
        let folder = tempdir().unwrap();
        chown(folder.path(), user, None).unwrap();
        let mut server = Self { folder, programs, user, running: None };
        let user = user.unwrap_or_else(|| rustix::process::geteuid().as_raw());
        let words = ["-A", "trust", "-U", "sonde", "-E", "UTF8", "--locale", "C", "--no-sync", "-D"];
        template::copied(&server.programs.join("initdb"), &words, user, &server.data(), |data| {
            let made = ended(server.program("initdb").args(words).arg(data), Duration::from_mins(2));
            assert_eq!(made.code, Some(0), "{}", made.told());
        });
        server.begin();
        Some(server)
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn program(&self, name: &str) -> Command {
        let mut command = Command::new(self.programs.join(name));
        command.current_dir(self.folder.path()).env("LC_ALL", "C");
        if let Some(user) = self.user {
            command.uid(user);
        }
        command
    }

    /// Starts it, again where the rest of one that was killed is still there.
    fn begin(&mut self) {
        let socket = self.folder.path().display().to_string();
        wait::until("the server answers", || {
            if self.running.as_ref().is_none_or(Running::has_ended) {
                let mut command = self.program("postgres");
                command
                    .args(["-c", "listen_addresses=", "-c", "max_connections=60", "-k", &socket, "-D"])
                    .arg(self.data());
                self.running = Some(started(&mut command));
            }
            connect::described(&self.address("postgres"))
                .and_then(|(config, _)| connect::connected(&config, Purpose::Read))
                .is_ok()
        });
    }

    fn kill(&mut self) {
        let running = self.running.take().unwrap();
        running.signal(Signal::KILL);
        let _ended = running.end(Duration::from_mins(1));
    }

    fn address(&self, database: &str) -> String {
        format!("postgres://sonde@/{database}?host={}", self.folder.path().display())
    }

    /// Something done by hand.
    fn raw(&self, database: &str) -> Client {
        let (config, _) = connect::described(&self.address(database)).unwrap();
        connect::connected(&config, Purpose::Read).unwrap()
    }

    /// A new database of this name, as an address.
    fn database(&self, name: &str) -> String {
        self.raw("postgres").batch_execute(&format!("CREATE DATABASE {name}")).unwrap();
        self.address(name)
    }
}

fn open(address: &str) -> PostgresStore {
    PostgresStore::open(address, Purpose::Keep).unwrap()
}

#[test]
fn a_database_does_all_of_it() {
    let Some(server) = Server::start() else { return };
    for (at, (name, case)) in CASES.iter().enumerate() {
        let address = server.database(&format!("case{at}"));
        // Where one fails, the captured output ends with its name.
        let named = thread::Builder::new().name((*name).to_owned());
        thread::scope(|scope| {
            let run = named.spawn_scoped(scope, || case(&|| Box::new(open(&address)))).unwrap();
            assert!(run.join().is_ok(), "{name}");
        });
    }
    wrong(&server);
    removed_by_days(&server);
}

/// A database that is not there, is newer, is something else, is damaged, or does not let us in.
fn wrong(server: &Server) {
    let fault = |address: &str, purpose| PostgresStore::open(address, purpose).err().unwrap().fault;
    let address = server.database("wrong");
    assert!(matches!(fault(&address, Purpose::Read), Fault::Absent));
    assert!(matches!(fault(&server.address("nowhere"), Purpose::Keep), Fault::Refused(_)));
    let away = fault("postgres://sonde@/x?host=/nonexistent", Purpose::Keep);
    assert!(matches!(away, Fault::Away(_)) && away.passes(), "{away}");
    let mut store = open(&address);
    store.keep(&batch(agent(1), (1, 1), vec![(cell("a", "b"), DAY, seen(9))])).unwrap();
    let mut raw = server.raw("wrong");
    raw.batch_execute(
        "CREATE ROLE reader LOGIN; CREATE ROLE stranger LOGIN; GRANT USAGE ON SCHEMA sonde TO reader;
        GRANT SELECT ON ALL TABLES IN SCHEMA sonde TO reader",
    )
    .unwrap();
    let by = |role: &str| address.replace("sonde@", &format!("{role}@"));
    assert!(matches!(fault(&by("stranger"), Purpose::Read), Fault::Refused(_)));
    let mut reader = PostgresStore::open(&by("reader"), Purpose::Read).unwrap();
    assert_eq!(reader.history(&cell("a", "b"), Level::Hour, 0, LATEST).unwrap(), [(DAY, seen(9))]);
    assert!(matches!(reader.withdraw("x").unwrap_err().fault, Fault::Refused(_)));
    raw.batch_execute("UPDATE sonde.minutes SET span = '\\x0102'").unwrap();
    let told = store.history(&cell("a", "b"), Level::Hour, 0, LATEST).unwrap_err();
    assert!(told.to_string().contains(&format!("minutes, cell 1 at {DAY}")), "{told}");
    raw.batch_execute("UPDATE sonde.cells SET over = 'pigeon'; UPDATE sonde.agents SET upto = -1").unwrap();
    assert!(store.cells().unwrap_err().to_string().contains("pigeon"));
    assert!(matches!(store.kept().unwrap_err().fault, Fault::Damaged { .. }));
    raw.batch_execute("ALTER TABLE sonde.agents ALTER upto TYPE text").unwrap();
    assert!(store.kept().is_err(), "another type is no panic");
    // One of the first version is brought to the present form by a monitor; a reader may not do that.
    raw.batch_execute("UPDATE sonde.version SET version = 1; DROP TABLE sonde.silences").unwrap();
    assert!(matches!(fault(&by("reader"), Purpose::Read), Fault::Refused(_)));
    assert_eq!(open(&address).silences(0).unwrap(), []);
    raw.batch_execute("UPDATE sonde.version SET version = 3").unwrap();
    assert!(matches!(fault(&address, Purpose::Read), Fault::Newer { version: 3, newest: 2 }));
    raw.batch_execute("DROP TABLE sonde.version").unwrap();
    assert!(matches!(fault(&address, Purpose::Keep), Fault::NotOurs(_)));
}

/// Minutes go by whole days, and their partitions with them.
fn removed_by_days(server: &Server) {
    let address = server.database("days");
    let mut store = open(&address);
    let minutes = (0..4).map(|day| (cell("a", "b"), DAY + day * 86_400, seen(9))).collect();
    store.keep(&batch(agent(1), (1, 1), minutes)).unwrap();
    let partitions = || {
        server
            .raw("days")
            .query("SELECT FROM pg_inherits WHERE inhparent = 'sonde.minutes'::regclass", &[])
            .unwrap()
            .len()
    };
    assert_eq!(partitions(), 4);
    let kept = super::super::Retention { minutes: Some(86_400), hours: None, days: None };
    store.retain(DAY + 3 * 86_400 + 7_200, &kept).unwrap();
    assert_eq!(partitions(), 2);
    assert_eq!(store.history(&cell("a", "b"), Level::Hour, 0, LATEST).unwrap().len(), 4);
    assert_eq!(store.history(&cell("a", "b"), Level::Minute, 0, LATEST).unwrap().len(), 2);
}

/// The common knowledge of writers, readers and who kills the server.
#[derive(Default)]
struct Course {
    /// Batches that were kept.
    batches: u64,
    /// Times that the server was killed and is back.
    kills: u64,
    over: bool,
}

#[derive(Default)]
struct Shared {
    course: Mutex<Course>,
    changed: Condvar,
}

impl Shared {
    fn change(&self, change: impl FnOnce(&mut Course)) {
        change(&mut self.course.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_all();
    }

    /// Waits until `holds`, and gives the batches that are kept; `None`: all is over.
    fn until(&self, holds: impl Fn(&Course) -> bool) -> Option<u64> {
        let course = self.course.lock().unwrap_or_else(PoisonError::into_inner);
        let course = self.changed.wait_while(course, |course| !course.over && !holds(course));
        let course = course.unwrap_or_else(PoisonError::into_inner);
        (!course.over).then_some(course.batches)
    }
}

/// Ends the readers, whatever comes before.
struct Last<'a>(&'a Shared);

impl Drop for Last<'_> {
    fn drop(&mut self) {
        self.0.change(|course| course.over = true);
    }
}

#[test]
fn two_monitors_and_twenty_readers_over_a_server_that_is_killed_lose_nothing_and_count_nothing_twice() {
    const BEATS: u64 = 120;
    let Some(mut server) = Server::start() else { return };
    let address = server.database("team");
    let (ab, shared) = (cell("a", "b"), Shared::default());
    thread::scope(|scope| {
        let _end = Last(&shared);
        // Both add to the same minutes of the same cells, each beat its own; what is not acknowledged is given again until it is.
        let writers: Vec<_> = (1..=2_u64)
            .map(|number| {
                let (address, ab, shared) = (&address, &ab, &shared);
                scope.spawn(move || {
                    let mut store = None;
                    let mut away = 0;
                    for beat in 1..=BEATS {
                        // A third of them before each time that it is killed, and the last behind both.
                        shared.until(|course| course.kills >= (beat - 1) / (BEATS / 3));
                        let minutes = vec![
                            (ab.clone(), DAY + beat / 10 * 60, seen(number * 1_000)),
                            (cell("a", "c"), DAY, seen(1)),
                        ];
                        let batch = batch(agent(u128::from(number)), (beat, beat), minutes);
                        wait::until("a batch is kept", || {
                            let held = match store.take() {
                                Some(held) => held,
                                None => match PostgresStore::open(address, Purpose::Keep) {
                                    Ok(opened) => opened,
                                    Err(told) => {
                                        assert!(told.fault.passes(), "{told}");
                                        away += 1;
                                        return false;
                                    }
                                },
                            };
                            let kept = store.insert(held).keep(&batch);
                            if let Err(told) = &kept {
                                assert!(told.fault.passes(), "{told}");
                                away += 1;
                            }
                            kept.is_ok()
                        });
                        shared.change(|course| course.batches += 1);
                    }
                    away
                })
            })
            .collect();
        // Each looks whenever something was kept.
        for _ in 0..20 {
            let (address, ab, shared) = (&address, &ab, &shared);
            scope.spawn(move || {
                let mut store = None;
                let (mut seen, mut looked) = (0, 0);
                while let Some(batches) = shared.until(|course| course.batches > looked) {
                    looked = batches;
                    if store.is_none() {
                        store = PostgresStore::open(address, Purpose::Read).ok();
                    }
                    let Some(reader) = &mut store else { continue };
                    match reader.history(ab, Level::Hour, 0, LATEST) {
                        Ok(hours) => {
                            let answered = hours.iter().map(|(_, span)| span.counts.answered).sum::<u64>();
                            assert!((seen..=2 * BEATS).contains(&answered), "{answered} after {seen}");
                            seen = answered;
                        }
                        Err(told) => assert!(told.fault.passes(), "{told}"),
                    }
                }
            });
        }
        // Twice the server is killed, once some of a third are kept.
        for third in 0..2 {
            shared.until(|course| course.batches > third * 2 * (BEATS / 3) + 5).unwrap();
            server.kill();
            server.begin();
            shared.change(|course| course.kills += 1);
        }
        let away: Vec<i32> = writers.into_iter().map(|writer| writer.join().unwrap()).collect();
        assert!(away.iter().sum::<i32>() > 0, "the server was missed");
    });
    let mut store = open(&address);
    assert_eq!(store.kept().unwrap(), BTreeMap::from([(agent(1), BEATS), (agent(2), BEATS)]));
    for (level, at) in store.due(LATEST).unwrap() {
        store.roll(level, at).unwrap();
    }
    let mut whole = Span::default();
    (0..BEATS).for_each(|_| [1_000, 2_000].iter().for_each(|took| whole.add(&seen(*took))));
    for level in Level::ALL {
        let found = crate::store::sum(store.history(&ab, level, 0, LATEST).unwrap().into_iter().map(|(_, span)| span));
        assert_eq!(found.as_ref(), Some(&whole), "{level:?}");
    }
}
