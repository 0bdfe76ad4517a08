//! Encryption of stored settings and tokens, each bound to its place.

use svc_secrets::{EnvelopeKeys, EnvelopePlace, NONCE};

use crate::error::StoreError;

/// Encrypts a text for storage, if a key is configured.
pub(crate) fn seal(text: &str, place: EnvelopePlace<'_>, keys: &EnvelopeKeys) -> Result<String, StoreError> {
    let mut nonce = [0; NONCE];
    getrandom::fill(&mut nonce).map_err(|error| StoreError::Database(error.to_string()))?;
    keys.seal(text, place, nonce).map_err(|error| StoreError::Database(error.to_string()))
}

/// Returns the place to which the tokens of a connector are bound: its id. The row itself is stored under the
/// name, which may change.
pub(crate) const fn state_place(connector: &str) -> EnvelopePlace<'_> {
    EnvelopePlace { table: "connector_oauth_state", row: connector, column: "state_json" }
}
