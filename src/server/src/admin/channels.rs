//! Channels: what is theirs alone.

use std::sync::Arc;

use serde_json::{Value, json};
use svc_model::{
    Channel, ChannelContent, FieldError, next_fires, parse_channel_update, parse_new_channel,
    validate_channel,
};
use svc_registry::Scope;
use svc_store::{ChannelGates, Merge, Repository, StoreError};

use super::authored::Authored;
use super::channel_rules::ChannelRules;
use crate::state::AppState;

impl Authored for Channel {
    fn to_json(&self) -> Value {
        Self::to_json(self)
    }

    fn stored(state: &AppState) -> Repository<Self> {
        state.store.channels()
    }

    fn scope(id: &str) -> Scope {
        Scope::channel(id)
    }

    fn gates(state: &AppState, _: Option<&ChannelContent>) -> ChannelGates {
        let planes = state.planes.clone();
        ChannelGates {
            cron_enabled: state.config.cron.enabled,
            platform_route: Some(Arc::new(move |pattern| planes.platform_route(pattern))),
        }
    }

    fn parse(state: &AppState, body: &Value) -> Result<(Option<String>, ChannelContent), Vec<FieldError>> {
        parse_new_channel(body, &ChannelRules::of(state))
    }

    fn merge(state: &AppState, body: Value) -> Merge<ChannelContent> {
        let rules = ChannelRules::of(state);
        Box::new(move |current| parse_channel_update(&body, current, &rules))
    }

    /// With the next instants of a schedule that is valid, whatever else is wrong.
    async fn validate(state: &AppState, body: &Value) -> Result<Value, StoreError> {
        let mut report = validate_channel(body, &ChannelRules::of(state)).to_json();
        if let Some(next_fires) = next_fires(body) {
            report["next_fires"] = json!(next_fires);
        }
        Ok(report)
    }
}
