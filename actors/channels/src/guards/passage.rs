//! The way of one message along the guards: what it brings, what the guards find, and how it ends.

use serde_json::{Map, Value};
use svc_auth::{ConsumerIdentity, Identity, SignInOutcome};
use svc_model::ServiceError;

use super::backpressure::Permit;
use super::cache::{CacheFlight, CacheKey, NamespaceCounters};
use super::deduplication::IdempotencyClaim;
use super::idempotency_key::IdempotencyKey;
use super::replay::ReplayClaim;
use crate::answer::rate_headers::RateReport;
use crate::answer::response::ChannelResponse;
use crate::digest::{self, Digest};
use crate::record::TopicRecord;
use crate::request::{DataRequest, Ingress};
use crate::run::WaitRequest;

/// The ingress of a message, with the facts about it that guards look at.
pub(crate) enum MessageSource<'m> {
    /// A request, of which the message is still to be read.
    Request(Box<DataRequest>),
    Record(&'m TopicRecord),
    /// A call of another channel; empty for a trial run, which no channel makes.
    Call(&'m str),
    /// An occurrence of a schedule.
    Occurrence,
}

impl MessageSource<'_> {
    pub(super) fn ingress(&self) -> Ingress {
        match self {
            Self::Request(request) => request.ingress,
            Self::Record(_) => Ingress::Kafka,
            Self::Call(_) => Ingress::Call,
            Self::Occurrence => Ingress::Cron,
        }
    }
}

/// A message that all guards admitted, with the resources it acquired.
pub(crate) struct AdmittedMessage {
    pub(crate) payload: Value,
    pub(crate) metadata: Map<String, Value>,
    /// The rollout bucket of the caller.
    pub(crate) bucket: Option<u8>,
    /// The caller asked for a profile of the run and may have one.
    pub(crate) profile: bool,
    /// The key of its run, if repeats of the request are recognised.
    pub(crate) run_key: Option<String>,
    pub(crate) claim: Option<IdempotencyClaim>,
    /// The key under which its response may be cached.
    pub(crate) cache_key: Option<CacheKey>,
    /// The counters of the namespaces of that response.
    pub(crate) cache_counters: Option<NamespaceCounters>,
    /// Its run, for which equal requests wait; boxed, because most messages have none.
    pub(crate) flight: Option<Box<CacheFlight>>,
    pub(crate) permit: Option<Permit>,
    /// The terms on which it waits in the database; boxed, because most messages do not wait.
    pub(crate) wait: Option<Box<WaitRequest>>,
}

impl AdmittedMessage {
    /// Returns the claim of a key whose answer is kept.
    pub(crate) fn replay_claim(&self) -> Option<&ReplayClaim> {
        match &self.claim {
            Some(IdempotencyClaim::Replay(claim)) => Some(claim),
            _ => None,
        }
    }
}

/// A request that no guard refused.
pub(crate) struct AdmittedRequest {
    pub(crate) message: AdmittedMessage,
    /// The cached response to an equal request: nothing is to be run.
    pub(crate) answer: Option<ChannelResponse>,
    /// The rates that it met, if answers report what is left of them.
    pub(crate) rates: Option<Box<RateReport>>,
}

/// The events of a batch that no guard refused.
pub(crate) struct AdmittedBatch {
    /// The message of each event, in their order; `None` for one whose idempotency key was seen, on a channel that
    /// accepts repeats.
    pub(crate) messages: Vec<Option<AdmittedMessage>>,
    /// The rates that the request met, if answers report what is left of them.
    pub(crate) rates: Option<Box<RateReport>>,
}

/// A message on its way along the guards.
pub(super) struct Passage<'m> {
    pub(super) source: MessageSource<'m>,
    pub(super) message: AdmittedMessage,
    /// Set for a message that acquired its permit before.
    pub(super) skips_permit: bool,
    /// Set for a request that is only tried: it leaves no mark.
    pub(super) is_trial: bool,
    /// The caller, once it is authenticated.
    pub(super) identity: Option<Identity>,
    /// The person who signed in, or the error of the provider; boxed, because most messages have none.
    pub(super) signed_in: Option<Box<SignInOutcome>>,
    /// The principal of the caller, if a guard or the message names it.
    pub(super) principal: Option<Digest>,
    /// The idempotency key in a header of the request.
    pub(super) sent_key: Option<String>,
    pub(super) idempotency_key: Option<IdempotencyKey>,
    /// The cached response to an equal request. The guards behind the cache are not met.
    pub(super) answer: Option<ChannelResponse>,
    /// The rates that it met, if answers report what is left of them.
    pub(super) rates: Option<Box<RateReport>>,
}

impl<'m> Passage<'m> {
    /// Returns `true` if the caller is a consumer with a quota of its own.
    pub(super) fn has_consumer_quota(&self) -> bool {
        consumer_of(self.identity.as_ref()).is_some_and(|consumer| consumer.quota.is_some())
    }

    /// Returns `true` if an equal message may have come before: it has a key of either kind.
    pub(super) fn may_repeat(&self) -> bool {
        self.idempotency_key.is_some() || self.message.cache_key.is_some()
    }

    pub(super) fn new(source: MessageSource<'m>, payload: Value, metadata: Map<String, Value>) -> Self {
        Self {
            source,
            message: AdmittedMessage {
                payload,
                metadata,
                bucket: None,
                profile: false,
                run_key: None,
                claim: None,
                cache_key: None,
                cache_counters: None,
                flight: None,
                permit: None,
                wait: None,
            },
            skips_permit: false,
            is_trial: false,
            identity: None,
            signed_in: None,
            principal: None,
            sent_key: None,
            idempotency_key: None,
            answer: None,
            rates: None,
        }
    }
}

/// Returns the consumer that a caller is, if it holds the key of one.
pub(super) fn consumer_of(identity: Option<&Identity>) -> Option<&ConsumerIdentity> {
    identity.and_then(|identity| identity.consumer.as_deref())
}

/// Returns the principal of a caller as workflows see it: the name of a consumer, else the digest.
pub(super) fn shown_principal(identity: Option<&Identity>, principal: Option<Digest>) -> Option<String> {
    match consumer_of(identity) {
        Some(consumer) => Some(consumer.name.to_string()),
        None => principal.map(digest::hex),
    }
}

/// The refusal of a message by a guard.
pub(crate) struct GuardRefusal {
    pub(crate) kind: RefusalKind,
    /// The inner reason, which no caller sees.
    pub(crate) reason: &'static str,
    /// The error for the caller, if there is one.
    pub(crate) error: ServiceError,
    /// The rates that the message met, if answers report what is left of them.
    pub(crate) rates: Option<Box<RateReport>>,
}

/// The inner reason of a refusal because no permit is free.
pub(super) const AT_CAPACITY: &str = "at_capacity";

/// The inner reason of a refusal because a store that nodes share did not answer.
pub(super) const UNCHECKED: &str = "unchecked";

/// The meaning of a refusal for the same message when it comes again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RefusalKind {
    /// The message is refused again.
    Final,
    /// The channel cannot take the message now; a later attempt may pass.
    Deferred,
    /// The idempotency key of the message was seen.
    Duplicate,
}

impl RefusalKind {
    /// Makes the refusal with its inner reason and the error for the caller.
    pub(super) fn with(self, reason: &'static str, error: ServiceError) -> GuardRefusal {
        GuardRefusal { kind: self, reason, error, rates: None }
    }
}
