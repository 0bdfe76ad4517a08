//! Re-encrypts the settings and the tokens of connectors, the credentials of channels, the keys by which consumers
//! sign, and the secrets that sign webhooks, with the current writing key, each bound to its place.
//!
//! It works row by row. A row is replaced only while it still holds the text that was read, and together with
//! its audit row. Servers may run meanwhile, and both they and this program may be killed: every row is under
//! either the old or the new key at any moment.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use serde_json::{Value, json};
use svc_model::{AuditAction, EntityKind};
use svc_secrets::{EnvelopeError, EnvelopeKeys, EnvelopePlace};

use crate::config::StoreConfig;
use crate::conn::{Conn, on};
use crate::connections::connection_manager::Purpose;
use crate::error::StoreError;
use crate::key_change::{
    PresentSchema, ReencryptError, StoredSigningKey, WebhookSecrets, list_live_nodes, load_signing_keys,
    load_webhook_secrets, open_present, unreachable_error,
};
use crate::repo::{
    AuditEntry, AuditReceipt, DefinitionKey, NodeRow, StoredContent, consumer_secret_place, record,
    replace_stored_content, reseal, seal, state_place, stored_contents, webhook_secret_place,
};
use crate::schema::{connector_oauth_state as states, consumer_keys, definitions, webhook_endpoints};

/// Principal in the audit log: anyone who may run the program on the database's machine.
const PRINCIPAL: &str = "command-line";

/// Maximum number of passes over the table while others write to it.
const PASSES: usize = 5;

/// The result of a re-encryption.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReencryptionReport {
    /// Connectors whose settings were rewritten.
    pub connectors: usize,
    /// Connectors whose tokens were rewritten.
    pub tokens: usize,
    /// Versions of channels whose credentials were rewritten.
    pub channels: usize,
    /// Keys of consumers that were rewritten.
    pub consumer_keys: usize,
    /// Endpoints of webhooks whose secrets were rewritten.
    pub webhooks: usize,
    /// The entities whose rows could not be rewritten, such as `connector 'a'`, each with the reason.
    pub failed: Vec<(String, EnvelopeError)>,
}

/// Re-encrypts every row that is not under the writing key.
///
/// # Errors
/// [`ReencryptError`]: the database cannot be used, its schema is an older one, or a live node does not know the key.
pub async fn reencrypt(config: &StoreConfig) -> Result<ReencryptionReport, ReencryptError> {
    let PresentSchema { mut conn, target } = open_present(config, Purpose::Write).await?;
    let unreachable = |error| unreachable_error(&target, error);
    refuse_unprepared_nodes(&mut conn, config).await.map_err(unreachable)??;
    let mut report = ReencryptionReport::default();
    for _ in 0..PASSES {
        report.failed.clear();
        if !pass(&mut conn, config, &mut report).await.map_err(unreachable)? {
            break;
        }
    }
    Ok(report)
}

/// Refuses while a live node does not know the writing key. The inner result is the refusal.
async fn refuse_unprepared_nodes(
    conn: &mut Conn,
    config: &StoreConfig,
) -> Result<Result<(), ReencryptError>, StoreError> {
    let Some(key) = config.connector_keys.current_id() else { return Ok(Ok(())) };
    let unprepared = |node: NodeRow| match node.knows_key(key) {
        Some(true) => None,
        Some(false) => Some(node.id),
        None => Some(format!("{} (version {}, which does not tell its keys)", node.id, node.version)),
    };
    let nodes: Vec<_> = list_live_nodes(conn, config).await?.into_iter().filter_map(unprepared).collect();
    Ok(match nodes.is_empty() {
        true => Ok(()),
        false => Err(ReencryptError::UnpreparedNodes { key: key.to_owned(), nodes }),
    })
}

/// Makes one pass over the rows. Returns whether others changed a row between its read and its write.
async fn pass(
    conn: &mut Conn,
    config: &StoreConfig,
    done: &mut ReencryptionReport,
) -> Result<bool, StoreError> {
    let keys = &config.connector_keys;
    let mut overtaken = rewrite_definitions(conn, EntityKind::Connector, keys, done).await?;
    overtaken |= rewrite_definitions(conn, EntityKind::Channel, keys, done).await?;
    // Tokens have no author, so their change leaves no audit row.
    let rows = states::table
        .inner_join(definitions::table.on(definitions::name.eq(states::connector_name)))
        .filter(definitions::kind.eq(EntityKind::Connector.name()))
        .select((definitions::id, states::connector_name, states::state_json));
    let rows = on!(conn, c => rows.load::<(String, String, String)>(c).await)?;
    for (id, name, kept) in rows {
        let label = format!("connector '{name}'");
        let Some(sealed) = reseal_text(label, &kept, state_place(&id), keys, done)? else { continue };
        let unchanged = states::table.find(&name).filter(states::state_json.eq(&kept));
        let change = diesel::update(unchanged).set(states::state_json.eq(sealed));
        let changed = on!(conn, c => change.execute(c).await)?;
        overtaken |= changed == 0;
        done.tokens += changed;
    }
    overtaken |= rewrite_consumer_keys(conn, keys, done).await?;
    overtaken |= rewrite_webhook_secrets(conn, keys, done).await?;
    Ok(overtaken)
}

/// Makes one pass over the keys by which consumers sign. They stay what they are for their holders, so that their change
/// leaves no audit row. Returns whether others changed a row between its read and its write.
async fn rewrite_consumer_keys(
    conn: &mut Conn,
    keys: &EnvelopeKeys,
    done: &mut ReencryptionReport,
) -> Result<bool, StoreError> {
    let mut overtaken = false;
    for StoredSigningKey { id, consumer, secret: kept } in load_signing_keys(conn).await? {
        let (label, place) = (format!("key '{id}' of consumer '{consumer}'"), consumer_secret_place(&id));
        let Some(sealed) = reseal_text(label, &kept, place, keys, done)? else { continue };
        let unchanged = consumer_keys::table.find(&id).filter(consumer_keys::secret.eq(&kept));
        let change = diesel::update(unchanged).set(consumer_keys::secret.eq(sealed));
        let changed = on!(conn, c => change.execute(c).await)?;
        // A key that was deleted meanwhile is no longer read by the next pass.
        overtaken |= changed == 0;
        done.consumer_keys += changed;
    }
    Ok(overtaken)
}

/// Makes one pass over the secrets that sign webhooks. They stay what they are for their receivers, so that their change
/// leaves no audit row. Returns whether others changed a row between its read and its write.
async fn rewrite_webhook_secrets(
    conn: &mut Conn,
    keys: &EnvelopeKeys,
    done: &mut ReencryptionReport,
) -> Result<bool, StoreError> {
    let mut overtaken = false;
    for WebhookSecrets { id, secrets: kept } in load_webhook_secrets(conn).await? {
        let (label, place) = (format!("webhook endpoint '{id}'"), webhook_secret_place(&id));
        let Some(sealed) = reseal_text(label, &kept, place, keys, done)? else { continue };
        let unchanged = webhook_endpoints::table.find(&id).filter(webhook_endpoints::secrets_json.eq(&kept));
        let change = diesel::update(unchanged).set(webhook_endpoints::secrets_json.eq(sealed));
        let changed = on!(conn, c => change.execute(c).await)?;
        overtaken |= changed == 0;
        done.webhooks += changed;
    }
    Ok(overtaken)
}

/// Makes one pass over the definitions of a kind. Returns whether others changed a row between its read and its write.
async fn rewrite_definitions(
    conn: &mut Conn,
    kind: EntityKind,
    keys: &EnvelopeKeys,
    done: &mut ReencryptionReport,
) -> Result<bool, StoreError> {
    let mut overtaken = false;
    for StoredContent { id, version, name, content: kept } in stored_contents(conn, kind).await? {
        let key = DefinitionKey { kind, id: &id, version };
        let (label, details) = match kind {
            EntityKind::Connector => (format!("connector '{name}'"), None),
            _ => (format!("{kind} '{id}' version {version}"), Some(json!({ "version": version }))),
        };
        let sealed = match reseal(&kept, key, keys) {
            Ok(sealed) => sealed?,
            Err(error) => {
                done.failed.push((label, error));
                continue;
            }
        };
        let Some(sealed) = sealed else { continue };
        let replacing = async |conn: &mut Conn| {
            let is_replaced = replace_stored_content(conn, key, &kept, &sealed).await?;
            if is_replaced {
                record(conn, audit_entry(kind, &id, details.clone()), &id).await?;
            }
            Ok(is_replaced)
        };
        match (run_in_transaction(conn, replacing).await?, kind) {
            (false, _) => overtaken = true,
            (true, EntityKind::Connector) => done.connectors += 1,
            (true, _) => done.channels += 1,
        }
    }
    Ok(overtaken)
}

/// Replaces a row and records the change, if the row still holds the text that was read.
async fn run_in_transaction(
    conn: &mut Conn,
    work: impl AsyncFnOnce(&mut Conn) -> Result<bool, StoreError>,
) -> Result<bool, StoreError> {
    conn.begin().await?;
    match work(conn).await {
        Ok(replaced) => conn.commit().await.map(|()| replaced),
        Err(error) => {
            // A connection whose rollback fails is broken, and nothing of the transaction is kept.
            let _undone = conn.rollback().await;
            Err(error)
        }
    }
}

fn audit_entry(kind: EntityKind, id: &str, details: Option<Value>) -> AuditEntry {
    AuditEntry {
        principal: PRINCIPAL.to_owned(),
        action: AuditAction::Reencrypt.name().to_owned(),
        resource_type: kind.name().to_owned(),
        resource_id: id.to_owned(),
        details,
        receipt: AuditReceipt::default(),
    }
}

/// Returns a text under the writing key, bound to its place; `None` if it already is, or cannot be decrypted.
fn reseal_text(
    label: String,
    kept: &str,
    place: EnvelopePlace<'_>,
    keys: &EnvelopeKeys,
    done: &mut ReencryptionReport,
) -> Result<Option<String>, StoreError> {
    match keys.open(kept, place) {
        Ok(_) if keys.is_current(kept) => Ok(None),
        Ok(text) => seal(&text, place, keys).map(Some),
        Err(error) => {
            done.failed.push((label, error));
            Ok(None)
        }
    }
}
