//! `sonde lab cloud` and `sonde lab kubernetes` against stand-ins for the vendors' programs, and against the real ones as far as
//! they can be had here.

mod api_server;
mod by_tags;
mod faults;
mod founders;
mod killed;
mod kubernetes;
mod life;
mod machines;
mod moto;
mod real;
mod scene;
mod world;
