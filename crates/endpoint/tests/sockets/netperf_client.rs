//! Our end of netperf's protocol with the real netserver: what both ends count is the same, exactly.

mod errors;
mod exchanges;
mod loss;
mod options;
mod server;
mod silent;
mod streams;
