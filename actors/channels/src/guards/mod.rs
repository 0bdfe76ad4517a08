//! The guards of a channel, in the one order every message meets them.
//!
//! The first refusal answers. What an earlier guard took is not given back because a later one refuses: a token of a
//! rate stays spent, an idempotency key stays claimed. Only a message that finds no capacity gives its key back,
//! because its caller is told to come again.

mod backpressure;
pub(crate) mod cache;
pub(crate) mod claims;
mod credentials;
mod deduplication;
mod expression;
mod groups;
pub(crate) mod limiter;
mod line_limit;
mod origin;
mod rate;
mod reuse;
mod shared;

use std::sync::Arc;

use serde_json::{Map, Value, json};
use svc_model::config::ChannelConfig;
use svc_model::{Channel, ServiceError, rollout};
use svc_secrets::Resolver;

use crate::answer::ChannelResponse;
use crate::definition::CompiledChannel;
use crate::metadata;
use crate::refusal;
use crate::request::{DataRequest, Delivery, Ingress};
use crate::toolbox::ChannelServices;

use backpressure::Permits;
pub(crate) use backpressure::{Exhausted, Permit};
pub(crate) use cache::CacheKey;
use credentials::Credentials;
pub(crate) use deduplication::Claim;
use deduplication::Deduplication;
use expression::Validation;
pub use groups::RateGroups;
use origin::Origins;
use rate::{Caller, Rate};
pub(crate) use reuse::Basis;
use reuse::Reuse;

/// One guard; in the order they are met.
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
    /// The ingresses whose messages meet it.
    const fn ingresses(self) -> &'static [Ingress] {
        use Ingress::{Call, Cron, Embedded, Http};
        match self {
            Self::RateLimit => &[Http, Call],
            Self::Credentials => &[Http],
            Self::Quota => &[Http],
            Self::Origin => &[Http],
            Self::Validation => &[Http, Embedded, Call, Cron],
            Self::Deduplication => &[Http],
            Self::Cache => &[Http],
            Self::Backpressure => &[Http, Embedded, Call, Cron],
        }
    }

    /// The guard of a channel, for a message it applies to.
    fn of<G>(self, guard: &Option<G>, ingress: Ingress) -> Option<&G> {
        guard.as_ref().filter(|_| self.ingresses().contains(&ingress))
    }
}

/// The guards a channel has.
pub(crate) struct Guards {
    rate_limit: Option<Rate>,
    credentials: Option<Arc<Credentials>>,
    quota: Option<Rate>,
    origins: Option<Origins>,
    validation: Option<Validation>,
    deduplication: Option<Deduplication>,
    reuse: Option<Reuse>,
    permits: Option<Permits>,
}

impl Guards {
    /// Makes the guards of a channel ready. What they remember is taken over from `previous` where their own settings
    /// are the same. `basis` tells whether an equal message would still be answered as before. Without `references`
    /// the credentials of `previous` are kept, for a channel whose config is the same.
    ///
    /// # Errors
    /// The reason to quarantine the channel.
    pub(crate) fn build(
        row: &Channel,
        config: &ChannelConfig,
        tools: &ChannelServices,
        references: Option<&dyn Resolver>,
        previous: Option<&Self>,
        basis: &Basis,
    ) -> Result<Self, String> {
        let name = row.content.name.as_str();
        let rate_limit = config.rate_limit.as_ref().map(|block| {
            let before = previous.and_then(|previous| previous.rate_limit.as_ref());
            Rate::limit(name, block, tools, before)
        });
        let quota = config.principal_rate_limit.as_ref().map(|block| {
            let before = previous.and_then(|previous| previous.quota.as_ref());
            Rate::quota(name, block, tools, before)
        });
        let credentials = config.auth.as_ref().map(|auth| match references {
            Some(references) => Credentials::build(auth, references, tools).map(Arc::new),
            None => {
                let kept = previous.and_then(|previous| previous.credentials.clone());
                kept.ok_or_else(|| "auth: its secrets were not read".to_owned())
            }
        });
        let logic = config.validation_logic.as_ref();
        let deduplication = config.deduplication.as_ref().map(|block| {
            let before = previous.and_then(|previous| previous.deduplication.as_ref());
            Deduplication::build(name, block, tools, before)
        });
        Ok(Self {
            rate_limit: rate_limit.transpose()?,
            credentials: credentials.transpose()?,
            quota: quota.transpose()?,
            origins: config.origin_allow_list.clone().map(Origins::new),
            validation: logic.map(|logic| Validation::build(logic, tools)).transpose()?,
            deduplication: deduplication.transpose()?,
            reuse: config.cache.as_ref().filter(|block| block.enabled).map(|block| {
                let before = previous.and_then(|previous| previous.reuse.as_ref());
                Reuse::build(name, block, personal(config), basis, tools, before)
            }),
            permits: config
                .backpressure
                .map(|block| Permits::build(block, previous.and_then(|previous| previous.permits.as_ref()))),
        })
    }

    /// A permit for work whose guards passed before; `None` where the channel asks for none.
    pub(crate) fn permit(&self) -> Result<Option<Permit>, Exhausted> {
        self.permits.as_ref().map(Permits::take).transpose()
    }

    /// Keeps an answer for the next equal request.
    pub(crate) async fn keep(
        &self,
        channel: &str,
        key: CacheKey,
        answer: &ChannelResponse,
        tools: &ChannelServices,
    ) {
        if let Some(reuse) = &self.reuse {
            reuse.keep(channel, key, answer, tools).await;
        }
    }
}

/// Returns the setting that lets a workflow answer one caller other than the next, which no cache knows. A channel that
/// says who shares its answers has none.
fn personal(config: &ChannelConfig) -> Option<&'static str> {
    let undecided = config.cache.as_ref().is_some_and(|cache| cache.per_principal.is_none());
    match config.auth {
        Some(_) if undecided => Some("auth"),
        _ if !config.request.cookies_to_metadata.is_empty() => Some("request.cookies_to_metadata"),
        _ => None,
    }
}

/// A message all guards let in, and what it took on the way.
pub(crate) struct Admitted {
    pub(crate) payload: Value,
    pub(crate) metadata: Map<String, Value>,
    /// Which share of the traffic it belongs to.
    pub(crate) bucket: Option<u8>,
    /// The caller asked for a profile of the run and may have one.
    pub(crate) profile: bool,
    pub(crate) claim: Option<Claim>,
    /// Where its answer may be kept.
    pub(crate) kept_at: Option<CacheKey>,
    pub(crate) permit: Option<Permit>,
}

/// A call all guards let in.
pub(crate) struct AdmittedCall {
    pub(crate) payload: Value,
    pub(crate) metadata: Map<String, Value>,
    /// Held until the call has run.
    _permit: Option<Permit>,
}

/// Why a message does not run.
pub(crate) enum Stop {
    /// A guard refused it.
    Refused(ServiceError),
    /// An equal message was answered before.
    Answered(ChannelResponse),
}

/// Why a run of a schedule does not begin.
pub(crate) enum Held {
    /// A guard refused it, and will again.
    Refused(ServiceError),
    /// There is no capacity now.
    Busy,
}

impl From<ServiceError> for Stop {
    fn from(refusal: ServiceError) -> Self {
        Self::Refused(refusal)
    }
}

impl CompiledChannel {
    /// Leads a message past the guards.
    pub(crate) async fn admit(&self, mut request: DataRequest) -> Result<Admitted, Stop> {
        let (guards, tools, ingress) = (&self.guards, &self.tools, request.ingress);
        // They come in any order; what is made of them, keys and stored rows, is to look the same each time.
        request.headers.sort_by(|(one, _), (other, _)| one.cmp(other));
        if let Some(limit) = Guard::RateLimit.of(&guards.rate_limit, ingress) {
            limit.check(&self.name, Caller::of(&request), None, tools)?;
        }
        if let Some(body) = &request.body {
            tools.settings.shape_limits.check(body)?;
        }
        let (mut claims, mut principal) = (None, None);
        if let Some(credentials) = Guard::Credentials.of(&guards.credentials, ingress) {
            let verified = credentials.verify(&self.name, &request, tools).await?;
            if let Some(quota) = Guard::Quota.of(&guards.quota, ingress) {
                let auth =
                    verified.claims.as_ref().map_or_else(|| json!({}), |claims| json!({"claims": claims}));
                quota.check(&self.name, Caller::of(&request), Some(&auth), tools)?;
            }
            principal = guards.reuse.is_some().then(|| credentials.principal(&verified));
            claims = verified.claims.map(|claims| credentials.exposed(&claims));
        }
        if let Some(origins) = Guard::Origin.of(&guards.origins, ingress) {
            origins.check(&self.name, &request, tools)?;
        }
        // Read before the facts of the request move into the message.
        let bucket = self.bucket(&request);
        let profile = request.profile && tools.settings.profiles;
        let deduplication = Guard::Deduplication
            .of(&guards.deduplication, ingress)
            .map(|guard| (guard, guard.sent_key(&request)));
        let envelope = self.envelope && ingress == Ingress::Http;
        let (payload, caller) = metadata::open(request.body.take(), envelope);
        let stamps = metadata::Stamps {
            channel: &self.name,
            vars: tools.settings.vars.as_ref(),
            cookies: &self.cookies,
            credential: guards.credentials.as_ref().and_then(|credentials| credentials.header()),
            claims,
        };
        let mut metadata = metadata::stamp(caller, &mut request, stamps);
        let reuse = Guard::Cache
            .of(&guards.reuse, ingress)
            .filter(|_| request.delivery == Delivery::Sync)
            .and_then(|reuse| Some((reuse, reuse.key(principal, &metadata, &payload)?)));
        if let Some(validation) = Guard::Validation.of(&guards.validation, ingress) {
            metadata = validation.check(&payload, metadata, tools)?;
        }
        let claim = match deduplication {
            None => None,
            Some((guard, sent)) => {
                let key;
                (key, metadata) = guard.key(sent, &payload, metadata, tools)?;
                match key {
                    Some(key) => guard.claim(&self.name, &key, tools).await?,
                    None => None,
                }
            }
        };
        if let Some((reuse, key)) = &reuse
            && let Some(answer) = reuse.look_up(&self.name, key, tools).await
        {
            return Err(Stop::Answered(answer));
        }
        let permit = match self.capacity(ingress) {
            Ok(permit) => permit,
            Err(Exhausted) => {
                if let Some(claim) = claim {
                    claim.release(tools).await;
                }
                return Err(refusal::at_capacity(&self.name).into());
            }
        };
        let kept_at = reuse.map(|(_, key)| key);
        Ok(Admitted { payload, metadata, bucket, profile, claim, kept_at, permit })
    }

    /// Leads a run of a schedule past the guards; gives its metadata back, and the permit it holds while it runs.
    pub(crate) fn admit_firing(
        &self,
        payload: &Value,
        mut metadata: Map<String, Value>,
    ) -> Result<(Map<String, Value>, Option<Permit>), Held> {
        let (guards, ingress) = (&self.guards, Ingress::Cron);
        if let Some(validation) = Guard::Validation.of(&guards.validation, ingress) {
            metadata = validation.check(payload, metadata, &self.tools).map_err(Held::Refused)?;
        }
        let permit = self.capacity(ingress).map_err(|Exhausted| Held::Busy)?;
        Ok((metadata, permit))
    }

    /// Leads a call past the guards. `caller` is the channel that makes it, `metadata` what it hands down.
    ///
    /// # Errors
    /// The first refusal.
    pub(crate) fn admit_call(
        &self,
        caller: &str,
        payload: Value,
        metadata: Map<String, Value>,
    ) -> Result<AdmittedCall, ServiceError> {
        let metadata = self.check_call(caller, &payload, metadata)?;
        let permit = self.capacity(Ingress::Call).map_err(|Exhausted| refusal::at_capacity(&self.name))?;
        Ok(AdmittedCall { payload, metadata, _permit: permit })
    }

    /// The guards of a call, but for its capacity; the metadata as the guards leave it.
    ///
    /// # Errors
    /// The refusal of the first guard that refuses.
    pub(crate) fn check_call(
        &self,
        caller: &str,
        payload: &Value,
        mut metadata: Map<String, Value>,
    ) -> Result<Map<String, Value>, ServiceError> {
        let (guards, tools, ingress) = (&self.guards, &self.tools, Ingress::Call);
        if let Some(limit) = Guard::RateLimit.of(&guards.rate_limit, ingress) {
            let headers = metadata::shown_headers(&metadata);
            limit.check(&self.name, Caller { address: Some(caller), headers: &headers }, None, tools)?;
        }
        if let Some(validation) = Guard::Validation.of(&guards.validation, ingress) {
            metadata = validation.check(payload, metadata, tools)?;
        }
        Ok(metadata)
    }

    /// A permit, where the channel asks for one.
    fn capacity(&self, ingress: Ingress) -> Result<Option<Permit>, Exhausted> {
        let permits = Guard::Backpressure.of(&self.guards.permits, ingress);
        permits.map(Permits::take).transpose().inspect_err(|_| {
            self.tools.metrics.count_error("backpressure");
        })
    }

    /// Which share of the traffic the caller belongs to; nothing to tell where one version has it all.
    fn bucket(&self, request: &DataRequest) -> Option<u8> {
        let sticky = self.tools.settings.rollout_sticky_header.as_deref();
        match self.flow.versions.as_slice() {
            [_] => None,
            _ => request.identity(sticky).map(rollout::bucket),
        }
    }
}
