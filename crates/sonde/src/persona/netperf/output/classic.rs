//! The table of each test, and what stands before it where confidence was not reached.

use crate::persona::netperf::confidence;
use crate::persona::netperf::facts::Cpu;
use crate::persona::netperf::output::{bare, stream, transactions, udp_stream};
use crate::persona::netperf::test_name::Test;
use crate::persona::netperf::unit::Unit;
use crate::persona::netperf::view::View;

/// Everything but the histogram.
pub fn text(view: &View<'_>) -> String {
    let table = match view.options.test {
        Test::TcpStream | Test::TcpMaerts | Test::TcpSendfile => stream::text(view),
        Test::UdpStream => udp_stream::text(view),
        Test::TcpMss => bare::mss(view.options, view.last.mss_bytes.unwrap_or(0)),
        Test::Uuid => bare::uuid(&view.facts.uuid),
        _ => transactions::text(view),
    };
    missed_confidence(view) + &table
}

/// Part of the table that a verbosity leaves: nothing above 2, the number at 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// `-v 0`.
    Number,
    /// `-v 1` and `-v 2`.
    Row,
    /// Above.
    Nothing,
}

impl Extent {
    /// That of a run.
    pub fn of(view: &View<'_>) -> Self {
        match view.options.display.verbosity {
            0 => Self::Number,
            1 | 2 => Self::Row,
            _ => Self::Nothing,
        }
    }
}

/// Returns true where CPU use was asked for at either end: the table has other columns then.
pub fn has_cpu(view: &View<'_>) -> bool {
    view.options.cpu.local.is_some() || view.options.cpu.remote.is_some()
}

/// The brand behind a row: it stands there whether titles do or not.
pub fn brand<'a>(view: &View<'a>) -> &'a str {
    // The original prints it where it prints no titles.
    if view.options.display.headers { "" } else { view.options.display.brand.as_deref().unwrap_or_default() }
}

/// Method by which CPU use was measured; `U` where it was not.
pub fn method(cpu: Option<Cpu>) -> char {
    cpu.map_or('U', |cpu| cpu.method)
}

/// Service demand and method of the end that was asked about, ours first: what `-v 0` prints in place of the result.
pub fn demand(view: &View<'_>) -> (f64, char) {
    let (demand, measured) = (&view.figures.service_demand, &view.options.cpu);
    let (demand, end) =
        if measured.local.is_some() { (demand.local, view.local()) } else { (demand.remote, view.remote()) };
    (demand.unwrap_or(-1.0), method(end.cpu))
}

/// The unit's text in a title; bytes are told in 10⁶ bits where the unit is transactions.
pub fn unit(view: &View<'_>) -> &'static str {
    match view.options.display.unit {
        Unit::Transactions => Unit::Mbits.text(),
        unit => unit.text(),
    }
}

fn missed_confidence(view: &View<'_>) -> String {
    let (Some(asked), Some(widths)) = (view.options.confidence, view.figures.width_percent) else {
        return String::new();
    };
    if confidence::is_reached(&asked, &view.figures) {
        return String::new();
    }
    format!(
        "!!! WARNING\n\
         !!! Desired confidence was not achieved within the specified iterations.\n\
         !!! This implies that there was variability in the test environment that\n\
         !!! must be investigated before going further.\n\
         !!! Confidence intervals: Throughput      : {:.3}%\n\
         !!!                       Local CPU util  : {:.3}%\n\
         !!!                       Remote CPU util : {:.3}%\n\n",
        widths.throughput, widths.local_cpu, widths.remote_cpu
    )
}
