//! The order of keys.

use serde_json::Value;
use svc_model::EntityKind;
use svc_model::config::reference::KeyReference;
use svc_model::documents::{CHANNEL, CONNECTOR, FOR_EACH, FUNCTION, RETRY, WORKFLOW};

use crate::case;
use crate::recognize::DocumentShape;

/// A part of a document whose keys have an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Documents,
    Workflow,
    Channel,
    Connector,
    Case,
    Shared,
    Fragments,
    Fragment,
    Tasks,
    Task,
    Function,
    FanOut,
    Retry,
    /// A loop. The order of its own keys stays.
    Loop,
    /// Anything else: its order stays.
    Data,
}

impl Shape {
    /// Returns the shape of a document by its keys.
    pub(super) fn of_document(value: &Value) -> Self {
        let has = |key: &str| value.get(key).is_some();
        match DocumentShape::recognize(value) {
            DocumentShape::Entity(EntityKind::Workflow) => Self::Workflow,
            DocumentShape::Entity(EntityKind::Channel) => Self::Channel,
            DocumentShape::Entity(EntityKind::Connector) => Self::Connector,
            _ if has("workflow") && has("input") => Self::Case,
            DocumentShape::Shared => Self::Shared,
            DocumentShape::Other if value.is_array() => Self::Documents,
            DocumentShape::Requirements | DocumentShape::Values | DocumentShape::Other => Self::Data,
        }
    }

    /// Returns the keys in their order. Others follow, in the order of the author.
    fn keys(self) -> Vec<&'static str> {
        match self {
            Self::Workflow => document(names(&WORKFLOW)),
            Self::Channel => document(names(&CHANNEL)),
            // The id of a connector stays where its author put it.
            Self::Connector => document(names(&CONNECTOR).filter(|name| *name != "id")),
            Self::Case => document(case::KEYS),
            Self::Shared => document(["constants", "errors", "fragments"]),
            Self::Fragment => vec!["params", "tasks"],
            Self::Task => vec![
                "id",
                "name",
                "description",
                "condition",
                "terminal",
                "halt_on",
                "continue_on_error",
                "for_each",
                "retry",
                "retry_safety",
                "timeout_ms",
                "parallel",
                "use",
                "with",
                "function",
                "tasks",
                "on_error",
                "finally",
            ],
            Self::FanOut => names(&FOR_EACH).collect(),
            Self::Retry => names(&RETRY).collect(),
            Self::Function => names(&FUNCTION).collect(),
            Self::Documents | Self::Fragments | Self::Tasks | Self::Loop | Self::Data => Vec::new(),
        }
    }

    /// Returns the shape of a member.
    pub(super) fn member(self, key: &str, value: &Value) -> Self {
        match (self, key) {
            (Self::Documents, _) => match Self::of_document(value) {
                Self::Documents => Self::Data,
                shape => shape,
            },
            (Self::Workflow | Self::Task | Self::Fragment, "tasks") => Self::Tasks,
            (Self::Task, "on_error" | "finally") | (Self::Loop, "setup") => Self::Tasks,
            (Self::Workflow, "loop") => Self::Loop,
            (Self::Task, "for_each") => Self::FanOut,
            (Self::Task, "retry") => Self::Retry,
            (Self::Tasks, _) => Self::Task,
            (Self::Task, "function") => Self::Function,
            (Self::Shared, "fragments") => Self::Fragments,
            (Self::Fragments, _) => Self::Fragment,
            _ => Self::Data,
        }
    }

    /// Returns the indices of the members in their order.
    pub(super) fn sort_indices<'k>(self, keys: impl Iterator<Item = &'k str>) -> Vec<usize> {
        let order = self.keys();
        let rank = |key: &str| order.iter().position(|known| *known == key).unwrap_or(order.len());
        let mut ranked: Vec<_> = keys.enumerate().map(|(index, key)| (rank(key), index)).collect();
        ranked.sort_unstable();
        ranked.into_iter().map(|(_, index)| index).collect()
    }
}

fn names(keys: &'static [KeyReference]) -> impl Iterator<Item = &'static str> {
    keys.iter().map(|key| key.name)
}

/// Returns the keys of a document whose own ones are declared.
fn document(own: impl IntoIterator<Item = &'static str>) -> Vec<&'static str> {
    ["$schema"].into_iter().chain(own).collect()
}
