//! Settings from the environment: `SVC_<SECTION>__<KEY>`. Strict: a name that looks like a setting and is
//! none prevents the start, so that a typing error never leaves a default in force unnoticed.

use std::collections::BTreeSet;

use svc_secrets::mask::{looks_secret, mask_url};

use super::Config;
use super::problem::{Diagnostics, nearest_name};
use super::setting::{ALIASES, PREFIX, Setting, SettingNode, is_bracketed_list, variable_name};

/// Names in this space hold secrets for references and are never read as settings.
const SECRETS: &str = "SVC_SECRET_";

/// Former names with their successors; a `*` means the rest of a name. Without a successor the setting
/// was removed.
const RETIRED: [(&str, Option<&str>); 6] = [
    ("SVC_ENV", Some("SVC_ENVIRONMENT")),
    ("SVC_QUEUE__*", Some("SVC_TRACE_QUEUE__*")),
    ("SVC_CHANNELS__*", Some("SVC_CHANNEL_FILTER__*")),
    ("SVC_TRACING__STORAGE__*", Some("SVC_TRACE_STORAGE__*")),
    ("SVC_KAFKA__MAX_INFLIGHT", None),
    ("SVC_ENGINE__RELOAD_TIMEOUT_SECS", None),
];

/// Assigns the values of the environment to the settings and refuses unknown names.
pub(crate) fn apply(
    config: &mut Config,
    environment: &[(String, String)],
    placeholders: &BTreeSet<String>,
    diagnostics: &mut Diagnostics,
) {
    let mut variables: Vec<(&str, &str)> = environment
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .filter(|(name, _)| name.starts_with(PREFIX))
        .collect();
    variables.retain(|(name, _)| match retired_advice(name) {
        Some(advice) => {
            diagnostics.refuse_subject(*name, advice);
            false
        }
        None => true,
    });
    refuse_duplicates(&variables, diagnostics);
    let mut settings = Vec::new();
    config.visit("", &mut |key, setting| {
        let name = variable_name(key);
        let alias = ALIASES.iter().find(|(_, of)| *of == key).map(|(alias, _)| variable_name(alias));
        variables.retain(|(given, text)| {
            let below = given.strip_prefix(name.as_str());
            let own = below == Some("") || alias.as_deref() == Some(given);
            if !setting.overridable() && (own || below.is_some_and(|rest| rest.starts_with("__"))) {
                diagnostics.refuse_subject(
                    *given,
                    format!("cannot be set from the environment; write {key} in the file"),
                );
                return false;
            }
            if own {
                assign(key, setting, given, text, diagnostics);
            }
            !own
        });
        if setting.overridable() {
            settings.push(name);
        }
    });
    for (name, _) in variables {
        if !name.starts_with(SECRETS) && !placeholders.contains(name) {
            refuse_unknown(name, &settings, diagnostics);
        }
    }
}

fn assign(key: &str, setting: &mut dyn Setting, name: &str, text: &str, diagnostics: &mut Diagnostics) {
    if setting.assign(text) {
        diagnostics.mark_overridden(key);
        return;
    }
    let got = if looks_secret(key) { String::new() } else { format!(", got {:?}", mask_url(text)) };
    let remedy = if is_bracketed_list(text) {
        "; write its items apart by commas, without brackets and quotes"
    } else {
        ""
    };
    diagnostics.refuse_unreadable(
        key,
        name,
        format!("expected {}{got}{remedy}", setting.describe_expected()),
    );
}

/// Refuses an alias whose setting is given too.
fn refuse_duplicates(given: &[(&str, &str)], diagnostics: &mut Diagnostics) {
    let has = |key: &str| given.iter().any(|(name, _)| *name == variable_name(key));
    for (alias, key) in ALIASES.into_iter().filter(|(alias, key)| has(alias) && has(key)) {
        diagnostics.refuse_subject(
            variable_name(alias),
            format!("is another name of {}, which is set too; keep one of them", variable_name(key)),
        );
    }
}

/// Returns the remedy for a name that is no longer used.
fn retired_advice(name: &str) -> Option<String> {
    RETIRED.into_iter().find_map(|(old, new)| {
        let rest = match old.strip_suffix('*') {
            Some(start) => name.strip_prefix(start)?,
            None => (name == old).then_some("")?,
        };
        Some(match new {
            Some(new) => format!("is now called {}", new.replace('*', rest)),
            None => "no longer exists; unset it".to_owned(),
        })
    })
}

/// A name with `__` has to be a setting; one without is refused only when it is nearly a setting of the top
/// level, because other programs own names of that form (`SVC_PORT`, `SVC_SERVICE_HOST`).
fn refuse_unknown(name: &str, settings: &[String], diagnostics: &mut Diagnostics) {
    let names = settings.iter().map(String::as_str);
    if name.contains("__") {
        let hint = nearest_name(name, names)
            .map_or_else(|| "unset it".to_owned(), |near| format!("did you mean {near}?"));
        diagnostics.refuse_subject(name, format!("is no setting; {hint}"));
    } else if let Some(near) =
        nearest_name(name, names.filter(|setting| !setting[PREFIX.len()..].contains("__")))
    {
        diagnostics.refuse_subject(name, format!("is no setting; did you mean {near}?"));
    }
}
