//! ICMP echo, which every kernel answers: no program of ours is needed on the far side.
//!
//! [`echo`] builds requests and knows the replies to them; [`error`] names the messages that a hop or the peer sends
//! instead. Sockets, and the fallback from ping socket to raw socket, are `endpoint`'s.

pub mod echo;
pub mod error;
