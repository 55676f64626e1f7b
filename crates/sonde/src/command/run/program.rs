//! This very program, as it is put onto hosts, and the same for other machines.

use std::path::{Path, PathBuf};

use lab::own;
use lab::transport::Program;
use lab::transport::program::{machine_of, ours, stripped};
use logbook::whole;

use crate::command::lab::place;
use crate::failure::Failure;

/// Its file, and where it `is_sent` to other machines what of it they need, with the checksum of that. Hosts of the machines of `others` are given
/// these.
///
/// # Errors
/// A file that cannot be read, or is no program of ours.
pub fn own(is_sent: bool, others: &[PathBuf]) -> Result<Program, Failure> {
    let cannot = |error: std::io::Error| {
        Failure::usage(format!("cannot read this program to give it to hosts: {error}"))
            .hint("it was replaced or removed while it runs: start it again")
    };
    let path = std::env::current_exe().map_err(cannot)?;
    if !is_sent {
        return Ok(Program::new(path, &[], ""));
    }
    let (mut here, mut elsewhere) = (None, Vec::new());
    for file in others {
        let (machine, octets) = other(file)?;
        if machine == ours() {
            here = Some(octets);
        } else {
            elsewhere.push(program(file, &octets).on(machine));
        }
    }
    // From the kernel, which runs it: the file of its name may be another by now.
    let octets = here.map_or_else(|| std::fs::read(own::PROGRAM).map_err(cannot), Ok)?;
    Ok(program(&path, &octets).beside(elsewhere))
}

fn program(path: &Path, octets: &[u8]) -> Program {
    let octets = stripped(octets);
    let sha256 = protocol::checksum::sha256(&octets);
    Program::new(path, &octets, sha256).kept(place::sent())
}

/// The program in `file`, and the machine that it is for.
fn other(file: &Path) -> Result<(&'static str, Vec<u8>), Failure> {
    let name = file.display().to_string();
    let octets = whole::file(file, whole::LONGEST)
        .map_err(|error| Failure::usage(format!("--program {name}: cannot read it: {error}")).about(&name))?;
    let machine = machine_of(&octets).ok_or_else(|| {
        Failure::usage(format!("--program {name}: is no program of Linux for x86_64, aarch64 or riscv64"))
            .hint("give the `sonde` of the archive for that machine, unpacked")
            .about(&name)
    })?;
    Ok((machine, octets))
}
