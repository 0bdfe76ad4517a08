//! The table of channels.

use chrono::NaiveDateTime;
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::Bool;
use diesel_async::RunQueryDsl;
use svc_model::lifecycle::{self, Rollout, VersionState};
use svc_model::{Channel, ChannelContent, EntityKind, EntityTag, LifecycleStatus, Page, ServiceError};
use svc_secrets::EnvelopeKeys;

use crate::conn::{Conn, load_rows, on};
use crate::error::StoreError;
use crate::prepared::Prepared;
use crate::repo::channel_columns::{ChannelContentRow, ChannelRow, open_all};
use crate::repo::channel_credentials::ChannelVersion;
use crate::repo::references::References;
use crate::repo::requirements::{self, ChannelRequirements, Objection};
use crate::repo::usage::{channels_naming, workflows_naming};
use crate::repo::versioned::{StatusChangePlan, Versioned, stored_status};
use crate::repo::{EntityFilter, IDS_PER_QUERY, channel_pauses, cron, sorted, tagged};
use crate::schema::{channels, cron_occurrences, cron_schedule_state};

/// Condition on a latest version: its id has an active version.
const SERVES: &str = "(channels.status = 'active' OR EXISTS (SELECT 1 FROM channels AS serving \
    WHERE serving.channel_id = channels.channel_id AND serving.status = 'active'))";
/// Condition on a latest version: its id has no active version.
const SERVES_NOT: &str = "NOT EXISTS (SELECT 1 FROM channels AS serving \
    WHERE serving.channel_id = channels.channel_id AND serving.status = 'active')";

/// Selects the latest versions that match a filter.
macro_rules! filtered {
    ($db:ident, $filter:expr, $backend:expr) => {{
        let mut query = channels::table.filter(channels::is_latest).into_boxed::<$db>();
        if let Some(status) = &$filter.status {
            query = query.filter(channels::status.eq(status.clone()));
        }
        if let Some(channel_type) = &$filter.channel_type {
            query = query.filter(channels::channel_type.eq(channel_type.to_ascii_lowercase()));
        }
        if let Some(protocol) = &$filter.protocol {
            query = query.filter(channels::protocol.eq(protocol.to_ascii_lowercase()));
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

/// Returns the active channels that run one of these workflows, unordered: with an order, SQLite would scan
/// everything active.
pub(super) async fn active_using(
    conn: &mut Conn,
    workflows: &[String],
    keys: &EnvelopeKeys,
) -> Result<Vec<Channel>, StoreError> {
    let mut rows = Vec::new();
    for ids in workflows.chunks(IDS_PER_QUERY) {
        let some =
            channels::table.filter(channels::workflow_id.eq_any(ids)).filter(channels::status.eq("active"));
        rows.extend(open_all(on!(conn, c => some.load::<ChannelRow>(c).await)?, keys));
    }
    Ok(rows)
}

/// Returns the newest version that has this name.
pub(super) async fn latest_named(
    conn: &mut Conn,
    name: &str,
    keys: &EnvelopeKeys,
) -> Result<Option<Channel>, StoreError> {
    let named = channels::table
        .filter(channels::name.eq(name))
        .order((channels::updated_at.desc(), channels::version.desc()));
    let row = on!(conn, c => named.first::<ChannelRow>(c).await.optional())?;
    Ok(row.map(|row| row.open(keys)))
}

impl Versioned for Channel {
    type Content = ChannelContent;
    type Requirements = ChannelRequirements;
    const KIND: EntityKind = EntityKind::Channel;
    const REPOSITORY: &'static str = "channels";

    fn id(&self) -> &str {
        &self.channel_id
    }

    fn content(&self) -> &ChannelContent {
        &self.content
    }

    fn content_hash(content: &ChannelContent) -> String {
        content.content_hash()
    }

    fn state(&self) -> VersionState {
        VersionState { version: self.version, status: self.status, rollout_percentage: 100 }
    }

    fn entity_tag(&self) -> EntityTag {
        Channel::entity_tag(self)
    }

    async fn list(
        conn: &mut Conn,
        filter: &EntityFilter,
        page: Option<Page>,
        keys: &EnvelopeKeys,
    ) -> Result<(Vec<Channel>, i64), StoreError> {
        use channels::dsl;
        let backend = conn.backend();
        let descending = filter.descending(true);
        on!(conn, c: Db => {
            let query = filtered!(Db, filter, backend);
            let query = match filter.sort_by.as_deref() {
                Some("name") => sorted!(query, dsl::name, descending),
                Some("status") => sorted!(query, dsl::status, descending),
                Some("created_at") => sorted!(query, dsl::created_at, descending),
                Some("updated_at") => sorted!(query, dsl::updated_at, descending),
                Some("channel_type") => sorted!(query, dsl::channel_type, descending),
                Some("protocol") => sorted!(query, dsl::protocol, descending),
                _ => sorted!(query, dsl::priority, descending),
            };
            let mut query = query.then_order_by(dsl::name.asc()).then_order_by(dsl::channel_id.asc());
            if let Some(page) = page {
                query = query.limit(page.limit).offset(page.offset);
            }
            let rows = query.load::<ChannelRow>(c).await?;
            let total = match page {
                Some(_) => filtered!(Db, filter, backend).count().get_result::<i64>(c).await?,
                None => i64::try_from(rows.len()).unwrap_or(i64::MAX),
            };
            Ok((open_all(rows, keys), total))
        })
    }

    async fn active(
        conn: &mut Conn,
        ids: Option<&[String]>,
        keys: &EnvelopeKeys,
    ) -> Result<Vec<Channel>, StoreError> {
        // Sorted like the primary key: sorted by the id alone, SQLite would read every active row to find
        // one.
        let order = (channels::channel_id.asc(), channels::version.asc());
        let all = channels::table.filter(channels::status.eq("active")).order(order);
        let Some(ids) = ids else {
            let open = keys.clone();
            return Ok(load_rows!(conn, all => ChannelRow, move |row: ChannelRow| row.open(&open)).await?);
        };
        let mut rows = Vec::new();
        for ids in ids.chunks(IDS_PER_QUERY) {
            let some = all.filter(channels::channel_id.eq_any(ids));
            rows.extend(open_all(on!(conn, c => some.load::<ChannelRow>(c).await)?, keys));
        }
        Ok(rows)
    }

    async fn serving(conn: &mut Conn, ids: &[String]) -> Result<Vec<(String, VersionState)>, StoreError> {
        let mut serving = Vec::new();
        for ids in ids.chunks(IDS_PER_QUERY) {
            let some = channels::table
                .filter(channels::status.eq(LifecycleStatus::Active.name()))
                .filter(channels::channel_id.eq_any(ids))
                .select((channels::channel_id, channels::version));
            let rows = on!(conn, c => some.load::<(String, i64)>(c).await)?;
            serving.extend(rows.into_iter().map(|(id, version)| {
                let status = LifecycleStatus::Active;
                (id, VersionState { version, status, rollout_percentage: 100 })
            }));
        }
        Ok(serving)
    }

    async fn find(
        conn: &mut Conn,
        id: &str,
        version: Option<i64>,
        keys: &EnvelopeKeys,
    ) -> Result<Option<Channel>, StoreError> {
        let of_id = channels::table.filter(channels::channel_id.eq(id));
        let row = match version {
            Some(version) => {
                let one = of_id.filter(channels::version.eq(version));
                on!(conn, c => one.first::<ChannelRow>(c).await.optional())
            }
            None => {
                let newest = of_id.order(channels::version.desc());
                on!(conn, c => newest.first::<ChannelRow>(c).await.optional())
            }
        };
        Ok(row?.map(|row| row.open(keys)))
    }

    async fn states(conn: &mut Conn, id: &str) -> Result<Vec<VersionState>, StoreError> {
        let rows = channels::table
            .filter(channels::channel_id.eq(id))
            .order(channels::version.desc())
            .select((channels::version, channels::status));
        let rows = on!(conn, c => rows.load::<(i64, String)>(c).await)?;
        let state = |(version, name): (i64, String)| VersionState {
            version,
            status: stored_status(&name),
            rollout_percentage: 100,
        };
        Ok(rows.into_iter().map(state).collect())
    }

    async fn versions(
        conn: &mut Conn,
        id: &str,
        page: Page,
        keys: &EnvelopeKeys,
    ) -> Result<Vec<Channel>, StoreError> {
        let rows = channels::table
            .filter(channels::channel_id.eq(id))
            .order(channels::version.desc())
            .limit(page.limit)
            .offset(page.offset);
        Ok(open_all(on!(conn, c => rows.load::<ChannelRow>(c).await)?, keys))
    }

    async fn last_archived(conn: &mut Conn, id: &str, below: i64) -> Result<Option<i64>, StoreError> {
        let archived = channels::table
            .filter(channels::channel_id.eq(id))
            .filter(channels::status.eq(LifecycleStatus::Archived.name()))
            .filter(channels::version.lt(below))
            .order((channels::updated_at.desc(), channels::version.desc()))
            .select(channels::version);
        Ok(on!(conn, c => archived.first::<i64>(c).await.optional())?)
    }

    async fn is_activated_since(
        conn: &mut Conn,
        id: Option<&str>,
        since: NaiveDateTime,
    ) -> Result<bool, StoreError> {
        let active = channels::table
            .filter(channels::status.eq(LifecycleStatus::Active.name()))
            .filter(channels::updated_at.ge(since))
            .select(channels::version);
        let version = match id {
            Some(id) => {
                let of_id = active.filter(channels::channel_id.eq(id));
                on!(conn, c => of_id.first::<i64>(c).await.optional())
            }
            None => on!(conn, c => active.first::<i64>(c).await.optional()),
        };
        Ok(version?.is_some())
    }

    /// Tasks call a channel by the name of its active version, and the `on_failure` of other channels names
    /// it the same way.
    async fn users(
        conn: &mut Conn,
        id: &str,
        references: &dyn References,
        keys: &EnvelopeKeys,
    ) -> Result<Vec<String>, StoreError> {
        let names = channels::table
            .filter(channels::channel_id.eq(id))
            .filter(channels::status.eq(LifecycleStatus::Active.name()))
            .select(channels::name);
        let names = on!(conn, c => names.load::<String>(c).await)?;
        if names.is_empty() {
            return Ok(Vec::new());
        }
        let mut users = workflows_naming(conn, references, EntityKind::Channel, &names, keys).await?;
        users.extend(channels_naming(conn, references, EntityKind::Channel, &names, keys).await?);
        Ok(users)
    }

    async fn insert(
        conn: &mut Conn,
        id: &str,
        version: i64,
        content: &ChannelContent,
        keys: &EnvelopeKeys,
    ) -> Result<(), StoreError> {
        let key = (channels::channel_id.eq(id), channels::version.eq(version));
        let insert = diesel::insert_into(channels::table)
            .values((key, ChannelContentRow::seal(content, ChannelVersion { id, version }, keys)?));
        on!(conn, c => insert.execute(c).await)?;
        Ok(())
    }

    async fn replace(
        conn: &mut Conn,
        id: &str,
        version: i64,
        content: &ChannelContent,
        keys: &EnvelopeKeys,
    ) -> Result<(), StoreError> {
        let update = diesel::update(channels::table.find((id, version))).set(ChannelContentRow::seal(
            content,
            ChannelVersion { id, version },
            keys,
        )?);
        on!(conn, c => Prepared(update).execute(c).await)?;
        Ok(())
    }

    async fn set_state(conn: &mut Conn, id: &str, state: VersionState) -> Result<(), StoreError> {
        let row = channels::table.find((id, state.version));
        let update = diesel::update(row).set(channels::status.eq(state.status.name()));
        on!(conn, c => Prepared(update).execute(c).await)?;
        Ok(())
    }

    /// Pauses the schedule, so that it starts anew when the channel serves again.
    async fn stop_dependents(conn: &mut Conn, id: &str) -> Result<(), StoreError> {
        cron::pause(conn, id).await
    }

    /// Deletes the channel with its pause, its schedule and its occurrences. Slots that they hold stay until their
    /// leases expire, so that their runs have stopped by then: a key is shared.
    async fn delete(conn: &mut Conn, id: &str) -> Result<usize, StoreError> {
        let delete = diesel::delete(channels::table.filter(channels::channel_id.eq(id)));
        let deleted = on!(conn, c => delete.execute(c).await)?;
        channel_pauses::forget(conn, id).await?;
        let delete = diesel::delete(cron_schedule_state::table.find(id));
        on!(conn, c => delete.execute(c).await)?;
        let delete = diesel::delete(cron_occurrences::table.filter(cron_occurrences::channel_id.eq(id)));
        on!(conn, c => delete.execute(c).await)?;
        Ok(deleted)
    }

    /// Checks that no other channel has the name in its latest version.
    async fn check_content(conn: &mut Conn, id: &str, content: &ChannelContent) -> Result<(), StoreError> {
        let holder = channels::table
            .filter(channels::is_latest)
            .filter(channels::name.eq(&content.name))
            .filter(channels::channel_id.ne(id))
            .select(channels::channel_id);
        match on!(conn, c => holder.first::<String>(c).await.optional())? {
            Some(holder) => {
                let message = format!("channel '{holder}' is named '{}' already", content.name);
                Err(ServiceError::conflict(message).into())
            }
            None => Ok(()),
        }
    }

    async fn plan(
        conn: &mut Conn,
        id: &str,
        target: LifecycleStatus,
        _: Rollout,
        requirements: &ChannelRequirements,
        keys: &EnvelopeKeys,
    ) -> Result<StatusChangePlan, StoreError> {
        let states = Self::states(conn, id).await?;
        let change = match target {
            LifecycleStatus::Active => lifecycle::activate_channel(id, &states),
            LifecycleStatus::Archived => lifecycle::archive(Self::KIND, id, &states),
            LifecycleStatus::Draft => Err(ServiceError::validation("status must be active or archived")),
        };
        let transition = match change {
            Ok(transition) => transition,
            Err(error) => {
                return Ok(StatusChangePlan { transition: None, objections: vec![Objection::from(error)] });
            }
        };
        let mut objections = Vec::new();
        if target == LifecycleStatus::Active
            && let Some(draft) = Self::find(conn, id, Some(transition.answer), keys).await?
        {
            objections = requirements::check_channel(conn, id, &draft.content, requirements).await?;
        }
        Ok(StatusChangePlan { transition: Some(transition), objections })
    }
}
