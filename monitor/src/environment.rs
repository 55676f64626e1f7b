//! Variables of the environment: the room of this program that reads them.

/// A variable of the environment; absent where it is empty.
#[expect(clippy::disallowed_methods, reason = "this program's room that reads the environment")]
pub fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
