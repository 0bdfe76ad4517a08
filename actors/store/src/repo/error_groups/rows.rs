//! Writes of error groups: a group that is stored already is marked as seen.

use std::collections::BTreeMap;

use chrono::NaiveDateTime;
use diesel::QueryResult;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::sql_types::{BigInt, Nullable, Text};
use diesel::sqlite::Sqlite;
use diesel_async::AsyncPgConnection;
use svc_model::ErrorGroup;

use crate::bulk_statement::{MaybeNumbers, MaybeTexts, Texts, bulk_statement};
use crate::error::StoreError;

/// Stores one group on SQLite.
pub(in crate::repo) struct GroupStatement<'a> {
    group: &'a ErrorGroup,
    status: Option<i64>,
    now: String,
}

impl<'a> GroupStatement<'a> {
    pub(in crate::repo) fn new(group: &'a ErrorGroup, now: NaiveDateTime) -> Self {
        Self { group, status: group.status.map(i64::from), now: now.to_string() }
    }
}

impl QueryFragment<Sqlite> for GroupStatement<'_> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Sqlite>) -> QueryResult<()> {
        out.push_sql(
            "INSERT INTO error_groups (id, channel, message, workflow_id, task_id, code, status, first_seen, seen_at) \
             VALUES (",
        );
        out.push_bind_param::<Text, _>(&self.group.id)?;
        for text in [&self.group.channel, &self.group.message] {
            out.push_sql(", ");
            out.push_bind_param::<Text, _>(text)?;
        }
        for text in [&self.group.workflow, &self.group.task, &self.group.code] {
            out.push_sql(", ");
            out.push_bind_param::<Nullable<Text>, _>(text)?;
        }
        out.push_sql(", ");
        out.push_bind_param::<Nullable<BigInt>, _>(&self.status)?;
        for _ in ["first_seen", "seen_at"] {
            out.push_sql(", ");
            out.push_bind_param::<Text, _>(&self.now)?;
        }
        out.push_sql(") ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at");
        Ok(())
    }
}

impl QueryId for GroupStatement<'_> {
    type QueryId = GroupStatement<'static>;
    const HAS_STATIC_QUERY_ID: bool = true;
}

impl<C> diesel::RunQueryDsl<C> for GroupStatement<'_> {}

/// Groups to store on PostgreSQL, each once.
#[derive(Default)]
pub(in crate::repo) struct GroupRows<'a> {
    /// By id: transactions that store the same groups wait for one another in this order.
    groups: BTreeMap<&'a str, &'a ErrorGroup>,
}

impl<'a> GroupRows<'a> {
    pub(in crate::repo) fn push(&mut self, group: &'a ErrorGroup) {
        self.groups.insert(&group.id, group);
    }

    /// Stores the groups; does nothing if there are none.
    pub(in crate::repo) async fn store(self, c: &mut AsyncPgConnection) -> Result<(), StoreError> {
        if self.groups.is_empty() {
            return Ok(());
        }
        let groups: Vec<_> = self.groups.into_values().collect();
        diesel_async::RunQueryDsl::execute(InsertGroups::new(&groups), c).await?;
        Ok(())
    }
}

bulk_statement! {
    /// Groups to store.
    InsertGroups(group: &'a ErrorGroup),
    "INSERT INTO error_groups (id, channel, message, workflow_id, task_id, code, status) SELECT * FROM unnest(",
    ") ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at",
    ids: Texts = &'a str => &*group.id,
    channels: Texts = &'a str => &*group.channel,
    messages: Texts = &'a str => &*group.message,
    workflows: MaybeTexts = Option<&'a str> => group.workflow.as_deref(),
    tasks: MaybeTexts = Option<&'a str> => group.task.as_deref(),
    codes: MaybeTexts = Option<&'a str> => group.code.as_deref(),
    statuses: MaybeNumbers = Option<i64> => group.status.map(i64::from),
}
