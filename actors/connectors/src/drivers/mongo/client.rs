//! Opens the driver's client, and decides which addresses it may dial.
//!
//! The driver resolves names and finds the other servers of a deployment by itself. So that it goes nowhere
//! it may not, all its connections take the local [hop](super::hop), which dials checked addresses only; and
//! every host of the connection string, or of its SRV record, is checked before there is a client, so that a
//! refusal is reported at once. One forbidden address ends the use of the client. With `allow_private_urls` the
//! driver dials by itself.

use std::io::Write;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bson::doc;
use mongodb::Client;
use mongodb::options::{AuthMechanism, ClientOptions, ServerAddress, Tls};
use svc_outbound::{AddressError, Outbound};
use tempfile::NamedTempFile;
use tokio::time::timeout;

use super::error::MongoError;
use super::hop::Hop;
use super::settings::MongoSettings;

/// The default port of a server.
const PORT: u16 = 27017;
/// The application name that servers see.
const APP_NAME: &str = "svc";
/// The refusal of a mechanism that hands the server a token of this machine.
const OIDC: &str = "MONGODB-OIDC is not supported: it would show the server a token of this machine";
/// The refusal of a proxy in the connection string.
const PROXY: &str = "proxyHost needs allow_private_urls: a proxy resolves names by itself";

/// A client, and the hop its connections take. Cheap to clone; clones share both.
#[derive(Clone)]
pub(crate) struct Connected {
    pub(crate) client: Client,
    hop: Option<Arc<Hop>>,
}

/// Makes a client. Its servers are found at its first operation, unless addresses are checked: then at
/// once.
pub(crate) async fn open(settings: &MongoSettings, outbound: &Outbound) -> Result<Connected, MongoError> {
    let limit = settings.connect_timeout;
    let late = |_| MongoError::Unreachable(format!("no server within {} ms", limit.as_millis()));
    timeout(limit, connect(settings, outbound)).await.map_err(late)?
}

async fn connect(settings: &MongoSettings, outbound: &Outbound) -> Result<Connected, MongoError> {
    let failed = |error| MongoError::from_driver(&error, settings.connect_timeout);
    let options = ClientOptions::parse(settings.connection_string.expose()).await.map_err(failed)?;
    let mechanism = options.credential.as_ref().and_then(|credential| credential.mechanism.as_ref());
    if mechanism == Some(&AuthMechanism::MongoDbOidc) {
        return Err(MongoError::Refused(OIDC.to_owned()));
    }
    if settings.allow_private {
        return make(options, settings, outbound, None);
    }
    if options.socks5_proxy.is_some() {
        return Err(MongoError::Refused(PROXY.to_owned()));
    }
    check_hosts(&options, outbound).await?;
    let hop = Hop::open(outbound.clone(), false, settings.connect_timeout).await;
    let hop = hop.map_err(|error| MongoError::Unreachable(format!("no local port ({})", error.kind())))?;
    let connected = make(options, settings, outbound, Some(Arc::new(hop)))?;
    // Meets the other servers before they are told anything.
    let ping = connected.client.database("admin").run_command(doc! {"ping": 1}).await;
    connected.check()?;
    ping.map_err(failed)?;
    Ok(connected)
}

/// Makes a client whose connections take `hop`, if there is one.
fn make(
    mut options: ClientOptions,
    settings: &MongoSettings,
    outbound: &Outbound,
    hop: Option<Arc<Hop>>,
) -> Result<Connected, MongoError> {
    options.app_name.get_or_insert_with(|| APP_NAME.to_owned());
    options.connect_timeout = Some(settings.connect_timeout);
    options.server_selection_timeout = Some(settings.connect_timeout);
    options.max_pool_size = settings.max_connections.or(options.max_pool_size);
    if let Some(hop) = &hop {
        options.socks5_proxy = Some(hop.proxy());
    }
    let anchors = trust(&mut options, outbound).map_err(|_| {
        MongoError::Refused("the trust anchors cannot be handed to the driver: no temporary file".to_owned())
    })?;
    let client = Client::with_options(options);
    // The driver has read them.
    drop(anchors);
    let client = client.map_err(|error| MongoError::from_driver(&error, settings.connect_timeout))?;
    Ok(Connected { client, hop })
}

impl Connected {
    /// Refuses the client whose deployment named a server at a forbidden address.
    ///
    /// # Errors
    /// The refusal.
    pub(crate) fn check(&self) -> Result<(), MongoError> {
        match self.hop.as_ref().and_then(|hop| hop.refused_address()) {
            Some(refused) => Err(refused.into()),
            None => Ok(()),
        }
    }
}

/// Checks each host; of several, one without an address may be left to the others.
async fn check_hosts(options: &ClientOptions, outbound: &Outbound) -> Result<(), MongoError> {
    let (mut resolved, mut unresolved) = (0, None);
    for server in &options.hosts {
        let ServerAddress::Tcp { host, port } = server else { return Err(MongoError::Socket) };
        match outbound.addresses(host, port.unwrap_or(PORT), false).await {
            Ok(_) => resolved += 1,
            Err(error @ AddressError::Unresolved { .. }) => unresolved = Some(error),
            Err(refused) => return Err(refused.into()),
        }
    }
    match unresolved {
        Some(error) if resolved == 0 => Err(error.into()),
        _ => Ok(()),
    }
}

/// Lets TLS trust whom the service trusts, unless the connection string names a file of its own.
fn trust(options: &mut ClientOptions, outbound: &Outbound) -> std::io::Result<Option<NamedTempFile>> {
    let Some(Tls::Enabled(tls)) = &mut options.tls else { return Ok(None) };
    if tls.ca_file_path.is_some() {
        return Ok(None);
    }
    let mut file = NamedTempFile::new()?;
    for certificate in outbound.anchor_certificates() {
        let body = STANDARD.encode(certificate);
        writeln!(file, "-----BEGIN CERTIFICATE-----\n{body}\n-----END CERTIFICATE-----")?;
    }
    file.flush()?;
    tls.ca_file_path = Some(file.path().to_owned());
    Ok(Some(file))
}

#[cfg(test)]
mod tests;
