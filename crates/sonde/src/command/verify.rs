//! `--verify` of every command that measures: the wire is watched meanwhile, and some of its packets are kept.

pub mod claims;

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use endpoint::wire::{Keep, Watched, Wish};
use measure::unit::Bytes;

use crate::command::value;
use crate::failure::Failure;

/// Packets kept where nobody says: some seconds of a quick exchange, and the beginning of anything else.
const PACKETS: u64 = 10_000;
/// Bytes kept of each: all headers, and the head of a message of ours.
const SNAP: Bytes = Bytes(128);
/// The least that shows the headers of IP and TCP with their options.
const LEAST_SNAP: u64 = 64;
/// The longest packet there is, with its headers.
const MOST_SNAP: u64 = 65_575;
/// Bytes of the file at most where nobody says.
const SIZE: Bytes = Bytes(16 << 20);
/// Kept packets stand in memory until the end.
const MOST_SIZE: u64 = 1 << 30;

/// The packets on the wire.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Packet verification")]
pub struct VerifyOptions {
    /// Capture packets during the measurement (`AF_PACKET`) and compare them with the counts; needs `CAP_NET_RAW`
    ///
    /// The result states whether the captured packets confirm the counts: handshakes, datagrams and echoes one by one, connections by
    /// bytes. It also shows retransmitted and merged packets and the time on the wire. Capturing adds a little to short round trips.
    #[arg(long)]
    pub verify: bool,
    /// Write the first packets to FILE, a pcap for tcpdump, within the limits below (with --verify)
    #[arg(long, value_name = "FILE")]
    pub verify_pcap: Option<PathBuf>,
    /// Maximum packets in the file [default: 10000]
    #[arg(long, value_name = "NUMBER", requires = "verify_pcap")]
    pub verify_packets: Option<u64>,
    /// Maximum bytes per packet, 64 to 65575 [default: 128]
    #[arg(long, value_name = "BYTES", value_parser = value::size, requires = "verify_pcap")]
    pub verify_snap: Option<Bytes>,
    /// Maximum size of the file, up to 1 GiB [default: 16MiB]
    #[arg(long, value_name = "BYTES", value_parser = value::size, requires = "verify_pcap")]
    pub verify_size: Option<Bytes>,
}

/// The verification of a measurement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verify {
    file: Option<(PathBuf, Keep)>,
}

impl Verify {
    /// The verification that these options ask for; `None`: none.
    ///
    /// # Errors
    /// A bound that is none.
    pub fn of(options: VerifyOptions) -> Result<Option<Self>, Failure> {
        let VerifyOptions { verify, verify_pcap, verify_packets, verify_snap, verify_size } = options;
        if !verify && verify_pcap.is_none() {
            return Ok(None);
        }
        let within = |option: &str, bytes: Bytes, least: u64, most: u64| {
            if (least..=most).contains(&bytes.0) {
                return Ok(bytes.0);
            }
            Err(Failure::usage(format!("{option}: {} B is not between {least} and {most}", bytes.0)))
        };
        let snap = within("--verify-snap", verify_snap.unwrap_or(SNAP), LEAST_SNAP, MOST_SNAP)? as u32;
        let bytes = within("--verify-size", verify_size.unwrap_or(SIZE), 1, MOST_SIZE)?;
        let keep = Keep { packets: verify_packets.unwrap_or(PACKETS), snap, bytes };
        Ok(Some(Self { file: verify_pcap.map(|path| (path, keep)) }))
    }

    /// The request to the watch.
    pub fn wish(&self) -> Wish {
        Wish { keep: self.file.as_ref().map(|(_, keep)| *keep) }
    }

    /// Makes the file, where one is wanted.
    ///
    /// # Errors
    /// One that cannot be made.
    pub fn open(&self) -> Result<Option<Pcap>, Failure> {
        let Some((path, _)) = &self.file else { return Ok(None) };
        let name = path.display().to_string();
        let file = File::create(path)
            .map_err(|error| Failure::usage(format!("{name}: cannot write packets: {error}")).about(&name))?;
        Ok(Some(Pcap { file, name }))
    }
}

/// The file of packets.
#[derive(Debug)]
pub struct Pcap {
    file: File,
    name: String,
}

impl Pcap {
    /// Writes what was kept, and notes where it is.
    ///
    /// # Errors
    /// A disk that is full: the record then names no file.
    pub fn save(mut self, watched: Option<&mut Watched>) -> Result<(), Failure> {
        let Some(watched) = watched else { return Ok(()) };
        let kept = watched.kept.take().unwrap_or_default();
        let capture = &mut watched.place.capture;
        match self.file.write_all(&kept) {
            Ok(()) => capture.file = Some(self.name),
            Err(error) => {
                (capture.kept, capture.left_out) = (0, capture.left_out + capture.kept);
                let name = &self.name;
                return Err(Failure::usage(format!("{name}: cannot write packets: {error}")).about(name));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    fn options() -> VerifyOptions {
        VerifyOptions { verify_pcap: Some("/nowhere/p.pcap".into()), ..VerifyOptions::default() }
    }

    #[test]
    fn a_file_is_kept_within_bounds_that_nobody_has_to_name() {
        assert_eq!(Verify::of(VerifyOptions::default()).unwrap(), None);
        let plain = Verify::of(VerifyOptions { verify: true, ..VerifyOptions::default() }).unwrap().unwrap();
        assert_eq!(plain.wish(), Wish { keep: None });
        assert!(plain.open().unwrap().is_none());
        let kept = Verify::of(options()).unwrap().unwrap();
        assert_eq!(kept.wish().keep, Some(Keep { packets: 10_000, snap: 128, bytes: 16 << 20 }));
        assert!(kept.open().unwrap_err().told.what.contains("/nowhere/p.pcap"));
    }

    #[test_case(VerifyOptions { verify_snap: Some(Bytes(63)), ..options() }; "a snap too short for the headers")]
    #[test_case(VerifyOptions { verify_snap: Some(Bytes(70_000)), ..options() }; "a snap longer than packets")]
    #[test_case(VerifyOptions { verify_size: Some(Bytes(2 << 30)), ..options() }; "more than memory should hold")]
    fn a_bound_out_of_bounds_is_refused(options: VerifyOptions) {
        assert!(Verify::of(options).is_err());
    }
}
