//! The secrets of the settings: references without a value, the key that encrypts stored secrets, the keys of the admin
//! API.

use std::collections::{BTreeSet, HashSet};

use svc_secrets::Keyring;
use svc_store::inspect::StoredDefinitions;

use super::report::DoctorReport;
use crate::commands::preflight::ABSENT_SECRET_REMEDY;
use crate::config::{AdminKey, Config};
use crate::error::ServiceStartError;
use crate::settings;

const ENCRYPTION_KEY: &str = "storage.connector_encryption_key";
/// Different characters below which a key is easy to guess, whatever its length.
const FEWEST_CHARACTERS: usize = 10;

/// Reads the secrets that the settings name. Returns `true` if stored secrets can be read.
pub(super) async fn check_references(config: &Config, keyring: &Keyring, report: &mut DoctorReport) -> bool {
    let readings = keyring.read_declared().await;
    for (name, value) in keyring.declared_values(&readings) {
        if let Err(error) = value {
            let setting = format!("secrets.{name}");
            report.add_error("secrets", &setting, error.to_string(), ABSENT_SECRET_REMEDY);
        }
    }
    match settings::connector_keys(config, keyring).await {
        Ok(_) => true,
        Err(error) => {
            let text = match &error {
                ServiceStartError::Config(text) => text.clone(),
                other => other.to_string(),
            };
            let (setting, problem) = text.split_once(": ").unwrap_or((ENCRYPTION_KEY, text.as_str()));
            let remedy =
                "give 64 hexadecimal digits (openssl rand -hex 32), or a reference with such a value";
            report.add_error("encryption-key", setting, problem, remedy);
            false
        }
    }
}

/// Reports secrets that are stored in plain text. Without stored definitions this is a note, but in production.
pub(super) fn check_encryption_key(config: &Config, stored: &StoredDefinitions, report: &mut DoctorReport) {
    if !config.storage.connector_encryption_key.is_empty() {
        return;
    }
    let message =
        "there is none: settings of connectors and credentials of channels are stored in plain text";
    if config.is_production() || !stored.connectors.is_empty() {
        let remedy = "set a key (openssl rand -hex 32), restart the nodes and run `svc-server reencrypt`";
        report.add_warning("encryption-key", ENCRYPTION_KEY, message, remedy);
    } else {
        report.add_note("encryption-key", ENCRYPTION_KEY, message);
    }
}

/// Reports connectors that a key is there for, and that are stored in plain text from before it.
pub(super) async fn check_plain_text(config: &Config, report: &mut DoctorReport) {
    if config.storage.connector_encryption_key.is_empty() {
        return;
    }
    // A schema that lags, or a database that goes away, is a finding of its own.
    let Ok(survey) = svc_store::survey_keys(&settings::store_config(config)).await else { return };
    if survey.plain_connectors > 0 {
        let message = format!(
            "there is a key, and {} connector(s) are still stored in plain text",
            survey.plain_connectors
        );
        let remedy = "run `svc-server rotate-key`, which names the next step";
        report.add_warning("encryption-key", ENCRYPTION_KEY, message, remedy);
    }
}

/// Reports keys of the admin API that are weak, or that mean two things. Missing and short ones are refused, or noted, when
/// the configuration is read.
pub(super) fn check_admin_keys(config: &Config, report: &mut DoctorReport) {
    const CHECK: &str = "admin-keys";
    for (setting, keys) in config.admin_auth.key_lists() {
        for (index, _) in keys.iter().enumerate().filter(|(_, key)| is_monotonous(key)) {
            let message =
                format!("entry {} has fewer than {FEWEST_CHARACTERS} different characters", index + 1);
            let remedy = "make it anew (openssl rand -hex 32), and write its sha256: digest here";
            report.add_warning(CHECK, setting, message, remedy);
        }
    }
    let [(_, full), (setting, read_only)] = config.admin_auth.key_lists();
    let full: HashSet<_> = full.iter().filter_map(AdminKey::digest).collect();
    let both = read_only.iter().filter_map(AdminKey::digest).collect::<BTreeSet<_>>();
    if both.iter().any(|digest| full.contains(digest)) {
        let remedy = "give those who only read a key of their own";
        report.add_warning(CHECK, setting, "a key that may only read has all rights too", remedy);
    }
}

/// Returns `true` for a key in plain text that a few characters make up.
fn is_monotonous(key: &AdminKey) -> bool {
    let text = key.key.expose();
    let characters: HashSet<char> = text.chars().collect();
    !text.is_empty() && !text.starts_with("sha256:") && characters.len() < FEWEST_CHARACTERS
}

#[cfg(test)]
mod tests {
    use svc_project::Severity;

    use super::*;

    #[test]
    fn monotonous_and_shared_keys_are_warnings() {
        let mut config = Config::default();
        let strong = "0123456789abcdef0123456789abcdef";
        config.admin_auth.api_keys = vec![AdminKey::unnamed(strong), AdminKey::unnamed(&"ab".repeat(20))];
        let mut report = DoctorReport::default();
        check_admin_keys(&config, &mut report);
        assert_eq!(report.findings().len(), 1, "{:?}", report.findings());
        assert!(report.findings()[0].message.starts_with("entry 2 "));
        config.admin_auth.api_keys.truncate(1);
        config.admin_auth.read_only_api_keys = vec![AdminKey::unnamed(strong)];
        let mut report = DoctorReport::default();
        check_admin_keys(&config, &mut report);
        assert_eq!(report.findings()[0].entity, "admin_auth.read_only_api_keys");
    }

    #[test]
    fn missing_encryption_key_weighs_more_in_production() {
        let mut config = Config::default();
        let weigh = |config: &Config| {
            let mut report = DoctorReport::default();
            check_encryption_key(config, &StoredDefinitions::default(), &mut report);
            report.findings().first().map(|finding| finding.severity)
        };
        assert_eq!(weigh(&config), Some(Severity::Note));
        config.environment = "production".into();
        assert_eq!(weigh(&config), Some(Severity::Warning));
        config.storage.connector_encryption_key = svc_secrets::Secret::new("ab".repeat(32));
        assert_eq!(weigh(&config), None);
    }
}
