//! Runs over sockets: one of the client, one of the server.
//!
//! [`telling`] makes of what happens in a test what is printed of it, in whichever form; [`printer`] puts it out. Neither
//! end knows of the other.

pub mod client;
pub mod facts;
pub mod groups;
pub mod pidfile;
pub mod printer;
pub mod server;
pub mod telling;
