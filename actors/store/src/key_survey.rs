//! The keys under which secrets are stored, and those that live nodes can read: what an operator needs to know during a
//! change of the key. Reads alone.

use std::collections::{BTreeMap, BTreeSet};

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use svc_model::EntityKind;

use crate::config::StoreConfig;
use crate::conn::{Conn, on};
use crate::connections::connection_manager::Purpose;
use crate::error::StoreError;
use crate::key_change::{
    PresentSchema, ReencryptError, list_live_nodes, load_signing_keys, load_webhook_secrets, open_present,
    unreachable_error,
};
use crate::repo::stored_contents;
use crate::schema::connector_oauth_state as states;

/// Beginnings of encrypted texts; the id of the key follows, but for some of the older ones.
const PREFIXES: [&str; 2] = ["enc:v2:", "enc:v1:"];
/// Hexadecimal digits of the id of a key.
const ID_DIGITS: usize = 16;

/// The keys of stored secrets and of nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeySurvey {
    /// The rows that are encrypted under a key, by its id; `unnamed` for older texts that name none.
    pub rows: BTreeMap<String, usize>,
    /// Connectors without an encrypted text.
    pub plain_connectors: usize,
    /// The live nodes.
    pub nodes: Vec<NodeKeys>,
}

/// The keys that a live node can read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeKeys {
    /// The id of the node.
    pub node: String,
    /// The ids of its keys; `None` for a program that does not report them.
    pub keys: Option<Vec<String>>,
}

/// Reads which keys stored secrets and live nodes have.
///
/// # Errors
/// [`ReencryptError`]: the database cannot be used, or its schema is an older one.
pub async fn survey_keys(config: &StoreConfig) -> Result<KeySurvey, ReencryptError> {
    let PresentSchema { mut conn, target } = open_present(config, Purpose::Inspect).await?;
    Ok(read_keys(&mut conn, config).await.map_err(|error| unreachable_error(&target, error))?)
}

async fn read_keys(conn: &mut Conn, config: &StoreConfig) -> Result<KeySurvey, StoreError> {
    let mut survey = KeySurvey::default();
    for row in stored_contents(conn, EntityKind::Connector).await? {
        let ids = key_ids(&row.content);
        survey.plain_connectors += usize::from(ids.is_empty());
        survey.count(ids);
    }
    for row in stored_contents(conn, EntityKind::Channel).await? {
        survey.count(key_ids(&row.content));
    }
    let tokens = states::table.select(states::state_json);
    let tokens: Vec<String> = on!(conn, c => tokens.load(c).await)?;
    tokens.iter().for_each(|text| survey.count(key_ids(text)));
    for key in load_signing_keys(conn).await? {
        survey.count(key_ids(&key.secret));
    }
    for endpoint in load_webhook_secrets(conn).await? {
        survey.count(key_ids(&endpoint.secrets));
    }
    let live = list_live_nodes(conn, config).await?.into_iter();
    survey.nodes = live.map(|node| NodeKeys { node: node.id, keys: node.encryption_key_ids }).collect();
    Ok(survey)
}

impl KeySurvey {
    /// The id of a key that an older text does not name.
    pub const UNNAMED: &str = "unnamed";

    fn count(&mut self, ids: BTreeSet<String>) {
        for id in ids {
            *self.rows.entry(id).or_default() += 1;
        }
    }
}

/// Returns the ids of the keys of all encrypted texts within a text.
fn key_ids(text: &str) -> BTreeSet<String> {
    let mut ids = BTreeSet::new();
    for prefix in PREFIXES {
        for (at, _) in text.match_indices(prefix) {
            let id = text[at + prefix.len()..].split(':').next().unwrap_or_default();
            let is_id = id.len() == ID_DIGITS && id.bytes().all(|byte| byte.is_ascii_hexdigit());
            ids.insert(if is_id { id.to_owned() } else { KeySurvey::UNNAMED.to_owned() });
        }
    }
    ids
}

#[cfg(test)]
mod tests {
    use svc_secrets::{EnvelopeKeys, EnvelopePlace};

    use super::*;

    #[test]
    fn every_key_of_a_text_is_found() {
        let keys = EnvelopeKeys::new(Some("a1".repeat(32).as_str()), []).unwrap();
        let place = EnvelopePlace { table: "t", row: "r", column: "c" };
        let sealed = keys.seal("secret", place, [7; svc_secrets::NONCE]).unwrap();
        let id = keys.current_id().unwrap().to_owned();
        let text = format!(r#"{{"auth": {{"keys": ["{sealed}", "enc:v1:bm90IGFuIGlk"]}}}}"#);
        assert_eq!(key_ids(&text), BTreeSet::from([id, KeySurvey::UNNAMED.to_owned()]));
        assert_eq!(key_ids(r#"{"url": "https://a.example"}"#), BTreeSet::new());
    }
}
