//! The pages of documentation: each link leads somewhere, and each translation follows the page that it translates.

use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use crate::tree::{File, files, root};

/// The Markdown files of the project.
fn pages() -> Vec<File> {
    let is_page = |file: &File| Path::new(&file.path).extension().is_some_and(|extension| extension == "md");
    files().into_iter().filter(is_page).collect()
}

/// The lines of a page outside of fenced blocks, without code spans, with their numbers.
fn prose(text: &str) -> Vec<(usize, String)> {
    let mut fenced = false;
    let mut lines = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            lines.push((index + 1, line.split('`').step_by(2).collect()));
        }
    }
    lines
}

/// The targets of the links in a line.
fn targets(line: &str) -> Vec<&str> {
    line.split("](").skip(1).filter_map(|rest| rest.split(')').next()).collect()
}

/// The anchors of a page's headings, as they are made for links.
fn anchors(text: &str) -> Vec<String> {
    let mut fenced = false;
    let heading = |line: &str| {
        let title = line.trim_start_matches('#').trim();
        let kept = title.to_lowercase().replace(' ', "-");
        kept.chars().filter(|c| c.is_alphanumeric() || "-_".contains(*c)).collect()
    };
    let is_heading = |line: &&str| {
        fenced ^= line.starts_with("```");
        !fenced && line.starts_with('#')
    };
    text.lines().filter(is_heading).map(heading).collect()
}

/// A path without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    plain
}

/// Complaints about the links of one page, whose targets `read` finds: text for a file, `None` for what is not there.
fn complaints(page: &File, read: impl Fn(&Path) -> Option<String>) -> Vec<String> {
    let folder = Path::new(&page.path).parent().unwrap_or(Path::new(""));
    let mut complaints = Vec::new();
    for (number, line) in prose(&page.text) {
        for target in targets(&line).into_iter().filter(|target| !target.contains("://")) {
            let (path, anchor) = target.split_once('#').map_or((target, None), |(path, anchor)| (path, Some(anchor)));
            let there = if path.is_empty() { Some(page.text.clone()) } else { read(&plain(&folder.join(path))) };
            match (there, anchor) {
                (None, _) => complaints.push(format!("{}:{number}: {target}: there is no such file", page.path)),
                (Some(text), Some(anchor)) if !anchors(&text).iter().any(|one| one == anchor) => {
                    complaints.push(format!("{}:{number}: {target}: there is no such heading", page.path));
                }
                _ => {}
            }
        }
    }
    complaints
}

#[test]
fn every_link_leads_somewhere() {
    let read = |path: &Path| {
        let path = root().join(path);
        if path.is_dir() {
            Some(String::new())
        } else {
            fs::read(path).ok().map(|text| String::from_utf8_lossy(&text).into_owned())
        }
    };
    let pages = pages();
    assert!(pages.iter().any(|page| !targets(&page.text).is_empty()), "no links are found");
    let complaints: Vec<String> = pages.iter().flat_map(|page| complaints(page, read)).collect();
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn a_link_to_nowhere_is_a_complaint() {
    let read =
        |path: &Path| (path == Path::new("docs/a.md")).then(|| "# One, two: `three`\n```\n# four\n```".to_owned());
    let said = |text: &str| complaints(&File::of("docs/how/page.md", text), read).len();
    assert_eq!(said("[a](../a.md) [b](../a.md#one-two-three) [c](https://example.org/x)"), 0);
    assert_eq!(said("[a](a.md)"), 1);
    assert_eq!(said("[a](../a.md#four)"), 1);
    assert_eq!(said("`[a](a.md)`\n```\n[a](a.md)\n```"), 0);
    assert_eq!(said("# Here\n[a](#here) [b](#there)"), 1);
}

/// Page and revision that a translation follows, from its `<!-- follows PAGE REVISION -->`.
fn followed(text: &str) -> Option<(&str, &str)> {
    let comment = text.split_once("<!-- follows ")?.1.split_once(" -->")?.0;
    comment.split_once(' ')
}

/// Complaint about a translation, where the page that it follows has another revision than the one named.
fn outdated(page: &File, revision: impl Fn(&str) -> String) -> Option<String> {
    let Some((original, named)) = followed(&page.text) else {
        return Some(format!("{}: no line `<!-- follows PAGE REVISION -->` names the page it translates", page.path));
    };
    let now = revision(original);
    (!now.starts_with(named) || named.len() < 12).then(|| {
        let path = &page.path;
        format!(
            "{path}: {original} has moved on from {named}: see `git diff {named} {original}` (a revision that was \
             committed), translate the change, and write `<!-- follows {original} {} -->`",
            &now[..now.len().min(12)]
        )
    })
}

#[test]
fn every_translation_follows_its_page() {
    let revision = |path: &str| {
        let output = Command::new("git").args(["hash-object", path]).current_dir(root()).output();
        output.ok().map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    if revision("README.md").is_none() {
        return testbed::skip::aloud("the revisions that translations follow: no git");
    }
    let is_translation = |page: &File| page.path.ends_with(".ja.md") || page.path.starts_with("docs/ja/");
    let translations: Vec<File> = pages().into_iter().filter(is_translation).collect();
    assert!(!translations.is_empty(), "no translation is found");
    let late = translations.iter().filter_map(|page| outdated(page, |path| revision(path).unwrap_or_default()));
    let late: Vec<String> = late.collect();
    assert!(late.is_empty(), "{}", late.join("\n"));
}

#[test]
fn a_translation_of_an_older_page_is_a_complaint() {
    let of = |text: &str| outdated(&File::of("docs/ja/a.md", text), |_| "0123456789abcdef".to_owned());
    assert_eq!(of("<!-- follows docs/a.md 0123456789ab -->"), None);
    assert!(of("<!-- follows docs/a.md 0123 -->").is_some(), "too short to mean one revision");
    let told = of("<!-- follows docs/a.md ba9876543210 -->").unwrap();
    assert!(told.contains("docs/a.md has moved on") && told.contains("follows docs/a.md 0123456789ab"), "{told}");
    assert!(of("no line").is_some());
}
