//! The resolved graph of all packages, from the JSON of `cargo metadata`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// All packages, and who uses whom.
#[derive(Debug)]
pub struct Graph {
    packages: BTreeMap<String, Package>,
    edges: Vec<Edge>,
}

/// One package.
#[derive(Debug)]
pub struct Package {
    pub name: String,
    /// Its source; `None`: this workspace.
    pub source: Option<String>,
    pub licence: Option<String>,
}

/// `from` uses `to`, in what it ships or in its tests alone.
#[derive(Debug)]
struct Edge {
    from: String,
    to: String,
    ships: bool,
}

impl Graph {
    pub fn read(metadata: &Value) -> Self {
        let packages = list(&metadata["packages"]).map(|package| (text(&package["id"]), Package::read(package)));
        let edges = list(&metadata["resolve"]["nodes"]).flat_map(|node| {
            list(&node["deps"]).map(|dependency| Edge {
                from: text(&node["id"]),
                to: text(&dependency["pkg"]),
                ships: list(&dependency["dep_kinds"]).any(|kind| kind["kind"].is_null()),
            })
        });
        Self { packages: packages.collect(), edges: edges.collect() }
    }

    /// The packages that are not of this workspace.
    pub fn others(&self) -> impl Iterator<Item = &Package> {
        self.packages.values().filter(|package| package.source.is_some())
    }

    /// Names of the packages that use one named `name` directly.
    pub fn users_of(&self, name: &str) -> BTreeSet<String> {
        let used = |edge: &&Edge| self.name(&edge.to) == name;
        self.edges.iter().filter(used).map(|edge| self.name(&edge.from).to_owned()).collect()
    }

    /// Returns true where the shipped dependencies of the package named `from` hold one named `name`, over however many
    /// others.
    pub fn ships(&self, from: &str, name: &str) -> bool {
        let mut reached: BTreeSet<&str> =
            self.packages.keys().map(String::as_str).filter(|id| self.name(id) == from).collect();
        let mut open: Vec<&str> = reached.iter().copied().collect();
        while let Some(id) = open.pop() {
            let next = self.edges.iter().filter(|edge| edge.ships && edge.from == id).map(|edge| edge.to.as_str());
            open.extend(next.filter(|to| reached.insert(to)));
        }
        reached.iter().any(|id| self.name(id) == name)
    }

    fn name(&self, id: &str) -> &str {
        &self.packages[id].name
    }
}

impl Package {
    fn read(package: &Value) -> Self {
        let optional = |value: &Value| value.as_str().map(str::to_owned);
        Self {
            name: text(&package["name"]),
            source: optional(&package["source"]),
            licence: optional(&package["license"]),
        }
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().expect("cargo metadata gives a list here").iter()
}

fn text(value: &Value) -> String {
    value.as_str().expect("cargo metadata gives text here").to_owned()
}
