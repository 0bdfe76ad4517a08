//! The partitions that this node reads, and the way out for one that is stuck.

use actix_web::HttpResponse;
use actix_web::web::{Data, Path};
use serde_json::{Map, Value};
use svc_model::{AuditAction, AuditResource, ServiceError};

use super::nodes::require_node;
use super::query::QueryParameters;
use super::request_body::NoBody;
use super::response::data_response;
use crate::assembly::parts::kafka::KafkaIngress;
use crate::http::{AdminCaller, Error};
use crate::state::AppState;

/// The resource type of partitions in audit rows.
const PARTITION: AuditResource = AuditResource::KafkaPartition;

/// `GET /kafka/partitions`: the partitions assigned to this node, by topic and number; none if Kafka is
/// off.
pub(super) async fn list(state: Data<AppState>) -> HttpResponse {
    data_response(state.work.kafka.as_ref().map(KafkaIngress::partitions).unwrap_or_default())
}

/// `POST /kafka/partitions/{topic}/{partition}/skip`: writes the record that the partition holds back to the
/// topic of dead letters, and goes on with the next one; past records that cannot be unpacked to the next one
/// that can. With `offset`, only if it is the record at that offset. With `until_offset`, one attempt is made at each
/// record before that offset, and what fails goes the same way.
pub(super) async fn skip(
    state: Data<AppState>,
    caller: AdminCaller,
    path: Path<(String, String)>,
    query: QueryParameters,
    _: NoBody,
) -> Result<HttpResponse, Error> {
    query.refuse_dry_run()?;
    require_node(&state, &query)?;
    let (topic, partition) = path.into_inner();
    let unknown = || {
        let place = format!("partition '{partition}' of topic '{topic}'");
        ServiceError::not_found(format!("this node does not read {place}"))
    };
    let number: i32 = partition.parse().map_err(|_| unknown())?;
    let range = [query.integer("offset")?, query.integer("until_offset")?];
    let kafka = state.work.kafka.as_ref().ok_or_else(unknown)?;
    // A refusal is not recorded.
    kafka.check_skip(&topic, number, range)?;
    // Recorded before it happens, so that nothing happens unrecorded.
    let mut entry = caller.audit(AuditAction::Skip, PARTITION, &format!("{topic}/{number}"));
    let named = [("offset", range[0]), ("until_offset", range[1])].into_iter();
    let named: Map<String, Value> =
        named.filter_map(|(name, offset)| Some((name.to_owned(), Value::from(offset?)))).collect();
    entry.add_details(named.into());
    state.store.audit().record(entry).await?;
    state.metrics.record_audit_event(AuditAction::Skip, PARTITION);
    Ok(data_response(kafka.skip(&topic, number, range).await?))
}
