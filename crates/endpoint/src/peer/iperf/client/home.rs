//! Our own server for the streams that the server opens back to us; it serves no other client.

use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use measure::unit::Nanos;
use protocol::iperf::wish::{Back, Quantity};

use super::{Test, Told};
use crate::clock::Monotonic;
use crate::error::hint::Hint;
use crate::error::{EndpointError, Step};
use crate::peer::iperf::server::event::{Event, Tell, Transport};
use crate::peer::iperf::server::settings::{Place, Settings};
use crate::peer::iperf::server::{self, Server};
use crate::socket::any;
use crate::stop::Stop;

/// Time beyond its test in which the server's stream may start and end.
const PATIENCE: Nanos = Nanos::secs(6);

/// Our own server.
pub struct Home {
    port: u16,
    events: Receiver<Event>,
    stop: Stop,
    thread: Option<JoinHandle<Result<(), EndpointError>>>,
}

impl Home {
    /// Listens for what `test` asks to be opened back.
    pub fn open(test: &Test, back: Back) -> Result<Self, EndpointError> {
        let address = SocketAddr::new(test.options().bind.unwrap_or_else(|| any(test.server)), back.port);
        let transport = if test.datagrams { Transport::Udp } else { Transport::Tcp };
        let (sender, events) = channel();
        let sender = Mutex::new(sender);
        let tell = Tell(Arc::new(move |event: &Event| {
            let sender = sender.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            // Nobody listens any more once the test is over.
            let _over = sender.send(event.clone());
        }));
        let mut settings = Settings::at(vec![Place { address, transport }]);
        settings.interval = Some(test.interval);
        settings.read_bytes = test.call_bytes.filter(|_| !test.datagrams);
        settings.connects_back = false;
        settings.sends_datagrams = false;
        settings.only = Some(test.server.ip());
        settings.tell = Some(tell);
        let server: Server = server::bind(settings).map_err(|error| error.with_hint(Hint::PortBack))?;
        let port = server.sockets().first().map_or(back.port, |bound| bound.address.port());
        let stop = Stop::default();
        let with_thread = stop.clone();
        let thread = thread::Builder::new()
            .name("sonde-iperf-back".into())
            .spawn(move || server.run(&with_thread))
            .map_err(|cause| EndpointError::new(Step::StartThread, address, cause))?;
        Ok(Self { port, events, stop, thread: Some(thread) })
    }

    /// Returns the port at which it listens.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Passes the events on until all streams of `test` have ended, or their time is up. Returns the number of streams
    /// that are missing.
    pub fn finish(mut self, test: &Test, stop: &Stop, on_told: &mut dyn FnMut(Told<'_>)) -> u32 {
        let length = match test.quantity {
            Quantity::Time(time) => time,
            Quantity::Bytes(_) => Nanos::ZERO,
        };
        let mut give_up = Monotonic::now().after(Nanos(length.0.saturating_add(PATIENCE.0)));
        let mut missing = test.streams;
        while missing > 0 && !stop.requested() && Monotonic::now() < give_up {
            let Ok(event) = self.events.recv_timeout(crate::stop::GLANCE.into()) else { continue };
            match &event {
                Event::Ended(ended) if ended.cut_short.is_none() => missing -= 1,
                // A stream that reports payload is given more time.
                Event::Interval { interval, .. } if interval.carried.bytes.0 > 0 => {
                    give_up = give_up.max(Monotonic::now().after(PATIENCE));
                }
                _ => {}
            }
            on_told(Told::Back(&event));
        }
        self.end();
        self.events.try_iter().for_each(|event| on_told(Told::Back(&event)));
        missing
    }

    fn end(&mut self) {
        self.stop.request();
        if let Some(thread) = self.thread.take() {
            // It ends within a moment; what went wrong with it was told by its events.
            let _ended = thread.join();
        }
    }
}

impl Drop for Home {
    /// A test that came to nothing leaves no server behind.
    fn drop(&mut self) {
        self.end();
    }
}
