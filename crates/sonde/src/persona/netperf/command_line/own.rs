//! Options of our own, by long names, which the original has none of: whoever does not ask for them gets what it gives.

use std::ops::RangeInclusive;

use crate::command::value::SampleFile;
use crate::persona::answer::Answer;
use crate::persona::netperf::command_line::draft::Draft;
use crate::persona::netperf::command_line::usage;
use crate::persona::netperf::options::Passphrase;
use crate::persona::own;

/// Long names without a value. They stand before or behind `--`.
pub const PLAIN: &[&str] = &["json", "help", "version"];
/// Long names with one.
pub const VALUED: &[&str] = &["record", "samples", "pacing", "buckets", "passphrase-file"];

/// Columns that a row of the histogram may have.
const BUCKETS: RangeInclusive<u16> = 10..=10_000;
/// The error for another number.
pub const BUCKETS_WANTED: &str = "takes the columns of each row of the histogram, 10 to 10000";

/// Reads a number of columns.
pub fn buckets(text: &str) -> Option<u16> {
    text.parse().ok().filter(|count| BUCKETS.contains(count))
}

/// Takes one of them.
///
/// # Errors
/// The help or the version where that was asked for; a value that makes no sense.
pub fn apply(draft: &mut Draft, name: &str, value: &str) -> Result<(), Answer> {
    let refused = |why: &str| Answer::refusal(&draft.program, &format!("--{name} {value}"), why);
    match name {
        "json" => draft.options.own.json = true,
        "record" => draft.options.own.record = Some(value.into()),
        "samples" => {
            let file: Result<SampleFile, String> = value.parse();
            draft.options.own.samples = Some(file.map_err(|why| refused(&why))?);
        }
        "pacing" => {
            let pacing = own::pacing(value).ok_or_else(|| refused(own::PACINGS))?;
            draft.options.own.pacing = Some(pacing);
        }
        "buckets" => draft.options.own.buckets = Some(buckets(value).ok_or_else(|| refused(BUCKETS_WANTED))?),
        "passphrase-file" => draft.options.passphrase = Some(Passphrase::File(value.into())),
        "version" => return Err(usage::version()),
        _ => return Err(Answer::said(usage::GLOBAL, 0)),
    }
    Ok(())
}
