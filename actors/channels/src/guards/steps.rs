//! The steps of the guard line. Each leaves its findings in the passage. A step whose guard the channel does not have does
//! nothing.

use std::time::Duration;

use serde_json::{Value, json};
use svc_auth::Identity;
use svc_model::{Code, ErrorReason, ServiceError, Timestamp, rollout};
use tokio::join;
use tokio::time::timeout;

use super::backpressure::NoPermit;
use super::cache::{CacheFlight, CacheKey, FlightTurn};
use super::credentials::CredentialGuard;
use super::deduplication::IdempotencyClaim;
use super::passage::{
    AT_CAPACITY, GuardRefusal, MessageSource, Passage, RefusalKind, UNCHECKED, consumer_of, shown_principal,
};
use super::quota::check_consumer;
use super::rate::RateSubject;
use super::replay::ReplayTurn;
use super::response_cache::{CacheLookup, ResponseCacheGuard};
use crate::body::BodyKind;
use crate::compiled_channel::CompiledChannel;
use crate::digest::Digest;
use crate::metadata;
use crate::refusal;
use crate::request::{DataRequest, Delivery, Ingress};
use crate::run::{WaitRequest, read_delivery_time};

/// Longest wait for the run of an equal request.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

type Met = Result<(), GuardRefusal>;

impl CompiledChannel {
    pub(super) async fn check_rate(&self, passage: &mut Passage<'_>) -> Met {
        let Some(limit) = &self.guards.rate_limit else { return Ok(()) };
        let mut state = None;
        let inherited;
        let subject = match &passage.source {
            MessageSource::Request(request) => {
                RateSubject::from_request(request, self.services.settings.client_networks)
            }
            // The caller of a record is its topic.
            MessageSource::Record(record) => RateSubject::named(&record.topic, &record.headers),
            MessageSource::Call(caller) => {
                inherited = metadata::unmasked_headers(&passage.message.metadata);
                RateSubject::named(caller, &inherited)
            }
            MessageSource::Occurrence => return Ok(()),
        };
        let checked = limit.check(&self.name, subject, None, &self.services, &mut state).await;
        if let Some(state) = state {
            passage.rates.get_or_insert_default().add("rate_limit", state);
        }
        Ok(checked?)
    }

    pub(super) fn check_shape(&self, passage: &Passage<'_>) -> Met {
        let value = match &passage.source {
            MessageSource::Request(request) => request.body.as_ref(),
            _ => Some(&passage.message.payload),
        };
        let checked = value.map_or(Ok(()), |value| self.services.settings.shape_limits.check(value));
        checked.map_err(|error| RefusalKind::Final.with("too_wide", error))
    }

    pub(super) async fn authenticate(&self, passage: &mut Passage<'_>) -> Met {
        let (Some(credentials), MessageSource::Request(request)) =
            (&self.guards.credentials, &passage.source)
        else {
            return Ok(());
        };
        let identity = credentials.verify(&self.name, request, &self.services).await?;
        let guards = &self.guards;
        if self.keeps_metadata(request) || guards.quota.is_some() || guards.call_quota.is_some() {
            passage.principal = CredentialGuard::principal(&identity);
        }
        passage.identity = Some(identity);
        Ok(())
    }

    pub(super) async fn check_quota(&self, passage: &mut Passage<'_>) -> Met {
        let (Some(quota), Some(identity), MessageSource::Request(request)) =
            (&self.guards.quota, &passage.identity, &passage.source)
        else {
            return Ok(());
        };
        let auth = auth_facts(identity, passage.principal);
        let subject = RateSubject::from_request(request, self.services.settings.client_networks);
        let mut state = None;
        let checked = quota.check(&self.name, subject, Some(&auth), &self.services, &mut state).await;
        if let Some(state) = state {
            passage.rates.get_or_insert_default().add("principal_rate_limit", state);
        }
        Ok(checked?)
    }

    pub(super) async fn check_call_quota(&self, passage: &Passage<'_>) -> Met {
        if let Some(consumer) = consumer_of(passage.identity.as_ref()) {
            check_consumer(&self.name, consumer, &self.services).await?;
        }
        let (Some(quota), MessageSource::Request(request)) = (&self.guards.call_quota, &passage.source)
        else {
            return Ok(());
        };
        let subject = RateSubject::from_request(request, self.services.settings.client_networks);
        quota.check(&self.name, subject, &caller_facts(passage), &self.services).await
    }

    pub(super) fn check_origin(&self, passage: &Passage<'_>) -> Met {
        let (Some(origins), MessageSource::Request(request)) = (&self.guards.origins, &passage.source) else {
            return Ok(());
        };
        origins.check(&self.name, request, &self.services)
    }

    /// Reads the message out of a request. Headers, parameters and the body move; what is read of them is read before.
    pub(super) fn read_message(&self, passage: &mut Passage<'_>) -> Met {
        let MessageSource::Request(request) = &mut passage.source else { return Ok(()) };
        let (guards, settings, message) = (&self.guards, &self.services.settings, &mut passage.message);
        let due = read_delivery_time(request, settings.max_delay, Timestamp::now);
        if let Some(due) = due.map_err(|error| RefusalKind::Final.with("delivery_time", error))? {
            message.wait = Some(Box::new(WaitRequest { due: Some(due), share: None }));
        }
        message.bucket = self.bucket(request);
        message.profile = request.profile && settings.profiles;
        passage.sent_key = guards.deduplication.as_ref().and_then(|guard| guard.sent_key(request));
        let envelope =
            self.envelope && request.ingress == Ingress::Http && request.body_kind == BodyKind::Json;
        if envelope
            && !passage.is_trial
            && let Some(body) = &request.body
        {
            self.note_dropped_members(body);
        }
        let (payload, caller) = metadata::split_body(request.body.take(), envelope);
        message.payload = payload;
        if self.keeps_metadata(request) {
            let credentials = guards.credentials.as_ref();
            let claims = passage.identity.as_ref().and_then(|identity| identity.claims.as_ref());
            let stamps = metadata::MetadataStamps {
                channel: &self.name,
                vars: settings.vars.as_ref(),
                cookies: &self.cookies,
                credential: credentials.and_then(|credentials| credentials.header()),
                claims: credentials
                    .zip(claims)
                    .map(|(credentials, claims)| credentials.exposed_claims(claims)),
                principal: shown_principal(passage.identity.as_ref(), passage.principal),
                consumer: consumer_of(passage.identity.as_ref()).map(|consumer| &*consumer.name),
                signed_in: passage.signed_in.take(),
            };
            message.metadata = metadata::stamp(caller, request, stamps);
        }
        Ok(())
    }

    pub(super) fn check_schema(&self, passage: &Passage<'_>) -> Met {
        let Some(schema) = &self.guards.schema else { return Ok(()) };
        let checked = schema.check(&passage.message.payload, "body");
        checked.map_err(|faults| RefusalKind::Final.with("not_in_schema", ServiceError::invalid(faults)))
    }

    pub(super) fn validate(&self, passage: &mut Passage<'_>) -> Met {
        let Some(validation) = &self.guards.validation else { return Ok(()) };
        let message = &mut passage.message;
        let checked =
            validation.check(&message.payload, std::mem::take(&mut message.metadata), &self.services);
        message.metadata = checked.map_err(|error| RefusalKind::Final.with("not_valid", error))?;
        Ok(())
    }

    pub(super) fn find_idempotency_key(&self, passage: &mut Passage<'_>) -> Met {
        let Some(guard) = &self.guards.deduplication else { return Ok(()) };
        let (message, services) = (&mut passage.message, &self.services);
        let (payload, metadata) = (&message.payload, std::mem::take(&mut message.metadata));
        let found = match &passage.source {
            MessageSource::Record(record) => {
                guard.computed_key(guard.record_key(record), None, payload, metadata, services)
            }
            _ => {
                let sent = passage.sent_key.as_deref();
                guard.request_key(sent, passage.principal, payload, metadata, services)
            }
        };
        (passage.idempotency_key, message.metadata) =
            found.map_err(|error| RefusalKind::Final.with("no_key", error))?;
        Ok(())
    }

    pub(super) fn find_cache_key(&self, passage: &mut Passage<'_>) -> Met {
        let (Some(cache), MessageSource::Request(request)) = (&self.guards.response_cache, &passage.source)
        else {
            return Ok(());
        };
        if request.delivery == Delivery::Sync {
            let caller = self.guards.credentials.as_ref().zip(passage.identity.as_ref());
            let principal = caller.map(|(credentials, identity)| credentials.cache_principal(identity));
            let message = &mut passage.message;
            let metadata = std::mem::take(&mut message.metadata);
            (message.cache_key, message.metadata) =
                cache.key(principal, &message.payload, metadata, &self.services);
        }
        Ok(())
    }

    pub(super) async fn check_repeats(&self, passage: &mut Passage<'_>) -> Met {
        let (guards, services) = (&self.guards, &self.services);
        let replays = guards.replays_answers() && matches!(passage.source, MessageSource::Request(_));
        if replays && passage.idempotency_key.is_some() {
            Box::pin(self.take_replay_turn(passage)).await?;
            if passage.answer.is_some() {
                return Ok(());
            }
        }
        let (idempotency_key, cache_key) = (&passage.idempotency_key, &passage.message.cache_key);
        // A record comes again with the same owner, whom its own claim does not refuse.
        let (owner, is_request) = match &passage.source {
            MessageSource::Record(record) => (Some(record.claim_owner()), false),
            _ => (None, true),
        };
        let claiming = async {
            let guard = guards.deduplication.as_ref().filter(|_| !replays);
            let (Some(guard), Some(key)) = (guard, idempotency_key) else { return Ok(None) };
            let claimed = guard.claim(&self.name, key, owner.as_deref(), services).await;
            claimed.map_err(|refusal| match refusal.code() {
                Code::Conflict => RefusalKind::Duplicate.with("duplicate", refusal),
                _ => RefusalKind::Deferred.with(UNCHECKED, refusal),
            })
        };
        let looking_up = async {
            match (&guards.response_cache, cache_key) {
                (Some(cache), Some(key)) => cache.look_up(&self.name, key, services).await,
                _ => CacheLookup::default(),
            }
        };
        // Both are on their way to a shared store in one round trip.
        let (claim, mut cached) = join!(claiming, looking_up);
        let claim = claim?;
        if cached.answer.is_none()
            && let (Some(cache), Some(key)) = (&guards.response_cache, cache_key)
            && let Some(turn) = cache.join_flight(*key)
        {
            (passage.message.flight, cached) = Box::pin(self.take_turn(cache, *key, turn, cached)).await;
        }
        if passage.message.cache_key.is_some() {
            services.metrics.cache_looked_up(&self.name, cached.answer.is_some());
        }
        if claim.is_some() {
            passage.message.claim = claim;
        }
        passage.message.cache_counters = cached.counters;
        passage.answer = cached.answer;
        if replays && passage.answer.is_some() {
            // Nothing runs whose answer would be kept.
            Box::pin(self.give_key_back(passage)).await;
        }
        if is_request && passage.answer.is_none() {
            passage.message.run_key = passage.idempotency_key.as_ref().map(|key| key.run_key(&self.name));
        }
        Ok(())
    }

    /// Claims a key whose answer is kept, or finds the answer of the first run.
    async fn take_replay_turn(&self, passage: &mut Passage<'_>) -> Met {
        let (Some(guard), Some(key), MessageSource::Request(request)) =
            (&self.guards.deduplication, &passage.idempotency_key, &passage.source)
        else {
            return Ok(());
        };
        match guard.take_turn(&self.name, key, &request.raw, &self.services).await? {
            Some(ReplayTurn::Run(claim)) => passage.message.claim = Some(IdempotencyClaim::Replay(claim)),
            Some(ReplayTurn::Answer(answer)) => passage.answer = Some(answer),
            None => {}
        }
        Ok(())
    }

    async fn give_key_back(&self, passage: &mut Passage<'_>) {
        if let Some(claim) = passage.message.claim.take() {
            claim.release(&self.services).await;
        }
    }

    /// Leads the run of a key, or waits for the end of the one under way and looks for its answer. A follower without an
    /// answer runs by itself.
    async fn take_turn(
        &self,
        cache: &ResponseCacheGuard,
        key: CacheKey,
        turn: FlightTurn,
        looked_up: CacheLookup,
    ) -> (Option<Box<CacheFlight>>, CacheLookup) {
        let end = match turn {
            FlightTurn::Lead(flight) => return (Some(Box::new(flight)), looked_up),
            FlightTurn::Follow(end) => end,
        };
        let longest = self.timeout.map_or(LONGEST_WAIT, |timeout| timeout.min(LONGEST_WAIT));
        // A run that takes longer leaves no answer for this request.
        let _ = timeout(longest, end.wait()).await;
        let cached = cache.look_up(&self.name, &key, &self.services).await;
        if cached.answer.is_some() {
            self.services.metrics.count_coalesced(&self.name);
        }
        (None, cached)
    }

    pub(super) fn acquire_permit(&self, passage: &mut Passage<'_>) -> Met {
        if passage.skips_permit || self.waits_for_turn(passage)? {
            return Ok(());
        }
        match self.guards.permit() {
            Ok(permit) => passage.message.permit = permit,
            Err(NoPermit) => {
                self.services.metrics.count_error(ErrorReason::Backpressure);
                return Err(RefusalKind::Deferred.with(AT_CAPACITY, refusal::at_capacity(&self.name)));
            }
        }
        Ok(())
    }

    /// Returns `true` for a message that waits in the database until it may run, and takes its permit then: one that is due
    /// later, that takes a share of the channel, or whose channel is paused. Finds the key of its share.
    pub(super) fn waits_for_turn(&self, passage: &mut Passage<'_>) -> Result<bool, GuardRefusal> {
        let MessageSource::Request(request) = &passage.source else { return Ok(false) };
        if request.delivery != Delivery::Async {
            return Ok(false);
        }
        let is_paused = request.pause.is_some();
        let message = &mut passage.message;
        let metadata = std::mem::take(&mut message.metadata);
        let (share, metadata) = self.queue.share(&message.payload, metadata, &self.services);
        message.metadata = metadata;
        if let Some(share) = share.map_err(|error| RefusalKind::Final.with("no_key", error))? {
            message.wait.get_or_insert_default().share = Some(share);
        }
        Ok(is_paused || message.wait.is_some())
    }

    /// Returns `true` if the metadata of a request are kept: its run may look at them, now or later.
    fn keeps_metadata(&self, request: &DataRequest) -> bool {
        self.reads_metadata || request.delivery == Delivery::Async
    }

    /// Returns the rollout bucket of the caller; `None` if one version gets all the traffic.
    fn bucket(&self, request: &DataRequest) -> Option<u8> {
        let sticky = self.services.settings.rollout_sticky_header.as_deref();
        match self.flow.versions.as_slice() {
            [] | [_] => None,
            [(workflow, _), ..] => {
                request.identity(sticky).map(|caller| rollout::caller_bucket(workflow.id(), &caller))
            }
        }
    }
}

/// Returns the facts about the caller of a request, as keys of quotas are made of them.
pub(super) fn caller_facts(passage: &Passage<'_>) -> Value {
    match &passage.identity {
        Some(identity) => auth_facts(identity, passage.principal),
        None => json!({}),
    }
}

/// Returns the facts about an authenticated caller.
pub(super) fn auth_facts(identity: &Identity, principal: Option<Digest>) -> Value {
    let consumer = consumer_of(Some(identity)).map(|consumer| &*consumer.name);
    let principal = shown_principal(Some(identity), principal);
    metadata::auth_facts(identity.claims.clone(), principal, consumer).unwrap_or_else(|| json!({}))
}
