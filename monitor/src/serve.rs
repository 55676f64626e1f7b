//! HTTP server of a monitor: the page and its data, and `/metrics`. Read-only.

pub mod board;
pub mod http;
pub mod metrics;
pub mod past;
mod places;
