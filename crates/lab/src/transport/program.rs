//! The program as hosts are given it: for the machine that each is, without what only a debugger reads, and compressed once for all of them.

use std::fmt;
use std::fs::File;
use std::io::{self, Seek, Write};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use endpoint::clock::Monotonic;
use measure::unit::Nanos;
use rustix::fs::{MemfdFlags, memfd_create};

use super::packed::{self, Form};

/// The program that is put onto hosts.
#[derive(Clone)]
pub struct Program {
    /// Its path here.
    pub path: PathBuf,
    /// SHA-256 of what is put, 64 hexadecimal digits: what lies on a host under this name and is something else is put there anew.
    pub sha256: String,
    /// The machines that it runs on, as `uname -sm` says it.
    machine: String,
    octets: Arc<[u8]>,
    gzip: Arc<OnceLock<Packed>>,
    xz: Arc<OnceLock<Packed>>,
    /// Folder in which it is kept as it is sent; absent: it is kept nowhere.
    kept: Option<PathBuf>,
    /// The same program for other machines.
    others: Arc<[Program]>,
}

#[derive(Debug)]
struct Packed {
    octets: Vec<u8>,
    took: Nanos,
}

impl Program {
    /// The program at `path`, which is put as `octets`, whose SHA-256 this is.
    pub fn new(path: impl Into<PathBuf>, octets: &[u8], sha256: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            sha256: sha256.into(),
            machine: ours(),
            octets: octets.into(),
            gzip: Arc::default(),
            xz: Arc::default(),
            kept: None,
            others: Arc::default(),
        }
    }

    /// The same program for machines that call themselves `machine`, as [`machine_of`] tells it.
    pub fn on(self, machine: impl Into<String>) -> Self {
        Self { machine: machine.into(), ..self }
    }

    /// The same, kept in `folder` as it is sent, for others who send it.
    pub fn kept(self, folder: Option<PathBuf>) -> Self {
        Self { kept: folder, ..self }
    }

    /// This program, and for other machines `others`.
    pub fn beside(self, others: Vec<Self>) -> Self {
        Self { others: others.into(), ..self }
    }

    /// The one for hosts that call themselves `machine`; `None` where there is none.
    pub(super) fn for_machine(&self, machine: &str) -> Option<&Self> {
        std::iter::once(self).chain(&*self.others).find(|program| program.machine == machine)
    }

    /// The machines that it runs on.
    pub(super) fn machine(&self) -> &str {
        &self.machine
    }

    /// Octets that are sent, as the input of a command.
    pub(super) fn input(&self, form: Form) -> io::Result<File> {
        let mut file = File::from(memfd_create("sonde", MemfdFlags::CLOEXEC)?);
        file.write_all(match form {
            Form::Plain => &self.octets,
            Form::Gzip => once(&self.gzip, || packed::gzip(&self.octets)),
            Form::Xz => once(&self.xz, || self.by_xz()),
        })?;
        file.rewind()?;
        Ok(file)
    }

    fn by_xz(&self) -> Vec<u8> {
        let pack = || packed::xz(&self.octets, machine_of(&self.octets) == Some(X86));
        let Some(folder) = &self.kept else { return pack() };
        // One of each kind of machine, so that what versions leave does not pile up.
        let name = format!("program-{}.packed", self.machine.rsplit(' ').next().unwrap_or_default());
        packed::kept(&folder.join(name), &self.sha256, pack)
    }

    /// Time that its compression took, which no host is to be blamed for; zero where it was not compressed.
    pub(crate) fn packing(&self) -> Nanos {
        let each = std::iter::once(self).chain(&*self.others);
        let packed = each.flat_map(|program| [program.gzip.get(), program.xz.get()]).flatten();
        packed.map(|packed| packed.took).max().unwrap_or(Nanos::ZERO)
    }
}

/// The result of `pack`, which the first who wants it does for all.
fn once(packed: &OnceLock<Packed>, pack: impl FnOnce() -> Vec<u8>) -> &[u8] {
    let packed = packed.get_or_init(|| {
        let begun = Monotonic::now();
        let octets = pack();
        Packed { octets, took: Monotonic::now().since(begun).unwrap_or_default() }
    });
    &packed.octets
}

impl fmt::Debug for Program {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("Program").field("path", &self.path).field("sha256", &self.sha256).finish_non_exhaustive()
    }
}

/// An ELF program of 64 bits without what stands behind its last loaded part: symbols, debug information, and the table that leads
/// there. Anything else stays as it is.
pub fn stripped(program: &[u8]) -> Vec<u8> {
    loaded(program).map_or_else(
        || program.to_vec(),
        |end| {
            let mut kept = program[..end].to_vec();
            // The offset of the table of sections, and the size, count and place of the names in it.
            kept[SECTIONS..SECTIONS + 8].fill(0);
            kept[SECTION_SIZES..SECTION_SIZES + 6].fill(0);
            kept
        },
    )
}

/// The machines that an ELF program of 64 bits and little endian runs on, as `uname -sm` says it there. `None` for anything else, and for machines
/// that this program was never built for.
pub fn machine_of(program: &[u8]) -> Option<&'static str> {
    loaded(program)?;
    match program.get(MACHINE..MACHINE + 2)? {
        [62, 0] => Some(X86),
        [183, 0] => Some("Linux aarch64"),
        [243, 0] => Some("Linux riscv64"),
        _ => None,
    }
}

/// As the machines of most hosts call themselves.
const X86: &str = "Linux x86_64";

/// The machine that this program is for, as `uname -sm` would say it.
pub fn ours() -> String {
    let system = rustix::system::uname();
    format!("{} {}", system.sysname().to_string_lossy(), system.machine().to_string_lossy())
}

/// Where an ELF header keeps the number of the machine.
const MACHINE: usize = 18;
/// Where an ELF header keeps the offset of the table of segments.
const SEGMENTS: usize = 32;
/// Offset in it of the offset of the table of sections.
const SECTIONS: usize = 40;
/// Offset in it of the size of an entry of the table of segments, and then their number.
const SEGMENT_SIZES: usize = 54;
/// Offset in it of the same of sections.
const SECTION_SIZES: usize = 58;
/// Length of the header, bytes.
const HEADER: usize = 64;

/// The end of what a loader reads of an ELF program of 64 bits and little endian, as an offset in its file.
fn loaded(program: &[u8]) -> Option<usize> {
    let number = |at: usize, length: usize| {
        let octets = program.get(at..at.checked_add(length)?)?;
        usize::try_from(octets.iter().rev().fold(0u64, |number, octet| number << 8 | u64::from(*octet))).ok()
    };
    program.starts_with(b"\x7fELF\x02\x01").then_some(())?;
    let (table, size, count) = (number(SEGMENTS, 8)?, number(SEGMENT_SIZES, 2)?, number(SEGMENT_SIZES + 2, 2)?);
    let mut end = HEADER.max(table.checked_add(size.checked_mul(count)?)?);
    for segment in 0..count {
        let at = table + segment * size;
        end = end.max(number(at + 8, 8)?.checked_add(number(at + 32, 8)?)?);
    }
    (count > 0 && end <= program.len()).then_some(end)
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::fs::PermissionsExt;
    use std::process::Command;

    use super::*;

    #[test]
    fn what_is_left_of_a_program_still_runs_and_is_smaller() {
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let kept = stripped(&own);
        assert!(kept.len() * 4 < own.len() * 3, "{} of {} bytes", kept.len(), own.len());
        let folder = tempfile::tempdir().unwrap();
        let (written, file) = (folder.path().join("written"), folder.path().join("program"));
        std::fs::write(&written, &kept).unwrap();
        std::fs::set_permissions(&written, std::fs::Permissions::from_mode(0o700)).unwrap();
        // By another process: a child that another test starts meanwhile would hold a file open that was written here, and what is open to be written
        // is not run.
        assert!(Command::new("cp").arg("-p").args([&written, &file]).status().unwrap().success());
        let listed = Command::new(&file).arg("--list").output().unwrap();
        assert!(listed.status.success() && String::from_utf8_lossy(&listed.stdout).contains(": test"), "{listed:?}");
        assert_eq!(stripped(&kept), kept);
    }

    #[test]
    fn what_is_no_program_of_that_kind_stays() {
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let mut far = own[..200].to_vec();
        far[SEGMENTS..SEGMENTS + 8].fill(0xff);
        for other in [&b"#!/bin/sh\n"[..], b"", b"\x7fELF\x02\x01", &own[..200], &far] {
            assert_eq!(stripped(other), other);
            assert_eq!(machine_of(other), None);
        }
    }

    #[test]
    fn a_program_tells_the_machine_that_it_is_for() {
        let mut own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert_eq!(machine_of(&own).map(str::to_owned), Some(ours()));
        own[MACHINE..MACHINE + 2].copy_from_slice(&[183, 0]);
        assert_eq!(machine_of(&own), Some("Linux aarch64"));
        // A number that no machine of ours has.
        own[MACHINE..MACHINE + 2].copy_from_slice(&[8, 0]);
        assert_eq!(machine_of(&own), None);
    }

    #[test]
    fn each_host_has_all_of_it_from_its_start() {
        let octets: Vec<u8> = (0..100_000u32).map(|n| (n / 1_000) as u8).collect();
        let folder = tempfile::tempdir().unwrap();
        let program = Program::new("/nowhere", &octets, "").kept(Some(folder.path().to_owned()));
        let read = |form: Form| {
            let mut sent = Vec::new();
            program.input(form).unwrap().read_to_end(&mut sent).unwrap();
            sent
        };
        for _ in 0..2 {
            assert_eq!(read(Form::Plain), octets);
            assert_eq!(read(Form::Gzip), packed::gzip(&octets));
            assert_eq!(read(Form::Xz), packed::xz(&octets, false));
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
