//! The past of a cell for the page.

use std::sync::{Mutex, PoisonError};

use anyhow::Result;
use logbook::monitor::talk::Over;

use crate::centre::cells::Minute;
use crate::serve::http::{By, CellQuery, Interval, Past};
use crate::store::place::open;
use crate::store::{Cell, LATEST, Level, Purpose, Store};

/// Reads from a store that it opens when it is first asked.
pub struct CellPast {
    named: Option<String>,
    store: Mutex<Option<Box<dyn Store>>>,
}

impl CellPast {
    /// One that reads the store that `named` names.
    pub fn new(named: Option<String>) -> Self {
        Self { named, store: Mutex::new(None) }
    }
}

impl Past for CellPast {
    fn cell(&self, query: &CellQuery, most: usize) -> Result<Vec<Interval>> {
        let mut held = self.store.lock().unwrap_or_else(PoisonError::into_inner);
        let store = match &mut *held {
            Some(store) => store,
            none => none.insert(open(self.named.as_deref(), Purpose::Read)?),
        };
        let cell = Cell { from: query.from.clone(), to: query.to.clone(), over: query.over.unwrap_or(Over::Udp) };
        let level = match query.by {
            By::Minute => Level::Minute,
            By::Hour => Level::Hour,
            By::Day => Level::Day,
        };
        let until = query.until.unwrap_or(LATEST).min(LATEST);
        let since =
            level.start(query.since).max(until.min(crate::centre::now()).saturating_sub(most as u64 * level.seconds()));
        let found = store.history(&cell, level, since, until);
        let rows = match found {
            Ok(rows) => rows,
            Err(error) => {
                // A store that failed is in no known state: the next question opens it anew.
                *held = None;
                return Err(error.into());
            }
        };
        let skipped = rows.len().saturating_sub(most);
        Ok(rows.into_iter().skip(skipped).map(|(at, span)| interval(at, &span)).collect())
    }
}

fn interval(at: u64, span: &measure::span::Span) -> Interval {
    let minute = Minute::of(at, span);
    Interval {
        at,
        p50_ns: minute.p50,
        p99_ns: minute.p99,
        max_ns: span.max.map(|max| max.0),
        sent: minute.sent,
        lost: minute.lost,
        lost_out: span.lost_out,
        lost_back: span.lost_back,
        disturbed: span.disturbed,
        buckets: span.times.buckets().collect(),
    }
}
