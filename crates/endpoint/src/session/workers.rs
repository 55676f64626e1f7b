//! Requests and replies on threads: each runs an engine over its connections, and what they found is gathered.

use measure::outcome::SocketFacts;
use measure::recorder::Recording;
use protocol::link::Link;
use protocol::wire::Wire;

use super::scene::Scene;
use super::threads::{self, Brought, Post, worse};
use crate::engine::split::Splits;
use crate::engine::warm_up::Warmed;
use crate::engine::{self, Ended, Flow, Run, Told};
use crate::error::{EndpointError, Step};

/// Results of all threads together.
#[derive(Debug)]
pub struct Gathered {
    /// Recording of all threads.
    pub recording: Recording,
    /// Time breakdowns from kernel stamps.
    pub splits: Splits,
    /// Cause of the end.
    pub ended: Ended,
    /// Warm-up before the recording.
    pub warmed: Warmed,
    /// Facts of each socket.
    pub sockets: Vec<SocketFacts>,
    /// Reason for which there are no stamps, where they were asked for.
    pub stamps_refused: Option<String>,
    /// Wall clock at the start of the threads, nanoseconds since 1970.
    pub began_wall: u64,
    /// Error of the control connection during the run; absent: none.
    pub trouble: Option<EndpointError>,
}

/// Runs the engines over `crews`, the connections of each thread, until they end.
pub fn run<L, W>(crews: Vec<Vec<Flow<L, W>>>, scene: &mut Scene<'_>) -> Result<Gathered, EndpointError>
where
    L: Link + Send,
    W: Wire + Send,
{
    let (method, trace, samples, interval) = (scene.method, scene.trace, scene.samples, scene.interval);
    let works = crews.into_iter().map(|flows| {
        move |post: Post<'_>| {
            let Post { stop, settled, thread, threads, outlet } = post;
            engine::exchanges::run(
                flows,
                Told { method, trace, stop, settled, thread, threads, samples, interval },
                outlet,
            )
        }
    });
    let Brought { each, began_wall, trouble } = threads::run(works.collect(), scene, |run: &Run| run.ended)?;
    let whole = each.into_iter().reduce(|mut whole, run| {
        whole.merge(run);
        whole
    });
    let nobody = || EndpointError::new(Step::StartThread, scene.peer, std::io::Error::other("no thread was started"));
    let Run { recording, splits, ended, warmed } = whole.ok_or_else(nobody)?;
    Ok(Gathered { recording, splits, ended, warmed, sockets: Vec::new(), stamps_refused: None, began_wall, trouble })
}

impl Run {
    fn merge(&mut self, other: Self) {
        self.recording.merge(other.recording);
        self.splits.merge(other.splits);
        self.ended = worse(self.ended, other.ended);
        self.warmed = self.warmed.and(other.warmed);
    }
}
