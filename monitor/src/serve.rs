//! What a monitor serves over HTTP: the page and its data, and `/metrics`. Read-only.

pub mod metrics;
