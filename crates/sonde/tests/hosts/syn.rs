//! Probes of the bare wire between hosts in a row: what answers, who answers, and that the original sees the same.

mod agreement;
mod answers;
mod bad;
mod forged;
mod hping3;
mod look;
mod origin;
mod scene;
