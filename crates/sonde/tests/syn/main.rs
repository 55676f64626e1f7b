//! Probes of the bare wire between hosts in a row: what answers, who answers, and that the original sees the same.

mod answers;
mod bad;
mod hping3;
mod origin;
mod scene;
