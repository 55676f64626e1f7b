//! The common part of comparisons, sweeps and causes: measuring commands as words whose axes can be moved, and trials of them
//! made in random order, each by a process of its own.

pub mod argv;
pub mod axis;
pub mod campaign;
pub mod keep;
pub mod make;
pub mod options;
pub mod point;
pub mod trials;
pub mod words;
