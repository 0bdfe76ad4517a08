//! The guards of a record.

use serde_json::{Map, Value};
use svc_model::{Code, ServiceError};

use super::Guard;
use super::backpressure::{NoPermit, Permit};
use super::deduplication::IdempotencyClaim;
use super::rate::{RateRefusal, RateSubject};
use crate::compiled_channel::CompiledChannel;
use crate::record::TopicRecord;
use crate::refusal;
use crate::request::Ingress;

/// A record that all guards admitted, with the resources it acquired.
pub(crate) struct AdmittedRecord {
    pub(crate) metadata: Map<String, Value>,
    pub(crate) claim: Option<IdempotencyClaim>,
    pub(crate) permit: Option<Permit>,
}

/// The reason why a record does not run.
pub(crate) enum RecordRefusal {
    /// A guard refused it, and will again.
    Refused(ServiceError),
    /// The channel cannot take it now.
    Deferred(ServiceError),
    /// Its idempotency key was seen.
    Duplicate,
}

impl CompiledChannel {
    /// Passes a record through the guards. The caller that the rate counts is its topic.
    pub(crate) async fn admit_record(
        &self,
        record: &TopicRecord,
        payload: &Value,
        mut metadata: Map<String, Value>,
    ) -> Result<AdmittedRecord, RecordRefusal> {
        let (guards, services, ingress) = (&self.guards, &self.services, Ingress::Kafka);
        if let Some(limit) = Guard::RateLimit.for_ingress(&guards.rate_limit, ingress) {
            let subject = RateSubject::named(&record.topic, &record.headers);
            let checked = limit.check(&self.name, subject, None, services).await;
            checked.map_err(|refusal| match refusal {
                RateRefusal::OverLimit | RateRefusal::Unchecked => RecordRefusal::Deferred(refusal.into()),
                RateRefusal::NoKey => RecordRefusal::Refused(refusal.into()),
            })?;
        }
        services.settings.shape_limits.check(payload).map_err(RecordRefusal::Refused)?;
        if let Some(validation) = Guard::Validation.for_ingress(&guards.validation, ingress) {
            metadata = validation.check(payload, metadata, services).map_err(RecordRefusal::Refused)?;
        }
        let mut claim = None;
        if let Some(guard) = Guard::Deduplication.for_ingress(&guards.deduplication, ingress) {
            let key;
            (key, metadata) = guard
                .computed_key(guard.record_key(record), None, payload, metadata, services)
                .map_err(RecordRefusal::Refused)?;
            if let Some(key) = key {
                let claimed = guard.claim(&self.name, &key, Some(&record.claim_owner()), services).await;
                claim = claimed.map_err(|refusal| match refusal.code() {
                    Code::Conflict => RecordRefusal::Duplicate,
                    _ => RecordRefusal::Deferred(refusal),
                })?;
            }
        }
        match self.acquire_permit(ingress) {
            Ok(permit) => Ok(AdmittedRecord { metadata, claim, permit }),
            Err(NoPermit) => {
                if let Some(claim) = claim {
                    claim.release(services).await;
                }
                Err(RecordRefusal::Deferred(refusal::at_capacity(&self.name)))
            }
        }
    }
}
