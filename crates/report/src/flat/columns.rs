//! The columns: their names with their units, and where in a record each is found.

use logbook::run::Place;
use measure::environment::Environment;
use measure::outcome::{Distribution, Outcome, Quantile, Standing};
use measure::throughput::Throughput;
use measure::unit::Nanos;

use super::{Entry, InRun, Value};
use crate::run::over;
use crate::text::limiter;

/// A column.
pub(super) struct Column {
    pub(super) name: &'static str,
    #[cfg_attr(not(feature = "parquet"), expect(dead_code, reason = "only Parquet has types"))]
    pub(super) kind: Kind,
    of: Of,
}

/// The type of its cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Whole,
    Real,
}

/// Source of its value.
enum Of {
    Entry(fn(&Entry<'_>) -> Option<Value>),
    Outcome(fn(&Outcome) -> Option<Value>),
    Stream(fn(&Throughput) -> Option<Value>),
    /// A quantile of the response times, where it may be printed.
    Quantile(f64, fn(&Quantile) -> Option<Nanos>),
    Ours(fn(&Environment) -> Option<Value>),
    Theirs(fn(&Environment) -> Option<Value>),
}

impl Column {
    /// The cell in the row of `entry`.
    pub(super) fn value(&self, entry: &Entry<'_>) -> Option<Value> {
        let record = entry.record;
        match self.of {
            Of::Entry(of) => of(entry),
            Of::Outcome(of) => of(record.outcome.as_ref()?),
            Of::Stream(of) => of(record.stream.as_ref()?),
            Of::Quantile(q, of) => {
                let response: &Distribution = &record.outcome.as_ref()?.response;
                let found = response.quantiles.iter().find(|quantile| quantile.q == q)?;
                (found.standing != Standing::TooFew).then(|| nanos(of(found)))?
            }
            Of::Ours(of) => of(record.ours.as_ref()?),
            Of::Theirs(of) => of(record.theirs.as_ref()?),
        }
    }
}

const fn column(name: &'static str, kind: Kind, of: Of) -> Column {
    Column { name, kind, of }
}

const fn counted(name: &'static str, of: fn(&Outcome) -> Option<Value>) -> Column {
    column(name, Kind::Whole, Of::Outcome(of))
}

const fn measured(name: &'static str, of: fn(&Outcome) -> Option<Value>) -> Column {
    column(name, Kind::Real, Of::Outcome(of))
}

const fn quantile(name: &'static str, q: f64, of: fn(&Quantile) -> Option<Nanos>) -> Column {
    column(name, Kind::Whole, Of::Quantile(q, of))
}

#[expect(
    clippy::unnecessary_wraps,
    clippy::needless_pass_by_value,
    reason = "a column's function gives a cell that may be absent"
)]
fn text(text: impl ToString) -> Option<Value> {
    Some(Value::Text(text.to_string()))
}

fn words(words: Option<&String>) -> Option<Value> {
    words.map(|words| Value::Text(words.clone()))
}

#[expect(clippy::unnecessary_wraps, reason = "a column's function gives a cell that may be absent")]
fn whole(number: u64) -> Option<Value> {
    Some(Value::Whole(i64::try_from(number).unwrap_or(i64::MAX)))
}

fn nanos(time: Option<Nanos>) -> Option<Value> {
    whole(time?.0)
}

fn real(number: Option<f64>) -> Option<Value> {
    number.filter(|number| number.is_finite()).map(Value::Real)
}

/// All columns, in their order. New ones are added at the end of their group; none changes its meaning.
pub(super) const COLUMNS: &[Column] = &[
    column("file", Kind::Text, Of::Entry(|entry| text(entry.file))),
    column("id", Kind::Text, Of::Entry(|entry| text(entry.record.head.id))),
    column("started", Kind::Text, Of::Entry(|entry| text(entry.record.head.started))),
    column("tool_version", Kind::Text, Of::Entry(|entry| text(&entry.record.head.tool.version))),
    column("command", Kind::Text, Of::Entry(|entry| text(entry.record.head.command.join(" ")))),
    column("host", Kind::Text, Of::Entry(|entry| words(entry.record.target.host.as_ref()))),
    column("address", Kind::Text, Of::Entry(|entry| text(entry.record.target.address))),
    column("port", Kind::Whole, Of::Entry(|entry| whole(entry.record.target.port?.into()))),
    column("peer_program", Kind::Text, Of::Entry(|entry| words(entry.record.peer.program.as_ref()))),
    column("method", Kind::Text, Of::Entry(|entry| text(&entry.record.method))),
    column("schedule", Kind::Text, Of::Entry(|entry| text(entry.record.method.schedule))),
    column("request_bytes", Kind::Whole, Of::Entry(|entry| whole(entry.record.method.traffic.request_bytes().0))),
    column("response_bytes", Kind::Whole, Of::Entry(|entry| whole(entry.record.method.traffic.response_bytes().0))),
    column("timeout_ns", Kind::Whole, Of::Entry(|entry| whole(entry.record.method.timeout_ns.0))),
    column("elapsed_ns", Kind::Whole, Of::Entry(|entry| nanos(entry.record.elapsed()))),
    column("warnings", Kind::Whole, Of::Entry(|entry| whole(entry.record.warnings.len() as u64))),
    column("search_id", Kind::Text, Of::Entry(|entry| text(entry.search?.0.head.id))),
    column("study_id", Kind::Text, Of::Entry(|entry| text(entry.study?.0.head.id))),
    column("study_setting", Kind::Text, Of::Entry(setting)),
    column("study_block", Kind::Whole, Of::Entry(|entry| whole(entry.study?.1.block.into()))),
    column("run_id", Kind::Text, Of::Entry(|entry| text(entry.place?.run.head.id))),
    column("run_from", Kind::Text, Of::Entry(|entry| text(&entry.place?.cell.place.from))),
    column("run_to", Kind::Text, Of::Entry(|entry| text(&entry.place?.cell.place.to))),
    column("run_over", Kind::Text, Of::Entry(|entry| text(over(entry.place?.cell.place.over)))),
    column("run_method", Kind::Text, Of::Entry(|entry| text(&entry.place?.cell.place.method))),
    column("run_repeat", Kind::Whole, Of::Entry(|entry| whole(entry.place?.cell.place.repeat.into()))),
    column("run_beside", Kind::Whole, Of::Entry(|entry| whole(entry.place?.cell.beside.into()))),
    column("run_from_labels", Kind::Text, Of::Entry(|entry| labels(entry, |place| &place.from))),
    column("run_to_labels", Kind::Text, Of::Entry(|entry| labels(entry, |place| &place.to))),
    column("run_failure", Kind::Text, Of::Entry(|entry| text(&entry.place?.cell.failure.as_ref()?.what))),
    column("search_missed", Kind::Text, Of::Entry(|entry| text(entry.search?.1.missed.join(", ")))),
    counted("scheduled", |outcome| whole(outcome.counts.scheduled)),
    counted("answered", |outcome| whole(outcome.counts.answered)),
    counted("late", |outcome| whole(outcome.counts.late)),
    counted("lost", |outcome| whole(outcome.counts.lost)),
    counted("refused", |outcome| whole(outcome.counts.refused)),
    counted("corrupt", |outcome| whole(outcome.counts.corrupt)),
    counted("send_failed", |outcome| whole(outcome.counts.send_failed)),
    counted("duplicated", |outcome| whole(outcome.counts.duplicated)),
    counted("reordered", |outcome| whole(outcome.counts.reordered)),
    counted("one_way", |outcome| whole(outcome.counts.one_way)),
    measured("loss_ratio", |outcome| real(outcome.loss.ratio)),
    measured("loss_low", |outcome| real(outcome.loss.low)),
    measured("loss_high", |outcome| real(outcome.loss.high)),
    measured("offered_per_s", |outcome| real(outcome.offered_per_s)),
    measured("sent_per_s", |outcome| real(outcome.sent_per_s)),
    measured("received_per_s", |outcome| real(outcome.received_per_s)),
    measured("answered_per_s", |outcome| real(outcome.answered_per_s)),
    counted("min_ns", |outcome| nanos(outcome.response.min_ns)),
    quantile("p50_ns", 0.5, |quantile| quantile.value_ns),
    quantile("p50_low_ns", 0.5, |quantile| quantile.low_ns),
    quantile("p50_high_ns", 0.5, |quantile| quantile.high_ns),
    quantile("p90_ns", 0.9, |quantile| quantile.value_ns),
    quantile("p90_low_ns", 0.9, |quantile| quantile.low_ns),
    quantile("p90_high_ns", 0.9, |quantile| quantile.high_ns),
    quantile("p99_ns", 0.99, |quantile| quantile.value_ns),
    quantile("p99_low_ns", 0.99, |quantile| quantile.low_ns),
    quantile("p99_high_ns", 0.99, |quantile| quantile.high_ns),
    quantile("p99_9_ns", 0.999, |quantile| quantile.value_ns),
    quantile("p99_9_low_ns", 0.999, |quantile| quantile.low_ns),
    quantile("p99_9_high_ns", 0.999, |quantile| quantile.high_ns),
    quantile("p99_99_ns", 0.9999, |quantile| quantile.value_ns),
    quantile("p99_99_low_ns", 0.9999, |quantile| quantile.low_ns),
    quantile("p99_99_high_ns", 0.9999, |quantile| quantile.high_ns),
    counted("max_ns", |outcome| nanos(outcome.response.max_ns)),
    measured("mean_ns", |outcome| real(outcome.response.mean_ns)),
    measured("mean_ci_ns", |outcome| real(outcome.response.mean_ci_ns)),
    measured("stddev_ns", |outcome| real(outcome.response.stddev_ns)),
    column("sent_bytes_per_s", Kind::Real, Of::Stream(|stream| real(stream.sent_bytes_per_s))),
    column("received_bytes_per_s", Kind::Real, Of::Stream(|stream| real(stream.received_bytes_per_s))),
    column(
        "back_received_bytes_per_s",
        Kind::Real,
        Of::Stream(|stream| real(stream.back.as_ref()?.received_bytes_per_s)),
    ),
    column("our_bytes", Kind::Whole, Of::Stream(|stream| whole(stream.ours.bytes.0))),
    column("their_bytes", Kind::Whole, Of::Stream(|stream| whole(stream.theirs?.carried.bytes.0))),
    column("retransmitted_segments", Kind::Whole, Of::Stream(retransmitted)),
    column("limited_by", Kind::Text, Of::Stream(|stream| text(limiter(stream.detail.as_ref()?.limit.limiter)))),
    column("our_host", Kind::Text, Of::Ours(|end| words(end.host.as_ref()))),
    column("our_kernel", Kind::Text, Of::Ours(|end| words(end.kernel.as_ref()))),
    column("our_cpu_model", Kind::Text, Of::Ours(|end| words(end.cpu_model.as_ref()))),
    column("our_cpus_online", Kind::Whole, Of::Ours(|end| whole(end.cpus_online?.into()))),
    column("our_governors", Kind::Text, Of::Ours(governors)),
    column("our_interface", Kind::Text, Of::Ours(|end| text(&end.interface.as_ref()?.name))),
    column("our_driver", Kind::Text, Of::Ours(|end| words(end.interface.as_ref()?.driver.as_ref()))),
    column("our_mtu_bytes", Kind::Whole, Of::Ours(|end| whole(end.interface.as_ref()?.mtu_bytes?.into()))),
    column("our_speed_mbps", Kind::Whole, Of::Ours(|end| whole(end.interface.as_ref()?.speed_mbps?.into()))),
    column("their_host", Kind::Text, Of::Theirs(|end| words(end.host.as_ref()))),
    column("their_kernel", Kind::Text, Of::Theirs(|end| words(end.kernel.as_ref()))),
    column("their_cpu_model", Kind::Text, Of::Theirs(|end| words(end.cpu_model.as_ref()))),
    column("their_cpus_online", Kind::Whole, Of::Theirs(|end| whole(end.cpus_online?.into()))),
    column("their_governors", Kind::Text, Of::Theirs(governors)),
    column("their_interface", Kind::Text, Of::Theirs(|end| text(&end.interface.as_ref()?.name))),
    column("their_driver", Kind::Text, Of::Theirs(|end| words(end.interface.as_ref()?.driver.as_ref()))),
    column("their_mtu_bytes", Kind::Whole, Of::Theirs(|end| whole(end.interface.as_ref()?.mtu_bytes?.into()))),
    column("their_speed_mbps", Kind::Whole, Of::Theirs(|end| whole(end.interface.as_ref()?.speed_mbps?.into()))),
];

/// The known facts of a host of the run, as one JSON object.
fn labels(entry: &Entry<'_>, of: fn(&Place) -> &String) -> Option<Value> {
    let InRun { run, cell } = entry.place?;
    let host = run.plan.hosts.iter().find(|host| host.name == *of(&cell.place))?;
    serde_json::to_string(&host.labels).ok().filter(|_| !host.labels.is_empty()).map(Value::Text)
}

fn setting(entry: &Entry<'_>) -> Option<Value> {
    let (study, trial) = entry.study?;
    text(&study.settings.get(trial.setting as usize)?.name)
}

fn governors(end: &Environment) -> Option<Value> {
    (!end.governors.is_empty()).then(|| Value::Text(end.governors.join(" ")))
}

/// The senders whose TCP reported.
fn retransmitted(stream: &Throughput) -> Option<Value> {
    let theirs = stream.detail.as_ref().map(|detail| detail.theirs.as_slice()).unwrap_or_default();
    let told = stream.streams.iter().chain(theirs).filter_map(|stream| stream.tcp?.retransmits);
    let sum = told.reduce(u64::saturating_add)?;
    whole(sum)
}
