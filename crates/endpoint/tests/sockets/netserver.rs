//! Our netserver, by netperf's own client where it is installed, and by hand-made clients that behave badly.

mod gone;
mod hand;
mod real;
mod refusals;
mod session;

use std::net::SocketAddr;
use std::thread;

use endpoint::peer::netperf::server::{self, Settings};
use endpoint::stop::Stop;

/// A netserver of ours that ends with this.
struct Ours {
    address: SocketAddr,
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
        let netserver = server::bind(settings).unwrap();
        let address = netserver.addresses()[0];
        let stop = Stop::default();
        let stops = stop.clone();
        let running = thread::spawn(move || netserver.run(&stops).unwrap());
        Self { address, stop, running: Some(running) }
    }

    fn port(&self) -> u16 {
        self.address.port()
    }
}

impl Drop for Ours {
    fn drop(&mut self) {
        self.stop.request();
        let running = self.running.take().expect("it ends once");
        running.thread().unpark();
        assert!(running.join().is_ok() || thread::panicking());
    }
}
