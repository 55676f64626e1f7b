//! Ansible's groups: hosts, variables and further groups in them, and what a host has of all this.
//!
//! A variable of a host comes before one of its group, one of a group before one of the groups that have it as a child; `all` has
//! every host. Labels are `group`, the group that lists the host first, and `groups`, all of them where there are several.

use std::collections::{BTreeMap, BTreeSet};

use super::facts::{Facts, MOST_VALUES, is_taken, too_many};
use super::range;
use crate::document::Fault;
use crate::inventory::bound::enough;
use crate::pairs::nearest;

/// Most groups.
const MOST_GROUPS: usize = 10_000;
/// Greatest number of mentions of hosts in all groups together.
const MOST_MENTIONS: usize = 100_000;
/// Variables of groups that hosts may take over, all of them together.
const MOST_TAKEN: usize = 500_000;
/// Greatest depth of groups in each other.
const DEEPEST: usize = 64;

/// Variables by name, each with its line.
pub(super) type Variables = BTreeMap<String, (String, usize)>;

/// Groups as they are listed.
#[derive(Debug, Default)]
pub(super) struct Groups {
    named: BTreeMap<String, Group>,
    hosts: Vec<Member>,
    places: BTreeMap<String, usize>,
    mentions: usize,
}

#[derive(Debug, Default)]
struct Group {
    variables: Variables,
    parents: BTreeSet<String>,
    line: usize,
    /// True where it is listed itself, not only named as a child or given variables.
    is_defined: bool,
}

#[derive(Debug)]
struct Member {
    name: String,
    line: usize,
    variables: Variables,
    /// Those that list it, in order.
    groups: Vec<String>,
}

impl Groups {
    /// That there is a group of this name.
    pub(super) fn group(&mut self, name: &str, line: usize) -> Result<(), Fault> {
        self.mention(name, line)?;
        if let Some(group) = self.named.get_mut(name) {
            group.is_defined = true;
        }
        Ok(())
    }

    /// That something is said of a group of this name, which stands elsewhere.
    pub(super) fn mention(&mut self, name: &str, line: usize) -> Result<(), Fault> {
        if !self.named.contains_key(name) {
            self.named.insert(name.to_owned(), Group { line, ..Group::default() });
        }
        let most =
            || Fault::new(line, format!("more than {MOST_GROUPS} groups"), "list only the groups that are measured");
        if self.named.len() > MOST_GROUPS { Err(most()) } else { Ok(()) }
    }

    /// A variable of a group.
    pub(super) fn variable(&mut self, group: &str, name: &str, value: &str, line: usize) -> Result<(), Fault> {
        self.mention(group, line)?;
        let taken = is_taken(name, value, true, line)?;
        if let Some(group) = self.named.get_mut(group).filter(|_| taken) {
            group.variables.insert(name.to_owned(), (value.to_owned(), line));
        }
        Ok(())
    }

    /// That `group` has another as its child.
    pub(super) fn child(&mut self, group: &str, child: &str, line: usize) -> Result<(), Fault> {
        self.group(group, line)?;
        self.mention(child, line)?;
        if group != "all"
            && let Some(child) = self.named.get_mut(child)
        {
            child.parents.insert(group.to_owned());
        }
        Ok(())
    }

    /// That `group` lists the hosts that `pattern` stands for, of which each has these variables.
    pub(super) fn host(&mut self, group: &str, pattern: &str, variables: &Variables, line: usize) -> Result<(), Fault> {
        self.group(group, line)?;
        let hint = "a range is written as web[01:10], db[a:f] or n[0:30:5]";
        let mut taken = Variables::new();
        for (name, (value, line)) in variables {
            if is_taken(name, value, true, *line)? {
                taken.insert(name.clone(), (value.clone(), *line));
            }
        }
        for name in range::expand(pattern).map_err(|why| Fault::new(line, why, hint))? {
            let place = *self.places.entry(name.clone()).or_insert(self.hosts.len());
            if place == self.hosts.len() {
                self.hosts.push(Member { name, line, variables: Variables::new(), groups: Vec::new() });
                enough(self.hosts.len(), line)?;
            }
            let member = &mut self.hosts[place];
            member.variables.extend(taken.iter().map(|(name, value)| (name.clone(), value.clone())));
            if member.variables.len() > MOST_VALUES {
                return Err(too_many(&member.name, line));
            }
            self.mentions += 1;
            if self.mentions > MOST_MENTIONS {
                let what = format!("hosts are listed more than {MOST_MENTIONS} times");
                return Err(Fault::new(line, what, "list only the groups that are measured"));
            }
            if !member.groups.iter().any(|known| known == group) {
                member.groups.push(group.to_owned());
            }
        }
        Ok(())
    }

    /// Facts of each host.
    pub(super) fn facts(self) -> Result<Vec<Facts>, Fault> {
        let stranger =
            |(name, group): &(&String, &Group)| !group.is_defined && !["all", "ungrouped"].contains(&name.as_str());
        if let Some((name, group)) = self.named.iter().filter(stranger).min_by_key(|(_, group)| group.line) {
            let defined = self.named.iter().filter(|(_, group)| group.is_defined).map(|(name, _)| name.as_str());
            let hint = match nearest(defined, name) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("list its hosts under `[{name}]`, or take it away here"),
            };
            return Err(Fault::new(group.line, format!("no group `{}` is listed", name.escape_debug()), hint));
        }
        let mut depths = BTreeMap::new();
        for name in self.named.keys() {
            self.depth(name, &mut depths, &mut Vec::new())?;
        }
        let mut taken = 0;
        self.hosts.iter().map(|member| self.of(member, &depths, &mut taken)).collect()
    }

    /// Number of groups that lie one in the other above `name`.
    fn depth(&self, name: &str, known: &mut BTreeMap<String, usize>, above: &mut Vec<String>) -> Result<usize, Fault> {
        if let Some(depth) = known.get(name) {
            return Ok(*depth);
        }
        let Some(group) = self.named.get(name) else { return Ok(0) };
        if above.iter().any(|other| other == name) || above.len() >= DEEPEST {
            let what = format!("group `{name}` is a child of itself, or lies in more than {DEEPEST} others");
            return Err(Fault::new(group.line, what, "take one of the children away"));
        }
        above.push(name.to_owned());
        let mut depth = 0;
        for parent in &group.parents {
            depth = depth.max(self.depth(parent, known, above)? + 1);
        }
        above.pop();
        known.insert(name.to_owned(), depth);
        Ok(depth)
    }

    fn of(&self, member: &Member, depths: &BTreeMap<String, usize>, taken: &mut usize) -> Result<Facts, Fault> {
        let mut facts = Facts::of_variables(&member.name, member.line);
        let mut above: BTreeSet<&str> = BTreeSet::new();
        let mut open: Vec<&str> = member.groups.iter().map(String::as_str).collect();
        while let Some(name) = open.pop() {
            if above.insert(name) {
                open.extend(
                    self.named.get(name).into_iter().flat_map(|group| group.parents.iter().map(String::as_str)),
                );
            }
        }
        above.remove("all");
        let mut ordered: Vec<&str> = above.into_iter().collect();
        ordered.sort_by_key(|name| (depths.get(*name).copied().unwrap_or(0), *name));
        let named: Vec<&str> = ordered.iter().copied().filter(|name| *name != "ungrouped").collect();
        if let Some(first) = member.groups.iter().find(|name| !["all", "ungrouped"].contains(&name.as_str())) {
            facts.tell("group", first, member.line)?;
        }
        if named.len() > 1 {
            facts.tell("groups", &named.join(","), member.line)?;
        }
        let of_groups = ["all"].into_iter().chain(ordered).filter_map(|name| self.named.get(name));
        for variables in of_groups.map(|group| &group.variables).chain([&member.variables]) {
            *taken += variables.len() + 1;
            if *taken > MOST_TAKEN {
                let what = format!("hosts have more than {MOST_TAKEN} variables of their groups");
                return Err(Fault::new(member.line, what, "leave away what says nothing of the network"));
            }
            for (name, (value, line)) in variables {
                facts.tell(name, value, *line)?;
            }
        }
        Ok(facts)
    }
}
