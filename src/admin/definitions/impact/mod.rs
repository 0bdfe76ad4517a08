//! The reach of a change: the channels and workflows that serve and depend on a definition, with their traffic.

mod graph;

use std::collections::HashMap;

use actix_web::HttpResponse;
use actix_web::web::{Data, Path};
use chrono::Days;
use svc_api::{ChannelTraffic, DefinitionImpact, TouchedChannel, TouchedQuota, TouchedWorkflow};
use svc_model::{Channel, EntityKind, ServiceError, Timestamp, Workflow};
use svc_store::{RunTotals, StoreError};

use self::graph::{DefinitionNode, ReferenceGraph, ReferencedKind, TouchedNode};
use super::entities::not_found;
use crate::admin::response::data_response;
use crate::http::Error;
use crate::state::AppState;

type Answer = Result<HttpResponse, Error>;

/// Channels that are listed: the runs of each are counted.
const MOST_CHANNELS: usize = 100;

/// The reference of the changed definition to itself.
const ITSELF: &str = "itself";

/// The definition that a change is of, with its latest version if it has versions.
struct ChangedDefinition {
    node: DefinitionNode,
    id: String,
    name: String,
    workflow: Option<Workflow>,
    channel: Option<Channel>,
}

/// `GET /workflows/{id}/impact`.
pub(crate) async fn show_workflow(state: Data<AppState>, id: Path<String>) -> Answer {
    let workflow = state.store.workflows().latest(&id).await?.ok_or_else(|| not_found::<Workflow>(&id))?;
    let changed = ChangedDefinition {
        node: DefinitionNode::new(EntityKind::Workflow, &*workflow.workflow_id),
        id: workflow.workflow_id.clone(),
        name: workflow.content.name.clone(),
        workflow: Some(workflow),
        channel: None,
    };
    Ok(data_response(find_impact(&state, changed).await?))
}

/// `GET /channels/{id}/impact`.
pub(crate) async fn show_channel(state: Data<AppState>, id: Path<String>) -> Answer {
    let channel = state.store.channels().latest(&id).await?.ok_or_else(|| not_found::<Channel>(&id))?;
    let changed = ChangedDefinition {
        node: DefinitionNode::new(EntityKind::Channel, &*channel.channel_id),
        id: channel.channel_id.clone(),
        name: channel.content.name.clone(),
        workflow: None,
        channel: Some(channel),
    };
    Ok(data_response(find_impact(&state, changed).await?))
}

/// `GET /connectors/{id}/impact`.
pub(crate) async fn show_connector(state: Data<AppState>, id: Path<String>) -> Answer {
    let connector = state.store.connectors().get(&id).await?;
    let connector = connector
        .ok_or_else(|| ServiceError::not_found(format!("connector '{}' does not exist", id.as_str())))?;
    let changed = ChangedDefinition {
        node: DefinitionNode::new(EntityKind::Connector, &*connector.content.name),
        id: connector.id,
        name: connector.content.name,
        workflow: None,
        channel: None,
    };
    Ok(data_response(find_impact(&state, changed).await?))
}

/// `GET /plugins/{id}/impact`.
pub(crate) async fn show_plugin(state: Data<AppState>, id: Path<String>) -> Answer {
    let versions = state.store.plugins().versions(&id).await?;
    let latest = versions.into_iter().next();
    let latest = latest.ok_or_else(|| ServiceError::not_found(format!("plugin '{id}' not found")))?;
    let changed = ChangedDefinition {
        node: DefinitionNode::new(ReferencedKind::Plugin, &*latest.id),
        id: latest.id.clone(),
        name: latest.id,
        workflow: None,
        channel: None,
    };
    Ok(data_response(find_impact(&state, changed).await?))
}

async fn find_impact(state: &AppState, changed: ChangedDefinition) -> Result<DefinitionImpact, StoreError> {
    let ChangedDefinition { node, id, name, workflow, channel } = changed;
    let mut workflows = state.store.workflows().active().await?;
    let mut channels = state.store.channels().active().await?;
    // Last, so that what serves describes it.
    workflows.extend(workflow);
    channels.extend(channel);
    let graph = ReferenceGraph::read(&state.serving.engine, &workflows, &channels);
    let touched = graph.find_touched(&node);
    let since = subtract_day(Timestamp::now());
    let listed = list_channels(&node, &touched, channels);
    let left_out = listed.len().saturating_sub(MOST_CHANNELS);
    let mut shown = Vec::new();
    for (channel, reference) in listed.into_iter().take(MOST_CHANNELS) {
        let totals = state.store.traces().traffic(&channel.content.name, since).await?;
        shown.push(to_touched_channel(state, channel, reference, totals));
    }
    Ok(DefinitionImpact {
        kind: node.kind.name().to_owned(),
        id,
        name,
        since,
        channels: shown,
        left_out,
        workflows: list_workflows(&node, &touched, workflows),
        calls: graph.find_needed(&node, EntityKind::Channel),
        connectors: graph.find_needed(&node, EntityKind::Connector),
        dynamic_callers: graph.dynamic_callers,
    })
}

/// Returns the instant a day earlier.
fn subtract_day(now: Timestamp) -> Timestamp {
    now.naive().checked_sub_days(Days::new(1)).map_or(now, Timestamp::from_naive)
}

/// Returns the touched channels in their order, the changed one first; those that do not exist are left out.
fn list_channels<'t>(
    changed: &DefinitionNode,
    touched: &'t [TouchedNode],
    channels: Vec<Channel>,
) -> Vec<(Channel, Option<&'t TouchedNode>)> {
    let mut by_id: HashMap<String, Channel> = HashMap::new();
    for channel in channels {
        by_id.entry(channel.channel_id.clone()).or_insert(channel);
    }
    let of_channel = |node: &DefinitionNode| node.kind == EntityKind::Channel;
    let itself = Some((changed, None)).into_iter();
    let all = itself.chain(touched.iter().map(|one| (&one.node, Some(one))));
    let channels = all.filter(|(node, _)| of_channel(node));
    channels.filter_map(|(node, reference)| Some((by_id.remove(&node.id)?, reference))).collect()
}

/// Returns the touched workflows in their order, the changed one first.
fn list_workflows(
    changed: &DefinitionNode,
    touched: &[TouchedNode],
    workflows: Vec<Workflow>,
) -> Vec<TouchedWorkflow> {
    let mut names: HashMap<String, String> = HashMap::new();
    for workflow in workflows {
        names.entry(workflow.workflow_id).or_insert(workflow.content.name);
    }
    let itself = Some((changed, None)).into_iter();
    let all = itself.chain(touched.iter().map(|one| (&one.node, Some(one))));
    let found = all.filter(|(node, _)| node.kind == EntityKind::Workflow).filter_map(|(node, reference)| {
        let (how, through) = describe(reference);
        let (workflow_id, name) = names.remove_entry(&node.id)?;
        Some(TouchedWorkflow { workflow_id, name, how, through })
    });
    found.collect()
}

/// Returns the form of a reference, and the definition that it is to.
fn describe(reference: Option<&TouchedNode>) -> (String, Option<String>) {
    let how = reference.map_or(ITSELF, |reference| reference.how.name());
    (how.to_owned(), reference.map(|reference| reference.through.describe()))
}

fn to_touched_channel(
    state: &AppState,
    channel: Channel,
    reference: Option<&TouchedNode>,
    totals: RunTotals,
) -> TouchedChannel {
    let terms = {
        let snapshot = state.serving.registry.snapshot();
        let loaded = snapshot.channel_by_id(&channel.channel_id);
        loaded.and_then(|loaded| loaded.compiled_channel()).and_then(|compiled| compiled.quota_terms())
    };
    let (how, through) = describe(reference);
    let content = channel.content;
    TouchedChannel {
        channel_id: channel.channel_id,
        name: content.name,
        how,
        through,
        protocol: content.protocol.name().to_owned(),
        methods: content.methods,
        route_pattern: content.route_pattern,
        topic: content.topic,
        schedule: content.transport_config["schedule"].as_str().map(str::to_owned),
        quota: terms.map(|terms| TouchedQuota { limit: terms.limit, per: terms.per.name().to_owned() }),
        traffic: ChannelTraffic {
            runs: totals.runs,
            failed: totals.failed,
            capped: totals.is_capped,
            p95_ms: totals.p95_ms,
        },
    }
}
