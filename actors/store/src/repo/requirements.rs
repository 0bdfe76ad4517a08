//! Requirements of an activation: what must be true before a version may serve.

use std::fmt;
use std::sync::Arc;

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use svc_model::route::methods_overlap;
use svc_model::{
    ChannelContent, ClaimedRoute, Connector, ConnectorNeed, EntityKind, NO_SCHEDULES_HERE, Protocol,
    RoutePattern, ServiceError, name_objection,
};
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
    for claim in ClaimedRoute::of_channel(content) {
        let platform = requirements.platform_route.as_ref().and_then(|covers| covers(claim.pattern));
        objections
            .extend(platform.map(|route| Objection::invalid(claim.field, claim.platform_objection(&route))));
        let rivals = route_rivals(conn, id, content.priority, &claim).await?;
        objections.extend(rivals.into_iter().map(|rival| {
            Objection::invalid(claim.field, claim.rival_objection(&rival.name)).with_rival(rival.id)
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
    if let Some(rival) = name_rival(conn, id, &content.name).await? {
        let refusal = ServiceError::conflict(name_objection(&content.name));
        objections.push(Objection::new("name", refusal).with_rival(rival));
    }
    if content.protocol == Protocol::Cron && !requirements.cron_enabled {
        objections.push(Objection::invalid("protocol", NO_SCHEDULES_HERE));
    }
    Ok(objections)
}

/// Finds the other active channels with the same shape and priority and a common method. Uses the index on the
/// shape, which callbacks of other channels do not have.
async fn route_rivals(
    conn: &mut Conn,
    id: &str,
    priority: i64,
    claim: &ClaimedRoute<'_>,
) -> Result<Vec<DefinitionRow>, StoreError> {
    let Some(shape) = RoutePattern::shape_of(claim.pattern) else { return Ok(Vec::new()) };
    let rows = definitions::table
        .filter(definitions::kind.eq(EntityKind::Channel.name()))
        .filter(definitions::route_shape.eq(shape))
        .filter(definitions::status.eq(ACTIVE))
        .filter(definitions::priority.eq(priority))
        .filter(definitions::id.ne(id))
        // Not a list, whose statement would be prepared anew each time.
        .filter(definitions::protocol.eq("rest").or(definitions::protocol.eq("http")));
    let mut rows = on!(conn, c => rows.load::<DefinitionRow>(c).await)?;
    rows.retain(|row| methods_overlap(&claim.methods, &stored_methods(row)));
    rows.sort_by(|a, b| a.id.cmp(&b.id));
    Ok(rows)
}

async fn is_active(conn: &mut Conn, workflow: &str) -> Result<bool, StoreError> {
    let row = definitions::table
        .filter(definitions::kind.eq(EntityKind::Workflow.name()))
        .filter(definitions::id.eq(workflow))
        .filter(definitions::status.eq(ACTIVE))
        .select(definitions::version);
    Ok(on!(conn, c => row.first::<i64>(c).await.optional())?.is_some())
}

/// Finds the id of another active channel of this name.
async fn name_rival(conn: &mut Conn, id: &str, name: &str) -> Result<Option<String>, StoreError> {
    let row = definitions::table
        .filter(definitions::kind.eq(EntityKind::Channel.name()))
        .filter(definitions::name.eq(name))
        .filter(definitions::status.eq(ACTIVE))
        .filter(definitions::id.ne(id))
        .select(definitions::id);
    Ok(on!(conn, c => row.first::<String>(c).await.optional())?)
}
