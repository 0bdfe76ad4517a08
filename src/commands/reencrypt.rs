//! `svc-server reencrypt`: rewrites connectors, stored tokens and credentials of channels under the current key.

use std::io::{self, Write};

use slog::Logger;
use svc_store::{ReencryptError, ReencryptionReport, StoreConfig};
use tokio::runtime::Handle;

use crate::config::Config;
use crate::error::ServiceStartError;
use crate::exit::{self, EXIT_FAILURE, EXIT_OK};
use crate::{logging, settings};

/// Rewrites what is encrypted under the current key; fails if something cannot be read.
pub(super) fn reencrypt(
    config: &Config,
    environment: &[(String, String)],
    err: &mut dyn Write,
) -> io::Result<u8> {
    let logs = logging::start(&config.logging, None);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    match runtime.block_on(reencrypt_stored(config, environment, &logs.log)) {
        Ok(done) => {
            for (name, why) in &done.failed {
                writeln!(err, "warning: {name} was left as it is: {why}")?;
            }
            let ReencryptionReport { connectors, tokens, channels, consumer_keys, webhooks, .. } = done;
            writeln!(
                err,
                "note: connectors rewritten: {connectors}, stored tokens rewritten: {tokens}, \
                 versions of channels rewritten: {channels}, keys of consumers rewritten: {consumer_keys}, \
                 secrets of webhooks rewritten: {webhooks}"
            )?;
            Ok(if done.failed.is_empty() { EXIT_OK } else { EXIT_FAILURE })
        }
        Err(ReencryptFailure::Start(error)) => exit::write_error(&error, err).map(|()| error.exit_code()),
        Err(ReencryptFailure::Refused(error)) => exit::write_error(&error, err).map(|()| EXIT_FAILURE),
    }
}

/// The reason why nothing was rewritten.
enum ReencryptFailure {
    Start(ServiceStartError),
    Refused(ReencryptError),
}

impl From<ServiceStartError> for ReencryptFailure {
    fn from(error: ServiceStartError) -> Self {
        Self::Start(error)
    }
}

impl From<ReencryptError> for ReencryptFailure {
    fn from(error: ReencryptError) -> Self {
        match error {
            ReencryptError::Open(error) => Self::Start(error.into()),
            refusal => Self::Refused(refusal),
        }
    }
}

/// Rewrites the connectors, stored tokens and credentials of channels that are under another key. Servers may run
/// meanwhile, if they know both keys.
///
/// # Errors
/// There is no current key, a key cannot be read, the database cannot be used, or a live node does not know the key.
async fn reencrypt_stored(
    config: &Config,
    environment: &[(String, String)],
    log: &Logger,
) -> Result<ReencryptionReport, ReencryptFailure> {
    if config.storage.connector_encryption_key.is_empty() {
        let why = "storage.connector_encryption_key: is not set, so there is nothing to encrypt with";
        return Err(ServiceStartError::Config(why.to_owned()).into());
    }
    let outbound = settings::build_outbound(log)?;
    let secrets = settings::build_keyring(config, environment, &outbound, Handle::current())?;
    let connector_keys = settings::connector_keys(config, &secrets).await?;
    let store = StoreConfig { connector_keys, ..settings::store_config(config) };
    Ok(svc_store::reencrypt(&store).await?)
}
