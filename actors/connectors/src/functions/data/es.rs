//! Documents over Elasticsearch.

use std::sync::Arc;

use serde_json::{Value, json};
use svc_dialect::es::{self, EsCall, EsExpectation};
use svc_dialect::{DocumentExtent, Select, WriteChange, WriteDocument};
use svc_engine::{ErrorCode, ParseJsonError, TaskError, parse_json_within};
use svc_outbound::{Method, OutboundResponse, PeerRequest, RequestBody, StatusCode, Url};

use super::document::{DocumentTask, WriteResult, guard, refusal_error};
use crate::drivers::es::{EsDriver, EsSettings};
use crate::drivers::http::Exchange;
use crate::functions::call::{self, call_driver, driver_of};
use crate::functions::response;
use crate::table::LoadedConnector;

/// Characters of a reason that Elasticsearch gives.
const MOST_OF_A_REASON: usize = 1000;

/// Reads rows.
pub(super) async fn query(
    base: &DocumentTask,
    extent: &DocumentExtent,
    select: &Select,
) -> Result<Vec<Value>, TaskError> {
    let call = es::search(select).map_err(|refusal| refusal_error(&refusal, &base.connector))?;
    let (_, answer) = exchange(base, extent, "read", &call).await?;
    let mut answer = parse_answer(base, &answer)?;
    whole_search(&answer).map_err(|why| task_error(base, &why))?;
    let Some(Value::Array(hits)) = answer.pointer_mut("/hits/hits").map(Value::take) else {
        return Err(task_error(base, "the answer of Elasticsearch has no hits"));
    };
    Ok(hits.into_iter().map(|hit| es::row(&select.fields, hit)).collect())
}

/// Counts rows.
pub(super) async fn count(
    base: &DocumentTask,
    extent: &DocumentExtent,
    select: &Select,
) -> Result<u64, TaskError> {
    let call = es::count(select).map_err(|refusal| refusal_error(&refusal, &base.connector))?;
    let (_, answer) = exchange(base, extent, "read", &call).await?;
    let answer = parse_answer(base, &answer)?;
    whole_search(&answer).map_err(|why| task_error(base, &why))?;
    answer["count"].as_u64().ok_or_else(|| task_error(base, "the answer of Elasticsearch has no count"))
}

/// Refuses what a search found of a part of the index: rows that are missing would look like rows that are
/// not there.
fn whole_search(answer: &Value) -> Result<(), String> {
    let (failed, all) = (&answer["_shards"]["failed"], &answer["_shards"]["total"]);
    if failed.as_u64().is_some_and(|failed| failed > 0) {
        return Err(format!("the search is not whole: {failed} of {all} shards failed"));
    }
    if answer["timed_out"] == true {
        return Err("the search is not whole: it timed out".to_owned());
    }
    Ok(())
}

/// Writes rows.
pub(super) async fn write(
    base: &DocumentTask,
    write: &WriteDocument,
    change: &WriteChange,
) -> Result<WriteResult, TaskError> {
    let call = es::request(change).map_err(|refusal| refusal_error(&refusal, &base.connector))?;
    let (loaded, answer) = exchange(base, write.extent(), write.operation().name(), &call).await?;
    if has_kept_existing(&call, &answer) {
        return Ok(complete(json!({"status": "ok", "matched": 1, "modified": 0})));
    }
    let driver: &EsDriver = driver_of(&base.connector, &loaded)?;
    let redact = |text: String| driver.settings.http.redact(text, None);
    write_result(call.expects, &parse_answer(base, &answer)?, &redact)
        .map_err(|why| task_error(base, &redact(why)))
}

/// Sends one request; returns the connector that was called as well.
async fn exchange(
    base: &DocumentTask,
    extent: &DocumentExtent,
    switch: &str,
    call: &EsCall,
) -> Result<(Arc<LoadedConnector>, OutboundResponse), TaskError> {
    let connector = &base.connector;
    let message = |driver: &EsDriver| {
        call::check_operation(&driver.settings.operations, switch, connector)?;
        guard(extent, &driver.settings.dialect, connector)?;
        Ok((driver.address.clone(), Exchange(request(base, &driver.settings, call)?)))
    };
    let (loaded, answer) = call_driver(&base.connectors, connector, message).await?;
    let answer = answer.map_err(|error| response::unanswered_error(connector, &error))?.answer;
    if answer.status.is_success() || has_kept_existing(call, &answer) {
        return Ok((loaded, answer));
    }
    let driver: &EsDriver = driver_of(connector, &loaded)?;
    let message =
        response::refused_error(connector, |text| driver.settings.http.redact(text, None), &answer, false)
            .message;
    Err(TaskError::new(ErrorCode::Function, message))
}

/// Returns true if a document existed already and was kept, as the write asked.
fn has_kept_existing(call: &EsCall, answer: &OutboundResponse) -> bool {
    answer.status == StatusCode::CONFLICT && call.expects == EsExpectation::One { keeps: true }
}

fn task_error(base: &DocumentTask, why: &str) -> TaskError {
    TaskError::new(ErrorCode::Function, format!("connector '{}': {why}", base.connector))
}

fn request(base: &DocumentTask, settings: &EsSettings, call: &EsCall) -> Result<PeerRequest, TaskError> {
    let (content_type, text) = match &call.body {
        es::EsBody::Json(body) => ("application/json", body.to_string()),
        es::EsBody::Lines(lines) => {
            ("application/x-ndjson", lines.iter().map(|line| format!("{line}\n")).collect())
        }
    };
    let unusable = |_| task_error(base, "the request has no method");
    Ok(PeerRequest {
        method: Method::from_bytes(call.method.as_bytes()).map_err(unusable)?,
        url: url(&settings.http.base, call).ok_or_else(|| task_error(base, "its URL has no path"))?,
        headers: settings.http.headers.clone(),
        params: settings.http.params.clone(),
        body: Some(RequestBody { content_type, bytes: text.into() }),
        timeout: settings.timeout.map_or(base.http_timeout, |own| own.min(base.http_timeout)),
        cap: settings.http.max_response_size,
        // Where a cluster has moved to is for its connector to say: a write must not become a read.
        follow: false,
    })
}

/// Returns a URL below that of the cluster; every segment is encoded.
fn url(base: &Url, call: &EsCall) -> Option<Url> {
    let mut url = base.clone();
    url.path_segments_mut().ok()?.pop_if_empty().extend(&call.path);
    if !call.query.is_empty() {
        let query = base.query().map_or_else(|| call.query.to_owned(), |own| format!("{own}&{}", call.query));
        url.set_query(Some(&query));
    }
    Some(url)
}

fn parse_answer(base: &DocumentTask, answer: &OutboundResponse) -> Result<Value, TaskError> {
    let limit = usize::try_from(base.max_result_bytes).unwrap_or(usize::MAX);
    parse_json_within(&answer.body, limit).map_err(|error| match error {
        ParseJsonError::Malformed(_) => task_error(base, "the answer of Elasticsearch is no JSON"),
        ParseJsonError::TooLarge(limit) => task_error(
            base,
            &format!(
                "the result takes more than {limit} bytes: select less, or raise query.max_result_bytes"
            ),
        ),
        ParseJsonError::Stopped(_) => error.into_task_error("the answer of Elasticsearch"),
    })
}

fn complete(output: Value) -> WriteResult {
    WriteResult { output, partial: false }
}

/// Reads the response to a write; `redact` hides secrets in the reasons it gives.
fn write_result(
    expects: EsExpectation,
    answer: &Value,
    redact: &dyn Fn(String) -> String,
) -> Result<WriteResult, String> {
    match expects {
        EsExpectation::Items { sent } => items(sent, answer, redact),
        EsExpectation::Updated => {
            let (updated, matched) = counts(answer, "updated")?;
            Ok(complete(json!({"status": "ok", "matched": matched, "modified": updated})))
        }
        EsExpectation::Deleted => {
            let (deleted, _) = counts(answer, "deleted")?;
            Ok(complete(json!({"status": "ok", "deleted": deleted})))
        }
        EsExpectation::One { .. } => match answer["result"].as_str() {
            Some("created") => {
                let id = &answer["_id"];
                Ok(complete(json!({"status": "ok", "matched": 0, "modified": 0, "upserted_id": id})))
            }
            Some("noop") => Ok(complete(json!({"status": "ok", "matched": 1, "modified": 0}))),
            Some("updated") => Ok(complete(json!({"status": "ok", "matched": 1, "modified": 1}))),
            _ => Err("the answer of Elasticsearch has no result".to_owned()),
        },
        EsExpectation::Hits | EsExpectation::Count => {
            Err("the answer of Elasticsearch is that of a search".to_owned())
        }
    }
}

/// Returns the numbers of documents that a query wrote and matched.
fn counts(answer: &Value, name: &str) -> Result<(u64, u64), String> {
    let count = answer[name].as_u64();
    let count =
        count.ok_or_else(|| format!("the answer of Elasticsearch does not say how many were {name}"))?;
    let all = answer["total"].as_u64().unwrap_or(count);
    let conflicts = answer["version_conflicts"].as_u64().unwrap_or(0);
    let failures = answer["failures"].as_array().map_or(0, Vec::len);
    if conflicts > 0 || failures > 0 || answer["timed_out"] == true {
        let what = format!("{count} of {all} documents were {name}");
        return Err(format!("{what}; {conflicts} changed meanwhile, {failures} failed"));
    }
    Ok((count, all))
}

/// Reads the result of each document of a bulk request.
fn items(sent: usize, answer: &Value, redact: &dyn Fn(String) -> String) -> Result<WriteResult, String> {
    let Some(items) = answer["items"].as_array().filter(|items| items.len() == sent) else {
        return Err(format!("the answer of Elasticsearch does not say what became of {sent} documents"));
    };
    let (mut ids, mut report, mut failure) = (Vec::new(), Vec::new(), None);
    for (index, item) in items.iter().enumerate() {
        // Under the name of what was done.
        let created = item.as_object().and_then(|item| item.values().next()).unwrap_or(&Value::Null);
        if created["error"].is_null() && created["status"].as_u64().is_some_and(|status| status < 300) {
            ids.push(created["_id"].clone());
            report.push(json!({"index": index, "status": "ok", "id": created["_id"]}));
        } else {
            let text = |name: &str| created["error"][name].as_str().unwrap_or_default();
            let why = format!("{}: {}", text("type"), text("reason"));
            let why = redact(why.chars().take(MOST_OF_A_REASON).collect());
            report.push(json!({"index": index, "status": "error", "error": why}));
            failure.get_or_insert(why);
        }
    }
    match failure {
        None => Ok(complete(json!({"status": "ok", "inserted": ids.len(), "ids": ids}))),
        Some(why) if ids.is_empty() => Err(format!("nothing was inserted: {why}")),
        Some(_) => {
            let output = json!({"status": "partial", "inserted": ids.len(), "ids": ids, "items": report});
            Ok(WriteResult { output, partial: true })
        }
    }
}
