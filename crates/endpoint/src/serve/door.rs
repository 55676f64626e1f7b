//! What whoever runs several servers says of all of them: who may come, and who keeps a book of it.

use super::book::Book;
use super::gate::Gate;

/// How clients are met.
#[derive(Clone, Debug, Default)]
pub struct Door {
    /// From where it is served; what comes from elsewhere the kernel drops.
    pub gate: Gate,
    /// Where it is kept who came.
    pub book: Book,
}
