//! The words before TLS on a connection that begins without it.

use lettre::transport::smtp::commands::{Ehlo, Starttls};
use lettre::transport::smtp::extension::{ClientId, Extension, ServerInfo};
use lettre::transport::smtp::response::Response;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

use super::error::MailError;
use super::settings::SmtpSettings;

/// Bytes of one answer.
const LONGEST: u64 = 16 * 1024;
const WHAT: &str = "STARTTLS";

/// Agrees with the server on TLS. Nothing that is said in the clear counts afterwards, and more than is due
/// ends the connection: an attacker in between could have put it there to be taken for answers under TLS.
pub(super) async fn agree(
    stream: &mut TcpStream,
    hello: &ClientId,
    settings: &SmtpSettings,
) -> Result<(), MailError> {
    let mut stream = BufReader::new(stream);
    answer(&mut stream, settings).await?;
    let offer = command(&mut stream, Ehlo::new(hello.clone()), settings).await?;
    let offer = ServerInfo::from_response(&offer).map_err(|error| MailError::connect(settings, error))?;
    if !offer.supports_feature(Extension::StartTls) {
        return Err(MailError::refused(settings, WHAT, "it is not among its extensions"));
    }
    command(&mut stream, Starttls, settings).await?;
    if !stream.buffer().is_empty() {
        return Err(MailError::refused(settings, WHAT, "it went on without TLS"));
    }
    Ok(())
}

async fn command(
    stream: &mut BufReader<&mut TcpStream>,
    command: impl std::fmt::Display,
    settings: &SmtpSettings,
) -> Result<Response, MailError> {
    let sent = stream.write_all(command.to_string().as_bytes()).await;
    sent.map_err(|error| MailError::connect(settings, error))?;
    answer(stream, settings).await
}

/// Reads up to the line that is the last of an answer: the one without a dash behind its code.
async fn answer(
    stream: &mut (impl AsyncBufRead + Unpin),
    settings: &SmtpSettings,
) -> Result<Response, MailError> {
    let (mut text, mut stream) = (String::new(), stream.take(LONGEST));
    loop {
        let start = text.len();
        let read = stream.read_line(&mut text).await.map_err(|error| MailError::connect(settings, error))?;
        if read == 0 || !text.ends_with('\n') {
            return Err(MailError::connect(settings, "the answer is incomplete"));
        }
        if text.as_bytes().get(start + 3) != Some(&b'-') {
            break;
        }
    }
    let answer: Response = text.parse().map_err(|error| MailError::connect(settings, error))?;
    if answer.is_positive() {
        return Ok(answer);
    }
    let lines: Vec<_> = answer.message().collect();
    Err(MailError::refused(settings, "the connection", &format!("{} {}", answer.code(), lines.join(" "))))
}
