//! The settings that every channel of a process shares.

use std::borrow::Cow;
use std::time::Duration;

use serde_json::Value;
use svc_model::config::InstanceProviders;
use svc_model::config::value_reference::{ValueScope, find_value_references, replace_value_references};
use svc_model::{Channel, ClientNetworks};

use crate::shadows::CompareRuns;
use crate::shape_limits::ShapeLimits;

/// Server settings that channels follow.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The declared variables, stamped on every message; `None` removes whatever a caller put there.
    pub vars: Option<Value>,
    /// Answers carry the real text of task errors instead of one fixed sentence.
    pub verbose_errors: bool,
    /// Largest body of a synchronous answer, in bytes; `None` for no cap.
    pub max_result_bytes: Option<usize>,
    /// Header, lower case, whose value keeps a caller on one version of a workflow.
    pub rollout_sticky_header: Option<String>,
    /// This node runs scheduled channels; otherwise it quarantines them.
    pub cron_enabled: bool,
    /// Callers may ask for a profile of their run.
    pub profiles: bool,
    /// The limits on the width of the objects and arrays of a message.
    pub shape_limits: ShapeLimits,
    /// The networks that count as one caller.
    pub client_networks: ClientNetworks,
    /// Longest time by which a caller may delay accepted work.
    pub max_delay: Duration,
    /// The identity providers of the instance, for channels that take them.
    pub sign_in_providers: InstanceProviders,
    /// Shadows that wait or run at once; 0 for none.
    pub shadow_max_concurrency: usize,
    /// The comparison of a run with its shadow; without one their ends are compared.
    pub shadow_compare: Option<CompareRuns>,
}

impl Settings {
    /// Returns a stored channel with the declared values in the places of its references, `var://name`, and with the
    /// identity providers of the instance, if it takes them.
    ///
    /// # Errors
    /// The reason to quarantine the channel: a reference to a value that is not declared.
    pub(crate) fn resolve_values<'c>(&self, row: &'c Channel) -> Result<Cow<'c, Channel>, String> {
        let declared = self.vars.as_ref().and_then(Value::as_object);
        let has_references = |scope, part| !find_value_references(scope, part).is_empty();
        let content = &row.content;
        let takes_providers = InstanceProviders::are_wanted(&content.config);
        if !takes_providers
            && !has_references(ValueScope::ChannelConfig, &content.config)
            && !has_references(ValueScope::ChannelTransport, &content.transport_config)
        {
            return Ok(Cow::Borrowed(row));
        }
        let mut row = row.clone();
        let content = &mut row.content;
        if takes_providers {
            content.config = self.sign_in_providers.complete(&content.config).into_owned();
        }
        let mut problems = Vec::new();
        for (scope, part) in [
            (ValueScope::ChannelConfig, &mut content.config),
            (ValueScope::ChannelTransport, &mut content.transport_config),
        ] {
            problems.extend(replace_value_references(scope, part, declared).err().unwrap_or_default());
        }
        if problems.is_empty() {
            return Ok(Cow::Owned(row));
        }
        let problems: Vec<_> = problems.iter().map(ToString::to_string).collect();
        Err(problems.join("; "))
    }

    /// Checks the length of a result.
    ///
    /// # Errors
    /// The message for operators: it is larger than what may be answered and stored.
    pub(crate) fn check_result(&self, bytes: usize) -> Result<(), String> {
        match self.max_result_bytes {
            Some(limit) if bytes > limit => {
                Err(format!("The result has {bytes} bytes, trace_queue.max_result_size_bytes allows {limit}"))
            }
            _ => Ok(()),
        }
    }
}
