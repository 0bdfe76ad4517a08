//! The runs of a version of a workflow and of its tasks, as this node counted them.

use actix_web::HttpResponse;
use actix_web::web::{Data, Path};
use svc_api::{TaskStats, WorkflowStats};
use svc_channels::{TaskTotals, VersionTotals};
use svc_model::{ServiceError, Workflow, WorkflowVersion};

use super::entities::not_found;
use crate::admin::query::QueryParameters;
use crate::admin::response::data_response;
use crate::http::Error;
use crate::state::AppState;

/// `GET /workflows/{id}/stats`.
pub(crate) async fn stats(
    state: Data<AppState>,
    id: Path<String>,
    query: QueryParameters,
) -> Result<HttpResponse, Error> {
    let version = find_version(&state, &id, query.integer("version")?).await?;
    let totals = find_totals(&state, &version);
    Ok(data_response(WorkflowStats {
        workflow_id: version.id.to_string(),
        version: version.version,
        node: state.work.nodes.id().to_string(),
        served: totals.is_some(),
        since: totals.as_ref().map(|totals| totals.since),
        runs: totals.as_ref().map_or(0, |totals| totals.runs),
        failed: totals.as_ref().map_or(0, |totals| totals.failed),
        tasks: totals.into_iter().flat_map(|totals| totals.tasks).map(to_task_stats).collect(),
    }))
}

/// Returns the version that a request names, or the one that serves, or the latest.
///
/// # Errors
/// 404 if there is none.
async fn find_version(
    state: &AppState,
    id: &str,
    asked: Option<i64>,
) -> Result<WorkflowVersion, ServiceError> {
    let workflows = state.store.workflows();
    let latest = workflows.latest(id).await?.ok_or_else(|| not_found::<Workflow>(id))?;
    let version = match asked {
        Some(version) => {
            let stored = workflows.version(id, version).await?;
            let missing = || ServiceError::not_found(format!("workflow '{id}' has no version {version}"));
            stored.ok_or_else(missing)?.version
        }
        None => {
            let serving = workflows.serving_versions(vec![latest.workflow_id.clone()]).await?;
            serving.get(&latest.workflow_id).copied().unwrap_or(latest.version)
        }
    };
    Ok(WorkflowVersion { id: latest.workflow_id.into(), version })
}

/// Returns the counts of a version; all channels that run it have the same.
fn find_totals(state: &AppState, version: &WorkflowVersion) -> Option<VersionTotals> {
    let snapshot = state.serving.registry.snapshot();
    let mut compiled = snapshot.channels().filter_map(|channel| channel.compiled_channel());
    compiled.find_map(|channel| channel.version_totals(version))
}

#[expect(clippy::cast_precision_loss, reason = "a sum of durations is no exact number")]
fn to_task_stats(totals: TaskTotals) -> TaskStats {
    let TaskTotals { task, function, runs, errors, nanoseconds } = totals;
    TaskStats { task, function, runs, errors, total_ms: nanoseconds as f64 / 1e6 }
}
