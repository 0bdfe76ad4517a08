//! The secrets of one load, and the record of their use.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;
use slog::Logger;
use svc_engine::{CompileSecrets, Engine, SecretUses};
use svc_model::Channel;
use svc_model::config::InstanceProviders;
use svc_model::mask::CREDENTIAL_BLOCKS;
use svc_secrets::{Keyring, Readings, Reference, ResolveError, Resolver as _, Secret, SecretFingerprint};

/// The secrets read for a load.
pub(crate) struct LoadedSecrets {
    pub(crate) readings: Readings,
    pub(crate) declared: Arc<svc_engine::DeclaredSecrets>,
}

impl LoadedSecrets {
    /// Reads references, each once. The declared secrets stay as they are.
    pub(crate) async fn read(keyring: &Keyring, engine: &Engine, wanted: BTreeSet<Reference>) -> Self {
        Self { readings: keyring.read(wanted).await, declared: engine.declared_secrets() }
    }

    /// As [`read`](Self::read), but reads the declared secrets again. One that has no value now keeps its
    /// last value, which was required when the service started.
    pub(crate) async fn reread(
        keyring: &Keyring,
        engine: &Engine,
        wanted: BTreeSet<Reference>,
        log: &Logger,
    ) -> Self {
        let (readings, own) = keyring.read_with_declared(wanted).await;
        let before = engine.declared_secrets();
        let declared = keyring.declared_values(&own).filter_map(|(name, value)| {
            let value = match value {
                Ok(secret) => Value::from(secret.expose()),
                Err(error) => {
                    slog::warn!(log, "a declared secret keeps its value, as it cannot be read";
                        "secret" => name, "reason" => %error);
                    before.get(name)?.clone()
                }
            };
            Some((name, value))
        });
        let declared = Arc::new(declared.collect());
        Self { readings, declared }
    }

    /// Returns the secrets that a workflow is compiled with.
    pub(crate) fn compile_secrets(&self) -> CompileSecrets<'_> {
        CompileSecrets { references: &self.readings, declared: &self.declared }
    }

    /// Records the secrets that a workflow or channel is built with.
    pub(crate) fn record_use(&self, uses: SecretUses) -> UsedSecrets {
        let fingerprint = self.fingerprint(&uses);
        let unreadable = uses.references.iter().find(|reference| {
            matches!(self.readings.resolve(reference), Err(ResolveError::Unreadable { .. }))
        });
        UsedSecrets { unreadable: unreadable.map(ToString::to_string), fingerprint, uses }
    }

    /// Returns `true` if a build would use the same values now.
    pub(crate) fn still_match(&self, used: &UsedSecrets) -> bool {
        self.fingerprint(&used.uses) == used.fingerprint
    }

    fn fingerprint(&self, uses: &SecretUses) -> SecretFingerprint {
        let references = uses.references.iter().map(|reference| self.readings.resolve(reference));
        let declared = self.declared.values().filter(|_| uses.declared);
        SecretFingerprint::from_values(
            references.chain(declared.map(|value| Ok(Secret::new(value.to_string())))),
        )
    }
}

/// The secrets that a workflow or channel was built with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UsedSecrets {
    pub(crate) uses: SecretUses,
    fingerprint: SecretFingerprint,
    /// A reference that the secret store had no value for: time may heal that.
    pub(crate) unreadable: Option<String>,
}

/// Returns the references of a channel, those of the identity providers that it takes from its instance included.
pub(crate) fn collect_uses(row: &Channel, providers: &InstanceProviders) -> SecretUses {
    let mut uses = SecretUses::default();
    let config = providers.complete(&row.content.config);
    for block in CREDENTIAL_BLOCKS {
        svc_secrets::collect(&config[block], &mut uses.references);
    }
    uses
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use svc_model::{ChannelContent, LifecycleStatus, Timestamp};
    use svc_testworld::definitions::channel_content;

    use super::*;

    #[test]
    fn references_of_instance_providers_are_read() {
        let now = Timestamp::now();
        let config =
            json!({"oauth2_login": {"state_secret": "env://STATE", "providers_from_instance": true}});
        let row = Channel {
            channel_id: "login".into(),
            version: 1,
            content: ChannelContent { config, ..channel_content("login", "flow") },
            status: LifecycleStatus::Active,
            created_at: now,
            updated_at: now,
        };
        let read = |providers: &InstanceProviders| -> Vec<String> {
            collect_uses(&row, providers).references.iter().map(ToString::to_string).collect()
        };
        let providers = json!({"corp": {"client_secret": "env://CORP"}}).as_object().unwrap().clone();
        assert_eq!(read(&InstanceProviders::new(providers)), ["env://CORP", "env://STATE"]);
        assert_eq!(read(&InstanceProviders::default()), ["env://STATE"]);
    }
}
