//! Comparison of exchanges with the OpenAPI document.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::recorder::RecordedExchange;

/// Operations whose success needs what the script does not make, brokers, an open circuit breaker, an occurrence, a
/// backtest or a bulk run that goes on, a watched project, or ends the server. Packages, backups and recordings have
/// scenarios of their own.
const WITHOUT_SUCCESS: [&str; 16] = [
    "abortBacktest",
    "abortBulkRun",
    "cancelOccurrence",
    "createBackup",
    "drainNode",
    "getBacktest",
    "getDevProject",
    "getPackage",
    "getRecording",
    "listBackups",
    "listPackages",
    "putPackageReceipt",
    "resetCircuitBreaker",
    "skipKafkaRecord",
    "startBacktest",
    "startChannelBacktest",
];

/// Checks that each answer has a described status, the described media type and a body that its schema allows.
pub(super) fn check_exchanges(document: &Value, exchanges: &[RecordedExchange]) {
    let mut wrong = Vec::new();
    for exchange in exchanges {
        if let Err(why) = check(document, exchange) {
            let RecordedExchange { method, path, answer } = exchange;
            wrong.push(format!("{method} {path} → {}: {why}\n{}", answer.status, answer.text()));
        }
    }
    assert!(wrong.is_empty(), "{} answers are not as described:\n{}", wrong.len(), wrong.join("\n\n"));
}

/// Checks that every operation was answered with a success.
pub(super) fn check_coverage(document: &Value, exchanges: &[RecordedExchange]) {
    let succeeded = exchanges.iter().filter(|exchange| exchange.answer.status < 300);
    let seen: BTreeSet<&str> =
        succeeded.filter_map(|exchange| operation(document, exchange)?["operationId"].as_str()).collect();
    let paths = document["paths"].as_object().unwrap();
    let operations = paths.values().flat_map(|item| item.as_object().unwrap().values());
    let missing: Vec<_> = operations
        .filter_map(|operation| operation["operationId"].as_str())
        .filter(|id| !seen.contains(id) && !WITHOUT_SUCCESS.contains(id))
        .collect();
    assert!(missing.is_empty(), "no success was recorded for {missing:?}");
}

fn check(document: &Value, exchange: &RecordedExchange) -> Result<(), String> {
    let operation = operation(document, exchange).ok_or("the document has no such operation")?;
    let described = &operation["responses"][exchange.answer.status.to_string()];
    check_links(described, exchange)?;
    let described = match described["$ref"].as_str() {
        Some(target) => document.pointer(&target[1..]).ok_or("a reference leads nowhere")?,
        None => described,
    };
    if described.is_null() {
        return Err("the status is not described".to_owned());
    }
    let Some(content) = described["content"].as_object() else {
        return if exchange.answer.body.is_empty() {
            Ok(())
        } else {
            Err("a body is not described".to_owned())
        };
    };
    let media_type = exchange.answer.header("content-type").unwrap_or_default();
    let media_type = media_type.split(';').next().unwrap_or_default();
    let (_, body) = content
        .iter()
        .find(|(name, _)| *name == media_type)
        .ok_or_else(|| format!("the media type {media_type} is not described"))?;
    if media_type != "application/json" {
        return Ok(());
    }
    let mut schema = body["schema"].clone();
    schema["components"] = json!({"schemas": document["components"]["schemas"]});
    let validator = jsonschema::options()
        .should_validate_formats(true)
        .build(&schema)
        .map_err(|error| format!("the schema is none: {error}"))?;
    let problems: Vec<_> = validator
        .iter_errors(&exchange.answer.json())
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    if problems.is_empty() { Ok(()) } else { Err(problems.join("; ")) }
}

/// Checks that the values of links are in the answer. An empty list and the report of a dry run have none.
fn check_links(described: &Value, exchange: &RecordedExchange) -> Result<(), String> {
    let Some(links) = described["links"].as_object() else { return Ok(()) };
    let body = exchange.answer.json();
    if body["data"] == json!([]) || body["data"].get("valid").is_some() {
        return Ok(());
    }
    for (name, link) in links {
        for expression in
            link["parameters"].as_object().into_iter().flat_map(|parameters| parameters.values())
        {
            let pointer = expression.as_str().and_then(|text| text.strip_prefix("$response.body#"));
            if !pointer.and_then(|pointer| body.pointer(pointer)).is_some_and(Value::is_string) {
                return Err(format!("the link {name} finds no value at {expression}"));
            }
        }
    }
    Ok(())
}

/// Returns the operation of a request; a fixed path goes before one with parameters.
fn operation<'d>(document: &'d Value, exchange: &RecordedExchange) -> Option<&'d Value> {
    let path = exchange.path.split('?').next()?;
    let segments: Vec<_> = path.split('/').collect();
    let paths = document["paths"].as_object()?;
    let fits = |template: &str| {
        let parts: Vec<_> = template.split('/').collect();
        parts.len() == segments.len()
            && parts.iter().zip(&segments).all(|(part, segment)| part.starts_with('{') || part == segment)
    };
    let matching = paths.iter().filter(|(template, _)| fits(template));
    let (_, item) = matching.min_by_key(|(template, _)| template.matches('{').count())?;
    item.get(exchange.method.to_lowercase())
}
