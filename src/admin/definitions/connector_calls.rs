//! The last calls of a connector on this node, with its breakers and its token.

use actix_supervision::NodeView;
use actix_web::HttpResponse;
use actix_web::web::{Data, Path};
use chrono::TimeDelta;
use svc_api::{ConnectorBreakerState, ConnectorCall, ConnectorCalls, ConnectorPool, ConnectorTokenState};
use svc_connectors::{ConnectorBreaker, RecordedCall};
use svc_credentials::tokens::TokenStatus;
use svc_model::{ServiceError, Timestamp};

use crate::admin::response::data_response;
use crate::http::Error;
use crate::http::monitoring::actors::to_actor_node;
use crate::state::AppState;

/// `GET /connectors/{id}/calls`.
pub(crate) async fn list(state: Data<AppState>, id: Path<String>) -> Result<HttpResponse, Error> {
    let stored = state.store.connectors().list_stored(Some(&id)).await?.pop();
    let stored = stored
        .ok_or_else(|| ServiceError::not_found(format!("connector '{}' does not exist", id.as_str())))?;
    let connectors = &state.serving.connectors;
    let path = connectors.actor_path(&stored.id);
    let breakers = connectors.breakers_of(&stored.name).into_iter();
    let calls = connectors.last_calls(&stored.name).into_iter();
    let now = Timestamp::now();
    Ok(data_response(ConnectorCalls {
        load_status: connectors.status(&stored.id).map(|status| status.state.name().to_owned()),
        pool: path.and_then(|path| state.tree.node(&path)).map(|node| to_pool(&node)),
        breakers: breakers.map(to_breaker_state).collect(),
        token: connectors.token_status(&stored.name).map(|status| to_token_state(status, now)),
        calls: calls.map(to_call).collect(),
        node: state.work.nodes.id().to_string(),
        id: stored.id,
        name: stored.name,
    }))
}

fn to_pool(node: &NodeView) -> ConnectorPool {
    let node = to_actor_node(node);
    ConnectorPool {
        actor: node.path,
        state: node.state,
        in_flight: node.mailbox_depth,
        bound: node.mailbox_bound,
        high_water: node.mailbox_high_water,
    }
}

fn to_breaker_state(breaker: ConnectorBreaker) -> ConnectorBreakerState {
    let ConnectorBreaker { key, channel, state } = breaker;
    ConnectorBreakerState { key, channel, state: state.name().to_owned() }
}

fn to_token_state(status: TokenStatus, now: Timestamp) -> ConnectorTokenState {
    let end = status.expires_in.and_then(|left| {
        let left = TimeDelta::from_std(left).ok()?;
        now.naive().checked_add_signed(left).map(Timestamp::from_naive)
    });
    ConnectorTokenState { expires_at: end, error: status.error }
}

fn to_call(call: RecordedCall) -> ConnectorCall {
    let RecordedCall { ended_at, channel, function, target, code, http_status, took, attempts } = call;
    ConnectorCall {
        ended_at,
        channel: channel.to_string(),
        function: function.to_string(),
        target: target.map(|target| target.to_string()),
        ok: code.is_none(),
        code: code.map(str::to_owned),
        http_status,
        ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        attempts,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn token_ends_after_the_rest_of_its_life() {
        let now = Timestamp::now();
        let status = TokenStatus { expires_in: Some(Duration::from_secs(90)), error: None };
        let end = to_token_state(status, now).expires_at.unwrap();
        assert_eq!(end.naive() - now.naive(), TimeDelta::seconds(90));
        let none = TokenStatus { expires_in: None, error: Some("refused".to_owned()) };
        let shown = to_token_state(none, now);
        assert_eq!((shown.expires_at, shown.error.as_deref()), (None, Some("refused")));
    }
}
