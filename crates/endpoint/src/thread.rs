//! Measuring and reflecting threads: plain, named, punctual, pinned where asked.

use measure::unit::Nanos;
use rustix::thread::{CpuSet, sched_setaffinity};

use crate::error::{EndpointError, Step};
use crate::pace;

/// The CPU that thread number `index` of a list of CPUs is pinned to; `None` where the list is empty.
pub fn cpu_for(cpus: &[u32], index: u32) -> Option<u32> {
    let count = u32::try_from(cpus.len()).ok().filter(|count| *count > 0)?;
    cpus.get((index % count) as usize).copied()
}

/// Pins the calling thread to `cpu`, where one is given, and makes its sleeps end on time.
pub fn settle(cpu: Option<u32>, peer: &str) -> Result<(), EndpointError> {
    pace::be_punctual();
    let Some(cpu) = cpu else { return Ok(()) };
    pin(cpu).map_err(|cause| EndpointError::new(Step::Pin(cpu), peer, cause))
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
    /// What the calling thread has used since it began.
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
}
