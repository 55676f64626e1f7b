//! The table of `TCP_RR`, `UDP_RR`, `TCP_CRR` and `TCP_CC`.

use crate::persona::netperf::output::classic::{Extent, brand, demand, has_cpu, method, unit};
use crate::persona::netperf::test_name::Test;
use crate::persona::netperf::unit::Unit;
use crate::persona::netperf::view::View;

/// Two rows, and with `-v 2` more about TCP's tests.
pub fn text(view: &View<'_>) -> String {
    let connects = view.options.data.direction.per_connection;
    let table = match Extent::of(view) {
        Extent::Number => number(view, connects),
        Extent::Row => title(view, connects) + &rows(view, connects),
        Extent::Nothing => String::new(),
    };
    match view.options.test {
        _ if view.options.display.verbosity < 2 => table,
        Test::UdpRr => table,
        _ if connects => table + &places(view),
        _ => table + &both_ways(view),
    }
}

fn number(view: &View<'_>, connects: bool) -> String {
    let rate = view.figures.throughput;
    match (has_cpu(view), connects) {
        (false, true) => format!("{rate:>7.2}\n"),
        (false, false) => format!("{rate:>7.2} {}\n", brand(view)),
        (true, true) => format!("{:>6.3}\n", demand(view).0),
        (true, false) => format!("{:>6.3} {} {}\n", demand(view).0, demand(view).1, brand(view)),
    }
}

fn title(view: &View<'_>, connects: bool) -> String {
    if !view.options.display.headers {
        return String::new();
    }
    // Tests that connect have the titles of transactions whatever the unit is.
    let transactions = connects || view.options.display.unit == Unit::Transactions;
    let unit = unit(view);
    if has_cpu(view) {
        let (head, rate, demand) = if transactions { ("Trans.", "Rate", "us/Tr") } else { ("Tput", unit, "us/KB") };
        let letter = |method: char| if connects { ' ' } else { method };
        let (local, remote) = (letter(method(view.local().cpu)), letter(method(view.remote().cpu)));
        return format!(
            "Local /Remote\n\
             Socket Size   Request Resp.  Elapsed {head:<6}   CPU    CPU    S.dem   S.dem\n\
             Send   Recv   Size    Size   Time    {rate:<8.8} local  remote local   remote\n\
             bytes  bytes  bytes   bytes  secs.   per sec  % {local}    % {remote}    {demand}   {demand}\n\n"
        );
    }
    let (head, rate, per) = if transactions {
        ("Trans.", "Rate         ".to_owned(), "per sec   ".to_owned())
    } else {
        ("", "Throughput ".to_owned(), format!("{unit}/sec   "))
    };
    format!(
        "Local /Remote\n\
         Socket Size   Request  Resp.   Elapsed  {head}\n\
         Send   Recv   Size     Size    Time     {rate}\n\
         bytes  Bytes  bytes    bytes   secs.    {per}\n\n"
    )
}

fn rows(view: &View<'_>, connects: bool) -> String {
    let (local, remote, figures) = (view.local(), view.remote(), &view.figures);
    let size = |value: Option<u32>| value.map_or(-1, i64::from);
    let (request, response) = (size(view.options.data.request_bytes), size(view.options.data.response_bytes));
    let buffers = format!("{:<6} {:<6}", size(local.send_buffer_bytes), size(local.receive_buffer_bytes));
    let brand = if connects { "" } else { brand(view) };
    let ours = if has_cpu(view) {
        let percent = |value: Option<f64>| value.unwrap_or(-1.0);
        let gap = if view.options.test == Test::TcpRr { "  " } else { "   " };
        let row = format!(
            "{buffers} {request:<6}  {response:<6} {:<6.2}  {:<6.2}{gap}{:<6.2} {:<6.2} {:<6.3}  {:<6.3}",
            figures.elapsed_s,
            figures.throughput,
            percent(figures.cpu_percent.local),
            percent(figures.cpu_percent.remote),
            percent(figures.service_demand.local),
            percent(figures.service_demand.remote),
        );
        if connects { row + "\n" } else { format!("{row} {brand}\n") }
    } else {
        let (elapsed, rate) = (figures.elapsed_s, figures.throughput);
        format!("{buffers} {request:<6}   {response:<6}  {elapsed:<6.2}   {rate:>7.2}   {brand}\n")
    };
    ours + &format!("{:<6} {:<6}\n", size(remote.send_buffer_bytes), size(remote.receive_buffer_bytes))
}

/// Alignments and offsets.
fn places(view: &View<'_>) -> String {
    format!(
        "\nAlignment      Offset\n\
         Local  Remote  Local  Remote\n\
         Send   Recv    Send   Recv\n\
         {}\n",
        place_cells(view)
    )
}

fn place_cells(view: &View<'_>) -> String {
    let buffers = &view.options.buffers;
    format!(
        "{:>5}  {:>5}   {:>5}  {:>5}",
        buffers.send_alignment.local,
        buffers.receive_alignment.remote,
        buffers.send_offset.local,
        buffers.receive_offset.remote
    )
}

/// The same, with what one transaction takes and how much flows each way.
fn both_ways(view: &View<'_>) -> String {
    let rate = view.figures.transaction_rate;
    let data = &view.options.data;
    let round_trip = if rate > 0.0 { (1.0 + f64::from(data.first_burst)) * 1e6 / rate } else { -1.0 };
    let unit = view.options.display.unit;
    let way = |bytes: Option<u32>| unit.of_bytes(f64::from(bytes.unwrap_or(0)) * rate, 1.0);
    format!(
        "Alignment      Offset         RoundTrip  Trans    Throughput\n\
         Local  Remote  Local  Remote  Latency    Rate     {:<8.8}/s\n\
         Send   Recv    Send   Recv    usec/Tran  per sec  Outbound   Inbound\n\
         {}   {round_trip:<6.3}   {rate:<6.3} {:<6.3}    {:<6.3}\n",
        self::unit(view),
        place_cells(view),
        way(data.request_bytes),
        way(data.response_bytes)
    )
}
