//! The claims of an active channel, and the texts that refuse an activation over them.
//!
//! The rules of activation, the report that predicts them and the table of routes read the same claims.

use std::borrow::Cow;

use crate::entity::ChannelContent;
use crate::route::{RoutePattern, methods_overlap};

/// The method of the callback of a sign-in: a provider sends browsers back by it alone.
pub const CALLBACK_METHOD: &str = "GET";

/// The text that refuses a schedule on a node without schedules.
pub const NO_SCHEDULES_HERE: &str = "schedules do not run on this node (cron.enabled)";

/// Returns the text that refuses the name of another active channel.
pub fn name_objection(name: &str) -> String {
    format!("another active channel is named '{name}'")
}

/// A route that a channel has while it is active.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimedRoute<'c> {
    /// The field of the channel that has it.
    pub field: &'static str,
    pub pattern: &'c str,
    /// Its methods; without one it takes all.
    pub methods: Cow<'c, [String]>,
    /// Set for the callback of a sign-in.
    pub is_callback: bool,
}

impl<'c> ClaimedRoute<'c> {
    /// Returns the routes of a channel: its own, and that of the callback of its sign-in. Channels of other protocols
    /// than HTTP have none.
    pub fn of_channel(content: &'c ChannelContent) -> Vec<Self> {
        if !content.protocol.is_http() {
            return Vec::new();
        }
        let own = content.route_pattern.as_deref().map(|pattern| Self {
            field: "route_pattern",
            pattern,
            methods: content.methods.as_deref().unwrap_or_default().into(),
            is_callback: false,
        });
        let callback = content.config["oauth2_login"]["callback_path"].as_str();
        let callback = callback.map(|pattern| Self {
            field: "config.oauth2_login.callback_path",
            pattern,
            methods: vec![CALLBACK_METHOD.to_owned()].into(),
            is_callback: true,
        });
        own.into_iter().chain(callback).collect()
    }

    /// Returns `true` if both routes match some request, so that only the priority of their channels decides.
    pub fn overlaps(&self, other: &ClaimedRoute<'_>) -> bool {
        let shape = RoutePattern::shape_of(self.pattern);
        shape.is_some()
            && shape == RoutePattern::shape_of(other.pattern)
            && methods_overlap(&self.methods, &other.methods)
    }

    /// Returns the text that refuses it over a route of the service.
    pub fn platform_objection(&self, route: &str) -> String {
        format!("'{}' covers the platform's route '{route}'", self.pattern)
    }

    /// Returns the text that refuses it over the route of an active channel.
    pub fn rival_objection(&self, channel: &str) -> String {
        format!("active channel '{channel}' claims '{}' at the same priority", self.pattern)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim<'c>(pattern: &'c str, methods: &[&str]) -> ClaimedRoute<'c> {
        let methods = methods.iter().map(|method| (*method).to_owned()).collect::<Vec<_>>().into();
        ClaimedRoute { field: "route_pattern", pattern, methods, is_callback: false }
    }

    #[test]
    fn routes_overlap_by_shape_and_method() {
        let order = claim("/orders/{id}", &["GET"]);
        assert!(order.overlaps(&claim("/orders/{number}", &["POST", "get"])));
        assert!(order.overlaps(&claim("/orders/{id}", &[])));
        for other in [claim("/orders/{id}", &["POST"]), claim("/orders/new", &["GET"]), claim("no", &[])] {
            assert!(!order.overlaps(&other), "{other:?}");
        }
        assert!(!claim("no", &[]).overlaps(&claim("no", &[])));
    }
}
