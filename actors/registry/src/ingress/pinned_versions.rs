//! Runs of one version of a workflow, whether it serves or not: reruns, and retries of occurrences.

use std::sync::Arc;

use serde_json::{Map, Value};
use svc_channels::PinnedVersion;
use svc_engine::Flow;
use svc_model::WorkflowVersion;
use svc_traces::RERUN;

use crate::compile::compile;
use crate::handle::Registry;
use crate::secrets::LoadedSecrets;
use crate::snapshot::LoadedChannel;

/// The reason why a version of a workflow cannot run.
#[derive(Debug)]
pub(crate) enum PinError {
    /// It no longer exists, or does not compile.
    Unusable(String),
    /// The database or the secret store does not answer, which time may heal.
    Unavailable(String),
}

/// Returns the version that a rerun asks for; `None` for any other run, and for one of the version that serves.
pub(crate) fn requested_version(metadata: &Map<String, Value>) -> Option<WorkflowVersion> {
    let workflow = metadata.get(RERUN)?.get("workflow")?;
    let id = workflow.get("workflow_id")?.as_str()?;
    Some(WorkflowVersion { id: id.into(), version: workflow.get("version")?.as_i64()? })
}

impl Registry {
    /// Returns a version of a workflow ready to run. One that does not serve is compiled with the secrets of now.
    ///
    /// # Errors
    /// [`PinError`] if it cannot run.
    pub(crate) async fn pin_version(
        &self,
        channel: Option<&LoadedChannel>,
        version: &WorkflowVersion,
    ) -> Result<PinnedVersion, PinError> {
        let WorkflowVersion { id, version: number } = version;
        let serving = channel.and_then(LoadedChannel::compiled_channel);
        if serving.is_some_and(|channel| channel.has_version(version)) {
            return Ok(PinnedVersion { version: *number, flow: None });
        }
        let row = self.shared.store.workflows().version(id, *number).await;
        let row = row.map_err(|error| PinError::Unavailable(error.to_string()))?;
        let absent = || PinError::Unusable(format!("workflow '{id}' has no version {number} any more"));
        let row = row.ok_or_else(absent)?;
        let services = &self.shared.services;
        let uses = svc_engine::secret_uses(&row.content);
        let secrets = LoadedSecrets::read(&services.secrets, &services.engine, uses.references.clone()).await;
        if let Some(secret) = secrets.record_use(uses).unreadable {
            let reason = format!("version {number} of workflow '{id}' waits for a secret: {secret}");
            return Err(PinError::Unavailable(reason));
        }
        let compiled = compile(&services.engine, &row, &secrets);
        let compiled = compiled.map_err(|error| PinError::Unusable(error.to_string()))?;
        Ok(PinnedVersion { version: *number, flow: Some(Arc::new(Flow::single(compiled))) })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_rerun_of_one_version_names_it() {
        let requested = |metadata: Value| requested_version(metadata.as_object().unwrap());
        let pinned = json!({RERUN: {"of": "t", "workflow": {"workflow_id": "w", "version": 3}}});
        assert_eq!(requested(pinned), Some(WorkflowVersion { id: "w".into(), version: 3 }));
        for none in [json!({}), json!({RERUN: {"of": "t", "workflow": null}})] {
            assert_eq!(requested(none), None);
        }
    }
}
