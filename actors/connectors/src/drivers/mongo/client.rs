//! Opens the driver's client, and watches where it goes.
//!
//! The driver resolves names and finds the other servers of a deployment by itself. So that it goes nowhere it may not: every
//! host of the connection string, or of its SRV record, is checked before there is a client; without TLS, where no
//! certificate stands for the name, the address that was checked is put in the place of the name; a server that the
//! deployment names later is checked before the next operation, and one forbidden address ends the use of the client.

use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bson::doc;
use mongodb::Client;
use mongodb::event::EventHandler;
use mongodb::event::sdam::SdamEvent;
use mongodb::options::{ClientOptions, ServerAddress, Tls};
use svc_outbound::{AddressError, Outbound};
use tempfile::NamedTempFile;
use tokio::time::timeout;

use super::error::MongoError;
use super::settings::MongoSettings;

/// Where a server listens when its port is not given.
const PORT: u16 = 27017;
/// How the service shows itself to servers.
const APP_NAME: &str = "svc";

/// A client, and the servers it has found. Cheap to clone; clones share both.
#[derive(Clone)]
pub(crate) struct Connected {
    pub(crate) client: Client,
    found: Option<Arc<Mutex<Found>>>,
}

/// Servers of a deployment that must be at public addresses.
#[derive(Default)]
struct Found {
    unchecked: Vec<ServerAddress>,
    refused: Option<MongoError>,
}

/// Makes a client. What it connects to is found at its first operation, but where addresses are checked: there at once.
pub(crate) async fn open(settings: &MongoSettings, outbound: &Outbound) -> Result<Connected, MongoError> {
    let limit = settings.connect_timeout;
    let late = |_| MongoError::Unreachable(format!("no server within {} ms", limit.as_millis()));
    timeout(limit, connect(settings, outbound)).await.map_err(late)?
}

async fn connect(settings: &MongoSettings, outbound: &Outbound) -> Result<Connected, MongoError> {
    let failed = |error| MongoError::of(&error, settings.connect_timeout);
    let mut options = ClientOptions::parse(settings.connection_string.expose()).await.map_err(failed)?;
    options.app_name.get_or_insert_with(|| APP_NAME.to_owned());
    options.connect_timeout = Some(settings.connect_timeout);
    options.server_selection_timeout = Some(settings.connect_timeout);
    options.max_pool_size = settings.max_connections.or(options.max_pool_size);
    let anchors = trust(&mut options, outbound).map_err(|_| {
        MongoError::Refused("the trust anchors cannot be handed to the driver: no temporary file".to_owned())
    })?;
    let found = (!settings.allow_private).then(Arc::<Mutex<Found>>::default);
    if let Some(found) = &found {
        options.hosts = checked(&options, outbound).await?;
        options.sdam_event_handler = Some(watch(Arc::clone(found)));
    }
    let client = Client::with_options(options).map_err(failed)?;
    // The driver has read them.
    drop(anchors);
    if found.is_some() {
        // Meets the other servers before anything is told them.
        client.database("admin").run_command(doc! {"ping": 1}).await.map_err(failed)?;
    }
    Ok(Connected { client, found })
}

impl Connected {
    /// Checks what was found since the last call.
    ///
    /// # Errors
    /// A server is where none may be, or was.
    pub(crate) async fn check(&self, outbound: &Outbound) -> Result<(), MongoError> {
        let Some(found) = &self.found else { return Ok(()) };
        let lock = || found.lock().unwrap_or_else(PoisonError::into_inner);
        let unchecked = {
            let mut found = lock();
            if let Some(refused) = &found.refused {
                return Err(refused.clone());
            }
            std::mem::take(&mut found.unchecked)
        };
        for server in unchecked {
            match address(&server, outbound).await {
                // One that cannot be resolved is not dialled either.
                Ok(_) | Err(MongoError::Address(AddressError::Unresolved { .. })) => {}
                Err(refused) => {
                    lock().refused = Some(refused.clone());
                    return Err(refused);
                }
            }
        }
        Ok(())
    }
}

/// The hosts, each of which may be dialled.
async fn checked(options: &ClientOptions, outbound: &Outbound) -> Result<Vec<ServerAddress>, MongoError> {
    let certified =
        matches!(&options.tls, Some(Tls::Enabled(tls)) if tls.allow_invalid_certificates != Some(true));
    let mut hosts = Vec::new();
    let mut unresolved = None;
    for server in &options.hosts {
        match address(server, outbound).await {
            Ok(_) if certified => hosts.push(server.clone()),
            Ok(pinned) => hosts.push(pinned),
            // The others of a deployment may do.
            Err(error @ MongoError::Address(AddressError::Unresolved { .. })) => unresolved = Some(error),
            Err(refused) => return Err(refused),
        }
    }
    match unresolved {
        Some(error) if hosts.is_empty() => Err(error),
        _ => Ok(hosts),
    }
}

/// The address of a server, if it may be dialled.
async fn address(server: &ServerAddress, outbound: &Outbound) -> Result<ServerAddress, MongoError> {
    let ServerAddress::Tcp { host, port } = server else { return Err(MongoError::Socket) };
    let addresses = outbound.addresses(host, port.unwrap_or(PORT), false).await?;
    // A host without an address is an error, not a host without addresses.
    Ok(addresses.first().map_or_else(|| server.clone(), |address| ServerAddress::from(*address)))
}

fn watch(found: Arc<Mutex<Found>>) -> EventHandler<SdamEvent> {
    EventHandler::callback(move |event| {
        if let SdamEvent::ServerOpening(opening) = event {
            found.lock().unwrap_or_else(PoisonError::into_inner).unchecked.push(opening.address);
        }
    })
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
