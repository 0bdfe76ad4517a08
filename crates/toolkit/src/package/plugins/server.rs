//! The requests about plugins, one method each.

use serde_json::{Value, json};
use svc_api::{ImportFailure, ImportSummary, ImportedItem, PluginDetail};
use svc_client::{ApiRequest, ClientError, admin_path};
use svc_project::PackagedPlugin;

use super::PartKind;
use crate::package::remote::{LONG, PackageServer, signed_import};

const PLUGINS: &str = PartKind::Plugin.plural();

impl PackageServer {
    /// Returns the versions of a plugin, newest first; none of an unknown one, or on a server without plugins.
    pub(in crate::package) async fn plugin_versions(
        &self,
        id: &str,
    ) -> Result<Vec<PluginDetail>, ClientError> {
        match self.client.get(&admin_path(&[PLUGINS, id])).await {
            Ok(versions) => Ok(versions),
            Err(error) if error.status() == Some(404) => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    /// Imports plugins, each by a request of its own. Indexes count from the first one.
    pub(in crate::package) async fn import_plugins(
        &self,
        plugins: &[PackagedPlugin],
        dry_run: bool,
        advance: impl Fn(usize),
    ) -> Result<ImportSummary, ClientError> {
        let ask = async |request: ApiRequest| {
            let request = request.query("on_conflict", "new_version").query("dry_run", dry_run);
            // What is stored already is unchanged the second time.
            self.client.send(&request.timeout(LONG).repeatable()).await?.data::<ImportSummary>()
        };
        if let Some(signed) = self.signed.get() {
            return ask(signed_import(PLUGINS, signed)?).await;
        }
        let mut whole = ImportSummary::default();
        for (index, plugin) in plugins.iter().enumerate() {
            let request = ApiRequest::post(admin_path(&[PLUGINS, "import"])).json(&[plugin.to_item()])?;
            let one = ask(request).await?;
            whole.errors.extend(one.errors.into_iter().map(|item| ImportFailure { index, ..item }));
            whole.results.extend(one.results.into_iter().map(|item| ImportedItem { index, ..item }));
            advance(index + 1);
        }
        Ok(whole)
    }

    /// Activates the draft of a plugin.
    pub(in crate::package) async fn activate_plugin(&self, id: &str) -> Result<(), ClientError> {
        self.change_plugin(id, "active").await
    }

    /// Archives the active version of a plugin. Returns `false` if it has none.
    pub(in crate::package) async fn archive_plugin(&self, id: &str) -> Result<bool, ClientError> {
        let versions = self.plugin_versions(id).await?;
        if !versions.iter().any(|version| version.status == "active") {
            return Ok(false);
        }
        self.change_plugin(id, "archived").await.map(|()| true)
    }

    async fn change_plugin(&self, id: &str, status: &str) -> Result<(), ClientError> {
        let request = ApiRequest::patch(admin_path(&[PLUGINS, id, "status"]))
            .timeout(LONG)
            .json(&json!({"status": status}))?;
        self.client.send(&request).await.map(drop)
    }

    /// Deletes a plugin, and archives it before. Returns `false` if it is gone already.
    pub(in crate::package) async fn delete_plugin(&self, id: &str) -> Result<bool, ClientError> {
        self.archive_plugin(id).await?;
        match self.client.delete(&admin_path(&[PLUGINS, id])).await {
            Ok(()) => Ok(true),
            Err(error) if error.status() == Some(404) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Returns the latest version of a plugin with its component; `None` if the server does not have it.
    pub(in crate::package) async fn export_plugin(&self, id: &str) -> Result<Option<Value>, ClientError> {
        let request = ApiRequest::get(admin_path(&[PLUGINS, "export"])).query("id", id).timeout(LONG);
        match self.client.send(&request).await {
            Ok(answer) => Ok(answer.data::<Vec<Value>>()?.into_iter().next()),
            Err(error) if error.status() == Some(404) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Returns the status of the latest of some versions, if it has the content of a plugin.
pub(in crate::package) fn stored_status<'v>(
    versions: &'v [PluginDetail],
    plugin: &PackagedPlugin,
) -> Option<&'v str> {
    let latest = versions.first().filter(|latest| plugin.is_stored_as(&latest.manifest, &latest.digest));
    latest.map(|latest| latest.status.as_str())
}
