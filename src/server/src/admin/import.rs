//! Import: a batch of create bodies, each on its own.

use std::collections::HashSet;

use actix_web::HttpResponse;
use actix_web::web::Data;
use serde_json::{Value, json};
use svc_model::{Code, FieldError, ServiceError, check_import_item};
use svc_store::{Mutation, OnConflict};

use super::authored::Authored;
use super::data;
use super::query::Query;
use crate::http::{Caller, Error, JsonBody};
use crate::state::AppState;

/// Items of one request at most.
const MAX_ITEMS: usize = 1000;

/// What became of a batch.
#[derive(Debug, Default)]
struct Report {
    imported: usize,
    failed: usize,
    unchanged: usize,
    skipped: usize,
    errors: Vec<Value>,
    results: Vec<Value>,
}

/// `POST /{kind}/import`.
pub(super) async fn import<V: Authored>(
    state: Data<AppState>,
    caller: Caller,
    query: Query,
    body: JsonBody,
) -> Result<HttpResponse, Error> {
    let dry_run = query.flag("dry_run")?;
    let known =
        [("fail", OnConflict::Fail), ("skip", OnConflict::Skip), ("new_version", OnConflict::NewVersion)];
    let on_conflict = query.one_of("on_conflict", &known)?;
    let Value::Array(items) = body.0 else {
        return Err(ServiceError::from(FieldError::type_mismatch("body", "array", &body.0)).into());
    };
    if items.len() > MAX_ITEMS {
        let message = format!("an import takes at most {MAX_ITEMS} items, got {}", items.len());
        return Err(ServiceError::validation(message).into());
    }
    let mut report = Report::default();
    let mut keys = HashSet::new();
    for (index, item) in items.iter().enumerate() {
        let mutation = Mutation { audit: caller.audit("import", V::KIND.name(), ""), epoch: false, dry_run };
        let unique = dry_run || on_conflict != OnConflict::Fail;
        match one::<V>(&state, item, on_conflict, mutation, unique.then_some(&mut keys)).await {
            Ok(imported) => report.count(index, &imported),
            // An outage is the answer, not a property of the item; but what is committed must be told.
            Err(error) if error.code() == Code::ServiceUnavailable => {
                if dry_run || report.imported == 0 {
                    return Err(error.into());
                }
                (index..items.len()).for_each(|rest| report.fail(rest, &error));
                break;
            }
            Err(error) => {
                if let Some(internal) = error.internal() {
                    slog::error!(state.log, "an item of an import failed"; "index" => index, "error" => internal);
                }
                report.fail(index, &error);
            }
        }
    }
    if !dry_run && report.imported > 0 {
        state.metrics.audited("import", V::KIND.name());
        let summary = format!("{} imported", report.imported);
        // Each item has its own record already.
        if let Err(error) = state.store.audit().record(caller.audit("import", V::KIND.name(), &summary)).await
        {
            slog::error!(state.log, "the summary of an import was not recorded"; "error" => %error);
        }
    }
    Ok(data(report.to_json(dry_run)))
}

async fn one<V: Authored>(
    state: &AppState,
    item: &Value,
    on_conflict: OnConflict,
    mutation: Mutation,
    keys: Option<&mut HashSet<String>>,
) -> Result<svc_store::Imported, ServiceError> {
    let masked = check_import_item(V::KIND, item);
    if !masked.is_empty() {
        return Err(ServiceError::invalid(masked));
    }
    let (id, content) = V::parse(state, item)?;
    if let (Some(keys), Some(id)) = (keys, &id)
        && !keys.insert(id.clone())
    {
        return Err(ServiceError::conflict(format!("{} '{id}' stands twice in this batch", V::KIND)));
    }
    Ok(V::stored(state).import_item(id, content, on_conflict, mutation).await?)
}

impl Report {
    fn count(&mut self, index: usize, imported: &svc_store::Imported) {
        match imported.action {
            svc_store::ImportAction::Unchanged => self.unchanged += 1,
            svc_store::ImportAction::Skipped => self.skipped += 1,
            _ => self.imported += 1,
        }
        self.results.push(json!({"index": index, "id": imported.id, "action": imported.action.name()}));
    }

    fn fail(&mut self, index: usize, error: &ServiceError) {
        self.failed += 1;
        let details: Vec<_> =
            error.details().iter().map(|detail| format!("{}: {}", detail.path, detail.message)).collect();
        let text = if details.is_empty() { error.message().to_owned() } else { details.join("; ") };
        self.errors.push(json!({"index": index, "error": text}));
    }

    fn to_json(&self, dry_run: bool) -> Value {
        json!({
            "dry_run": dry_run,
            "imported": self.imported,
            "failed": self.failed,
            "unchanged": self.unchanged,
            "skipped": self.skipped,
            "errors": self.errors,
            "results": self.results,
        })
    }
}
