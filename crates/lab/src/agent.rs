//! The program on a host, spoken to in JSON lines over its standard input and output.
//!
//! An agent runs this very program with words it is given, and tells what came of it; it knows nothing of plans. It ends, and all
//! it started with it, when its standard input does: whoever gave the orders is gone then, however it went.
//!
//! [`far`] is what runs on the host, [`near`] what speaks to it.

pub mod far;
pub mod near;

use serde::{Deserialize, Serialize};

/// Version of the talk, a count from 1: an agent of another is not spoken to.
pub const VERSION: u32 = 1;

/// Orders to an agent, one a line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
pub enum Order {
    /// Run the program with these words.
    Start {
        /// Number of the job from now on; no two are alike.
        job: u64,
        /// The words behind the program's name.
        words: Vec<String>,
        /// Its standard input, a key for one: neither words nor an environment would keep it secret.
        input: Option<String>,
        /// True where each line of its standard error is reported at once, not only at its end.
        watch: bool,
    },
    /// Ask it to end in order; what does not is killed.
    End {
        /// Number of the job.
        job: u64,
    },
    /// Say that it is there.
    Answer,
}

/// Messages of an agent, one a line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "told", rename_all = "kebab-case")]
pub enum Told {
    /// The first of all: it is there.
    Hello(Hello),
    /// A line on the standard error of what is watched.
    Said {
        /// Number of the job.
        job: u64,
        /// The line, without its end.
        line: String,
    },
    /// It has ended.
    Ended(Ended),
    /// It is there, since it was asked.
    Here,
}

/// Identity of an agent and its host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// Version of the talk.
    pub version: u32,
    /// The program's name.
    pub program: String,
    /// Its version.
    pub program_version: String,
    /// The kernel, as `uname -rv` tells of it; absent where it was not to be read.
    pub kernel: Option<String>,
    /// Processors that it may run on, a count; absent likewise.
    pub cpus: Option<u32>,
    /// Names the running kernel; absent likewise.
    pub boot_id: Option<String>,
    /// Its wall clock as it says this, nanoseconds since 1970.
    pub wall_ns: u64,
}

/// End of a job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// Number of the job.
    pub job: u64,
    /// All it printed.
    pub printed: String,
    /// The end of what it said on its standard error.
    pub said: String,
    /// Its exit status; absent where a signal ended it, or where it did not start.
    pub status: Option<i32>,
    /// Reason for which it did not start; absent where it did.
    pub not_started: Option<String>,
}
