//! The steps that make the plugins of a package serve.

use std::time::Duration;

use svc_project::PackagedPlugin;
use tokio::time::{Instant, sleep};

use super::server::stored_status;
use crate::package::error::PackageError;
use crate::package::progress::StepProgress;
use crate::package::remote::{LONG, PackageServer};

/// Time between two looks at a component that is compiled.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Imports plugins and returns the action of each.
pub(in crate::package) async fn import_plugins(
    server: &PackageServer,
    plugins: &[PackagedPlugin],
    progress: &StepProgress,
) -> Result<Vec<String>, PackageError> {
    if plugins.is_empty() {
        return Ok(Vec::new());
    }
    let advance = |done| progress.advance("importing plugins", done, plugins.len());
    let imported = server.import_plugins(plugins, false, advance).await;
    let imported = imported.map_err(PackageError::step("importing plugins failed"))?;
    let name = |index: usize| plugins.get(index).map(|plugin| plugin.manifest.name.as_str());
    let refused = imported.errors.iter();
    let refused = refused
        .map(|refused| format!("plugin '{}': {}", name(refused.index).unwrap_or_default(), refused.error));
    let refused: Vec<_> = refused.collect();
    if !refused.is_empty() {
        return Err(PackageError::Items(refused));
    }
    progress.finish(format_args!("imported {} plugin(s)", plugins.len()));
    Ok(imported.results.into_iter().map(|item| item.action).collect())
}

/// Activates the plugins that are to serve, and returns the number of those that did not before.
pub(in crate::package) async fn activate_plugins(
    server: &PackageServer,
    plugins: &[PackagedPlugin],
) -> Result<usize, PackageError> {
    let mut activated = 0;
    for plugin in plugins.iter().filter(|plugin| plugin.activates) {
        let id = plugin.manifest.name.as_str();
        if stored_status(&server.plugin_versions(id).await?, plugin) == Some("active") {
            continue;
        }
        let outcome = server.activate_plugin(id).await;
        if outcome.as_ref().is_err_and(|error| error.status() == Some(409))
            && stored_status(&server.plugin_versions(id).await?, plugin) == Some("active")
        {
            // Somebody else activated it at the same moment.
            continue;
        }
        outcome.map_err(PackageError::step(format!("plugin '{id}' was not activated")))?;
        activated += 1;
    }
    Ok(activated)
}

/// Waits until the server has compiled the components of the plugins that serve, so that no run of the workflows that
/// follow meets one that is not. Returns a line for each that takes too long.
pub(in crate::package) async fn wait_for_plugins(
    server: &PackageServer,
    plugins: &[PackagedPlugin],
    progress: &StepProgress,
) -> Result<Vec<String>, PackageError> {
    let (until, mut late) = (Instant::now() + LONG, Vec::new());
    let serving: Vec<_> = plugins.iter().filter(|plugin| plugin.activates).collect();
    for (index, plugin) in serving.iter().enumerate() {
        let id = plugin.manifest.name.as_str();
        progress.advance("compiling plugins", index, serving.len());
        while is_compiling(server, id).await? {
            if Instant::now() >= until {
                late.push(format!("plugin '{id}' is still compiled after {} s", LONG.as_secs()));
                break;
            }
            sleep(LOOK_EVERY).await;
        }
    }
    if !serving.is_empty() {
        progress.finish(format_args!("compiled {} plugin(s)", serving.len() - late.len()));
    }
    Ok(late)
}

async fn is_compiling(server: &PackageServer, id: &str) -> Result<bool, PackageError> {
    let versions = server.plugin_versions(id).await?;
    Ok(versions.iter().any(|version| version.load.as_deref() == Some("compiling")))
}
