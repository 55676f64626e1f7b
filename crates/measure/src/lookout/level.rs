//! Level of a latency: follows the logarithm of its median slowly, and hardly at all where it is far off, so that a change does not become normal
//! before it was noticed.

use serde::{Deserialize, Serialize};

/// Time constant of the level, seconds, for steps of 5 s: it follows the hours of a day, and most fluctuation within ten minutes.
const FOLLOWS: f64 = 300.0;
/// The same for longer steps, in steps: few answers ask for patience, and a level that followed at once would take a
/// change for usual.
const FOLLOWS_STEPS: f64 = 40.0;
/// Time constant of the level where the median is further off than the slack.
const FOLLOWS_FAR: f64 = 12_000.0;
/// Time constants of the spread, seconds: of the last hours, and of the last day. The greater counts: hours alone are too few to know well how
/// far a level wanders, and a day alone would not know of a busy evening.
const SPREAD: (f64, f64) = (7_200.0, 86_400.0);
/// Steps before which nothing is judged.
pub const WARM_UP: u32 = 30;
/// Smallest difference of a logarithm that is a change: 10 %.
const SMALLEST: f64 = 0.1;
/// Slack in standard deviations of the smoothed distance from the level.
const DEVIATIONS: f64 = 4.7;
/// Seconds over which the distance is smoothed, and the same in steps for longer steps: 8 steps of 30 answers tell a median to 2 %.
const SMOOTH: f64 = 30.0;
const SMOOTH_STEPS: f64 = 8.0;
/// Distance beyond which a step counts no more, in slacks: one step, however bad, is no change.
const FURTHEST: f64 = 2.0;
/// Standard deviation over mean absolute deviation of normal values.
const NORMAL: f64 = 1.2533;
/// Length of the shortest step, seconds.
const SHORTEST: f64 = super::slot::SLOT as f64;

/// Level and spread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Level {
    /// The level, absent before the first step.
    pub at: Option<f64>,
    /// Smoothed distance of steps from it, by which the level is judged.
    pub smooth: f64,
    /// Mean absolute value of that, of the last hours and of the last day.
    spread: f64,
    #[serde(default)]
    of_day: f64,
    steps: u32,
}

impl Level {
    /// Takes the median of a step of so many seconds, and tells how far it is from the level as it was before. `grows`: evidence of a change
    /// grows, so the level hardly follows; `held`: a change was told, so it does not follow.
    pub fn step(&mut self, median: f64, seconds: f64, grows: bool, held: bool) -> f64 {
        let Some(at) = self.at else {
            (self.at, self.spread, self.steps) = (Some(median), 0.0, 1);
            return 0.0;
        };
        let off = median - at;
        if held {
            self.smooth = 0.0;
            return off;
        }
        let (slack, first) = (self.slack(), 1.0 / f64::from(self.steps + 1));
        let near = (off.abs() <= slack && !grows) || !self.is_warm();
        let long = |least: f64, steps: f64| if seconds > SHORTEST { least.max(steps * seconds) } else { least };
        let gain = if near { (seconds / long(FOLLOWS, FOLLOWS_STEPS)).max(first) } else { seconds / FOLLOWS_FAR };
        self.at = Some(at + off * gain.min(1.0));
        let counted = off.clamp(-FURTHEST * slack, FURTHEST * slack);
        self.smooth += (counted - self.smooth) * (seconds / long(SMOOTH, SMOOTH_STEPS)).min(1.0);
        if near {
            for (spread, over) in [(&mut self.spread, SPREAD.0), (&mut self.of_day, SPREAD.1)] {
                *spread += (self.smooth.abs() - *spread) * (seconds / over).max(first).min(1.0);
            }
        }
        self.steps = self.steps.saturating_add(1);
        off
    }

    /// Returns true where enough steps were seen to judge.
    pub fn is_warm(&self) -> bool {
        self.steps >= WARM_UP
    }

    /// Distance from the level that is no change.
    pub fn slack(&self) -> f64 {
        (DEVIATIONS * self.deviation()).max(SMALLEST)
    }

    /// Standard deviation of the smoothed distance.
    fn deviation(&self) -> f64 {
        NORMAL * self.spread.max(self.of_day)
    }
}
