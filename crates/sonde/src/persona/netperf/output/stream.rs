//! The table of `TCP_STREAM`, `TCP_MAERTS` and `TCP_SENDFILE`.

use crate::persona::netperf::facts::End;
use crate::persona::netperf::output::classic::{Extent, brand, demand, has_cpu, method, unit};
use crate::persona::netperf::unit::quotient;
use crate::persona::netperf::view::View;

/// Row, and with `-v 2` what was moved by how many calls.
pub fn text(view: &View<'_>) -> String {
    let table = match Extent::of(view) {
        Extent::Number if has_cpu(view) => {
            let (demand, method) = demand(view);
            format!("{demand:>6.3} {method} {}\n", brand(view))
        }
        Extent::Number => format!("{:>7.2} {}\n", view.figures.throughput, brand(view)),
        Extent::Row => title(view) + &row(view),
        Extent::Nothing => String::new(),
    };
    if view.options.display.verbosity > 1 { table + &calls(view) + &segment(view) } else { table }
}

fn title(view: &View<'_>) -> String {
    if !view.options.display.headers {
        return String::new();
    }
    let unit = unit(view);
    if !has_cpu(view) {
        return format!(
            "Recv   Send    Send                          \n\
             Socket Socket  Message  Elapsed              \n\
             Size   Size    Size     Time     Throughput  \n\
             bytes  bytes   bytes    secs.    {unit}/sec  \n\n"
        );
    }
    let [ours, theirs] = if view.options.data.direction.is_receive() { ["Recv", "Send"] } else { ["Send", "Recv"] };
    let (local, remote) = (method(view.local().cpu), method(view.remote().cpu));
    format!(
        "Recv   Send    Send                          Utilization       Service Demand\n\
         Socket Socket  Message  Elapsed              {ours}     {theirs}     {ours}    {theirs}\n\
         Size   Size    Size     Time     Throughput  local    remote   local   remote\n\
         bytes  bytes   bytes    secs.    {unit:<8.8}/s  % {local}      % {remote}      us/KB   us/KB\n\n"
    )
}

fn row(view: &View<'_>) -> String {
    let (sender, receiver) = ends(view);
    let (figures, brand) = (&view.figures, brand(view));
    let sizes = format!(
        "{:>6} {:>6} {:>6}    {:<6.2}",
        bytes(receiver.receive_buffer_bytes),
        bytes(sender.send_buffer_bytes),
        bytes(sender.send_bytes),
        figures.elapsed_s
    );
    if !has_cpu(view) {
        return format!("{sizes}   {:>7.2}   {brand}\n", figures.throughput);
    }
    let percent = |value: Option<f64>| value.unwrap_or(-1.0);
    format!(
        "{sizes}     {:>7.2}   {:<6.2}   {:<6.2}   {:<6.3}  {:<6.3} {brand}\n",
        figures.throughput,
        percent(figures.cpu_percent.local),
        percent(figures.cpu_percent.remote),
        percent(figures.service_demand.local),
        percent(figures.service_demand.remote),
    )
}

/// End that sends and end that receives.
fn ends<'a>(view: &View<'a>) -> (&'a End, &'a End) {
    if view.options.data.direction.is_receive() { (view.remote(), view.local()) } else { (view.local(), view.remote()) }
}

fn bytes(value: Option<u32>) -> i64 {
    value.map_or(-1, i64::from)
}

fn calls(view: &View<'_>) -> String {
    let buffers = &view.options.buffers;
    let (send, receive) = ([("Sends", "Send"), ("Recvs", "Recv")], [("Recvs", "Recv"), ("Sends", "Send")]);
    let receives = view.options.data.direction.is_receive();
    let [(ours, our), (theirs, their)] = if receives { receive } else { send };
    let (places, moved) = if receives {
        let alignment = (buffers.receive_alignment.local, buffers.send_alignment.remote);
        let offset = (buffers.receive_offset.local, buffers.send_offset.remote);
        ((alignment, offset), (received(view.local()), sent(view.remote())))
    } else {
        let alignment = (buffers.send_alignment.local, buffers.receive_alignment.remote);
        let offset = (buffers.send_offset.local, buffers.receive_offset.remote);
        ((alignment, offset), (sent(view.local()), received(view.remote())))
    };
    let ((alignment, offset), ((bytes, calls, each), (_, their_calls, their_each))) = (places, moved);
    format!(
        "\nAlignment      Offset         Bytes    Bytes       {ours}   Bytes    {theirs}\n\
         Local  Remote  Local  Remote  Xfered   Per                 Per\n\
         {our}   {their}    {our}   {their}             {our} (avg)          {their} (avg)\n\
         {:>5}   {:>5}  {:>5}   {:>5} {bytes:>6}  {each:>6.2}    {calls:>6}   {their_each:>6.2} {their_calls:>6}\n",
        alignment.0, alignment.1, offset.0, offset.1
    )
}

/// Bytes, calls, bytes of a call.
fn sent(end: &End) -> (u64, u64, f64) {
    (end.sent_bytes, end.send_calls, quotient(end.sent_bytes as f64, end.send_calls as f64))
}

fn received(end: &End) -> (u64, u64, f64) {
    (end.received_bytes, end.receive_calls, quotient(end.received_bytes as f64, end.receive_calls as f64))
}

fn segment(view: &View<'_>) -> String {
    format!("\nMaximum\nSegment\nSize (bytes)\n{:>6}\n", bytes(view.last.mss_bytes))
}
