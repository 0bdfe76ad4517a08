//! Requirements of an activation: what must be true before a version may serve.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use svc_model::route::methods_overlap;
use svc_model::{ChannelContent, Connector, ConnectorNeed, EntityKind, Protocol, RoutePattern, ServiceError};
use svc_secrets::EnvelopeKeys;

use crate::conn::{Conn, on};
use crate::error::StoreError;
use crate::repo::definitions::queries::{self, ACTIVE};
use crate::repo::definitions::rows::DefinitionRow;
use crate::repo::definitions::{Objection, stored_methods};
use crate::schema::definitions;

/// The requirements of the activation of a workflow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkflowRequirements {
    /// Every connector that its tasks refer to.
    pub connectors: Vec<ConnectorNeed>,
}

/// Returns the route of the service itself that a pattern would cover, under any mount.
pub type PlatformRoute = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// The requirements of the activation of a channel.
#[derive(Clone, Default)]
pub struct ChannelRequirements {
    /// True if schedules run here.
    pub cron_enabled: bool,
    /// Finds the route of the service that a pattern would cover.
    pub platform_route: Option<PlatformRoute>,
}

impl fmt::Debug for ChannelRequirements {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChannelRequirements")
            .field("cron_enabled", &self.cron_enabled)
            .finish_non_exhaustive()
    }
}

/// Returns the objections of the connectors that a workflow needs, whose settings are opened with `keys`.
pub(super) async fn check_workflow(
    conn: &mut Conn,
    requirements: &WorkflowRequirements,
    keys: &EnvelopeKeys,
) -> Result<Vec<Objection>, StoreError> {
    let mut objections = Vec::new();
    for need in &requirements.connectors {
        let connector = queries::find_named::<Connector>(conn, &need.connector, keys).await?;
        let objection = match connector.map(|connector| connector.content) {
            None => {
                let message = format!("connector '{}' does not exist", need.connector);
                objections.push(Objection::missing(&need.field, message));
                continue;
            }
            Some(stored) => need.objection_to(&stored.connector_type, &stored.config),
        };
        objections.extend(objection.map(|message| Objection::invalid(&need.field, message)));
    }
    Ok(objections)
}

pub(super) async fn check_channel(
    conn: &mut Conn,
    id: &str,
    content: &ChannelContent,
    requirements: &ChannelRequirements,
) -> Result<Vec<Objection>, StoreError> {
    let mut objections = Vec::new();
    for ClaimedRoute { field, pattern, methods } in claimed_routes(content) {
        let platform = requirements.platform_route.as_ref().and_then(|covers| covers(pattern));
        objections.extend(platform.map(|route| {
            Objection::invalid(field, format!("'{pattern}' covers the platform's route '{route}'"))
        }));
        let rival = route_rival(conn, id, content.priority, pattern, &methods).await?;
        objections.extend(rival.map(|name| {
            let message = format!("active channel '{name}' claims '{pattern}' at the same priority");
            Objection::invalid(field, message)
        }));
    }
    match &content.workflow_id {
        None => objections.push(Objection::invalid("workflow_id", "an active channel needs a workflow")),
        Some(workflow) if !is_active(conn, workflow).await? => {
            let message = format!("workflow '{workflow}' has no active version");
            objections.push(Objection::missing("workflow_id", message));
        }
        Some(_) => {}
    }
    if name_rival(conn, id, &content.name).await? {
        let message = format!("another active channel is named '{}'", content.name);
        objections.push(Objection::new("name", ServiceError::conflict(message)));
    }
    if content.protocol == Protocol::Cron && !requirements.cron_enabled {
        objections.push(Objection::invalid("protocol", "schedules do not run on this node (cron.enabled)"));
    }
    Ok(objections)
}

/// A route of a channel, with the field that has it.
struct ClaimedRoute<'c> {
    field: &'static str,
    pattern: &'c str,
    methods: Cow<'c, [String]>,
}

/// Returns the routes of a channel: its own, and that of the callback of its sign-in.
fn claimed_routes(content: &ChannelContent) -> Vec<ClaimedRoute<'_>> {
    if !content.protocol.is_http() {
        return Vec::new();
    }
    let own = content.route_pattern.as_deref().map(|pattern| ClaimedRoute {
        field: "route_pattern",
        pattern,
        methods: content.methods.as_deref().unwrap_or_default().into(),
    });
    let callback = content.config["oauth2_login"]["callback_path"].as_str();
    let callback = callback.map(|pattern| ClaimedRoute {
        field: "config.oauth2_login.callback_path",
        pattern,
        methods: vec!["GET".to_owned()].into(),
    });
    own.into_iter().chain(callback).collect()
}

/// Finds another active channel with the same shape and priority and a common method. Uses the index on the
/// shape, which callbacks of other channels do not have.
async fn route_rival(
    conn: &mut Conn,
    id: &str,
    priority: i64,
    pattern: &str,
    methods: &[String],
) -> Result<Option<String>, StoreError> {
    let Some(shape) = RoutePattern::shape_of(pattern) else { return Ok(None) };
    let rows = definitions::table
        .filter(definitions::kind.eq(EntityKind::Channel.name()))
        .filter(definitions::route_shape.eq(shape))
        .filter(definitions::status.eq(ACTIVE))
        .filter(definitions::priority.eq(priority))
        .filter(definitions::id.ne(id))
        // Not a list, whose statement would be prepared anew each time.
        .filter(definitions::protocol.eq("rest").or(definitions::protocol.eq("http")));
    let rows = on!(conn, c => rows.load::<DefinitionRow>(c).await)?;
    let rival = rows.into_iter().find(|row| methods_overlap(methods, &stored_methods(row)));
    Ok(rival.map(|row| row.name))
}

async fn is_active(conn: &mut Conn, workflow: &str) -> Result<bool, StoreError> {
    let row = definitions::table
        .filter(definitions::kind.eq(EntityKind::Workflow.name()))
        .filter(definitions::id.eq(workflow))
        .filter(definitions::status.eq(ACTIVE))
        .select(definitions::version);
    Ok(on!(conn, c => row.first::<i64>(c).await.optional())?.is_some())
}

async fn name_rival(conn: &mut Conn, id: &str, name: &str) -> Result<bool, StoreError> {
    let row = definitions::table
        .filter(definitions::kind.eq(EntityKind::Channel.name()))
        .filter(definitions::name.eq(name))
        .filter(definitions::status.eq(ACTIVE))
        .filter(definitions::id.ne(id))
        .select(definitions::version);
    Ok(on!(conn, c => row.first::<i64>(c).await.optional())?.is_some())
}
