//! The values of filters, and the names of channels behind a tag.

mod composed;
mod condition;
mod counts;
mod key_scan;
mod window;

use std::collections::BTreeMap;

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use svc_model::EntityKind;

use crate::conn::{Conn, on};
use crate::error::StoreError;
use crate::repo::tagged;
use crate::schema::{definitions, error_groups};

pub(super) use composed::ComposedQuery;
pub(super) use condition::{RowCondition, push_all};
pub(super) use counts::{StatusCount, is_one_of};
pub(super) use key_scan::{FoundKeys, IndexParts, KeyScan, LoadedKey, SortedScan, count_all};
pub(super) use window::{Continuation, MOST_LOOKED_UP, MOST_SCANNED, MOST_SCANNED_FAST};

/// The values that a condition takes: a row matches with any of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AnyOf(Vec<String>);

impl AnyOf {
    /// Takes these values; without any, no row matches.
    pub const fn new(values: Vec<String>) -> Self {
        Self(values)
    }

    pub fn values(&self) -> &[String] {
        &self.0
    }

    /// Puts the values that each value stands for in its place.
    #[must_use]
    pub fn expand(self, stands_for: impl Fn(&str) -> Vec<&'static str>) -> Self {
        Self(self.0.iter().flat_map(|value| stands_for(value)).map(str::to_owned).collect())
    }

    /// Returns whether it takes this value and no other.
    pub fn is_only(&self, value: &str) -> bool {
        matches!(&*self.0, [only] if only == value)
    }

    /// Returns the values that both take.
    pub(super) fn both(&self, other: &Self) -> Self {
        Self(self.0.iter().filter(|value| other.0.contains(value)).cloned().collect())
    }

    /// Returns the values that a column can have: no stored text contains U+0000.
    pub(super) fn storable(&self) -> Vec<String> {
        self.0.iter().filter(|value| !value.contains('\0')).cloned().collect()
    }
}

impl From<&str> for AnyOf {
    fn from(value: &str) -> Self {
        Self(vec![value.to_owned()])
    }
}

impl From<String> for AnyOf {
    fn from(value: String) -> Self {
        Self(vec![value])
    }
}

impl From<Vec<String>> for AnyOf {
    fn from(values: Vec<String>) -> Self {
        Self(values)
    }
}

/// Restricts a boxed query to rows whose column, which may be null, has one of the values. A single one is compared as such:
/// an index that has the column first then still orders the rows.
macro_rules! any_of {
    ($query:expr, $column:expr, $values:expr) => {{
        let mut values = $values.storable();
        match (values.pop(), values.is_empty()) {
            (Some(only), true) => $query.filter($column.eq(only)),
            (last, _) => {
                values.extend(last);
                $query.filter($column.eq_any(values))
            }
        }
    }};
}
pub(super) use any_of;

/// Groups that a filter on a member of theirs may select at most.
const MOST_GROUPS: i64 = 10_000;

/// The ids and the names of the channels with one of some tags.
pub(super) struct TaggedChannels {
    pub(super) ids: AnyOf,
    pub(super) names: AnyOf,
}

/// Returns the channels whose latest version has one of the tags.
pub(super) async fn find_tagged(conn: &mut Conn, tags: &AnyOf) -> Result<TaggedChannels, StoreError> {
    let backend = conn.backend();
    let mut found: BTreeMap<String, String> = BTreeMap::new();
    for tag in tags.storable() {
        let rows: Vec<(String, String)> = on!(conn, c: Db => {
            let latest = definitions::table
                .filter(definitions::kind.eq(EntityKind::Channel.name()))
                .filter(definitions::is_latest)
                .into_boxed::<Db>();
            tagged!(latest, backend, tag).select((definitions::id, definitions::name)).load(c).await
        })?;
        found.extend(rows);
    }
    let (ids, names): (Vec<_>, Vec<_>) = found.into_iter().unzip();
    Ok(TaggedChannels { ids: AnyOf(ids), names: AnyOf(names) })
}

/// Conditions on members that the rows of failures do not have, but their groups.
#[derive(Clone, Copy, Debug)]
pub(super) struct GroupConditions<'a> {
    pub(super) groups: Option<&'a AnyOf>,
    pub(super) tasks: Option<&'a AnyOf>,
    pub(super) codes: Option<&'a AnyOf>,
    pub(super) workflows: Option<&'a AnyOf>,
}

impl GroupConditions<'_> {
    /// Returns the ids of the groups to which the conditions restrict a list; `None` if there are none.
    pub(super) async fn resolve(self, conn: &mut Conn) -> Result<Option<AnyOf>, StoreError> {
        let Self { groups, tasks, codes, workflows } = self;
        if tasks.is_none() && codes.is_none() && workflows.is_none() {
            return Ok(groups.cloned());
        }
        let ids: Vec<String> = on!(conn, c: Db => {
            let mut query = error_groups::table.select(error_groups::id).into_boxed::<Db>();
            if let Some(groups) = groups {
                query = any_of!(query, error_groups::id, groups);
            }
            if let Some(tasks) = tasks {
                query = any_of!(query, error_groups::task_id, tasks);
            }
            if let Some(codes) = codes {
                query = any_of!(query, error_groups::code, codes);
            }
            if let Some(workflows) = workflows {
                query = any_of!(query, error_groups::workflow_id, workflows);
            }
            query.order(error_groups::seen_at.desc()).limit(MOST_GROUPS).load(c).await
        })?;
        Ok(Some(AnyOf(ids)))
    }
}
