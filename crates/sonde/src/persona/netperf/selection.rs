//! Selected values of `-o`, `-O` and `-k`: a list, everything, the default of the direction, or those of a file.

use std::io;
use std::path::{Path, PathBuf};

use crate::persona::answer::Answer;
use crate::persona::netperf::options::Options;
use crate::persona::netperf::options::form::{Form, Selection};
use crate::persona::netperf::selector::{self, Selector};
use crate::persona::netperf::test_name::Direction;

/// Blocks that there may be: `-O` prints each apart.
pub const BLOCKS: usize = 4;

/// A word or list as typed, and the names in it that are no selectors.
pub fn read(text: &str) -> (Selection, Vec<String>) {
    if text.eq_ignore_ascii_case("all") {
        return (Selection::Blocks(selector::all()), Vec::new());
    }
    if text.contains([',', ';']) || Selector::named(text).is_some() {
        let (blocks, unknown) = lists(text.split(';'));
        return (Selection::Blocks(blocks), unknown);
    }
    (Selection::File(PathBuf::from(text)), Vec::new())
}

/// Values that the lines of a file select: a block each.
pub fn of_file(text: &str) -> (Selection, Vec<String>) {
    let (blocks, unknown) = lists(text.lines().filter(|line| !line.trim().is_empty()));
    (Selection::Blocks(blocks), unknown)
}

/// Blocks beyond the last that there may be join it.
fn lists<'a>(lines: impl Iterator<Item = &'a str>) -> (Vec<Vec<&'static str>>, Vec<String>) {
    let (mut blocks, mut unknown) = (Vec::<Vec<&'static str>>::new(), Vec::new());
    for line in lines {
        let (known, others) = names(line);
        unknown.extend(others);
        match blocks.get_mut(BLOCKS - 1) {
            Some(last) => last.extend(known),
            None => blocks.push(known),
        }
    }
    (blocks, unknown)
}

/// A line's names are separated by commas or blanks; where it has commas, a header's words may stand between them.
fn names(line: &str) -> (Vec<&'static str>, Vec<String>) {
    let (mut known, mut unknown) = (Vec::new(), Vec::new());
    for part in line.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        if let Some(selector) = Selector::named(part).or_else(|| Selector::headed(part)) {
            known.push(selector.name());
            continue;
        }
        for word in part.split_whitespace() {
            match Selector::named(word) {
                Some(selector) => known.push(selector.name()),
                None => unknown.push(word.to_owned()),
            }
        }
    }
    (known, unknown)
}

/// The sentence for names that are no selectors.
pub fn unknown_note(letter: char, unknown: &[String]) -> String {
    let names = unknown.join(", ");
    format!("-{letter}: no selector is called {names}: left out (`-- -{letter} '?'` lists all)")
}

/// Reads the file of a selection, where there is one, and puts what it says in its place.
///
/// # Errors
/// A file that cannot be read: the real program's words, with status 255.
pub fn resolve(options: &mut Options, read: impl Fn(&Path) -> io::Result<String>) -> Result<(), Answer> {
    let Some(Selection::File(path)) = options.display.form.selection() else { return Ok(()) };
    let text = read(path).map_err(|error| missing(path, &error))?;
    let (selection, unknown) = of_file(&text);
    if !unknown.is_empty() {
        options.notes.push(unknown_note(letter(&options.display.form), &unknown));
    }
    options.display.form = options.display.form.with(selection);
    Ok(())
}

fn letter(form: &Form) -> char {
    match form {
        Form::Csv(_) => 'o',
        Form::Human(_) => 'O',
        _ => 'k',
    }
}

fn missing(path: &Path, error: &io::Error) -> Answer {
    let number = error.raw_os_error().unwrap_or(0);
    let name = path.display();
    let stdout = format!("Could not open output selection file '{name}' errno {number}\n");
    let hint = format!("netperf: '{name}' is neither a selector nor a file that can be read: {error}\n");
    Answer { stdout, stderr: hint, status: 255 }
}

/// The blocks of a selection in a test of this direction.
pub fn blocks(selection: &Selection, direction: Direction, cpu: bool) -> Vec<Vec<Selector>> {
    let of = |names: &Vec<&'static str>| names.iter().filter_map(|name| Selector::named(name)).collect();
    match selection {
        Selection::Blocks(blocks) => blocks.iter().map(of).collect(),
        Selection::Default | Selection::File(_) => vec![default(direction, cpu)],
    }
}

/// Returns true where durations are to be kept.
pub fn wants_latency(options: &Options) -> bool {
    let display = &options.display;
    let selected = match display.form.selection() {
        None | Some(Selection::Default) => false,
        Some(Selection::Blocks(blocks)) => {
            blocks.iter().flatten().any(|name| Selector::named(name).is_some_and(Selector::is_latency))
        }
        Some(Selection::File(_)) => true,
    };
    display.keep_latency || display.histogram() || selected
}

const SEND: [&str; 3] = ["LSS_SIZE_END", "RSR_SIZE_END", "LOCAL_SEND_SIZE"];
const RECEIVE: [&str; 3] = ["RSS_SIZE_END", "LSR_SIZE_END", "REMOTE_SEND_SIZE"];
const TRANSACTIONS: [&str; 6] =
    ["LSS_SIZE_END", "LSR_SIZE_END", "RSR_SIZE_END", "RSS_SIZE_END", "REQUEST_SIZE", "RESPONSE_SIZE"];
const RESULT: [&str; 3] = ["ELAPSED_TIME", "THROUGHPUT", "THROUGHPUT_UNITS"];
const CPU: [&str; 17] = [
    "LOCAL_CPU_UTIL",
    "LOCAL_CPU_PERCENT_USER",
    "LOCAL_CPU_PERCENT_SYSTEM",
    "LOCAL_CPU_PERCENT_IOWAIT",
    "LOCAL_CPU_PERCENT_IRQ",
    "LOCAL_CPU_PERCENT_SWINTR",
    "LOCAL_CPU_METHOD",
    "REMOTE_CPU_UTIL",
    "REMOTE_CPU_PERCENT_USER",
    "REMOTE_CPU_PERCENT_SYSTEM",
    "REMOTE_CPU_PERCENT_IOWAIT",
    "REMOTE_CPU_PERCENT_IRQ",
    "REMOTE_CPU_PERCENT_SWINTR",
    "REMOTE_CPU_METHOD",
    "LOCAL_SD",
    "REMOTE_SD",
    "SD_UNITS",
];

fn default(direction: Direction, cpu: bool) -> Vec<Selector> {
    let sizes: &[&str] = if direction.is_send() {
        &SEND
    } else if direction.is_receive() {
        &RECEIVE
    } else {
        &TRANSACTIONS
    };
    let measured: &[&str] = if cpu { &CPU } else { &[] };
    sizes.iter().chain(&RESULT).chain(measured).filter_map(|name| Selector::named(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::persona::netperf::test_name::Test;
    use test_case::test_case;

    fn told(selection: &Selection) -> Vec<Vec<&'static str>> {
        let Selection::Blocks(blocks) = selection else { panic!("{selection:?}") };
        blocks.clone()
    }

    #[test_case("throughput", &[&["THROUGHPUT"]], &[]; "one name")]
    #[test_case("THROUGHPUT,mean_latency", &[&["THROUGHPUT", "MEAN_LATENCY"]], &[]; "two")]
    #[test_case("THROUGHPUT, MEAN_LATENCY", &[&["THROUGHPUT", "MEAN_LATENCY"]], &[]; "with a blank")]
    #[test_case("THROUGHPUT;UUID", &[&["THROUGHPUT"], &["UUID"]], &[]; "two blocks")]
    #[test_case("THROUGHPUT,NO_SUCH", &[&["THROUGHPUT"]], &["NO_SUCH"]; "an unknown one")]
    #[test_case("UUID;UUID;UUID;UUID;PROTOCOL", &[&["UUID"], &["UUID"], &["UUID"], &["UUID", "PROTOCOL"]], &[]; "too many blocks")]
    fn a_list_is_read(text: &str, blocks: &[&[&str]], unknown: &[&str]) {
        let (selection, others) = read(text);
        assert_eq!(told(&selection), blocks);
        assert_eq!(others, unknown);
    }

    #[test]
    fn a_word_that_is_no_selector_is_a_file() {
        assert_eq!(read("selection.txt").0, Selection::File("selection.txt".into()));
    }

    #[test]
    fn a_file_takes_headers_too() {
        let (selection, unknown) = of_file("Minimum Latency Microseconds,MEAN_LATENCY\n\nTHROUGHPUT UUID\nnothing\n");
        assert_eq!(told(&selection), [vec!["MIN_LATENCY", "MEAN_LATENCY"], vec!["THROUGHPUT", "UUID"], vec![]]);
        assert_eq!(unknown, ["nothing"]);
    }

    #[test_case(Test::TcpStream, 6)]
    #[test_case(Test::TcpMaerts, 6)]
    #[test_case(Test::TcpCc, 9)]
    #[test_case(Test::UdpRr, 9)]
    fn every_name_of_a_default_is_a_selector(test: Test, count: usize) {
        assert_eq!(default(test.direction(), false).len(), count);
        assert_eq!(default(test.direction(), true).len(), count + CPU.len());
    }
}
