//! Our sockperf server, by hand-made clients, good and bad, and by sockperf's own where it is installed.

mod crowd;
mod ends;
mod groups;
mod hand;
mod probes_tcp;
mod probes_udp;
mod real;
mod watch;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::thread;

use endpoint::clock::Monotonic;
use endpoint::pace;
use endpoint::peer::sockperf::server::event::{Event, Tell, Totals};
use endpoint::peer::sockperf::server::settings::{Carriers, Place, Settings};
use endpoint::peer::sockperf::server::{self, Server};
use endpoint::stop::Stop;
use measure::unit::Nanos;

/// A server of ours that ends with this.
struct Ours {
    addresses: Vec<SocketAddr>,
    stop: Stop,
    running: Option<thread::JoinHandle<Totals>>,
}

impl Ours {
    /// On a free port of both carriers, of any address, IPv4 and IPv6.
    fn start() -> Self {
        Self::with(|_| {})
    }

    /// The same, otherwise set.
    fn with(change: impl FnOnce(&mut Settings)) -> Self {
        Self::run(bound(change))
    }

    fn run(server: Server) -> Self {
        let addresses = server.addresses();
        let stop = Stop::default();
        let stops = stop.clone();
        let running = thread::spawn(move || server.run(&stops).unwrap());
        Self { addresses, stop, running: Some(running) }
    }

    fn port(&self) -> u16 {
        self.addresses[0].port()
    }

    /// Ends it; what it has to tell.
    fn end(mut self) -> Totals {
        self.stopped().expect("it ends once").expect("it did not panic")
    }

    fn stopped(&mut self) -> Option<thread::Result<Totals>> {
        let running = self.running.take()?;
        self.stop.request();
        running.thread().unpark();
        Some(running.join())
    }
}

impl Drop for Ours {
    fn drop(&mut self) {
        let well = self.stopped().is_none_or(|ended| ended.is_ok());
        assert!(well || thread::panicking());
    }
}

/// Bound, and not serving yet.
fn bound(change: impl FnOnce(&mut Settings)) -> Server {
    let mut settings = Settings::at(vec![place("[::]:0", Carriers::Both)]);
    change(&mut settings);
    server::bind(settings).unwrap()
}

fn place(address: &str, carriers: Carriers) -> Place {
    Place { address: address.parse().unwrap(), carriers, source: None }
}

/// Events of a server, as text.
type Lines = Arc<Mutex<Vec<String>>>;

fn listening() -> (Tell, Lines) {
    let lines = Lines::default();
    let into = Arc::clone(&lines);
    (Tell(Arc::new(move |event: &Event| into.lock().unwrap().push(format!("{event:?}")))), lines)
}

/// Waits for what has to come to pass, far longer than it takes.
fn until(what: &str, mut done: impl FnMut() -> bool) {
    let give_up = Monotonic::now().after(Nanos::secs(30));
    while !done() {
        assert!(Monotonic::now() < give_up, "{what} never came to pass");
        pace::sleep_until(Monotonic::now().after(Nanos::millis(2)));
    }
}
