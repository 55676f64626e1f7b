//! Faults of keeping and reading.

use uuid::Uuid;

/// A fault of a store, with its place.
#[derive(Debug, thiserror::Error)]
#[error("{place}: {fault}")]
pub struct StoreError {
    /// The store, without a password.
    pub place: String,
    /// The fault.
    #[source]
    pub fault: Fault,
}

/// Fault of a store.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// There is none.
    #[error("no monitor store exists here yet")]
    Absent,
    /// There is no room.
    #[error("the disk is full")]
    Full,
    /// Somebody else writes, for longer than was waited.
    #[error("another process is writing and did not finish in time")]
    Locked,
    /// It is not to be reached.
    #[error("the database cannot be reached: {0}")]
    Away(String),
    /// It does not let us in, or not so far.
    #[error("the database refused: {0}")]
    Refused(String),
    /// Nothing may be written.
    #[error("it is read-only")]
    ReadOnly,
    /// A row is no longer as it was written.
    #[error("the store is damaged: {what}: {why}")]
    Damaged {
        /// The row or the file.
        what: String,
        /// Its fault.
        why: String,
    },
    /// A later program made it.
    #[error("a store of version {version}; this program knows versions up to {newest}")]
    Newer {
        /// Its version.
        version: i64,
        /// The newest that is known.
        newest: i64,
    },
    /// It is something else.
    #[error("this is not a monitor store: {0}")]
    NotOurs(String),
    /// Its place is not given in a form that is understood.
    #[error("{0}")]
    Unclear(String),
    /// Some beats of a part are kept and others are not.
    #[error("beats {first} to {last} of agent {instance}: those up to {kept} are already stored")]
    Overlap {
        /// Start of the agent.
        instance: Uuid,
        /// The first that was given.
        first: u64,
        /// The last that was given.
        last: u64,
        /// The last that was kept.
        kept: u64,
    },
    /// Something that was given is none that can be kept.
    #[error("{0} cannot be stored")]
    Impossible(String),
    /// Anything else that it says.
    #[error("{0}")]
    Engine(String),
}

impl Fault {
    /// Returns true where giving the same again later can help. Where not, somebody has to do something first.
    pub fn passes(&self) -> bool {
        matches!(self, Self::Full | Self::Locked | Self::Away(_))
    }
}

impl StoreError {
    /// Next step for the reader.
    pub fn hint(&self) -> &'static str {
        match &self.fault {
            Fault::Absent => "`sonde monitor` makes it; --store says where another lies",
            Fault::Full => "free some space there; what is not kept stays with the agents until there is room",
            Fault::Locked => "wait for the other to end, or see who holds the file (fuser FILE)",
            Fault::Away(_) => {
                "see whether the database runs and is to be reached from here; what is not kept stays with the agents"
            }
            Fault::Refused(_) => {
                "see the role, its password (PGPASSFILE, PGPASSWORD) and what it may do: docs/howto/history.md lists the grants"
            }
            Fault::ReadOnly => {
                "see who may write the file, its folder and its file system, or name another with --store"
            }
            Fault::Damaged { .. } => {
                "take it from a copy, or save what can be read with `sqlite3 FILE .recover`; until then name another with --store"
            }
            Fault::Newer { .. } => "take the sonde-monitor that made it, or a later one",
            Fault::NotOurs(_) => "name the store with --store; this one is left as it is",
            Fault::Unclear(_) => "name a file, or a database as postgres://USER@HOST/DATABASE",
            Fault::Overlap { .. } | Fault::Impossible(_) => "this is a fault of sonde: report it with the command line",
            Fault::Engine(_) => "see what it says; the log of the database may say more",
        }
    }
}
