//! What people are told of what was found, each matter in one file: the facts come from `measure`, the words stand here.
//!
//! Options and commands of ours are named here and in `sonde` alone. Not here: how it is laid out.

pub mod change;
pub mod command;
pub mod dark;
pub mod limit;
pub mod method;
pub mod periodic;
pub mod remark;
pub mod spoiler;
pub(crate) mod target;
pub mod warning;
