//! Readings of a host that are kept until a later one: what two of them have in common stands in memory once. A reflector keeps
//! one for each session, and hardly anything differs between them.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use measure::environment::Environment;

use super::counters::Counters;

/// The latest facts and names of counters that were unlike those before them: what the next reading is compared with. They stand as
/// long as a reading that has them is kept.
static LATEST: Mutex<(Weak<Environment>, Weak<String>)> = Mutex::new((Weak::new(), Weak::new()));

/// Facts of a host.
#[derive(Debug)]
pub(super) struct Facts {
    common: Arc<Environment>,
    /// Settings that stand otherwise here than there; of those of `common` none is absent.
    own: BTreeMap<String, String>,
}

impl Facts {
    /// Keeps `facts`.
    pub(super) fn keep(facts: Environment) -> Self {
        let mut latest = LATEST.lock().unwrap_or_else(PoisonError::into_inner);
        let base = latest.0.upgrade().and_then(|common| Some((own_settings(&common, &facts)?, common)));
        if let Some((own, common)) = base {
            return Self { common, own };
        }
        let common = Arc::new(facts);
        latest.0 = Arc::downgrade(&common);
        Self { common, own: BTreeMap::new() }
    }

    /// The facts as they were.
    pub(super) fn whole(&self) -> Environment {
        let mut facts = Environment::clone(&self.common);
        facts.settings.extend(self.own.clone());
        facts
    }

    /// The name of the interface that the host was looked at through.
    pub(super) fn interface(&self) -> Option<&str> {
        self.common.interface.as_ref().map(|interface| interface.name.as_str())
    }
}

/// Settings of `facts` that are not in `common`; `None` where anything else differs.
fn own_settings(common: &Environment, facts: &Environment) -> Option<BTreeMap<String, String>> {
    let rest = |facts: &Environment| Environment { settings: BTreeMap::new(), ..facts.clone() };
    let has_all = common.settings.keys().all(|name| facts.settings.contains_key(name));
    let differs = |(name, value): &(&String, &String)| common.settings.get(*name) != Some(*value);
    (has_all && rest(common) == rest(facts))
        .then(|| facts.settings.iter().filter(differs).map(|(name, value)| (name.clone(), value.clone())).collect())
}

/// Counters of a host.
#[derive(Debug)]
pub(super) struct Counts {
    /// Their names, a line each.
    names: Arc<String>,
    /// Their values, a line each: most are 0, so that this is a quarter of the numbers' size.
    values: Box<str>,
}

impl Counts {
    /// Keeps `counters`.
    pub(super) fn keep(counters: Counters) -> Self {
        let (mut names, mut values) = (String::new(), String::new());
        for (name, value) in counters {
            // Writing to a string does not fail.
            let _written = writeln!(names, "{name}").and_then(|()| writeln!(values, "{value}"));
        }
        let mut latest = LATEST.lock().unwrap_or_else(PoisonError::into_inner);
        let names = latest.1.upgrade().filter(|common| **common == names).unwrap_or_else(|| names.into());
        latest.1 = Arc::downgrade(&names);
        Self { names, values: values.into_boxed_str() }
    }

    /// The counters as they were.
    pub(super) fn whole(&self) -> Counters {
        let pairs = self.names.lines().zip(self.values.lines());
        pairs.filter_map(|(name, value)| Some((name.to_owned(), value.parse().ok()?))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_comes_back_whatever_was_kept_before() {
        let of = |program: &str, settings: &[(&str, &str)]| Environment {
            program: program.to_owned(),
            settings: settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
            ..Environment::default()
        };
        let readings = [
            of("one", &[("a", "1"), ("b", "2")]),
            of("one", &[("a", "1"), ("b", "3")]),
            of("one", &[("a", "1")]),
            of("two", &[("a", "1"), ("c", "2")]),
            of("one", &[("a", "4"), ("b", "2"), ("c", "5")]),
            of("one", &[]),
        ];
        let kept: Vec<Facts> = readings.iter().cloned().map(Facts::keep).collect();
        assert_eq!(kept.iter().map(Facts::whole).collect::<Vec<_>>(), readings);
    }

    #[test]
    fn counters_come_back_by_name() {
        let of = |counters: &[(&str, i64)]| -> Counters {
            counters.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
        };
        let readings = [of(&[("a", 1), ("b", 2)]), of(&[("a", 3), ("b", -2)]), of(&[("b", 2)]), of(&[])];
        let kept: Vec<Counts> = readings.iter().cloned().map(Counts::keep).collect();
        assert_eq!(kept.iter().map(Counts::whole).collect::<Vec<_>>(), readings);
    }
}
