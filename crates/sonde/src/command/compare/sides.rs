//! Sides: measuring commands, or stored records.

use std::fs;
use std::path::{Path, PathBuf};

use logbook::read::Document;
use logbook::record::Record;
use logbook::store;

use crate::command::study::words::{Words, meant};
use crate::failure::Failure;

/// One side, as it was given.
#[derive(Clone, Debug, PartialEq)]
pub enum Side {
    /// To be measured.
    Live(Words),
    /// Measured before.
    Stored {
        /// As it was given.
        name: String,
        /// Each file and its record.
        records: Vec<(PathBuf, Record)>,
    },
}

/// The sides in these texts.
///
/// # Errors
/// A text that is neither, records that cannot be read, and sides of both kinds.
pub fn read(texts: &[String], common: Option<&Words>) -> Result<Vec<Side>, Failure> {
    let sides = texts.iter().map(|text| one(text, common)).collect::<Result<Vec<_>, _>>()?;
    let live = sides.iter().filter(|side| matches!(side, Side::Live(_))).count();
    if live != 0 && live != sides.len() {
        let what = "one side is live and another is stored: changes between the two times would count as a difference";
        return Err(
            Failure::usage(what).hint("measure both sides now, or store this one first (sonde rtt -o FILE.json)")
        );
    }
    Ok(sides)
}

fn one(text: &str, common: Option<&Words>) -> Result<Side, Failure> {
    let files: Vec<PathBuf> = text.split(',').map(PathBuf::from).collect();
    if !files.iter().all(|file| file.exists()) {
        // A path that is not there must not be asked for as a host; a URL is one that is asked.
        let missing = files.iter().find(|file| !file.exists() && looks_like_file(file));
        if let Some(missing) = missing.filter(|_| !text.contains(char::is_whitespace) && !text.contains("://")) {
            let name = missing.display().to_string();
            return Err(Failure::usage(format!("{name}: there is no such file")).about(name));
        }
        let words = Words::read(text)?;
        if let (Some(host), Some(_)) = (&words.host, common.and_then(|common| common.host.as_ref())) {
            // Beside a host for all sides, a word that is nearly a method's name is no host.
            if let Some(name) = meant(host) {
                let what = format!("`{host}` is neither a method nor options, and --with names the host");
                return Err(Failure::usage(what).hint(format!("did you mean {name}?")).about(text.to_owned()));
            }
        }
        return Ok(Side::Live(common.map_or(words.clone(), |common| words.with(common))));
    }
    let mut records = Vec::new();
    for file in files {
        if file.is_dir() {
            for file in inside(&file)? {
                records.extend(of_file(&file)?);
            }
        } else {
            records.extend(of_file(&file)?);
        }
    }
    Ok(Side::Stored { name: text.to_owned(), records })
}

fn looks_like_file(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "json" || ending == "jsonl")
        || path.components().count() > 1
        || path.to_string_lossy().ends_with('/')
}

/// The records' files in a folder, by name: names sort by time.
fn inside(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let name = folder.display().to_string();
    let unread = |error: std::io::Error| Failure::usage(format!("{name}: cannot read the folder: {error}"));
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .map_err(unread)?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|ending| ending == "json" || ending == "jsonl"))
        .collect();
    files.sort();
    if files.is_empty() {
        return Err(
            Failure::usage(format!("{name} holds no record")).hint("name a folder with .json or .jsonl records")
        );
    }
    Ok(files)
}

/// The records in a file: one, or those of a study of one setting.
fn of_file(file: &Path) -> Result<Vec<(PathBuf, Record)>, Failure> {
    let name = || file.display().to_string();
    let document = store::read_document(file).map_err(|error| Failure::from(error).about(name()))?;
    match document {
        Document::Record(record) => Ok(vec![(file.to_owned(), *record)]),
        Document::Study(study) if study.settings.len() == 1 => {
            let records = study.trials.into_iter().filter_map(|trial| trial.record);
            Ok(records.map(|record| (file.to_owned(), *record)).collect())
        }
        Document::Study(study) => {
            let what = format!("{}: a study of {} settings is not a side", name(), study.settings.len());
            Err(Failure::usage(what).hint("`sonde show` prints its result"))
        }
        Document::Look(_) => {
            let what = format!("{}: a quick survey is not a side: its exchanges took turns with others", name());
            Err(Failure::usage(what).hint("compare measurements of one protocol (sonde rtt -o FILE.json)"))
        }
        Document::Run(_) => {
            let what = format!("{}: a run of a plan is compared with another run alone", name());
            Err(Failure::usage(what).hint("give two runs (`sonde runs` lists them), or two sides of records"))
        }
        Document::Search(_) => {
            let what = format!("{}: a search for a rate is not a side: its probes were made at many rates", name());
            Err(Failure::usage(what).hint("compare loads at one rate (sonde load --rate)"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_make_a_live_side_with_what_is_common() {
        let common = Words::read("db1 --every 1ms").unwrap();
        let sides = read(&["--icmp".to_owned(), "db2 --udp".to_owned()], Some(&common)).unwrap();
        let told: Vec<String> = sides
            .iter()
            .map(|side| match side {
                Side::Live(words) => words.words().join(" "),
                Side::Stored { name, .. } => name.clone(),
            })
            .collect();
        assert_eq!(told, ["rtt db1 --icmp --every 1ms", "rtt db2 --udp --every 1ms"]);
    }

    #[test]
    fn urls_are_asked() {
        let urls = ["http://db1:8001/", "http://db2/a,b.json"].map(str::to_owned);
        let sides = read(&urls, None).unwrap();
        let live = |side: &Side| if let Side::Live(words) = side { words.words().join(" ") } else { String::new() };
        assert_eq!(sides.iter().map(live).collect::<Vec<_>>(), ["rtt http://db1:8001/", "rtt http://db2/a,b.json"]);
    }

    #[test]
    fn files_that_are_not_there_are_no_hosts() {
        for text in ["before.json", "runs/", "a/b.json,c.json"] {
            let failure = read(&[text.to_owned(), "db1".to_owned()], None).unwrap_err();
            assert!(failure.told.what.ends_with("there is no such file"), "{}", failure.told.what);
        }
    }

    #[test]
    fn a_folder_without_records_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let failure = read(&[folder.path().display().to_string(), "db1".to_owned()], None).unwrap_err();
        assert!(failure.told.what.contains("holds no record"), "{}", failure.told.what);
    }
}
