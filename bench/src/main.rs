//! Placeholder until the rows stand.
fn main() {}
