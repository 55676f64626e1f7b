//! Words for refusals and failures, with what to try: each matter in one file.
//!
//! The libraries hand over what is the case, as values; options and commands of ours are named here, and in
//! `report::words` of what stands in a record.

mod capture;
mod hint;
mod iperf3;
mod key;
mod netperf;
mod refusal;
mod sandbox;
mod session;
mod trace;

pub use capture::capture;
pub use hint::hint;
pub use key::unused_key;
pub use refusal::refusal;
pub use sandbox::sandbox;
pub use trace::trace;
