//! Finds what carries our tags by asking the cloud itself, and removes it: for runs of which no ledger tells.

use std::collections::BTreeMap;

use endpoint::clock::Monotonic;
use serde_json::Value;

use crate::answer::{each, marks, scalar};
use crate::call::Caller;
use crate::fault::{Fault, Kind};
use crate::resource::{Values, filled, words};
use crate::wanted::{EXPIRES, MADE, OWNER, RUN};

/// Search for everything of ours.
#[derive(Debug)]
pub struct Census {
    /// The words that list the regions, and the path to their names, where lists are per region.
    pub regions: Option<(&'static str, &'static str)>,
    /// Kinds of things that there may be, in the order in which they can be removed.
    pub listings: &'static [Listing],
}

/// One kind of thing.
#[derive(Debug)]
pub struct Listing {
    /// Name of the kind.
    pub what: &'static str,
    /// The words that list those of ours; `$REGION` where the lists are per region.
    pub list: &'static str,
    /// The path to the things in the answer.
    pub items: &'static str,
    /// Values that are read of each, by the names of placeholders; the first names it.
    pub reads: &'static [(&'static str, &'static str)],
    /// The words that remove it, one call after the other; a call for which something is not told is left out.
    pub deletes: &'static [&'static str],
}

/// A thing that carries our tags.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its kind and its name.
    pub what: String,
    /// The run that made it.
    pub run: String,
    /// Owner; absent where that cannot be read.
    pub owner: Option<String>,
    /// Time at which it was made, in seconds since 1970; absent where that cannot be read.
    pub made: Option<u64>,
    /// Time at which it may be removed, in seconds since 1970; absent where that cannot be read.
    pub expires: Option<u64>,
    values: Values,
    deletes: &'static [&'static str],
}

/// A thing, or a whole list, that could not be removed, with the fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// The thing.
    pub what: String,
    /// The fault.
    pub fault: Fault,
}

impl Census {
    /// The regions to ask: `asked`, or all there are; one without a name where the lists are of all regions at once.
    ///
    /// # Errors
    /// Fault of the call.
    pub fn regions(&self, asked: &[String], caller: &Caller) -> Result<Vec<String>, Fault> {
        match self.regions {
            None => Ok(vec![String::new()]),
            Some(_) if !asked.is_empty() => Ok(asked.to_vec()),
            Some((list, path)) => {
                let answer = caller.patient_json(&words(list, &[]))?;
                let names: Vec<String> = each(&answer, path).into_iter().filter_map(|name| scalar(name, "")).collect();
                if names.is_empty() { Err(Fault::new(Kind::Rubbish, "it lists no region")) } else { Ok(names) }
            }
        }
    }
}

impl Listing {
    /// The words that list, in this region.
    pub fn words(&self, region: &str) -> Vec<String> {
        let values = Values::from([("REGION".to_owned(), region.to_owned())]);
        // A list that is not per region has no placeholder.
        filled(&words(self.list, &[]), &values).unwrap_or_default()
    }

    /// Those of ours in an answer.
    ///
    /// # Errors
    /// It has not the form that is known: that is no word of there being none.
    pub fn read(&self, answer: &Value, region: &str) -> Result<Vec<Found>, Fault> {
        let (list, _) = self.items.split_once('*').unwrap_or((self.items, ""));
        if !each(answer, list).iter().all(|list| list.is_array()) || each(answer, list).is_empty() {
            return Err(Fault::new(Kind::Rubbish, format!("it listed no {}s but something else", self.what)));
        }
        let found = each(answer, self.items).into_iter().filter_map(|item| {
            let marks: BTreeMap<String, String> = marks(item);
            let run = marks.get(RUN)?.clone();
            let mut values = Values::from([("REGION".to_owned(), region.to_owned())]);
            let reads = self.reads.iter().filter_map(|(name, path)| Some(((*name).to_owned(), scalar(item, path)?)));
            values.extend(reads);
            let name = self.reads.first().and_then(|(name, _)| values.get(*name)).cloned().unwrap_or_default();
            let number = |mark: &str| marks.get(mark).and_then(|text| text.parse().ok());
            Some(Found {
                what: format!("{} {name}", self.what),
                run,
                owner: marks.get(OWNER).cloned(),
                made: number(MADE),
                expires: number(EXPIRES),
                values,
                deletes: self.deletes,
            })
        });
        Ok(found.collect())
    }
}

impl Found {
    /// The calls that remove it.
    pub fn calls(&self) -> Vec<Vec<String>> {
        self.deletes.iter().filter_map(|words_| filled(&words(words_, &[]), &self.values).ok()).collect()
    }
}

/// Everything of ours for which `which` holds.
///
/// # Errors
/// Fault of the first call that fails: a list that is not whole would be taken for one that is.
pub fn find(
    caller: &Caller,
    census: &Census,
    regions: &[String],
    which: &dyn Fn(&Found) -> bool,
) -> Result<Vec<Found>, Fault> {
    let mut all = Vec::new();
    for region in &census.regions(regions, caller)? {
        for listing in census.listings {
            let answer = caller.patient_json(&listing.words(region))?;
            all.extend(listing.read(&answer, region)?.into_iter().filter(which));
        }
    }
    Ok(all)
}

/// Removes everything of ours for which `which` holds, kind by kind, and tells what it removed and what it could not.
///
/// # Errors
/// Fault of the first list that cannot be had; everything removed until then is removed.
pub fn remove(
    caller: &Caller,
    census: &Census,
    regions: &[String],
    which: &dyn Fn(&Found) -> bool,
    tell: &dyn Fn(&str),
) -> Result<(Vec<Found>, Vec<Left>), Fault> {
    let (mut removed, mut left) = (Vec::new(), Vec::new());
    for region in &census.regions(regions, caller)? {
        for listing in census.listings {
            let list = || {
                let answer = caller.patient_json(&listing.words(region))?;
                Ok::<_, Fault>(listing.read(&answer, region)?.into_iter().filter(which).collect::<Vec<_>>())
            };
            let found = list()?;
            for thing in &found {
                tell(&format!("removing {} of run {}", thing.what, thing.run));
                if let Err(fault) = delete(caller, thing) {
                    left.push(Left { what: thing.what.clone(), fault });
                }
            }
            if found.is_empty() {
                continue;
            }
            let names: Vec<&String> = left.iter().map(|left| &left.what).collect();
            let still = wait_for_end(caller, list, &names)?;
            left.extend(
                still
                    .iter()
                    .map(|thing| Left { what: thing.what.clone(), fault: Fault::new(Kind::Hung, "it is still there") }),
            );
            let is_left = |thing: &Found| left.iter().any(|left| left.what == thing.what);
            removed.extend(found.into_iter().filter(|thing| !is_left(thing)));
        }
    }
    Ok((removed, left))
}

/// Waits until nothing is listed but what is `given_up`; what is there still at the end.
fn wait_for_end(
    caller: &Caller,
    list: impl Fn() -> Result<Vec<Found>, Fault>,
    given_up: &[&String],
) -> Result<Vec<Found>, Fault> {
    let until = Monotonic::now().after(caller.patience.ready);
    loop {
        let still: Vec<Found> = list()?.into_iter().filter(|thing| !given_up.contains(&&thing.what)).collect();
        if still.is_empty() || Monotonic::now() >= until || !caller.pause(caller.patience.look) {
            return Ok(still);
        }
    }
}

fn delete(caller: &Caller, thing: &Found) -> Result<(), Fault> {
    let calls = thing.calls();
    if calls.is_empty() {
        return Err(Fault::new(Kind::Rubbish, "its name cannot be read"));
    }
    calls.iter().try_for_each(|words| caller.delete(words))
}
