//! Level of a latency: follows the logarithm of its median slowly, and hardly at all where it is far off, so that a change does not become normal
//! before it was noticed.

use serde::{Deserialize, Serialize};

/// Time constant of the level, seconds: it follows the hours of a day, and most of what wanders by itself within ten minutes.
const FOLLOWS: f64 = 300.0;
/// The same where the median is further off than the slack.
const FOLLOWS_FAR: f64 = 12_000.0;
/// Time constant of the spread, seconds.
const SPREAD: f64 = 7_200.0;
/// Steps before which nothing is judged.
const WARM_UP: u32 = 30;
/// Smallest difference of a logarithm that is a change: 10 %.
const SMALLEST: f64 = 0.1;
/// Slack in standard deviations of the smoothed steps about the level.
const DEVIATIONS: f64 = 4.3;
/// Seconds over which steps are smoothed for that: what does not last so long is no evidence, and so asks for no slack. By time and not by steps: a
/// step of 30 s has smoothed its own noise, and more would leave too little slack for what wanders.
const SMOOTH: f64 = 30.0;
/// Standard deviation over mean absolute deviation of normal values.
const NORMAL: f64 = 1.2533;

/// Level and spread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Level {
    /// The level, absent before the first step.
    pub at: Option<f64>,
    /// Smoothed distance of steps from it.
    smooth: f64,
    /// Mean absolute value of that.
    spread: f64,
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
            return off;
        }
        let (slack, first) = (self.slack(), 1.0 / f64::from(self.steps + 1));
        let near = (off.abs() <= slack && !grows) || !self.is_warm();
        let gain = if near { (seconds / FOLLOWS).max(first) } else { seconds / FOLLOWS_FAR };
        self.at = Some(at + off * gain.min(1.0));
        if near {
            self.smooth += (off - self.smooth) * (seconds / SMOOTH).min(1.0);
            let gain = (seconds / SPREAD).max(first).min(1.0);
            self.spread += (self.smooth.abs() - self.spread) * gain;
        }
        self.steps = self.steps.saturating_add(1);
        off
    }

    /// Whether enough was seen to judge.
    pub fn is_warm(&self) -> bool {
        self.steps >= WARM_UP
    }

    /// Distance from the level that is no change.
    pub fn slack(&self) -> f64 {
        (DEVIATIONS * self.deviation()).max(SMALLEST)
    }

    /// Standard deviation of smoothed steps about the level.
    fn deviation(&self) -> f64 {
        NORMAL * self.spread
    }
}
