//! Checks of a set: keys that occur twice, and references that lead nowhere.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::Value;
use svc_engine::Engine;
use svc_model::config::CronTransport;
use svc_model::config::connector::ConnectorConfig;
use svc_model::{ConnectorType, EntityKind, Protocol, RoutePattern, nearest};

use super::entity::readable_workflow;
use super::placed::finding_at;
use super::{CheckedEntity, SetForm};
use crate::boundary::Boundary;
use crate::checks::Check;
use crate::content::EntityContent;
use crate::finding::Finding;
use crate::project::{AuthoredEntity, Project, key_field};
use crate::rules::connector_need;

/// The members of a set by the names that others refer to them with.
pub(super) struct SetMembers<'p> {
    connectors: HashMap<&'p str, &'p AuthoredEntity>,
    workflows: BTreeSet<&'p str>,
    channels: BTreeSet<&'p str>,
}

impl<'p> SetMembers<'p> {
    pub(super) fn new(project: &'p Project) -> Self {
        let names =
            |kind, field: &'static str| project.entities(kind).filter_map(move |entity| entity.text(field));
        let mut connectors = HashMap::new();
        for entity in project.entities(EntityKind::Connector) {
            if let Some(name) = entity.text("name") {
                connectors.entry(name).or_insert(entity);
            }
        }
        Self {
            connectors,
            workflows: names(EntityKind::Workflow, "workflow_id").collect(),
            channels: names(EntityKind::Channel, "name").collect(),
        }
    }

    /// Returns true if a Kafka connector of the set names a topic for tasks that name none; `None` for one that
    /// is not in the set or not in use, and for one of another type.
    pub(super) fn names_topic(&self, name: &str) -> Option<bool> {
        let document = &self.connectors.get(name)?.document;
        let is_enabled = document.get("enabled").and_then(Value::as_bool).unwrap_or(true);
        let kind = ConnectorType::parse(document.get("connector_type")?.as_str()?)?;
        match ConnectorConfig::parse(kind, document.get("config")?).ok()? {
            ConnectorConfig::Kafka(kafka) if is_enabled => Some(kafka.topic.is_some()),
            _ => None,
        }
    }
}

/// Maximum number of unknown names for which the nearest known one is searched. A search compares with every name of the
/// set, and so many unknown names have one cause.
const MAX_SEARCHES: usize = 100;

/// The channels that claim one shape of paths at one priority.
#[derive(Default)]
struct RouteClaims<'p> {
    channels: usize,
    /// The first channel for each method, with its number; that of a channel for all methods is empty.
    first: HashMap<&'p str, (usize, &'p AuthoredEntity)>,
}

impl<'p> RouteClaims<'p> {
    /// Adds a channel. Returns the first one that takes one of its methods, in the order in which they were added. An
    /// empty list means all methods.
    fn add(&mut self, channel: &'p AuthoredEntity, methods: &'p [String]) -> Option<&'p AuthoredEntity> {
        let rival = if methods.is_empty() {
            self.first.values().min_by_key(|(number, _)| *number)
        } else {
            let named = methods.iter().map(String::as_str).chain([""]);
            named.filter_map(|method| self.first.get(method)).min_by_key(|(number, _)| *number)
        };
        let rival = rival.map(|(_, rival)| *rival);
        let claim = (self.channels, channel);
        self.channels += 1;
        if methods.is_empty() {
            self.first.entry("").or_insert(claim);
        }
        for method in methods {
            self.first.entry(method.as_str()).or_insert(claim);
        }
        rival
    }
}

/// Checks the set as a whole.
pub(super) fn check(
    entities: &[CheckedEntity<'_>],
    engine: &Engine,
    members: &SetMembers<'_>,
    boundary: &Boundary,
    form: SetForm,
) -> Vec<Finding> {
    let mut check = SetCheck { engine, members, boundary, findings: Vec::new(), searches: 0 };
    check.duplicates(entities);
    check.route_conflicts(entities);
    check.slots(entities);
    for checked in entities {
        let entity = checked.entity;
        if form == SetForm::Package {
            check.missing_id(entity);
        }
        match entity.kind {
            EntityKind::Connector => {}
            EntityKind::Workflow => check.workflow(checked),
            EntityKind::Channel => check.channel(entity),
        }
    }
    check.findings
}

struct SetCheck<'s> {
    engine: &'s Engine,
    members: &'s SetMembers<'s>,
    boundary: &'s Boundary,
    findings: Vec<Finding>,
    searches: usize,
}

impl SetCheck<'_> {
    fn report(&mut self, check: Check, entity: &AuthoredEntity, path: &str, message: &str) {
        if !entity.expansion.is_broken(path) {
            self.findings.push(finding_at(check, entity, path, message));
        }
    }

    /// Reports names and ids that occur twice, at the later entity.
    fn duplicates(&mut self, entities: &[CheckedEntity<'_>]) {
        let mut first: HashMap<(Check, &str), &AuthoredEntity> = HashMap::new();
        for CheckedEntity { entity, .. } in entities {
            let keys: &[(Check, &str)] = match entity.kind {
                EntityKind::Connector => &[(Check::DuplicateConnectorName, "name")],
                EntityKind::Workflow => &[(Check::DuplicateWorkflowId, "workflow_id")],
                EntityKind::Channel => {
                    &[(Check::DuplicateChannelId, "channel_id"), (Check::DuplicateChannelName, "name")]
                }
            };
            for (check, field) in keys {
                let Some(text) = entity.text(field) else { continue };
                if let Some(other) = first.get(&(*check, text)) {
                    let message = format!("'{text}' is taken by {} already", other.label);
                    self.report(*check, entity, field, &message);
                } else {
                    first.insert((*check, text), entity);
                }
            }
        }
    }

    /// Reports the routes of two channels between which nothing decides, at the later channel.
    fn route_conflicts(&mut self, entities: &[CheckedEntity<'_>]) {
        let mut claims: HashMap<(String, i64), RouteClaims<'_>> = HashMap::new();
        for checked in entities {
            let Some(channel) = checked.content.as_ref().and_then(EntityContent::channel) else { continue };
            let pattern = channel.route_pattern.as_deref().filter(|_| channel.protocol.is_http());
            let Some((pattern, shape)) =
                pattern.and_then(|pattern| Some((pattern, RoutePattern::shape_of(pattern)?)))
            else {
                continue;
            };
            let methods = channel.methods.as_deref().unwrap_or_default();
            let rivals = claims.entry((shape, channel.priority)).or_default();
            if let Some(other) = rivals.add(checked.entity, methods) {
                let message = format!("'{pattern}' is claimed by {} at the same priority", other.label);
                self.report(Check::DuplicateRoutePattern, checked.entity, "route_pattern", &message);
            }
        }
    }

    /// Reports schedules that share a concurrency key and disagree about its slots.
    fn slots(&mut self, entities: &[CheckedEntity<'_>]) {
        let mut declared: BTreeMap<String, (u32, &AuthoredEntity)> = BTreeMap::new();
        for checked in entities {
            let Some(channel) = checked.content.as_ref().and_then(EntityContent::channel) else { continue };
            if channel.protocol != Protocol::Cron {
                continue;
            }
            let Ok(transport) = CronTransport::parse(&channel.transport_config) else { continue };
            let Some(exclusion) = transport.exclusion else { continue };
            let Some(key) = exclusion.key.or_else(|| checked.entity.key().map(str::to_owned)) else {
                continue;
            };
            match declared.get(&key) {
                Some((slots, other)) if *slots != exclusion.slots => {
                    let message = format!(
                        "the key '{key}' has {} slot(s) here and {slots} in {}",
                        exclusion.slots, other.label
                    );
                    let path = "transport_config.concurrency";
                    self.report(Check::CronSlotsMismatch, checked.entity, path, &message);
                }
                Some(_) => {}
                None => {
                    declared.insert(key, (exclusion.slots, checked.entity));
                }
            }
        }
    }

    fn missing_id(&mut self, entity: &AuthoredEntity) {
        let check = match entity.kind {
            EntityKind::Workflow => Check::MissingWorkflowId,
            EntityKind::Channel => Check::MissingChannelId,
            EntityKind::Connector => return,
        };
        let field = key_field(entity.kind);
        if entity.document.get(field).is_none_or(Value::is_null) {
            self.report(check, entity, "", &format!("a package needs the {field} of each {}", entity.kind));
        }
    }

    fn workflow(&mut self, checked: &CheckedEntity<'_>) {
        let entity = checked.entity;
        let readable;
        let content = match &checked.content {
            Some(EntityContent::Workflow(content)) => &**content,
            _ => {
                readable = readable_workflow(&entity.document);
                &readable
            }
        };
        let dependencies = self.engine.dependencies(content);
        for used in dependencies.connectors {
            let path = used.path.clone();
            let Some(connector) = self.members.connectors.get(used.connector.as_str()) else {
                self.connector_reference(entity, &path, &used.connector);
                continue;
            };
            let need = connector_need(used, None, None);
            let kind = connector.text("connector_type").and_then(ConnectorType::parse);
            let config = connector.document.get("config").unwrap_or(&Value::Null);
            if let Some(message) = kind.and_then(|kind| need.objection_to(kind.name(), config)) {
                self.report(Check::TypeConnector, entity, &path, &message);
            }
        }
        if let Some(channel) = entity.document["rollout"]["on_rollback"].as_str() {
            self.channel_reference(entity, "rollout.on_rollback", channel);
        }
        for call in dependencies.channel_calls {
            match call.channel {
                Some(channel) => self.channel_reference(entity, &call.path, &channel),
                // Another value than a text is refused by the check of the input.
                None if !call.path.ends_with("_logic") => {}
                None => {
                    let message = "the channel is computed, so nobody can check now that it exists";
                    self.report(Check::ClosureChannelCallDynamic, entity, &call.path, message);
                }
            }
        }
    }

    fn channel(&mut self, entity: &AuthoredEntity) {
        match entity.text("workflow_id") {
            Some(id) if self.members.workflows.contains(id) => {}
            Some(id) => {
                let hint = self.hint(id, self.members.workflows.iter().copied());
                let message = format!("the workflow '{id}' is not in the set{hint}");
                self.report(Check::ClosureWorkflow, entity, "workflow_id", &message);
            }
            None if entity.document.get("workflow_id").is_none_or(|id| id.is_null() || id == "") => {
                self.report(Check::MissingWorkflowIdRef, entity, "", "the channel names no workflow_id");
            }
            None => {}
        }
        let blocks = entity.document.get("config").and_then(Value::as_object).into_iter().flatten();
        for (name, block) in blocks {
            if let Some(connector) = block.get("connector").and_then(Value::as_str) {
                self.connector_reference(entity, &format!("config.{name}.connector"), connector);
            }
            if let ("on_failure", Some(channel)) = (name.as_str(), block.as_str()) {
                self.channel_reference(entity, "config.on_failure", channel);
            }
        }
    }

    fn connector_reference(&mut self, entity: &AuthoredEntity, path: &str, name: &str) {
        if self.members.connectors.contains_key(name) || self.boundary.connectors.contains(name) {
            return;
        }
        let hint = self.hint(name, self.members.connectors.keys().copied());
        let message = format!("the connector '{name}' is neither in the set nor on its boundary{hint}");
        self.report(Check::ClosureConnector, entity, path, &message);
    }

    fn channel_reference(&mut self, entity: &AuthoredEntity, path: &str, name: &str) {
        // The check of the document refuses a name that is empty.
        let is_known = self.members.channels.contains(name) || self.boundary.channels.contains(name);
        if name.is_empty() || is_known {
            return;
        }
        let hint = self.hint(name, self.members.channels.iter().copied());
        let message = format!("the channel '{name}' is neither in the set nor on its boundary{hint}");
        self.report(Check::ClosureChannelCall, entity, path, &message);
    }

    /// Returns the name that was probably meant.
    fn hint<'n>(&mut self, name: &str, known: impl Iterator<Item = &'n str>) -> String {
        self.searches += 1;
        let suggestion = if self.searches <= MAX_SEARCHES { nearest(name, known) } else { None };
        suggestion.map_or_else(String::new, |meant| format!(", did you mean '{meant}'?"))
    }
}
