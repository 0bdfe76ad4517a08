//! The connectors and channels that a workflow calls, read off its document.

use std::collections::HashSet;

use serde_json::Value;
use svc_model::documents::STEP_LISTS;
use svc_model::{ConnectorType, WorkflowContent};

use crate::catalogue::{Catalogue, FunctionTarget, QueryLanguage};

/// A connector that a task names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectorUse {
    /// Path of the field that names it, such as `tasks[2].function.input.connector`.
    pub path: String,
    /// Name of the connector.
    pub connector: String,
    /// The task's function.
    pub function: String,
    /// Connector types that the function accepts.
    pub accepts: &'static [ConnectorType],
    /// The one language that the function speaks; `None` if it works with every system of the accepted types.
    pub language: Option<QueryLanguage>,
    /// True if the task names a `database`.
    pub names_database: bool,
    /// An input that the task leaves to the settings of the connector.
    pub inherited_input: Option<&'static str>,
    /// True if the task computes a whole address, which the connector must allow.
    pub computes_address: bool,
}

/// A task that calls a channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelCallUse {
    /// Path of the field that names or computes the channel.
    pub path: String,
    /// Name of the channel; `None` if it is computed.
    pub channel: Option<String>,
}

/// The systems that a workflow calls.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Dependencies {
    /// Connectors, in the order of the tasks.
    pub connectors: Vec<ConnectorUse>,
    /// Names of called channels, each once, in the order of the tasks.
    pub channels: Vec<String>,
    /// Every call of a channel, in the order of the tasks.
    pub channel_calls: Vec<ChannelCallUse>,
    /// Ids of the plugins whose functions are called, each once, in the order of the tasks.
    pub plugins: Vec<String>,
    /// True if a called channel is chosen at run time, so that `channels` cannot be complete.
    pub has_dynamic_channel_calls: bool,
}

impl Dependencies {
    /// Reads the dependencies of a workflow; tasks that cannot be read are skipped.
    pub(crate) fn read(catalogue: &Catalogue, content: &WorkflowContent) -> Self {
        let mut dependencies = Self::default();
        for (path, steps) in content.step_lists() {
            dependencies.add_steps(catalogue, steps, path);
        }
        let mut named = HashSet::new();
        dependencies.channels.retain(|channel| named.insert(channel.clone()));
        let mut called = HashSet::new();
        dependencies.plugins.retain(|plugin| called.insert(plugin.clone()));
        dependencies
    }

    fn add_steps(&mut self, catalogue: &Catalogue, steps: &[Value], path: &str) {
        for (index, step) in steps.iter().enumerate() {
            let path = format!("{path}[{index}]");
            if step.get("tasks").is_some_and(Value::is_array) {
                for key in STEP_LISTS {
                    let members = step[key].as_array().map_or(&[][..], Vec::as_slice);
                    self.add_steps(catalogue, members, &format!("{path}.{key}"));
                }
            } else if let Some(name) = step["function"]["name"].as_str() {
                self.add_task(catalogue, name, &step["function"]["input"], &path);
            }
        }
    }

    fn add_task(&mut self, catalogue: &Catalogue, function: &str, input: &Value, path: &str) {
        // The names of functions of plugins alone have a dot. The catalogue need not have the plugin.
        if let Some((plugin, _)) = function.split_once('.') {
            self.plugins.push(plugin.to_owned());
        }
        let Some(entry) = catalogue.find(function) else { return };
        match (entry.target, input["connector"].as_str()) {
            (FunctionTarget::Channel, _) => self.add_channel_call(input, path),
            (FunctionTarget::Connector(accepted), Some(connector)) => self.connectors.push(ConnectorUse {
                path: format!("{path}.function.input.connector"),
                connector: connector.to_owned(),
                function: function.to_owned(),
                accepts: accepted.types,
                language: accepted.language,
                names_database: input["database"].as_str().is_some_and(|name| !name.is_empty()),
                inherited_input: accepted.inherited_input.filter(|name| input[*name].is_null()),
                computes_address: accepted.address_input.is_some_and(|name| !input[name].is_null()),
            }),
            (FunctionTarget::Connector(_) | FunctionTarget::None | FunctionTarget::Topic, _) => {}
        }
    }

    fn add_channel_call(&mut self, input: &Value, path: &str) {
        let is_computed = input.get("channel_logic").is_some();
        let channel = input["channel"].as_str().filter(|_| !is_computed);
        match channel {
            Some(channel) => self.channels.push(channel.to_owned()),
            None => self.has_dynamic_channel_calls = true,
        }
        let field = if is_computed { "channel_logic" } else { "channel" };
        self.channel_calls.push(ChannelCallUse {
            path: format!("{path}.function.input.{field}"),
            channel: channel.map(str::to_owned),
        });
    }
}
