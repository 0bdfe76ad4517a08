//! The messages of the actor.

use std::sync::Arc;

use actix::Message;
use svc_auth::{ProviderAnswer, ProviderRequest};

use crate::sign_in::issuer_slot::SharedIssuerSlot;

/// Send a request to a provider. Read-only.
#[derive(Message)]
#[rtype(result = "Result<ProviderAnswer, String>")]
pub(crate) struct SendToProvider(pub(crate) ProviderRequest);

/// Read the document of an issuer if that is necessary. Answered at its end. Read-only.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct ReadIssuer(pub(crate) Arc<SharedIssuerSlot>);

/// Begin to read the document of an issuer if that is necessary. Answered at once.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct PrefetchIssuer(pub(crate) Arc<SharedIssuerSlot>);
