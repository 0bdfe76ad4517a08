//! The channels of a project for the documents of their callers.

use svc_contract::DocumentedChannel;
use svc_model::config::value_reference::{ValueScope, replace_value_references};
use svc_model::{ChannelConfig, FieldError};

use crate::checks::Check;
use crate::content::EntityContent;
use crate::finding::Finding;
use crate::lint::LintedProject;
use crate::values::EnvironmentValues;

/// Returns the channels of a linted project, with the values of an environment in the places of references.
///
/// # Errors
/// A finding for each channel whose config cannot be read, which is one that names values.
pub fn documented_channels(
    linted: &LintedProject<'_>,
    values: Option<&EnvironmentValues>,
) -> Result<Vec<DocumentedChannel>, Vec<Finding>> {
    let (mut channels, mut findings) = (Vec::new(), Vec::new());
    for checked in &linted.entities {
        let Some(content) = checked.content.as_ref().and_then(EntityContent::channel) else { continue };
        let mut content = content.clone();
        let replaced = values.map_or(Ok(()), |values| {
            replace_value_references(ValueScope::ChannelConfig, &mut content.config, Some(&values.vars))
        });
        match replaced.and_then(|()| ChannelConfig::parse(&content.config)) {
            Ok(config) => channels.push(DocumentedChannel { content, config }),
            Err(problems) => findings.push(unread(&checked.entity.label, values.is_some(), &problems)),
        }
    }
    if findings.is_empty() { Ok(channels) } else { Err(findings) }
}

fn unread(channel: &str, has_values: bool, problems: &[FieldError]) -> Finding {
    let check = if has_values { Check::ValuesType } else { Check::ValuesUndeclared };
    let problems: Vec<_> = problems.iter().map(ToString::to_string).collect();
    let finding = check.finding(channel, problems.join("; "));
    let remedy = "name the values of an environment with --values".to_owned();
    if has_values { finding } else { Finding { fix: Some(remedy), ..finding } }
}
