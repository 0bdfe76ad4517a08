//! Administrative operations on the ledger, each recorded in its own transaction.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use svc_ledger::OccurrenceStatus;
use svc_model::{ServiceError, WorkflowVersion};
use uuid::Uuid;

use super::model::{ChannelFacts, OccurrenceRecord};
use super::rows::OccurrenceFacts;
use super::{list, materialise, rows};
use crate::clock;
use crate::conn::{Conn, on};
use crate::error::StoreError;
use crate::group::SingleCall;
use crate::repo::mutation::{AuditEntry, record};
use crate::repo::traces::RerunVersion;
use crate::repo::traces::rerun::{find_version, last_version};
use crate::schema::cron_occurrences;

/// Makes another attempt at an occurrence possible.
pub(super) struct RetryRequest {
    pub(super) id: String,
    pub(super) version: RerunVersion,
    pub(super) audit: AuditEntry,
}

impl SingleCall for RetryRequest {
    type Answer = OccurrenceRecord;

    async fn run(&self, conn: &mut Conn) -> Result<OccurrenceRecord, StoreError> {
        let Self { id, version, audit } = self;
        let occurrence = retry_occurrence(conn, id, *version).await?;
        record(conn, audit.clone(), id).await?;
        Ok(occurrence)
    }
}

/// Makes another attempt at an occurrence possible, with a version of its workflow. Returns its new state.
///
/// # Errors
/// [`StoreError::Refused`]: 404 if there is none, 409 unless it failed, was skipped or cancelled, 400 for an unknown
/// version.
pub(in crate::repo) async fn retry_occurrence(
    conn: &mut Conn,
    id: &str,
    version: RerunVersion,
) -> Result<OccurrenceRecord, StoreError> {
    let row = match Uuid::try_parse(id) {
        Ok(id) => rows::lock(conn, id).await?,
        Err(_) => None,
    };
    let Some((mut row, facts)) = row else {
        return Err(match list::get(conn, id).await? {
            None => absent(id),
            // Only another program can have written a row to which no rule applies.
            Some(foreign) => {
                let status = foreign.row.status;
                ServiceError::conflict(format!("an occurrence that is {status} cannot be retried")).into()
            }
        });
    };
    let (last_trace, was_cancelled) = (row.trace_id, row.status == OccurrenceStatus::Cancelled);
    row.retry().map_err(|refused| ServiceError::conflict(refused.to_string()))?;
    let last = match last_trace {
        Some(trace) => last_version(conn, trace).await?,
        None => None,
    };
    let last = last.filter(|last| facts.workflow_id.as_deref() == Some(&*last.id));
    let workflow_version = match version {
        // No attempt began: it is made as it was to be made.
        RerunVersion::Same if was_cancelled && last.is_none() => facts.workflow_version,
        version => find_workflow_version(conn, &facts, last, version).await?,
    };
    let now = clock::now(conn).await?;
    rows::save(conn, &row, now).await?;
    let begun_anew = (
        cron_occurrences::cancel_requested_at.eq(None::<chrono::NaiveDateTime>),
        cron_occurrences::cancelled_by.eq(None::<&str>),
        cron_occurrences::cancel_reports.eq(None::<bool>),
        cron_occurrences::workflow_version.eq(workflow_version),
        cron_occurrences::awaited_channel.eq(None::<&str>),
    );
    let row = cron_occurrences::table.find(id);
    on!(conn, c => diesel::update(row).set(begun_anew).execute(c).await)?;
    list::get(conn, id).await?.ok_or_else(|| absent(id))
}

/// Returns the version of the workflow that the attempts are to run; `None` for the one that serves.
async fn find_workflow_version(
    conn: &mut Conn,
    facts: &OccurrenceFacts,
    last: Option<WorkflowVersion>,
    version: RerunVersion,
) -> Result<Option<i64>, StoreError> {
    let number = match version {
        RerunVersion::Current => return Ok(None),
        RerunVersion::Number(number) => number,
        RerunVersion::Same => {
            let reason = "no version of its workflow ran: retry it with the version 'current'";
            last.ok_or_else(|| ServiceError::conflict(reason))?.version
        }
    };
    let Some(workflow) = &facts.workflow_id else {
        return Err(ServiceError::conflict("the occurrence names no workflow").into());
    };
    find_version(conn, &WorkflowVersion { id: workflow.as_str().into(), version: number }).await?;
    Ok(Some(number))
}

/// Records an occurrence that an administrator requests.
pub(super) struct TriggerRequest {
    pub(super) channel: ChannelFacts,
    pub(super) audit: AuditEntry,
}

impl SingleCall for TriggerRequest {
    type Answer = OccurrenceRecord;

    async fn run(&self, conn: &mut Conn) -> Result<OccurrenceRecord, StoreError> {
        let Self { channel, audit } = self;
        let Some(id) = materialise::trigger(conn, channel).await? else {
            let message = format!(
                "channel '{}' has an occurrence at every instant from now that this one may take",
                channel.channel_id
            );
            return Err(ServiceError::conflict(message).into());
        };
        record(conn, audit.clone(), &channel.channel_id).await?;
        let id = id.to_string();
        list::get(conn, &id).await?.ok_or_else(|| absent(&id))
    }
}

pub(super) fn absent(id: &str) -> StoreError {
    ServiceError::not_found(format!("occurrence '{id}' does not exist")).into()
}
