//! The lines between the centre and its agents: one thread for all, which waits for events. Nobody who does not read or does not write holds
//! anybody else up.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::mpsc::{self, Receiver, Sender, TryRecvError};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::{Errno, ioctl_fionbio};

/// The longest line of an agent, octets: a beat of a thousand cells has a tenth.
const LONGEST: usize = 4 << 20;
/// The most that waits for an agent that does not read, octets: then it is hung up on.
const UNREAD: usize = 8 << 20;
/// Octets that may wait to be worked on before nothing more is read: a second of a thousand agents.
const BACKLOG: usize = 2 << 20;
/// Octets that are read at once.
const CHUNK: usize = 16 << 10;
/// The bell's event.
const BELL: u64 = u64::MAX;

/// Event of a line.
#[derive(Debug, PartialEq, Eq)]
pub enum Heard {
    /// A line, without its end.
    Line(Vec<u8>),
    /// It is over: why.
    Gone(String),
}

#[derive(Debug)]
enum Wish {
    Connect(u64, OwnedFd, OwnedFd),
    Say(u64, String),
    HangUp(u64),
}

/// Octets that were read and are not yet worked on: the reader waits while they are many, so that the sender waits too, and
/// keeps its messages itself.
#[derive(Debug, Default)]
pub struct Backlog {
    octets: Mutex<usize>,
    less: Condvar,
}

impl Backlog {
    /// Takes note of so many more, once there is room for them.
    fn wait_and_add(&self, octets: usize) {
        let mut held = self.octets.lock().unwrap_or_else(PoisonError::into_inner);
        while *held > BACKLOG {
            held = self.less.wait(held).unwrap_or_else(PoisonError::into_inner);
        }
        *held += octets;
    }

    /// So many were worked on.
    pub fn done(&self, octets: usize) {
        let mut held = self.octets.lock().unwrap_or_else(PoisonError::into_inner);
        *held = held.saturating_sub(octets);
        self.less.notify_one();
    }
}

/// All lines. Each has a number that is never given again.
#[derive(Clone, Debug)]
pub struct Switchboard {
    wishes: Sender<Wish>,
    bell: Arc<OwnedFd>,
    /// Octets that wait to be worked on.
    pub backlog: Arc<Backlog>,
}

impl Switchboard {
    /// Starts the thread; what it hears goes to `tell`, until that says that nobody listens.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn start(tell: impl Fn(u64, Heard) -> bool + Send + 'static) -> io::Result<Self> {
        let bell = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        let events = epoll::create(CreateFlags::CLOEXEC)?;
        epoll::add(&events, &*bell, EventData::new_u64(BELL), EventFlags::IN)?;
        let (wishes, asked) = mpsc::channel();
        let backlog = Arc::new(Backlog::default());
        let (bell_here, backlog_here) = (Arc::clone(&bell), Arc::clone(&backlog));
        let operator = Operator { events, bell: bell_here, backlog: backlog_here, asked, lines: BTreeMap::new(), tell };
        thread::Builder::new().name("switchboard".to_owned()).spawn(move || operator.run())?;
        Ok(Self { wishes, bell, backlog })
    }

    /// Takes up a line: what is said there comes from `from`, what is said to it goes to `to`.
    pub fn connect(&self, number: u64, from: OwnedFd, to: OwnedFd) {
        self.wish(Wish::Connect(number, from, to));
    }

    /// Says a line, which ends with its line end.
    pub fn say(&self, number: u64, line: String) {
        self.wish(Wish::Say(number, line));
    }

    /// Ends a line.
    pub fn hang_up(&self, number: u64) {
        self.wish(Wish::HangUp(number));
    }

    fn wish(&self, wish: Wish) {
        // The thread is gone only where nobody listens any more.
        let _gone = self.wishes.send(wish);
        let _rung = rustix::io::write(&*self.bell, &1_u64.to_ne_bytes());
    }
}

struct Operator<T> {
    events: OwnedFd,
    bell: Arc<OwnedFd>,
    backlog: Arc<Backlog>,
    asked: Receiver<Wish>,
    lines: BTreeMap<u64, Line>,
    tell: T,
}

struct Line {
    from: OwnedFd,
    to: OwnedFd,
    heard: Vec<u8>,
    unsaid: VecDeque<u8>,
    /// True while the system is asked to tell when there is room again.
    waits_for_room: bool,
}

/// Twice the line's number: that it can be read; and one more: that there is room to write.
fn reading(number: u64) -> EventData {
    EventData::new_u64(number * 2)
}

fn writing(number: u64) -> EventData {
    EventData::new_u64(number * 2 + 1)
}

impl<T: Fn(u64, Heard) -> bool> Operator<T> {
    fn run(mut self) {
        let mut ready: Vec<Event> = Vec::with_capacity(256);
        loop {
            ready.clear();
            match epoll::wait(&self.events, spare_capacity(&mut ready), None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(_) => return,
            }
            for event in &ready {
                let happened = event.data.u64();
                let goes_on = match happened {
                    BELL => self.wishes(),
                    even if even % 2 == 0 => self.hear(even / 2),
                    odd => self.flush(odd / 2),
                };
                if !goes_on {
                    return;
                }
            }
        }
    }

    /// Carries out the wishes; returns false once nobody has any more.
    fn wishes(&mut self) -> bool {
        let mut rings = [0; 8];
        let _read = rustix::io::read(&*self.bell, &mut rings);
        loop {
            let goes_on = match self.asked.try_recv() {
                Ok(Wish::Connect(number, from, to)) => match self.connect(number, from, &to) {
                    Ok(()) => true,
                    Err(error) => (self.tell)(number, Heard::Gone(error.to_string())),
                },
                Ok(Wish::Say(number, line)) => self.say(number, &line),
                Ok(Wish::HangUp(number)) => {
                    self.lines.remove(&number);
                    true
                }
                Err(TryRecvError::Empty) => return true,
                Err(TryRecvError::Disconnected) => false,
            };
            if !goes_on {
                return false;
            }
        }
    }

    fn connect(&mut self, number: u64, from: OwnedFd, to: &OwnedFd) -> io::Result<()> {
        ioctl_fionbio(&from, true)?;
        ioctl_fionbio(to, true)?;
        // Both ends may be one socket, which an epoll takes once: the end to write is a copy.
        let to = to.try_clone()?;
        epoll::add(&self.events, &from, reading(number), EventFlags::IN)?;
        let line = Line { from, to, heard: Vec::new(), unsaid: VecDeque::new(), waits_for_room: false };
        self.lines.insert(number, line);
        Ok(())
    }

    fn gone(&mut self, number: u64, why: String) -> bool {
        // Both ends close, and with them what was waited for.
        self.lines.remove(&number);
        (self.tell)(number, Heard::Gone(why))
    }

    fn hear(&mut self, number: u64) -> bool {
        let mut chunk = [0; CHUNK];
        let Some(line) = self.lines.get_mut(&number) else { return true };
        let read = match rustix::io::read(&line.from, &mut chunk) {
            Ok(0) => return self.gone(number, "it ended".to_owned()),
            Ok(read) => read,
            Err(Errno::AGAIN | Errno::INTR) => return true,
            Err(error) => return self.gone(number, io::Error::from(error).to_string()),
        };
        for piece in chunk[..read].split_inclusive(|octet| *octet == b'\n') {
            let Some(line) = self.lines.get_mut(&number) else { return true };
            line.heard.extend_from_slice(piece);
            if line.heard.ends_with(b"\n") {
                line.heard.pop();
                let whole = std::mem::take(&mut line.heard);
                self.backlog.wait_and_add(whole.len());
                if !(self.tell)(number, Heard::Line(whole)) {
                    return false;
                }
            } else if line.heard.len() > LONGEST {
                return self.gone(number, format!("a line of more than {} MiB", LONGEST >> 20));
            }
        }
        true
    }

    fn say(&mut self, number: u64, text: &str) -> bool {
        let Some(line) = self.lines.get_mut(&number) else { return true };
        if line.unsaid.len() + text.len() > UNREAD {
            return self.gone(number, "it does not read what it is told".to_owned());
        }
        line.unsaid.extend(text.as_bytes());
        self.flush(number)
    }

    fn flush(&mut self, number: u64) -> bool {
        let Some(line) = self.lines.get_mut(&number) else { return true };
        while !line.unsaid.is_empty() {
            match rustix::io::write(&line.to, line.unsaid.as_slices().0) {
                Ok(written) => {
                    line.unsaid.drain(..written);
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                Err(error) => return self.gone(number, io::Error::from(error).to_string()),
            }
        }
        let wants_room = !line.unsaid.is_empty();
        if wants_room != line.waits_for_room {
            line.waits_for_room = wants_room;
            let changed = if wants_room {
                epoll::add(&self.events, line.to.as_fd(), writing(number), EventFlags::OUT)
            } else {
                epoll::delete(&self.events, line.to.as_fd())
            };
            if let Err(error) = changed {
                return self.gone(number, io::Error::from(error).to_string());
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Write};
    use std::os::unix::net::UnixStream;

    use super::*;

    fn board() -> (Switchboard, Receiver<(u64, Heard)>) {
        let (sender, heard) = mpsc::channel();
        (Switchboard::start(move |number, what| sender.send((number, what)).is_ok()).unwrap(), heard)
    }

    fn line(board: &Switchboard, number: u64) -> UnixStream {
        let (near, far) = UnixStream::pair().unwrap();
        let to = OwnedFd::from(near.try_clone().unwrap());
        board.connect(number, near.into(), to);
        far
    }

    #[test]
    fn lines_come_whole_from_whoever_speaks_and_go_to_whom_they_are_for() {
        let (board, heard) = board();
        let (mut one, mut two) = (line(&board, 1), line(&board, 2));
        one.write_all(b"half a ").unwrap();
        two.write_all(b"another\n").unwrap();
        assert_eq!(heard.recv().unwrap(), (2, Heard::Line(b"another".to_vec())));
        one.write_all(b"line\nand one\n").unwrap();
        assert_eq!(heard.recv().unwrap(), (1, Heard::Line(b"half a line".to_vec())));
        assert_eq!(heard.recv().unwrap(), (1, Heard::Line(b"and one".to_vec())));
        board.say(2, "yes\n".to_owned());
        let mut said = String::new();
        BufReader::new(&two).read_line(&mut said).unwrap();
        assert_eq!(said, "yes\n");
        drop(one);
        assert_eq!(heard.recv().unwrap(), (1, Heard::Gone("it ended".to_owned())));
        assert_eq!(*board.backlog.octets.lock().unwrap(), "another".len() + "half a line".len() + "and one".len());
    }

    #[test]
    fn who_does_not_read_holds_nobody_up_and_is_hung_up_on() {
        let (board, heard) = board();
        let (deaf, mut other) = (line(&board, 1), line(&board, 2));
        let text = format!("{}\n", "x".repeat((1 << 20) - 1));
        (0..9).for_each(|_| board.say(1, text.clone()));
        let (number, gone) = heard.recv().unwrap();
        assert_eq!((number, gone), (1, Heard::Gone("it does not read what it is told".to_owned())));
        other.write_all(b"here\n").unwrap();
        assert_eq!(heard.recv().unwrap(), (2, Heard::Line(b"here".to_vec())));
        drop(deaf);
    }

    #[test]
    fn who_reads_late_hears_everything() {
        let (board, _heard) = board();
        let slow = line(&board, 1);
        let text = format!("{}\n", "x".repeat((1 << 20) - 1));
        (0..6).for_each(|_| board.say(1, text.clone()));
        let mut lines = BufReader::new(slow).lines();
        assert!((0..6).all(|_| lines.next().unwrap().unwrap().len() == (1 << 20) - 1));
    }

    #[test]
    fn while_nobody_works_on_what_was_heard_no_more_is_read_and_then_all_of_it_is() {
        let (board, heard) = board();
        let mut keen = line(&board, 1);
        let text = format!("{}\n", "x".repeat((1 << 20) - 1));
        let writer = thread::spawn(move || (0..20).for_each(|_| keen.write_all(text.as_bytes()).unwrap()));
        for _ in 0..20 {
            let (_, Heard::Line(whole)) = heard.recv().unwrap() else { panic!("it does not end before") };
            // One more than may wait is taken; what the pipe holds is not told yet.
            assert!(*board.backlog.octets.lock().unwrap() <= BACKLOG + whole.len());
            board.backlog.done(whole.len());
        }
        writer.join().unwrap();
    }

    #[test]
    fn a_line_without_end_is_not_kept() {
        let (board, heard) = board();
        let mut endless = line(&board, 1);
        let rubbish = vec![b'x'; 2 * LONGEST];
        let writer = thread::spawn(move || endless.write_all(&rubbish));
        let (_, gone) = heard.recv().unwrap();
        assert_eq!(gone, Heard::Gone("a line of more than 4 MiB".to_owned()));
        assert!(writer.join().unwrap().is_err());
    }
}
