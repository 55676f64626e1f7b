//! Streams beside requests (`--working-load`): what the requests find is the network under that load.

use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};
use std::{panic, thread};

use endpoint::clock::Monotonic;
use endpoint::peer::iperf::client::{self as peer, Outcome, Test, Told};
use measure::unit::Nanos;

use crate::persona::answer::Answer;
use crate::persona::iperf::options::{Amount, Bind, Client, Common, Load};
use crate::persona::iperf::output::failure;
use crate::persona::iperf::run::client::streams::{self, Telling};
use crate::persona::iperf::run::client::{Course, task};
use crate::persona::iperf::run::place;
use crate::persona::iperf::run::teller::Teller;

/// Octets that TCP holds unsent at most, as in the original: what waits in this host is no load of the network.
const PREFETCH: u32 = 256 << 10;

/// Streams beside the requests of a client.
pub struct Beside {
    client: Client,
    test: Test,
    delay: Nanos,
}

/// The streams as they came out.
pub struct Loaded<'a> {
    telling: Telling<'a>,
    outcome: Outcome,
}

impl Beside {
    /// Those that were asked for.
    ///
    /// # Errors
    /// A method that makes no sense, with the reason.
    pub fn of(course: &Course<'_>) -> Result<Option<Self>, Answer> {
        let Some(load) = &course.client.load else { return Ok(None) };
        let client = client(course.client, load);
        let asked = task::asked(&client, course.asked.socket.bind);
        let test = task::test(&client, course.server(), &asked)?;
        Ok(Some(Self { client, test, delay: load.delay }))
    }

    /// True where they have sums.
    pub fn are_several(&self) -> bool {
        self.client.streams > 1
    }

    /// Makes requests once all streams are open and as long as these go on; what came of both.
    ///
    /// # Errors
    /// The text that is printed where one of them did not come to anything.
    pub fn around<T>(
        &self,
        course: &Course<'_>,
        teller: &Mutex<Teller<'_>>,
        requests: impl FnOnce() -> Result<T, Answer>,
    ) -> Result<(T, Loaded<'_>), Answer> {
        let (stop, first) = (&course.stop, course.client.streams + 1);
        let (opens, opened) = mpsc::channel();
        let flow = move || {
            let mut telling = Telling::new(&self.client, &self.test, first);
            let outcome = peer::measure(&self.test, stop, &mut |what| {
                telling.hear(&mut held(teller), &what);
                if let Told::Open(_) = what {
                    // Nobody listens any more where the requests are over.
                    let _unheard = opens.send(());
                }
            });
            outcome.map(|outcome| Loaded { telling, outcome })
        };
        thread::scope(|scope| {
            let streams = thread::Builder::new().name("load".to_owned()).spawn_scoped(scope, flow);
            let streams = streams.map_err(|cause| failure::other(&format!("no thread: {}", place::said(&cause))))?;
            let open = opened.iter().take(self.client.streams as usize).count();
            let found = (open == self.client.streams as usize).then(|| {
                stop.wait(Monotonic::now().after(self.delay));
                requests()
            });
            if !matches!(found, Some(Ok(_))) {
                stop.request();
            }
            let loaded = streams.join().unwrap_or_else(|fault| panic::resume_unwind(fault));
            let loaded = loaded.map_err(|error| course.not_run(error));
            match found {
                Some(found) => Ok((found?, loaded?)),
                None => Err(loaded.err().unwrap_or_else(|| failure::other("the load did not begin"))),
            }
        })
    }
}

impl Loaded<'_> {
    /// Tells of them, behind the requests.
    pub fn tell(&mut self, teller: &mut Teller<'_>, course: &Course<'_>) {
        self.telling.ended(teller, &self.outcome, course.output);
    }

    /// Reason for which the requests were not made under that load.
    pub fn fault(&self, beside: &Beside, course: &Course<'_>) -> Option<Answer> {
        streams::fault(&beside.client, &beside.test, &course.stop, &self.outcome)
    }
}

/// The teller, whatever became of who had it.
pub fn held<'a, 'b>(teller: &'a Mutex<Teller<'b>>) -> MutexGuard<'a, Teller<'b>> {
    teller.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A client of these streams alone. They begin before the requests, and end with them.
fn client(client: &Client, load: &Load) -> Client {
    let common = Common {
        length: None,
        tos: None,
        nodelay: false,
        congestion: load.congestion.clone(),
        bind: Bind { port: 0, ..client.common.bind.clone() },
        ..client.common.clone()
    };
    let amount = match client.amount {
        Amount::Time(time) => Amount::Time(Nanos(time.0.saturating_add(load.delay.0))),
        bytes @ Amount::Bytes(_) => bytes,
    };
    Client {
        common,
        kind: load.kind.clone(),
        amount,
        streams: load.streams,
        trip_times: false,
        prefetch: Some(PREFETCH),
        quick_acks: true,
        near_congestion: None,
        load: None,
        ..client.clone()
    }
}
