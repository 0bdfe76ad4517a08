//! Dead letters: asynchronous runs that failed and wait for another attempt, or for an operator.

use std::collections::BTreeMap;

use svc_model::Timestamp;

use crate::api_types::api_types;

api_types! {
    /// A dead letter without its payload.
    pub struct DeadLetterSummary {
        /// Its id.
        pub id: String,
        /// Trace of the failed run.
        pub trace_id: String,
        /// Id of the accepted work, if the run was a later attempt at it.
        pub attempt_of: optional String,
        /// Name of the channel.
        pub channel: String,
        /// Reason of the failure.
        pub error_message: String,
        /// Group of the failure, as the list of errors names it.
        pub error_group: nullable String,
        /// Retries so far.
        pub retry_count: i64,
        /// Maximum number of retries.
        pub max_retries: i64,
        /// Instant at which the next retry is due; null where no retry is left.
        pub next_retry_at: nullable Timestamp,
        /// Instant of the failure.
        pub created_at: Timestamp,
        /// Instant of the last write of the letter.
        pub updated_at: Timestamp,
    }

    /// A page of dead letters.
    #[schema(as = DeadLetterSummaryPage)]
    pub struct DeadLetterListEnvelope {
        /// The rows of the page.
        pub data: Vec<DeadLetterSummary>,
        /// Number of matching rows on all pages, but for `include_total=false`.
        pub total: optional i64,
        /// The applied limit.
        pub limit: i64,
        /// The applied offset.
        pub offset: i64,
        /// Number of letters with a retry left (`retrying`) and without (`exhausted`), with `include_counts=true`.
        pub counts: optional BTreeMap<String, i64>,
        /// Cursor of the next page, where more rows may follow.
        pub next_cursor: optional String,
        /// The instant up to which rows were read, if that many were read that the page is not full.
        pub scanned_until: optional Timestamp,
    }

    /// A dead letter with its payload.
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
    #[derive(Eq)]
    pub struct PurgeRequest {
        /// Letters without a retry left are deleted if they are older than this number of hours.
        #[schema(minimum = 0)]
        pub older_than_hours: u64,
    }

    /// The result of a purge.
    #[derive(Eq)]
    pub struct PurgeResult {
        /// Number of deleted letters.
        pub purged: u64,
        /// The age of the request.
        pub older_than_hours: u64,
    }
}
