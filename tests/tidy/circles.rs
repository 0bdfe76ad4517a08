//! Circles: source files that use one another, directly or through others, by the `use` declarations of every
//! crate.
//!
//! A path through a re-export counts for the file that defines the name.

use std::collections::{BTreeMap, BTreeSet};

use syn::{Item, Visibility};

use crate::modules::{Import, Module, ModulePath, crates, definition, imports, modules_of};

/// Files that may use one another in a circle: an actor, its handle, its messages and the like belong together.
const LARGEST: usize = 4;

/// The crate with one larger circle: an instance, its context, its tasks and its mailboxes.
const LARGER: (&str, usize) = ("actors/supervision", 6);

/// Crates without any circle.
const WITHOUT: &[&str] = &["actors/connectors", "crates/transport", "."];

/// Re-exports of re-exports that are followed.
const DEPTH: usize = 8;

#[test]
fn files_use_one_another_in_small_circles_at_most() {
    let mut circles = Vec::new();
    for directory in crates() {
        let largest = match directory.as_str() {
            name if WITHOUT.contains(&name) => 1,
            name if name == LARGER.0 => LARGER.1,
            _ => LARGEST,
        };
        let graph = Graph::read(&modules_of(&directory));
        circles.extend(graph.circles().into_iter().filter(|circle| circle.len() > largest));
    }
    assert!(circles.is_empty(), "move a type into the file it belongs to: {circles:#?}");
}

#[test]
fn the_check_finds_a_circle_through_a_re_export() {
    let module = |file: &str, text: &str| Module {
        file: file.to_owned(),
        items: syn::parse_file(text).expect("the source parses").items,
    };
    let path = |text: &str| text.split_whitespace().map(str::to_owned).collect::<ModulePath>();
    let modules = BTreeMap::from([
        (path(""), module("lib.rs", "pub use a::One;")),
        (path("a"), module("a.rs", "use crate::b::Two; pub struct One;")),
        (path("b"), module("b.rs", "use super::One; pub struct Two;")),
        (path("c"), module("c.rs", "use crate::a::*;")),
    ]);
    let expected = BTreeSet::from(["a.rs".to_owned(), "b.rs".to_owned()]);
    assert_eq!(Graph::read(&modules).circles(), [expected]);
}

/// The files that each file uses.
struct Graph(BTreeMap<String, BTreeSet<String>>);

impl Graph {
    fn read(modules: &BTreeMap<ModulePath, Module>) -> Self {
        let names = Names { modules };
        let mut graph: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (path, module) in modules {
            let used = graph.entry(module.file.clone()).or_default();
            for declaration in module.items.iter().filter_map(as_private_use) {
                let files = declaration.iter().filter_map(|import| names.defining(path, import, 0));
                used.extend(files.map(|path| modules[&path].file.clone()));
            }
        }
        Self(graph)
    }

    /// The circles, each as its files.
    fn circles(&self) -> Vec<BTreeSet<String>> {
        let reachable: BTreeMap<&String, BTreeSet<&String>> =
            self.0.keys().map(|file| (file, self.reachable(file))).collect();
        let circle = |file: &String| -> BTreeSet<String> {
            let others = reachable[file].iter().filter(|other| reachable[**other].contains(file));
            others.map(|other| (*other).clone()).collect()
        };
        let circles: BTreeSet<_> = self.0.keys().map(circle).filter(|files| files.len() > 1).collect();
        circles.into_iter().collect()
    }

    fn reachable<'a>(&'a self, from: &'a String) -> BTreeSet<&'a String> {
        let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
        while let Some(file) = open.pop() {
            let new = self.0[file].iter().filter(|used| seen.insert(*used));
            open.extend(new.collect::<Vec<_>>());
        }
        seen
    }
}

/// The imports of a `use` declaration that is no re-export.
fn as_private_use(item: &Item) -> Option<Vec<Import>> {
    match item {
        Item::Use(item) if matches!(item.vis, Visibility::Inherited) => Some(imports(&item.tree)),
        _ => None,
    }
}

/// Finds the modules that define names.
struct Names<'a> {
    modules: &'a BTreeMap<ModulePath, Module>,
}

impl Names<'_> {
    /// The module that defines an imported name, if it is one of this crate.
    fn defining(&self, from: &[String], import: &Import, depth: usize) -> Option<ModulePath> {
        let path = self.absolute(from, &import.path)?;
        let known = (0..=path.len()).rev().find(|known| self.modules.contains_key(&path[..*known]))?;
        let module = path[..known].to_vec();
        match path.get(known) {
            Some(name) if depth < DEPTH => {
                Some(self.behind_re_exports(&module, name, depth).unwrap_or(module))
            }
            _ => Some(module),
        }
    }

    fn behind_re_exports(&self, module: &[String], name: &str, depth: usize) -> Option<ModulePath> {
        let items = &self.modules[module].items;
        if items.iter().filter_map(definition).any(|(defined, _)| defined == name) {
            return None;
        }
        let mut exported = items.iter().filter_map(|item| match item {
            Item::Use(item) if !matches!(item.vis, Visibility::Inherited) => Some(imports(&item.tree)),
            _ => None,
        });
        exported.find_map(|imports| {
            imports.into_iter().find_map(|import| match import.name.as_str() {
                "*" => {
                    let mut path = import.path.clone();
                    path.push(name.to_owned());
                    let through = Import { name: name.to_owned(), path };
                    let target = self.defining(module, &through, depth + 1)?;
                    let items = &self.modules[&target].items;
                    items.iter().filter_map(definition).any(|(defined, _)| defined == name).then_some(target)
                }
                exported if exported == name => self.defining(module, &import, depth + 1),
                _ => None,
            })
        })
    }

    /// A path from the crate's root; none for one that leads to another crate.
    fn absolute(&self, from: &[String], path: &[String]) -> Option<Vec<String>> {
        let (first, rest) = path.split_first()?;
        match first.as_str() {
            "crate" => Some(rest.to_vec()),
            "self" => Some([from, rest].concat()),
            "super" => {
                let levels = path.iter().take_while(|name| *name == "super").count();
                let base = &from[..from.len().checked_sub(levels)?];
                Some([base, &path[levels..]].concat())
            }
            name => {
                let mut child = from.to_vec();
                child.push(name.to_owned());
                self.modules.contains_key(&child).then(|| [from, path].concat())
            }
        }
    }
}
