//! The inputs from the system this program runs on: the moment, and chance.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

use endpoint::clock;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use logbook::moment::Moment;

/// The present moment, with the offset from UTC of this place.
pub fn now() -> Moment {
    let since_1970 = i128::from(clock::wall());
    let at = Timestamp::from_nanosecond(since_1970).unwrap_or(Timestamp::UNIX_EPOCH);
    Moment::from(&at.to_zoned(TimeZone::system()))
}

/// A seed nobody chose: the standard library's hashers start from the system's random bits.
pub fn drawn_seed() -> u64 {
    RandomState::new().hash_one("seed")
}

/// The value of `name` in the environment, where that is text and not empty.
#[expect(clippy::disallowed_methods, reason = "sonde is the crate that reads the environment")]
pub fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// The certificates that this host trusts, in DER; none where it has none.
pub fn trusted_certificates() -> Vec<Vec<u8>> {
    rustls_native_certs::load_native_certs().certs.iter().map(|certificate| certificate.to_vec()).collect()
}
