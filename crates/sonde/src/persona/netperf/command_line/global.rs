//! The options before `--`: where the server is, how long, how often, how the result is told.

use endpoint::name::Family;

use crate::persona::answer::Answer;
use crate::persona::getopt::{Called, Entry, Fault, Item, Scan, Takes, alike};
use crate::persona::netperf::command_line::draft::Draft;
use crate::persona::netperf::command_line::number::{self, Read, Reason};
use crate::persona::netperf::command_line::{own, rules, tos, usage};
use crate::persona::netperf::options::pair::{Pair, Rule, split};
use crate::persona::netperf::options::{CpuMeasure, Interim, Length, Options, Passphrase};
use crate::persona::netperf::test_name::Test;
use crate::persona::netperf::unit::Unit;

const ENTRIES: &[Entry<()>] = &[
    alike(Takes::Nothing, "dhjJNrSV46", own::PLAIN),
    alike(Takes::Value, "aAbBDfFHiIkKlLnoOpPstTvwWyYZ", own::VALUED),
    alike(Takes::NextNumber, "cC", &[]),
];

/// Interval of the pace where `-b` alone asks for one.
const BURST_ALONE_NS: u64 = 1_000_000;

/// Reads the words up to `--`, and hands on those behind it.
///
/// # Errors
/// See [`parse`](super::parse).
pub fn parse(program: &str, words: &[String]) -> Result<(Draft, Vec<String>), Answer> {
    let mut scan = Scan::new(words, ENTRIES, rules::RULES);
    let mut draft = Draft::new(program, words);
    for item in &mut scan {
        match item.map_err(|fault| complaint(&draft, &fault))? {
            Item::Option(entry, Called::Letter(letter), value) => {
                let text = value.as_deref().unwrap_or_default();
                if let Some(end) = ending(letter) {
                    return Err(end);
                }
                if rules::lacks_value(entry, letter, text) {
                    return Err(draft.refuse(&format!("-{letter}"), "needs a value"));
                }
                letter_of(&mut draft, letter, text).map_err(|why| draft.refuse(&format!("-{letter} {text}"), &why))?;
            }
            Item::Option(_, Called::Name(name), value) => {
                own::apply(&mut draft, name, value.as_deref().unwrap_or_default())?;
            }
            Item::Operand(word) => draft.note(format!("`{word}` is no option: ignored")),
        }
    }
    draft.settle_confidence().map_err(|text| Answer::said(text, 255))?;
    Ok((draft, scan.behind().to_vec()))
}

fn complaint(draft: &Draft, fault: &Fault) -> Answer {
    Answer::complaint(rules::complaint(&draft.program, fault) + usage::GLOBAL)
}

fn ending(letter: char) -> Option<Answer> {
    match letter {
        'h' => Some(Answer::complaint(usage::GLOBAL)),
        'V' => Some(usage::version()),
        _ => None,
    }
}

fn letter_of(draft: &mut Draft, letter: char, text: &str) -> Result<(), Reason> {
    match letter {
        'H' | 'L' | 'p' | '4' | '6' | 'Z' | 'N' => reach(draft, letter, text),
        't' | 'l' | 's' | 'i' | 'I' | 'r' | 'w' | 'b' | 'c' | 'C' | 'T' | 'n' => course(draft, letter, text),
        'D' | 'f' | 'P' | 'B' | 'v' | 'j' | 'J' | 'd' => tell(draft, letter, text),
        _ => socket(draft, letter, text),
    }
}

/// Reads an option on the way to the server.
fn reach(draft: &mut Draft, letter: char, text: &str) -> Result<(), Reason> {
    let (first, second) = split(text, Rule::Explicit);
    let family = second.filter(|_| matches!(letter, 'H' | 'L')).map(|word| draft.family(word));
    let control = &mut draft.options.control;
    match letter {
        'H' => {
            control.host = first.map(str::to_owned).or(control.host.take());
            control.family = family.unwrap_or(control.family);
        }
        'L' => {
            control.local_host = first.map(str::to_owned).or(control.local_host.take());
            control.local_family = family.unwrap_or(control.local_family);
        }
        'p' => {
            control.port = first.map_or(Ok(control.port), number::port)?;
            control.local_port = second.map_or(Ok(control.local_port), number::port)?;
        }
        '4' => control.family = Family::V4,
        '6' => control.family = Family::V6,
        'Z' => draft.options.passphrase = Some(Passphrase::Word(text.to_owned())),
        _ => {
            return Err("without a control connection nobody tells what the far side received: \
                        `sonde rtt HOST:PORT --connect` measures a host that has no netserver"
                .to_owned());
        }
    }
    Ok(())
}

/// Reads an option on the test, its length and its repeats.
fn course(draft: &mut Draft, letter: char, text: &str) -> Result<(), Reason> {
    let both = split(text, Rule::Both);
    match letter {
        't' => draft.test_named(text)?,
        'l' => draft.options.length = length(draft, text)?,
        's' => wait(draft, text)?,
        'i' => {
            draft.iterations.0 = draft.number_of('i', both.0)?.or(draft.iterations.0);
            draft.iterations.1 = draft.number_of('i', both.1)?.or(draft.iterations.1);
        }
        'I' => interval(draft, text)?,
        'r' => draft.result_only = true,
        'w' => pace_interval(draft, text)?,
        'b' => pace_burst(draft, text)?,
        'c' => draft.options.cpu.local = Some(cpu_measure(text)?),
        'C' => draft.options.cpu.remote = Some(cpu_measure(text)?),
        'T' => {
            let bind = draft.options.bind_cpu;
            draft.options.bind_cpu = Pair {
                local: draft.number_of('T', both.0)?.or(bind.local),
                remote: draft.number_of('T', both.1)?.or(bind.remote),
            };
        }
        _ => draft.note("-n: has no effect: the kernel tells how many CPUs there are".to_owned()),
    }
    Ok(())
}

/// Reads an option on the output.
fn tell(draft: &mut Draft, letter: char, text: &str) -> Result<(), Reason> {
    match letter {
        'D' => draft.options.display.interim = Some(interim(draft, text)?),
        'f' => {
            let unit = text.chars().next().and_then(Unit::of_letter);
            if unit.is_none() {
                draft.note(format!("-f {text}: no unit has this letter: KBytes are told, as netperf does"));
            }
            draft.unit = Some(unit.unwrap_or(Unit::KBytes));
        }
        'P' => draft.options.display.headers = draft.number('P', text)? != 0,
        'B' => draft.options.display.brand = Some(text.to_owned()).filter(|brand| !brand.is_empty()),
        'v' => draft.options.display.verbosity = draft.number('v', text)?,
        'j' => draft.options.display.keep_latency = true,
        'J' => draft.options.own.json = true,
        _ => {
            draft.options.display.debug += 1;
            draft.note("-d: there is no debugging output: --record FILE keeps all that was found".to_owned());
        }
    }
    Ok(())
}

/// Reads an option on sockets and buffers.
fn socket(draft: &mut Draft, letter: char, text: &str) -> Result<(), Reason> {
    let both = split(text, Rule::Both);
    match letter {
        'a' | 'A' | 'o' | 'O' => place(draft, letter, both)?,
        'W' => {
            draft.options.buffers.send_width = draft.number_of('W', both.0)?.or(draft.options.buffers.send_width);
            draft.options.buffers.receive_width = draft.number_of('W', both.1)?.or(draft.options.buffers.receive_width);
        }
        'S' => draft.options.keepalive = true,
        'F' => {
            let (first, second) = split(text, Rule::Explicit);
            let file = |word: Option<&str>, before: Option<String>| word.map(str::to_owned).or(before);
            let before = draft.options.fill_file.clone();
            draft.options.fill_file = Pair::new(file(first, before.local), file(second, before.remote));
        }
        'y' => {
            let priority = draft.options.priority;
            draft.options.priority = Pair {
                local: draft.number_of('y', both.0)?.map(|value| value as i32).or(priority.local),
                remote: draft.number_of('y', both.1)?.map(|value| value as i32).or(priority.remote),
            };
        }
        'Y' => {
            let before = draft.options.tos;
            draft.options.tos = Pair::new(octet(both.0)?.or(before.local), octet(both.1)?.or(before.remote));
        }
        _ => draft.note(format!("-{letter}: I don't know how to get dirty: buffers stay as they are")),
    }
    Ok(())
}

fn length(draft: &mut Draft, text: &str) -> Result<Length, Reason> {
    let Read { value, note } = number::length(text)?;
    draft.note_of('l', text, note);
    Ok(match value {
        0 => Length::UntilInterrupted,
        seconds if seconds > 0 => Length::Seconds(seconds as u32),
        count => Length::Count(count.unsigned_abs()),
    })
}

/// A netserver of the original waits so long for the data connection.
const SERVER_PATIENCE_S: u32 = 4;

fn wait(draft: &mut Draft, text: &str) -> Result<(), Reason> {
    let seconds = draft.number('s', text)?;
    if seconds >= SERVER_PATIENCE_S {
        draft.note(format!("-s {seconds}: netperf's own netserver gives up after {SERVER_PATIENCE_S} s of silence"));
    }
    draft.options.wait_s = seconds;
    Ok(())
}

fn interval(draft: &mut Draft, text: &str) -> Result<(), Reason> {
    let (first, second) = split(text, Rule::Explicit);
    // Another level than 95 and 99 is refused when all is read, with the words of the original.
    draft.level = Some(first.map_or(Ok(0.0), number::decimal)?);
    if let Some(width) = second.map(number::decimal).transpose()? {
        if width <= 0.0 {
            return Err("takes a width above 0".to_owned());
        }
        draft.width_percent = Some(width);
    } else if !text.contains(',') {
        draft.note(format!("-I {text}: the width stays 5 %: netperf itself would make it {text} %"));
    }
    Ok(())
}

fn pace_interval(draft: &mut Draft, text: &str) -> Result<(), Reason> {
    let (first, second) = split(text, Rule::Explicit);
    for (word, remote) in [(first, false), (second, true)] {
        if let Some(word) = word {
            let Read { value, note } = number::interval(word)?;
            draft.note_of('w', word, note);
            let pace = &mut draft.options.pace;
            if remote { &mut pace.remote } else { &mut pace.local }.interval_ns = value;
        }
    }
    Ok(())
}

fn pace_burst(draft: &mut Draft, text: &str) -> Result<(), Reason> {
    let (first, second) = split(text, Rule::Explicit);
    for (word, remote) in [(first, false), (second, true)] {
        if let Some(burst) = draft.number_of('b', word)? {
            let pace = &mut draft.options.pace;
            let pace = if remote { &mut pace.remote } else { &mut pace.local };
            pace.burst = burst;
            if pace.interval_ns == 0 {
                pace.interval_ns = BURST_ALONE_NS;
            }
        }
    }
    Ok(())
}

fn cpu_measure(text: &str) -> Result<CpuMeasure, Reason> {
    let rate = (!text.is_empty()).then(|| number::decimal(text)).transpose()?;
    Ok(CpuMeasure { rate: rate.map(|rate| rate as f32) })
}

fn interim(draft: &mut Draft, text: &str) -> Result<Interim, Reason> {
    let (first, second) = split(text, Rule::Explicit);
    if second.is_some() {
        draft.note("-D: the guess of units is not needed: intervals are timed".to_owned());
    }
    // A negative time asks to look at the clock on every operation, which every interval here is timed by anyway.
    let seconds = first.map_or(Ok(1.0), number::decimal)?.abs();
    if !(1e-3..=86_400.0).contains(&seconds) {
        return Err("takes seconds between results, from 0.001 to 86400".to_owned());
    }
    Ok(Interim { interval_ns: (seconds * 1e9).round() as u64 })
}

fn place(draft: &mut Draft, letter: char, both: (Option<&str>, Option<&str>)) -> Result<(), Reason> {
    let send = draft.number_of(letter, both.0)?;
    let receive = draft.number_of(letter, both.1)?;
    let buffers = &mut draft.options.buffers;
    let (of_send, of_receive) = if letter.eq_ignore_ascii_case(&'a') {
        (&mut buffers.send_alignment, &mut buffers.receive_alignment)
    } else {
        (&mut buffers.send_offset, &mut buffers.receive_offset)
    };
    for (value, pair) in [(send, of_send), (receive, of_receive)] {
        let end = if letter.is_ascii_lowercase() { &mut pair.local } else { &mut pair.remote };
        *end = value.unwrap_or(*end);
    }
    Ok(())
}

fn octet(word: Option<&str>) -> Result<Option<u8>, Reason> {
    let fault =
        || "is no type of service: write a number from 0 to 255, or a name such as ef, cs1 or lowdelay".to_owned();
    word.map(|word| tos::octet(word).ok_or_else(fault)).transpose()
}

/// The words of the original where a test is unknown.
pub fn unknown_test(name: &str) -> Answer {
    let names: Vec<&str> = Test::names().collect();
    let stdout = format!(
        "The test you requested ({name}) is unknown to this netperf.\n\
         Please verify that you have the correct test name, \n\
         and that test family has been compiled into this netperf.\n"
    );
    Answer { stdout, stderr: format!("netperf: there are {}\n", names.join(", ")), status: 1 }
}

/// The settings of a run nothing is asked of.
pub fn defaults(command_line: String) -> Options {
    use crate::persona::netperf::options::form::Form;
    use crate::persona::netperf::options::{ALIGNMENT, Buffers, Control, Data, Display, Own, PORT, Pace};
    Options {
        test: Test::default(),
        control: Control { port: PORT, ..Control::default() },
        length: Length::Seconds(10),
        confidence: None,
        cpu: Pair::default(),
        bind_cpu: Pair::default(),
        pace: Pair::both(Pace::default()),
        wait_s: 0,
        keepalive: false,
        fill_file: Pair::default(),
        buffers: Buffers {
            send_alignment: Pair::both(ALIGNMENT),
            receive_alignment: Pair::both(ALIGNMENT),
            send_offset: Pair::both(0),
            receive_offset: Pair::both(0),
            send_width: None,
            receive_width: None,
        },
        priority: Pair::default(),
        tos: Pair::default(),
        passphrase: None,
        data: Data::default(),
        display: Display {
            headers: true,
            verbosity: 1,
            unit: Unit::default(),
            brand: None,
            interim: None,
            form: Form::Classic,
            keep_latency: false,
            debug: 0,
        },
        own: Own::default(),
        notes: Vec::new(),
        command_line,
    }
}
