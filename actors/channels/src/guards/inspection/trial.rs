//! The trial of a request: it meets the guards of its channel as a real one does, and takes nothing. No rate is counted, no
//! idempotency key looked up or claimed, no permit acquired, no metric and no log written.

use serde_json::{Map, Value};
use svc_model::{ServiceError, Timestamp};

use super::refusal_counts::{PAUSE, PAUSED};
use crate::compiled_channel::CompiledChannel;
use crate::guards::credentials::CredentialGuard;
use crate::guards::line::{LINE, Step};
use crate::guards::origin::OriginGuard;
use crate::guards::passage::{AT_CAPACITY, GuardRefusal, MessageSource, Passage, RefusalKind};
use crate::guards::quota::CallQuotaGuard;
use crate::guards::rate::{RateRefusal, RateSubject};
use crate::guards::steps::{auth_facts, caller_facts};
use crate::refusal;
use crate::request::{DataRequest, Delivery, Ingress};

/// The verdict of a guard over a request that was tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrialResult {
    /// It would admit the request.
    Passed,
    /// It would refuse the request.
    Refused,
    /// The trial cannot know, for this reason.
    Unchecked(&'static str),
    /// A guard before it would refuse the request.
    NotMet,
}

/// A guard that a request meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TriedGuard {
    /// Its name.
    pub guard: &'static str,
    /// Its verdict.
    pub result: TrialResult,
}

/// The refusal that a request would meet.
#[derive(Clone, Debug)]
pub struct TrialRefusal {
    /// The guard that refuses.
    pub guard: &'static str,
    /// The inner reason, which no caller sees.
    pub reason: &'static str,
    /// The error for the caller.
    pub error: ServiceError,
}

/// The result of a trial.
#[derive(Clone, Debug)]
pub struct GuardTrial {
    /// The guards of the channel in their order.
    pub guards: Vec<TriedGuard>,
    /// The refusal; `None` if every guard would admit the request.
    pub refusal: Option<TrialRefusal>,
}

type Verdict = Result<TrialResult, GuardRefusal>;

const NOT_COUNTED: &str = "the key of the rate was found; a trial is not counted";
const QUOTA_NOT_COUNTED: &str = "the key of the quota was found; a trial is not counted";
const NOT_SIGNED_IN: &str = "a trial sends no browser to an identity provider";
const NOT_CLAIMED: &str = "a trial neither looks up nor claims an idempotency key";

impl CompiledChannel {
    /// Tries a request against the guards.
    pub async fn try_request(&self, mut request: Box<DataRequest>) -> GuardTrial {
        request.headers.sort_by(|(one, _), (other, _)| one.cmp(other));
        if self.accepts() && request.ingress == Ingress::Http {
            request.delivery = Delivery::Async;
        }
        if request.has_event_batch() {
            if let Some(error) = self.batch_refusal(&request) {
                let refusal = Some(TrialRefusal { guard: "body", reason: "batch", error });
                return GuardTrial { guards: Vec::new(), refusal };
            }
            // The guards are the same for each event.
            if let Some(first) = request.take_event_batch().into_iter().next() {
                *request = request.with_event(first);
            }
        }
        let (ingress, delivery, pause) = (request.ingress, request.delivery, request.pause.clone());
        let mut passage = Passage::new(MessageSource::Request(request), Value::Null, Map::new());
        passage.is_trial = true;
        let mut trial = GuardTrial { guards: Vec::new(), refusal: None };
        for rule in LINE.iter().filter(|rule| rule.ingresses.contains(&ingress)) {
            let is_shown = self.has_guard(rule.step);
            let result = if trial.refusal.is_some() {
                TrialResult::NotMet
            } else {
                self.try_step(rule.step, &mut passage).await.unwrap_or_else(|refused| {
                    let GuardRefusal { reason, error, .. } = refused;
                    trial.refusal = Some(TrialRefusal { guard: rule.step.name(), reason, error });
                    TrialResult::Refused
                })
            };
            let guard = rule.step.name();
            // The key of a guard may be refused before the guard itself is met.
            let is_new = trial.guards.last().is_none_or(|last| last.guard != guard);
            if is_new && (is_shown || result == TrialResult::Refused) {
                trial.guards.push(TriedGuard { guard, result });
            }
        }
        let holds = pause.filter(|_| trial.refusal.is_none() && delivery == Delivery::Sync);
        if let Some(pause) = holds {
            let error = pause.refusal(Timestamp::now());
            trial.refusal = Some(TrialRefusal { guard: PAUSE, reason: PAUSED, error });
            trial.guards.push(TriedGuard { guard: PAUSE, result: TrialResult::Refused });
        }
        trial
    }

    /// Returns the names of the guards that requests meet, in their order.
    pub fn guard_names(&self) -> Vec<&'static str> {
        let rules = LINE.iter().filter(|rule| rule.ingresses.contains(&Ingress::Http));
        rules.filter(|rule| self.has_guard(rule.step)).map(|rule| rule.step.name()).collect()
    }

    /// Returns `true` if the channel has the guard of a step. Keys are parts of the guards that use them.
    fn has_guard(&self, step: Step) -> bool {
        let guards = &self.guards;
        match step {
            Step::RateLimit => guards.rate_limit.is_some(),
            Step::Shape => true,
            Step::Credentials => guards.credentials.is_some(),
            Step::Quota => guards.quota.is_some(),
            Step::CallQuota => guards.call_quota.is_some(),
            Step::Origin => guards.origins.is_some(),
            Step::SignIn => guards.sign_in.is_some(),
            Step::Schema => guards.schema.is_some(),
            Step::Validation => guards.validation.is_some(),
            Step::Repeats => guards.deduplication.is_some(),
            Step::Backpressure => guards.permits.is_some(),
            Step::Message | Step::IdempotencyKey | Step::CacheKey => false,
        }
    }

    async fn try_step(&self, step: Step, passage: &mut Passage<'_>) -> Verdict {
        match step {
            Step::RateLimit | Step::Quota => return self.try_rate(step, passage),
            Step::Shape => self.check_shape(passage)?,
            Step::Credentials => self.try_credentials(passage).await?,
            Step::CallQuota => return self.try_call_quota(passage),
            Step::Origin => self.try_origin(passage)?,
            Step::SignIn if self.guards.sign_in.is_some() => {
                return Ok(TrialResult::Unchecked(NOT_SIGNED_IN));
            }
            Step::SignIn => {}
            Step::Message => self.read_message(passage)?,
            Step::Schema => self.check_schema(passage)?,
            Step::Validation => self.validate(passage)?,
            Step::IdempotencyKey => self.find_idempotency_key(passage)?,
            Step::CacheKey => {}
            Step::Repeats if passage.idempotency_key.is_some() => {
                return Ok(TrialResult::Unchecked(NOT_CLAIMED));
            }
            Step::Repeats => {}
            Step::Backpressure => {
                if !self.waits_for_turn(passage)? && self.guards.free_permits() == Some(0) {
                    return Err(RefusalKind::Deferred.with(AT_CAPACITY, refusal::at_capacity(&self.name)));
                }
            }
        }
        Ok(TrialResult::Passed)
    }

    /// Finds the key by which a rate would count the request.
    fn try_rate(&self, step: Step, passage: &Passage<'_>) -> Verdict {
        let MessageSource::Request(request) = &passage.source else { return Ok(TrialResult::Passed) };
        let subject = RateSubject::from_request(request, self.services.settings.client_networks);
        let has_key = match step {
            Step::Quota => {
                let (Some(quota), Some(identity)) = (&self.guards.quota, &passage.identity) else {
                    return Ok(TrialResult::Passed);
                };
                let auth = auth_facts(identity, passage.principal);
                quota.has_key(&self.name, subject, Some(&auth), &self.services)
            }
            _ => {
                let Some(limit) = &self.guards.rate_limit else { return Ok(TrialResult::Passed) };
                limit.has_key(&self.name, subject, None, &self.services)
            }
        };
        if has_key { Ok(TrialResult::Unchecked(NOT_COUNTED)) } else { Err(RateRefusal::NoKey.into()) }
    }

    /// Finds the key by which a quota would count the request.
    fn try_call_quota(&self, passage: &Passage<'_>) -> Verdict {
        let (Some(quota), MessageSource::Request(request)) = (&self.guards.call_quota, &passage.source)
        else {
            return Ok(TrialResult::Passed);
        };
        let subject = RateSubject::from_request(request, self.services.settings.client_networks);
        if quota.has_key(&self.name, subject, &caller_facts(passage), &self.services) {
            Ok(TrialResult::Unchecked(QUOTA_NOT_COUNTED))
        } else {
            Err(CallQuotaGuard::no_key())
        }
    }

    async fn try_credentials(&self, passage: &mut Passage<'_>) -> Result<(), GuardRefusal> {
        let (Some(credentials), MessageSource::Request(request)) =
            (&self.guards.credentials, &passage.source)
        else {
            return Ok(());
        };
        let judged = credentials.judge(request, &self.services).await;
        let identity = judged.map_err(|refused| credentials.to_guard_refusal(refused))?;
        passage.principal = CredentialGuard::principal(&identity);
        passage.identity = Some(identity);
        Ok(())
    }

    fn try_origin(&self, passage: &Passage<'_>) -> Result<(), GuardRefusal> {
        let (Some(origins), MessageSource::Request(request)) = (&self.guards.origins, &passage.source) else {
            return Ok(());
        };
        if origins.find_refused(request).is_some() { Err(OriginGuard::refusal()) } else { Ok(()) }
    }
}
