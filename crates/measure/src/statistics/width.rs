//! Widths of confidence intervals as netperf tells them, by Student's t.

/// Two-sided quantiles of Student's t distribution for 1 to 30 degrees of freedom, at 95 and at 99 percent.
const T_95: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
    2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
];
const T_99: [f64; 30] = [
    63.657, 9.925, 5.841, 4.604, 4.032, 3.707, 3.499, 3.355, 3.250, 3.169, 3.106, 3.055, 3.012, 2.977, 2.947, 2.921,
    2.898, 2.878, 2.861, 2.845, 2.831, 2.819, 2.807, 2.797, 2.787, 2.779, 2.771, 2.763, 2.756, 2.750,
];

/// Full width of the confidence interval of the mean, in percent of the mean. 0 where nothing was measured or the mean
/// is 0; a single value leaves everything open: 100.
pub fn width_percent(values: &[f64], level: u8) -> f64 {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    if values.is_empty() || mean == 0.0 {
        return 0.0;
    }
    let Some(freedom) = values.len().checked_sub(2) else { return 100.0 };
    let table = if level == 95 { &T_95 } else { &T_99 };
    let t = table[freedom.min(table.len() - 1)];
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count;
    2.0 * t * (variance / (count - 1.0)).sqrt() / mean * 100.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use test_case::test_case;

    // Worked by hand: mean 20, variance 66.67, t(99, 2) = 9.925, so 2·9.925·sqrt(66.67/2)/20 = 5.7302.
    #[test_case(&[10.0, 20.0, 30.0], 99, 573.02; "three values at 99")]
    #[test_case(&[10.0, 20.0, 30.0], 95, 248.43; "three at 95")]
    #[test_case(&[7.0, 7.0, 7.0], 99, 0.0; "no variance")]
    #[test_case(&[], 99, 0.0; "nothing measured")]
    #[test_case(&[0.0, 0.0], 99, 0.0; "nothing used")]
    #[test_case(&[5.0], 99, 100.0; "one value")]
    fn a_width(values: &[f64], level: u8, expected: f64) {
        assert!((width_percent(values, level) - expected).abs() < 0.01, "{}", width_percent(values, level));
    }

    #[test]
    fn the_table_falls_with_the_degrees_of_freedom() {
        for table in [T_95, T_99] {
            assert!(table.windows(2).all(|two| two[0] > two[1]));
        }
    }
}
