//! `svc-server reencrypt`: rewrites connectors under the current key.

use slog::Logger;
use svc_store::{ReencryptionReport, StoreConfig};
use tokio::runtime::Handle;

use crate::config::Config;
use crate::error::ServiceStartError;
use crate::settings;

/// Rewrites the connectors and stored tokens that are under another key. Servers may run meanwhile, if they know both
/// keys.
///
/// # Errors
/// There is no current key, a key cannot be read, or the database cannot be used.
pub async fn reencrypt(
    config: &Config,
    environment: &[(String, String)],
    log: &Logger,
) -> Result<ReencryptionReport, ServiceStartError> {
    if config.storage.connector_encryption_key.is_empty() {
        let why = "storage.connector_encryption_key: is not set, so there is nothing to encrypt with";
        return Err(ServiceStartError::Config(why.to_owned()));
    }
    let outbound = settings::build_outbound(log)?;
    let secrets = settings::build_keyring(config, environment, &outbound, Handle::current())?;
    let connector_keys = settings::connector_keys(config, &secrets).await?;
    let store = StoreConfig { connector_keys, ..settings::store_config(config) };
    Ok(svc_store::reencrypt(&store).await?)
}
