//! Quantiles by nearest rank.

/// How a quantile is called: 0.99 is `p99`, 0.9999 `p99.99`.
pub fn name(q: f64) -> String {
    let percent = format!("{:.6}", q * 100.0);
    format!("p{}", percent.trim_end_matches('0').trim_end_matches('.'))
}
