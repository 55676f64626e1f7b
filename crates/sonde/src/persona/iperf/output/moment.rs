//! Times of day as the original says them, in the zone of the process.

use jiff::Zoned;

/// `2026-11-21 01:29:05 (UTC)`.
pub fn spoken(moment: &Zoned) -> String {
    moment.strftime("%Y-%m-%d %H:%M:%S (%Z)").to_string()
}

/// `20261121013053`, with milliseconds behind a point where `enhanced`.
pub fn packed(moment: &Zoned, enhanced: bool) -> String {
    let text = moment.strftime("%Y%m%d%H%M%S").to_string();
    if enhanced { format!("{text}.{:03}", moment.millisecond()) } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments() {
        let moment: Zoned = "2026-11-21T01:29:05.579+00:00[UTC]".parse().unwrap();
        assert_eq!(spoken(&moment), "2026-11-21 01:29:05 (UTC)");
        assert_eq!(packed(&moment, false), "20261121012905");
        assert_eq!(packed(&moment, true), "20261121012905.579");
    }
}
