//! Reads of definitions, the same for every kind.

use chrono::NaiveDateTime;
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::Bool;
use diesel_async::RunQueryDsl;
use svc_model::lifecycle::VersionState;
use svc_model::{Channel, EntityKind, LifecycleStatus, Page};
use svc_secrets::EnvelopeKeys;

use super::rows::{DefinitionRow, parse_status};
use super::{Definition, Versioned};
use crate::conn::{Conn, load_rows, on};
use crate::error::StoreError;
use crate::repo::filters::any_of;
use crate::repo::{EntityFilter, IDS_PER_QUERY, sorted, tagged};
use crate::schema::definitions;

/// Status of the versions that serve.
pub(in crate::repo) const ACTIVE: &str = LifecycleStatus::Active.name();

/// Condition on a latest version: its id has an active version.
const SERVES: &str = "(definitions.status = 'active' OR EXISTS (SELECT 1 FROM definitions AS serving \
    WHERE serving.kind = definitions.kind AND serving.id = definitions.id AND serving.status = 'active'))";
/// Condition on a latest version: its id has no active version.
const SERVES_NOT: &str = "NOT EXISTS (SELECT 1 FROM definitions AS serving \
    WHERE serving.kind = definitions.kind AND serving.id = definitions.id AND serving.status = 'active')";

/// A column by which a list is sorted.
#[derive(Clone, Copy)]
enum SortColumn {
    Name,
    Status,
    Type,
    Protocol,
    Priority,
    CreatedAt,
    UpdatedAt,
}

impl SortColumn {
    /// Returns the column of a request. One that the kind does not know means the default.
    fn of_request(kind: EntityKind, name: Option<&str>) -> Self {
        use EntityKind::{Channel, Connector, Workflow};
        match (kind, name) {
            (_, Some("name")) => Self::Name,
            (_, Some("created_at")) => Self::CreatedAt,
            (_, Some("updated_at")) => Self::UpdatedAt,
            (Workflow | Channel, Some("status")) => Self::Status,
            (Channel, Some("channel_type")) | (Connector, Some("connector_type")) => Self::Type,
            (Channel, Some("protocol")) => Self::Protocol,
            (Workflow | Channel, _) => Self::Priority,
            (Connector, _) => Self::Name,
        }
    }
}

/// Returns the condition that a list shows a latest version with one of these statuses.
fn shows_one_of(statuses: &[LifecycleStatus]) -> String {
    let conditions = statuses.iter().map(|status| match status {
        LifecycleStatus::Active => SERVES.to_owned(),
        LifecycleStatus::Draft => "definitions.status = 'draft'".to_owned(),
        LifecycleStatus::Archived => format!("(definitions.status = 'archived' AND {SERVES_NOT})"),
    });
    format!("({})", conditions.collect::<Vec<_>>().join(" OR "))
}

/// Selects the latest versions of a kind that match a filter.
macro_rules! filtered {
    ($db:ident, $kind:expr, $filter:expr, $backend:expr) => {{
        let (kind, filter): (EntityKind, &EntityFilter) = ($kind, $filter);
        let mut query = definitions::table
            .filter(definitions::kind.eq(kind.name()))
            .filter(definitions::is_latest)
            .into_boxed::<$db>();
        if kind != EntityKind::Connector
            && let Some(status) = &filter.status
        {
            query = any_of!(query, definitions::status, status);
        }
        if kind == EntityKind::Channel
            && let Some(channel_type) = &filter.channel_type
        {
            query = query.filter(definitions::type_.eq(channel_type.to_ascii_lowercase()));
        }
        if kind == EntityKind::Channel
            && let Some(protocol) = &filter.protocol
        {
            query = query.filter(definitions::protocol.eq(protocol.to_ascii_lowercase()));
        }
        if kind != EntityKind::Connector && !filter.shown_statuses.is_empty() {
            query = query.filter(sql::<Bool>(&shows_one_of(&filter.shown_statuses)));
        }
        if let Some(tag) = &filter.tag {
            query = tagged!(query, $backend, tag);
        }
        query
    }};
}

/// Returns a page of the latest versions that match the filter, and the number of all matches.
pub(crate) async fn list<D: Definition>(
    conn: &mut Conn,
    filter: &EntityFilter,
    page: Option<Page>,
    keys: &EnvelopeKeys,
) -> Result<(Vec<D>, i64), StoreError> {
    use definitions::dsl;
    let backend = conn.backend();
    // Connectors have no priority: their list is one of names.
    let has_priority = D::KIND != EntityKind::Connector;
    let descending = filter.descending(has_priority);
    on!(conn, c: Db => {
        let query = filtered!(Db, D::KIND, filter, backend);
        let mut query = match SortColumn::of_request(D::KIND, filter.sort_by.as_deref()) {
            SortColumn::Name => sorted!(query, dsl::name, descending),
            SortColumn::Status => sorted!(query, dsl::status, descending),
            SortColumn::Type => sorted!(query, dsl::type_, descending),
            SortColumn::Protocol => sorted!(query, dsl::protocol, descending),
            SortColumn::Priority => sorted!(query, dsl::priority, descending),
            SortColumn::CreatedAt => sorted!(query, dsl::created_at, descending),
            SortColumn::UpdatedAt => sorted!(query, dsl::updated_at, descending),
        };
        if has_priority {
            query = query.then_order_by(dsl::name.asc());
        }
        query = query.then_order_by(dsl::id.asc());
        if let Some(page) = page {
            query = query.limit(page.limit).offset(page.offset);
        }
        let rows = query.load::<DefinitionRow>(c).await?;
        let total = match page {
            Some(_) => filtered!(Db, D::KIND, filter, backend).count().get_result::<i64>(c).await?,
            None => i64::try_from(rows.len()).unwrap_or(i64::MAX),
        };
        Ok((open_all(rows, keys), total))
    })
}

/// Returns the definitions of rows.
fn open_all<D: Definition>(rows: Vec<DefinitionRow>, keys: &EnvelopeKeys) -> Vec<D> {
    rows.into_iter().map(|row| D::open(row, keys)).collect()
}

/// Returns one version, or the latest.
pub(in crate::repo) async fn find<D: Definition>(
    conn: &mut Conn,
    id: &str,
    version: Option<i64>,
    keys: &EnvelopeKeys,
) -> Result<Option<D>, StoreError> {
    let of_id =
        definitions::table.filter(definitions::kind.eq(D::KIND.name())).filter(definitions::id.eq(id));
    let row = match version {
        Some(version) => {
            let one = of_id.filter(definitions::version.eq(version));
            on!(conn, c => one.first::<DefinitionRow>(c).await.optional())
        }
        None => {
            let newest = of_id.order(definitions::version.desc());
            on!(conn, c => newest.first::<DefinitionRow>(c).await.optional())
        }
    };
    Ok(row?.map(|row| D::open(row, keys)))
}

/// Returns the rows of every definition of a kind without versions, or of the one with this id, sorted by name.
pub(in crate::repo) async fn rows_by_name(
    conn: &mut Conn,
    kind: EntityKind,
    id: Option<&str>,
) -> Result<Vec<DefinitionRow>, StoreError> {
    let all = definitions::table.filter(definitions::kind.eq(kind.name())).order(definitions::name.asc());
    Ok(match id {
        Some(id) => {
            let one = all.filter(definitions::id.eq(id));
            on!(conn, c => one.load::<DefinitionRow>(c).await)?
        }
        None => on!(conn, c => all.load::<DefinitionRow>(c).await)?,
    })
}

/// Returns the definition changed last among those with this name, whatever its status.
pub(in crate::repo) async fn find_named<D: Definition>(
    conn: &mut Conn,
    name: &str,
    keys: &EnvelopeKeys,
) -> Result<Option<D>, StoreError> {
    let named = definitions::table
        .filter(definitions::kind.eq(D::KIND.name()))
        .filter(definitions::name.eq(name))
        .order((definitions::updated_at.desc(), definitions::version.desc()));
    let row = on!(conn, c => named.first::<DefinitionRow>(c).await.optional())?;
    Ok(row.map(|row| D::open(row, keys)))
}

/// Returns another id of the kind whose latest version has this name.
pub(in crate::repo) async fn name_holder(
    conn: &mut Conn,
    kind: EntityKind,
    id: &str,
    name: &str,
) -> Result<Option<String>, StoreError> {
    let holder = definitions::table
        .filter(definitions::kind.eq(kind.name()))
        .filter(definitions::is_latest)
        .filter(definitions::name.eq(name))
        .filter(definitions::id.ne(id))
        .select(definitions::id);
    Ok(on!(conn, c => holder.first::<String>(c).await.optional())?)
}

/// Returns the names by which others refer to a definition: those of its versions that serve.
pub(in crate::repo) async fn serving_names(
    conn: &mut Conn,
    kind: EntityKind,
    id: &str,
) -> Result<Vec<String>, StoreError> {
    let rows = definitions::table
        .filter(definitions::kind.eq(kind.name()))
        .filter(definitions::id.eq(id))
        .select((definitions::name, definitions::status));
    let rows: Vec<(String, Option<String>)> = on!(conn, c => rows.load(c).await)?;
    let serving = rows.into_iter().filter(|(_, status)| status.as_deref().is_none_or(|name| name == ACTIVE));
    Ok(serving.map(|(name, _)| name).collect())
}

/// Returns the active versions, of all or of some ids, newest first within an id.
pub(in crate::repo) async fn active<V: Versioned>(
    conn: &mut Conn,
    ids: Option<&[String]>,
    keys: &EnvelopeKeys,
) -> Result<Vec<V>, StoreError> {
    // Sorted like an index: sorted otherwise, SQLite would read every active row to find one.
    let order = (definitions::id.asc(), definitions::version.desc());
    let all = definitions::table
        .filter(definitions::kind.eq(V::KIND.name()))
        .filter(definitions::status.eq(ACTIVE))
        .order(order);
    let Some(ids) = ids else {
        let open = keys.clone();
        return Ok(
            load_rows!(conn, all => DefinitionRow, move |row: DefinitionRow| V::open(row, &open)).await?
        );
    };
    let mut loaded = Vec::new();
    for ids in ids.chunks(IDS_PER_QUERY) {
        let some = all.filter(definitions::id.eq_any(ids));
        loaded.extend(open_all(on!(conn, c => some.load::<DefinitionRow>(c).await)?, keys));
    }
    Ok(loaded)
}

/// Returns the active channels that run one of these workflows, unordered: with an order, SQLite would scan
/// everything active.
pub(in crate::repo) async fn active_using(
    conn: &mut Conn,
    workflows: &[String],
    keys: &EnvelopeKeys,
) -> Result<Vec<Channel>, StoreError> {
    let mut loaded = Vec::new();
    for ids in workflows.chunks(IDS_PER_QUERY) {
        let some = definitions::table
            .filter(definitions::kind.eq(EntityKind::Channel.name()))
            .filter(definitions::workflow_id.eq_any(ids))
            .filter(definitions::status.eq(ACTIVE));
        loaded.extend(open_all(on!(conn, c => some.load::<DefinitionRow>(c).await)?, keys));
    }
    Ok(loaded)
}

/// Returns the states of the active versions of some ids.
pub(in crate::repo) async fn serving(
    conn: &mut Conn,
    kind: EntityKind,
    ids: &[String],
) -> Result<Vec<(String, VersionState)>, StoreError> {
    let mut serving = Vec::new();
    for ids in ids.chunks(IDS_PER_QUERY) {
        let some = definitions::table
            .filter(definitions::kind.eq(kind.name()))
            .filter(definitions::status.eq(ACTIVE))
            .filter(definitions::id.eq_any(ids))
            .select((definitions::id, definitions::version, definitions::rollout));
        let rows = on!(conn, c => some.load::<(String, i64, i64)>(c).await)?;
        serving.extend(rows.into_iter().map(|(id, version, rollout_percentage)| {
            (id, VersionState { version, status: LifecycleStatus::Active, rollout_percentage })
        }));
    }
    Ok(serving)
}

/// Returns the states of every version, newest first.
pub(in crate::repo) async fn states(
    conn: &mut Conn,
    kind: EntityKind,
    id: &str,
) -> Result<Vec<VersionState>, StoreError> {
    let rows = definitions::table
        .filter(definitions::kind.eq(kind.name()))
        .filter(definitions::id.eq(id))
        .order(definitions::version.desc())
        .select((definitions::version, definitions::status, definitions::rollout));
    let rows = on!(conn, c => rows.load::<(i64, Option<String>, i64)>(c).await)?;
    let state = |(version, name, rollout_percentage): (i64, Option<String>, i64)| VersionState {
        version,
        status: parse_status(name.as_deref()),
        rollout_percentage,
    };
    Ok(rows.into_iter().map(state).collect())
}

/// Returns a page of versions, newest first.
pub(in crate::repo) async fn versions<V: Versioned>(
    conn: &mut Conn,
    id: &str,
    page: Page,
    keys: &EnvelopeKeys,
) -> Result<Vec<V>, StoreError> {
    let rows = definitions::table
        .filter(definitions::kind.eq(V::KIND.name()))
        .filter(definitions::id.eq(id))
        .order(definitions::version.desc())
        .limit(page.limit)
        .offset(page.offset);
    Ok(open_all(on!(conn, c => rows.load::<DefinitionRow>(c).await)?, keys))
}

/// Returns the version below `below` that was active last and is archived; of two archived at the same instant, the
/// one with the larger share of the traffic.
pub(in crate::repo) async fn last_archived(
    conn: &mut Conn,
    kind: EntityKind,
    id: &str,
    below: i64,
) -> Result<Option<i64>, StoreError> {
    let archived = definitions::table
        .filter(definitions::kind.eq(kind.name()))
        .filter(definitions::id.eq(id))
        .filter(definitions::status.eq(LifecycleStatus::Archived.name()))
        .filter(definitions::version.lt(below))
        .order((definitions::updated_at.desc(), definitions::rollout.desc(), definitions::version.desc()))
        .select(definitions::version);
    Ok(on!(conn, c => archived.first::<i64>(c).await.optional())?)
}

/// Returns whether a version of the id (of any id without one) became active since an instant and still is.
pub(in crate::repo) async fn is_activated_since(
    conn: &mut Conn,
    kind: EntityKind,
    id: Option<&str>,
    since: NaiveDateTime,
) -> Result<bool, StoreError> {
    let active = definitions::table
        .filter(definitions::kind.eq(kind.name()))
        .filter(definitions::status.eq(ACTIVE))
        .filter(definitions::updated_at.ge(since))
        .select(definitions::version);
    let version = match id {
        Some(id) => {
            let of_id = active.filter(definitions::id.eq(id));
            on!(conn, c => of_id.first::<i64>(c).await.optional())
        }
        None => on!(conn, c => active.first::<i64>(c).await.optional()),
    };
    Ok(version?.is_some())
}
