//! The actor that asks identity providers.
//!
//! Messages in: [`SendToProvider`], answered by the provider's answer; [`ReadIssuer`] and [`PrefetchIssuer`], which read a
//! discovery document into its shared slot. All run next to each other. Nothing of it survives a restart and nothing has
//! to.

use std::sync::Arc;

use actix::{Actor, AsyncContext, Handler, WrapFuture};
use actix_supervision::{Context, ReadHandler, ReadReply, Supervised};
use slog::{Logger, warn};
use svc_auth::{MAX_PROVIDER_ANSWER, ProviderAnswer, ProviderRequest};
use svc_outbound::header::{ACCEPT, AUTHORIZATION, HeaderMap, HeaderValue};
use svc_outbound::{OutboundClient, Url};

use crate::sign_in::issuer_slot::SharedIssuerSlot;
use crate::sign_in::messages::{PrefetchIssuer, ReadIssuer, SendToProvider};

/// The actor.
pub(crate) struct ProviderCaller {
    client: OutboundClient,
    log: Logger,
}

impl ProviderCaller {
    pub(crate) fn new(client: OutboundClient, log: Logger) -> Self {
        Self { client, log }
    }

    /// Returns the work of reading a document.
    fn refresh(&self, slot: Arc<SharedIssuerSlot>) -> impl Future<Output = ()> + use<> + 'static {
        let (client, log) = (self.client.clone(), self.log.clone());
        async move {
            if let Err(reason) = slot.refresh(&client).await {
                warn!(log, "the discovery document of an issuer cannot be read";
                    "issuer" => slot.issuer(), "reason" => reason, "at_hand" => slot.document().is_some());
            }
        }
    }
}

impl Actor for ProviderCaller {
    type Context = Context<Self>;
}

/// Requests end by themselves, and their callers have limits of their own: nothing to drain.
impl Supervised for ProviderCaller {}

impl ReadHandler<SendToProvider> for ProviderCaller {
    fn read(&self, SendToProvider(request): SendToProvider) -> ReadReply<Result<ProviderAnswer, String>> {
        let client = self.client.clone();
        // A code that was sent is used up, whether its answer is read or not.
        ReadReply::detached(async move { send(&client, request).await })
    }
}

impl ReadHandler<ReadIssuer> for ProviderCaller {
    fn read(&self, ReadIssuer(slot): ReadIssuer) -> ReadReply<()> {
        ReadReply::detached(self.refresh(slot))
    }
}

impl Handler<PrefetchIssuer> for ProviderCaller {
    type Result = ();

    fn handle(&mut self, PrefetchIssuer(slot): PrefetchIssuer, ctx: &mut Context<Self>) {
        ctx.spawn(self.refresh(slot).into_actor(self));
    }
}

/// Sends a request and reads the answer, whatever its status.
async fn send(client: &OutboundClient, request: ProviderRequest) -> Result<ProviderAnswer, String> {
    let ProviderRequest { url, authorization, form } = request;
    let url = Url::parse(&url).ok().filter(|url| url.scheme() == "https");
    let url = url.ok_or_else(|| "providers are asked over https only".to_owned())?;
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
    if let Some(authorization) = authorization {
        let value = HeaderValue::try_from(authorization);
        let mut value = value.map_err(|_| "the token of the provider fits no header".to_owned())?;
        value.set_sensitive(true);
        headers.insert(AUTHORIZATION, value);
    }
    let answer = match form {
        Some(form) => client.post_form(&url, headers, form, MAX_PROVIDER_ANSWER).await,
        None => client.get_with(&url, headers, MAX_PROVIDER_ANSWER).await,
    };
    let answer = answer.map_err(|error| error.to_string())?;
    Ok(ProviderAnswer { status: answer.status.as_u16(), body: answer.body.to_vec() })
}
