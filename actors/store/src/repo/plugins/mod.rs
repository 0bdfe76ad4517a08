//! Plugins: versions of their manifests, and the components that run them.
//!
//! A plugin has one draft and one active version at most. A component is stored once under its digest, and is deleted
//! with the last version that has it. Every change of what serves raises the epoch, so that all nodes load the plugins
//! again.

mod rows;

use std::sync::Arc;

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use svc_model::{LifecycleStatus, Page, ServiceError};
use svc_secrets::EnvelopeKeys;

use crate::conn::{Conn, on};
use crate::database::Database;
use crate::error::StoreError;
use crate::metrics::QueryOperation;
use crate::repo::change_facts::ChangeFacts;
use crate::repo::definitions::{ImportAction, ImportOutcome, OnConflict};
use crate::repo::key;
use crate::repo::mutation::{Mutation, MutationResult, mutate};
use crate::repo::references::References;
use crate::repo::usage::workflows_calling;
use crate::schema::{plugin_components, plugins};

use self::rows::{
    ACTIVE, ARCHIVED, DRAFT, StoredPluginRow, delete_unused_components, insert, move_status, read_written,
    replace_draft, versions,
};
pub use self::rows::{NewPlugin, PluginVersion};

/// The plugins.
#[derive(Clone)]
pub struct Plugins {
    pub(crate) database: Database,
    pub(crate) keys: Arc<EnvelopeKeys>,
}

const fn operation(method: &'static str) -> QueryOperation {
    QueryOperation::new("plugins", method)
}

impl Plugins {
    /// Returns a page of the versions, by id and newest first within an id, and the number of all.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Database`] if it refuses the query.
    pub async fn list(&self, page: Page) -> Result<(Vec<PluginVersion>, i64), StoreError> {
        self.database
            .read(operation("list"), move |conn| {
                Box::pin(async move {
                    let rows = plugins::table
                        .order((plugins::id.asc(), plugins::version.desc()))
                        .limit(page.limit)
                        .offset(page.offset);
                    let rows: Vec<StoredPluginRow> = on!(conn, c => rows.load(c).await)?;
                    let total = plugins::table.count();
                    let total: i64 = on!(conn, c => total.get_result(c).await)?;
                    Ok((rows.into_iter().map(PluginVersion::from).collect(), total))
                })
            })
            .await
    }

    /// Returns the versions of a plugin, newest first; none for an unknown plugin.
    ///
    /// # Errors
    /// Those of [`list`](Self::list).
    pub async fn versions(&self, id: &str) -> Result<Vec<PluginVersion>, StoreError> {
        let id = key(id);
        self.database
            .read(operation("versions"), move |conn| Box::pin(async move { versions(conn, &id).await }))
            .await
    }

    /// Returns the latest version of every plugin, by id, or that of one plugin.
    ///
    /// # Errors
    /// Those of [`list`](Self::list).
    pub async fn latest(&self, id: Option<&str>) -> Result<Vec<PluginVersion>, StoreError> {
        let id = id.map(key);
        self.database
            .read(operation("latest"), move |conn| {
                Box::pin(async move {
                    let mut rows = match id {
                        Some(id) => versions(conn, &id).await?,
                        None => {
                            let rows = plugins::table.order((plugins::id.asc(), plugins::version.desc()));
                            let rows: Vec<StoredPluginRow> = on!(conn, c => rows.load(c).await)?;
                            rows.into_iter().map(PluginVersion::from).collect()
                        }
                    };
                    rows.dedup_by(|later, first| later.id == first.id);
                    Ok(rows)
                })
            })
            .await
    }

    /// Returns the active versions, by id.
    ///
    /// # Errors
    /// Those of [`list`](Self::list).
    pub async fn active(&self) -> Result<Vec<PluginVersion>, StoreError> {
        self.database
            .read(operation("active"), |conn| {
                Box::pin(async move {
                    let rows = plugins::table.filter(plugins::status.eq(ACTIVE)).order(plugins::id.asc());
                    let rows: Vec<StoredPluginRow> = on!(conn, c => rows.load(c).await)?;
                    Ok(rows.into_iter().map(PluginVersion::from).collect())
                })
            })
            .await
    }

    /// Returns the component of a digest, in base64.
    ///
    /// # Errors
    /// Those of [`list`](Self::list).
    pub async fn component(&self, digest: &str) -> Result<Option<String>, StoreError> {
        let digest = key(digest);
        self.database
            .read(operation("component"), move |conn| {
                Box::pin(async move {
                    let row = plugin_components::table.find(digest).select(plugin_components::component);
                    Ok(on!(conn, c => row.first::<String>(c).await.optional())?)
                })
            })
            .await
    }

    /// Creates a plugin with a draft as its first version.
    ///
    /// # Errors
    /// [`StoreError::Refused`]: 409 if there is one of that id. The other variants if the database fails.
    pub async fn create(
        &self,
        id: &str,
        new: NewPlugin,
        mutation: Mutation,
    ) -> Result<PluginVersion, StoreError> {
        let id = key(id);
        mutate(&self.database, operation("create"), mutation, move |conn| {
            Box::pin(async move {
                if !versions(conn, &id).await?.is_empty() {
                    return Err(id_taken(&id));
                }
                insert(conn, (&id, 1), &new).await?;
                read_written(conn, &id).await
            })
        })
        .await
    }

    /// Replaces the draft of a plugin, or adds one as a further version.
    ///
    /// # Errors
    /// [`StoreError::Refused`]: 404 if there is no such plugin. The other variants if the database fails.
    pub async fn save_draft(
        &self,
        id: &str,
        new: NewPlugin,
        mutation: Mutation,
    ) -> Result<PluginVersion, StoreError> {
        let id = key(id);
        mutate(&self.database, operation("save_draft"), mutation, move |conn| {
            Box::pin(async move {
                let stored = versions(conn, &id).await?;
                let latest = stored.as_slice().first().ok_or_else(|| absent(&id))?;
                replace_draft(conn, latest, &new).await?;
                read_written(conn, &id).await
            })
        })
        .await
    }

    /// Creates a plugin, or stores as a draft of it what differs from its latest version.
    ///
    /// # Errors
    /// [`StoreError::Refused`]: 409 if there is one of that id and [`OnConflict::Fail`] was requested. The other
    /// variants if the database fails.
    pub async fn import_item(
        &self,
        id: &str,
        new: NewPlugin,
        on_conflict: OnConflict,
        mutation: Mutation,
    ) -> Result<ImportOutcome, StoreError> {
        let id = key(id);
        mutate(&self.database, operation("import_item"), mutation, move |conn| {
            Box::pin(async move {
                let action = import_one(conn, &id, &new, on_conflict).await?;
                let (written, facts) = (action.writes().then(|| id.clone()), ChangeFacts::default());
                Ok(MutationResult { value: ImportOutcome { id, action }, id: written, facts })
            })
        })
        .await
    }

    /// Activates the draft of a plugin in the place of the active version.
    ///
    /// # Errors
    /// [`StoreError::Refused`]: 404 if there is no such plugin, 409 if it has no draft. The other variants if the
    /// database fails.
    pub async fn activate(&self, id: &str, mutation: Mutation) -> Result<PluginVersion, StoreError> {
        let id = key(id);
        let mutation = Mutation { epoch: true, ..mutation };
        mutate(&self.database, operation("activate"), mutation, move |conn| {
            Box::pin(async move {
                let stored = versions(conn, &id).await?;
                let latest = stored.into_iter().next().ok_or_else(|| absent(&id))?;
                if latest.status != LifecycleStatus::Draft {
                    let message = format!("plugin '{id}' has no draft to activate: PUT makes one");
                    return Err(ServiceError::conflict(message).into());
                }
                move_status(conn, &id, (ACTIVE, ARCHIVED)).await?;
                move_status(conn, &id, (DRAFT, ACTIVE)).await?;
                read_written(conn, &id).await
            })
        })
        .await
    }

    /// Archives the active version of a plugin, if no active workflow calls it.
    ///
    /// # Errors
    /// [`StoreError::Refused`]: 404 if there is no such plugin, 409 if no version of it is active, or naming the
    /// workflows that call it. The other variants if the database fails.
    pub async fn archive(
        &self,
        id: &str,
        references: Arc<dyn References>,
        mutation: Mutation,
    ) -> Result<PluginVersion, StoreError> {
        let (id, keys) = (key(id), Arc::clone(&self.keys));
        let mutation = Mutation { epoch: true, ..mutation };
        mutate(&self.database, operation("archive"), mutation, move |conn| {
            Box::pin(async move {
                let stored = versions(conn, &id).await?;
                stored.as_slice().first().ok_or_else(|| absent(&id))?;
                let callers = workflows_calling(conn, &*references, &id, &keys).await?;
                if !callers.is_empty() {
                    return Err(in_use(&id, &callers));
                }
                if move_status(conn, &id, (ACTIVE, ARCHIVED)).await? == 0 {
                    return Err(ServiceError::conflict(format!("plugin '{id}' has no active version")).into());
                }
                read_written(conn, &id).await
            })
        })
        .await
    }

    /// Deletes a plugin with all versions.
    ///
    /// # Errors
    /// [`StoreError::Refused`]: 404 if there is no such plugin, 409 if a version of it is active. The other variants if
    /// the database fails.
    pub async fn delete(&self, id: &str, mutation: Mutation) -> Result<(), StoreError> {
        let id = key(id);
        mutate(&self.database, operation("delete"), mutation, move |conn| {
            Box::pin(async move {
                let stored = versions(conn, &id).await?;
                stored.as_slice().first().ok_or_else(|| absent(&id))?;
                if stored.iter().any(|version| version.status == LifecycleStatus::Active) {
                    return Err(
                        ServiceError::conflict(format!("plugin '{id}' is active: archive it first")).into()
                    );
                }
                let all = plugins::table.filter(plugins::id.eq(&id));
                on!(conn, c => diesel::delete(all).execute(c).await)?;
                delete_unused_components(conn).await?;
                Ok(MutationResult::new((), &id))
            })
        })
        .await
    }
}

async fn import_one(
    conn: &mut Conn,
    id: &str,
    new: &NewPlugin,
    on_conflict: OnConflict,
) -> Result<ImportAction, StoreError> {
    let stored = versions(conn, id).await?;
    let Some(latest) = stored.as_slice().first() else {
        insert(conn, (id, 1), new).await?;
        return Ok(ImportAction::Created);
    };
    match on_conflict {
        OnConflict::Fail => return Err(id_taken(id)),
        OnConflict::Skip => return Ok(ImportAction::Skipped),
        OnConflict::NewVersion => {}
    }
    if latest.holds(new) && latest.status != LifecycleStatus::Archived {
        return Ok(ImportAction::Unchanged);
    }
    replace_draft(conn, latest, new).await?;
    Ok(match latest.status {
        LifecycleStatus::Draft => ImportAction::UpdatedDraft,
        LifecycleStatus::Active | LifecycleStatus::Archived => ImportAction::NewVersion,
    })
}

fn id_taken(id: &str) -> StoreError {
    let message = format!("plugin '{id}' exists already: PUT replaces its draft, or makes one");
    ServiceError::conflict(message).into()
}

fn in_use(id: &str, callers: &[String]) -> StoreError {
    let callers = callers.join(", ");
    let message = format!("plugin '{id}' is in use by {callers}; archive or change them first");
    ServiceError::conflict(message).into()
}

fn absent(id: &str) -> ServiceError {
    ServiceError::not_found(format!("plugin '{id}' not found"))
}
