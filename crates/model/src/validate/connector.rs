//! Validation of connectors on create and update.

use serde_json::Value;

use super::body::BodyReader;
use super::value_stand_ins::ReferencedFields;
use super::{ConnectorChecks, distinct, scan};
use crate::config::connector::{ConnectorConfig, SmtpTls, restore_connector_config};
use crate::config::value_reference::ValueScope;
use crate::entity::{Connector, ConnectorContent, ConnectorType, EntityKind};
use crate::field::{FieldCode, FieldError, Issue, ValidationReport};
use crate::mask::{holds_mask, is_reserved_reference};
use crate::unreadable::is_unreadable;

/// Path of the config in the document.
const CONFIG: &str = "connector.config";

/// Reads the body of a create request. Returns the id if the caller chose one, and the content. Only the form
/// is checked; placeholders and references are not resolved.
///
/// # Errors
/// All problems.
pub fn parse_new_connector(
    body: &Value,
    checks: &dyn ConnectorChecks,
) -> Result<(Option<String>, ConnectorContent), Vec<FieldError>> {
    read(body, None, checks, &mut Vec::new())
}

/// Returns the problems and warnings of a create request. Placeholders and references are not resolved.
pub fn validate_connector(body: &Value, checks: &dyn ConnectorChecks) -> ValidationReport {
    let mut warnings = Vec::new();
    let errors = read(body, None, checks, &mut warnings).err().unwrap_or_default();
    ValidationReport { errors: errors.into_iter().map(Issue::from).collect(), warnings }
}

/// Reads the body of an update request. An absent field keeps its value; a config replaces the stored one
/// completely, after its masked secrets are restored.
///
/// # Errors
/// All problems of the merged document.
pub fn parse_connector_update(
    body: &Value,
    current: &ConnectorContent,
    checks: &dyn ConnectorChecks,
) -> Result<ConnectorContent, Vec<FieldError>> {
    read(body, Some(current), checks, &mut Vec::new()).map(|(_, content)| content)
}

fn read(
    body: &Value,
    current: Option<&ConnectorContent>,
    checks: &dyn ConnectorChecks,
    warnings: &mut Vec<Issue>,
) -> Result<(Option<String>, ConnectorContent), Vec<FieldError>> {
    let mut body = BodyReader::open(EntityKind::Connector, body)?;
    let id = if current.is_none() { body.id("id") } else { None };
    let kind = connector_type(&mut body, current);
    let mut config = sent_or_stored_config(&mut body, current.map(|current| &current.config));
    if let (Some(kind), Some(own)) = (kind, config.get_mut("type")) {
        *own = kind.name().into();
    }
    let content = ConnectorContent {
        name: body.name(current.map(|current| current.name.as_str())),
        connector_type: kind.map_or_else(String::new, |kind| kind.name().to_owned()),
        enabled: body.boolean("enabled").unwrap_or_else(|| current.is_none_or(|current| current.enabled)),
        tags: body.strings("tags").unwrap_or_else(|| current.map_or_else(Vec::new, |one| one.tags.clone())),
        config,
    };
    body.refuse_unknown(&Connector::ONLY_READ, &[]);
    let mut errors = body.errors;
    if is_unreadable(&content.config) {
        errors.push(FieldError::invalid(CONFIG, "the stored config cannot be read, send a config"));
        return Err(distinct(errors));
    }
    if let Some(kind) = kind {
        let fields = ReferencedFields::find(ValueScope::ConnectorConfig, &content.config);
        errors.extend(fields.form_problems());
        let mut unknown = Vec::new();
        let config = fields.read(&content.config, |config| {
            let (read, without_effect) = ConnectorConfig::inspect(kind, config);
            unknown = without_effect;
            read
        });
        warnings.extend(unknown);
        match config {
            Ok(config) => {
                let found = checks.config(&config).into_iter();
                errors.extend(found.filter(|problem| !fields.may_heal(problem)));
                warnings.extend(suspicion(&config));
            }
            Err(found) => errors.extend(found),
        }
    }
    scan::report_uncompiled(CONFIG, &content.config, &mut errors);
    scan::embedded_references(CONFIG, &content.config, warnings);
    scan::unread_variables(&format!("{CONFIG}.auth"), &content.config["auth"], true, warnings);
    warnings.extend(repeated_scheme(&content.config));
    scan::nul(EntityKind::Connector, &content.hashable(), &mut errors);
    scan::each_string(CONFIG, &content.config, &mut |path, text| errors.extend(refuse_text(path, text)));
    let tags = content.tags.iter().enumerate().map(|(index, tag)| (format!("connector.tags[{index}]"), tag));
    for (path, text) in tags.chain([("connector.name".to_owned(), &content.name)]) {
        if holds_mask(text) {
            errors.push(FieldError::invalid(path, "this is the read mask, and nothing is hidden here"));
        }
    }
    if errors.is_empty() { Ok((id, content)) } else { Err(distinct(errors)) }
}

/// Returns the config that was sent, with the stored secrets in place of their masks; without one the stored config.
fn sent_or_stored_config(body: &mut BodyReader<'_>, stored: Option<&Value>) -> Value {
    match (body.object("config"), stored) {
        (Some(sent), Some(stored)) => {
            let mut sent = sent.clone();
            restore_connector_config(&mut sent, stored);
            sent
        }
        (Some(sent), None) => sent.clone(),
        (None, stored) => stored.cloned().unwrap_or_else(|| Value::Object(Default::default())),
    }
}

/// Returns the error for a text that no config may contain: the read mask or a reserved reference.
fn refuse_text(path: &str, text: &str) -> Option<FieldError> {
    if holds_mask(text) {
        return Some(FieldError::invalid(path, "this is the read mask, send the real value"));
    }
    let why = "this scheme is reserved and cannot be resolved, use env://, file:// or vault://";
    is_reserved_reference(text).then(|| FieldError::new(path, FieldCode::UnresolvedSecretRef, why))
}

/// Returns a warning about a token that repeats the scheme which is sent before it.
fn repeated_scheme(config: &Value) -> Option<Issue> {
    let auth = &config["auth"];
    let token = auth["token"].as_str().filter(|_| auth["type"] == "bearer")?;
    let repeats = token.get(..7).is_some_and(|scheme| scheme.eq_ignore_ascii_case("bearer "));
    let message = "'Bearer' is sent before the token: give the token alone";
    repeats.then(|| Issue::new(format!("{CONFIG}.auth.token"), message))
}

/// Returns a warning about a probable mistake in the config.
fn suspicion(config: &ConnectorConfig) -> Option<Issue> {
    match config {
        ConnectorConfig::Smtp(smtp) => {
            let message = match (smtp.tls, smtp.port) {
                (SmtpTls::None, _) => "mail and credentials cross the network unprotected",
                (SmtpTls::StartTls, 465) => "port 465 speaks TLS from the first byte: write implicit",
                (SmtpTls::Implicit, 25 | 587) => "TLS begins after STARTTLS at this port: write starttls",
                _ => return None,
            };
            Some(Issue::new(format!("{CONFIG}.tls"), message))
        }
        _ => None,
    }
}

/// Reads the type, which is required for a new connector.
fn connector_type(body: &mut BodyReader<'_>, current: Option<&ConnectorContent>) -> Option<ConnectorType> {
    let sent = body.string("connector_type");
    let path = body.path("connector_type");
    match (sent, current) {
        (Some(name), _) => {
            let kind = ConnectorType::parse(name);
            if kind.is_none() {
                let names: Vec<_> = ConnectorType::ALL.iter().map(|kind| kind.name()).collect();
                body.errors.push(FieldError::invalid(path, format!("use one of {}", names.join(", "))));
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
