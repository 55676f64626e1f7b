//! Texts and documents held against those of the original, each made from its own numbers.

mod documents;
mod fields;
mod keys;
mod reading;
mod rows;

use crate::persona::iperf3::output::tests::reading::Read;
use crate::persona::iperf3::output::{interval, start, summary};
use crate::persona::iperf3::transcript::{Run, runs, served};
use testbed::form::same_line;

/// Output of ours for a test that was read of the original's.
fn printed(read: &Read) -> String {
    let Read { test, groups, summary, style, .. } = read;
    let reverse = read.text.contains("Reverse mode");
    let mut text = read.before.clone() + &start::agreed(test, reverse, style.verbose);
    text += &start::streams(test, style.verbose);
    for (place, slices) in groups.iter().enumerate() {
        text += &interval::text(test, slices, place == 0, *style);
    }
    if let Some(summary) = summary {
        text += &summary::text(test, summary, *style);
    }
    text
}

/// Lines are the same to the byte, except those of sums, whose parts were rounded: these have the same form.
fn assert_same(model: &str, seen: &str, what: &str) {
    for (model, seen) in model.lines().zip(seen.lines()) {
        if model.starts_with("[SUM]") && model.contains(" sec  ") && !model.contains("out-of-order") {
            same_line(model, seen).unwrap_or_else(|why| panic!("{what}: {why}\n{model}\n{seen}"));
        } else {
            assert_eq!(seen, model, "{what}");
        }
    }
    assert_eq!(seen.lines().count(), model.lines().count(), "{what}: lines of\n{model}\nand\n{seen}");
}

/// Every line of a client's and of a server's text comes out again.
#[test]
fn text_is_that_of_the_original() {
    let (mut clients, mut tests) = (0, 0);
    for Run { file, words, stdout } in runs() {
        let what = format!("{file}: iperf3 {}", words.join(" "));
        if words.first().is_some_and(|word| word == "-s") {
            // An interrupted test is printed by a real server with rows twice.
            for test in served(&stdout).iter().filter(|_| !file.starts_with("16")).filter(|test| test.contains(" sec "))
            {
                let read = Read::of(test, &words);
                assert_same(&read.text, &printed(&read), &what);
                tests += 1;
            }
        } else if stdout.contains(" sec ") {
            let read = Read::of(&stdout, &words);
            let output = read.server_output.as_deref();
            assert_same(
                &read.text,
                &(printed(&read) + &if read.done { summary::done(output) } else { String::new() }),
                &what,
            );
            clients += 1;
        }
    }
    assert!(clients >= 20 && tests >= 30, "{clients} clients, {tests} tests of servers");
}
