//! The check of the quota of a consumer.

use svc_auth::ConsumerIdentity;
use svc_model::consumer_quota_scope;

use super::quota_store::QuotaKey;
use super::{over_quota, unchecked_quota};
use crate::guards::passage::GuardRefusal;
use crate::services::ChannelServices;

/// Admits a request of a consumer; one without a quota may send any number.
///
/// # Errors
/// Its quota is used up, or the store did not answer.
pub(in crate::guards) async fn check_consumer(
    channel: &str,
    consumer: &ConsumerIdentity,
    services: &ChannelServices,
) -> Result<(), GuardRefusal> {
    let Some(terms) = consumer.quota else { return Ok(()) };
    let failures = services.quotas.consumers.failures();
    let Some(reservations) = services.quotas.consumer_reservations(terms) else {
        let reason = "this service has no database that counts for it";
        return Err(unchecked_quota(channel, &reason, failures, services));
    };
    let scope = consumer_quota_scope(&consumer.name).into();
    match reservations.take(QuotaKey { channel_id: scope, key: consumer.name.to_string() }).await {
        Ok(None) => Ok(()),
        Ok(Some(window_left)) => Err(over_quota(window_left)),
        Err(error) => Err(unchecked_quota(channel, &error, failures, services)),
    }
}
