//! Numbers as people read them: three digits, a unit, and no more certainty than there is.
//!
//! A value that is not there is not printed; nothing here makes a 0 of it.

use measure::outcome::{Distribution, Quantile, Standing};
use measure::unit::{Bytes, Nanos};

/// The sign in place of a number that is absent.
pub fn absent() -> String {
    "–".to_owned()
}

/// A measured time with three digits: `25.6 µs`, `23.0 µs`; below a microsecond to a tenth of a nanosecond. `None` for what is not finite.
pub fn time(ns: f64) -> Option<String> {
    written(ns, |time| format!("{time:#}"))
}

/// The same where whole numbers need no zeros, as on an axis: `20 µs`.
pub fn short_time(ns: f64) -> Option<String> {
    written(ns, |time| time.to_string())
}

fn written(ns: f64, whole: impl Fn(Nanos) -> String) -> Option<String> {
    if !ns.is_finite() {
        return None;
    }
    let sign = if ns < 0.0 { "−" } else { "" };
    let size = ns.abs();
    // From 999.5 ns on whole nanoseconds carry three digits by themselves.
    if size < 999.5 && size.fract() != 0.0 {
        let decimals = usize::from(size < 99.95);
        return Some(format!("{sign}{size:.decimals$} ns"));
    }
    Some(format!("{sign}{}", whole(Nanos(size.round() as u64))))
}

/// A measured time with three digits: `23.0 µs`. One that was set stands as [`Nanos`] prints it: `10 ms`.
pub fn measured(time: Nanos) -> String {
    format!("{time:#}")
}

/// A signed time: `+3.20 µs`, `−3.20 µs`.
pub fn signed_time(ns: i64) -> String {
    let sign = if ns < 0 { '−' } else { '+' };
    format!("{sign}{:#}", Nanos(ns.unsigned_abs()))
}

/// `25.61 µs ± 0.04`: an estimate to the digit its interval leaves certain, both in one unit. Without an interval as
/// [`time`]. `None` for what is not finite.
pub fn estimate(ns: f64, half_width: Option<f64>) -> Option<String> {
    let half = half_width.filter(|half| half.is_finite() && *half > 0.0 && ns.is_finite());
    let Some(half) = half else { return time(ns) };
    let (scale, unit) = scale_of(ns);
    let (value, half) = (ns / scale, half / scale);
    // One digit of the half-width; two where the first is 1, which alone would be off by up to a half.
    let magnitude = half.log10().floor();
    let leading_one = half / 10_f64.powf(magnitude) < 1.95;
    let decimals = (-magnitude as i32 + i32::from(leading_one)).clamp(0, 3) as usize;
    // Two digits of a wide interval are certain enough, and those of the value above them.
    let step = 10_f64.powf(magnitude - 1.0).max(1.0);
    let (value, half) =
        if step > 1.0 { ((value / step).round() * step, (half / step).round() * step) } else { (value, half) };
    // An interval below the last digit is that digit: none is nothing.
    let half = half.max(0.1_f64.powi(decimals as i32));
    Some(format!("{value:.decimals$} {unit} ± {half:.decimals$}"))
}

/// `13.9 µs [13.1, 14.6]`: an estimate and its interval in one unit, three digits each. Without an interval as [`time`]. `None` for what is not
/// finite.
pub fn within(ns: f64, interval: Option<(f64, f64)>) -> Option<String> {
    let Some((low, high)) = interval.filter(|_| ns.is_finite()) else { return time(ns) };
    let (scale, unit) = scale_of(ns);
    let text = |ns: f64| {
        let value = ns / scale;
        let decimals = if value.abs() < 9.995 { 2 } else { usize::from(value.abs() < 99.95) };
        format!("{value:.decimals$}")
    };
    Some(format!("{} {unit} [{}, {}]", text(ns), text(low), text(high)))
}

/// `−0.1 µs` and `−21.0 … +20.4 µs`: a difference and its interval in one unit, with as many digits as the largest of them has.
pub fn difference(ns: f64, low: f64, high: f64) -> (String, String) {
    let size = ns.abs().max(low.abs()).max(high.abs());
    let (scale, unit) = scale_of(size);
    let decimals = match size / scale {
        size if size < 9.995 => 2,
        size => usize::from(size < 99.95),
    };
    let text = |ns: f64| {
        let size = format!("{:.decimals$}", ns.abs() / scale);
        let sign = match () {
            () if !size.contains(|digit: char| ('1'..='9').contains(&digit)) => "",
            () if ns < 0.0 => "−",
            () => "+",
        };
        format!("{sign}{size}")
    };
    (format!("{} {unit}", text(ns)), format!("{} … {} {unit}", text(low), text(high)))
}

fn scale_of(ns: f64) -> (f64, &'static str) {
    match ns.abs() {
        size if size < 1e3 => (1.0, "ns"),
        size if size < 999_500.0 => (1e3, "µs"),
        size if size < 999_500_000.0 => (1e6, "ms"),
        _ => (1e9, "s"),
    }
}

/// The size of a change in percent, without the sign of percent: to a tenth, from 100 % on whole numbers.
pub fn change(share: f64) -> String {
    let percent = share.abs() * 100.0;
    let decimals = usize::from(percent < 99.95);
    format!("{percent:.decimals$}")
}

/// A share of 0 to 1 in percent, two digits: `61 %`, `0.0015 %`; from 10 % on to a tenth, from 100 % on whole numbers. Less than all is
/// never `100 %`: `99.98 %`.
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    let decimals = match percent.abs() {
        0.0 => 0,
        size if size >= 100.0 => 0,
        size if size >= 99.95 => (-(100.0 - size).log10().floor()).clamp(2.0, 6.0) as usize,
        size if size >= 9.95 => 1,
        size => (1.0 - size.log10().floor()).clamp(1.0, 6.0) as usize,
    };
    let text = format!("{percent:.decimals$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text} %")
}

/// Events a second: `38 812 /s`, `99.8 /s`, `0.25 /s`. `None` for what is not finite.
pub fn rate(per_s: f64) -> Option<String> {
    if !per_s.is_finite() || per_s < 0.0 {
        return None;
    }
    Some(match per_s {
        _ if per_s >= 999.5 || per_s.fract() == 0.0 => format!("{} /s", measure::unit::grouped(per_s.round() as u64)),
        _ if per_s >= 9.95 => format!("{per_s:.1} /s"),
        _ => format!("{per_s:.2} /s"),
    })
}

/// A rate of payload in bits a second, three digits, decimal units: `23.4 Gbit/s`. `None` for what is not finite.
pub fn bit_rate(bytes_per_s: f64) -> Option<String> {
    let bits = bytes_per_s * 8.0;
    if !bits.is_finite() || bits < 0.0 {
        return None;
    }
    let (scale, unit) = match bits {
        _ if bits < 999.5 => (1.0, "bit/s"),
        _ if bits < 999.5e3 => (1e3, "kbit/s"),
        _ if bits < 999.5e6 => (1e6, "Mbit/s"),
        _ if bits < 999.5e9 => (1e9, "Gbit/s"),
        _ => (1e12, "Tbit/s"),
    };
    let value = bits / scale;
    let decimals = match value {
        _ if value >= 99.95 || value == 0.0 => 0,
        _ if value >= 9.995 => 1,
        _ => 2,
    };
    Some(format!("{value:.decimals$} {unit}"))
}

/// Bytes with three digits, decimally.
pub fn size(bytes: Bytes) -> String {
    let (scale, unit) = match bytes.0 {
        0..10_000 => return format!("{} B", bytes.0),
        10_000..1_000_000 => (1e3, "kB"),
        1_000_000..1_000_000_000 => (1e6, "MB"),
        1_000_000_000..1_000_000_000_000 => (1e9, "GB"),
        _ => (1e12, "TB"),
    };
    let value = bytes.0 as f64 / scale;
    let decimals = match value {
        _ if value >= 99.95 => 0,
        _ if value >= 9.995 => 1,
        _ => 2,
    };
    format!("{value:.decimals$} {unit}")
}

/// `3 lost`, `1 lost`, `12 345 lost`; `one` is for exactly one.
pub fn count(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", measure::unit::grouped(count), if count == 1 { one } else { many })
}

/// A quantile under the printing rule: its value, `~` before it where few lie beyond; `None` where too few do.
pub fn quantile(quantile: &Quantile) -> Option<String> {
    let value = quantile.value_ns?;
    match quantile.standing {
        Standing::Firm => Some(format!("{value:#}")),
        Standing::Rough => Some(format!("~{value:#}")),
        Standing::TooFew => None,
    }
}

/// The 95 % interval of a quantile: `24.8 µs … 25.0 µs`, `≥ 24.8 µs` where the sample gives no upper end.
pub fn interval(quantile: &Quantile) -> Option<String> {
    match (quantile.low_ns, quantile.high_ns) {
        (Some(low), Some(high)) => Some(format!("{low:#} … {high:#}")),
        (Some(low), None) => Some(format!("≥ {low:#}")),
        _ => None,
    }
}

/// The effective sample size, where correlation leaves less than half of the sample's worth.
pub fn correlated(distribution: &Distribution) -> Option<f64> {
    distribution.effective_sample_size.filter(|size| *size < distribution.count as f64 / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use test_case::test_case;

    #[test]
    fn a_change_from_a_hundred_percent_on_is_whole() {
        assert_eq!([-0.0034, 0.7594, 59.354].map(change), ["0.3", "75.9", "5935"]);
    }

    #[test_case(25_612.0, Some("25.6 µs"); "microseconds")]
    #[test_case(2.25, Some("2.2 ns"); "tenths of a nanosecond")]
    #[test_case(150.4, Some("150 ns"); "nanoseconds")]
    #[test_case(-3_200.4, Some("−3.20 µs"); "negative")]
    #[test_case(23_000.0, Some("23.0 µs"); "a whole number")]
    #[test_case(0.0, Some("0 ns"); "zero")]
    #[test_case(f64::NAN, None; "none")]
    #[test_case(f64::INFINITY, None; "infinite")]
    fn a_time_has_three_digits(ns: f64, text: Option<&str>) {
        assert_eq!(time(ns).as_deref(), text);
    }

    #[test_case(25_612.3, Some(41.0), "25.61 µs ± 0.04"; "hundredths")]
    #[test_case(25_612.3, Some(130.0), "25.61 µs ± 0.13"; "a leading one has two digits")]
    #[test_case(25_612.3, Some(3_400.0), "26 µs ± 3"; "units")]
    #[test_case(512_345.0, Some(345_678.0), "510 µs ± 350"; "tens")]
    #[test_case(25_612.3, Some(0.01), "25.612 µs ± 0.001"; "no finer than a nanosecond")]
    #[test_case(25_612.3, None, "25.6 µs"; "no interval")]
    #[test_case(25_612.3, Some(f64::NAN), "25.6 µs"; "an interval that is none")]
    #[test_case(1_250_000.0, Some(50_000.0), "1.25 ms ± 0.05"; "milliseconds")]
    fn an_estimate_has_the_digits_its_interval_leaves(ns: f64, half: Option<f64>, text: &str) {
        assert_eq!(estimate(ns, half).as_deref(), Some(text));
    }

    #[test_case((-75.0, -21_000.0, 20_400.0), "−0.1 µs", "−21.0 … +20.4 µs"; "no finer than its interval")]
    #[test_case((-38_700.0, -46_800.0, -28_900.0), "−38.7 µs", "−46.8 … −28.9 µs"; "one sign")]
    #[test_case((1_200_000.0, -4.0, 1_250_000.0), "+1.20 ms", "0.00 … +1.25 ms"; "an end at zero")]
    fn a_difference_and_its_interval_have_one_unit(values: (f64, f64, f64), difference: &str, interval: &str) {
        assert_eq!(super::difference(values.0, values.1, values.2), (difference.to_owned(), interval.to_owned()));
    }

    #[test_case(0.612, "61.2 %")]
    #[test_case(1.0, "100 %")]
    #[test_case(0.9998, "99.98 %"; "nearly all")]
    #[test_case(0.999_991, "99.9991 %"; "all but a few")]
    #[test_case(0.9995, "99.95 %"; "what was rounded up")]
    #[test_case(0.0, "0 %")]
    #[test_case(0.000_015, "0.0015 %")]
    #[test_case(0.004_21, "0.42 %")]
    fn a_share_has_two_digits(share: f64, text: &str) {
        assert_eq!(percent(share), text);
    }

    #[test_case(2_930_000_000.0, Some("23.4 Gbit/s"); "gigabits")]
    #[test_case(125_000.0, Some("1.00 Mbit/s"); "a round one")]
    #[test_case(124_990.0, Some("1.00 Mbit/s"); "rounded up to the next unit")]
    #[test_case(0.0, Some("0 bit/s"); "nothing")]
    #[test_case(f64::NAN, None; "no rate")]
    fn a_bit_rate_has_three_digits(bytes_per_s: f64, text: Option<&str>) {
        assert_eq!(bit_rate(bytes_per_s).as_deref(), text);
    }

    #[test_case(9_999, "9999 B")]
    #[test_case(538_660, "539 kB")]
    #[test_case(27_990_000, "28.0 MB")]
    #[test_case(2_310_000_000, "2.31 GB")]
    fn a_size_has_three_digits(bytes: u64, text: &str) {
        assert_eq!(size(Bytes(bytes)), text);
    }

    #[test_case(38_812.4, "38 812 /s")]
    #[test_case(99.83, "99.8 /s")]
    #[test_case(1.0, "1 /s")]
    #[test_case(0.25, "0.25 /s")]
    fn a_rate_is_grouped(per_s: f64, text: &str) {
        assert_eq!(rate(per_s).as_deref(), Some(text));
    }
}
