//! Our iperf 2 server, by hand-made clients, good and bad, and by the real iperf where it is installed.

mod bad;
mod hand;
mod real;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::thread;

use endpoint::clock::Monotonic;
use endpoint::pace;
use endpoint::peer::iperf::server::event::{Ended, Event, Tell, Transport};
use endpoint::peer::iperf::server::settings::{Place, Settings};
use endpoint::peer::iperf::server::{self, Server};
use endpoint::stop::Stop;
use measure::unit::Nanos;

/// A server of ours that ends with this.
struct Ours {
    addresses: Vec<SocketAddr>,
    events: Arc<Mutex<Vec<Event>>>,
    stop: Stop,
    running: Option<thread::JoinHandle<()>>,
}

impl Ours {
    /// On a free port of any address, IPv4 and IPv6.
    fn start(transport: Transport) -> Self {
        Self::with(transport, |_| {})
    }

    /// The same, otherwise set.
    fn with(transport: Transport, change: impl FnOnce(&mut Settings)) -> Self {
        let mut settings = Settings::at(vec![Place { address: "[::]:0".parse().unwrap(), transport }]);
        let events: Arc<Mutex<Vec<Event>>> = Arc::default();
        let into = Arc::clone(&events);
        settings.tell = Some(Tell(Arc::new(move |event: &Event| into.lock().unwrap().push(event.clone()))));
        change(&mut settings);
        let server: Server = server::bind(settings).unwrap();
        let addresses = server.sockets().iter().map(|bound| bound.address).collect();
        let stop = Stop::default();
        let stops = stop.clone();
        let running = thread::spawn(move || server.run(&stops).unwrap());
        Self { addresses, events, stop, running: Some(running) }
    }

    fn port(&self) -> u16 {
        self.addresses[0].port()
    }

    fn address(&self) -> SocketAddr {
        SocketAddr::new([127, 0, 0, 1].into(), self.port())
    }

    fn events(&self) -> Vec<Event> {
        self.events.lock().unwrap().clone()
    }

    fn ended(&self) -> Vec<Ended> {
        self.events()
            .iter()
            .filter_map(|event| if let Event::Ended(ended) = event { Some(*ended.clone()) } else { None })
            .collect()
    }

    fn failures(&self) -> Vec<String> {
        self.events()
            .iter()
            .filter_map(|event| if let Event::Failed { why, .. } = event { Some(why.clone()) } else { None })
            .collect()
    }

    /// Waits until `count` streams have ended; returns them.
    fn await_ended(&self, count: usize) -> Vec<Ended> {
        until("an end", || self.ended().len() >= count);
        self.ended()
    }

    /// The octets of the streams that have ended, sent and received.
    fn bytes(&self) -> (u64, u64) {
        let of =
            |sends| self.ended().iter().filter(|one| one.sends == sends).map(|one| one.count.carried.bytes.0).sum();
        (of(true), of(false))
    }
}

impl Drop for Ours {
    fn drop(&mut self) {
        self.stop.request();
        if let Some(running) = self.running.take() {
            running.thread().unpark();
            let well = running.join().is_ok();
            assert!(well || thread::panicking());
        }
    }
}

/// Waits for what has to come to pass, far longer than it takes.
fn until(what: &str, mut done: impl FnMut() -> bool) {
    let give_up = Monotonic::now().after(Nanos::secs(30));
    while !done() {
        assert!(Monotonic::now() < give_up, "{what} never came to pass");
        pace::sleep_until(Monotonic::now().after(Nanos::millis(2)));
    }
}
