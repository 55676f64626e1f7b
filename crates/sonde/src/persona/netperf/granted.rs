//! Wishes that this host does not grant, and one that its environment has.
//!
//! The original asks the system, does not look at the answer, and measures. A driver that passes such a word on gets its
//! number here too, with a note on standard error; every selector tells what the test really had.

use endpoint::socket::check_congestion;
use endpoint::thread::check_allowed;

use crate::persona::netperf::command_line::own;
use crate::persona::netperf::options::Options;

/// Columns of the histogram, where no option says them.
const BUCKETS: &str = "SONDE_NETPERF_BUCKETS";

/// Takes out of the options what cannot be had, and leaves a note of each.
pub fn settle(options: &mut Options) {
    if let Some(cpu) = options.bind_cpu.local.take_if(|cpu| check_allowed(&[*cpu]).is_err()) {
        options.notes.push(format!("-T {cpu}: not a CPU that this process may use (`taskset -cp $$`): not bound"));
    }
    let congestion = &mut options.data.congestion.local;
    if let Some((name, why)) = congestion.as_ref().and_then(|name| Some((name.clone(), check_congestion(name).err()?)))
    {
        *congestion = None;
        options.notes.push(format!("-- -K {name}: {}: the kernel's own choice stays", why.cause));
    }
    if let Some(text) = variable(BUCKETS).filter(|_| options.own.buckets.is_none()) {
        options.own.buckets = own::buckets(&text);
        if options.own.buckets.is_none() {
            options.notes.push(format!("{BUCKETS}={text}: {}: passed over", own::BUCKETS_WANTED));
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "sonde is the crate that reads the environment")]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|text| !text.is_empty())
}
