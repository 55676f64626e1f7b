//! The live view: rounds until somebody ends them, the table drawn anew as answers come, and the keys of the original.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::net::{IpAddr, SocketAddr};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use endpoint::clock::Monotonic;
use endpoint::name;
use endpoint::stop::Stop;
use measure::outcome::hops::Probing;
use measure::unit::{Instant, Nanos};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

use crate::output::{Output, plain};
use crate::persona::answer::Answer;
use crate::persona::mtr::hop::shown;
use crate::persona::mtr::options::{Asked, change, complaint};
use crate::persona::mtr::output::{Field, Named, text};
use crate::persona::mtr::run::{Walk, Watcher, head, names, port};

/// Shortest time from one drawing to the next.
const DRAWN: Nanos = Nanos::millis(100);
/// The most letters of a value that is typed.
const TYPED: usize = 40;
/// The keys, a line each.
const KEYS: &str = "\
q  end                       p  pause; the space bar goes on
r  reset all counters        n  names or addresses
j  times or jitter           o  the fields, of LDRSNBAWVGJMXI
u  ICMP or UDP (a new start) i  seconds from one round to the next
m  the last hop              c  rounds
s  length of a packet (a new start)
Q  type of service (a new start)
";

/// Walks to a host until `q`, `stop`, or the last of the rounds that were asked for; the table as it is then is the result.
///
/// # Errors
/// The answer in place of a view.
pub fn watch(
    asked: &Asked,
    (host, mut address): (&str, SocketAddr),
    output: &Output,
    stop: &Stop,
) -> Result<(), Answer> {
    let failed = |error: io::Error| complaint(&error.to_string());
    let mut view = View {
        host: plain(host),
        output,
        stop,
        keys: Keys::new(stop).map_err(failed)?,
        names: Names::new().map_err(failed)?,
        state: State::Going,
        paused: false,
        helps: false,
        typed: None,
        said: String::new(),
        drawn: Instant(0),
    };
    let mut asked = asked.clone();
    let last = loop {
        address.set_port(port(&asked));
        let mut walk = Walk::new(asked, address)?;
        view.state = State::Going;
        walk.run(&mut view)?;
        if view.state != State::Again || stop.requested() {
            break walk;
        }
        asked = walk.asked;
    };
    output.progress_done();
    output.result(&view.table(&last));
    Ok(())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Going,
    /// A walk of another kind is wanted.
    Again,
    Over,
}

struct View<'a> {
    host: String,
    output: &'a Output,
    stop: &'a Stop,
    keys: Keys,
    names: Names,
    state: State,
    paused: bool,
    /// True where the keys are shown.
    helps: bool,
    /// The key whose value is being typed, and as much of it as there is.
    typed: Option<(char, String)>,
    /// A complaint about the last value.
    said: String,
    drawn: Instant,
}

impl Watcher for View<'_> {
    fn wish(&self) -> Stop {
        self.keys.wish()
    }

    fn look(&mut self, walk: &mut Walk) -> bool {
        self.take_keys(walk);
        while self.paused && self.goes_on() {
            self.draw(walk);
            self.keys.wish().wait(Instant::NEVER);
            self.take_keys(walk);
        }
        if Monotonic::now() >= self.drawn.after(DRAWN) {
            self.draw(walk);
        }
        self.goes_on()
    }
}

impl View<'_> {
    fn goes_on(&self) -> bool {
        self.state == State::Going && !self.stop.requested()
    }

    fn take_keys(&mut self, walk: &mut Walk) {
        for key in self.keys.pressed(self.stop) {
            self.press(char::from(key), walk);
            self.drawn = Instant(0);
        }
    }

    fn press(&mut self, key: char, walk: &mut Walk) {
        match (self.typed.take(), key) {
            (Some((what, value)), '\r' | '\n') => self.set(what, &value, walk),
            (Some((what, mut value)), '\u{8}' | '\u{7f}') => {
                value.pop();
                self.typed = Some((what, value));
            }
            (Some(_), '\u{1b}') => {}
            (Some((what, mut value)), key) => {
                if (key.is_ascii_graphic() || key == ' ') && value.len() < TYPED {
                    value.push(key);
                }
                self.typed = Some((what, value));
            }
            (None, 'i' | 'm' | 'c' | 's' | 'Q' | 'o') => self.typed = Some((key, String::new())),
            (None, _) => self.turn(key, walk),
        }
    }

    /// Does what a key alone says.
    fn turn(&mut self, key: char, walk: &mut Walk) {
        match key {
            'q' => self.state = State::Over,
            'p' => self.paused = true,
            ' ' => self.paused = false,
            'r' => walk.reset(),
            'n' => walk.asked.numeric = !walk.asked.numeric,
            'j' => {
                let usual = walk.asked.fields == Field::usual();
                walk.asked.fields = if usual { Field::of_jitter() } else { Field::usual() };
            }
            'u' if walk.asked.protocol != Probing::Tcp => {
                let icmp = walk.asked.protocol == Probing::Icmp;
                walk.asked.protocol = if icmp { Probing::Udp } else { Probing::Icmp };
                self.state = State::Again;
            }
            '?' | 'h' => self.helps = !self.helps,
            _ => {}
        }
    }

    /// Sets what was typed.
    fn set(&mut self, what: char, value: &str, walk: &mut Walk) {
        self.said = change(&mut walk.asked, what, value).err().unwrap_or_default();
        if self.said.is_empty() {
            match what {
                's' | 'Q' => self.state = State::Again,
                'm' => walk.stretch(),
                _ => {}
            }
        }
    }

    fn draw(&mut self, walk: &Walk) {
        let protocol = match walk.asked.protocol {
            Probing::Icmp => "ICMP",
            Probing::Udp => "UDP",
            Probing::Tcp => "TCP",
        };
        let paused = if self.paused { ", paused: the space bar goes on" } else { "" };
        let Self { host, said, .. } = self;
        let round = walk.round + 1;
        let mut screen = format!("mtr: {host} ({}), {protocol}, round {round}{paused}\n", walk.address.ip());
        let line = match &self.typed {
            Some((what, value)) => format!("{}: {value}_\n", asks(*what)),
            None if said.is_empty() => "Keys: q end, p pause, r reset, n names, j jitter, ? all\n".to_owned(),
            None => format!("{said}\n"),
        };
        screen.push_str(&line);
        if self.helps {
            screen.push_str(KEYS);
        }
        screen.push_str(&self.table(walk));
        self.output.screen(&screen);
        self.drawn = Monotonic::now();
    }

    fn table(&mut self, walk: &Walk) -> String {
        let head = head(&walk.asked, &self.host);
        let named = |hop| (hop, names(hop, &walk.asked, &mut |address| self.names.of(address)));
        let hops: Vec<Named<'_>> = shown(&walk.hops).iter().map(named).collect();
        text(&head, &hops, &walk.asked.fields, false)
    }
}

/// The question for the value of a key.
fn asks(what: char) -> &'static str {
    match what {
        'i' => "Seconds from one round to the next",
        'm' => "The last hop",
        'c' => "Rounds",
        's' => "Octets of a packet",
        'Q' => "Type of service",
        _ => "Fields, of LDRSNBAWVGJMXI",
    }
}

/// The keyboard. Until this is dropped keys come one by one, and are not shown. Without a terminal on standard input there are none.
struct Keys {
    before: Option<Termios>,
    pressed: Receiver<u8>,
    /// Requested by the next key.
    wish: Arc<Mutex<Stop>>,
}

impl Keys {
    fn new(stop: &Stop) -> io::Result<Self> {
        let (press, pressed) = channel();
        let before = tcgetattr(io::stdin()).ok();
        let keys = Self { before, pressed, wish: Arc::new(Mutex::new(following(stop))) };
        if let Some(before) = &keys.before {
            let mut modes = before.clone();
            modes.local_modes.remove(LocalModes::ECHO | LocalModes::ICANON);
            tcsetattr(io::stdin(), OptionalActions::Now, &modes)?;
            let wish = Arc::clone(&keys.wish);
            thread::Builder::new().name("sonde-keys".into()).spawn(move || read(&press, &wish))?;
        }
        Ok(keys)
    }

    /// The wish that the next key requests, as `stop` does.
    fn wish(&self) -> Stop {
        self.wish.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Keys since the last call.
    fn pressed(&self, stop: &Stop) -> Vec<u8> {
        // One that comes from here on requests the new wish; what requested the old one has been sent before.
        *self.wish.lock().unwrap_or_else(PoisonError::into_inner) = following(stop);
        self.pressed.try_iter().collect()
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            // A terminal that has gone has no modes.
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, before);
        }
    }
}

fn following(stop: &Stop) -> Stop {
    let wish = Stop::default();
    wish.follow(stop);
    wish
}

/// Sends each key on, until there is no keyboard any more. The thread ends with the process.
fn read(press: &Sender<u8>, wish: &Mutex<Stop>) {
    let mut key = [0];
    while matches!(io::stdin().lock().read(&mut key), Ok(1)) && press.send(key[0]).is_ok() {
        wish.lock().unwrap_or_else(PoisonError::into_inner).request();
    }
}

/// Names of addresses, looked up beside: a resolver takes its time.
struct Names {
    known: BTreeMap<IpAddr, Option<String>>,
    ask: Sender<IpAddr>,
    told: Receiver<(IpAddr, Option<String>)>,
}

impl Names {
    fn new() -> io::Result<Self> {
        let (ask, asked) = channel::<IpAddr>();
        let (tell, told) = channel();
        let body = move || {
            // Nobody listens only where all of this ends.
            while let Ok(address) = asked.recv()
                && tell.send((address, name::of(address))).is_ok()
            {}
        };
        thread::Builder::new().name("sonde-names".into()).spawn(body)?;
        Ok(Self { known: BTreeMap::new(), ask, told })
    }

    /// The name, where it is known by now.
    fn of(&mut self, address: IpAddr) -> Option<String> {
        self.known.extend(self.told.try_iter());
        if let Some(name) = self.known.get(&address) {
            return name.clone();
        }
        self.known.insert(address, None);
        // Without it the address is shown.
        let _ = self.ask.send(address);
        None
    }
}
