//! From the text of a file to settings.

use std::collections::BTreeSet;

use svc_secrets::{SubstituteError, Syntax, substitute};

use super::Config;
use super::problem::{Diagnostics, nearest_name};
use super::setting::{ALIASES, SettingNode, describe_value, join};

/// The content of a file.
pub(crate) struct ConfigFile {
    /// The values; `None` for a text that cannot be parsed, which is reported.
    pub(crate) table: Option<toml::Table>,
    /// The variables in its placeholders.
    pub(crate) placeholders: BTreeSet<String>,
}

/// Substitutes placeholders and parses the text. A problem names the position and never the text of the line,
/// which may hold a secret.
pub(crate) fn parse(
    name: &str,
    text: &str,
    lookup: impl Fn(&str) -> Option<String>,
    diagnostics: &mut Diagnostics,
) -> ConfigFile {
    let substituted = match substitute(text, Syntax::Toml, lookup) {
        Ok(substituted) => substituted,
        Err(errors) => {
            for SubstituteError { line, column, problem } in errors {
                diagnostics.refuse_subject(format!("{name}:{line}:{column}"), problem.to_string());
            }
            let placeholders = substitute(text, Syntax::Toml, |_| Some(String::new()))
                .map(|done| done.names)
                .unwrap_or_default();
            return ConfigFile { table: None, placeholders };
        }
    };
    let table = substituted.text.parse::<toml::Table>().map_err(|error| {
        let before = &substituted.text[..error.span().map_or(0, |span| span.start)];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let (line, column) = (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1);
        diagnostics.refuse_subject(
            format!("{name}:{line}:{column}"),
            format!("not valid TOML: {}", error.message()),
        );
    });
    ConfigFile { table: table.ok(), placeholders: substituted.names }
}

/// Assigns the values to the settings and refuses unknown keys.
pub(crate) fn apply(config: &mut Config, mut table: toml::Table, diagnostics: &mut Diagnostics) {
    for (alias, key) in ALIASES {
        move_alias(&mut table, alias, key, diagnostics);
    }
    let mut keys = Vec::new();
    config.visit("", &mut |key, setting| {
        keys.push(key.to_owned());
        match find(&table, key).map(|value| setting.read(value)) {
            Some(Ok(())) => diagnostics.mark_read(key),
            Some(Err(problem)) => diagnostics.refuse_unreadable(key, key, problem),
            None => {}
        }
    });
    refuse_unknown(&table, "", &keys, diagnostics);
}

/// Moves the value of an alias to its setting.
fn move_alias(table: &mut toml::Table, alias: &str, key: &str, diagnostics: &mut Diagnostics) {
    let Some(value) = find(table, alias).cloned() else { return };
    let (Some((section, name)), Some((alias_section, alias_name))) =
        (key.split_once('.'), alias.split_once('.'))
    else {
        return;
    };
    if let Some(members) = table.get_mut(alias_section).and_then(toml::Value::as_table_mut) {
        members.remove(alias_name);
    }
    let members = table.entry(section).or_insert_with(|| toml::Table::new().into());
    match members.as_table_mut() {
        Some(members) if members.contains_key(name) => {
            diagnostics.refuse_subject(
                alias,
                format!("is another name of {key}, which is set too; keep one of them"),
            );
        }
        Some(members) => drop(members.insert(name.to_owned(), value)),
        None => {}
    }
}

/// Returns the value at a dotted path.
fn find<'a>(table: &'a toml::Table, path: &str) -> Option<&'a toml::Value> {
    match path.split_once('.') {
        Some((section, rest)) => find(table.get(section)?.as_table()?, rest),
        None => table.get(path),
    }
}

fn refuse_unknown(table: &toml::Table, section: &str, keys: &[String], diagnostics: &mut Diagnostics) {
    for (name, value) in table {
        let path = join(section, name);
        // A quoted key may hold a dot, which makes it look like a path it is not.
        let quoted = name.contains('.');
        if !quoted && keys.contains(&path) {
            continue;
        }
        let is_section = !quoted
            && keys.iter().any(|key| key.strip_prefix(&path).is_some_and(|rest| rest.starts_with('.')));
        match (is_section, value.as_table()) {
            (true, Some(members)) => refuse_unknown(members, &path, keys, diagnostics),
            (true, None) => {
                diagnostics.refuse_subject(&path, format!("is a section, found {}", describe_value(value)))
            }
            (false, _) => {
                let kind = if value.is_table() && section.is_empty() { "section" } else { "key" };
                let hint = hint(&path, keys)
                    .map_or_else(|| "remove it".to_owned(), |near| format!("did you mean {near}?"));
                diagnostics.refuse_subject(&path, format!("unknown {kind}; {hint}"));
            }
        }
    }
}

/// Returns the likely meaning of an unknown key: a key or section with a similar name, else the one key of
/// that name elsewhere.
fn hint<'a>(path: &str, keys: &'a [String]) -> Option<&'a str> {
    let sections = keys.iter().flat_map(|key| key.match_indices('.').map(|(at, _)| &key[..at]));
    let names = keys.iter().map(String::as_str).chain(sections);
    nearest_name(path, names).or_else(|| {
        let name = path.rsplit('.').next().unwrap_or(path);
        let mut same = keys.iter().filter(|key| key.rsplit('.').next() == Some(name));
        same.next().filter(|_| same.next().is_none()).map(String::as_str)
    })
}
