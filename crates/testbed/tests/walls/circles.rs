//! Circles: files of a crate that import each other round about, which can only be read together.
//!
//! A module and its children may be one, and a few files beside each other; not more, and never two folders. Tests are left out:
//! they may reach for anything.

use std::collections::{BTreeMap, BTreeSet};

use crate::lexis::code_of;
use crate::tree::{File, files};

/// So many files may import each other round about, at most.
const MOST: usize = 8;

/// A module by its names from the crate's root, which has none.
type Module = Vec<String>;

/// Imports between modules of one crate.
type Imports = BTreeMap<Module, BTreeSet<Module>>;

/// The module that a file of a crate's sources is; `None` for tests and what is no source.
fn module(path: &str) -> Option<Module> {
    let inner = path.split_once("/src/")?.1.strip_suffix(".rs")?;
    let names: Module = inner.split('/').map(str::to_owned).collect();
    let root = matches!(names.as_slice(), [only] if only == "lib" || only == "main");
    let tests = names.iter().any(|name| name == "tests");
    (!tests).then_some(if root { Module::new() } else { names })
}

/// The code without what is compiled for tests alone: an item behind `#[cfg(test)]`, to the brace or semicolon that ends it.
fn shipped(code: &str) -> String {
    let mut kept = String::new();
    let mut rest = code;
    while let Some((before, behind)) = rest.split_once("#[cfg(test)]") {
        kept.push_str(before);
        let mut depth = 0_usize;
        let end = behind.char_indices().find(|(_, c)| {
            match c {
                '{' => depth += 1,
                '}' => depth = depth.saturating_sub(1),
                _ => {}
            }
            depth == 0 && matches!(c, '}' | ';')
        });
        rest = end.map_or("", |(at, c)| &behind[at + c.len_utf8()..]);
    }
    kept + rest
}

/// A `use` without its groups: `a::{b, c::{d, e}}` is `a::b`, `a::c::d` and `a::c::e`.
fn leaves(tree: &str) -> Vec<String> {
    let Some((prefix, group)) = tree.split_once('{') else {
        let path = tree.split(" as ").next().unwrap_or(tree);
        return vec![path.split_whitespace().collect()];
    };
    let group = group.rsplit_once('}').map_or(group, |(inner, _)| inner);
    let (mut depth, mut begin, mut members) = (0_usize, 0, Vec::new());
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                members.push(&group[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    members.push(&group[begin..]);
    let prefix: String = prefix.split_whitespace().collect();
    let whole = members.iter().filter(|member| !member.trim().is_empty());
    whole.flat_map(|member| leaves(member.trim())).map(|leaf| format!("{prefix}{leaf}")).collect()
}

/// Paths that a file's code names: those of its `use`s, and those that stand in the code.
fn paths(code: &str) -> Vec<String> {
    let mut paths = Vec::new();
    let mut rest = String::new();
    for statement in code.split_inclusive(';') {
        let leads = |before: &str| {
            before
                .lines()
                .last()
                .is_none_or(|line| matches!(line.split(['(', ' ']).find(|word| !word.is_empty()), None | Some("pub")))
        };
        let begin = statement.rfind("use ").filter(|at| leads(&statement[..*at]));
        let (before, tree) = statement.split_at(begin.unwrap_or(statement.len()));
        rest.push_str(before);
        if let Some(tree) = tree.strip_prefix("use ") {
            paths.extend(leaves(tree.trim_end_matches(';')));
        }
    }
    let is_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    paths.extend(rest.split(|c| !is_path(c)).filter(|path| path.contains("::")).map(str::to_owned));
    paths
}

/// The module of `modules` that a path leads to, seen from `here`.
fn target(path: &str, here: &Module, modules: &BTreeSet<Module>) -> Option<Module> {
    let mut names = path.split("::").peekable();
    let mut at = match names.peek() {
        Some(&"crate") => Module::new(),
        Some(&"self" | &"super") => here.clone(),
        Some(name) if modules.contains(&[here.as_slice(), &[(*name).to_owned()]].concat()) => here.clone(),
        _ => return None,
    };
    for name in names {
        match name {
            "crate" | "self" => continue,
            "super" => {
                at.pop();
                continue;
            }
            _ => {}
        }
        let deeper = [at.as_slice(), &[name.to_owned()]].concat();
        if !modules.contains(&deeper) {
            break;
        }
        at = deeper;
    }
    (at != *here && modules.contains(&at)).then_some(at)
}

/// The imports of each crate whose sources these are.
fn imports(files: &[File]) -> BTreeMap<String, Imports> {
    let mut sources: BTreeMap<String, BTreeMap<Module, String>> = BTreeMap::new();
    for file in files.iter().filter(|file| file.is_rust()) {
        if let (Some(name), Some(module)) = (file.in_crate(), module(&file.path)) {
            sources.entry(name.to_owned()).or_default().insert(module, shipped(&code_of(&file.text)));
        }
    }
    let of = |sources: BTreeMap<Module, String>| -> Imports {
        let modules: BTreeSet<Module> = sources.keys().cloned().collect();
        let found = |(here, code): (&Module, &String)| {
            (here.clone(), paths(code).iter().filter_map(|path| target(path, here, &modules)).collect())
        };
        sources.iter().map(found).collect()
    };
    sources.into_iter().map(|(name, sources)| (name, of(sources))).collect()
}

/// All that is reached from `from`.
fn reached<'a>(imports: &'a Imports, from: &'a Module) -> BTreeSet<&'a Module> {
    let (mut reached, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(next) = open.pop() {
        open.extend(imports.get(next).into_iter().flatten().filter(|to| reached.insert(*to)));
    }
    reached
}

/// The circles: each the modules that reach each other.
fn circles(imports: &Imports) -> BTreeSet<BTreeSet<Module>> {
    let reached: BTreeMap<&Module, BTreeSet<&Module>> =
        imports.keys().map(|module| (module, reached(imports, module))).collect();
    let of = |module: &Module| -> BTreeSet<Module> {
        let back = |other: &&&Module| reached.get(**other).is_some_and(|there| there.contains(module));
        reached[module].iter().filter(back).map(|other| (*other).clone()).collect()
    };
    imports.keys().map(of).filter(|circle| circle.len() > 1).collect()
}

/// The imports between what lies beside each other in one folder, a folder being one with all that is in it.
fn between_neighbours(imports: &Imports, folder: &[String]) -> Imports {
    let neighbour = |module: &Module| -> Option<Module> {
        (module.len() > folder.len() && module.starts_with(folder)).then(|| module[..=folder.len()].to_vec())
    };
    let mut found = Imports::new();
    for (from, targets) in imports {
        let Some(from) = neighbour(from) else { continue };
        let others = targets.iter().filter_map(neighbour).filter(|to| *to != from);
        found.entry(from.clone()).or_default().extend(others);
    }
    found
}

fn complaints(files: &[File]) -> Vec<String> {
    let mut complaints = Vec::new();
    for (name, imports) in imports(files) {
        let told =
            |circle: &BTreeSet<Module>| circle.iter().map(|module| module.join("::")).collect::<Vec<_>>().join(", ");
        let large = circles(&imports).into_iter().filter(|circle| circle.len() > MOST);
        complaints.extend(
            large.map(|circle| {
                format!("{name}: {} files import each other round about: {}", circle.len(), told(&circle))
            }),
        );
        let folders: BTreeSet<&[String]> =
            imports.keys().filter_map(|module| module.split_last()).map(|(_, folder)| folder).collect();
        let is_folder = |module: &Module| folders.contains(module.as_slice());
        for folder in &folders {
            let between = circles(&between_neighbours(&imports, folder)).into_iter();
            let between = between.filter(|circle| circle.iter().filter(|module| is_folder(module)).count() > 1);
            complaints.extend(between.map(|circle| format!("{name}: folders import each other: {}", told(&circle))));
        }
    }
    complaints
}

#[test]
fn no_circle_is_large_and_none_joins_folders() {
    let complaints = complaints(&files());
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

/// Complaints about a crate of these files.
fn count(files: &[(&str, &str)]) -> usize {
    complaints(&files.iter().map(|(path, text)| File::of(&format!("crates/lab/src/{path}"), text)).collect::<Vec<_>>())
        .len()
}

#[test]
fn a_ring_of_nine_is_a_complaint_and_one_of_eight_is_none() {
    let ring = |length: usize| {
        let files = (0..length).map(|n| (format!("m{n}.rs"), format!("use crate::m{}::Thing;", (n + 1) % length)));
        let files: Vec<(String, String)> = files.collect();
        count(&files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect::<Vec<_>>())
    };
    assert_eq!((ring(8), ring(9)), (0, 1));
}

#[test]
fn folders_that_import_each_other_are_a_complaint() {
    let with = |more: &[(&str, &str)]| {
        count(&[&[("a.rs", ""), ("b.rs", ""), ("a/x.rs", "use crate::b::y::{Thing, Other};")], more].concat())
    };
    assert_eq!(with(&[("b/y.rs", ""), ("b/z.rs", "fn f() { crate::a::x::g() }")]), 1);
    assert_eq!(with(&[("b/y.rs", ""), ("b/z.rs", "use super::y;")]), 0);
    let tested = "#[cfg(test)]\nmod tests {\n    use crate::a::x::g;\n}\n";
    assert_eq!(with(&[("b/y.rs", tested), ("b/tests.rs", "use crate::a::x;")]), 0);
}

#[test]
fn every_way_to_name_a_module_is_an_import() {
    let modules: BTreeSet<Module> =
        [vec![], vec!["a".to_owned()], vec!["a".to_owned(), "b".to_owned()], vec!["c".to_owned()]].into();
    let from = |here: &[&str], code: &str| -> Vec<String> {
        let here: Module = here.iter().map(|name| (*name).to_owned()).collect();
        let found = paths(&shipped(code));
        found.iter().filter_map(|path| target(path, &here, &modules)).map(|module| module.join("::")).collect()
    };
    assert_eq!(from(&["c"], "use crate::{a::{self, b::Thing}, c::Own};"), ["a", "a::b"]);
    assert_eq!(from(&["a", "b"], "pub(crate) use super::Thing;\nlet x = super::super::c::f();"), ["a", "c"]);
    assert_eq!(from(&["a"], "mod b;\nfn f() -> b::Thing { b::g() }"), ["a::b", "a::b"]);
    assert_eq!(from(&["a"], "use std::io; fn f() { io::copy() }"), [] as [&str; 0]);
}
