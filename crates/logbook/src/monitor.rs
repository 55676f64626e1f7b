//! Measuring without end: what a monitor asks of the agents that stay on hosts, and what they tell ([`talk`]).

pub mod talk;
