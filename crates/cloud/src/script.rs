//! The commands that would be run, for people to read and to copy into a shell.

use std::fmt::Write;

use crate::answer::picked;
use crate::resource::{Resource, levels, placeholders};
use crate::vendor::Vendor;

/// The commands that make `resources`, each identifier taken over into a variable, and, as a comment, those that remove them.
pub fn script(vendor: &Vendor, account: Option<&str>, resources: &[Resource]) -> String {
    let mut text = String::from("# what would be run; nothing was\nset -e\n");
    for (name, value) in vendor.tool.environment {
        let _ = writeln!(text, "export {name}={}", quoted(value));
    }
    let order = levels(resources.iter()).concat();
    let ordered = || order.iter().filter_map(|key| resources.iter().find(|resource| resource.key == *key));
    for resource in ordered() {
        let _ = writeln!(text, "\n# {}", resource.what);
        text.push_str(&making(vendor, account, resource));
    }
    text.push_str("\n# to remove it again:\n");
    for resource in order.iter().rev().filter_map(|key| resources.iter().find(|resource| resource.key == *key)) {
        if let Some(words) = &resource.delete {
            let _ = writeln!(text, "#   {}", line(vendor, &vendor.tool.whole(words, account)));
        }
    }
    text
}

fn making(vendor: &Vendor, account: Option<&str>, resource: &Resource) -> String {
    let find = &resource.find;
    let pick = |path: &str| line(vendor, &vendor.picking(&find.words, account, &picked(path)));
    let mut text = String::new();
    if let Some(words) = &resource.create {
        text.push_str(&line(vendor, &vendor.tool.whole(words, account)));
        text.push('\n');
    } else if find.reads.is_empty() {
        text.push_str(&line(vendor, &vendor.tool.whole(&find.words, account)));
        text.push('\n');
    }
    if let (Some(path), Some(good)) = (&find.state, find.good.first()) {
        let _ = writeln!(text, "until [ \"$({})\" = {} ]; do sleep 2; done", pick(path), quoted(good));
    }
    for read in find.reads.iter().filter(|read| read.is.is_none()) {
        let _ = writeln!(text, "{}=$({})", read.name, pick(&read.path));
    }
    text
}

/// A command with its program in front.
pub fn line(vendor: &Vendor, words: &[String]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    format!("{} {}", vendor.tool.program, quoted.join(" "))
}

/// A word as a shell takes it: placeholders stay variables, everything else stands for itself.
pub fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:@=,+%".contains(letter);
    if placeholders(word).any(|name| !name.is_empty()) {
        let inner = word.replace('\\', "\\\\").replace('"', "\\\"").replace('`', "\\`");
        return format!("\"{inner}\"");
    }
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_shell_reads_the_words_again() {
        for word in
            ["plain", "", "a b", "it's", "Tags=[{Key=a,Value=b}]", "#!/bin/sh\nshutdown", "*", "~x", "\\", "a\"b`c"]
        {
            let output = Command::new("sh").args(["-c", &format!("printf %s {}", quoted(word))]).output().unwrap();
            assert_eq!(String::from_utf8_lossy(&output.stdout), word);
        }
        let script = format!("printf %s {}", quoted("a=\"$ID\""));
        let output = Command::new("sh").env("ID", "x y").args(["-c", &script]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "a=\"x y\"");
    }
}
