//! Forms of lines: each has that of some line that the original prints in the same kind of test.

use std::collections::HashSet;
use std::path::Path;

/// A file of the fixtures.
pub fn fixture(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/iperf3").join(name);
    std::fs::read_to_string(path).expect("a fixture")
}

/// A line with every number alike, and every unit. Columns are tested to the byte where text is made; here words, signs,
/// their order and the blanks at the end count.
fn skeleton(line: &str) -> String {
    let words = line.split_whitespace().map(|word| {
        let mut shape = String::new();
        for letter in word.chars() {
            let number = shape.ends_with('9');
            match letter {
                digit if digit.is_ascii_digit() && !number => shape.push('9'),
                digit if digit.is_ascii_digit() => {}
                '.' if number => {}
                other => shape.push(other),
            }
        }
        match ["Bytes", "bits/sec", "Bytes/sec"]
            .into_iter()
            .find(|unit| shape.ends_with(unit) && shape.len() <= unit.len() + 1)
        {
            Some(unit) => unit.to_owned(),
            None => shape,
        }
    });
    let blanks = line.len() - line.trim_end().len();
    let words: Vec<String> = words.collect();
    // The name is a matter of the machine.
    let words = if words.first().is_some_and(|word| word.ends_with("_tcp_congestion")) { &words[..1] } else { &words };
    // A number in brackets may touch them.
    format!("{}/{blanks}", words.join(" ").replace("[ ", "["))
}

/// Lines that 3.12 was seen to print, and no fixture has: the sum of several senders of datagrams; and the one in place of a
/// loss where the server does not tell how much of it fell into the time that was left out, as it does on a busy machine.
const ALSO: [&str; 3] = [
    "[SUM]   0.00-1.00   sec  1.00 MBytes  8.39 Mbits/sec  32  ",
    "[SUM]   0.00-1.01   sec  1.00 MBytes  8.34 Mbits/sec  0.000 ms  0/32 (0%)  sender",
    "[  5]   0.00-1.00   sec  1.00 MBytes  8.39 Mbits/sec  0.003 ms  Unknown/32  receiver",
];

/// The first line that no line of these fixtures resembles.
pub fn stranger(printed: &str, models: &[&str]) -> Option<String> {
    let models: String = models.iter().map(|name| fixture(name)).collect();
    let known: HashSet<String> = models.lines().chain(ALSO).map(skeleton).collect();
    // The program and the system it runs on are named in other words.
    let ours = |line: &&str| {
        !line.contains("(sonde ")
            && !line.starts_with("Linux ")
            && !line.starts_with("Time: ")
            && !line.contains("Cookie: ")
    };
    printed.lines().filter(ours).find(|line| !known.contains(&skeleton(line))).map(str::to_owned)
}

#[test]
fn a_line_of_the_original_is_no_stranger_and_another_is() {
    let models = ["01-tcp-default.txt"];
    let alike = "[ 11]   0.00-2.00   sec   100 MBytes   430 Mbits/sec  100   95.0 KBytes       \n";
    assert_eq!(stranger(alike, &models), None);
    for line in ["[ 11]   0.00-2.00   sec  1.00 GBytes  4.30 Gbits/sec", "iperf done.", "[  5] 0.00-1.0 sec"] {
        assert_eq!(stranger(line, &models).as_deref(), Some(line));
    }
}
