//! The engine that stored definitions are compiled with: that of a server with this configuration, without connectors,
//! channels and key sets.

use std::sync::Arc;

use svc_channels::call::{self, DirectoryHandle};
use svc_connectors::ConnectorDirectory;
use svc_engine::Engine;
use svc_functions::NoCaches;
use svc_toolkit::offline::OfflineKeySets;

use crate::config::Config;
use crate::settings;

/// Builds an engine that checks and compiles definitions as a server with this configuration does.
pub(super) fn build_engine(config: &Config) -> Engine {
    let engine = Engine::builder().limits(settings::engine_limits(config)).version(crate::VERSION);
    let key_sets = OfflineKeySets { allow_private: config.jwt.allow_private_jwks_urls };
    let engine = svc_functions::register(engine, Arc::new(key_sets), Arc::new(NoCaches));
    let connectors = ConnectorDirectory::default();
    let engine = svc_connectors::register(engine, &connectors, settings::call_settings(config));
    call::register(engine, DirectoryHandle::default(), settings::call_limits(config)).build()
}

#[cfg(test)]
mod tests {
    use svc_engine::EngineLimits;
    use svc_toolkit::offline;

    use super::*;

    #[test]
    fn toolkit_knows_every_function_of_a_server() {
        let (server, toolkit) = (build_engine(&Config::default()), offline::engine_builder().build());
        let names = |engine: &Engine| engine.catalogue().names().map(str::to_owned).collect::<Vec<_>>();
        let known = names(&toolkit);
        // A build without some drivers has fewer functions.
        for name in names(&server) {
            assert!(known.contains(&name), "{name} is missing among {known:?}");
        }
    }

    #[test]
    fn toolkit_has_the_limits_of_a_default_server() {
        assert_eq!(settings::engine_limits(&Config::default()), EngineLimits::default());
    }
}
