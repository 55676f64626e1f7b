//! Going into the background, as servers of old do.

use std::fs::OpenOptions;
use std::io;
use std::os::fd::AsRawFd;

/// One of the two processes of a split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The one that was started: it has nothing left to do but to end.
    Foreground,
    /// The process that continues: in a session of its own, in the root folder, its standard input at `/dev/null`.
    Background,
}

/// Standard streams of the background process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Streams {
    /// All come from and go to `/dev/null`.
    Null,
    /// Output and error go where they went: who reads a pipe of it to the end waits for the end of this one.
    OutputKept,
}

/// Splits the process in two. Open files stay open in both, but for the standard streams of the background process:
/// `streams` decides on them.
///
/// Only while there is no other thread: threads do not follow, and what they hold (a lock of the allocator, say) would be
/// held for good. With threads it fails, and there is one process as before.
pub fn detach(streams: Streams) -> io::Result<Side> {
    if threads()? != 1 {
        return Err(io::Error::other("a process with several threads cannot be split"));
    }
    let null = OpenOptions::new().read(true).write(true).open("/dev/null")?;
    // SAFETY: fork takes nothing and touches no memory of ours. There is one thread, as was just seen, and only a thread
    // starts another; so the child is whole, and may do what any process may.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => background(&null, streams).map(|()| Side::Background),
        _ => Ok(Side::Foreground),
    }
}

fn background(null: &impl AsRawFd, streams: Streams) -> io::Result<()> {
    // A child is never the leader of a process group, so it can have a session; with its own session the end of the
    // terminal does not affect it.
    rustix::process::setsid()?;
    // Else the folder it was started in could not be unmounted.
    std::env::set_current_dir("/")?;
    let all = [libc::STDIN_FILENO, libc::STDOUT_FILENO, libc::STDERR_FILENO];
    let given_up = match streams {
        Streams::Null => &all[..],
        Streams::OutputKept => &all[..1],
    };
    for stream in given_up {
        // SAFETY: both descriptors are numbers to the kernel; the standard streams of the library hold no state that a
        // change of what is behind the number would break.
        if unsafe { libc::dup2(null.as_raw_fd(), *stream) } == -1 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

fn threads() -> io::Result<usize> {
    Ok(std::fs::read_dir("/proc/self/task")?.count())
}
