//! Conflicts that would refuse the activation of a channel on this server, found before the channel is stored.

use svc_model::{
    ChannelContent, ClaimedRoute, FieldCode, Issue, NO_SCHEDULES_HERE, Protocol, name_objection,
};
use svc_registry::LoadedChannel;

use crate::state::AppState;

/// Returns the conflicts of a channel of that id with what is served here.
pub(super) fn list_activation_conflicts(
    state: &AppState,
    id: Option<&str>,
    content: &ChannelContent,
) -> Vec<Issue> {
    let snapshot = state.serving.registry.snapshot();
    // A document without an id is about the channel of its name.
    let is_other =
        |other: &LoadedChannel| id.map_or_else(|| other.name() != content.name, |id| other.id() != id);
    let others = || snapshot.channels().map(|other| &**other).filter(|other| is_other(other));
    let mut conflicts = Vec::new();
    if content.protocol == Protocol::Cron && !state.config.cron.enabled {
        conflicts.push(conflict("protocol", NO_SCHEDULES_HERE.to_owned()));
    }
    if let Some(other) = others().find(|other| other.name() == content.name) {
        conflicts.push(conflict("name", name_objection(&content.name)).with_rival(other.id()));
    }
    for claim in ClaimedRoute::of_channel(content) {
        let platform = state.edge.planes.platform_route(claim.pattern);
        conflicts.extend(platform.map(|route| conflict(claim.field, claim.platform_objection(&route))));
        let is_rival = |other: &&LoadedChannel| {
            let other = &other.row.content;
            other.priority == content.priority && has_own_route(other, &claim)
        };
        let mut rivals: Vec<_> = others().filter(is_rival).collect();
        rivals.sort_by(|a, b| a.id().cmp(b.id()));
        conflicts.extend(
            rivals.into_iter().map(|rival| {
                conflict(claim.field, claim.rival_objection(rival.name())).with_rival(rival.id())
            }),
        );
    }
    conflicts
}

fn conflict(field: &str, message: String) -> Issue {
    Issue::new(format!("channel.{field}"), message).with_code(FieldCode::Conflict)
}

/// Returns `true` if a served channel has a route that overlaps a claim. As at an activation, callbacks of served channels
/// do not count.
fn has_own_route(served: &ChannelContent, claim: &ClaimedRoute<'_>) -> bool {
    let routes = ClaimedRoute::of_channel(served);
    routes.iter().any(|route| !route.is_callback && route.overlaps(claim))
}
