//! The guard line of a channel: one table of the guards in their order, and the loop that every message goes along it.
//!
//! The first refusal ends the way. It does not give back what an earlier guard took: a token of a rate stays spent, an
//! idempotency key stays claimed. Only a message that finds no capacity gives its key back, because its sender is
//! asked to come again. What else becomes of a refused message is up to its ingress, by the kind of the refusal.

use serde_json::{Map, Value};
use svc_model::{FieldError, ServiceError};

use super::passage::{
    AdmittedBatch, AdmittedMessage, AdmittedRequest, GuardRefusal, MessageSource, Passage, RefusalKind,
};
use crate::compiled_channel::CompiledChannel;
use crate::request::{DataRequest, Ingress};

/// A step on the way of a message to its run: a guard, unless it says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The rate for all callers.
    RateLimit,
    /// The limits on the width of objects and arrays.
    Shape,
    /// The credential of the caller and the claims that it must have.
    Credentials,
    /// The rate for one principal.
    Quota,
    /// The requests of one key within a minute, hour, day or month.
    CallQuota,
    /// The pages that may call.
    Origin,
    /// The sign-in of a person: a request to the route of the channel is sent to the provider, which ends the way; one to the
    /// callback goes on once the person is known.
    SignIn,
    /// No guard: the message is read out of its request. Guards before it look at the request, those after it at payload
    /// and metadata.
    Message,
    /// The schema that the payload must match.
    Schema,
    /// The expression that the message must satisfy.
    Validation,
    /// The idempotency key is found; it is claimed with the look into the cache.
    IdempotencyKey,
    /// The key of the cached response is made.
    CacheKey,
    /// The idempotency key is claimed and the cached response looked up, in one round trip to a shared store. A cached
    /// response ends the way.
    Repeats,
    /// The limit on concurrent messages.
    Backpressure,
}

impl Step {
    /// Returns the name in bodies: the key of the guard in the config of a channel, if it has one.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::RateLimit => "rate_limit",
            Self::Shape => "shape",
            Self::Credentials => "auth",
            Self::Quota => "principal_rate_limit",
            Self::CallQuota => "quota",
            Self::Origin => "origin_allow_list",
            Self::SignIn => "oauth2_login",
            Self::Message => "message",
            Self::Schema => "request.schema",
            Self::Validation => "validation_logic",
            Self::IdempotencyKey | Self::Repeats => "deduplication",
            Self::CacheKey => "cache",
            Self::Backpressure => "backpressure",
        }
    }
}

/// The consequence of a refusal for an idempotency key that the message has claimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Claim {
    Kept,
    GivenBack,
}

/// A line of the table.
pub(super) struct Rule {
    pub(super) step: Step,
    /// The ingresses whose messages meet the guard.
    pub(super) ingresses: &'static [Ingress],
    on_refusal: Claim,
}

const fn rule(step: Step, ingresses: &'static [Ingress], on_refusal: Claim) -> Rule {
    Rule { step, ingresses, on_refusal }
}

/// The guards in the one order in which every message meets them.
pub(super) const LINE: [Rule; 14] = {
    use Ingress::{Call, Cron, Embedded, Http, Kafka};
    [
        rule(Step::RateLimit, &[Http, Call, Kafka], Claim::Kept),
        rule(Step::Shape, &[Http, Embedded, Kafka], Claim::Kept),
        rule(Step::Credentials, &[Http], Claim::Kept),
        rule(Step::Quota, &[Http], Claim::Kept),
        rule(Step::CallQuota, &[Http], Claim::Kept),
        rule(Step::Origin, &[Http], Claim::Kept),
        rule(Step::SignIn, &[Http], Claim::Kept),
        rule(Step::Message, &[Http, Embedded], Claim::Kept),
        rule(Step::Schema, &[Http, Embedded, Call, Cron, Kafka], Claim::Kept),
        rule(Step::Validation, &[Http, Embedded, Call, Cron, Kafka], Claim::Kept),
        rule(Step::IdempotencyKey, &[Http, Kafka], Claim::Kept),
        rule(Step::CacheKey, &[Http], Claim::Kept),
        rule(Step::Repeats, &[Http, Kafka], Claim::Kept),
        rule(Step::Backpressure, &[Http, Embedded, Call, Cron, Kafka], Claim::GivenBack),
    ]
};

/// Place of [`Step::Message`] in the line: what is before looks at a request, what is behind at its message.
const MESSAGE: usize = 7;

/// Place of [`Step::Backpressure`], the last one.
const BACKPRESSURE: usize = LINE.len() - 1;

impl CompiledChannel {
    /// Passes a request along the guards.
    ///
    /// An `async fn` would hold the message twice, and the future is moved for every request.
    ///
    /// # Errors
    /// The first refusal.
    pub(crate) fn admit_request(
        &self,
        mut request: Box<DataRequest>,
    ) -> impl Future<Output = Result<AdmittedRequest, GuardRefusal>> {
        // Headers arrive in any order; keys and stored rows must not depend on it.
        request.headers.sort_by(|(one, _), (other, _)| one.cmp(other));
        let mut passage = Passage::new(MessageSource::Request(request), Value::Null, Map::new());
        async move {
            self.walk_line(&mut passage).await?;
            Ok(AdmittedRequest { message: passage.message, answer: passage.answer, rates: passage.rates })
        }
    }

    /// Passes a batch of events along the guards: the request once along those that look at requests, each event
    /// along the others. An event takes its permit when it begins.
    ///
    /// # Errors
    /// The first refusal, which names the event. The idempotency keys of all events are given back.
    pub(crate) async fn admit_batch(
        &self,
        mut request: Box<DataRequest>,
    ) -> Result<AdmittedBatch, GuardRefusal> {
        request.headers.sort_by(|(one, _), (other, _)| one.cmp(other));
        let mut batch = Passage::new(MessageSource::Request(request), Value::Null, Map::new());
        self.walk_rules(&LINE[..MESSAGE], &mut batch).await?;
        let mut messages = Vec::new();
        let MessageSource::Request(request) = &mut batch.source else {
            return Ok(AdmittedBatch { messages, rates: batch.rates });
        };
        for (index, event) in request.take_event_batch().into_iter().enumerate() {
            let request = MessageSource::Request(Box::new(request.with_event(event)));
            let mut passage = Passage::new(request, Value::Null, Map::new());
            passage.identity.clone_from(&batch.identity);
            passage.principal = batch.principal;
            match self.admit_event(&mut passage, index).await {
                Ok(()) => messages.push(Some(passage.message)),
                Err(refusal) if refusal.kind == RefusalKind::Duplicate && self.guards.accept_repeats() => {
                    messages.push(None);
                }
                Err(refusal) => {
                    let claims = messages.into_iter().flatten().filter_map(|message| message.claim);
                    for claim in claims.chain(passage.message.claim) {
                        claim.release(&self.services).await;
                    }
                    let error = name_event(refusal.error, index);
                    return Err(GuardRefusal { error, rates: batch.rates, ..refusal });
                }
            }
        }
        Ok(AdmittedBatch { messages, rates: batch.rates })
    }

    /// Passes one event of a batch along the guards that look at messages.
    async fn admit_event(&self, passage: &mut Passage<'_>, index: usize) -> Result<(), GuardRefusal> {
        self.walk_rules(&LINE[MESSAGE..=MESSAGE], passage).await?;
        if let Some(key) = &mut passage.sent_key {
            // The header is that of the whole batch.
            key.push_str(&format!("#{index}"));
        }
        self.walk_rules(&LINE[MESSAGE + 1..BACKPRESSURE], passage).await?;
        self.waits_for_turn(passage).map(drop).inspect_err(|refusal| {
            self.refusals.count(Step::Backpressure.name(), refusal.error.status(), refusal.reason);
        })
    }

    /// Passes a message along the guards.
    ///
    /// # Errors
    /// The first refusal.
    pub(crate) fn admit<'m>(
        &'m self,
        source: MessageSource<'m>,
        payload: Value,
        metadata: Map<String, Value>,
    ) -> impl Future<Output = Result<AdmittedMessage, GuardRefusal>> + 'm {
        let mut passage = Passage::new(source, payload, metadata);
        async move {
            self.walk_line(&mut passage).await?;
            Ok(passage.message)
        }
    }

    /// Passes accepted work along the guards of a call. It has its permit already.
    ///
    /// # Errors
    /// The first refusal.
    pub(crate) async fn admit_accepted(
        &self,
        caller: &str,
        payload: Value,
        metadata: Map<String, Value>,
    ) -> Result<AdmittedMessage, GuardRefusal> {
        let mut passage = Passage::new(MessageSource::Call(caller), payload, metadata);
        passage.skips_permit = true;
        self.walk_line(&mut passage).await?;
        Ok(passage.message)
    }

    /// Meets the guards of the message's ingress, one after the other.
    fn walk_line(&self, passage: &mut Passage<'_>) -> impl Future<Output = Result<(), GuardRefusal>> {
        self.walk_rules(&LINE, passage)
    }

    /// Meets those of some guards that are of the message's ingress.
    async fn walk_rules(&self, rules: &[Rule], passage: &mut Passage<'_>) -> Result<(), GuardRefusal> {
        let ingress = passage.source.ingress();
        for rule in rules.iter().filter(|rule| rule.ingresses.contains(&ingress)) {
            // The guards that wait for others are boxed: the future of every message would hold them, and is moved.
            let met = match rule.step {
                Step::RateLimit if self.guards.rate_limit.is_none() => continue,
                Step::RateLimit => Box::pin(self.check_rate(passage)).await,
                Step::Shape => self.check_shape(passage),
                Step::Credentials if self.guards.credentials.is_none() => continue,
                Step::Credentials => Box::pin(self.authenticate(passage)).await,
                Step::Quota if self.guards.quota.is_none() => continue,
                Step::Quota => Box::pin(self.check_quota(passage)).await,
                Step::CallQuota if self.guards.call_quota.is_none() && !passage.has_consumer_quota() => {
                    continue;
                }
                Step::CallQuota => Box::pin(self.check_call_quota(passage)).await,
                Step::Origin => self.check_origin(passage),
                Step::SignIn if self.guards.sign_in.is_none() => continue,
                Step::SignIn => Box::pin(self.sign_in(passage)).await,
                Step::Message => self.read_message(passage),
                Step::Schema => self.check_schema(passage),
                Step::Validation => self.validate(passage),
                Step::IdempotencyKey => self.find_idempotency_key(passage),
                Step::CacheKey => self.find_cache_key(passage),
                Step::Repeats if !passage.may_repeat() => continue,
                Step::Repeats => Box::pin(self.check_repeats(passage)).await,
                Step::Backpressure => self.acquire_permit(passage),
            };
            if let Err(mut refusal) = met {
                refusal.rates = passage.rates.take();
                self.refusals.count(rule.step.name(), refusal.error.status(), refusal.reason);
                if rule.on_refusal == Claim::GivenBack
                    && let Some(claim) = passage.message.claim.take()
                {
                    claim.release(&self.services).await;
                }
                return Err(refusal);
            }
            if passage.answer.is_some() {
                break;
            }
        }
        Ok(())
    }
}

/// Names the event of a batch that a guard refused, counted from 1 in the message and from 0 in paths.
fn name_event(error: ServiceError, index: usize) -> ServiceError {
    let retry_after = error.retry_after();
    let named = match error.details() {
        [] => {
            let message = format!("Event {} of the batch: {}", index + 1, error.message());
            ServiceError::new(error.code(), message)
        }
        details => {
            ServiceError::invalid(details.iter().map(|detail| place_in_event(detail, index)).collect())
        }
    };
    match retry_after {
        Some(seconds) => named.with_retry_after(seconds),
        None => named,
    }
}

/// Returns a problem of the body of one event at its place in the batch.
fn place_in_event(detail: &FieldError, index: usize) -> FieldError {
    let path = match detail.path.strip_prefix("body") {
        Some(below) => format!("body[{index}].data{below}"),
        None => detail.path.clone(),
    };
    FieldError { path, ..detail.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_of_batches_meet_the_steps_of_messages() {
        assert_eq!(LINE[MESSAGE].step, Step::Message);
        assert_eq!(LINE[BACKPRESSURE].step, Step::Backpressure);
    }

    #[test]
    fn manual_lists_guards_in_their_order() {
        let manual = include_str!("../../../../docs/channels.md");
        let (_, list) = manual.split_once("The guards run in this order").expect("the manual has the order");
        let (list, _) = list.split_once("\n\n").expect("the paragraph ends");
        let listed: Vec<_> = list.split('`').skip(1).step_by(2).collect();
        let mut expected = Vec::new();
        for name in LINE.iter().map(|rule| rule.step.name()) {
            // Shape and message are no guards that a channel configures.
            if !["shape", "message"].contains(&name) && !expected.contains(&name) {
                expected.push(name);
            }
        }
        assert_eq!(listed, expected);
    }

    #[test]
    fn refusal_of_an_event_names_its_place() {
        let refused = ServiceError::invalid(vec![FieldError::invalid("body.qty", "too small")]);
        assert_eq!(name_event(refused, 2).details()[0].path, "body[2].data.qty");
        let busy = name_event(ServiceError::at_capacity("The queue is full").with_retry_after(7), 0);
        assert_eq!((busy.status(), busy.retry_after()), (503, Some(7)));
        assert_eq!(busy.message(), "Event 1 of the batch: The queue is full");
    }

    fn steps(ingress: Ingress) -> Vec<Step> {
        LINE.iter().filter(|rule| rule.ingresses.contains(&ingress)).map(|rule| rule.step).collect()
    }

    #[test]
    fn each_ingress_meets_its_guards_in_order() {
        use Step::*;
        let expected: [(Ingress, &[Step]); 5] = [
            (Ingress::Http, &LINE.map(|rule| rule.step)),
            (Ingress::Embedded, &[Shape, Message, Schema, Validation, Backpressure]),
            (Ingress::Call, &[RateLimit, Schema, Validation, Backpressure]),
            (Ingress::Cron, &[Schema, Validation, Backpressure]),
            (Ingress::Kafka, &[RateLimit, Shape, Schema, Validation, IdempotencyKey, Repeats, Backpressure]),
        ];
        for (ingress, expected) in expected {
            assert_eq!(steps(ingress), expected, "{ingress:?}");
        }
    }
}
