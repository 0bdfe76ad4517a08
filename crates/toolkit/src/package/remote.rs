//! The requests of the verbs, one method each.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde_json::{Value, json};
use svc_api::{
    ConnectorResource, DataEnvelope, DefinitionImpact, ImportFailure, ImportSummary, ImportedItem,
    PACKAGE_SIGNATURE_HEADER, PackageDetail, Receipt, ReceiptRequest, ValidationIssue, ValidationResult,
};
use svc_client::{
    ApiKey, ApiRequest, Client, ClientError, ClientSettings, LocalServer, ServerAddress, admin_path,
};
use svc_model::{Code, EntityKind, FieldCode};
use svc_project::rules::import_body;
use svc_project::{Boundary, PackageItem};

use super::error::{PackageError, TOKEN};
use super::plugins::PartKind;
use super::signed_file::SignedFile;

/// Code of a refusal of what is not signed, or not by a trusted key.
const UNTRUSTED: &str = Code::UntrustedPackage.name();
/// The address of the server of this process in the texts of errors; it is not dialled.
const LOCAL_ADDRESS: &str = "http://localhost";
/// Time limit of a request that works on many definitions.
pub(super) const LONG: Duration = Duration::from_secs(300);
/// Maximum number of items in one import.
const BATCH_ITEMS: usize = 500;
/// Size of the documents in one import from which on it takes no further one, well below the server's own limit.
const BATCH_BYTES: usize = 2 << 20;

/// The server that a verb works on.
pub(super) struct PackageServer {
    pub(super) client: Client,
    address: String,
    /// The file that imports send whole, with its signature; unset if the server takes items without one.
    pub(super) signed: OnceLock<SignedFile>,
}

impl PackageServer {
    /// Returns the server at an address, and a warning if the key would be sent in clear to another machine.
    ///
    /// # Errors
    /// The address or the key cannot be used.
    pub(super) fn new(
        address: &str,
        change_context: &str,
        program: &str,
        environment: &[(String, String)],
    ) -> Result<(Self, Option<String>), ClientError> {
        let address: ServerAddress = address.parse()?;
        let token = environment.iter().find(|(name, value)| name == TOKEN && !value.is_empty());
        let key = token.map(|(_, token)| ApiKey::new(token, None)).transpose()?;
        let exposed = key.is_some() && address.is_exposed();
        let warning = exposed.then(|| {
            format!("{TOKEN} is sent to {address} without TLS, where others may read it; use https://")
        });
        let shown = address.to_string();
        let client = Client::new(ClientSettings {
            key,
            change_context: Some(change_context.to_owned()),
            user_agent: format!("{program}/{}", crate::VERSION),
            ..ClientSettings::new(address)
        })?;
        Ok((Self { client, address: shown, signed: OnceLock::new() }, warning))
    }

    /// Returns the server of this process.
    ///
    /// # Errors
    /// The change context or the name of the program cannot be used.
    pub(super) fn local(
        server: Arc<dyn LocalServer>,
        change_context: &str,
        program: &str,
    ) -> Result<Self, ClientError> {
        let client = Client::new(ClientSettings {
            change_context: Some(change_context.to_owned()),
            user_agent: format!("{program}/{}", crate::VERSION),
            local: Some(server),
            ..ClientSettings::new(LOCAL_ADDRESS.parse()?)
        })?;
        Ok(Self { client, address: "this node".to_owned(), signed: OnceLock::new() })
    }

    pub(super) fn address(&self) -> &str {
        &self.address
    }

    /// Returns the receipts of a package; `None` if it was never applied.
    pub(super) async fn package(&self, name: &str) -> Result<Option<PackageDetail>, ClientError> {
        match self.client.get(&admin_path(&["packages", name])).await {
            Ok(detail) => Ok(Some(detail)),
            Err(error) if error.status() == Some(404) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the receipts of all packages.
    pub(super) async fn packages(&self) -> Result<Vec<Receipt>, ClientError> {
        let request = ApiRequest::get(admin_path(&["packages"]));
        let rows = svc_client::Pages::new(&self.client, request, 1000).collect().await?;
        // A row of another form is none that this version has to look after.
        Ok(rows.into_iter().filter_map(|row| serde_json::from_value(row).ok()).collect())
    }

    /// Stores a receipt.
    pub(super) async fn put_receipt(
        &self,
        name: &str,
        receipt: &ReceiptRequest,
    ) -> Result<Receipt, ClientError> {
        self.client.put(&admin_path(&["packages", name]), receipt).await
    }

    /// Returns every stored definition of a kind.
    pub(super) async fn export(&self, kind: EntityKind) -> Result<Vec<Value>, ClientError> {
        let request = ApiRequest::get(admin_path(&[kind.plural(), "export"])).timeout(LONG);
        self.client.send(&request).await?.data()
    }

    /// Finds out whether the server imports signed packages alone. If so, the imports to come send the file whole, with
    /// its signature.
    ///
    /// # Errors
    /// The server does not trust the package, or cannot be asked.
    pub(super) async fn present_signature(&self, file: &Path) -> Result<(), PackageError> {
        let Some(refusal) = self.try_import(None).await? else { return Ok(()) };
        let name = || file.display().to_string();
        let untrusted = |source: ClientError, remedy: &str| {
            let rule = "the server takes packages alone that a key of it has signed";
            Err(PackageError::Untrusted { text: format!("{}: {rule}; {remedy}", name()), source })
        };
        let signed = SignedFile::read(file);
        match signed.map_err(|source| PackageError::Signature { file: name(), source })? {
            None => untrusted(refusal, "this one has no signature, which `package sign` makes"),
            Some(signed) => match self.try_import(Some(&signed)).await? {
                None => {
                    // A second verb over one server is of the same file.
                    let _already = self.signed.set(signed);
                    Ok(())
                }
                Some(refusal) => untrusted(refusal, "the signature of this one does not fit"),
            },
        }
    }

    /// Tries an import that stores nothing. Returns the refusal of a server that does not trust it.
    async fn try_import(&self, signed: Option<&SignedFile>) -> Result<Option<ClientError>, ClientError> {
        let request = match signed {
            Some(signed) => signed_import(EntityKind::Connector.plural(), signed)?,
            None => {
                ApiRequest::post(admin_path(&[EntityKind::Connector.plural(), "import"])).json(&json!([]))?
            }
        };
        let request = request.query("dry_run", true).timeout(LONG).repeatable();
        match self.client.send(&request).await {
            Ok(_) => Ok(None),
            Err(error) if error.api().is_some_and(|refusal| refusal.code == UNTRUSTED) => Ok(Some(error)),
            Err(error) => Err(error),
        }
    }

    /// Imports items, a batch at a time. Indexes count from the first item.
    pub(super) async fn import(
        &self,
        kind: EntityKind,
        items: &[&PackageItem],
        dry_run: bool,
        mut advance: impl FnMut(usize),
    ) -> Result<ImportSummary, ClientError> {
        if let Some(signed) = self.signed.get() {
            let request = signed_import(kind.plural(), signed)?
                .query("on_conflict", "new_version")
                .query("dry_run", dry_run)
                .timeout(LONG)
                .repeatable();
            let summary = self.client.send(&request).await?.data()?;
            advance(items.len());
            return Ok(summary);
        }
        let mut whole = ImportSummary::default();
        let mut first = 0;
        for batch in batches(items) {
            let body: Vec<&Value> = batch.iter().map(|item| &item.document).collect();
            let request = ApiRequest::post(admin_path(&[kind.plural(), "import"]))
                .query("on_conflict", "new_version")
                .query("dry_run", dry_run)
                .timeout(LONG)
                // What is stored already is unchanged the second time.
                .repeatable()
                .json(&body)?;
            let summary: ImportSummary = self.client.send(&request).await?.data()?;
            let shift = |index: usize| index + first;
            whole.errors.extend(
                summary.errors.into_iter().map(|item| ImportFailure { index: shift(item.index), ..item }),
            );
            whole.results.extend(
                summary.results.into_iter().map(|item| ImportedItem { index: shift(item.index), ..item }),
            );
            first += batch.len();
            advance(first);
        }
        Ok(whole)
    }

    /// Returns the reasons why the server could not load an item that it accepts, or would not activate it.
    pub(super) async fn load_problems(
        &self,
        item: &PackageItem,
    ) -> Result<Vec<ValidationIssue>, ClientError> {
        let request = ApiRequest::post(admin_path(&[item.kind.plural(), "validate"]))
            .repeatable()
            .json(&import_body(item.kind, &item.document).unwrap_or(Cow::Borrowed(&item.document)))?;
        let report: ValidationResult = self.client.send(&request).await?.data()?;
        let is_load_problem = |issue: &ValidationIssue| {
            let codes = [FieldCode::NotLoadable, FieldCode::UnresolvedSecretRef, FieldCode::Conflict];
            issue.code.as_deref().is_some_and(|code| codes.iter().any(|known| known.name() == code))
        };
        let mut problems: Vec<_> = report.warnings.into_iter().filter(is_load_problem).collect();
        let mut seen = BTreeSet::new();
        // The same variable may stand in several fields.
        problems.retain(|problem| seen.insert(problem.message.clone()));
        Ok(problems)
    }

    /// Returns all connectors, with their load states on the server.
    pub(super) async fn connectors(&self) -> Result<Vec<ConnectorResource>, ClientError> {
        let request = ApiRequest::get(admin_path(&["connectors"]));
        let rows = svc_client::Pages::new(&self.client, request, 1000).collect().await?;
        Ok(rows.into_iter().filter_map(|row| serde_json::from_value(row).ok()).collect())
    }

    /// Activates the draft of an item with the share that the package states. Returns `false` without a draft: the
    /// content is active already.
    pub(super) async fn activate(
        &self,
        item: &PackageItem,
        replace_canary: bool,
    ) -> Result<bool, ClientError> {
        let mut body = activation(item, replace_canary);
        if item.canary.is_some() && self.active_versions(&item.key).await?.is_empty() {
            // The first version has none to be compared with.
            body = json!({"status": "active"});
        }
        let request = ApiRequest::patch(admin_path(&[item.kind.plural(), &item.key, "status"]))
            .query("reload", "defer")
            .json(&body)?;
        match self.client.send(&request).await {
            Ok(_) => Ok(true),
            Err(error) if error.status() == Some(404) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Archives the active versions of a definition. Returns `false` if it has none.
    pub(super) async fn archive(&self, kind: EntityKind, id: &str) -> Result<bool, ClientError> {
        let request = ApiRequest::patch(admin_path(&[kind.plural(), id, "status"]))
            .query("reload", "defer")
            .repeatable()
            .json(&json!({"status": "archived"}))?;
        match self.client.send(&request).await {
            Ok(_) => Ok(true),
            Err(error) if error.status() == Some(404) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Returns what an activation would meet now.
    pub(super) async fn try_activation(
        &self,
        item: &PackageItem,
        replace_canary: bool,
    ) -> Result<ValidationResult, ClientError> {
        let request = ApiRequest::patch(admin_path(&[item.kind.plural(), &item.key, "status"]))
            .query("dry_run", true)
            .repeatable()
            .json(&activation(item, replace_canary))?;
        self.client.send(&request).await?.data()
    }

    /// Returns the active versions of a workflow with their shares, newest first.
    pub(super) async fn active_versions(&self, workflow: &str) -> Result<Vec<(i64, i64)>, ClientError> {
        let request = ApiRequest::get(admin_path(&["workflows", workflow, "versions"]));
        let rows = match svc_client::Pages::new(&self.client, request, 1000).collect().await {
            Err(error) if error.status() == Some(404) => Vec::new(),
            rows => rows?,
        };
        let active = rows.iter().filter(|row| row["status"] == "active");
        let share = |row: &Value| Some((row["version"].as_i64()?, row["rollout_percentage"].as_i64()?));
        Ok(active.filter_map(share).collect())
    }

    /// Returns the version of a channel that serves; `None` without one.
    pub(super) async fn serving_channel(&self, id: &str) -> Result<Option<Value>, ClientError> {
        let request = ApiRequest::get(admin_path(&["channels", id, "versions"]));
        match svc_client::Pages::new(&self.client, request, 1000).collect().await {
            Err(error) if error.status() == Some(404) => Ok(None),
            rows => Ok(rows?.into_iter().find(|row| row["status"] == "active")),
        }
    }

    /// Moves the share of the newest active version of a workflow.
    pub(super) async fn set_rollout(&self, workflow: &str, percentage: i64) -> Result<(), ClientError> {
        let request = ApiRequest::patch(admin_path(&["workflows", workflow, "rollout"]))
            .query("reload", "defer")
            .repeatable()
            .json(&json!({"rollout_percentage": percentage}))?;
        self.client.send(&request).await.map(drop)
    }

    /// Makes the stored definitions serve. Returns the answer, which names the channels that cannot be built.
    pub(super) async fn reload(&self) -> Result<Value, ClientError> {
        let request = ApiRequest::post(admin_path(&["engine", "reload"])).timeout(LONG).repeatable();
        self.client.send(&request).await?.data()
    }

    /// Returns the state of the engine, which names the channels that could not be built.
    pub(super) async fn engine_status(&self) -> Result<Value, ClientError> {
        self.client.get(&admin_path(&["engine", "status"])).await
    }

    /// Returns the reason for which the server has no version that a package requires; `None` if it has one.
    pub(super) async fn version_problem(&self, requires: &Boundary) -> Result<Option<String>, ClientError> {
        if requires.svc.is_none() {
            return Ok(None);
        }
        let status = self.engine_status().await?;
        Ok(requires.check_version(status["version"].as_str().unwrap_or("of no known version")).err())
    }

    /// Returns the names of the channels that serve.
    pub(super) async fn serving_channels(&self) -> Result<Vec<String>, ClientError> {
        let status = self.engine_status().await?;
        let names = status["channels"].as_array().into_iter().flatten();
        Ok(names.filter_map(Value::as_str).map(str::to_owned).collect())
    }

    /// Returns the connectors and channels that a workflow names.
    pub(super) async fn dependencies(&self, workflow: &str) -> Result<Value, ClientError> {
        self.client.get(&admin_path(&["workflows", workflow, "dependencies"])).await
    }

    /// Returns the reach of a change of a definition; `None` if there is none of this key, or the server has no such
    /// endpoint.
    pub(super) async fn impact(
        &self,
        kind: PartKind,
        key: &str,
    ) -> Result<Option<DefinitionImpact>, ClientError> {
        let mut id = key.to_owned();
        if kind == PartKind::Entity(EntityKind::Connector) {
            let named = self.connectors().await?.into_iter().find(|connector| connector.name == key);
            id = named.map_or(id, |connector| connector.id);
        }
        match self.client.send(&ApiRequest::get(admin_path(&[kind.plural(), &id, "impact"]))).await {
            Ok(answer) => Ok(Some(answer.data()?)),
            Err(error) if error.status() == Some(404) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Deletes a definition, by its id. Returns `false` if it is gone already.
    pub(super) async fn delete(&self, kind: EntityKind, id: &str) -> Result<bool, ClientError> {
        match self.client.delete(&admin_path(&[kind.plural(), id])).await {
            Ok(()) => Ok(true),
            Err(error) if error.status() == Some(404) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Returns the reason why a deletion would be refused; `None` if it would not.
    pub(super) async fn try_deletion(
        &self,
        kind: EntityKind,
        id: &str,
    ) -> Result<Option<String>, ClientError> {
        let request = ApiRequest::delete(admin_path(&[kind.plural(), id])).query("dry_run", true);
        let report: DataEnvelope<ValidationResult> = self.client.send(&request).await?.json()?;
        Ok(report.data.errors.into_iter().next().map(|issue| issue.message))
    }
}

/// Returns the import of a kind from the file of a package, which is sent as it is.
pub(super) fn signed_import(kinds: &str, signed: &SignedFile) -> Result<ApiRequest, ClientError> {
    let request = ApiRequest::post(admin_path(&[kinds, "import"])).json_bytes(signed.content.clone());
    request.header(PACKAGE_SIGNATURE_HEADER, &signed.signature)
}

fn activation(item: &PackageItem, replace_canary: bool) -> Value {
    let mut body = json!({"status": "active"});
    if item.kind == EntityKind::Workflow {
        if let Some(canary) = &item.canary {
            body = canary.to_json();
            body["status"] = "active".into();
        } else if let Some(percentage) = item.rollout_percentage {
            body["rollout_percentage"] = percentage.into();
        }
        if replace_canary && item.rollout_percentage.is_some() {
            body["replace_canary"] = true.into();
        }
    }
    body
}

/// Splits items into batches that the server takes.
fn batches<'i, 'p>(items: &'i [&'p PackageItem]) -> Vec<&'i [&'p PackageItem]> {
    let (mut batches, mut start, mut bytes) = (Vec::new(), 0, 0);
    for (index, item) in items.iter().enumerate() {
        let size = item.document.to_string().len();
        if index > start && (index - start == BATCH_ITEMS || bytes + size > BATCH_BYTES) {
            batches.push(&items[start..index]);
            (start, bytes) = (index, 0);
        }
        bytes += size;
    }
    if start < items.len() {
        batches.push(&items[start..]);
    }
    batches
}

#[cfg(test)]
mod tests {
    use svc_model::gate::CanaryPlan;

    use super::*;

    fn item(bytes: usize) -> PackageItem {
        PackageItem {
            kind: EntityKind::Workflow,
            key: "w".into(),
            document: json!({"workflow_id": "w", "description": "x".repeat(bytes)}),
            content_hash: String::new(),
            activates: true,
            rollout_percentage: None,
            canary: None,
        }
    }

    #[test]
    fn batch_is_bounded_by_items_and_by_bytes() {
        let sizes = |items: &[PackageItem]| {
            let items: Vec<&PackageItem> = items.iter().collect();
            batches(&items).iter().map(|batch| batch.len()).collect::<Vec<_>>()
        };
        assert_eq!(sizes(&vec![item(1); 1001]), [500, 500, 1]);
        assert_eq!(sizes(&vec![item(BATCH_BYTES / 2); 3]), [1, 1, 1]);
        assert_eq!(sizes(&[item(2 * BATCH_BYTES), item(1)]), [1, 1], "a large item travels alone");
        assert_eq!(sizes(&[]), [0; 0]);
    }

    #[test]
    fn only_a_stated_share_is_sent() {
        let canary = PackageItem { rollout_percentage: Some(10), ..item(1) };
        assert_eq!(activation(&item(1), true), json!({"status": "active"}));
        let expected = json!({"status": "active", "rollout_percentage": 10, "replace_canary": true});
        assert_eq!(activation(&canary, true), expected);
        let plan = json!({"steps": [10, 50]});
        let moving = PackageItem {
            canary: CanaryPlan::parse(plan.as_object().unwrap(), None).unwrap(),
            ..canary.clone()
        };
        assert_eq!(activation(&moving, false)["steps"], plan["steps"]);
        assert_eq!(activation(&moving, false)["status"], "active");
        let channel = PackageItem { kind: EntityKind::Channel, ..canary };
        assert_eq!(activation(&channel, true), json!({"status": "active"}));
    }

    #[test]
    fn key_over_remote_plain_http_is_warned_of() {
        let with_key = [(TOKEN.to_owned(), "0123456789".to_owned())];
        let warning = |address: &str, environment: &[(String, String)]| {
            PackageServer::new(address, "package=p@1", "svc-cli", environment).unwrap().1
        };
        let text = warning("http://svc.example.com", &with_key).unwrap();
        assert!(text.contains("svc.example.com") && !text.contains("0123456789"), "{text}");
        assert_eq!(warning("http://127.0.0.1:8080", &with_key), None);
        assert_eq!(warning("https://svc.example.com", &with_key), None);
        assert_eq!(warning("http://svc.example.com", &[]), None);
    }
}
