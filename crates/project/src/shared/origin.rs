//! The authored places of the elements of an expanded document.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::finding::SourcePlace;
use crate::source::SourceFile;

/// An element of an authored file.
#[derive(Clone, Debug, Default)]
pub struct Origin {
    /// The file; `None` for a document that came from no file.
    pub source: Option<Arc<SourceFile>>,
    /// The path of the element in the file.
    pub path: String,
}

impl Origin {
    /// Returns the root of a file.
    pub fn root(source: Arc<SourceFile>) -> Self {
        Self { source: Some(source), path: String::new() }
    }

    /// Returns the element at a path below this one.
    #[must_use]
    pub fn join(&self, path: &str) -> Self {
        let separator =
            if self.path.is_empty() || path.is_empty() || path.starts_with('[') { "" } else { "." };
        Self { source: self.source.clone(), path: format!("{}{separator}{path}", self.path) }
    }

    /// Returns the place in the text of the file.
    pub fn place(&self) -> Option<SourcePlace> {
        self.source.as_ref()?.place(&self.path)
    }

    /// Returns the place of the key in the text of the file, or that of the element if it has none.
    pub fn key_place(&self) -> Option<SourcePlace> {
        self.source.as_ref()?.key_place(&self.path)
    }

    /// Returns `true` if both elements are in the same file.
    pub fn shares_file(&self, other: &Self) -> bool {
        match (&self.source, &other.source) {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other) || one.name == other.name,
            (None, None) => true,
            _ => false,
        }
    }
}

/// The origin of a part of an expanded document.
#[derive(Clone, Debug)]
struct Part {
    origin: Origin,
    /// The fragment call that contributed the part.
    call: Option<Origin>,
    /// The former element, for a value that replaced it: the key of the part is written there.
    replaced: Option<Origin>,
}

/// The origins of an expanded document, by the paths of the parts that were moved or taken from elsewhere.
#[derive(Clone, Debug, Default)]
pub struct Origins {
    root: Origin,
    parts: BTreeMap<String, Part>,
}

impl Origins {
    /// Creates the origins of a document that has not been expanded.
    pub fn new(root: Origin) -> Self {
        Self { root, parts: BTreeMap::new() }
    }

    /// Returns the root of the document itself.
    pub fn root(&self) -> &Origin {
        &self.root
    }

    /// Returns the authored element behind a path of the expanded document.
    pub fn trace(&self, path: &str) -> Origin {
        match self.nearest(path) {
            Some((part, rest)) => part.origin.join(rest),
            None => self.root.join(path),
        }
    }

    /// Returns the authored element that has the key of the element at a path: a value that was put in place has the key
    /// of what it replaced.
    pub fn trace_key(&self, path: &str) -> Origin {
        match self.parts.get(path).and_then(|part| part.replaced.as_ref()) {
            Some(replaced) => replaced.clone(),
            None => self.trace(path),
        }
    }

    /// Returns the fragment call that contributed the element at a path.
    pub fn call(&self, path: &str) -> Option<&Origin> {
        self.nearest(path)?.0.call.as_ref()
    }

    pub(super) fn insert(&mut self, path: String, origin: Origin, call: Option<Origin>) {
        self.parts.insert(path, Part { origin, call, replaced: None });
    }

    /// Adds a value that replaces the element at a path.
    pub(super) fn replace(&mut self, path: String, origin: Origin) {
        let replaced = Some(self.trace(&path));
        self.parts.insert(path, Part { origin, call: None, replaced });
    }

    /// Returns the part with the longest path that leads to `path`, and the rest of the path.
    fn nearest<'p>(&self, path: &'p str) -> Option<(&Part, &'p str)> {
        if self.parts.is_empty() {
            return None;
        }
        let mut end = path.len();
        loop {
            let (head, rest) = path.split_at(end);
            if let Some(part) = self.parts.get(head) {
                return Some((part, rest.strip_prefix('.').unwrap_or(rest)));
            }
            end = head.rfind(['.', '['])?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_part_leads_to_the_authored_element() {
        let at = |path: &str| Origin { source: None, path: path.to_owned() };
        let mut origins = Origins::new(at("workflows[2]"));
        origins.insert("tasks[1]".into(), at("fragments.guard.tasks[0]"), Some(at("tasks[1]")));
        origins.replace("tasks[1].function.input".into(), at("constants.db"));
        for (path, expected) in [
            ("tasks[1].id", "fragments.guard.tasks[0].id"),
            ("tasks[1]", "fragments.guard.tasks[0]"),
            ("tasks[1].function.input.list[3]", "constants.db.list[3]"),
            ("tasks[10].id", "workflows[2].tasks[10].id"),
            ("", "workflows[2]"),
        ] {
            assert_eq!(origins.trace(path).path, expected, "{path}");
        }
        assert_eq!(origins.call("tasks[1].id").map(|call| call.path.as_str()), Some("tasks[1]"));
        assert!(origins.call("tasks[1].function.input.x").is_none());
        for (path, expected) in [
            ("tasks[1].function.input", "fragments.guard.tasks[0].function.input"),
            ("tasks[1].function.input.list", "constants.db.list"),
            ("tasks[1].name", "fragments.guard.tasks[0].name"),
        ] {
            assert_eq!(origins.trace_key(path).path, expected, "{path}");
        }
    }
}
