//! Tests that want the machine to themselves: those of the time of single requests, and those of what is named where nothing else disturbs.
//!
//! Only here may a scene be had so, and `make/tests` runs these by their name, `alone::`, when nothing else runs. No other test of this program
//! runs beside them either, however it was started; those whose programs mostly sleep run beside each other, and so do those of crowds.

mod capture;
mod compare;
mod hold;
mod limits;
mod look;
mod paths;
mod referee;
mod stall;
mod strangers;
mod why;
mod worlds;

use crate::scene::{Kind, Scene, Turn};

impl Scene {
    /// For a test of the time of single requests, at real-time priority. `None` as of [`Self::ahead`].
    fn alone(what: &str) -> Option<Self> {
        Self::urgent(what, Turn::of(Kind::Alone))
    }

    /// For a test that wants the machine as its users have it, at no priority. `None` as of [`Self::beside`].
    fn undisturbed(what: &str) -> Option<Self> {
        Self::new(what, Turn::of(Kind::Alone))
    }

    /// The same for one whose programs mostly sleep: others of that kind run beside it. `None` as of [`Self::beside`].
    fn quiet(what: &str) -> Option<Self> {
        Self::new(what, Turn::of(Kind::Quiet))
    }

    /// The same for one of a crowd. `None` as of [`Self::beside`].
    fn crowded(what: &str) -> Option<Self> {
        Self::new(what, Turn::of(Kind::Crowd))
    }
}
