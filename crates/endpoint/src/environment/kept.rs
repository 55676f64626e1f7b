//! Facts of a host that are kept until a later reading: facts that two of them share stand in memory once. A reflector
//! keeps them for each session, and hardly anything differs between them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use measure::environment::Environment;

/// The latest facts that were unlike those before them: what the next reading is compared with. They stand as long as a reading
/// that has them is kept.
static LATEST: Mutex<Weak<Environment>> = Mutex::new(Weak::new());

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
        let base = latest.upgrade().and_then(|common| Some((own_settings(&common, &facts)?, common)));
        if let Some((own, common)) = base {
            return Self { common, own };
        }
        let common = Arc::new(facts);
        *latest = Arc::downgrade(&common);
        Self { common, own: BTreeMap::new() }
    }

    /// The facts as they were.
    pub(super) fn whole(&self) -> Environment {
        let mut facts = Environment::clone(&self.common);
        facts.settings.extend(self.own.clone());
        facts
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
}
