//! Settings that all servers of one command share: admission, and the book of their use.

use super::book::Book;
use super::gate::Gate;

/// Admission and book of a server.
#[derive(Clone, Debug, Default)]
pub struct Door {
    /// Networks that are served; the kernel drops packets from elsewhere.
    pub gate: Gate,
    /// Book of the connections that came.
    pub book: Book,
}
