//! netperf and netserver: their command lines and what they print.
//!
//! Words become [`options`], a run fills [`facts`], and [`output`] makes the text of both: pure functions all, tested
//! against output of the original. What runs a test is [`run`].

pub mod confidence;
pub mod facts;
pub mod figures;
pub mod options;
pub mod output;
pub mod run;
pub mod selection;
pub mod selector;
pub mod test_name;
#[cfg(test)]
mod transcript;
pub mod unit;
pub mod view;
