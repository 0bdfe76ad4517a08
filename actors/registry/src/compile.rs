//! Compilation of one workflow or channel from its stored rows. Every failure, a panic included, stays with
//! it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use svc_channels::{ChannelServices, CompiledChannel};
use svc_engine::{CompileError, CompiledWorkflow, Engine, Flow};
use svc_model::{Channel, Workflow, rollout};
use svc_secrets::Resolver;

use crate::secrets::LoadedSecrets;
use crate::snapshot::LoadedWorkflow;

/// Compiles one version of a workflow. A panic of the compiler is a compile error.
pub(crate) fn compile(
    engine: &Engine,
    row: &Workflow,
    secrets: &LoadedSecrets,
) -> Result<CompiledWorkflow, CompileError> {
    catch_unwind(AssertUnwindSafe(|| engine.compile(row, secrets.compile_secrets()))).unwrap_or_else(|_| {
        Err(CompileError::Invalid {
            workflow: row.workflow_id.clone(),
            at: format!("version {}", row.version),
            message: "compiling it failed unexpectedly".to_owned(),
        })
    })
}

/// Compiles one version of a workflow as the shadow of another one. A panic of the compiler is a compile error.
pub(crate) fn compile_shadow(
    engine: &Engine,
    row: &Workflow,
    secrets: &LoadedSecrets,
) -> Result<CompiledWorkflow, String> {
    let compiled = catch_unwind(AssertUnwindSafe(|| engine.compile_shadow(row, secrets.compile_secrets())));
    match compiled {
        Ok(compiled) => compiled.map_err(|error| error.to_string()),
        Err(_) => Err("compiling it failed unexpectedly".to_owned()),
    }
}

/// Builds a channel over the workflow it names. Without `secrets` it keeps the credentials of `previous`.
///
/// # Errors
/// The reason to quarantine it.
pub(crate) fn definition(
    row: &Channel,
    workflow: Option<&LoadedWorkflow>,
    services: &Arc<ChannelServices>,
    secrets: Option<&LoadedSecrets>,
    previous: Option<&CompiledChannel>,
) -> Result<CompiledChannel, String> {
    let Some(id) = row.content.workflow_id.as_deref() else { return Err("it names no workflow".to_owned()) };
    let flow = flow(id, workflow)?;
    let shadow = workflow.and_then(|workflow| workflow.shadow.as_ref()).map(|shadow| shadow.compiled.clone());
    let references = secrets.map(|secrets| &secrets.readings as &dyn Resolver);
    catch_unwind(AssertUnwindSafe(|| CompiledChannel::build(row, flow, services, references, previous)))
        .map(|built| built.map(|channel| channel.with_shadow(shadow)))
        .unwrap_or_else(|_| Err("building it failed unexpectedly".to_owned()))
}

/// Returns the active versions of a workflow with their shares of the traffic.
fn flow(id: &str, workflow: Option<&LoadedWorkflow>) -> Result<Flow, String> {
    let Some(workflow) = workflow else { return Err(format!("workflow '{id}' has no active version")) };
    rollout::check(workflow.versions.iter().map(|version| version.rollout))
        .map_err(|reason| format!("workflow '{id}': {reason}"))?;
    let versions = workflow.versions.iter().map(|version| {
        let compiled = version.compiled.clone().map_err(|reason| reason.to_string())?;
        // The check above holds it between 0 and 100.
        Ok((compiled, u8::try_from(version.rollout).unwrap_or_default()))
    });
    Ok(Flow { versions: versions.collect::<Result<_, String>>()? })
}
