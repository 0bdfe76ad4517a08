//! `svc-server doctor`: checks everything that a start needs and an operation wears out, and names the remedy of each
//! finding. Waits for nothing and changes nothing but a key of Redis that expires.

mod certificates;
mod clock;
mod connectors;
mod database;
mod disk;
mod hosts;
mod peers;
mod report;
mod secrets;
mod system;

use std::io::{self, Write};

use clap::Args;
use serde::Serialize;
use slog::{Discard, Logger, o};
use svc_project::{Finding, Severity};
use svc_store::inspect::StoredDefinitions;
use tokio::runtime::Handle;

use self::report::DoctorReport;
use crate::config::{Config, LoadedConfig};
use crate::exit::{EXIT_FAILURE, EXIT_OK};
use crate::settings;

/// The arguments of `doctor`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Args)]
pub struct DoctorArgs {
    /// Print the findings as one JSON document
    #[arg(long)]
    pub json: bool,
}

/// The findings as a document.
#[derive(Debug, Serialize)]
struct DoctorDocument<'r> {
    findings: &'r [Finding],
    errors: usize,
    warnings: usize,
    notes: usize,
}

/// Reports the findings of all checks; fails if one of them is an error.
pub(super) fn doctor(
    args: DoctorArgs,
    loaded: &LoadedConfig,
    environment: &[(String, String)],
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> io::Result<u8> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let report = runtime.block_on(examine(loaded, environment));
    // A resolver that does not answer is not waited for.
    runtime.shutdown_background();
    let document = DoctorDocument {
        findings: report.findings(),
        errors: report.count(Severity::Error),
        warnings: report.count(Severity::Warning),
        notes: report.count(Severity::Note),
    };
    if args.json {
        serde_json::to_writer_pretty(&mut *out, &document).map_err(io::Error::other)?;
        writeln!(out)?;
    } else {
        let DoctorDocument { findings, errors, warnings, notes } = &document;
        findings.iter().try_for_each(|finding| writeln!(err, "{finding}"))?;
        writeln!(out, "{errors} error(s), {warnings} warning(s), {notes} note(s)")?;
    }
    Ok(if document.errors == 0 { EXIT_OK } else { EXIT_FAILURE })
}

async fn examine(loaded: &LoadedConfig, environment: &[(String, String)]) -> DoctorReport {
    let config = &loaded.config;
    let store = settings::store_config(config);
    let mut report = DoctorReport::default();
    report_settings(&loaded.notes, &mut report);
    secrets::check_admin_keys(config, &mut report);
    system::check_system(config, &mut report);
    disk::check_disks(config, &store, &mut report);
    certificates::check_certificates(config, &mut report);
    let exists = database::check_database(config, &store, &mut report).await;
    check_peers(config, environment, exists, &mut report).await;
    report
}

/// Checks what needs secrets and names of hosts.
async fn check_peers(
    config: &Config,
    environment: &[(String, String)],
    is_database_read: bool,
    report: &mut DoctorReport,
) {
    let outbound = match settings::build_outbound(&Logger::root(Discard, o!())) {
        Ok(outbound) => outbound,
        Err(error) => {
            let remedy = "correct SSL_CERT_FILE and SSL_CERT_DIR, or install ca-certificates";
            return report.add_error("trust-anchors", "SSL_CERT_FILE", error.to_string(), remedy);
        }
    };
    if outbound.anchors() == 0 {
        let remedy = "install ca-certificates, or name a PEM file in SSL_CERT_FILE";
        report.add_warning("trust-anchors", "SSL_CERT_FILE", "no https peer is trusted", remedy);
    }
    let keyring = match settings::build_keyring(config, environment, &outbound, Handle::current()) {
        Ok(keyring) => keyring,
        Err(error) => {
            return report.add_error("secrets", "secrets", error.to_string(), "correct the secret store");
        }
    };
    let are_keys_read = secrets::check_references(config, &keyring, report).await;
    let stored = match is_database_read && are_keys_read {
        true => database::check_definitions(config, environment, report).await,
        false => StoredDefinitions::default(),
    };
    secrets::check_encryption_key(config, &stored, report);
    if is_database_read && are_keys_read {
        secrets::check_plain_text(config, report).await;
    }
    let mut named = hosts::settings_hosts(config, &settings::store_config(config), environment);
    named.extend(
        connectors::check_connectors(&stored.connectors, environment, &keyring, &config.vars.0, report).await,
    );
    hosts::check_hosts(named, &outbound, report).await;
    peers::check_redis(config, &outbound, report).await;
    peers::check_kafka(config, environment, report).await;
}

/// Reports the warnings of the configuration, each under the setting with which it begins.
fn report_settings(notes: &[String], report: &mut DoctorReport) {
    for note in notes {
        let is_key = |text: &str| text.bytes().all(|b| b.is_ascii_lowercase() || b == b'_' || b == b'.');
        let (setting, text) = match note.split_once(": ") {
            Some((key, text)) if is_key(key) => (key, text),
            _ => ("the configuration", note.as_str()),
        };
        report.add(Severity::Warning, "configuration", setting, text, None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warning_of_the_configuration_names_its_setting() {
        let mut report = DoctorReport::default();
        let notes = ["cors.allowed_origins: list them", "no configuration file given (-c FILE): defaults"];
        report_settings(&notes.map(str::to_owned), &mut report);
        let entities: Vec<_> = report.findings().iter().map(|finding| finding.entity.as_str()).collect();
        assert_eq!(entities, ["cors.allowed_origins", "the configuration"]);
    }
}
