//! The engine of the commands that work without a server: the functions and the limits of one with the default
//! configuration, and no store, no network and no environment.
//!
//! Definitions are checked by it exactly as the admin API checks them. Functions over connectors and channels are there
//! to be checked and to be answered by stubs; nothing here carries them out.

use std::sync::Arc;

use futures_util::future::{BoxFuture, ready};
use svc_auth::{Jwks, KeySet, KeySets};
use svc_engine::{Engine, EngineBuilder};
use svc_functions::NoCaches;
use svc_functions::declarations::register_declarations;
use svc_outbound::key_set_url;

/// Returns the builder of an engine with every function of the service.
#[must_use]
pub fn engine_builder() -> EngineBuilder {
    let engine = Engine::builder().version(crate::VERSION);
    let key_sets = OfflineKeySets { allow_private: false };
    register_declarations(svc_functions::register(engine, Arc::new(key_sets), Arc::new(NoCaches)))
}

/// Key sets that are never fetched. Their URLs are checked as a server would.
pub struct OfflineKeySets {
    /// Accepts URLs that lead to private addresses.
    pub allow_private: bool,
}

impl KeySets for OfflineKeySets {
    fn key_set(&self, url: &str) -> Result<Arc<dyn KeySet>, String> {
        key_set_url(url, self.allow_private)?;
        Ok(Arc::new(OfflineKeySet))
    }

    fn issuer_key_set(&self, issuer: &str) -> Result<Arc<dyn KeySet>, String> {
        self.key_set(issuer)
    }
}

/// A key set without keys.
struct OfflineKeySet;

impl KeySet for OfflineKeySet {
    fn fresh(&self) -> Option<Arc<Jwks>> {
        None
    }

    fn obtain(&self) -> BoxFuture<'_, Option<Arc<Jwks>>> {
        Box::pin(ready(None))
    }

    fn renew<'s>(&'s self, _seen: &'s Arc<Jwks>) -> BoxFuture<'s, Option<Arc<Jwks>>> {
        Box::pin(ready(None))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use svc_model::{FieldCode, validate_workflow};

    use super::*;

    #[test]
    fn offline_engine_checks_every_function_of_the_service() {
        let engine = engine_builder().build();
        let names: Vec<_> = engine.catalogue().names().collect();
        for name in ["map", "crypto", "jwt_verify", "http_call", "cache_read", "channel_call"] {
            assert!(names.contains(&name), "{name} is missing among {names:?}");
        }
        let verify = |url: &str| {
            let input = json!({"token": "t", "algorithms": ["RS256"], "jwks_url": url, "issuer": "i", "audience": "a"});
            let task = json!({"id": "t", "name": "t", "function": {"name": "jwt_verify", "input": input}});
            validate_workflow(&json!({"name": "w", "tasks": [task]}), &engine)
        };
        assert!(verify("https://issuer.example/keys").valid());
        let refused = verify("https://127.0.0.1/keys");
        assert_eq!(refused.errors[0].code, Some(FieldCode::Invalid), "{refused:?}");
    }
}
