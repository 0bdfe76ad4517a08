//! Opening a connection to a mail server.

use std::net::IpAddr;
use std::sync::Arc;

use lettre::transport::smtp::authentication::DEFAULT_MECHANISMS;
use lettre::transport::smtp::client::{AsyncSmtpConnection, AsyncTokioStream};
use lettre::transport::smtp::extension::ClientId;
use rustls::pki_types::ServerName;
use svc_model::config::connector::SmtpTls;
use svc_outbound::Outbound;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::error::MailError;
use super::settings::SmtpSettings;
use super::starttls;
use super::tunnel::Tunnel;

/// Dials an address that was checked, greets, protects the connection as the settings say, and logs in. TLS
/// verifies the host that the settings name, whichever of its addresses answered.
///
/// # Errors
/// [`MailError`] if the connection, TLS or the login fails. No mail was begun.
pub(super) async fn dial(
    settings: &SmtpSettings,
    outbound: &Outbound,
) -> Result<AsyncSmtpConnection, MailError> {
    let late = |_| MailError::Late { host: settings.host.clone(), limit: settings.timeout };
    tokio::time::timeout(settings.timeout, open(settings, outbound)).await.map_err(late)?
}

async fn open(settings: &SmtpSettings, outbound: &Outbound) -> Result<AsyncSmtpConnection, MailError> {
    let SmtpSettings { host, port, allow_private, .. } = settings;
    let addresses = outbound.addresses(host, *port, *allow_private).await?;
    let stream = TcpStream::connect(addresses.as_slice()).await;
    let mut stream = stream.map_err(|error| MailError::connect(settings, error))?;
    let hello = name(&stream).map_err(|error| MailError::connect(settings, error))?;
    let stream: Box<dyn AsyncTokioStream> = match settings.tls {
        SmtpTls::None => Box::new(stream),
        SmtpTls::Implicit => Box::new(Tunnel::implicit(protect(stream, settings, outbound).await?)),
        SmtpTls::StartTls => {
            starttls::agree(&mut stream, &hello, settings).await?;
            Box::new(Tunnel::from_tls(protect(stream, settings, outbound).await?))
        }
    };
    let connection = AsyncSmtpConnection::connect_with_transport(stream, &hello).await;
    let mut connection =
        connection.map_err(|error| MailError::opening(settings, "the connection", &error))?;
    if let Some(credentials) = &settings.credentials {
        let login = connection.auth(DEFAULT_MECHANISMS, credentials).await;
        login.map_err(|error| MailError::opening(settings, "the login", &error))?;
    }
    Ok(connection)
}

/// Returns the name for `EHLO`: the local address, as a host without a name uses.
fn name(stream: &TcpStream) -> std::io::Result<ClientId> {
    stream.set_nodelay(true)?;
    Ok(match stream.local_addr()?.ip() {
        IpAddr::V4(address) => ClientId::Ipv4(address),
        IpAddr::V6(address) => ClientId::Ipv6(address),
    })
}

async fn protect(
    stream: TcpStream,
    settings: &SmtpSettings,
    outbound: &Outbound,
) -> Result<TlsStream<TcpStream>, MailError> {
    let name =
        ServerName::try_from(settings.host.clone()).map_err(|error| MailError::connect(settings, error))?;
    let connector = TlsConnector::from(Arc::new(outbound.tls()));
    connector.connect(name, stream).await.map_err(|error| MailError::connect(settings, error))
}
