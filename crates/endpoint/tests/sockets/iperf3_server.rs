//! Our iperf3 server: by the real iperf3 where it is installed, by our own client, and by hand-made clients that behave
//! badly.

mod crowd;
mod hand;
mod limits;
mod login;
mod real;

use std::net::SocketAddr;
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use endpoint::peer::iperf3::server::event::{Event, Observer};
use endpoint::peer::iperf3::server::settings::Settings;
use endpoint::peer::iperf3::server::{self};
use endpoint::stop::Stop;
use protocol::iperf3::code::Code;
use protocol::iperf3::results::{Output, Results};

/// Events of one test.
#[derive(Clone, Debug, Default)]
struct Told {
    /// Events by their names, intervals left out.
    events: Vec<String>,
    /// Results of our end.
    ours: Option<Results>,
    /// Results of the client.
    theirs: Option<Results>,
    /// Datagrams that our own kernel had no room for, by stream.
    dropped: Vec<u64>,
    /// Bytes of all intervals, by stream.
    intervals: Vec<u64>,
    /// Failure of the test; absent: none.
    failed: Option<(Code, String)>,
}

/// Observer that keeps the events, by test.
#[derive(Default)]
struct Notes {
    told: Mutex<Vec<Told>>,
    turned_away: Mutex<Vec<String>>,
    changed: Condvar,
}

impl Notes {
    fn of(&self, test: u64, change: impl FnOnce(&mut Told)) {
        let mut told = self.told.lock().unwrap();
        let place = test as usize - 1;
        if told.len() <= place {
            told.resize(place + 1, Told::default());
        }
        change(&mut told[place]);
        self.changed.notify_all();
    }

    /// Returns the events of test number `test` once it is over.
    fn over(&self, test: usize) -> Told {
        let done = |told: &Told| told.events.last().is_some_and(|last| last == "done" || last == "failed");
        let told = self.told.lock().unwrap();
        let waited =
            self.changed.wait_timeout_while(told, Duration::from_mins(1), |told| !told.get(test - 1).is_some_and(done));
        waited.unwrap().0[test - 1].clone()
    }

    /// Returns the clients that were turned away, once there is one.
    fn turned_away(&self) -> Vec<String> {
        let told = self.turned_away.lock().unwrap();
        let waited = self.changed.wait_timeout_while(told, Duration::from_mins(1), |told| told.is_empty());
        waited.unwrap().0.clone()
    }
}

impl Observer for Notes {
    fn told(&self, event: &Event<'_>) {
        let note = |test: &u64, name: &str| self.of(*test, |told| told.events.push(name.to_owned()));
        match event {
            Event::Accepted { test, .. } => note(test, "accepted"),
            Event::Asked { test, .. } => note(test, "asked"),
            Event::Streams { test, connections, .. } => {
                note(test, "streams");
                self.of(*test, |told| told.intervals = vec![0; connections.len()]);
            }
            Event::Interval { test, stream, interval } if !interval.omitted => {
                self.of(*test, |told| told.intervals[*stream] += interval.carried.bytes.0);
            }
            Event::Interval { .. } | Event::Idle => {}
            Event::Ran { test, ours, theirs, streams, .. } => {
                note(test, "ran");
                let dropped = streams.iter().map(|stream| stream.at_end.dropped.unwrap_or(0)).collect();
                self.of(*test, |told| told.dropped = dropped);
                self.of(*test, |told| (told.ours, told.theirs) = (Some((*ours).clone()), theirs.cloned()));
            }
            Event::Done { test } => note(test, "done"),
            Event::Failed { test, code, why } => {
                self.of(*test, |told| told.failed = Some((*code, (*why).to_owned())));
                note(test, "failed");
            }
            Event::TurnedAway { why, .. } => {
                self.turned_away.lock().unwrap().push((*why).to_owned());
                self.changed.notify_all();
            }
        }
    }

    fn output(&self, test: u64) -> Option<Output> {
        Some(Output::Text(format!("output of test {test}\n")))
    }
}

/// A server of ours that ends with this.
struct Ours {
    address: SocketAddr,
    notes: Arc<Notes>,
    stop: Stop,
    running: Option<thread::JoinHandle<()>>,
}

impl Ours {
    /// On a free port of any address, IPv4 and IPv6.
    fn start() -> Self {
        Self::with(|_| {})
    }

    /// The same, otherwise set.
    fn with(change: impl FnOnce(&mut Settings)) -> Self {
        let mut settings = Settings::at("[::]:0".parse().unwrap());
        change(&mut settings);
        let notes = Arc::new(Notes::default());
        let server = server::bind(settings, Arc::clone(&notes) as Arc<dyn Observer>).unwrap();
        let address = server.addresses()[0];
        let stop = Stop::default();
        let stops = stop.clone();
        let running = thread::spawn(move || server.run(&stops).unwrap());
        Self { address, notes, stop, running: Some(running) }
    }

    fn port(&self) -> u16 {
        self.address.port()
    }

    /// Returns the address at which a client of this host finds it.
    fn at(&self, host: &str) -> SocketAddr {
        SocketAddr::new(host.parse().unwrap(), self.port())
    }

    /// Has it end, and waits until it has.
    fn end(&mut self) {
        self.stop.request();
        if let Some(running) = self.running.take() {
            running.thread().unpark();
            assert!(running.join().is_ok() || thread::panicking());
        }
    }

    /// Waits until it has ended by itself.
    fn ended(&mut self) {
        running_over(self.running.take().expect("it ends once"));
    }
}

fn running_over(running: thread::JoinHandle<()>) {
    running.join().unwrap();
}

impl Drop for Ours {
    fn drop(&mut self) {
        self.end();
    }
}
