//! Actions where a text gives no schedule to replay.

use measure::trace::text::TextError;

/// The action against `error`.
pub fn trace(error: &TextError) -> &'static str {
    match error {
        TextError::NotText { .. } => "give a text of `time,size` lines, or a capture that `tcpdump -w` wrote",
        TextError::Empty | TextError::Columns { .. } => "write one message per line, as in 0.00125,200",
        TextError::Header { .. } => "name the columns time and size, or remove the line",
        TextError::Time { .. } => "write seconds from the start of sending, as in 0.00125, or with a unit, as in 250us",
        TextError::Size { .. } | TextError::TooLong { .. } => {
            "write bytes, as in 200, or with a unit, as in 1kB or 1KiB"
        }
        TextError::TooMany { .. } => "cut it into several recordings, as with `split -l`",
        TextError::Backwards { .. } => "put the lines in the order of their times, or look where the recording broke",
    }
}
