//! Ours beside ping of iputils: the same command line on the same pair of hosts, the same lines and counts; and what the
//! network, the interface and the user can do to it.
//!
//! The original is used where it is installed (`make/needs`); else that is said aloud.

mod errors;
mod forms;
mod interface;
mod privileges;
mod record;
mod scene;
mod signals;
