//! Kinds of replies over HTTP/3: statuses of HTTP, and errors of streams that were reset.

use std::borrow::Cow;

/// Kinds below are statuses of HTTP; from here on, streams that were reset, by their error.
const RESET: u16 = 1_000;
/// The kind of a stream that was reset by an error without a name.
const NAMELESS: u16 = RESET + ERRORS.len() as u16;

/// The first error of HTTP/3.
const FIRST: u64 = 0x100;
/// Errors from there on (RFC 9114 section 8.1).
const ERRORS: [&str; 17] = [
    "H3_NO_ERROR",
    "H3_GENERAL_PROTOCOL_ERROR",
    "H3_INTERNAL_ERROR",
    "H3_STREAM_CREATION_ERROR",
    "H3_CLOSED_CRITICAL_STREAM",
    "H3_FRAME_UNEXPECTED",
    "H3_FRAME_ERROR",
    "H3_EXCESSIVE_LOAD",
    "H3_ID_ERROR",
    "H3_SETTINGS_ERROR",
    "H3_MISSING_SETTINGS",
    "H3_REQUEST_REJECTED",
    "H3_REQUEST_CANCELLED",
    "H3_REQUEST_INCOMPLETE",
    "H3_MESSAGE_ERROR",
    "H3_CONNECT_ERROR",
    "H3_VERSION_FALLBACK",
];

/// The connection ends in order.
pub const NO_ERROR: u32 = FIRST as u32;
/// The server breaks the rules.
pub const GENERAL_PROTOCOL_ERROR: u32 = NO_ERROR + 1;
/// We give a request up.
pub const REQUEST_CANCELLED: u32 = NO_ERROR + 12;

/// The kind of a stream that was reset by `error`.
pub fn reset(error: u64) -> u16 {
    let place = error.checked_sub(FIRST).and_then(|place| u16::try_from(place).ok());
    place.map(|place| RESET + place).filter(|kind| *kind < NAMELESS).unwrap_or(NAMELESS)
}

/// The name of a kind.
pub fn name(kind: u16) -> Cow<'static, str> {
    match kind.checked_sub(RESET) {
        None => Cow::Owned(kind.to_string()),
        Some(place) => Cow::Borrowed(ERRORS.get(usize::from(place)).copied().unwrap_or("an error without a name")),
    }
}

/// The name of an error that ends a connection.
pub fn error(error: u64) -> Cow<'static, str> {
    name(reset(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_their_names() {
        assert_eq!(name(503), "503");
        assert_eq!([0x100, 0x10B, 0x110].map(error), ["H3_NO_ERROR", "H3_REQUEST_REJECTED", "H3_VERSION_FALLBACK"]);
        assert_eq!([0, 0xFF, 0x111, u64::MAX].map(reset), [NAMELESS; 4]);
        assert_eq!(name(NAMELESS), "an error without a name");
    }
}
