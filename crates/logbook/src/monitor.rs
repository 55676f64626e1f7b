//! Measuring without end: what a monitor asks of the agents that stay on hosts, and what they tell ([`talk`]), and what it is asked for itself ([`plan`]).

pub mod discovery;
pub mod plan;
pub mod silence;
pub mod talk;
