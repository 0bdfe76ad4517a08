//! `svc-server preflight`: checks every stored channel and workflow against this version of the program, before it
//! serves them. Reads the latest version of each and changes nothing.

mod checks;
mod engine;

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::sync::Arc;

use slog::{Discard, Logger, o};
use svc_model::mask::CREDENTIAL_BLOCKS;
use svc_project::rules::ChannelRules;
use svc_project::{Finding, Severity};
use svc_secrets::Reference;
use svc_store::StoreConfig;
use svc_store::inspect::{self, StoredDefinitions};
use tokio::runtime::Handle;

use self::checks::Checks;
use self::engine::build_engine;
use crate::config::Config;
use crate::error::ServiceStartError;
use crate::exit::{self, EXIT_FAILURE, EXIT_OK};
use crate::settings;

pub(super) use self::checks::ABSENT_SECRET_REMEDY;

/// The stored definitions, and what was found out about them.
pub(super) struct DefinitionScan {
    pub(super) stored: StoredDefinitions,
    pub(super) findings: Vec<Finding>,
}

/// Reports what this version of the program does not take as it is stored, and fails if there is anything; and what is
/// questionable.
pub(super) fn preflight(
    config: &Config,
    environment: &[(String, String)],
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> io::Result<u8> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let DefinitionScan { stored, findings } = match runtime.block_on(scan_definitions(config, environment)) {
        Ok(scan) => scan,
        Err(error) => return exit::write_error(&error, err).map(|()| error.exit_code()),
    };
    findings.iter().try_for_each(|finding| writeln!(err, "{finding}"))?;
    let (workflows, channels) = (stored.workflows.len(), stored.channels.len());
    writeln!(out, "{workflows} workflow(s), {channels} channel(s) — {} finding(s)", findings.len())?;
    let fails = findings.iter().any(|finding| finding.severity == Severity::Error);
    Ok(if fails { EXIT_FAILURE } else { EXIT_OK })
}

/// Reads what is stored and the secrets that it names, as a start would, and checks it.
pub(super) async fn scan_definitions(
    config: &Config,
    environment: &[(String, String)],
) -> Result<DefinitionScan, ServiceStartError> {
    let outbound = settings::build_outbound(&Logger::root(Discard, o!()))?;
    let keyring = settings::build_keyring(config, environment, &outbound, Handle::current())?;
    let store = StoreConfig {
        connector_keys: settings::connector_keys(config, &keyring).await?,
        ..settings::store_config(config)
    };
    let stored = inspect::definitions(&store).await?;
    let upgraded_at = inspect::upgraded_at(&store).await?;
    let readings = keyring.read(references(&stored)).await;
    let engine = Arc::new(build_engine(config));
    let rules = ChannelRules::new(Arc::clone(&engine), config.jwt.allow_private_jwks_urls)
        .with_private_providers(config.oauth2_login.allow_private_token_urls);
    let declared = config.secrets.references.keys().cloned().collect();
    let findings =
        Checks { engine: &engine, channel_rules: &rules, readings: &readings, declared, upgraded_at }
            .run(&stored);
    Ok(DefinitionScan { stored, findings })
}

/// Returns the references of everything that could be served.
fn references(stored: &StoredDefinitions) -> BTreeSet<Reference> {
    let mut references = BTreeSet::new();
    for workflow in stored.workflows.iter().filter(|workflow| checks::may_serve(workflow.status)) {
        references.extend(svc_engine::secret_uses(&workflow.content).references);
    }
    for channel in stored.channels.iter().filter(|channel| checks::may_serve(channel.status)) {
        for block in CREDENTIAL_BLOCKS {
            svc_secrets::collect(&channel.content.config[block], &mut references);
        }
    }
    references
}
