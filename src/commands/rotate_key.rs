//! `svc-server rotate-key`: how far a change of the encryption key is, and the next step.
//!
//! The key changes in steps between which nodes are restarted, so that no node meets a secret that it cannot read. The
//! state is read from the settings, the stored secrets and the keys that live nodes report; so the command may be run after
//! every step, and names the next one.

use std::io::{self, Write};

use clap::Args;
use openssl::rand::rand_bytes;
use slog::{Discard, Logger, o};
use svc_secrets::EnvelopeKeys;
use svc_store::{KeySurvey, NodeKeys, ReencryptError, StoreConfig};
use tokio::runtime::Handle;

use super::reencrypt;
use crate::config::Config;
use crate::error::ServiceStartError;
use crate::exit::{self, EXIT_FAILURE, EXIT_OK};
use crate::settings;

/// Bytes of a key.
const KEY_BYTES: usize = 32;

/// The arguments of `rotate-key`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Args)]
pub struct RotateKeyArgs {
    /// Print a new key on standard output
    #[arg(long)]
    pub new: bool,
    /// If the next step is one in the database, do it: rewrite stored secrets under the current key
    #[arg(long, conflicts_with = "new")]
    pub apply: bool,
}

/// The next step of a change of the key.
#[derive(Clone, Debug, PartialEq, Eq)]
enum RotationStep {
    /// Nothing is encrypted.
    SetKey,
    /// Stored secrets are under keys that the settings lack.
    BringBack(Vec<String>),
    /// Live nodes cannot read the current key.
    PrepareNodes(Vec<String>),
    /// Stored secrets are not under the current key.
    Reencrypt,
    /// The keys for reading protect nothing: each is a former key, or the next one.
    SwapOrForget(Vec<String>),
    /// Everything is under the one key.
    MakeNext,
}

/// Prints the state and the next step; performs it if that is asked for and possible.
pub(super) fn rotate_key(
    args: RotateKeyArgs,
    config: &Config,
    environment: &[(String, String)],
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> io::Result<u8> {
    if args.new {
        let mut key = [0; KEY_BYTES];
        rand_bytes(&mut key).map_err(io::Error::other)?;
        writeln!(out, "{}", hex::encode(key))?;
        return Ok(EXIT_OK);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let (keys, survey) = match runtime.block_on(read_state(config, environment)) {
        Ok(state) => state,
        Err(RotationFailure::Start(error)) => {
            return exit::write_error(&error, err).map(|()| error.exit_code());
        }
        Err(RotationFailure::Survey(error)) => {
            return exit::write_error(&error, err).map(|()| EXIT_FAILURE);
        }
    };
    write_state(&keys, &survey, out)?;
    let step = next_step(&keys, &survey);
    writeln!(out, "next: {}", describe(&step))?;
    match (args.apply, &step) {
        (true, RotationStep::Reencrypt) => reencrypt::reencrypt(config, environment, err),
        (true, _) => {
            writeln!(err, "Error: the next step is none in the database; do it and run this again")?;
            Ok(EXIT_FAILURE)
        }
        (false, RotationStep::BringBack(_)) => Ok(EXIT_FAILURE),
        (false, _) => Ok(EXIT_OK),
    }
}

/// The reason why the state cannot be read.
enum RotationFailure {
    Start(ServiceStartError),
    Survey(ReencryptError),
}

impl From<ServiceStartError> for RotationFailure {
    fn from(error: ServiceStartError) -> Self {
        Self::Start(error)
    }
}

async fn read_state(
    config: &Config,
    environment: &[(String, String)],
) -> Result<(EnvelopeKeys, KeySurvey), RotationFailure> {
    let outbound = settings::build_outbound(&Logger::root(Discard, o!()))?;
    let secrets = settings::build_keyring(config, environment, &outbound, Handle::current())?;
    let keys = settings::connector_keys(config, &secrets).await?;
    let store = StoreConfig { connector_keys: keys.clone(), ..settings::store_config(config) };
    let survey = svc_store::survey_keys(&store).await.map_err(|error| match error {
        ReencryptError::Open(error) => RotationFailure::Start(error.into()),
        refusal => RotationFailure::Survey(refusal),
    })?;
    Ok((keys, survey))
}

fn write_state(keys: &EnvelopeKeys, survey: &KeySurvey, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "current key: {}", keys.current_id().unwrap_or("none"))?;
    let reading: Vec<_> = reading_ids(keys).collect();
    writeln!(out, "keys for reading: {}", list(&reading))?;
    for (id, rows) in &survey.rows {
        writeln!(out, "stored under {id}: {rows} row(s)")?;
    }
    writeln!(out, "connectors in plain text: {}", survey.plain_connectors)?;
    for NodeKeys { node, keys } in &survey.nodes {
        let known = keys.as_ref().map_or_else(|| "does not report its keys".to_owned(), |keys| list(keys));
        writeln!(out, "node {node}: {known}")?;
    }
    Ok(())
}

fn list(names: &[impl AsRef<str>]) -> String {
    let names: Vec<&str> = names.iter().map(|name| name.as_ref()).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// Returns the ids of the keys that only decrypt.
fn reading_ids(keys: &EnvelopeKeys) -> impl Iterator<Item = &str> {
    keys.ids().filter(|id| Some(*id) != keys.current_id())
}

fn next_step(keys: &EnvelopeKeys, survey: &KeySurvey) -> RotationStep {
    // The key of a text that names none may be any of them.
    let is_configured = |id: &str| id == KeySurvey::UNNAMED || keys.ids().any(|known| known == id);
    let missing: Vec<_> = survey.rows.keys().filter(|id| !is_configured(id)).cloned().collect();
    if !missing.is_empty() {
        return RotationStep::BringBack(missing);
    }
    let Some(current) = keys.current_id() else { return RotationStep::SetKey };
    let cannot_read = |node: &&NodeKeys| !node.keys.iter().flatten().any(|id| id == current);
    let unprepared: Vec<_> = survey.nodes.iter().filter(cannot_read).map(|node| node.node.clone()).collect();
    if !unprepared.is_empty() {
        return RotationStep::PrepareNodes(unprepared);
    }
    if survey.plain_connectors > 0 || survey.rows.keys().any(|id| id != current) {
        return RotationStep::Reencrypt;
    }
    let reading: Vec<_> = reading_ids(keys).map(str::to_owned).collect();
    if reading.is_empty() { RotationStep::MakeNext } else { RotationStep::SwapOrForget(reading) }
}

fn describe(step: &RotationStep) -> String {
    const CURRENT: &str = "storage.connector_encryption_key";
    const READING: &str = "storage.previous_connector_encryption_keys";
    match step {
        RotationStep::SetKey => format!(
            "make a key (`svc-server rotate-key --new`), set it as {CURRENT} of every node, restart the nodes one after the \
             other, and run this again"
        ),
        RotationStep::BringBack(ids) => format!(
            "give the key(s) {} back to {READING}: without them what is stored under them is lost",
            list(ids)
        ),
        RotationStep::PrepareNodes(nodes) => format!(
            "the live node(s) {} cannot read the current key: give it to them in {READING}, restart them, and run this again",
            list(nodes)
        ),
        RotationStep::Reencrypt => {
            "rewrite what is not under the current key: `svc-server rotate-key --apply`".to_owned()
        }
        RotationStep::SwapOrForget(ids) => format!(
            "nothing is stored under {}. If it is the next key, and every node was restarted with it: make it {CURRENT} and the \
             current one a key for reading, on every node, and restart. If it is the former key: remove it from {READING}",
            list(ids)
        ),
        RotationStep::MakeNext => format!(
            "nothing; to begin a change make a key (`svc-server rotate-key --new`), add it to {READING} of every node, and \
             restart the nodes one after the other"
        ),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn keys(current: Option<&str>, reading: &[&str]) -> EnvelopeKeys {
        let long = |key: &str| key.repeat(KEY_BYTES);
        let reading: Vec<_> = reading.iter().map(|key| long(key)).collect();
        EnvelopeKeys::new(current.map(long).as_deref(), reading.iter().map(String::as_str)).unwrap()
    }

    fn id(key: &str) -> String {
        keys(Some(key), &[]).current_id().unwrap().to_owned()
    }

    fn survey(rows: &[&str]) -> KeySurvey {
        let rows: BTreeMap<_, _> = rows.iter().map(|key| (id(key), 1)).collect();
        KeySurvey { rows, ..KeySurvey::default() }
    }

    #[test]
    fn change_of_the_key_goes_step_by_step() {
        let step = |keys: &EnvelopeKeys, rows: &[&str]| next_step(keys, &survey(rows));
        assert_eq!(step(&keys(None, &[]), &[]), RotationStep::SetKey);
        assert_eq!(step(&keys(Some("a1"), &[]), &["a1"]), RotationStep::MakeNext);
        let next = vec![id("b2")];
        assert_eq!(step(&keys(Some("a1"), &["b2"]), &["a1"]), RotationStep::SwapOrForget(next));
        assert_eq!(step(&keys(Some("b2"), &["a1"]), &["a1", "b2"]), RotationStep::Reencrypt);
        let former = vec![id("a1")];
        assert_eq!(step(&keys(Some("b2"), &["a1"]), &["b2"]), RotationStep::SwapOrForget(former.clone()));
        assert_eq!(step(&keys(Some("b2"), &[]), &["b2", "a1"]), RotationStep::BringBack(former));
    }

    #[test]
    fn node_without_the_key_comes_before_the_rewriting() {
        let keys = keys(Some("b2"), &["a1"]);
        let mut survey = survey(&["a1"]);
        survey.nodes = vec![
            NodeKeys { node: "ready".into(), keys: Some(vec![id("a1"), id("b2")]) },
            NodeKeys { node: "late".into(), keys: Some(vec![id("a1")]) },
            NodeKeys { node: "old".into(), keys: None },
        ];
        let expected = RotationStep::PrepareNodes(vec!["late".into(), "old".into()]);
        assert_eq!(next_step(&keys, &survey), expected);
    }

    #[test]
    fn plain_and_unnamed_texts_are_rewritten() {
        let keys = keys(Some("a1"), &[]);
        let plain = KeySurvey { plain_connectors: 1, ..KeySurvey::default() };
        assert_eq!(next_step(&keys, &plain), RotationStep::Reencrypt);
        let unnamed = KeySurvey { rows: BTreeMap::from([("unnamed".to_owned(), 2)]), ..KeySurvey::default() };
        assert_eq!(next_step(&keys, &unnamed), RotationStep::Reencrypt);
    }
}
