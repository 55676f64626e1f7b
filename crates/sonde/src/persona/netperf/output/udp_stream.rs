//! The table of `UDP_STREAM`: what was sent, and what the server received of it.

use crate::persona::netperf::output::classic::{Extent, demand, has_cpu, method, unit};
use crate::persona::netperf::view::View;

/// Two rows and an empty line.
pub fn text(view: &View<'_>) -> String {
    match Extent::of(view) {
        Extent::Number if has_cpu(view) => {
            let (demand, method) = demand(view);
            format!("{demand:>6.2} {method}\n")
        }
        Extent::Number => format!("{:>7.2}\n", view.figures.throughput),
        Extent::Row => title(view) + &rows(view),
        Extent::Nothing => String::new(),
    }
}

fn title(view: &View<'_>) -> String {
    if !view.options.display.headers {
        return String::new();
    }
    let unit = unit(view);
    if !has_cpu(view) {
        return format!(
            "Socket  Message  Elapsed      Messages                \n\
             Size    Size     Time         Okay Errors   Throughput\n\
             bytes   bytes    secs            #      #   {unit}/sec\n\n"
        );
    }
    let (local, remote) = (method(view.local().cpu), method(view.remote().cpu));
    format!(
        "Socket  Message  Elapsed      Messages                   CPU      Service\n\
         Size    Size     Time         Okay Errors   Throughput   Util     Demand\n\
         bytes   bytes    secs            #      #   {unit}/sec % {local}{remote}     us/KB\n\n"
    )
}

fn rows(view: &View<'_>) -> String {
    let (local, remote, figures) = (view.local(), view.remote(), &view.figures);
    let size = |value: Option<u32>| value.map_or(-1, i64::from);
    let sent = view.options.display.unit.of_bytes(local.sent_bytes as f64, figures.last_elapsed_s);
    let ours = format!(
        "{:>6}  {:>6}   {:<7.2}   {:>7} {:>6}    {}\n",
        size(local.send_buffer_bytes),
        size(local.send_bytes),
        figures.elapsed_s,
        local.send_calls,
        local.failed_sends,
        rate(view, sent, figures.cpu_percent.local, figures.service_demand.local),
    );
    let theirs = format!(
        "{:>6}           {:<7.2}   {:>7}           {}\n",
        size(remote.receive_buffer_bytes),
        figures.elapsed_s,
        remote.receive_calls,
        rate(view, figures.throughput, figures.cpu_percent.remote, figures.service_demand.remote),
    );
    ours + &theirs + "\n"
}

fn rate(view: &View<'_>, rate: f64, percent: Option<f64>, demand: Option<f64>) -> String {
    if has_cpu(view) {
        format!("{rate:>7.1}     {:<6.2}   {:<6.3}", percent.unwrap_or(-1.0), demand.unwrap_or(-1.0))
    } else {
        format!("{rate:>7.2}")
    }
}
