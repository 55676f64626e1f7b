//! Conversion of a rate in bytes to a rate in calls.

use super::*;

#[test]
fn a_rate_is_so_many_calls() {
    let calls = |bytes, call| calls_for(bytes, Bytes(call)).map(|rate| rate.0.get());
    assert_eq!(calls(1_000_000, 1_000), Some(1_000_000));
    assert_eq!(calls(125_000, 131_072), Some(953));
    assert_eq!(calls(1, 1 << 30), Some(1), "never none at all");
    assert_eq!(calls(0, 1_000), None);
    assert_eq!(calls(u64::MAX, 1), None, "more than can be counted");
}
