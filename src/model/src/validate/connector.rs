//! Connectors: create and update.

use serde_json::Value;

use super::body::Body;
use super::{ConnectorChecks, distinct, scan};
use crate::config::connector::ConnectorConfig;
use crate::entity::{ConnectorContent, ConnectorType, Kind};
use crate::field::FieldError;
use crate::mask::MASK;

/// Reads the body of a create. The id is the caller's, when there is one. Only the shape is judged: no placeholder and no
/// reference is looked up.
///
/// # Errors
/// Every problem found.
pub fn parse_new_connector(
    body: &Value,
    checks: &dyn ConnectorChecks,
) -> Result<(Option<String>, ConnectorContent), Vec<FieldError>> {
    read(body, None, checks)
}

/// Reads the body of an update: an absent field keeps its value, a config replaces the stored one whole.
///
/// # Errors
/// Every problem found in the merged document.
pub fn parse_connector_update(
    body: &Value,
    current: &ConnectorContent,
    checks: &dyn ConnectorChecks,
) -> Result<ConnectorContent, Vec<FieldError>> {
    read(body, Some(current), checks).map(|(_, content)| content)
}

fn read(
    body: &Value,
    current: Option<&ConnectorContent>,
    checks: &dyn ConnectorChecks,
) -> Result<(Option<String>, ConnectorContent), Vec<FieldError>> {
    let mut body = Body::open(Kind::Connector, body)?;
    let id = if current.is_none() { body.id("id") } else { None };
    let kind = connector_type(&mut body, current);
    let empty = || Value::Object(Default::default());
    let mut config = match body.object("config") {
        Some(sent) => sent.clone(),
        None => current.map_or_else(empty, |current| current.config.clone()),
    };
    if let (Some(kind), Some(own)) = (kind, config.get_mut("type")) {
        *own = kind.name().into();
    }
    let content = ConnectorContent {
        name: body.name(current.map(|current| current.name.as_str())),
        connector_type: kind.map_or_else(String::new, |kind| kind.name().to_owned()),
        enabled: body.boolean("enabled").unwrap_or_else(|| current.is_none_or(|current| current.enabled)),
        tags: body
            .strings("tags")
            .unwrap_or_else(|| current.map_or_else(Vec::new, |current| current.tags.clone())),
        config,
    };
    let mut errors = body.errors;
    if let Some(kind) = kind {
        match ConnectorConfig::parse(kind, &content.config) {
            Ok(config) => errors.extend(checks.config(&config)),
            Err(found) => errors.extend(found),
        }
    }
    scan::uncompiled("connector.config", &content.config, &mut errors);
    scan::nul(Kind::Connector, &content.hashable(), &mut errors);
    scan::each_string("connector.config", &content.config, &mut |path, text| {
        if text == MASK {
            errors.push(FieldError::invalid(path, "this is the read mask, send the real value"));
        }
    });
    if errors.is_empty() { Ok((id, content)) } else { Err(distinct(errors)) }
}

/// The type; required of a new connector.
fn connector_type(body: &mut Body<'_>, current: Option<&ConnectorContent>) -> Option<ConnectorType> {
    let sent = body.string("connector_type");
    let path = body.path("connector_type");
    match (sent, current) {
        (Some(name), _) => {
            let kind = ConnectorType::parse(name);
            if kind.is_none() {
                let known: Vec<_> = ConnectorType::ALL.iter().map(|kind| kind.name()).collect();
                body.errors.push(FieldError::invalid(path, format!("use one of {}", known.join(", "))));
            }
            kind
        }
        (None, Some(current)) => {
            let kind = ConnectorType::parse(&current.connector_type);
            if kind.is_none() {
                body.errors.push(FieldError::invalid(path, "the stored type is unknown, send a type"));
            }
            kind
        }
        (None, None) => {
            if body.value("connector_type").is_none() {
                body.errors.push(FieldError::required(path));
            }
            None
        }
    }
}
