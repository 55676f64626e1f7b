//! The centre of a monitor: it tells agents what to measure, takes what they tell, keeps it and shows it.

pub mod picture;
pub mod switchboard;
