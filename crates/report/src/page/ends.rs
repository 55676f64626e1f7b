//! Both ends of a measurement: side by side, or machine by machine where many measurements share them.

use std::collections::BTreeMap;

use logbook::record::Record;
use measure::environment::{Disturbance, Environment};

use super::facts;
use super::html::Html;
use super::table::{Row, Table};

/// Both ends of `record` side by side, and what happened on them meanwhile.
pub(super) fn tell(html: &mut Html, record: &Record) {
    let ends = [&record.ours, &record.theirs];
    if ends.iter().all(|end| end.is_none()) {
        html.element("p", "class=\"faint\"", "No facts of either host were read.");
        return;
    }
    let both = |of: fn(&Environment) -> Vec<(String, String)>| ends.map(|end| end.as_ref().map(of).unwrap_or_default());
    let (telling, further) = apart(both(machine), |name| !FURTHER.iter().any(|start| name.starts_with(start)));
    side_by_side(html, "Facts of both hosts", &telling);
    let (disturbed, counted) = apart(both(meanwhile), |name| !name.contains('.'));
    side_by_side(html, "During the measurement", &disturbed);
    html.details("Every setting and counter of both hosts that was read", |html| {
        side_by_side(html, "Further facts of both hosts", &further);
        side_by_side(html, "Counters of their kernels that changed during the run", &counted);
    });
}

/// Facts that are looked up and not read: each is a page of its own.
const FURTHER: [&str; 3] = ["settings", "interface offloads", "not readable"];

/// Facts of both ends.
type Both = [Vec<(String, String)>; 2];

/// Those that are asked for by their names, and the others.
fn apart(both: Both, asked: impl Fn(&str) -> bool) -> (Both, Both) {
    let [ours, theirs] = both.map(|end| end.into_iter().partition(|(name, _)| asked(name)));
    let (ours, theirs): ((Vec<_>, Vec<_>), (Vec<_>, Vec<_>)) = (ours, theirs);
    ([ours.0, theirs.0], [ours.1, theirs.1])
}

fn side_by_side(html: &mut Html, caption: &str, ends: &Both) {
    let mut names: Vec<&String> = Vec::new();
    for (name, _) in ends.iter().flatten() {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let of = |end: &Vec<(String, String)>, name: &String| {
        let all: Vec<&str> = end.iter().filter(|(other, _)| other == name).map(|(_, text)| text.as_str()).collect();
        all.join("; ")
    };
    let row = |name: &&String| [(*name).clone(), of(&ends[0], name), of(&ends[1], name)].into_iter().collect::<Row>();
    let rows = names.iter().map(row).collect();
    let head = ["", "local host", "peer"].map(str::to_owned).to_vec();
    Table { caption: caption.to_owned(), head, rows, class: "facts" }.tell(html);
}

/// The facts of an end that stay the same from one measurement to the next.
pub(super) fn machine(end: &Environment) -> Vec<(String, String)> {
    let lasting = Environment {
        counters: BTreeMap::new(),
        changed: Vec::new(),
        disturbance: None,
        unread: Vec::new(),
        ..end.clone()
    };
    let mut told = facts::of(&lasting);
    told.retain(|(_, text)| !text.is_empty());
    told.extend(end.unread.iter().map(|what| ("not readable".to_owned(), what.clone())));
    told
}

/// The facts of an end that changed while it measured.
fn meanwhile(end: &Environment) -> Vec<(String, String)> {
    let disturbance = end.disturbance.as_ref();
    let mut told = disturbance.map(|seen: &Disturbance| facts::of(seen)).unwrap_or_default();
    told.extend(end.counters.iter().map(|(name, change)| (name.clone(), format!("{change:+}"))));
    told.extend(end.changed.iter().map(|what| ("changed".to_owned(), what.clone())));
    told
}

/// Machines that took part, each once.
#[derive(Clone, Debug, Default)]
pub(super) struct Machines {
    known: Vec<Vec<(String, String)>>,
    places: BTreeMap<Vec<(String, String)>, usize>,
}

impl Machines {
    /// The number of this one, from 1.
    pub(super) fn number(&mut self, end: &Environment) -> usize {
        let facts = machine(end);
        if let Some(place) = self.places.get(&facts) {
            return place + 1;
        }
        self.known.push(facts.clone());
        self.places.insert(facts, self.known.len() - 1);
        self.known.len()
    }

    /// All of them.
    pub(super) fn tell(&self, html: &mut Html) {
        /// More than so many are told by their number alone: they are not what the page is read for.
        const MOST: usize = 200;
        if self.known.is_empty() {
            return;
        }
        html.raw("<section aria-labelledby=\"machines\">\n<h2 id=\"machines\">Machines</h2>\n");
        for (place, facts) in self.known.iter().take(MOST).enumerate() {
            let number = place + 1;
            html.raw(&format!("<div id=\"m{number}\">\n"));
            let rows = facts.iter().map(|(name, text)| [name, text].into_iter().cloned().collect::<Row>()).collect();
            let head = ["", "value"].map(str::to_owned).to_vec();
            Table { caption: format!("Machine {number}"), head, rows, class: "facts" }.tell(html);
            html.raw("</div>\n");
        }
        html.raw("</section>\n");
    }
}
