//! A watch from its start to its end: who is waited for, and what is done at what comes.
//!
//! Everything that happens comes as an event through one channel: what measuring processes say, keys, signals. The one thing that is
//! waited for by time is the next try of a way that failed.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use logbook::document::Form;
use logbook::event::Line;
use logbook::record::Record;
use measure::lookout::incident::Change;
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event as TerminalEvent, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use report::layout::is_ascii_locale;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::environment::variable;
use crate::options::Options;
use crate::page::Saving;
use crate::probe::{News, Probe};
use crate::screen::{Look, draw};
use crate::view::{AGAIN, NOW, Standing, View};
use crate::way::{self, Way};
use crate::words::notice_told;
use crate::{line, summary};

/// Between two pictures, at the least.
const FRAME: Duration = Duration::from_millis(200);

/// Something that happened.
#[derive(Debug)]
enum Event {
    /// These ways of a host answer, or why it is not known.
    Found(Result<Vec<Way>>),
    /// News of a way, by its number.
    News(usize, News),
    /// A key.
    Key(KeyEvent),
    /// The size of the terminal changed.
    Resized,
    /// A page was made, or why not.
    Page(Result<PathBuf>),
    /// A signal asks for the end.
    End,
}

/// Carries out a watch.
///
/// # Errors
/// The measuring program is not there, a folder cannot be made, no host answers; the terminal cannot be drawn on.
pub fn run(options: &Options) -> Result<ExitCode> {
    options.refining.check(&options.hosts)?;
    let sonde = program(options.sonde.as_deref())?;
    if let Some(folder) = &options.output {
        fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
    }
    let (sender, receiver) = channel();
    let signals = sender.clone();
    let mut asked = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    spawn("signals", move || {
        for _ in asked.forever() {
            let _gone = signals.send(Event::End);
        }
    })?;
    let look = Look { colour: wants_colour(), ascii: options.ascii || is_ascii_locale(variable) };
    let mut watch = Watch {
        view: View::new(&options.hosts, Timestamp::now(), TimeZone::system()),
        options,
        sonde,
        sender,
        probes: Vec::new(),
        pieces: Vec::new(),
        again: Vec::new(),
        kept: Vec::new(),
        saving: None,
        is_writing: false,
        searching: 0,
        over: false,
        face: Face::of(options, look),
    };
    let found = watch.course(&receiver);
    watch.face.leave();
    found?;
    watch.finish(&receiver)
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<()> {
    thread::Builder::new().name(name.to_owned()).spawn(work).with_context(|| format!("no thread for {name}"))?;
    Ok(())
}

/// The program that measures: the one named, the one beside this, or the one on the path.
pub fn program(named: Option<&Path>) -> Result<PathBuf> {
    if let Some(named) = named {
        return Ok(named.to_owned());
    }
    let beside = std::env::current_exe().context("cannot tell where this program is")?.with_file_name("sonde");
    Ok(if beside.exists() { beside } else { PathBuf::from("sonde") })
}

fn wants_colour() -> bool {
    variable("NO_COLOR").is_none()
}

#[expect(clippy::disallowed_methods, reason = "this program's room that reads the clock: nothing is measured by it")]
fn clock() -> Instant {
    Instant::now()
}

/// Face of the watch.
enum Face {
    /// On a screen.
    Screen(Box<DefaultTerminal>, Look),
    /// A line for each way every ten seconds.
    Lines,
    /// Events for machines.
    Events,
}

impl Face {
    fn of(options: &Options, look: Look) -> Self {
        if options.json_lines {
            return Self::Events;
        }
        let is_dumb = variable("TERM").is_none_or(|terminal| terminal == "dumb");
        if is_dumb || !io::stdout().is_terminal() || !io::stdin().is_terminal() {
            return Self::Lines;
        }
        ratatui::try_init().map_or(Self::Lines, |terminal| Self::Screen(Box::new(terminal), look))
    }

    /// Gives the terminal back.
    fn leave(&mut self) {
        if matches!(self, Self::Screen(..)) {
            ratatui::restore();
            *self = Self::Lines;
        }
    }
}

struct Watch<'a> {
    view: View,
    options: &'a Options,
    sonde: PathBuf,
    sender: Sender<Event>,
    /// Probe of each way, by its number.
    probes: Vec<Option<Probe>>,
    /// Records kept of each.
    pieces: Vec<u32>,
    /// Ways that are tried again, and when.
    again: Vec<(Instant, usize)>,
    /// Files of those that are kept.
    kept: Vec<PathBuf>,
    /// The page whose records are awaited.
    saving: Option<Saving>,
    /// True while a page is being made of its records.
    is_writing: bool,
    /// Hosts whose ways are being looked for.
    searching: usize,
    /// True once somebody asked for the end.
    over: bool,
    face: Face,
}

impl Watch<'_> {
    fn course(&mut self, receiver: &Receiver<Event>) -> Result<()> {
        self.begin()?;
        let mut drawn = clock();
        let mut is_stale = true;
        let mut faults = Vec::new();
        while !self.over && !self.is_done() {
            if is_stale && drawn.elapsed() >= FRAME {
                self.draw()?;
                (drawn, is_stale) = (clock(), false);
            }
            let picture = is_stale.then(|| FRAME.saturating_sub(drawn.elapsed()));
            let next = self.again.iter().map(|(at, _)| at.saturating_duration_since(clock())).chain(picture).min();
            match next.map_or_else(
                || receiver.recv().map_err(|_| RecvTimeoutError::Disconnected),
                |next| receiver.recv_timeout(next),
            ) {
                Ok(event) => {
                    is_stale = true;
                    if let Err(fault) = self.take(event) {
                        self.view.notice = Some(format!("{fault:#}"));
                        faults.push(fault);
                    }
                }
                Err(RecvTimeoutError::Timeout) => self.try_again(),
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        // Where nothing could be watched at all, that is why.
        match faults.into_iter().next() {
            Some(fault) if self.view.rows.is_empty() => Err(fault),
            _ => Ok(()),
        }
    }

    /// Starts what was asked for, or looks for the ways.
    fn begin(&mut self) -> Result<()> {
        if matches!(self.face, Face::Screen(..)) {
            let keys = self.sender.clone();
            spawn("keys", move || listen(&keys))?;
        }
        let mut known = BTreeSet::new();
        for host in self.options.hosts.iter().filter(|host| known.insert(host.as_str())) {
            if let Some(way) = Way::of_url(host) {
                self.start(way)?;
                continue;
            }
            if self.options.protocol.is_empty() {
                let (sender, host, sonde) = (self.sender.clone(), host.clone(), self.sonde.clone());
                self.searching += 1;
                spawn("ways", move || {
                    let _gone = sender.send(Event::Found(way::of(&host, &sonde)));
                })?;
                continue;
            }
            for protocol in &self.options.protocol {
                self.start(Way { host: host.clone(), protocol: *protocol })?;
            }
        }
        Ok(())
    }

    /// Returns true where all ways came to their end, if there is one.
    fn is_done(&self) -> bool {
        self.searching == 0 && self.again.is_empty() && self.probes.iter().all(Option::is_none)
    }

    fn start(&mut self, way: Way) -> Result<()> {
        let is_stamped = !self.options.no_stamps && way.is_stamped();
        let number = self.view.add(way);
        self.view.rows[number].is_stamped = is_stamped;
        self.probes.push(None);
        self.pieces.push(0);
        self.measure(number)
    }

    fn measure(&mut self, number: usize) -> Result<()> {
        let sender = self.sender.clone();
        let row = &self.view.rows[number];
        let tell = move |news| Event::News(number, news);
        self.probes[number] = Some(Probe::start(&row.way, row.is_stamped, self.options, &self.sonde, sender, tell)?);
        Ok(())
    }

    fn try_again(&mut self) {
        let now = clock();
        let due: Vec<usize> = self.again.iter().filter(|(at, _)| *at <= now).map(|(_, number)| *number).collect();
        self.again.retain(|(at, _)| *at > now);
        for number in due {
            if let Err(fault) = self.measure(number) {
                self.view.rows[number].standing = Standing::Failed(format!("{fault:#}"));
                self.again.push((now + AGAIN, number));
            }
        }
    }

    fn take(&mut self, event: Event) -> Result<()> {
        match event {
            Event::Found(ways) => {
                self.searching -= 1;
                ways?.into_iter().try_for_each(|way| self.start(way))
            }
            Event::News(number, news) => self.news(number, news),
            Event::Key(key) => {
                self.key(key);
                Ok(())
            }
            Event::Resized => Ok(()),
            Event::Page(made) => {
                self.is_writing = false;
                // A page that cannot be written is no reason to measure no more.
                self.view.notice = Some(match made {
                    Ok(page) => format!("written: {}", page.display()),
                    Err(error) => format!("{error:#}"),
                });
                Ok(())
            }
            Event::End => {
                self.over = true;
                Ok(())
            }
        }
    }

    fn news(&mut self, number: usize, news: News) -> Result<()> {
        match news {
            News::Said(line) => {
                self.pass(number, &line)?;
                if let Line::End(record) = &*line {
                    self.keep(number, record)?;
                }
                let changes = self.view.take(number, *line);
                changes.iter().try_for_each(|change| self.tell(number, change))?;
            }
            News::Ended => {
                self.probes[number] = None;
                self.saved(number)?;
                let row = &mut self.view.rows[number];
                // Not each host and protocol can be timestamped: what was refused at once is measured without.
                let is_refused = row.is_stamped && row.history.latest().is_none();
                if is_refused && matches!(row.standing, Standing::Failed(_)) {
                    row.is_stamped = false;
                }
                let wait = match row.standing {
                    Standing::Over => Duration::ZERO,
                    Standing::Failed(_) => row.pause(),
                    _ => {
                        row.standing = Standing::Failed("the measuring process ended without a word".to_owned());
                        row.pause()
                    }
                };
                // A way with a duration is over after it, whatever became of it.
                if self.options.time.is_none() && !self.over {
                    self.again.push((clock() + wait, number));
                }
            }
        }
        Ok(())
    }

    /// Passes an event on to whoever reads them. Where nobody does any more, the watch is over.
    fn pass(&mut self, number: usize, said: &Line) -> Result<()> {
        if matches!(self.face, Face::Events) {
            let text = line::passed(&self.view.rows[number].way, said);
            return self.print(&text);
        }
        let Some(latest) = self.view.rows[number].history.latest().filter(|_| !self.over) else { return Ok(()) };
        if matches!(self.face, Face::Lines) && matches!(said, Line::Second(_)) && latest % NOW == NOW - 1 {
            let text = summary::now(&self.view.rows[number], &self.view);
            return self.print(&format!("{text}\n"));
        }
        Ok(())
    }

    /// Tells of a change that was noticed, where there is no screen that shows it.
    fn tell(&mut self, number: usize, change: &Change) -> Result<()> {
        let row = &self.view.rows[number];
        let text = match (&self.face, change) {
            (Face::Events, change) => line::noticed(&row.way, change),
            (Face::Lines, Change::Began { incident } | Change::Ended { incident, .. }) if !self.over => {
                let notice = row.notices.found().iter().find(|notice| notice.incident.id == incident.id);
                let Some(notice) = notice else { return Ok(()) };
                format!("{}: {}\n", row.way.named(), notice_told(notice, row, &self.view))
            }
            _ => return Ok(()),
        };
        self.print(&text)
    }

    fn print(&mut self, text: &str) -> Result<()> {
        match io::stdout().write_all(text.as_bytes()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.over = true;
                Ok(())
            }
            other => other.context("cannot write to standard output"),
        }
    }

    fn draw(&mut self) -> Result<()> {
        if let Face::Screen(terminal, look) = &mut self.face {
            let (view, look) = (&self.view, *look);
            terminal.draw(|frame| draw(frame, view, look)).context("cannot draw on the terminal")?;
        }
        Ok(())
    }

    fn key(&mut self, key: KeyEvent) {
        if key.kind == KeyEventKind::Release {
            return;
        }
        let is_end = key.modifiers.contains(KeyModifiers::CONTROL) && key.code == KeyCode::Char('c');
        if is_end {
            self.over = true;
        } else if self.view.typing.is_some() {
            self.typed(key.code);
        } else {
            self.pressed(key.code);
        }
    }

    fn typed(&mut self, key: KeyCode) {
        let Some(mark) = &mut self.view.typing else { return };
        match key {
            KeyCode::Enter => self.view.keep_mark(),
            KeyCode::Esc => self.view.typing = None,
            KeyCode::Backspace => {
                mark.text.pop();
            }
            KeyCode::Char(letter) => mark.text.push(letter),
            _ => {}
        }
    }

    fn pressed(&mut self, key: KeyCode) {
        let view = &mut self.view;
        view.notice = None;
        match key {
            KeyCode::Up | KeyCode::Char('k') => view.move_by(-1),
            KeyCode::Down | KeyCode::Char('j') => view.move_by(1),
            KeyCode::Enter => view.is_large = !view.is_large,
            KeyCode::Char(' ') => view.freeze(),
            KeyCode::Char('m') => view.begin_mark(Timestamp::now()),
            KeyCode::Char('p') => view.next_percentile(),
            KeyCode::Char('w') => self.save(),
            KeyCode::Char('+' | '=') => view.zoom(-1),
            KeyCode::Char('-') => view.zoom(1),
            KeyCode::Char('h') => view.shows_histogram = !view.shows_histogram,
            KeyCode::Char('s') => view.next_order(),
            KeyCode::Char('?') => view.shows_help = !view.shows_help,
            KeyCode::Char('q') => self.over = true,
            _ => {}
        }
    }

    /// Ends the measuring processes, hears their last words, and says what there was.
    fn finish(mut self, receiver: &Receiver<Event>) -> Result<ExitCode> {
        self.over = true;
        self.probes.iter_mut().flatten().for_each(Probe::end);
        let mut page = None;
        while self.is_writing || self.probes.iter().any(Option::is_some) {
            match receiver.recv() {
                Ok(Event::News(number, news)) => self.news(number, news)?,
                Ok(Event::Page(made)) => (self.is_writing, page) = (false, Some(made)),
                // A second wish to end is for those who do not want to wait.
                Ok(Event::End) | Err(_) => break,
                Ok(_) => {}
            }
        }
        if !matches!(self.face, Face::Events) {
            let text = summary::text(&self.view);
            self.print(&text)?;
        }
        if let Some(page) = page {
            self.print(&format!("written: {}\n", page?.display()))?;
        }
        let answered = self.view.rows.iter().all(|row| row.history.whole().counts.answered > 0);
        Ok(ExitCode::from(u8::from(!answered)))
    }

    /// Writes the record of a process into the folder, where there is one, and hands it to the page that is being made.
    fn keep(&mut self, number: usize, record: &Record) -> Result<()> {
        if self.options.output.is_none() && self.saving.is_none() {
            return Ok(());
        }
        self.pieces[number] += 1;
        let name = file_name(&self.view.rows[number].way, self.pieces[number]);
        let text = record.to_json().with_context(|| format!("no record for {name}"))?;
        if let Some(folder) = &self.options.output {
            let path = folder.join(name);
            fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
            self.kept.push(path.clone());
            self.saving.iter_mut().for_each(|saving| saving.kept(path.clone()));
            return Ok(());
        }
        self.saving.iter_mut().try_for_each(|saving| saving.record(&name, &text))
    }

    /// Begins to make a page: the processes end, give their records, and are started again.
    fn save(&mut self) {
        if self.options.time.is_some() {
            self.view.notice =
                Some("with -t, keep the records by -o FOLDER and make the page by `sonde report`".to_owned());
            return;
        }
        if self.saving.is_some() || self.is_writing {
            return;
        }
        let mut waiting = BTreeSet::new();
        for (number, probe) in self.probes.iter_mut().enumerate() {
            if let Some(probe) = probe {
                probe.end();
                waiting.insert(number);
            }
        }
        if waiting.is_empty() {
            return;
        }
        let at = Timestamp::now().to_zoned(self.view.zone.clone()).strftime("%Y%m%d-%H%M%S").to_string();
        let page = format!("sonde-watch-{at}.html");
        let page = self.options.output.as_ref().map_or_else(|| PathBuf::from(&page), |folder| folder.join(&page));
        self.view.notice = Some(format!("writing {} …", page.display()));
        self.saving = Some(Saving::new(waiting, self.kept.clone(), page));
    }

    /// The process of way `number` has ended: where it was the last that the page waits for, that is made.
    fn saved(&mut self, number: usize) -> Result<()> {
        if !self.saving.as_mut().is_some_and(|saving| saving.ended(number)) {
            return Ok(());
        }
        let Some(saving) = self.saving.take() else { return Ok(()) };
        let (sender, sonde) = (self.sender.clone(), self.sonde.clone());
        self.is_writing = true;
        spawn("page", move || {
            let _gone = sender.send(Event::Page(saving.write(&sonde)));
        })
    }
}

/// `db1-tcp.json`; the second record of a way is `db1-tcp-2.json`.
fn file_name(way: &Way, number: u32) -> String {
    let plain = |letter: char| if letter.is_ascii_alphanumeric() || "._".contains(letter) { letter } else { '-' };
    let place = way.host.split_once("://").map_or(way.host.as_str(), |(_, place)| place);
    let host: String = place.chars().map(plain).collect();
    let which = if number == 1 { String::new() } else { format!("-{number}") };
    format!("{}-{}{which}.json", host.trim_start_matches('.'), way.word().replace('+', "-"))
}

/// Sends keys on until nobody wants them.
fn listen(sender: &Sender<Event>) {
    while let Ok(event) = event::read() {
        let event = match event {
            TerminalEvent::Key(key) => Event::Key(key),
            TerminalEvent::Resize(..) => Event::Resized,
            _ => continue,
        };
        if sender.send(event).is_err() {
            break;
        }
    }
}
