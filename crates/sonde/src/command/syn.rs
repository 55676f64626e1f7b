//! `sonde syn`: does anyone answer at this port, what do they answer, and is it the host?

pub mod compare;
pub mod options;
pub mod plan;

use std::sync::{Arc, Mutex};

use endpoint::clock::wall_offset;
use endpoint::resolution::clock_cost;
use endpoint::rtt::{self as measuring, Finding};
use endpoint::stop::Stop;
use endpoint::syn::{self, Ears, Measured, Probing};
use logbook::event::Line;
use measure::answer::Class;
use measure::probes::Counter;
use measure::verdict::Warning;

use crate::command::deliver;
use crate::command::rtt::conclude::{self, Inquiry};
use crate::command::rtt::progress::Tally;
use crate::command::rtt::samples;
use crate::command::rtt::watch::Watch;
use crate::command::rtt::{self};
use crate::command::syn::options::SynOptions;
use crate::command::syn::plan::Plan;
use crate::command::verify::Verify;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;
use crate::program::PROGRAM;
use crate::signal::Interruption;
use crate::system::now;

/// Probes, and delivers what was found.
///
/// # Errors
/// A plan that makes no sense, a missing capability, a file that cannot be made, a host that cannot be reached at all.
pub fn run(options: SynOptions, command: Vec<String>, output: &Arc<Output>) -> Result<Exit, Failure> {
    let plan = Plan::of(options)?;
    let method = rtt::method(&plan.inner)?;
    plan.check_rate(&method)?;
    let (stop, tally) = (Stop::default(), Arc::new(Mutex::new(Tally::new(&method))));
    let interruption = rtt::heed_signals(&tally, &stop, output)?;
    let task = rtt::task(&plan.inner, method, &stop, &interruption)?;
    let Some(target) = task.target.clone() else { return Err(Failure::usage("no host to probe")) };
    plan::check_target(target.address.ip())?;
    let inquiry = Inquiry::new(&plan.inner, &task, command, now(), conclude::instrument(&clock_cost()));
    deliver::check(&plan.inner.result)?;
    let pcap = plan.inner.verify.as_ref().map(Verify::open).transpose()?.flatten();
    let mut watch = Watch::open(&plan.inner, &inquiry.method, tally, output)?;
    watch.start(inquiry.start(), &stop);
    let probing = Probing {
        program: PROGRAM.to_owned(),
        samples: task.samples,
        verify: task.verify,
        ..Probing::syn(inquiry.method.clone(), target.address)
    };
    let (mut counter, offset_before) = (Counter::default(), wall_offset());
    let ears =
        Ears { on_event: &mut |event| watch.take(&event, &stop), on_answer: &mut |answer| counter.take(&answer) };
    let found = syn::measure(&probing, &stop, ears);
    output.progress_done();
    let mut measured = found.map_err(|error| rtt::failure(error, &plan.inner, &interruption))?;
    let saved = pcap.map_or(Ok(()), |pcap| pcap.save(measured.wire.as_mut()));
    let run = Run { plan: &plan, inquiry: &inquiry, probing: &probing, offset_before, interruption: &interruption };
    let exit = run.conclude(measured, counter, watch, &stop, output);
    saved.and(exit)
}

/// A run that has been made.
struct Run<'a> {
    plan: &'a Plan,
    inquiry: &'a Inquiry,
    probing: &'a Probing,
    offset_before: i128,
    interruption: &'a Interruption,
}

impl Run<'_> {
    fn conclude(
        &self,
        measured: Measured,
        counter: Counter,
        watch: Watch<'_>,
        stop: &Stop,
        output: &Output,
    ) -> Result<Exit, Failure> {
        let Measured { gathered, environment, unseen, wire, .. } = measured;
        let found = measuring::found(gathered, environment, self.probing.peer, self.offset_before);
        let finding = Finding { wire, ..found };
        let resets = counter.of(Class::RstAck) + counter.of(Class::Rst);
        let compares = self.plan.compare_port.is_some() && counter.of(Class::SynAck) > 0;
        let origin = (resets > 0 || compares).then(|| compare::origin(self.probing, self.plan.compare_port, stop));
        let signal = self.interruption.signal();
        let (mut stream, samples) = watch.end();
        let unsaved = samples::fault(self.plan.inner.samples.as_ref(), &samples);
        let record = self.inquiry.record(finding, signal, samples);
        let record = conclude::with_probes(record, counter.finish(unseen, origin));
        stream.write(&Line::End(Box::new(record.clone())));
        let delivered = deliver::record(&record, &self.plan.inner.result, output);
        stream.faults().into_iter().chain(unsaved).next().map_or(delivered, Err)?;
        // Where most of what came are resets, a warning has said so.
        let told = record.warnings.iter().any(|warning| matches!(warning, Warning::ResetsTimed { .. }));
        if self.plan.compare_port.is_none() && resets > 0 && !told && !stop.requested() {
            output.note(
                "try:   --compare-port PORT, a port where the host accepts connections, to identify the sender\n",
            );
        }
        Ok(conclude::exit(&record, self.plan.inner.strict, signal))
    }
}
