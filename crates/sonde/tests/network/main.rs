//! Measurements between two hosts whose truth is known: namespaces, a reflector of its own process in one, the program in
//! the other, and something beside them that knows what really happened.
//!
//! Not here: what the command line says and refuses (`cli`), and engines under injected faults (`endpoint`).

mod blocked;
mod capture;
mod carriers;
mod compare;
mod crowd;
mod faults;
mod foreign;
mod forward;
mod hold;
mod hops;
mod limits;
mod look;
mod losses;
mod members;
mod paths;
mod pcap;
mod programs;
mod referee;
mod replay;
mod room;
mod scene;
mod search;
mod stall;
mod stamp;
mod staying;
mod strangers;
mod unprivileged;
mod verify;
mod why;
mod worlds;
