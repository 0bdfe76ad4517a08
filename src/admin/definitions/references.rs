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

impl References for DefinitionReferences {
    fn workflow_names(&self, workflow: &WorkflowContent, kind: EntityKind, name: &str) -> bool {
        let dependencies = self.engine.dependencies(workflow);
        match kind {
            EntityKind::Connector => dependencies.connectors.iter().any(|used| used.connector == name),
            EntityKind::Channel => dependencies.channels.iter().any(|called| called == name),
            EntityKind::Workflow => false,
        }
    }

    /// Any block of the config that keeps its state in a connector names it so; `on_failure` names a channel.
    fn channel_names(&self, channel: &ChannelContent, kind: EntityKind, name: &str) -> bool {
        let mut blocks = channel.config.as_object().into_iter().flatten();
        match kind {
            EntityKind::Connector => blocks.any(|(_, block)| block["connector"] == *name),
            EntityKind::Channel => channel.config["on_failure"] == *name,
            EntityKind::Workflow => false,
        }
    }
}
