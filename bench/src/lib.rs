//! The bench: sonde beside plain C loops and other tools, in pairs, and what that shows.
//!
//! A row ([`row`]) is data; [`subject`] runs it, [`trial`] in pairs, [`verdict`] says what was shown, [`table`] tells it.
//! Nothing here measures by itself: every figure comes from a program's own output or from callgrind.

pub mod asked;
pub mod c_loop;
pub mod callgrind;
pub mod generator;
pub mod hping3;
pub mod iperf3;
pub mod ladder;
pub mod machine;
pub mod netperf;
pub mod ping;
pub mod process;
pub mod results;
pub mod row;
pub mod sockperf;
pub mod sonde;
pub mod subject;
pub mod table;
pub mod trial;
pub mod verdict;
