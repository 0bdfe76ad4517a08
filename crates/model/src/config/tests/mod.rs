//! Tests of the blocks of a channel's config.

mod auth;
mod blocks;
mod connectors;
mod reference;
mod response;
mod sign_in;

use serde_json::Value;

use super::ChannelConfig;
use crate::field::FieldError;

/// Returns the only problem of a config.
fn refusal(config: &Value) -> FieldError {
    let errors = ChannelConfig::parse(config).map(|parsed| panic!("accepted: {parsed:?}")).unwrap_err();
    assert_eq!(errors.len(), 1, "{errors:?}");
    errors[0].clone()
}
