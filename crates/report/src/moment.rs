//! Moments for people.

use logbook::moment::Moment;

/// A moment as people read it: to the second, with its offset.
pub(crate) fn moment(moment: Moment) -> String {
    let text = moment.to_string().replacen('T', " ", 1);
    let Some((before, after)) = text.split_once('.') else { return text };
    format!("{before}{}", after.trim_start_matches(|letter: char| letter.is_ascii_digit()))
}
