//! Kinds of replies over HTTP/2: statuses of HTTP, errors of streams, statuses of gRPC, the health of a service, and kinds of DNS, told apart by their
//! range.

use std::borrow::Cow;

/// Kinds below are statuses of HTTP; from here on, streams that were reset, by their error.
pub const RESET: u16 = 1_000;
/// From here on, statuses of gRPC.
pub const GRPC: u16 = 2_000;
/// First kind of a health check's answers.
pub const SERVING: u16 = 3_000;
/// From here on, kinds of DNS.
pub const DNS: u16 = 4_000;

/// Errors by their number (RFC 9113 section 7).
pub const ERRORS: [&str; 14] = [
    "NO_ERROR",
    "PROTOCOL_ERROR",
    "INTERNAL_ERROR",
    "FLOW_CONTROL_ERROR",
    "SETTINGS_TIMEOUT",
    "STREAM_CLOSED",
    "FRAME_SIZE_ERROR",
    "REFUSED_STREAM",
    "CANCEL",
    "COMPRESSION_ERROR",
    "CONNECT_ERROR",
    "ENHANCE_YOUR_CALM",
    "INADEQUATE_SECURITY",
    "HTTP_1_1_REQUIRED",
];
/// Statuses of gRPC by their number ("Status codes and their use in gRPC").
pub const STATUSES: [&str; 17] = [
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
];
/// Answers of a health check, by their number (gRPC Health Checking Protocol).
const HEALTHS: [&str; 4] = ["health UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN"];

/// The name of an error of a stream or a connection.
pub fn error(error: u32) -> &'static str {
    usize::try_from(error).ok().and_then(|error| ERRORS.get(error)).copied().unwrap_or("an error without a name")
}

/// The name of a kind that is no status of HTTP.
pub fn name(kind: u16) -> Option<Cow<'static, str>> {
    let named = |names: &[&'static str], from: u16| {
        names.get(usize::from(kind - from)).copied().unwrap_or("a status without a name")
    };
    let name = match kind {
        SERVING.. => named(&HEALTHS, SERVING),
        GRPC.. => named(&STATUSES, GRPC),
        RESET.. => error(u32::from(kind - RESET)),
        _ => return None,
    };
    Some(Cow::Borrowed(name))
}
