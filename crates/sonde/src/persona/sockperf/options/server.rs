//! The options of the server.

use crate::command::value::CpuList;
use crate::persona::answer::Answer;
use crate::persona::sockperf::options::reading::Reading;
use crate::persona::sockperf::options::table::Key;
use crate::persona::sockperf::options::{Common, LARGEST, LARGEST_DATAGRAM, Multiplex, Place, Server, either_end};

/// Reads them, behind those of every subcommand.
pub(super) fn read(reading: &mut Reading, common: Common) -> Result<Server, Answer> {
    let threads = threads(reading, &common)?;
    let cpus: Option<CpuList> = reading.parsed(Key::CpuAffinity, "--cpu-affinity")?;
    let dont_reply = reading.has(Key::DontReply);
    if dont_reply && reading.has(Key::Tcp) {
        return Err(reading.complaint("--tcp conflicts with --dont-reply option"));
    }
    let largest = reading.digits(Key::LargestMessage, "-m", 0..=i64::from(LARGEST), |text| {
        format!("'-m' Invalid message size: {text} (max: {LARGEST})")
    })?;
    let multicast = either_end::multicast(reading)?;
    Ok(Server {
        common,
        threads,
        cpus: cpus.unwrap_or_default(),
        dont_reply,
        // It raises, it never lowers.
        largest_message: largest.unwrap_or(0).max(LARGEST_DATAGRAM),
        gap_detection: reading.has(Key::GapDetection),
        multicast,
    })
}

fn threads(reading: &mut Reading, common: &Common) -> Result<u32, Answer> {
    let threads = match &common.place {
        _ if !reading.has(Key::Threads) => return Ok(1),
        Place::One(_) => Err("--threads-num must be used with feed file (option '-f')"),
        Place::Feed { multiplex: Multiplex::Recvfrom, .. } => Err("--threads-num is incompatible with -F recvfrom"),
        Place::Feed { .. } => Ok(()),
    };
    threads.map_err(|line| reading.complaint(line))?;
    let fault = |text: &str| format!("'-4' Invalid threads number: {text} (--threads-num takes 1 or more)");
    Ok(reading.number(Key::Threads, "--threads-num", 1..=i64::from(i32::MAX), fault)?.unwrap_or(1))
}
