//! The guards of a channel. `line` has their order and their ingresses.

mod backpressure;
pub(crate) mod cache;
mod credentials;
mod deduplication;
mod expression;
mod groups;
mod idempotency_key;
pub(crate) mod idempotency_keys;
mod inspection;
mod late_release;
pub(crate) mod limiter;
mod line;
mod local_caches;
mod origin;
mod passage;
mod quota;
mod rate;
mod replay;
mod response_cache;
mod shared_cache;
mod shared_keys;
mod sign_in;
mod steps;

use std::sync::Arc;

use svc_contract::MessageSchema;
use svc_model::Channel;
use svc_model::config::auth::ConsumerSelection;
use svc_model::config::{ChannelConfig, QuotaTerms};
use svc_secrets::Resolver;

use crate::answer::response::ChannelResponse;
use crate::services::ChannelServices;

pub(crate) use backpressure::NoPermit;
use backpressure::{Permit, Permits};
pub use cache::CacheNamespaces;
use cache::{CacheKey, NamespaceCounters};
use credentials::CredentialGuard;
use deduplication::DeduplicationGuard;
pub(crate) use deduplication::IdempotencyClaim;
use expression::ValidationGuard;
pub use groups::RateGroups;
pub use inspection::{CountedRefusal, GuardTrial, RefusalTotals, TrialRefusal, TrialResult, TriedGuard};
pub(crate) use inspection::{PAUSE, PAUSED, RefusalCounts};
pub use local_caches::LocalCaches;
use origin::OriginGuard;
pub(crate) use passage::{
    AdmittedBatch, AdmittedMessage, AdmittedRequest, GuardRefusal, MessageSource, RefusalKind,
};
use quota::CallQuotaGuard;
pub use quota::{CallQuotas, QuotaKey, QuotaStore, ReservedCalls};
use rate::RateGuard;
pub(crate) use replay::ReplayClaim;
pub use replay::{AnswerStore, ReplayServices};
pub(crate) use response_cache::CacheKeyInputs;
use response_cache::ResponseCacheGuard;
pub(crate) use sign_in::{SignInGuard, find_additions, strip_additions};

/// The guards a channel has. Large ones are boxed: most channels have few of them.
pub(crate) struct Guards {
    rate_limit: Option<Box<RateGuard>>,
    credentials: Option<Arc<CredentialGuard>>,
    quota: Option<Box<RateGuard>>,
    call_quota: Option<Box<CallQuotaGuard>>,
    origins: Option<OriginGuard>,
    sign_in: Option<Arc<SignInGuard>>,
    schema: Option<Box<MessageSchema>>,
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
        let (name, reports) = (row.content.name.as_str(), config.response.rate_limit_headers);
        let rate_limit = config.rate_limit.as_ref().map(|block| {
            let before = previous.and_then(|previous| previous.rate_limit.as_deref());
            RateGuard::limit(name, block, services, before).map(|guard| guard.report(reports))
        });
        let quota = config.principal_rate_limit.as_ref().map(|block| {
            let before = previous.and_then(|previous| previous.quota.as_deref());
            RateGuard::quota(name, block, services, before).map(|guard| guard.report(reports))
        });
        let credentials = build_credentials(config, services, references, previous);
        let call_quota = config.quota.as_ref().map(|block| {
            let before = previous.and_then(|previous| previous.call_quota.as_deref());
            let credential = credentials.as_ref().and_then(|built| built.as_ref().ok()?.header());
            CallQuotaGuard::build(&row.channel_id, block, credential, services, before)
        });
        let sign_in = config.oauth2_login.as_ref().map(|block| match references {
            Some(references) => SignInGuard::build(name, block, references, services),
            None => {
                let served = previous.and_then(|previous| previous.sign_in.clone());
                served.ok_or_else(|| "oauth2_login: its secrets were not read".to_owned())
            }
        });
        let schema = config.request.schema.clone().map(|schema| MessageSchema::compile(&schema.into()));
        let schema = schema.transpose().map_err(|error| format!("request.schema: {error}"))?;
        let validation =
            config.validation_logic.as_ref().map(|logic| ValidationGuard::build(logic, services));
        let deduplication = config.deduplication.as_ref().map(|block| {
            let before = previous.and_then(|previous| previous.deduplication.as_deref());
            DeduplicationGuard::build(name, block, config.timeout_ms, services, before)
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
            call_quota: call_quota.transpose()?.map(Box::new),
            origins: config.origin_allow_list.clone().map(OriginGuard::new),
            sign_in: sign_in.transpose()?,
            schema: schema.map(Box::new),
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

    /// Returns `true` if callers are asked for a credential.
    pub(crate) fn ask_for_credentials(&self) -> bool {
        self.credentials.is_some()
    }

    /// Returns the sign-in of the channel, if it has one.
    pub(crate) fn sign_in(&self) -> Option<&SignInGuard> {
        self.sign_in.as_deref()
    }

    /// Returns `true` if calls are limited in their rate, which needs their metadata: the headers of a call
    /// are there only.
    pub(crate) fn limit_rate_of_calls(&self) -> bool {
        self.rate_limit.is_some()
    }

    /// Returns `true` if a repeat of a message is answered as accepted. The key of a message that was answered with an error
    /// is given back then; otherwise that message would never run.
    pub(crate) fn accept_repeats(&self) -> bool {
        self.deduplication.as_ref().is_some_and(|guard| guard.accepts_repeats())
    }

    /// Returns `true` if a repeat of a request gets the answer of the first run.
    pub(crate) fn replays_answers(&self) -> bool {
        self.deduplication.as_ref().is_some_and(|guard| guard.replays_answers())
    }

    /// Acquires a permit to run; `None` if the channel limits no concurrency.
    pub(crate) fn permit(&self) -> Result<Option<Permit>, NoPermit> {
        self.permits.as_ref().map(Permits::try_acquire).transpose()
    }

    /// Returns the bounds of the quota of the channel.
    pub(crate) fn quota_terms(&self) -> Option<QuotaTerms> {
        self.call_quota.as_ref().map(|quota| quota.terms())
    }

    /// Returns the consumers whom the channel accepts; `None` if it has keys of its own.
    pub(crate) fn consumers(&self) -> Option<&ConsumerSelection> {
        self.credentials.as_ref().and_then(|credentials| credentials.consumers())
    }

    /// Returns the number of permits that are left; `None` if the channel limits no concurrency.
    pub(crate) fn free_permits(&self) -> Option<usize> {
        self.permits.as_ref().map(Permits::free)
    }

    /// Caches a response for the next equal request.
    pub(crate) async fn store_response(
        &self,
        channel: &str,
        key: CacheKey,
        counters: Option<NamespaceCounters>,
        answer: &ChannelResponse,
        services: &ChannelServices,
    ) {
        if let Some(response_cache) = &self.response_cache {
            response_cache.store(channel, key, counters, answer, services).await;
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

/// Builds the check of credentials, if the channel has one. Without `references` that of `previous` is kept.
fn build_credentials(
    config: &ChannelConfig,
    services: &ChannelServices,
    references: Option<&dyn Resolver>,
    previous: Option<&Guards>,
) -> Option<Result<Arc<CredentialGuard>, String>> {
    let auth = config.auth.as_ref()?;
    Some(match references {
        Some(references) => CredentialGuard::build(auth, references, services).map(Arc::new),
        None => {
            let served = previous.and_then(|previous| previous.credentials.clone());
            served.ok_or_else(|| "auth: its secrets were not read".to_owned())
        }
    })
}
