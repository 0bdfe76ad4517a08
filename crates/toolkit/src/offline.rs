//! The engine of the commands that work without a server: the functions and the limits of one with the default
//! configuration, and no store, no network and no environment.
//!
//! Definitions are checked by it exactly as the admin API checks them. Functions that reach outside are there to be
//! checked and to be answered by stubs; called for real they find no connector, no channel and no key set.

use std::sync::Arc;

use futures_util::future::{BoxFuture, ready};
use svc_auth::{Jwks, KeySet, KeySets};
use svc_channels::call::{self, DirectoryHandle};
use svc_connectors::ConnectorDirectory;
use svc_engine::{Engine, EngineBuilder};
use svc_keysets::key_set_url;

use crate::config::Config;
use crate::settings;

/// Returns the builder of an engine with every function of the service.
pub fn engine_builder() -> EngineBuilder {
    engine_builder_for(&Config::default())
}

/// Returns the builder of an engine that checks definitions as a server with this configuration does.
pub(crate) fn engine_builder_for(config: &Config) -> EngineBuilder {
    let engine = Engine::builder().limits(settings::engine_limits(config)).version(crate::VERSION);
    let key_sets = OfflineKeySets { allow_private: config.jwt.allow_private_jwks_urls };
    let engine = svc_functions::register(engine, Arc::new(key_sets));
    let connectors = ConnectorDirectory::default();
    let engine = svc_connectors::register(engine, &connectors, settings::call_settings(config));
    call::register(engine, DirectoryHandle::default(), settings::call_limits(config))
}

/// Key sets that are never fetched. Their URLs are checked as a server would.
struct OfflineKeySets {
    allow_private: bool,
}

impl KeySets for OfflineKeySets {
    fn key_set(&self, url: &str) -> Result<Arc<dyn KeySet>, String> {
        key_set_url(url, self.allow_private)?;
        Ok(Arc::new(OfflineKeySet))
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
    fn the_offline_engine_checks_every_function_of_the_service() {
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
