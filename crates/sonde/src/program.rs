//! This program, as it names itself.

use logbook::document::Tool;

/// How it names itself to peers.
pub const PROGRAM: &str = concat!("sonde ", env!("CARGO_PKG_VERSION"));

/// How it names itself in records.
pub fn tool() -> Tool {
    Tool { name: env!("CARGO_PKG_NAME").to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() }
}
