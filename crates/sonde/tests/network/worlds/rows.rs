//! The worlds, a row each: what is laid between three hosts, what is asked there, and what is so.
//!
//! The far host answers at `10.181.9.2`, two hops away, the middle one is `10.181.8.254` and `10.181.9.254`; a link of our own forwarder beside them
//! leads to `10.181.10.2`. Interfaces are called `near`, `middle`, `middle-far` and `far`. A word of `right` is to be said, words of `fair`
//! are true and need not be; all else is wrong.

mod boxes;
mod capacity;
mod hosts;
mod loss;
mod paths;
// With `held!`, for those after it.
#[macro_use]
mod delays;
mod others;

/// One of the three.
#[derive(Clone, Copy, Debug)]
pub enum Host {
    /// Host on which the program is started.
    Near,
    /// The router.
    Middle,
    /// Host of the server.
    Far,
}
use Host::{Far, Middle, Near};

/// A world.
#[derive(Clone, Copy, Debug)]
pub struct World {
    /// Its name in the table.
    pub name: &'static str,
    /// Programs without which it cannot be laid, each called as its package.
    pub needs: &'static [&'static str],
    /// Words of the forwarder beside the row; empty: there is none.
    pub beside: &'static [&'static str],
    /// Before the server in its shell.
    pub server: &'static str,
    /// Scripts that lay it.
    pub lay: &'static [(Host, &'static str)],
    /// Scripts that go on all the time.
    pub goes_on: &'static [(Host, &'static str)],
    /// The commands.
    pub asks: &'static [Ask],
}

/// A command and the truth.
#[derive(Clone, Copy, Debug)]
pub struct Ask {
    /// Words behind the program's name.
    pub words: &'static str,
    /// Before it in its shell.
    pub before: &'static str,
    /// Scripts that begin with it.
    pub events: &'static [(Host, &'static str)],
    /// Codes of which one is to be said; empty: nothing but what is fair.
    pub right: &'static [&'static str],
    /// Codes that may be said.
    pub fair: &'static [&'static str],
    /// Numbers, by their place in the document, and the range in which they are true.
    pub numbers: &'static [(&'static str, f64, f64)],
}

const WORLD: World = World { name: "", needs: &[], beside: &[], server: "", lay: &[], goes_on: &[], asks: &[] };

const ASK: Ask = Ask { words: "", before: "", events: &[], right: &[], fair: &[], numbers: &[] };

/// Codes of a survey that are true on any path of these hosts.
const ALWAYS: &[&str] = &["interval", "nobody-woken"];
/// The share of lost requests.
const LOSS: &str = "/outcome/loss/ratio";
/// The median round trip, nanoseconds.
const P50: &str = "/outcome/response/quantiles/0/value_ns";

/// A survey, of which this is right, or nothing.
const fn look(right: &'static [&'static str], fair: &'static [&'static str]) -> Ask {
    Ask { words: "10.181.9.2", right, fair, ..ASK }
}

const fn ask(words: &'static str, right: &'static [&'static str], fair: &'static [&'static str]) -> Ask {
    Ask { words, right, fair, ..ASK }
}

const fn counted(ask: Ask, numbers: &'static [(&'static str, f64, f64)]) -> Ask {
    Ask { numbers, ..ask }
}

const fn meanwhile(ask: Ask, events: &'static [(Host, &'static str)]) -> Ask {
    Ask { events, ..ask }
}

/// A tenth of a processor, by control groups of either version.
const QUOTA: &str = "g=/sys/fs/cgroup/cpu/sonde-world; if [ -d /sys/fs/cgroup/cpu ]; then mkdir -p $g; \
    echo 100000 > $g/cpu.cfs_period_us; echo 10000 > $g/cpu.cfs_quota_us; \
    else g=/sys/fs/cgroup/sonde-world; mkdir -p $g; echo '10000 100000' > $g/cpu.max; fi; echo $$ > $g/cgroup.procs &&";
/// Looks for causes, in as short a time as shows any.
const WHY: &str = "why 10.181.9.2 --udp --intervals 0 --blocks 9 -t 160ms --warm-up 20ms --every 2ms";
/// Habits of ends on any of these hosts: they sleep and are woken, and what slept is cold.
const ENDS: &[&str] = &["sleep-pacing", "our-wake-up", "peer-wake-up", "cold-path"];

/// The time by which programs that were started with the world listen.
const READY: &str = "sleep 1;";

/// All of them, each matter in a file of its own.
pub fn worlds() -> impl Iterator<Item = &'static World> {
    [hosts::WORLDS, loss::WORLDS, capacity::WORLDS, boxes::WORLDS, delays::WORLDS, others::WORLDS, paths::WORLDS]
        .into_iter()
        .flatten()
}
