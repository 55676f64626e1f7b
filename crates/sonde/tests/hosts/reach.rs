//! `sonde check` through a host that forwards, and does to packets what boxes on the way do: each is planted, and has to be
//! told by its name. Twice here, twenty times with `SONDE_PLANTED=20`.

mod filters;
mod forged_sources;
mod hosts;
mod mtu;
mod scene;
mod servers;
