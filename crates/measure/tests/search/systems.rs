//! Far sides of known capacity, simulated. Written apart from the search: nothing here knows how it works.

use fastrand::Rng;
use measure::recorder::Values;
use measure::search::seen::Seen;
use measure::statistics::quantile::Ranked;

/// A link that lets `rate` messages a second through, with a bucket of `burst` messages and room for `queue` more, as a
/// fluid: what is offered beyond the rate fills the bucket's room and the queue, and then is lost. Beside it each
/// message is lost with a small chance of its own, and now and then a probe is disturbed.
pub struct TokenBucket {
    pub rate: f64,
    pub burst: f64,
    pub queue: f64,
    /// Chance of a message to be lost for no reason.
    pub noise: f64,
    /// Chance of a probe to lose half a percent more.
    pub disturbed: f64,
    pub rng: Rng,
}

impl TokenBucket {
    /// A probe of `seconds` at `rate`.
    pub fn probe(&mut self, rate: f64, seconds: f64) -> Seen {
        let sent = (rate * seconds).round();
        let overflow = ((rate - self.rate) * seconds - self.burst - self.queue).max(0.0);
        let disturbance = if self.rng.f64() < self.disturbed { 0.005 * sent } else { 0.0 };
        let stray = poisson(&mut self.rng, sent * self.noise);
        let lost = (overflow + disturbance + stray).min(sent).round() as u64;
        // The queue fills evenly; a hundred points of that ramp stand for all its messages.
        let full = ((rate - self.rate) * seconds - self.burst).clamp(0.0, self.queue) / self.rate;
        let response: Vec<u64> = (1..=100).map(|i| (20_000.0 + full * 1e9 * f64::from(i) / 100.0) as u64).collect();
        Seen {
            achieved: 1.0,
            tried: 1.0,
            held: false,
            lost,
            refused: 0,
            bunched: 0,
            sent: sent as u64,
            unanswered: lost.min(100),
            declined: 0,
            response: Ranked::exact(response),
            mean_ns: None,
            slip: Ranked::exact(vec![0; 1_000]),
        }
    }
}

/// A single server that takes `service_ns` for each message, which come at random: M/D/1, message by message.
pub struct Server {
    pub service_ns: f64,
    /// Chance of a probe to meet a stall of 500 services.
    pub disturbed: f64,
    pub rng: Rng,
}

impl Server {
    /// A probe of `messages` at `rate`.
    pub fn probe(&mut self, rate: f64, messages: u32) -> Seen {
        let mut response = Values::new();
        let mut wait = 0.0;
        let stall = if self.rng.f64() < self.disturbed { self.rng.u32(0..messages) } else { messages };
        for number in 0..messages {
            if number == stall {
                wait += 500.0 * self.service_ns;
            }
            response.record((wait + self.service_ns) as u64);
            // Lindley: what is left of the work when the next one comes.
            let gap = -(1.0 - self.rng.f64()).ln() / rate * 1e9;
            wait = (wait + self.service_ns - gap).max(0.0);
        }
        Seen {
            achieved: 1.0,
            tried: 1.0,
            held: false,
            lost: 0,
            refused: 0,
            bunched: 0,
            sent: messages.into(),
            unanswered: 0,
            declined: 0,
            mean_ns: None,
            response: Ranked::counted(&response),
            slip: Ranked::exact(vec![0; 1_000]),
        }
    }
}

/// Chance that a message of an M/D/1 queue waits at most `services` services, at utilisation `load` (Erlang 1909).
pub fn waits_at_most(services: f64, load: f64) -> f64 {
    let mut sum = 0.0;
    let mut factorial = 1.0;
    for k in 0..=services.floor() as i32 {
        if k > 0 {
            factorial *= f64::from(k);
        }
        let x = load * (f64::from(k) - services);
        sum += x.powi(k) / factorial * (-x).exp();
    }
    (1.0 - load) * sum
}

/// The utilisation at which just `share` of the messages wait at most `services` services.
pub fn load_where(share: f64, services: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if waits_at_most(services, middle) > share { low = middle } else { high = middle }
    }
    low
}

/// Draws the number of many events of a small chance, `mean` of them on average; near enough by a normal value above 50.
fn poisson(rng: &mut Rng, mean: f64) -> f64 {
    if mean > 50.0 {
        let normal = (-2.0 * (1.0 - rng.f64()).ln()).sqrt() * (std::f64::consts::TAU * rng.f64()).cos();
        return (mean + mean.sqrt() * normal).round().max(0.0);
    }
    let (mut count, mut product, floor) = (0.0, rng.f64(), (-mean).exp());
    while product > floor {
        count += 1.0;
        product *= rng.f64();
    }
    count
}

#[test]
fn a_queue_at_random_waits_as_theory_says() {
    let mut server = Server { service_ns: 1_000.0, disturbed: 0.0, rng: Rng::with_seed(1) };
    for load in [0.3, 0.6, 0.8] {
        let seen = server.probe(load * 1e6, 400_000);
        for services in [0.5, 2.0, 5.0] {
            let share = 1.0 - seen.response.above((1.0 + services) as u64 * 1_000) as f64 / 400_000.0;
            let truth = waits_at_most(f64::from((1.0 + services) as u32) - 1.0, load);
            // Neighbours resemble each other: worth some (1 - load)^2 / 2 of them, and five deviations.
            let independent = 400_000.0 * (1.0 - load) * (1.0 - load) / 2.0;
            let deviation = (truth * (1.0 - truth) / independent).sqrt();
            assert!((share - truth).abs() < 5.0 * deviation + 1e-3, "{load} {services}: {share} {truth}");
        }
    }
}

#[test]
fn a_bucket_loses_what_is_beyond_its_rate_and_room() {
    let mut bucket =
        TokenBucket { rate: 1_000.0, burst: 2.0, queue: 8.0, noise: 0.0, disturbed: 0.0, rng: Rng::with_seed(1) };
    let mut lost = |rate| bucket.probe(rate, 2.0).lost;
    assert_eq!((lost(1_000.0), lost(1_005.0), lost(1_010.0), lost(2_000.0)), (0, 0, 10, 1_990));
}
