//! Backups of a SQLite file, made while it serves.

use actix_web::HttpResponse;
use actix_web::web::{Data, block};
use svc_model::{AuditAction, AuditResource, Code, ServiceError, Timestamp};
use svc_outbound::describe_cause;
use svc_store::{Backend, BackupError};

use super::mutation_request::{MutationRequest, dry_run_response};
use super::request_body::NoBody;
use super::response::data_response;
use crate::http::Error;
use crate::state::AppState;

/// The resource type of backups in audit rows.
const BACKUP: AuditResource = AuditResource::Backup;

/// `GET /backups`: the files, newest first.
pub(super) async fn list(state: Data<AppState>) -> Result<HttpResponse, Error> {
    require_own_file(&state)?;
    let listing = block(move || state.process.backups.list()).await.map_err(ServiceError::internal_error)?;
    let refused = |error: std::io::Error| {
        failure(format!("the directory of backups cannot be read: {}", describe_cause(&error)))
    };
    let files = listing.map_err(refused)?;
    Ok(data_response(files))
}

/// `POST /backups`: copies the database, then prunes the oldest files. A copy that fails leaves nothing behind.
pub(super) async fn create(
    state: Data<AppState>,
    change: MutationRequest,
    _: NoBody,
) -> Result<HttpResponse, Error> {
    let possible = require_own_file(&state);
    if change.is_dry_run() {
        return dry_run_response(possible);
    }
    possible?;
    let _turn = state.process.backups.turn().await;
    let directory = state.clone();
    let draft = block(move || directory.process.backups.begin(Timestamp::now())).await;
    let draft = draft.map_err(ServiceError::internal_error)?.map_err(backup_failure)?;
    state.store.back_up(draft.part().to_owned()).await.map_err(backup_failure)?;
    // Recorded before the file has its name, so that no backup is unrecorded.
    state.store.audit().record(change.caller.audit(AuditAction::Create, BACKUP, &draft.filename)).await?;
    state.metrics.record_audit_event(AuditAction::Create, BACKUP);
    let finished = block(move || draft.finish()).await;
    let file = finished.map_err(ServiceError::internal_error)?.map_err(backup_failure)?;
    slog::info!(state.log, "backup made"; "file" => &file.path, "bytes" => file.size_bytes);
    prune(&state).await;
    Ok(data_response(file))
}

/// Deletes old files. The backup is made: a failure is only logged.
async fn prune(state: &Data<AppState>) {
    let directory = state.clone();
    match block(move || directory.process.backups.prune()).await {
        Ok(Ok(pruned)) if pruned.is_empty() => {}
        Ok(Ok(pruned)) => slog::info!(state.log, "old backups deleted"; "files" => pruned.join(", ")),
        Ok(Err(error)) => slog::warn!(state.log, "old backups were not deleted"; "error" => %error),
        Err(error) => slog::warn!(state.log, "old backups were not deleted"; "error" => %error),
    }
}

/// Refuses if the database is not a file of this process alone.
fn require_own_file(state: &AppState) -> Result<(), ServiceError> {
    let reason = if state.store.backend() != Backend::Sqlite {
        "backups are for SQLite; back PostgreSQL up with its own tools, such as pg_dump"
    } else if state.config.cluster.enabled {
        "backups are for one node; back the database of a cluster up with its own tools"
    } else {
        return Ok(());
    };
    Err(ServiceError::validation(reason))
}

fn backup_failure(error: BackupError) -> ServiceError {
    failure(format!("no backup was made: {error}"))
}

/// Returns the failure with its reason, which the operator needs: a full disk, a directory without permission.
fn failure(reason: String) -> ServiceError {
    ServiceError::new(Code::StorageError, reason.clone()).with_internal(reason)
}
