//! The consumers of the database, as this node serves them.

use std::sync::Arc;

use slog::Logger;
use svc_auth::{ConsumerApiKey, ConsumerIdentity, ConsumerRecord, ConsumerSigningKey, ConsumerTable};
use svc_channels::{CallQuotas, ChannelServices, ConsumerDirectory};
use svc_store::{ConsumerCredentials, ConsumerSecret, Consumers, Store, StoreError};
use tokio::sync::Mutex;

/// Loads the consumers of the database into the directory that channels read. Cheap to clone.
#[derive(Clone)]
pub(crate) struct ConsumerLoader {
    stored: Consumers,
    directory: ConsumerDirectory,
    quotas: CallQuotas,
    /// Held during a load, so that of two loads the later one has the last word.
    turn: Arc<Mutex<()>>,
    log: Logger,
}

impl ConsumerLoader {
    /// Makes the loader of the directory that the channels of `services` read.
    pub(crate) fn new(store: &Store, services: &ChannelServices) -> Self {
        Self {
            stored: store.consumers(),
            directory: services.consumers.clone(),
            quotas: services.quotas.clone(),
            turn: Arc::default(),
            log: services.log.clone(),
        }
    }

    /// Returns the consumers that serve on this node.
    pub(crate) fn directory(&self) -> &ConsumerDirectory {
        &self.directory
    }

    /// Loads all consumers. Keys that cannot be read are left out and logged.
    ///
    /// # Errors
    /// The database failed; the previous consumers serve on.
    pub(crate) async fn load(&self) -> Result<(), StoreError> {
        let _turn = self.turn.lock().await;
        let stored = self.stored.load().await?;
        let records = stored.into_iter().map(|consumer| self.make_record(consumer)).collect();
        let table = Arc::new(ConsumerTable::new(records));
        self.directory.replace(Arc::clone(&table));
        // Behind the change: a request before it would ask for the former bounds again.
        self.quotas.retain_for_consumers(table.quotas());
        Ok(())
    }

    fn make_record(&self, stored: ConsumerCredentials) -> ConsumerRecord {
        let ConsumerCredentials { consumer, secrets } = stored;
        let (mut api_keys, mut signing_keys) = (Vec::new(), Vec::new());
        for (key, secret) in consumer.keys.into_iter().zip(secrets) {
            let expires_at = key.expires_at;
            match secret {
                ConsumerSecret::Digest(digest) => api_keys.push(ConsumerApiKey { digest, expires_at }),
                ConsumerSecret::Text(secret) => signing_keys.push(ConsumerSigningKey { secret, expires_at }),
                ConsumerSecret::Sealed(error) => {
                    slog::warn!(self.log, "a key of a consumer cannot be decrypted and is refused";
                        "consumer" => &consumer.name, "key" => &key.id, "reason" => %error);
                }
                ConsumerSecret::Unknown => {
                    slog::warn!(self.log, "a key of a consumer is of an unknown form and is refused";
                        "consumer" => &consumer.name, "key" => &key.id);
                }
            }
        }
        let identity = ConsumerIdentity {
            name: consumer.name.into(),
            quota: consumer.quota,
            created_at: consumer.created_at,
        };
        ConsumerRecord {
            identity: Arc::new(identity),
            tags: consumer.tags,
            expires_at: consumer.expires_at,
            api_keys,
            signing_keys,
        }
    }
}
