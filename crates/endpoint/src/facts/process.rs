//! Facts of this process as a whole.

use std::fs;

use measure::unit::Bytes;

/// Facts in `/proc/self/status` (proc(5)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessFacts {
    /// Its threads.
    pub threads: u64,
    /// Its resident memory.
    pub resident: Bytes,
}

impl ProcessFacts {
    /// Those of the present moment; `None` where `/proc` is not mounted.
    pub fn own() -> Option<Self> {
        Self::parse(&fs::read_to_string("/proc/self/status").ok()?)
    }

    /// From the text of a `status` file; `None` where it is no such text.
    pub fn parse(text: &str) -> Option<Self> {
        let number = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_ascii_whitespace().next()?.parse::<u64>().ok()
        };
        Some(Self { threads: number("Threads:")?, resident: Bytes(number("VmRSS:")?.checked_mul(1_024)?) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_told_of_by_its_status_and_no_other_text() {
        let status = "Name:\tsonde\nVmRSS:\t   23340 kB\nThreads:\t7\n";
        let facts = ProcessFacts { threads: 7, resident: Bytes(23_340 * 1_024) };
        assert_eq!(ProcessFacts::parse(status), Some(facts));
        assert_eq!(ProcessFacts::parse("Name:\tsonde\nThreads:\t7\n"), None);
        assert!(ProcessFacts::own().is_some_and(|own| own.threads >= 1 && own.resident.0 > 0));
    }
}
