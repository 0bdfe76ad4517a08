//! The actor of one mail server.
//!
//! Owns the connections to it, at most four of them waiting, none longer than a minute. Messages in:
//! [`SendMail`], read-only, so that calls run side by side; one that is dropped ends its connection, and with
//! it a mail that is not complete. A connection waits only between two whole conversations, and is asked
//! before it is used again. A mail is handed over at most once: nothing here sends one again. A restart opens
//! new connections; nothing else is lost with it.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, AsyncContext, Message, WrapFuture};
use actix_supervision::{
    Address, Context, ReadHandler, ReadReply, SpawnError, StartContext, StartError, Supervised,
};
use lettre::address::Envelope;
use lettre::transport::smtp::client::AsyncSmtpConnection;
use lettre::transport::smtp::commands::{Data, Mail, Rcpt, Rset};
use lettre::transport::smtp::extension::{Extension, MailBodyParameter, MailParameter};
use parking_lot::{Mutex, MutexGuard};
use svc_outbound::Outbound;
use tokio::time::{Instant, timeout, timeout_at};

use super::dial::dial;
use super::error::{MailError, SmtpStep};
use super::idle::{AGE, Idle};
use super::probe::probe;
use super::settings::SmtpSettings;
use crate::driver::{Driver, DriverSettings, SpawnContext};
use crate::drivers::pool::PoolSlot;
use crate::probe::ConnectorProbe;
use crate::settings::Settings;

/// Period of the removal of connections that were idle too long.
const SWEEP: Duration = Duration::from_secs(AGE.as_secs() / 4);
/// Time limit of `QUIT`.
const QUIT_TIMEOUT: Duration = Duration::from_secs(1);

/// A mail, ready to be sent.
#[derive(Clone)]
pub(crate) struct OutgoingMail {
    /// Sender and recipients.
    pub(crate) envelope: Envelope,
    /// Headers and body.
    pub(crate) content: Arc<[u8]>,
}

/// Sends a mail once. Answered with the server's text when it has accepted the mail.
#[derive(Message)]
#[rtype(result = "Result<String, MailError>")]
pub(crate) struct SendMail(pub(crate) OutgoingMail);

/// The actor of a mail server.
pub(crate) struct SmtpActor {
    sender: MailSender,
    slot: PoolSlot<IdleConnections>,
}

/// The settings and services that sending a mail needs.
#[derive(Clone)]
struct MailSender {
    settings: Arc<SmtpSettings>,
    outbound: Outbound,
}

/// The connections that wait.
#[derive(Clone, Default)]
struct IdleConnections(Arc<Mutex<Idle<AsyncSmtpConnection>>>);

impl IdleConnections {
    fn lock(&self) -> MutexGuard<'_, Idle<AsyncSmtpConnection>> {
        self.0.lock()
    }
}

impl MailSender {
    async fn send(&self, mail: &OutgoingMail, waiting: &IdleConnections) -> Result<String, MailError> {
        let mut connection = match self.waiting(waiting).await {
            Some(connection) => connection,
            None => dial(&self.settings, &self.outbound).await?,
        };
        let deadline = Instant::now() + self.settings.timeout;
        let outcome = self.converse(&mut connection, mail, deadline).await;
        let whole = match &outcome {
            Ok(_) => true,
            // The server is there and may be asked for another mail.
            Err(MailError::Refused { .. }) => {
                matches!(timeout_at(deadline, connection.command(Rset)).await, Ok(Ok(_)))
            }
            Err(MailError::Leaving { .. }) => {
                // So are the others, most likely.
                waiting.lock().clear();
                false
            }
            Err(_) => false,
        };
        if whole {
            let surplus = waiting.lock().park(connection, Instant::now());
            quit_all(surplus).await;
        }
        outcome
    }

    /// A connection that waits and is still there. When one is gone, so are most likely the others.
    async fn waiting(&self, waiting: &IdleConnections) -> Option<AsyncSmtpConnection> {
        let mut connection = waiting.lock().take(Instant::now())?;
        if timeout(self.settings.timeout / 2, connection.test_connected()).await == Ok(true) {
            return Some(connection);
        }
        waiting.lock().clear();
        None
    }

    async fn converse(
        &self,
        connection: &mut AsyncSmtpConnection,
        mail: &OutgoingMail,
        deadline: Instant,
    ) -> Result<String, MailError> {
        let settings = &*self.settings;
        let mut step = SmtpStep::Sender;
        let conversation = async {
            let options = options(connection, mail, settings)?;
            let sender = mail.envelope.from().cloned();
            connection
                .command(Mail::new(sender, options))
                .await
                .map_err(|error| MailError::at_step(settings, step, &error))?;
            step = SmtpStep::Recipient;
            for recipient in mail.envelope.to() {
                let recipient = Rcpt::new(recipient.clone(), Vec::new());
                connection
                    .command(recipient)
                    .await
                    .map_err(|error| MailError::at_step(settings, step, &error))?;
            }
            step = SmtpStep::Data;
            let ready =
                connection.command(Data).await.map_err(|error| MailError::at_step(settings, step, &error))?;
            if !ready.has_code(GO_ON) {
                return Err(MailError::broken(
                    settings,
                    step,
                    format!("it answered {} to DATA", ready.code()),
                ));
            }
            step = SmtpStep::Content;
            let reply = connection.message(&mail.content).await;
            let reply = reply.map_err(|error| MailError::at_step(settings, step, &error))?;
            let lines: Vec<_> = reply.message().collect();
            Ok(settings.redact(&format!("{} {}", reply.code(), lines.join(" "))))
        };
        match timeout_at(deadline, conversation).await {
            Ok(outcome) => outcome,
            Err(_) => {
                let cause = format!("no answer within {} ms", settings.timeout.as_millis());
                Err(MailError::broken(settings, step, cause))
            }
        }
    }
}

/// The answer to `DATA` that asks for the mail.
const GO_ON: u16 = 354;

/// Returns the parameters of `MAIL` that a mail needs.
fn options(
    connection: &AsyncSmtpConnection,
    mail: &OutgoingMail,
    settings: &SmtpSettings,
) -> Result<Vec<MailParameter>, MailError> {
    let mut options = Vec::new();
    let needed = |extension: Extension, what, parameter| {
        if connection.server_info().supports_feature(extension) {
            return Ok(parameter);
        }
        Err(MailError::refused(
            settings,
            what,
            "the server does not offer the extension for other than ASCII",
        ))
    };
    let addresses = mail.envelope.from().into_iter().chain(mail.envelope.to());
    if !addresses.into_iter().all(|address| AsRef::<str>::as_ref(address).is_ascii()) {
        options.push(needed(Extension::SmtpUtfEight, "an address", MailParameter::SmtpUtfEight)?);
    }
    if !mail.content.is_ascii() {
        let body = MailParameter::Body(MailBodyParameter::EightBitMime);
        options.push(needed(Extension::EightBitMime, "the content", body)?);
    }
    Ok(options)
}

/// Ends connections with `QUIT`; one that does not answer is closed all the same.
async fn quit_all(connections: impl IntoIterator<Item = AsyncSmtpConnection>) {
    for mut connection in connections {
        let _ = timeout(QUIT_TIMEOUT, connection.quit()).await;
    }
}

impl SmtpActor {
    fn sweep(&mut self, ctx: &mut Context<Self>) {
        let expired = self.slot.get_open().map(|waiting| waiting.lock().remove_expired(Instant::now()));
        if let Some(expired) = expired.filter(|expired| !expired.is_empty()) {
            ctx.spawn(quit_all(expired).into_actor(self));
        }
    }
}

impl Actor for SmtpActor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.run_interval(SWEEP, Self::sweep);
    }
}

impl Supervised for SmtpActor {}

impl ReadHandler<SendMail> for SmtpActor {
    fn read(&self, SendMail(mail): SendMail) -> ReadReply<<SendMail as Message>::Result> {
        let (sender, slot) = (self.sender.clone(), self.slot.clone());
        ReadReply::later(async move {
            let Ok(waiting) = slot.get(|| async { Ok::<_, Infallible>(IdleConnections::default()) }).await;
            sender.send(&mail, &waiting).await
        })
    }
}

/// The driver of a mail server: its settings and the address of its actor.
pub(crate) struct SmtpDriver {
    pub(crate) settings: Arc<SmtpSettings>,
    pub(crate) address: Address<SmtpActor>,
}

impl SmtpDriver {
    async fn start(settings: &Arc<SmtpSettings>, context: SpawnContext<'_>) -> Result<Self, SpawnError> {
        let sender =
            MailSender { settings: Arc::clone(settings), outbound: context.settings.outbound.clone() };
        let pools = context.pools.clone();
        let factory = move |_: StartContext| {
            let actor = SmtpActor { sender: sender.clone(), slot: pools.slot() };
            std::future::ready(Ok::<_, StartError>(actor))
        };
        let address = context.tree.spawn(context.path, context.spec, context.placement, factory).await?;
        Ok(Self { settings: Arc::clone(settings), address })
    }
}

impl Driver for SmtpDriver {
    const REQUIREMENT: &'static str = "of type smtp";
}

impl DriverSettings for SmtpSettings {
    type Driver = SmtpDriver;

    async fn probe(&self, _: &str, settings: &Settings) -> ConnectorProbe {
        probe(self, &settings.outbound).await
    }

    async fn start(self: Arc<Self>, context: SpawnContext<'_>) -> Result<SmtpDriver, SpawnError> {
        SmtpDriver::start(&self, context).await
    }
}
