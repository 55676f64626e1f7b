//! Measuring and reflecting threads: plain, named, punctual, pinned where asked.

use measure::unit::Nanos;
use rustix::io::Errno;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::error::{EndpointError, Step};
use crate::pace;

/// The CPU that thread number `index` of a list of CPUs is pinned to; `None` where the list is empty.
pub fn cpu_for(cpus: &[u32], index: u32) -> Option<u32> {
    let count = u32::try_from(cpus.len()).ok().filter(|count| *count > 0)?;
    cpus.get((index % count) as usize).copied()
}

/// Checks that our threads may run on each of `cpus`: better before anything is served than by the first that may not.
pub fn check_allowed(cpus: &[u32]) -> Result<(), EndpointError> {
    let Ok(allowed) = sched_getaffinity(None) else { return Ok(()) };
    let may_run = |cpu: u32| CpuSet::MAX_CPU > cpu as usize && allowed.is_set(cpu as usize);
    match cpus.iter().find(|cpu| !may_run(**cpu)) {
        Some(cpu) => Err(EndpointError::new(Step::Pin(*cpu), "this host", Errno::INVAL)),
        None => Ok(()),
    }
}

/// Makes the calling thread's sleeps end on time, and pins it to `cpu`, where one is given, until the result goes.
pub fn settle(cpu: Option<u32>, peer: &str) -> Result<Option<Pinned>, EndpointError> {
    pace::be_punctual();
    let Some(cpu) = cpu else { return Ok(None) };
    Pinned::to(cpu).map(Some).map_err(|cause| EndpointError::new(Step::Pin(cpu), peer, cause))
}

/// Has all threads of the process take their memory from a few common stores. The C library gives each its own otherwise, up to
/// eight for each CPU, and what the threads of a crowd of clients left in them is never used again. Where the C library is
/// another there is nothing to do.
pub fn share_memory() {
    #[cfg(target_env = "gnu")]
    // SAFETY: mallopt takes two numbers and may be called at any time; it fails for none of these.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, STORES);
    }
}

/// Number of memory arenas: a thread that measures allocates nothing between a stamp and a socket, so no thread waits
/// for another there.
#[cfg(target_env = "gnu")]
const STORES: libc::c_int = 2;

/// The thread that made it is pinned while it lives, and then has the CPUs again that it had before.
#[derive(Debug)]
pub struct Pinned {
    before: CpuSet,
}

impl Pinned {
    /// Pins the calling thread to `cpu`.
    pub fn to(cpu: u32) -> std::io::Result<Self> {
        let before = sched_getaffinity(None)?;
        pin(cpu)?;
        Ok(Self { before })
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // Refused only where none of them is allowed any more, and then the kernel has moved the thread itself.
        let _restored = sched_setaffinity(None, &self.before);
    }
}

/// Pins the calling thread to `cpu`.
pub fn pin(cpu: u32) -> std::io::Result<()> {
    if cpu as usize >= CpuSet::MAX_CPU {
        return Err(std::io::Error::new(std::io::ErrorKind::InvalidInput, "there is no such CPU"));
    }
    let mut set = CpuSet::new();
    set.set(cpu as usize);
    Ok(sched_setaffinity(None, &set)?)
}

/// CPU time, split as the kernel counts it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTime {
    /// In user space.
    pub user_ns: Nanos,
    /// In the kernel.
    pub system_ns: Nanos,
}

impl CpuTime {
    /// Reads the CPU time of the calling thread since it began; a span is the difference of two readings.
    pub fn own() -> Self {
        // SAFETY: all-zero is a valid rusage; getrusage writes one to a valid pointer and knows RUSAGE_THREAD since
        // Linux 2.6.26, so it cannot fail.
        let usage = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage);
            usage
        };
        let nanos = |time: libc::timeval| Nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000);
        Self { user_ns: nanos(usage.ru_utime), system_ns: nanos(usage.ru_stime) }
    }

    /// Returns the CPU time since `before`, a reading of the same thread.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        Self {
            user_ns: Nanos(self.user_ns.0.saturating_sub(before.user_ns.0)),
            system_ns: Nanos(self.system_ns.0.saturating_sub(before.system_ns.0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_take_the_cpus_in_turn() {
        assert_eq!([0, 1, 2].map(|index| cpu_for(&[4, 6], index)), [Some(4), Some(6), Some(4)]);
        assert_eq!(cpu_for(&[], 0), None);
    }

    #[test]
    fn a_cpu_that_is_not_there_is_refused() {
        assert!(pin(1_000_000).is_err());
        assert!(pin(1_000).is_err());
    }

    #[test]
    fn a_thread_has_its_cpus_again_when_the_pin_goes() {
        let cpus = |set: &CpuSet| (0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).collect::<Vec<_>>();
        let own = || cpus(&sched_getaffinity(None).expect("readable"));
        let before = own();
        let last = *before.last().expect("a CPU to run on");
        let pinned = settle(Some(last as u32), "test").expect("a CPU of ours");
        assert_eq!(own(), [last]);
        drop(pinned);
        assert_eq!(own(), before);
        assert!(settle(None, "test").expect("nothing to do").is_none());
        assert_eq!(own(), before);
    }

    #[test]
    fn cpu_time_is_of_a_span() {
        let first = CpuTime { user_ns: Nanos(5), system_ns: Nanos(7) };
        let then = CpuTime { user_ns: Nanos(15), system_ns: Nanos(7) };
        assert_eq!(then.since(first), CpuTime { user_ns: Nanos(10), system_ns: Nanos(0) });
    }
}
