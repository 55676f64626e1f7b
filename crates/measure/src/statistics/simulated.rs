//! Series whose truth is known, for tests: drawn here, apart from the analysis they test.

use fastrand::Rng;
use statrs::distribution::{ContinuousCDF, Normal};

/// Mean of the series drawn here.
pub const MEAN: f64 = 100_000.0;
/// Standard deviation of the series drawn here.
pub const DEVIATION: f64 = 10_000.0;

/// Draws `n` normal values, each with `phi` of the one before: AR(1), autocorrelation phi^k at lag k, worth
/// n (1 - phi) / (1 + phi) independent values for its mean.
pub fn autoregressive(rng: &mut Rng, n: usize, phi: f64) -> Vec<u64> {
    let innovation = (1.0 - phi * phi).sqrt();
    // Started in its stationary distribution.
    let mut x = normal(rng);
    (0..n)
        .map(|_| {
            let value = MEAN + DEVIATION * x;
            x = phi * x + innovation * normal(rng);
            value.round() as u64
        })
        .collect()
}

/// The true quantile of those values.
pub fn true_quantile(q: f64) -> u64 {
    (MEAN + DEVIATION * Normal::standard().inverse_cdf(q)).round() as u64
}

/// A standard normal value, by Box and Muller.
pub fn normal(rng: &mut Rng) -> f64 {
    (-2.0 * (1.0 - rng.f64()).ln()).sqrt() * (std::f64::consts::TAU * rng.f64()).cos()
}

/// Latencies as they look: a floor, an exponential spread, and now and then (1 in 100) a stall a thousand times as long.
pub fn latencies(rng: &mut Rng, n: usize) -> Vec<u64> {
    (0..n)
        .map(|_| {
            let spread = -(1.0 - rng.f64()).ln() * 3_000.0;
            let stall = if rng.u32(0..100) == 0 { rng.u64(1_000_000..20_000_000) } else { 0 };
            20_000 + spread as u64 + stall
        })
        .collect()
}
