//! Names that definitions refer to, checked before a deletion or renaming.

use std::sync::Arc;

use svc_engine::Engine;
use svc_model::{ChannelContent, EntityKind, WorkflowContent};
use svc_store::References;

/// Reads names off definitions as the engine and the channels do.
struct DefinitionReferences {
    engine: Arc<Engine>,
}

/// The reader of names.
pub(crate) fn references(engine: &Arc<Engine>) -> Arc<dyn References> {
    Arc::new(DefinitionReferences { engine: Arc::clone(engine) })
}

/// Returns the names of the connectors in which blocks of the config of a channel keep their state.
pub(crate) fn config_connectors(channel: &ChannelContent) -> impl Iterator<Item = &str> {
    let blocks = channel.config.as_object().into_iter().flatten();
    blocks.filter_map(|(_, block)| block["connector"].as_str())
}

/// Returns the name of the channel to which a channel reports its failures.
pub(crate) fn failure_channel(channel: &ChannelContent) -> Option<&str> {
    channel.config["on_failure"].as_str()
}

impl References for DefinitionReferences {
    fn workflow_names(&self, workflow: &WorkflowContent, kind: EntityKind, name: &str) -> bool {
        let dependencies = self.engine.dependencies(workflow);
        match kind {
            EntityKind::Connector => dependencies.connectors.iter().any(|used| used.connector == name),
            EntityKind::Channel => dependencies.channels.iter().any(|called| called == name),
            EntityKind::Workflow => false,
        }
    }

    fn channel_names(&self, channel: &ChannelContent, kind: EntityKind, name: &str) -> bool {
        match kind {
            EntityKind::Connector => config_connectors(channel).any(|used| used == name),
            EntityKind::Channel => failure_channel(channel) == Some(name),
            EntityKind::Workflow => false,
        }
    }

    fn workflow_calls(&self, workflow: &WorkflowContent, plugin: &str) -> bool {
        self.engine.dependencies(workflow).plugins.iter().any(|called| called == plugin)
    }
}
