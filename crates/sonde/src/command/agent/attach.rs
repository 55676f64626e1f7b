//! Speaks to the agent that stays here: what comes on standard input goes to it, and what it tells comes on standard output.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::process::Stdio;
use std::thread;

use lab::own;
use logbook::monitor::talk::{Order, Told};
use measure::unit::Bytes;

use super::folder::Folder;
use crate::exit::Exit;
use crate::failure::Failure;

/// Passes on until either end is gone. Where nobody is there, or one of an older version, one is started if `start` says so.
///
/// # Errors
/// Nobody is there, or none can be started.
pub fn run(folder: &Folder, start: bool, spool: Bytes) -> Result<Exit, Failure> {
    let mut talk = match Talk::begin(folder) {
        Ok(talk) if start && talk.is_older() => {
            talk.end().map_err(|error| nobody(folder, &error))?;
            started(folder, spool)?
        }
        Ok(talk) => talk,
        Err(_) if start => started(folder, spool)?,
        Err(error) => return Err(nobody(folder, &error)),
    };
    let mut into = talk.stream.get_ref().try_clone().map_err(|error| nobody(folder, &error))?;
    thread::spawn(move || {
        // The end of either side ends all.
        let _ = io::copy(&mut io::stdin().lock(), &mut into);
        let _ = into.shutdown(Shutdown::Write);
    });
    let mut out = io::stdout().lock();
    // Whoever listens no more needs no word about it.
    let _ = pass(&talk.hello, &mut talk.stream, &mut out);
    Ok(Exit::Done)
}

fn pass(hello: &[u8], from: &mut BufReader<UnixStream>, out: &mut impl Write) -> io::Result<()> {
    out.write_all(hello)?;
    out.flush()?;
    loop {
        let octets = from.fill_buf()?;
        if octets.is_empty() {
            return Ok(());
        }
        out.write_all(octets)?;
        out.flush()?;
        let count = octets.len();
        from.consume(count);
    }
}

/// Ends the agent that is there, where one is, and waits until it has; with its folder where `purge` says so.
///
/// # Errors
/// It is there and does not end; a folder that cannot be removed.
pub fn end(folder: Folder, purge: bool) -> Result<Exit, Failure> {
    if let Ok(talk) = Talk::begin(&folder) {
        talk.end().map_err(|error| nobody(&folder, &error))?;
    }
    if purge {
        // It has let go of it.
        let _held = folder.hold()?;
        let name = folder.path().display().to_string();
        folder
            .purge()
            .map_err(|error| Failure::usage(format!("{name}: cannot be removed: {error}")).about(name.clone()))?;
    }
    Ok(Exit::Done)
}

/// A talk that has begun.
struct Talk {
    stream: BufReader<UnixStream>,
    /// The first line, as it came.
    hello: Vec<u8>,
}

impl Talk {
    fn begin(folder: &Folder) -> io::Result<Self> {
        let mut stream = BufReader::new(folder.connect()?);
        let mut hello = Vec::new();
        stream.read_until(b'\n', &mut hello)?;
        if hello.ends_with(b"\n") { Ok(Self { stream, hello }) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }

    /// Returns true where it is of a version before this one. One that does not say so is left alone.
    fn is_older(&self) -> bool {
        let Ok(Told::Hello(hello)) = serde_json::from_slice(&self.hello) else { return false };
        let parts = |version: &str| -> Option<Vec<u64>> {
            version.split(['.', '-', '+']).take(3).map(|part| part.parse().ok()).collect()
        };
        match (parts(&hello.program_version), parts(env!("CARGO_PKG_VERSION"))) {
            (Some(theirs), Some(ours)) => theirs < ours,
            _ => false,
        }
    }

    fn end(mut self) -> io::Result<()> {
        let mut order = serde_json::to_vec(&Order::End)?;
        order.push(b'\n');
        self.stream.get_mut().write_all(&order)?;
        // It has ended when its end of the connection has.
        io::copy(&mut self.stream, &mut io::sink()).map(drop)
    }
}

/// Starts one, which stays when this process ends, and speaks to it.
fn started(folder: &Folder, spool: Bytes) -> Result<Talk, Failure> {
    let cannot = |error: io::Error| {
        Failure::usage(format!("{}: cannot start an agent that stays: {error}", folder.path().display()))
    };
    let log = folder.log().map_err(cannot)?;
    let mut command = own::command();
    command
        .args(["agent", "--monitor", "--detached", "--state"])
        .arg(path(folder))
        .arg("--spool")
        .arg(spool.0.to_string());
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log).spawn();
    let mut child = child.map_err(cannot)?;
    let mut said = String::new();
    // It says one word when it listens, and nothing where it ends before.
    let _ = child.stdout.take().map(|mut out| out.read_to_string(&mut said));
    if said.is_empty() {
        let what = format!("{}: the agent that was started here has ended at once", folder.path().display());
        return Err(Failure::usage(what).hint(format!("{} says why", folder.path().join("agent.log").display())));
    }
    Talk::begin(folder).map_err(cannot)
}

/// Its path, such that it is taken for no name.
fn path(folder: &Folder) -> std::path::PathBuf {
    std::path::absolute(folder.path()).unwrap_or_else(|_| folder.path().to_owned())
}

fn nobody(folder: &Folder, error: &io::Error) -> Failure {
    Failure::usage(format!("{}: no agent stays here: {error}", folder.path().display()))
        .about(folder.path().display().to_string())
        .hint("start one: `sonde agent --monitor`, or --start")
}
