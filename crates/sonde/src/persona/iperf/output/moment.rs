//! Times of day as the original says them, in the zone of the process.

use jiff::Zoned;
use jiff::tz::TimeZone;

use crate::persona::iperf::options::Form;

/// The moment in the zone in which it is told: `--utc`, or that of the process.
pub fn shown(moment: Zoned, utc: bool) -> Zoned {
    if utc { moment.with_time_zone(TimeZone::UTC) } else { moment }
}

/// `2026-11-21 01:29:05.579 (UTC)`; before 2.2 without milliseconds.
pub fn spoken(moment: &Zoned, form: Form) -> String {
    let part = if form == Form::V2_2_1 { format!(".{:03}", moment.millisecond()) } else { String::new() };
    format!("{}{part} ({})", moment.strftime("%Y-%m-%d %H:%M:%S"), moment.strftime("%Z"))
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
        assert_eq!(spoken(&moment, Form::V2_2_1), "2026-11-21 01:29:05.579 (UTC)");
        assert_eq!(spoken(&moment, Form::V2_1_8), "2026-11-21 01:29:05 (UTC)");
        assert_eq!(packed(&moment, false), "20261121012905");
        assert_eq!(packed(&moment, true), "20261121012905.579");
        let east: Zoned = "2026-11-21T10:29:05+09:00[Asia/Tokyo]".parse().unwrap();
        assert_eq!(packed(&shown(east.clone(), false), false), "20261121102905");
        assert_eq!(spoken(&shown(east, true), Form::V2_1_8), "2026-11-21 01:29:05 (UTC)");
    }
}
