//! Our own session: a control connection that agrees on a method, and data that carries a token.

pub mod header;
