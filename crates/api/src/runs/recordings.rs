//! Recorded runs, over which another version of a workflow can be tried.

use serde_json::Value;
use svc_model::Timestamp;

use crate::api_types::api_types;

api_types! {
    /// A recorded run without its content.
    pub struct RecordingSummary {
        /// Its id.
        pub id: String,
        /// Id of the run, under which its trace is stored if it left one.
        pub run_id: String,
        /// Key of the run.
        pub run_key: String,
        /// Name of the channel.
        pub channel: String,
        /// Id of the workflow.
        pub workflow_id: nullable String,
        /// Version of the workflow.
        pub workflow_version: nullable i64,
        /// The way in which the run began: `sync`, `async`, `cron`, `kafka` or `call`.
        pub source: String,
        /// The end of the run: `completed`, `failed`, `timed_out` or `cancelled`.
        pub outcome: String,
        /// Length of the recording in bytes.
        pub bytes: i64,
        /// Time of the row.
        pub created_at: Timestamp,
    }

    /// A recorded run.
    pub struct RecordingDetail {
        /// The fields that lists show.
        #[serde(flatten)]
        pub summary: RecordingSummary,
        /// The message, the calls with their answers, the instants and random values, and the end.
        pub recording: Value,
    }

    /// The number of deleted recordings.
    pub struct DeletedRecordings {
        /// Recordings that were deleted.
        pub deleted: u64,
    }
}
