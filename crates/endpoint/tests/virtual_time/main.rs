//! The engines in virtual time, over a path whose every fault is known beforehand.

mod virtual_gap;
mod virtual_load;
mod virtual_path;
mod virtual_pipe;
mod virtual_turns;
mod virtual_volley;
