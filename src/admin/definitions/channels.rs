//! The part of the admin API that only channels have.

use std::sync::Arc;

use serde_json::Value;
use svc_api::{ChannelResource, ChannelValidationResult};
use svc_model::mask::CREDENTIAL_BLOCKS;
use svc_model::{
    Channel, ChannelContent, FieldError, Issue, LifecycleStatus, ValidationReport, channel_warnings,
    excluded_instants, next_fires, parse_channel_update, parse_new_channel, validate_channel,
};
use svc_project::rules::ChannelRules;
use svc_registry::{ReloadScope, Snapshot};
use svc_store::{ChannelRequirements, Merge, Repository, StoreError};

use super::activation_conflicts::list_activation_conflicts;
use super::admin_entity::AdminEntity;
use super::loadability::{list_undeclared_values, list_unresolved_references};
use super::rate_groups::list_group_warnings;
use crate::admin::consumers::issues::list_consumer_issues;
use crate::state::AppState;

/// Returns the rules under the settings of this process.
fn channel_rules(state: &AppState) -> ChannelRules {
    let rules =
        ChannelRules::new(Arc::clone(&state.serving.engine), state.config.jwt.allow_private_jwks_urls);
    rules.with_private_providers(state.config.oauth2_login.allow_private_token_urls)
}

/// Returns the reason that keeps the workflow of a channel from running.
async fn find_workflow_issue(state: &AppState, workflow: Option<&str>) -> Result<Option<Issue>, StoreError> {
    let why = match workflow {
        None => "no workflow is named: activation needs one with an active version".to_owned(),
        Some(id) => {
            let statuses = state.store.workflows().statuses(id).await?;
            let has = |status| statuses.contains(&status);
            if has(LifecycleStatus::Active) {
                return Ok(None);
            }
            if has(LifecycleStatus::Draft) {
                format!("workflow '{id}' has a draft and no active version: activation needs one")
            } else if has(LifecycleStatus::Archived) {
                format!("workflow '{id}' has archived versions only: activation needs an active one")
            } else {
                format!("workflow '{id}' does not exist: activation needs an active version of it")
            }
        }
    };
    Ok(Some(Issue::new("channel.workflow_id", why)))
}

/// Returns the reason that keeps the channel for failures from taking a report.
pub(crate) fn find_report_issue(snapshot: &Snapshot, config: &Value) -> Option<Issue> {
    find_target_issue(snapshot, config.get("on_failure")?.as_str()?, "channel.config.on_failure")
}

/// Returns the reason that keeps the channel which is named at `at` from taking reports.
pub(super) fn find_target_issue(snapshot: &Snapshot, target: &str, at: &str) -> Option<Issue> {
    let why = match snapshot.channel_by_name(target) {
        None => format!("no active channel is named '{target}': reports become dead letters until one is"),
        Some(entry) if entry.is_cron() => {
            format!("channel '{target}' has a schedule and takes no reports: name one that can be called")
        }
        Some(_) => return None,
    };
    Some(Issue::new(at, why))
}

impl AdminEntity for Channel {
    type Resource = ChannelResource;
    type Report = ChannelValidationResult;
    const REQUIREMENTS_DEPEND_ON_CONTENT: bool = false;

    fn with_active_version(resource: Self::Resource, active_version: Option<i64>) -> Self::Resource {
        ChannelResource { active_version, ..resource }
    }

    fn with_serving_state(state: &AppState, id: &str, resource: Self::Resource) -> Self::Resource {
        let snapshot = state.serving.registry.snapshot();
        let paused = snapshot.pause_of(id).map(|pause| (**pause).clone().into());
        let quarantine = snapshot.channel_by_id(id).and_then(|entry| entry.quarantine());
        let quarantined = quarantine.map(|quarantine| quarantine.reason.to_string());
        ChannelResource { paused, quarantined, ..resource }
    }

    fn repository(state: &AppState) -> Repository<Self> {
        state.store.channels()
    }

    fn reload_scope(id: &str) -> ReloadScope {
        ReloadScope::channel(id)
    }

    fn activation_requirements(state: &AppState, _: Option<&ChannelContent>) -> ChannelRequirements {
        let planes = state.edge.planes.clone();
        ChannelRequirements {
            cron_enabled: state.config.cron.enabled,
            platform_route: Some(Arc::new(move |pattern| planes.platform_route(pattern))),
        }
    }

    fn parse_new(
        state: &AppState,
        body: &Value,
    ) -> Result<(Option<String>, ChannelContent), Vec<FieldError>> {
        parse_new_channel(body, &channel_rules(state))
    }

    fn merge_update(state: &AppState, body: Value) -> Merge<ChannelContent> {
        let rules = channel_rules(state);
        Box::new(move |current| parse_channel_update(&body, current, &rules))
    }

    fn content_warnings(state: &AppState, content: &ChannelContent) -> Vec<Issue> {
        let document = content.hashable();
        let mut warnings = channel_warnings(&document, &channel_rules(state));
        warnings.extend(excluded_instants(&document));
        let snapshot = state.serving.registry.snapshot();
        warnings.extend(list_group_warnings(&snapshot, &content.name, &content.config));
        warnings.extend(find_report_issue(&snapshot, &content.config));
        warnings
            .extend(list_consumer_issues(&state.serving.consumers.directory().current(), &content.config));
        warnings
    }

    async fn missing_definitions(
        state: &AppState,
        content: &ChannelContent,
    ) -> Result<Vec<Issue>, StoreError> {
        let issue = find_workflow_issue(state, content.workflow_id.as_deref()).await?;
        Ok(issue.into_iter().collect())
    }

    async fn validate(state: &AppState, body: &Value) -> Result<ValidationReport, StoreError> {
        let mut report = validate_channel(body, &channel_rules(state));
        let name = body.get("name").and_then(Value::as_str).unwrap_or_default();
        if let Some(config) = body.get("config") {
            let snapshot = state.serving.registry.snapshot();
            report.warnings.extend(list_group_warnings(&snapshot, name, config));
            report.warnings.extend(find_report_issue(&snapshot, config));
            let consumers = state.serving.consumers.directory().current();
            report.warnings.extend(list_consumer_issues(&consumers, config));
            let blocks = CREDENTIAL_BLOCKS
                .iter()
                .filter_map(|name| Some((format!("channel.config.{name}"), config.get(*name)?)));
            let blocks: Vec<_> = blocks.collect();
            report.warnings.extend(list_unresolved_references(&state.serving, &blocks).await);
        }
        report.warnings.extend(list_undeclared_values(&state.config, body));
        if let Ok((id, content)) = parse_new_channel(body, &channel_rules(state)) {
            report.warnings.extend(list_activation_conflicts(state, id.as_deref(), &content));
        }
        let workflow = body.get("workflow_id").and_then(Value::as_str).filter(|id| !id.is_empty());
        report.warnings.extend(find_workflow_issue(state, workflow).await?);
        Ok(report)
    }

    /// Adds the next instants of a valid schedule.
    fn to_report(report: ValidationReport, body: &Value) -> ChannelValidationResult {
        ChannelValidationResult::new(report.into(), next_fires(body))
    }

    fn load_warnings(state: &AppState, id: &str) -> Vec<Issue> {
        let snapshot = state.serving.registry.snapshot();
        let Some(entry) = snapshot.channel_by_id(id) else { return Vec::new() };
        if let Some(quarantine) = entry.quarantine() {
            return vec![Issue::root(format!("the channel is quarantined: {}", quarantine.reason))];
        }
        let config = &entry.row.content.config;
        let mut warnings = list_group_warnings(&snapshot, entry.name(), config);
        warnings.extend(find_report_issue(&snapshot, config));
        warnings.extend(list_consumer_issues(&state.serving.consumers.directory().current(), config));
        warnings
    }
}
