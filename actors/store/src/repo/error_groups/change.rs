//! The last change before the first failure of a group.

use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::Text;
use diesel_async::RunQueryDsl;
use svc_model::{AuditAction, AuditResource, AuditRow, EntityKind, Timestamp};

use crate::conn::{Conn, on};
use crate::error::StoreError;
use crate::repo::audit::StoredAuditRow;
use crate::schema::{audit_logs, definitions};

/// The definitions whose change may be the cause of failures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangeScope {
    pub channel_id: Option<String>,
    pub workflow_id: Option<String>,
    /// Names of the connectors that they use.
    pub connectors: Vec<String>,
    /// The latest instant.
    pub before: Timestamp,
}

/// Actions that change what a definition does.
const CHANGES: [AuditAction; 9] = [
    AuditAction::Create,
    AuditAction::CreateVersion,
    AuditAction::Delete,
    AuditAction::Import,
    AuditAction::Rollback,
    AuditAction::StatusActive,
    AuditAction::StatusArchived,
    AuditAction::Update,
    AuditAction::UpdateRollout,
];

/// The type of a resource, as an expression: the index of its id has few rows, that of its type may have most of the log,
/// and looks as good to SQLite.
const RESOURCE_TYPE: &str = "resource_type || ''";

pub(super) async fn last_changes(
    conn: &mut Conn,
    scopes: &[ChangeScope],
) -> Result<Vec<Option<AuditRow>>, StoreError> {
    let mut changes = Vec::with_capacity(scopes.len());
    for scope in scopes {
        changes.push(last_change(conn, scope).await?);
    }
    Ok(changes)
}

async fn last_change(conn: &mut Conn, scope: &ChangeScope) -> Result<Option<AuditRow>, StoreError> {
    let named = definitions::table
        .filter(definitions::kind.eq(EntityKind::Connector.name()))
        .filter(definitions::name.eq_any(&scope.connectors))
        .select(definitions::id);
    let connector_ids: Vec<String> = match scope.connectors.is_empty() {
        true => Vec::new(),
        false => on!(conn, c => named.load(c).await)?,
    };
    let mut last: Option<AuditRow> = None;
    for (resource, ids) in [
        (AuditResource::Channel, scope.channel_id.iter().cloned().collect()),
        (AuditResource::Workflow, scope.workflow_id.iter().cloned().collect()),
        (AuditResource::Connector, connector_ids),
    ] {
        let ids: Vec<String> = ids;
        if ids.is_empty() {
            continue;
        }
        let newest = audit_logs::table
            .filter(sql::<Text>(RESOURCE_TYPE).eq(resource.name()))
            .filter(audit_logs::resource_id.eq_any(ids))
            .filter(audit_logs::action.eq_any(CHANGES.map(AuditAction::name)))
            .filter(audit_logs::created_at.le(scope.before.naive()))
            .order((audit_logs::created_at.desc(), audit_logs::id.desc()));
        let row: Option<StoredAuditRow> = on!(conn, c => newest.first(c).await.optional())?;
        let row = row.map(AuditRow::from);
        if let Some(row) = row
            && last.as_ref().is_none_or(|last| last.created_at < row.created_at)
        {
            last = Some(row);
        }
    }
    Ok(last)
}
