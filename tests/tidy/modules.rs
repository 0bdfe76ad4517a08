//! The modules of a crate as the compiler finds them: from `lib.rs` along its `mod` items, without those of
//! tests.

use std::collections::BTreeMap;
use std::fs::read_to_string;
use std::path::{Path, PathBuf};

use syn::{Attribute, Item, Meta, UseTree, Visibility};

use crate::root;

/// A path of names, from the crate's root.
pub(crate) type ModulePath = Vec<String>;

/// A module: its own file, or a block inside one.
pub(crate) struct Module {
    /// The file, relative to the workspace's root.
    pub(crate) file: String,
    /// Items other than modules, and `use` declarations.
    pub(crate) items: Vec<Item>,
}

/// Directories of the crates whose modules are read.
pub(crate) fn crates() -> Vec<String> {
    let mut crates = vec![".".to_owned()];
    for group in ["crates", "actors"] {
        for entry in root().join(group).read_dir().expect("the directory is readable") {
            let name = entry.expect("the entry is readable").file_name().into_string().expect("a name");
            let directory = format!("{group}/{name}");
            if root().join(&directory).join("src/lib.rs").is_file() {
                crates.push(directory);
            }
        }
    }
    crates.sort();
    crates
}

/// The modules of a crate's library by their path.
pub(crate) fn modules_of(directory: &str) -> BTreeMap<ModulePath, Module> {
    let mut modules = BTreeMap::new();
    let file = root().join(directory).join("src/lib.rs");
    let children = file.parent().expect("a file lies in a directory").to_path_buf();
    read(&file, &children, Vec::new(), &mut modules);
    modules
}

fn read(file: &Path, children: &Path, path: ModulePath, modules: &mut BTreeMap<ModulePath, Module>) {
    let shown = file.strip_prefix(root()).expect("below the root").display().to_string();
    let text = read_to_string(file).expect(&shown);
    let parsed = syn::parse_file(&text).expect(&shown);
    add(shown, parsed.items, children, path, modules);
}

fn add(
    file: String,
    items: Vec<Item>,
    children: &Path,
    path: ModulePath,
    modules: &mut BTreeMap<ModulePath, Module>,
) {
    let mut own = Vec::new();
    for item in items {
        let Item::Mod(module) = item else {
            if !attributes(&item).is_some_and(is_test) {
                own.push(item);
            }
            continue;
        };
        if is_test(&module.attrs) {
            continue;
        }
        let name = module.ident.to_string();
        let (directory, mut below) = (children.join(&name), path.clone());
        below.push(name.clone());
        match module.content {
            Some((_, items)) => add(file.clone(), items, &directory, below, modules),
            None => {
                let alone: PathBuf = children.join(format!("{name}.rs"));
                let source = if alone.is_file() { alone } else { directory.join("mod.rs") };
                read(&source, &directory, below, modules);
            }
        }
    }
    modules.insert(path, Module { file, items: own });
}

fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::List(list) if list.path.is_ident("cfg") => {
            let condition = list.tokens.to_string();
            condition.split(|c: char| !c.is_alphanumeric()).any(|word| word == "test")
        }
        _ => false,
    })
}

fn attributes(item: &Item) -> Option<&[Attribute]> {
    Some(match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => return None,
    })
}

/// The name that an item defines, and its visibility if it has one; none for `use`, `impl` and the like.
pub(crate) fn definition(item: &Item) -> Option<(String, Option<&Visibility>)> {
    let (ident, visibility) = match item {
        Item::Const(item) => (&item.ident, Some(&item.vis)),
        Item::Enum(item) => (&item.ident, Some(&item.vis)),
        Item::Fn(item) => (&item.sig.ident, Some(&item.vis)),
        Item::Macro(item) => (item.ident.as_ref()?, None),
        Item::Static(item) => (&item.ident, Some(&item.vis)),
        Item::Struct(item) => (&item.ident, Some(&item.vis)),
        Item::Trait(item) => (&item.ident, Some(&item.vis)),
        Item::Type(item) => (&item.ident, Some(&item.vis)),
        Item::Union(item) => (&item.ident, Some(&item.vis)),
        _ => return None,
    };
    Some((ident.to_string(), visibility))
}

/// A name that a `use` declaration brings in (`*` for all), and the path it has there.
pub(crate) struct Import {
    pub(crate) name: String,
    pub(crate) path: Vec<String>,
}

/// The names of one `use` declaration.
pub(crate) fn imports(tree: &UseTree) -> Vec<Import> {
    fn walk(tree: &UseTree, mut before: Vec<String>, into: &mut Vec<Import>) {
        match tree {
            UseTree::Path(path) => {
                before.push(path.ident.to_string());
                walk(&path.tree, before, into);
            }
            UseTree::Group(group) => {
                for tree in &group.items {
                    walk(tree, before.clone(), into);
                }
            }
            UseTree::Name(name) if name.ident == "self" => {
                let name = before.last().cloned().unwrap_or_default();
                into.push(Import { name, path: before });
            }
            UseTree::Name(name) => {
                before.push(name.ident.to_string());
                into.push(Import { name: name.ident.to_string(), path: before });
            }
            UseTree::Rename(rename) => {
                before.push(rename.ident.to_string());
                into.push(Import { name: rename.rename.to_string(), path: before });
            }
            UseTree::Glob(_) => into.push(Import { name: "*".to_owned(), path: before }),
        }
    }
    let mut all = Vec::new();
    walk(tree, Vec::new(), &mut all);
    all
}
