//! The address of an endpoint, as far as it can be judged without a lookup.

use http::Uri;
use serde_json::Value;
use svc_model::{FieldError, ServiceError};
use svc_outbound::check_url;

use crate::state::AppState;

/// Refuses an address of the local machine or of a private network that is written as such, unless the connector may
/// call them. A name is checked when it is dialled.
pub(super) async fn require_public_address(
    state: &AppState,
    connector: &str,
    url: &str,
) -> Result<(), ServiceError> {
    let Err(refused) = check_url(url, false) else { return Ok(()) };
    let stored = state.store.connectors().all().await?;
    let config = stored.iter().find(|row| row.content.name == connector).map(|row| &row.content.config);
    match config.and_then(|config| config.get("allow_private_urls")) {
        None | Some(Value::Null | Value::Bool(false)) => {
            Err(FieldError::invalid("body.url", refused.to_string()).with_got(url).into())
        }
        // A declared value is known to the connector alone, which checks the address once more.
        Some(_) => Ok(()),
    }
}

/// Returns `true` if both addresses are of one scheme, host and port.
pub(super) fn has_same_origin(one: &str, other: &str) -> bool {
    let origin = |url: &str| {
        let uri = url.parse::<Uri>().ok()?;
        Some((uri.scheme_str()?.to_owned(), uri.host()?.to_ascii_lowercase(), uri.port_u16()))
    };
    origin(one).is_some_and(|own| origin(other) == Some(own))
}
