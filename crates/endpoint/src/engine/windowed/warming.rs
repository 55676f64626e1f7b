//! Before the recording: one request at a time on the connections in turn, unrecorded.

use measure::unit::{Instant, Nanos};
use protocol::link::{Fault, Link};
use protocol::native::header::Flags;
use protocol::wire::{Reading, Wire};

use super::{Ended, Windowed, given_up};
use crate::engine::edge::Edges;
use crate::engine::outstanding::State;
use crate::engine::warm_up::{Trial, WarmUp, Warmed};
use crate::stop::Stop;

impl<L: Link, W: Wire> Windowed<'_, L, W> {
    /// One request at a time on the connections in turn, unrecorded.
    pub(super) fn warm_up(&mut self) -> Result<Warmed, Ended> {
        let start = self.links[0].now();
        let Some(mut warm_up) = WarmUp::new(start, &self.told) else { return Ok(Warmed::default()) };
        let edges = Edges::new(start.after(Nanos::secs(86_400)), &self.told);
        for turn in (0..self.lanes.len()).cycle() {
            if self.told.stop.requested() {
                return Err(Ended::Stopped);
            }
            self.pacer.keep(&mut self.links[turn], warm_up.due(), &edges);
            let trial = self.trial(turn);
            let now = self.links[turn].now();
            if !warm_up.goes_on(trial, now).map_err(Ended::Broken)? {
                break;
            }
        }
        Ok(warm_up.warmed())
    }

    fn trial(&mut self, turn: usize) -> Trial {
        let (link, lane) = (&mut self.links[turn], &mut self.lanes[turn]);
        let seq = lane.requests.take_number();
        lane.base = lane.requests.next();
        lane.first = lane.requests.requests() + 1;
        lane.wire.prepare(&mut lane.request, seq, Flags::WARM_UP);
        let ready = link.ready();
        let sent = link.now();
        let handed_over = ready.and_then(|()| link.send(lane.wire.prepared(&lane.request)));
        lane.requests.note(seq, None, sent, handed_over.is_ok());
        if let Err(fault) = handed_over {
            return Trial::Fault(fault);
        }
        let until = sent.after(self.told.method.timeout_ns);
        match push(link, until, self.told.stop) {
            Ok(whole) => lane.blocked = !whole,
            Err(fault) => {
                lane.requests.settle(seq, State::Done);
                return Trial::Fault(fault);
            }
        }
        loop {
            match link.receive(&mut lane.reply, until) {
                Ok(Some(length)) => {
                    let now = link.received();
                    let reading = lane.wire.identify(&lane.reply[..length], lane.requests.owed());
                    if let Reading::Reply(number) = reading {
                        lane.requests.settle(number, State::Done);
                    }
                    match reading {
                        Reading::Reply(number) if number == seq => return Trial::Answered(now.since(sent)),
                        Reading::Refused(number) if number == seq => {
                            lane.requests.settle(seq, State::Done);
                            return Trial::Unanswered;
                        }
                        _ => {}
                    }
                    if now >= until || self.told.stop.requested() {
                        lane.requests.settle(seq, given_up::<W>());
                        return Trial::Unanswered;
                    }
                }
                Ok(None) => {
                    lane.requests.settle(seq, given_up::<W>());
                    return Trial::Unanswered;
                }
                Err(fault) => {
                    lane.requests.settle(seq, State::Done);
                    return Trial::Fault(fault);
                }
            }
        }
    }
}

/// Hands over what is left of a message, until `until` at the most; `true` when nothing is left.
fn push<L: Link>(link: &mut L, until: Instant, stop: &Stop) -> Result<bool, Fault> {
    loop {
        if link.flush()? {
            return Ok(true);
        }
        let now = link.now();
        if now >= until || stop.requested() {
            return Ok(false);
        }
        L::wait_any(std::slice::from_mut(link), until.min(now.after(crate::stop::GLANCE)));
    }
}
