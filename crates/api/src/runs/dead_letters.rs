//! Dead letters: asynchronous runs that failed and wait for another attempt, or for an operator.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use svc_model::Timestamp;
use utoipa::ToSchema;

/// A dead letter without its payload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DeadLetterSummary {
    /// Its id.
    pub id: String,
    /// Trace of the failed run.
    pub trace_id: String,
    /// Id of the accepted work, if the run was a later attempt at it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub attempt_of: Option<String>,
    /// Name of the channel.
    pub channel: String,
    /// Reason of the failure.
    pub error_message: String,
    /// Group of the failure, as the list of errors names it.
    #[schema(required = true)]
    pub error_group: Option<String>,
    /// Retries so far.
    pub retry_count: i64,
    /// Maximum number of retries.
    pub max_retries: i64,
    /// Instant at which the next retry is due; null where no retry is left.
    #[schema(value_type = Option<String>, format = DateTime, required = true)]
    pub next_retry_at: Option<Timestamp>,
    /// Instant of the failure.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    /// Instant of the last write of the letter.
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Timestamp,
}

/// A page of dead letters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = DeadLetterSummaryPage)]
pub struct DeadLetterListEnvelope {
    /// The rows of the page.
    pub data: Vec<DeadLetterSummary>,
    /// Number of matching rows on all pages, but for `include_total=false`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub total: Option<i64>,
    /// The applied limit.
    pub limit: i64,
    /// The applied offset.
    pub offset: i64,
    /// Number of letters with a retry left (`retrying`) and without (`exhausted`), with `include_counts=true`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub counts: Option<BTreeMap<String, i64>>,
    /// Cursor of the next page, where more rows may follow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub next_cursor: Option<String>,
    /// The instant up to which rows were read, if that many were read that the page is not full.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime, nullable = false)]
    pub scanned_until: Option<Timestamp>,
}

/// A dead letter with its payload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DeadLetterDetail {
    /// The fields that lists show.
    #[serde(flatten)]
    pub summary: DeadLetterSummary,
    /// The payload, as JSON.
    pub payload_json: String,
    /// The metadata of the request, as JSON.
    pub metadata_json: String,
}

/// The body of a purge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PurgeRequest {
    /// Letters without a retry left are deleted if they are older than this number of hours.
    #[schema(minimum = 0)]
    pub older_than_hours: u64,
}

/// The result of a purge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PurgeResult {
    /// Number of deleted letters.
    pub purged: u64,
    /// The age of the request.
    pub older_than_hours: u64,
}
