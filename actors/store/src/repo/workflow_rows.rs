//! The table of workflows.

use chrono::NaiveDateTime;
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::Bool;
use diesel_async::RunQueryDsl;
use svc_model::lifecycle::{self, Rollout, VersionState};
use svc_model::{
    EntityKind, EntityTag, LifecycleStatus, Page, ServiceError, Timestamp, Workflow, WorkflowContent,
};
use svc_secrets::EnvelopeKeys;

use crate::conn::{Conn, load_rows, on};
use crate::error::StoreError;
use crate::prepared::Prepared;
use crate::repo::channel_rows;
use crate::repo::references::{References, distinct};
use crate::repo::requirements::{self, Objection, WorkflowRequirements};
use crate::repo::versioned::{StatusChangePlan, Versioned, stored_status};
use crate::repo::{EntityFilter, IDS_PER_QUERY, json, sorted, tagged};
use crate::schema::workflows;

/// A row, in the order of the columns.
#[derive(Queryable)]
struct Row {
    workflow_id: String,
    version: i64,
    name: String,
    description: Option<String>,
    priority: i64,
    status: String,
    rollout_percentage: i64,
    condition_json: String,
    tasks_json: String,
    tags_json: String,
    loop_json: Option<String>,
    continue_on_error: bool,
    created_at: NaiveDateTime,
    updated_at: NaiveDateTime,
    _is_latest: bool,
}

impl From<Row> for Workflow {
    fn from(row: Row) -> Self {
        Self {
            workflow_id: row.workflow_id,
            version: row.version,
            content: WorkflowContent {
                name: row.name,
                description: row.description,
                priority: row.priority,
                condition: json::value(&row.condition_json),
                tasks: json::values(&row.tasks_json),
                tags: json::strings(&row.tags_json),
                loop_: row.loop_json.as_deref().map(json::value),
                continue_on_error: row.continue_on_error,
            },
            status: stored_status(&row.status),
            rollout_percentage: row.rollout_percentage,
            created_at: Timestamp::from_naive(row.created_at),
            updated_at: Timestamp::from_naive(row.updated_at),
        }
    }
}

/// The columns that the author sets. `None` clears a column.
#[derive(Insertable, AsChangeset)]
#[diesel(table_name = workflows, treat_none_as_null = true, treat_none_as_default_value = false)]
struct ContentRow {
    name: String,
    description: Option<String>,
    priority: i64,
    condition_json: String,
    tasks_json: String,
    tags_json: String,
    loop_json: Option<String>,
    continue_on_error: bool,
}

impl From<&WorkflowContent> for ContentRow {
    fn from(content: &WorkflowContent) -> Self {
        Self {
            name: content.name.clone(),
            description: content.description.clone(),
            priority: content.priority,
            condition_json: json::text(&content.condition),
            tasks_json: json::list(&content.tasks),
            tags_json: json::list(&content.tags),
            loop_json: content.loop_.as_ref().map(json::text),
            continue_on_error: content.continue_on_error,
        }
    }
}

/// Condition on a latest version: its id has an active version.
const SERVES: &str = "(workflows.status = 'active' OR EXISTS (SELECT 1 FROM workflows AS serving \
    WHERE serving.workflow_id = workflows.workflow_id AND serving.status = 'active'))";
/// Condition on a latest version: its id has no active version.
const SERVES_NOT: &str = "NOT EXISTS (SELECT 1 FROM workflows AS serving \
    WHERE serving.workflow_id = workflows.workflow_id AND serving.status = 'active')";

/// Selects the latest versions that match a filter.
macro_rules! filtered {
    ($db:ident, $filter:expr, $backend:expr) => {{
        let mut query = workflows::table.filter(workflows::is_latest).into_boxed::<$db>();
        if let Some(status) = &$filter.status {
            query = query.filter(workflows::status.eq(status.clone()));
        }
        if let Some(is_active) = $filter.is_active {
            query = query.filter(sql::<Bool>(if is_active { SERVES } else { SERVES_NOT }));
        }
        if let Some(tag) = &$filter.tag {
            query = tagged!(query, $backend, tag);
        }
        query
    }};
}

impl Versioned for Workflow {
    type Content = WorkflowContent;
    type Requirements = WorkflowRequirements;
    const KIND: EntityKind = EntityKind::Workflow;
    const REPOSITORY: &'static str = "workflows";

    fn id(&self) -> &str {
        &self.workflow_id
    }

    fn content(&self) -> &WorkflowContent {
        &self.content
    }

    fn content_hash(content: &WorkflowContent) -> String {
        content.content_hash()
    }

    fn state(&self) -> VersionState {
        VersionState {
            version: self.version,
            status: self.status,
            rollout_percentage: self.rollout_percentage,
        }
    }

    fn entity_tag(&self) -> EntityTag {
        Workflow::entity_tag(self)
    }

    async fn list(
        conn: &mut Conn,
        filter: &EntityFilter,
        page: Option<Page>,
        _: &EnvelopeKeys,
    ) -> Result<(Vec<Workflow>, i64), StoreError> {
        use workflows::dsl;
        let backend = conn.backend();
        let descending = filter.descending(true);
        on!(conn, c: Db => {
            let query = filtered!(Db, filter, backend);
            let query = match filter.sort_by.as_deref() {
                Some("name") => sorted!(query, dsl::name, descending),
                Some("status") => sorted!(query, dsl::status, descending),
                Some("created_at") => sorted!(query, dsl::created_at, descending),
                Some("updated_at") => sorted!(query, dsl::updated_at, descending),
                _ => sorted!(query, dsl::priority, descending),
            };
            let mut query = query.then_order_by(dsl::name.asc()).then_order_by(dsl::workflow_id.asc());
            if let Some(page) = page {
                query = query.limit(page.limit).offset(page.offset);
            }
            let rows = query.load::<Row>(c).await?;
            let total = match page {
                Some(_) => filtered!(Db, filter, backend).count().get_result::<i64>(c).await?,
                None => i64::try_from(rows.len()).unwrap_or(i64::MAX),
            };
            Ok((rows.into_iter().map(Workflow::from).collect(), total))
        })
    }

    async fn active(
        conn: &mut Conn,
        ids: Option<&[String]>,
        _: &EnvelopeKeys,
    ) -> Result<Vec<Workflow>, StoreError> {
        let all = workflows::table
            .filter(workflows::status.eq("active"))
            .order((workflows::workflow_id.asc(), workflows::version.desc()));
        let Some(ids) = ids else {
            return Ok(load_rows!(conn, all => Row, Workflow::from).await?);
        };
        let mut loaded = Vec::new();
        for ids in ids.chunks(IDS_PER_QUERY) {
            let some = all.filter(workflows::workflow_id.eq_any(ids));
            let rows = on!(conn, c => some.load::<Row>(c).await)?;
            loaded.extend(rows.into_iter().map(Workflow::from));
        }
        Ok(loaded)
    }

    async fn serving(conn: &mut Conn, ids: &[String]) -> Result<Vec<(String, VersionState)>, StoreError> {
        let mut serving = Vec::new();
        for ids in ids.chunks(IDS_PER_QUERY) {
            let some = workflows::table
                .filter(workflows::status.eq(LifecycleStatus::Active.name()))
                .filter(workflows::workflow_id.eq_any(ids))
                .select((workflows::workflow_id, workflows::version, workflows::rollout_percentage));
            let rows = on!(conn, c => some.load::<(String, i64, i64)>(c).await)?;
            serving.extend(rows.into_iter().map(|(id, version, rollout_percentage)| {
                let status = LifecycleStatus::Active;
                (id, VersionState { version, status, rollout_percentage })
            }));
        }
        Ok(serving)
    }

    async fn find(
        conn: &mut Conn,
        id: &str,
        version: Option<i64>,
        _: &EnvelopeKeys,
    ) -> Result<Option<Workflow>, StoreError> {
        let of_id = workflows::table.filter(workflows::workflow_id.eq(id));
        let row = match version {
            Some(version) => {
                let one = of_id.filter(workflows::version.eq(version));
                on!(conn, c => one.first::<Row>(c).await.optional())
            }
            None => {
                let newest = of_id.order(workflows::version.desc());
                on!(conn, c => newest.first::<Row>(c).await.optional())
            }
        };
        Ok(row?.map(Workflow::from))
    }

    async fn states(conn: &mut Conn, id: &str) -> Result<Vec<VersionState>, StoreError> {
        let rows = workflows::table
            .filter(workflows::workflow_id.eq(id))
            .order(workflows::version.desc())
            .select((workflows::version, workflows::status, workflows::rollout_percentage));
        let rows = on!(conn, c => rows.load::<(i64, String, i64)>(c).await)?;
        let state = |(version, name, rollout_percentage): (i64, String, i64)| VersionState {
            version,
            status: stored_status(&name),
            rollout_percentage,
        };
        Ok(rows.into_iter().map(state).collect())
    }

    async fn versions(
        conn: &mut Conn,
        id: &str,
        page: Page,
        _: &EnvelopeKeys,
    ) -> Result<Vec<Workflow>, StoreError> {
        let rows = workflows::table
            .filter(workflows::workflow_id.eq(id))
            .order(workflows::version.desc())
            .limit(page.limit)
            .offset(page.offset);
        let rows = on!(conn, c => rows.load::<Row>(c).await)?;
        Ok(rows.into_iter().map(Workflow::from).collect())
    }

    /// Of two versions archived at the same instant, returns the one with the larger share of the traffic.
    async fn last_archived(conn: &mut Conn, id: &str, below: i64) -> Result<Option<i64>, StoreError> {
        let archived = workflows::table
            .filter(workflows::workflow_id.eq(id))
            .filter(workflows::status.eq(LifecycleStatus::Archived.name()))
            .filter(workflows::version.lt(below))
            .order((
                workflows::updated_at.desc(),
                workflows::rollout_percentage.desc(),
                workflows::version.desc(),
            ))
            .select(workflows::version);
        Ok(on!(conn, c => archived.first::<i64>(c).await.optional())?)
    }

    async fn is_activated_since(
        conn: &mut Conn,
        id: Option<&str>,
        since: NaiveDateTime,
    ) -> Result<bool, StoreError> {
        let active = workflows::table
            .filter(workflows::status.eq(LifecycleStatus::Active.name()))
            .filter(workflows::updated_at.ge(since))
            .select(workflows::version);
        let version = match id {
            Some(id) => {
                let of_id = active.filter(workflows::workflow_id.eq(id));
                on!(conn, c => of_id.first::<i64>(c).await.optional())
            }
            None => on!(conn, c => active.first::<i64>(c).await.optional()),
        };
        Ok(version?.is_some())
    }

    async fn users(
        conn: &mut Conn,
        id: &str,
        _: &dyn References,
        keys: &EnvelopeKeys,
    ) -> Result<Vec<String>, StoreError> {
        let channels = channel_rows::active_using(conn, &[id.to_owned()], keys).await?;
        Ok(distinct(channels.into_iter().map(|channel| format!("channel '{}'", channel.content.name))))
    }

    async fn insert(
        conn: &mut Conn,
        id: &str,
        version: i64,
        content: &WorkflowContent,
        _: &EnvelopeKeys,
    ) -> Result<(), StoreError> {
        let key = (workflows::workflow_id.eq(id), workflows::version.eq(version));
        let insert = diesel::insert_into(workflows::table).values((key, ContentRow::from(content)));
        on!(conn, c => insert.execute(c).await)?;
        Ok(())
    }

    async fn replace(
        conn: &mut Conn,
        id: &str,
        version: i64,
        content: &WorkflowContent,
        _: &EnvelopeKeys,
    ) -> Result<(), StoreError> {
        let row = workflows::table.find((id, version));
        let update = diesel::update(row).set(ContentRow::from(content));
        on!(conn, c => Prepared(update).execute(c).await)?;
        Ok(())
    }

    async fn set_state(conn: &mut Conn, id: &str, state: VersionState) -> Result<(), StoreError> {
        let update = diesel::update(workflows::table.find((id, state.version))).set((
            workflows::status.eq(state.status.name()),
            workflows::rollout_percentage.eq(state.rollout_percentage),
        ));
        on!(conn, c => Prepared(update).execute(c).await)?;
        Ok(())
    }

    async fn delete(conn: &mut Conn, id: &str) -> Result<usize, StoreError> {
        let delete = diesel::delete(workflows::table.filter(workflows::workflow_id.eq(id)));
        Ok(on!(conn, c => delete.execute(c).await)?)
    }

    async fn check_content(_: &mut Conn, _: &str, _: &WorkflowContent) -> Result<(), StoreError> {
        Ok(())
    }

    async fn plan(
        conn: &mut Conn,
        id: &str,
        target: LifecycleStatus,
        rollout: Rollout,
        requirements: &WorkflowRequirements,
        keys: &EnvelopeKeys,
    ) -> Result<StatusChangePlan, StoreError> {
        let states = Self::states(conn, id).await?;
        let change = match target {
            LifecycleStatus::Active => lifecycle::activate_workflow(id, &states, rollout),
            LifecycleStatus::Archived => lifecycle::archive(Self::KIND, id, &states),
            LifecycleStatus::Draft => Err(ServiceError::validation("status must be active or archived")),
        };
        let has_draft = states.iter().any(|state| state.status == LifecycleStatus::Draft);
        let mut objections = match target {
            LifecycleStatus::Active if has_draft => {
                requirements::check_workflow(conn, requirements, keys).await?
            }
            _ => Vec::new(),
        };
        let transition = match change {
            Ok(transition) => Some(transition),
            Err(error) => {
                objections.push(Objection::from(error));
                None
            }
        };
        Ok(StatusChangePlan { transition, objections })
    }
}
