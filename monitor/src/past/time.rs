//! Times and stretches as people write them.

use jiff::civil::{Date, DateTime, Time, Weekday};
use jiff::{Span, Timestamp, ToSpan, Zoned};

use crate::failure::Failure;

/// Forms of a time.
const FORMS: &str = "a time is 7d, 90m, today, yesterday, mon, 2026-11-24, 2026-11-24T14:05 or 14:05";

/// From one second to before another, since 1970 UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// Its first second.
    pub from: u64,
    /// The second after its last.
    pub to: u64,
}

/// The second that `at` is in.
pub fn second(at: &Zoned) -> u64 {
    u64::try_from(at.timestamp().as_second()).unwrap_or(0)
}

/// `word` as a time: a day from its start to its end, in the zone of `now`; a moment as a stretch without length. A day of the week is the latest that
/// has begun, a time of day the latest that is past.
///
/// # Errors
/// It is none.
pub fn instant(word: &str, now: &Zoned) -> Result<Stretch, Failure> {
    read(word.trim(), now).ok_or_else(|| {
        let word = report::markup::visible(word);
        Failure::new(format!("`{word}` is no time"), FORMS)
    })
}

fn read(word: &str, now: &Zoned) -> Option<Stretch> {
    let moment = |at: &Zoned| (at.timestamp().as_second() >= 0).then(|| Stretch { from: second(at), to: second(at) });
    let day = |date: Date| {
        let start = date.to_zoned(now.time_zone().clone()).ok()?;
        let end = start.tomorrow().ok()?.start_of_day().ok()?;
        Some(Stretch { to: second(&end), ..moment(&start)? })
    };
    match word {
        "now" => return moment(now),
        "today" => return day(now.date()),
        "yesterday" => return day(now.date().yesterday().ok()?),
        _ => {}
    }
    if let Some(weekday) = weekday(word) {
        let back = now.date().weekday().since(weekday);
        return day(now.date().checked_sub(i64::from(back).days()).ok()?);
    }
    if let Ok(at) = word.parse::<Timestamp>() {
        return moment(&at.to_zoned(now.time_zone().clone()));
    }
    // A date alone first: with a time it is none.
    let is_date = word.len() == 10 && word.bytes().filter(|octet| *octet == b'-').count() == 2;
    if let Some(date) = word.parse::<Date>().ok().filter(|_| is_date) {
        return day(date);
    }
    if let Some(at) = word.parse::<DateTime>().ok().filter(|_| word.contains(['T', ' '])) {
        return moment(&at.to_zoned(now.time_zone().clone()).ok()?);
    }
    if let Some(time) = word.parse::<Time>().ok().filter(|_| word.contains(':')) {
        let today = now.date().to_datetime(time).to_zoned(now.time_zone().clone()).ok()?;
        let past = if today > *now { today.checked_sub(1.day()).ok()? } else { today };
        return moment(&past);
    }
    moment(&now.checked_sub(length(word)?).ok()?)
}

/// The second that is so long after `now`, as `2h` or `1d`.
///
/// # Errors
/// It is no length of time, or none that there is a time after.
pub fn from_now(word: &str, now: &Zoned) -> Result<u64, Failure> {
    let after = length(word.trim()).and_then(|length| now.checked_add(length).ok()).map(|at| second(&at));
    after.filter(|at| *at > second(now)).ok_or_else(|| {
        let told = format!("`{}` is no length of time", report::markup::visible(word));
        Failure::new(told, "write it as 2h, 90m or 1d")
    })
}

/// `90m`; not below 0.
fn length(word: &str) -> Option<Span> {
    let is_plain = word.starts_with(|first: char| first.is_ascii_digit());
    word.parse::<Span>().ok().filter(|span| span.is_positive() && is_plain)
}

/// A day of the week by its first three letters or more.
fn weekday(word: &str) -> Option<Weekday> {
    const NAMES: [(&str, Weekday); 7] = [
        ("monday", Weekday::Monday),
        ("tuesday", Weekday::Tuesday),
        ("wednesday", Weekday::Wednesday),
        ("thursday", Weekday::Thursday),
        ("friday", Weekday::Friday),
        ("saturday", Weekday::Saturday),
        ("sunday", Weekday::Sunday),
    ];
    let word = word.to_ascii_lowercase();
    NAMES.into_iter().find(|(name, _)| word.len() >= 3 && name.starts_with(&word)).map(|(_, weekday)| weekday)
}

/// `word` as a stretch: `tue`, `tue..wed` (from the start of the one to the start of the other), `14:05..` (until now), `3d` (until now).
///
/// # Errors
/// It is none, or has no length.
pub fn stretch(word: &str, now: &Zoned) -> Result<Stretch, Failure> {
    let found = match word.split_once("..") {
        Some((from, "")) => Stretch { to: second(now), ..instant(from, now)? },
        Some((from, to)) => Stretch { from: instant(from, now)?.from, to: instant(to, now)?.from },
        None => match instant(word, now)? {
            Stretch { from, to } if from == to => Stretch { from, to: second(now) },
            // A day that goes on has only its beginning.
            Stretch { from, to } => Stretch { from, to: to.min(second(now)) },
        },
    };
    if found.from < found.to {
        return Ok(found);
    }
    let told = format!("`{}` ends before it begins", report::markup::visible(word));
    Err(Failure::new(told, "write START..END, as in tue..wed; a day of the week is the latest that has begun"))
}

/// `a>b@mon` as two hosts and a stretch.
///
/// # Errors
/// It is none.
pub fn cell_at(word: &str, now: &Zoned) -> Result<(String, String, Stretch), Failure> {
    let parted = word.split_once('@').and_then(|(cell, time)| Some((cell.split_once('>')?, time)));
    match parted {
        Some(((from, to), time)) if !from.is_empty() && !to.is_empty() => {
            Ok((from.to_owned(), to.to_owned(), stretch(time, now)?))
        }
        _ => {
            let told = format!("`{}` is no cell with its time", report::markup::visible(word));
            Err(Failure::new(told, "write FROM>TO@TIME in quotes, as in 'a>b@mon' or 'a>b@tue..wed'"))
        }
    }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    /// A Thursday, in a zone whose clocks went back in October.
    fn now() -> Zoned {
        "2026-11-26T02:10:30+01:00[Europe/Berlin]".parse().unwrap()
    }

    fn at(text: &str) -> u64 {
        u64::try_from(text.parse::<Timestamp>().unwrap().as_second()).unwrap()
    }

    #[test_case("now", "2026-11-26T01:10:30Z")]
    #[test_case("90m", "2026-11-25T23:40:30Z")]
    #[test_case("1h30m", "2026-11-25T23:40:30Z"; "two units")]
    #[test_case("7d", "2026-11-19T01:10:30Z")]
    #[test_case("40d", "2026-10-17T00:10:30Z"; "over a change of the clocks")]
    #[test_case("2026-11-24T14:05", "2026-11-24T13:05:00Z"; "a local time")]
    #[test_case("2026-11-24 14:05:07", "2026-11-24T13:05:07Z"; "with a space")]
    #[test_case("2026-11-24T14:05Z", "2026-11-24T14:05:00Z"; "a time of UTC")]
    #[test_case("02:10", "2026-11-26T01:10:00Z"; "today")]
    #[test_case("14:05", "2026-11-25T13:05:00Z"; "of yesterday, since it is still to come today")]
    fn a_moment_is_read(word: &str, expected: &str) {
        assert_eq!(instant(word, &now()).unwrap(), Stretch { from: at(expected), to: at(expected) });
    }

    #[test_case("today", "2026-11-25T23:00:00Z", "2026-11-26T23:00:00Z"; "today")]
    #[test_case("thu", "2026-11-25T23:00:00Z", "2026-11-26T23:00:00Z"; "the same by its name")]
    #[test_case("Friday", "2026-11-19T23:00:00Z", "2026-11-20T23:00:00Z"; "the latest one")]
    #[test_case("yesterday", "2026-11-24T23:00:00Z", "2026-11-25T23:00:00Z"; "yesterday")]
    #[test_case("2026-10-25", "2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z"; "a day of 25 hours")]
    fn a_day_has_a_length(word: &str, from: &str, to: &str) {
        assert_eq!(instant(word, &now()).unwrap(), Stretch { from: at(from), to: at(to) });
    }

    #[test_case("tue..wed", "2026-11-23T23:00:00Z", "2026-11-24T23:00:00Z"; "one day")]
    #[test_case("tue", "2026-11-23T23:00:00Z", "2026-11-24T23:00:00Z"; "the same")]
    #[test_case("today", "2026-11-25T23:00:00Z", "2026-11-26T01:10:30Z"; "as far as it is")]
    #[test_case("00:30..01:00", "2026-11-25T23:30:00Z", "2026-11-26T00:00:00Z"; "half an hour")]
    #[test_case("2h..", "2026-11-25T23:10:30Z", "2026-11-26T01:10:30Z"; "until now")]
    fn a_stretch_is_read(word: &str, from: &str, to: &str) {
        assert_eq!(stretch(word, &now()).unwrap(), Stretch { from: at(from), to: at(to) });
    }

    #[test_case("2h", Some("2026-11-26T03:10:30Z"))]
    #[test_case("1d", Some("2026-11-27T01:10:30Z"); "a day")]
    #[test_case("0s", None; "none")]
    #[test_case("-2h", None; "before now")]
    #[test_case("200ms", None; "less than a second")]
    #[test_case("9000y", None; "beyond all")]
    #[test_case("2", None; "without unit")]
    fn a_length_ends_after_now(word: &str, expected: Option<&str>) {
        assert_eq!(from_now(word, &now()).ok(), expected.map(at));
    }

    #[test_case("")]
    #[test_case("7"; "without unit")]
    #[test_case("-7d"; "in the future")]
    #[test_case("mo"; "too short")]
    #[test_case("2026-13-01"; "month 13")]
    #[test_case("1950-01-01"; "before 1970")]
    #[test_case("99999999999d"; "beyond all")]
    #[test_case("\u{1b}[31m"; "an escape")]
    fn what_is_no_time_is_refused(word: &str) {
        let told = instant(word, &now()).unwrap_err();
        assert!(told.text.ends_with("is no time") && !told.text.contains('\u{1b}'), "{told}");
    }

    #[test]
    fn a_cell_has_its_time() {
        let (from, to, stretch) = cell_at("a>b@tue", &now()).unwrap();
        assert_eq!((from.as_str(), to.as_str(), stretch.to - stretch.from), ("a", "b", 86_400));
        for wrong in ["a>b", "a@tue", ">b@tue", "a>b@", "tue"] {
            assert!(cell_at(wrong, &now()).is_err(), "{wrong}");
        }
        assert!(stretch_of("wed..tue").text.contains("ends before it begins"));
    }

    fn stretch_of(word: &str) -> Failure {
        stretch(word, &now()).unwrap_err()
    }
}
