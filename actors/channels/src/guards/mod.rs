//! The guards of a channel, in the one order every message meets them.
//!
//! The first refusal answers. A later refusal does not give back what an earlier guard took: a token of a rate stays
//! spent, an idempotency key stays claimed. Only a message that finds no capacity gives its key back, because its caller
//! is asked to retry.

mod backpressure;
pub(crate) mod cache;
mod credentials;
mod deduplication;
mod expression;
mod groups;
mod idempotency_key;
pub(crate) mod idempotency_keys;
mod late_release;
pub(crate) mod limiter;
mod local_caches;
mod origin;
mod rate;
mod record;
mod response_cache;
mod shared_cache;
mod shared_keys;

use std::sync::Arc;

use serde_json::{Map, Value, json};
use svc_model::config::ChannelConfig;
use svc_model::{Channel, Code, ErrorReason, ServiceError, rollout};
use svc_secrets::Resolver;
use tokio::join;

use crate::compiled_channel::CompiledChannel;
use crate::digest;
use crate::metadata;
use crate::refusal;
use crate::request::{BodyKind, DataRequest, Delivery, Ingress};
use crate::response::ChannelResponse;
use crate::services::ChannelServices;

use backpressure::Permits;
pub(crate) use backpressure::{NoPermit, Permit};
pub(crate) use cache::CacheKey;
use credentials::CredentialGuard;
use deduplication::DeduplicationGuard;
pub(crate) use deduplication::IdempotencyClaim;
use expression::ValidationGuard;
pub use groups::RateGroups;
pub use local_caches::LocalCaches;
use origin::OriginGuard;
use rate::{RateGuard, RateRefusal, RateSubject};
pub(crate) use record::RecordRefusal;
pub(crate) use response_cache::CacheKeyInputs;
use response_cache::ResponseCacheGuard;

/// A guard. The variants are in the order in which guards apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Guard {
    RateLimit,
    Credentials,
    Quota,
    Origin,
    Validation,
    Deduplication,
    Cache,
    Backpressure,
}

impl Guard {
    /// Returns the ingresses whose messages the guard applies to.
    const fn ingresses(self) -> &'static [Ingress] {
        use Ingress::{Call, Cron, Embedded, Http, Kafka};
        match self {
            Self::RateLimit => &[Http, Call, Kafka],
            Self::Credentials => &[Http],
            Self::Quota => &[Http],
            Self::Origin => &[Http],
            Self::Validation => &[Http, Embedded, Call, Cron, Kafka],
            Self::Deduplication => &[Http, Kafka],
            Self::Cache => &[Http],
            Self::Backpressure => &[Http, Embedded, Call, Cron, Kafka],
        }
    }

    /// Returns the guard of a channel if it applies to a message of the ingress.
    fn for_ingress<G>(self, guard: &Option<G>, ingress: Ingress) -> Option<&G> {
        guard.as_ref().filter(|_| self.ingresses().contains(&ingress))
    }
}

/// The guards a channel has. Large ones are boxed: most channels have few of them.
pub(crate) struct Guards {
    rate_limit: Option<Box<RateGuard>>,
    credentials: Option<Arc<CredentialGuard>>,
    quota: Option<Box<RateGuard>>,
    origins: Option<OriginGuard>,
    validation: Option<Box<ValidationGuard>>,
    deduplication: Option<Box<DeduplicationGuard>>,
    response_cache: Option<Box<ResponseCacheGuard>>,
    permits: Option<Permits>,
}

impl Guards {
    /// Builds the guards of a channel. Their state is taken over from `previous` if their own settings are the same.
    /// `inputs` show if an equal message would still be answered as before. Without `references` the credentials of
    /// `previous` are kept, for a channel whose config is the same.
    ///
    /// # Errors
    /// The reason to quarantine the channel.
    pub(crate) fn build(
        row: &Channel,
        config: &ChannelConfig,
        services: &ChannelServices,
        references: Option<&dyn Resolver>,
        previous: Option<&Self>,
        inputs: &CacheKeyInputs,
    ) -> Result<Self, String> {
        let name = row.content.name.as_str();
        let rate_limit = config.rate_limit.as_ref().map(|block| {
            let before = previous.and_then(|previous| previous.rate_limit.as_deref());
            RateGuard::limit(name, block, services, before)
        });
        let quota = config.principal_rate_limit.as_ref().map(|block| {
            let before = previous.and_then(|previous| previous.quota.as_deref());
            RateGuard::quota(name, block, services, before)
        });
        let credentials = config.auth.as_ref().map(|auth| match references {
            Some(references) => CredentialGuard::build(auth, references, services).map(Arc::new),
            None => {
                let previous_credentials = previous.and_then(|previous| previous.credentials.clone());
                previous_credentials.ok_or_else(|| "auth: its secrets were not read".to_owned())
            }
        });
        let validation =
            config.validation_logic.as_ref().map(|logic| ValidationGuard::build(logic, services));
        let deduplication = config.deduplication.as_ref().map(|block| {
            let before = previous.and_then(|previous| previous.deduplication.as_deref());
            DeduplicationGuard::build(name, block, services, before)
        });
        let response_cache = config.cache.as_ref().filter(|block| block.enabled).map(|block| {
            let before = previous.and_then(|previous| previous.response_cache.as_deref());
            let personal = caller_specific_setting(config);
            ResponseCacheGuard::build(name, block, personal, inputs, services, before)
        });
        Ok(Self {
            rate_limit: rate_limit.transpose()?.map(Box::new),
            credentials: credentials.transpose()?,
            quota: quota.transpose()?.map(Box::new),
            origins: config.origin_allow_list.clone().map(OriginGuard::new),
            validation: validation.transpose()?.map(Box::new),
            deduplication: deduplication.transpose()?.map(Box::new),
            response_cache: response_cache.transpose()?.map(Box::new),
            permits: config
                .backpressure
                .map(|block| Permits::build(block, previous.and_then(|previous| previous.permits.as_ref()))),
        })
    }

    /// Returns `true` if a guard looks at the metadata of a message.
    pub(crate) fn read_metadata(&self) -> bool {
        self.validation.is_some() || self.deduplication.is_some() || self.response_cache.is_some()
    }

    /// Returns `true` if calls are limited in their rate, which needs their metadata: the headers of a call
    /// are there only.
    pub(crate) fn limit_rate_of_calls(&self) -> bool {
        self.rate_limit.is_some()
    }

    /// Acquires a permit for work that passed the guards before; `None` if the channel limits no concurrency.
    pub(crate) fn permit(&self) -> Result<Option<Permit>, NoPermit> {
        self.permits.as_ref().map(Permits::try_acquire).transpose()
    }

    /// Caches a response for the next equal request.
    pub(crate) async fn store_response(
        &self,
        channel: &str,
        key: CacheKey,
        answer: &ChannelResponse,
        services: &ChannelServices,
    ) {
        if let Some(response_cache) = &self.response_cache {
            response_cache.store(channel, key, answer, services).await;
        }
    }
}

/// Returns the setting by which a workflow may answer callers differently, which the cache key does not include. A
/// channel that declares `per_principal` has none.
fn caller_specific_setting(config: &ChannelConfig) -> Option<&'static str> {
    let undecided = config.cache.as_ref().is_some_and(|cache| cache.per_principal.is_none());
    match config.auth {
        Some(_) if undecided => Some("auth"),
        _ if !config.request.cookies_to_metadata.is_empty() => Some("request.cookies_to_metadata"),
        _ => None,
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
    /// The key of its run, if repeats of the message are recognised.
    pub(crate) run_key: Option<String>,
    pub(crate) claim: Option<IdempotencyClaim>,
    /// An answer with an error gives the claim back.
    pub(crate) releases_on_error: bool,
    /// The key under which its response may be cached.
    pub(crate) cache_key: Option<CacheKey>,
    pub(crate) permit: Option<Permit>,
}

/// A call that all guards admitted.
pub(crate) struct AdmittedCall {
    pub(crate) payload: Value,
    pub(crate) metadata: Map<String, Value>,
    /// Released when the call has run.
    _permit: Option<Permit>,
}

/// The reason why a message is answered without a run.
pub(crate) enum ShortCircuit {
    /// A guard refused it.
    Refused(ServiceError),
    /// The cache had the response to an equal message.
    Answered(ChannelResponse),
    /// Its idempotency key was seen, and the channel accepts repeats.
    Repeated,
}

/// The reason why a scheduled run does not start.
pub(crate) enum ScheduledRunRefusal {
    /// A guard refused it, and will again.
    Refused(ServiceError),
    /// The channel has no capacity now.
    Busy,
}

impl From<RateRefusal> for ShortCircuit {
    fn from(refusal: RateRefusal) -> Self {
        Self::Refused(refusal.into())
    }
}

impl From<ServiceError> for ShortCircuit {
    fn from(refusal: ServiceError) -> Self {
        Self::Refused(refusal)
    }
}

impl CompiledChannel {
    /// Passes a message through the guards.
    pub(crate) async fn admit(&self, mut request: Box<DataRequest>) -> Result<AdmittedMessage, ShortCircuit> {
        let (guards, services, ingress) = (&self.guards, &self.services, request.ingress);
        // Headers arrive in any order; keys and stored rows must not depend on it.
        request.headers.sort_by(|(one, _), (other, _)| one.cmp(other));
        if let Some(limit) = Guard::RateLimit.for_ingress(&guards.rate_limit, ingress) {
            let subject = RateSubject::from_request(&request, services.settings.client_networks);
            limit.check(&self.name, subject, None, services).await?;
        }
        if let Some(body) = &request.body {
            services.settings.shape_limits.check(body)?;
        }
        let names_caller = self.reads_metadata || request.delivery == Delivery::Async;
        let (mut claims, mut principal, mut cache_principal) = (None, None, None);
        if let Some(credentials) = Guard::Credentials.for_ingress(&guards.credentials, ingress) {
            let verified = credentials.verify(&self.name, &request, services).await?;
            let quota = Guard::Quota.for_ingress(&guards.quota, ingress);
            if names_caller || quota.is_some() {
                principal = CredentialGuard::principal(&verified);
            }
            if let Some(quota) = quota {
                let auth = metadata::auth_facts(verified.claims.clone(), principal.map(digest::hex));
                let auth = auth.unwrap_or_else(|| json!({}));
                let subject = RateSubject::from_request(&request, services.settings.client_networks);
                quota.check(&self.name, subject, Some(&auth), services).await?;
            }
            cache_principal = guards.response_cache.is_some().then(|| credentials.cache_principal(&verified));
            claims = verified.claims.map(|claims| credentials.exposed_claims(&claims));
        }
        if let Some(origins) = Guard::Origin.for_ingress(&guards.origins, ingress) {
            origins.check(&self.name, &request, services)?;
        }
        // Read before the facts of the request move into the message.
        let bucket = self.bucket(&request);
        let profile = request.profile && services.settings.profiles;
        let deduplication = Guard::Deduplication
            .for_ingress(&guards.deduplication, ingress)
            .map(|guard| (guard, guard.sent_key(&request)));
        let envelope = self.envelope && ingress == Ingress::Http && request.body_kind == BodyKind::Json;
        if envelope && let Some(body) = &request.body {
            self.note_dropped_members(body);
        }
        let (payload, caller) = metadata::split_body(request.body.take(), envelope);
        let mut metadata = Map::new();
        if self.reads_metadata || request.delivery == Delivery::Async {
            let stamps = metadata::MetadataStamps {
                channel: &self.name,
                vars: services.settings.vars.as_ref(),
                cookies: &self.cookies,
                credential: guards.credentials.as_ref().and_then(|credentials| credentials.header()),
                claims,
                principal: principal.map(digest::hex),
            };
            metadata = metadata::stamp(caller, &mut request, stamps);
        }
        let response_cache = Guard::Cache
            .for_ingress(&guards.response_cache, ingress)
            .filter(|_| request.delivery == Delivery::Sync)
            .and_then(|response_cache| {
                Some((response_cache, response_cache.key(cache_principal, &metadata, &payload)?))
            });
        if let Some(validation) = Guard::Validation.for_ingress(&guards.validation, ingress) {
            metadata = validation.check(&payload, metadata, services)?;
        }
        let mut idempotency_key = None;
        if let Some((guard, sent)) = deduplication {
            let key;
            (key, metadata) = guard.request_key(sent.as_deref(), principal, &payload, metadata, services)?;
            idempotency_key = key.map(|key| (guard, key));
        }
        let claiming = async {
            let Some((guard, key)) = &idempotency_key else { return Ok(None) };
            guard.claim(&self.name, key, None, services).await.map_err(|refusal| match refusal.code() {
                Code::Conflict if guard.accepts_repeats() => ShortCircuit::Repeated,
                _ => ShortCircuit::Refused(refusal),
            })
        };
        let looking_up = async {
            let (response_cache, key) = response_cache.as_ref()?;
            response_cache.look_up(&self.name, key, services).await
        };
        // Both are on their way to a shared store in one round trip.
        let (claim, cached) = join!(claiming, looking_up);
        let claim = claim?;
        if response_cache.is_some() {
            services.metrics.cache_looked_up(&self.name, cached.is_some());
        }
        if let Some(answer) = cached {
            return Err(ShortCircuit::Answered(answer));
        }
        let permit = match self.acquire_permit(ingress) {
            Ok(permit) => permit,
            Err(NoPermit) => {
                if let Some(claim) = claim {
                    claim.release(services).await;
                }
                return Err(refusal::at_capacity(&self.name).into());
            }
        };
        let cache_key = response_cache.map(|(_, key)| key);
        let mut run_key = None;
        let mut releases_on_error = false;
        if let Some((guard, key)) = &idempotency_key {
            run_key = Some(key.run_key(&self.name));
            releases_on_error = guard.accepts_repeats();
        }
        Ok(AdmittedMessage {
            payload,
            metadata,
            bucket,
            profile,
            run_key,
            claim,
            releases_on_error,
            cache_key,
            permit,
        })
    }

    /// Passes a scheduled run through the guards; returns its metadata and the permit that it holds while it runs.
    pub(crate) fn admit_scheduled_run(
        &self,
        payload: &Value,
        mut metadata: Map<String, Value>,
    ) -> Result<(Map<String, Value>, Option<Permit>), ScheduledRunRefusal> {
        let (guards, ingress) = (&self.guards, Ingress::Cron);
        if let Some(validation) = Guard::Validation.for_ingress(&guards.validation, ingress) {
            metadata =
                validation.check(payload, metadata, &self.services).map_err(ScheduledRunRefusal::Refused)?;
        }
        let permit = self.acquire_permit(ingress).map_err(|NoPermit| ScheduledRunRefusal::Busy)?;
        Ok((metadata, permit))
    }

    /// Passes a call through the guards. `caller` is the calling channel, `metadata` the metadata that it passes on.
    ///
    /// # Errors
    /// The first refusal.
    pub(crate) async fn admit_call(
        &self,
        caller: &str,
        payload: Value,
        metadata: Map<String, Value>,
    ) -> Result<AdmittedCall, ServiceError> {
        let metadata = self.check_call(caller, &payload, metadata).await?;
        let permit =
            self.acquire_permit(Ingress::Call).map_err(|NoPermit| refusal::at_capacity(&self.name))?;
        Ok(AdmittedCall { payload, metadata, _permit: permit })
    }

    /// Applies the guards of a call except the limit on concurrency; returns the metadata as the guards leave it.
    ///
    /// # Errors
    /// The refusal of the first guard that refuses.
    pub(crate) async fn check_call(
        &self,
        caller: &str,
        payload: &Value,
        mut metadata: Map<String, Value>,
    ) -> Result<Map<String, Value>, ServiceError> {
        let (guards, services, ingress) = (&self.guards, &self.services, Ingress::Call);
        if let Some(limit) = Guard::RateLimit.for_ingress(&guards.rate_limit, ingress) {
            let headers = metadata::unmasked_headers(&metadata);
            let subject = RateSubject::named(caller, &headers);
            limit.check(&self.name, subject, None, services).await?;
        }
        if let Some(validation) = Guard::Validation.for_ingress(&guards.validation, ingress) {
            metadata = validation.check(payload, metadata, services)?;
        }
        Ok(metadata)
    }

    /// Acquires a permit if the channel limits concurrency.
    fn acquire_permit(&self, ingress: Ingress) -> Result<Option<Permit>, NoPermit> {
        let permits = Guard::Backpressure.for_ingress(&self.guards.permits, ingress);
        permits.map(Permits::try_acquire).transpose().inspect_err(|_| {
            self.services.metrics.count_error(ErrorReason::Backpressure);
        })
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
