//! Times in the form that a format says.

use jiff::Zoned;
use jiff::fmt::strtime::{BrokenDownTime, Config, PosixCustom};

/// A time as C's `strftime` has it where nothing is translated.
///
/// # Errors
/// A format that is none.
pub fn strftime(format: &str, time: &Zoned) -> Result<String, jiff::Error> {
    BrokenDownTime::from(time).to_string_with_config(&Config::new().custom(PosixCustom::new()), format)
}
