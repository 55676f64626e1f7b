//! The course of a run over a bench that knows beforehand what it finds.

use super::*;
use crate::persona::netperf::command_line;

/// A bench whose iterations have these rates, each with one interval.
#[derive(Default)]
struct Scripted {
    rates: Vec<u64>,
    done: usize,
}

impl Bench for Scripted {
    fn open(&mut self, _: &Options) -> Result<Path, Answer> {
        Ok(Path::default())
    }

    fn iterate(&mut self, _: &Options, tell: &mut dyn FnMut(Interval)) -> Result<Iteration, Answer> {
        let rate = self.rates.get(self.done).copied().ok_or_else(|| failure::other("no more rates"))?;
        let index = self.done as u64;
        self.done += 1;
        tell(Interval { index, transactions: rate, duration_ns: 1_000_000_000, ..Interval::default() });
        Ok(Iteration { elapsed_ns: 1_000_000_000, transactions: rate, ..Iteration::default() })
    }

    fn latency(&mut self) -> Option<Latency> {
        None
    }

    fn cpu_rate(&mut self, of_server: bool) -> Result<(f64, u32), Answer> {
        Ok((100.0, if of_server { 2 } else { 4 }))
    }
}

fn run(line: &str, rates: &[u64]) -> (Result<Exit, Answer>, String, usize) {
    let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
    let options = command_line::parse("netperf", &words).unwrap();
    let (mut bench, mut printed) = (Scripted { rates: rates.to_vec(), done: 0 }, String::new());
    let end = conduct(&options, &mut bench, &mut |text| printed.push_str(text));
    (end, printed, bench.done)
}

#[test]
fn a_run_prints_banner_intervals_and_result() {
    let (end, printed, done) = run("-t TCP_RR -D 1 -- -k THROUGHPUT", &[1_000, 2_000]);
    let lines: Vec<&str> = printed.lines().collect();
    assert!(lines[0].starts_with("MIGRATED TCP REQUEST/RESPONSE TEST from 0.0.0.0"));
    assert_eq!((lines[1], lines.last()), ("NETPERF_INTERIM_RESULT[0]=1000.00", Some(&"THROUGHPUT=1000.00")));
    assert_eq!((end, done), (Ok(Exit::Done), 1));
}

#[test]
fn confidence_repeats_until_it_is_reached() {
    let told = "-P 0 -t TCP_RR -i 10,3 -I 99,50 -- -k THROUGHPUT,CONFIDENCE_ITERATION";
    let (_, printed, done) = run(told, &[1_000; 10]);
    assert_eq!((printed.as_str(), done), ("THROUGHPUT=1000.00\nCONFIDENCE_ITERATION=3\n", 3));
    // Widths by hand: 104.2 % after three, 43.4 % after four.
    let (_, _, done) = run(told, &[1_000, 1_100, 1_200, 1_100, 1_100, 9]);
    assert_eq!(done, 4);
    let (_, printed, done) = run("-P 0 -t TCP_RR -i 4,3 -I 99,0.1", &[1_000, 2_000, 1_000, 2_000, 9]);
    assert!(printed.starts_with("!!! WARNING") && done == 4);
}

#[test]
fn a_fault_ends_the_run() {
    let (end, printed, _) = run("-t TCP_RR", &[]);
    assert_eq!(end, Err(failure::other("no more rates")));
    assert_eq!(printed.lines().count(), 1, "the banner alone");
}

#[test]
fn a_worthless_result_is_printed_and_is_no_success() {
    let (end, printed, _) = run("-P 0 -t UDP_RR -- -k THROUGHPUT", &[0]);
    assert_eq!(printed, "THROUGHPUT=0.00\n");
    assert_eq!(end.unwrap_err().status, 1);
}

#[test]
fn tests_without_data_print_their_value() {
    assert_eq!(run("-t LOC_CPU", &[]).1, "100");
    assert_eq!(run("-t REM_CPU -v 2", &[]).1, "100\nThere are 2 remote cpus\n");
    assert_eq!(run("-t UUID", &[]).1.len(), 36);
    assert_eq!(run("-t TCP_RR -P 0 -- -u mine -k UUID", &[1]).1, "UUID=mine\n");
}
