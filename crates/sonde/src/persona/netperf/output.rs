//! Output of a run, byte for byte in the form of netperf 2.7.1 built with histogram, spin and demo.
//!
//! Pure functions of what was asked for and what was found. In the order of a run: [`banner::line`], [`interim::line`]
//! as often as asked for, [`result`] once. Where the original's figures are wrong the form stays and the figure is
//! right: docs/netperf.md lists each.

pub mod banner;
pub mod bare;
pub mod classic;
pub mod failure;
pub mod histogram;
pub mod interim;
pub mod selected;
pub mod stream;
pub mod transactions;
pub mod udp_stream;

use crate::persona::netperf::facts::Facts;
use crate::persona::netperf::options::Options;
use crate::persona::netperf::options::form::Form;
use crate::persona::netperf::view::View;

/// All that is printed when the test is over; empty where no iteration was completed.
pub fn result(options: &Options, facts: &Facts) -> String {
    let Some(view) = View::of(options, facts) else { return String::new() };
    let histogram = histogram::text(&view);
    match &options.display.form {
        Form::Classic if options.test != crate::persona::netperf::test_name::Test::Omni => {
            classic::text(&view) + &histogram
        }
        // Omni without a selection prints columns.
        _ => selected::text(&view) + &histogram,
    }
}

#[cfg(test)]
mod tests;
