//! Import: a batch of create bodies, each on its own.
//!
//! Each kind stores its own items; [`import_batch`] does the rest for all kinds.

use std::collections::HashSet;
use std::ops::Range;

use actix_web::web::{Data, block};
use actix_web::{HttpRequest, HttpResponse};
use futures_util::future::join_all;
use serde_json::Value;
use svc_api::{ImportFailure, ImportSummary, ImportedItem, PACKAGE_SIGNATURE_HEADER, ValidationIssue};
use svc_model::{AuditAction, AuditResource, Code, EntityKind, FieldError, Issue, ServiceError};
use svc_project::Boundary;
use svc_project::rules::import_body;
use svc_store::{ImportAction, ImportOutcome, OnConflict};
use tokio::task::yield_now;

use super::admin_entity::AdminEntity;
use crate::admin::mutation_request::MutationRequest;
use crate::admin::response::data_response;
use crate::http::{Error, SentJsonBody};
use crate::state::AppState;

/// Maximum number of items in one request, unless it is the file of a package.
const MAX_ITEMS: usize = 1000;
/// Items that are stored together, which costs them one commit instead of one each. Other requests of the thread wait
/// while so many are read, and other writers while they are written.
const ITEMS_AT_ONCE: usize = 32;
/// The treatments of an item whose key exists.
pub(crate) const ON_CONFLICT: [(&str, OnConflict); 3] =
    [("fail", OnConflict::Fail), ("skip", OnConflict::Skip), ("new_version", OnConflict::NewVersion)];

/// The outcomes of items that were to be stored, in their order.
pub(crate) type ItemOutcomes = Vec<Result<ImportOutcome, ServiceError>>;

/// `POST /{kind}/import`, of a versioned kind.
pub(crate) async fn import<V: AdminEntity>(
    state: Data<AppState>,
    change: MutationRequest,
    request: HttpRequest,
    body: SentJsonBody,
) -> Result<HttpResponse, Error> {
    require_trust(&state, &request, &body).await?;
    let mut keys = HashSet::new();
    let parse = |item: &Value, unique: bool| {
        let (id, content) = V::parse_new(&state, item)?;
        if let Some(id) = id.as_ref().filter(|_| unique) {
            refuse_duplicate_key(&mut keys, V::KIND, id)?;
        }
        Ok::<_, ServiceError>((id, content))
    };
    let stored = V::repository(&state);
    let store = async |items: Vec<(Option<String>, V::Content)>, on_conflict| {
        let writes = items.into_iter().map(|(id, content)| {
            let mutation = change.mutation(AuditAction::Import, V::KIND, "");
            stored.import_item(id, content, on_conflict, mutation)
        });
        let outcomes = join_all(writes).await.into_iter();
        let outcomes = outcomes.map(|outcome| outcome.map_err(ServiceError::from));
        Ok::<ItemOutcomes, ServiceError>(outcomes.collect())
    };
    let warn = |(_, content): &(Option<String>, V::Content)| V::content_warnings(&state, content);
    let report = import_batch(&state, &change, &body.value, V::KIND, parse, warn, store).await?;
    Ok(data_response(report))
}

/// Refuses an import whose body no trusted key has signed, if only signed packages are imported, and one whose
/// signature does not fit. The body of a package has megabytes, whose digest other requests of an HTTP thread would wait
/// for.
pub(crate) async fn require_trust(
    state: &Data<AppState>,
    request: &HttpRequest,
    body: &SentJsonBody,
) -> Result<(), ServiceError> {
    let signature = request.headers().get(PACKAGE_SIGNATURE_HEADER);
    // What is no text is no signature.
    let signature = signature.map(|line| line.to_str().unwrap_or_default().to_owned());
    let (state, bytes) = (state.clone(), body.bytes.clone());
    let checked = block(move || state.process.trust.check(&bytes, signature.as_deref())).await;
    let checked = checked.map_err(ServiceError::internal_error)?;
    checked.map_err(|problem| ServiceError::new(Code::UntrustedPackage, problem))
}

/// Refuses a key that occurs twice in a batch.
pub(crate) fn refuse_duplicate_key(
    keys: &mut HashSet<String>,
    kind: EntityKind,
    key: &str,
) -> Result<(), ServiceError> {
    if keys.insert(key.to_owned()) {
        return Ok(());
    }
    Err(ServiceError::conflict(format!("{kind} '{key}' stands twice in this batch")))
}

/// Imports every item and reports the result of each. `parse` checks an item, whose key may occur only once in the batch
/// if its second argument is `true`; `warn` finds what a dry run warns of; `store` stores those that pass: versions as
/// drafts, some at once, and connectors, whose import is a single change, all at once.
///
/// # Errors
/// The request is malformed, or the database failed before anything was written.
pub(crate) async fn import_batch<I>(
    state: &AppState,
    change: &MutationRequest,
    body: &Value,
    kind: EntityKind,
    mut parse: impl FnMut(&Value, bool) -> Result<I, ServiceError>,
    warn: impl Fn(&I) -> Vec<Issue>,
    mut store: impl AsyncFnMut(Vec<I>, OnConflict) -> Result<ItemOutcomes, ServiceError>,
) -> Result<ImportSummary, ServiceError> {
    let dry_run = change.is_dry_run();
    let on_conflict = change.query.one_of("on_conflict", &ON_CONFLICT)?;
    let items = read_items(body, kind.plural())?;
    let mut report = begin_report(dry_run);
    let unique = dry_run || on_conflict != OnConflict::Fail;
    let mut parse_item = |item: &Value| {
        let body = import_body(kind, item).map_err(ServiceError::invalid)?;
        parse(&body, unique)
    };
    let at_once = if kind == EntityKind::Connector { MAX_ITEMS } else { ITEMS_AT_ONCE };
    let (mut index, mut place) = (0, 0);
    for chunk in items.chunks(at_once) {
        let (mut accepted, mut refusals) = (Vec::new(), Vec::with_capacity(chunk.len()));
        for few in chunk.chunks(ITEMS_AT_ONCE) {
            for item in few {
                match parse_item(item) {
                    Ok(item) => {
                        if let Some(warnings) = &mut report.warnings {
                            warnings.extend(warn(&item).into_iter().map(|issue| of_item(place, issue)));
                        }
                        accepted.push(item);
                        refusals.push(None);
                    }
                    Err(refusal) => refusals.push(Some(refusal)),
                }
                place += 1;
            }
            yield_now().await;
        }
        let stored = if accepted.is_empty() { Vec::new() } else { store(accepted, on_conflict).await? };
        let (mut stored, mut outage) = (stored.into_iter(), None);
        for refusal in refusals {
            let unanswered = || ServiceError::internal_error("an item of an import has no outcome");
            let outcome = match refusal {
                Some(refusal) => Err(refusal),
                None => stored.next().unwrap_or_else(|| Err(unanswered())),
            };
            outage = record_outcome(state, kind.into(), &mut report, index, outcome).or(outage);
            index += 1;
        }
        if let Some(error) = outage {
            record_outage(&mut report, index..items.len(), error)?;
            break;
        }
    }
    end_report(state, change, kind.into(), &mut report).await;
    Ok(report)
}

/// Returns a warning about an item of a batch.
fn of_item(place: usize, issue: Issue) -> ValidationIssue {
    let field = format!("[{place}].{}", issue.field);
    ValidationIssue { field, ..ValidationIssue::from(issue) }
}

/// Begins the report of an import.
pub(crate) fn begin_report(dry_run: bool) -> ImportSummary {
    ImportSummary { dry_run, warnings: dry_run.then(Vec::new), ..ImportSummary::default() }
}

/// Ends the report of an import, and records the import as a whole.
pub(crate) async fn end_report(
    state: &AppState,
    change: &MutationRequest,
    resource: AuditResource,
    report: &mut ImportSummary,
) {
    if has_written(report) {
        record_summary(state, change, resource, report.imported).await;
    }
    report.valid = report.dry_run.then_some(report.failed == 0);
}

/// Reports the items that an outage leaves over. It fails the request, unless items were committed: these must be
/// reported.
///
/// # Errors
/// The outage, if nothing was written.
pub(crate) fn record_outage(
    report: &mut ImportSummary,
    rest: Range<usize>,
    outage: ServiceError,
) -> Result<(), ServiceError> {
    if !has_written(report) {
        return Err(outage);
    }
    rest.for_each(|index| record_failure(report, index, &outage));
    Ok(())
}

/// Returns the items of a batch, which may be the response of an export, or a package, of which `member` has the items.
pub(crate) fn read_items<'b>(body: &'b Value, member: &str) -> Result<&'b [Value], ServiceError> {
    let (items, most) = match body {
        Value::Object(package) if package.contains_key("package") => {
            require_version(package.get("requires"))?;
            match package.get(member) {
                // A signed file cannot be sent in parts. The size of the body bounds it.
                Some(items) => (items, usize::MAX),
                None => return Ok(&[]),
            }
        }
        Value::Object(answer) if answer.len() == 1 => (answer.get("data").unwrap_or(body), MAX_ITEMS),
        _ => (body, MAX_ITEMS),
    };
    let Value::Array(items) = items else {
        return Err(FieldError::type_mismatch("body", "array", body).into());
    };
    if items.len() > most {
        let message = format!("an import takes at most {most} items, got {}", items.len());
        return Err(ServiceError::validation(message));
    }
    Ok(items)
}

/// Refuses a package that requires another version of the service.
fn require_version(requires: Option<&Value>) -> Result<(), ServiceError> {
    let checked = Boundary::from_requires(requires).check_version(crate::VERSION);
    checked
        .map_err(|problem| FieldError::invalid("body.requires.svc", format!("the package {problem}")).into())
}

/// Adds the outcome of an item to the report; returns its error if the database is not available.
pub(crate) fn record_outcome(
    state: &AppState,
    resource: AuditResource,
    report: &mut ImportSummary,
    index: usize,
    outcome: Result<ImportOutcome, ServiceError>,
) -> Option<ServiceError> {
    match outcome {
        Ok(imported) => {
            // Each item that is written has a row of its own.
            if !report.dry_run && imported.action.writes() {
                state.metrics.record_audit_event(AuditAction::Import, resource);
            }
            record_success(report, index, imported);
            None
        }
        Err(error) => {
            record_failure(report, index, &error);
            if error.code() == Code::ServiceUnavailable {
                return Some(error);
            }
            if let Some(internal) = error.internal() {
                slog::error!(state.log, "an item of an import failed"; "index" => index, "error" => internal);
            }
            None
        }
    }
}

/// Records an import as a whole. Its items are committed, so a failure is logged only.
async fn record_summary(
    state: &AppState,
    change: &MutationRequest,
    resource: AuditResource,
    imported: usize,
) {
    let summary = format!("{imported} imported");
    match state.store.audit().record(change.caller.audit(AuditAction::Import, resource, &summary)).await {
        Ok(()) => state.metrics.record_audit_event(AuditAction::Import, resource),
        Err(error) => {
            slog::error!(state.log, "the summary of an import was not recorded"; "error" => %error);
        }
    }
}

/// Returns `true` if an import stored anything.
pub(crate) fn has_written(report: &ImportSummary) -> bool {
    !report.dry_run && report.imported > 0
}

fn record_success(report: &mut ImportSummary, index: usize, imported: ImportOutcome) {
    match imported.action {
        ImportAction::Unchanged => report.unchanged += 1,
        ImportAction::Skipped => report.skipped += 1,
        _ => report.imported += 1,
    }
    let action = imported.action.name().to_owned();
    report.results.push(ImportedItem { index, id: Some(imported.id), action });
}

fn record_failure(report: &mut ImportSummary, index: usize, error: &ServiceError) {
    report.failed += 1;
    let details: Vec<_> =
        error.details().iter().map(|detail| format!("{}: {}", detail.path, detail.message)).collect();
    let text = if details.is_empty() { error.message().to_owned() } else { details.join("; ") };
    report.errors.push(ImportFailure { index, error: text, code: Some(error.code().name().to_owned()) });
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn file_of_a_package_is_taken_whole() {
        let items = vec![json!({}); MAX_ITEMS + 1];
        let package = json!({"package": {"name": "shop"}, "workflows": items});
        assert_eq!(read_items(&package, "workflows").unwrap().len(), MAX_ITEMS + 1);
        assert!(read_items(&package, "channels").unwrap().is_empty());
        for batch in [json!(items), json!({"data": items})] {
            assert!(read_items(&batch, "workflows").is_err());
        }
    }
}
