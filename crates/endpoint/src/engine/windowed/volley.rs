//! Volleys: a number of requests leave together over one connection, and when all of them have ended the next volley
//! leaves over the next connection. Late and duplicate replies end no request, so nothing shifts.

use measure::method::{Method, Window};
use measure::unit::Instant;
use protocol::link::Link;
use protocol::wire::Wire;

use super::{AT_ONCE, Ended, Windowed};
use crate::engine::edge::Edges;

/// State of the volleys.
#[derive(Clone, Copy, Debug)]
pub(super) struct Volley {
    size: u64,
    /// The lane of the present volley; before the first one, none.
    turn: Option<usize>,
    /// Requests of it that have not left yet.
    left: u64,
}

impl Volley {
    /// Before the first, where `method` has volleys.
    pub fn of(method: &Method) -> Option<Self> {
        let Window::Volley(size) = method.traffic.window() else { return None };
        Some(Self { size: size.into(), turn: None, left: 0 })
    }

    /// A request leaves on the lane `turn`.
    #[inline]
    pub fn takes(&mut self, turn: usize) {
        if self.left == 0 {
            (self.turn, self.left) = (Some(turn), self.size);
        }
        self.left -= 1;
    }
}

impl<L: Link, W: Wire> Windowed<'_, L, W> {
    /// Sends what of the present volley may leave, or of the next where the present one has ended. Returns whether there
    /// is more of it.
    pub(super) fn depart_volley(&mut self, now: &mut Instant, edges: &Edges) -> Result<bool, Ended> {
        // The rest of the last volley is sent too.
        self.flush_all()?;
        for _ in 0..AT_ONCE {
            let Some(turn) = self.turn_of_volley().filter(|_| self.budget > 0) else { return Ok(false) };
            if self.lanes[turn].blocked {
                return Ok(false);
            }
            let intended = self.lanes[turn].due.peek();
            if intended.is_some_and(|due| due > *now || due >= edges.end()) {
                return Ok(false);
            }
            *now = self.send(turn, intended)?;
            if edges.due(*now) {
                return Ok(false);
            }
        }
        Ok(self.turn_of_volley().is_some())
    }

    /// The lane on which the next request leaves; `None` while the present volley has not ended.
    #[inline]
    pub(super) fn turn_of_volley(&self) -> Option<usize> {
        let volley = self.volley?;
        match volley.turn {
            None => Some(0),
            Some(turn) if volley.left > 0 => Some(turn),
            Some(turn) if self.lanes[turn].requests.waiting() == 0 => Some(self.lane_behind(turn)),
            Some(_) => None,
        }
    }

    /// The lane of the present volley.
    pub(super) fn lane_of_volley(&self) -> Option<usize> {
        self.volley?.turn
    }
}
