//! The recorder of a channel: which of its runs are recorded for backtests, and how.

use std::sync::Arc;

use serde_json::{Map, Value};
use svc_engine::{DropPath, MetadataReads, RecordingMode, RecordingOptions};
use svc_model::config::TracingConfig;
use svc_traces::RecordPolicy;
use uuid::Uuid;

use crate::ended_runs::RunSource;
use crate::metadata::read_run_key;
use crate::services::ChannelServices;

/// The recording of the runs of one channel.
pub(crate) struct ChannelRecorder {
    pub(super) policy: RecordPolicy,
    options: RecordingOptions,
}

/// A run that is recorded.
pub(super) struct RunInRecording {
    pub(super) run_key: String,
    pub(super) source: RunSource,
    /// The run is in the share that is kept whatever its end.
    pub(super) is_drawn: bool,
}

impl ChannelRecorder {
    /// Returns the recorder of a channel; `None` for one that records nothing.
    ///
    /// # Errors
    /// The reason to quarantine the channel: a path that is never recorded cannot be read.
    pub(crate) fn build(
        block: &TracingConfig,
        validation_logic: Option<&Value>,
        services: &ChannelServices,
    ) -> Result<Option<Box<Self>>, String> {
        let policy = services.traces.as_ref().and_then(|traces| traces.record_policy(block));
        let Some(policy) = policy else { return Ok(None) };
        let paths: Result<Vec<_>, _> = policy.drop.iter().map(|path| DropPath::parse(path)).collect();
        let paths = paths.map_err(|why| format!("tracing.record.drop: {why}"))?;
        let guard_reads = validation_logic.map(|logic| Arc::new(MetadataReads::collect([logic])));
        let options = RecordingOptions { max_bytes: policy.max_bytes, drop: paths.into(), guard_reads };
        Ok(Some(Box::new(Self { policy, options })))
    }

    /// Returns `true` if the run with these metadata is in the share that is recorded.
    pub(super) fn draws_run(&self, metadata: &Map<String, Value>) -> bool {
        read_run_key(metadata).is_some_and(|run_key| self.policy.draws(run_key))
    }

    /// Begins the recording of a run; `None` for one that is not drawn, if failures are not recorded either.
    pub(super) fn begin(
        &self,
        id: Uuid,
        source: RunSource,
        metadata: &Map<String, Value>,
    ) -> Option<Box<RunInRecording>> {
        let run_key = read_run_key(metadata).map_or_else(|| id.to_string(), str::to_owned);
        let is_drawn = self.policy.draws(&run_key);
        (is_drawn || self.policy.errors).then(|| Box::new(RunInRecording { run_key, source, is_drawn }))
    }

    /// Returns the mode of the engine for a run that is recorded.
    pub(super) fn mode(&self) -> RecordingMode {
        RecordingMode::Record(self.options())
    }

    /// Returns the options of a recording.
    pub(super) fn options(&self) -> RecordingOptions {
        self.options.clone()
    }
}
