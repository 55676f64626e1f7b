//! Measurements between two hosts whose truth is known: namespaces, a reflector of its own process in one, the program in
//! the other, and something beside them that knows what really happened.
//!
//! Not here: what the command line says and refuses (`cli`), and engines under injected faults (`endpoint`).

mod alone;
mod blocked;
mod capture;
mod carriers;
mod compare;
mod crowd;
mod faults;
mod foreign;
mod forward;
mod hops;
mod look;
mod losses;
mod members;
mod pages;
mod paths;
mod pcap;
mod plant;
mod programs;
mod referee;
mod replay;
mod room;
mod scene;
mod search;
mod stamp;
mod staying;
mod unprivileged;
mod verify;
mod worlds;
