//! Names and their pages: each setting, metric, function, error code, command and endpoint is counted
//! and looked up on a page that the summary of the book lists.
//!
//! The names are asked of the program, not of what makes the pages.

use std::collections::{BTreeMap, BTreeSet};

use clap::{Command, CommandFactory as _};
use serde_json::Value;
use svc::Options;
use svc::cli::Cli;
use svc::config::config_schema;
use svc_api::endpoints;
use svc_engine::ErrorCode;
use svc_model::{Code, FieldCode};

use super::docs;
use crate::kit::{RunningService, with_service};

/// Names of one kind, each with a text that its page has.
struct CountedNames {
    kind: &'static str,
    /// The fewest names that are expected: with fewer the check would pass on nothing.
    fewest: usize,
    page: &'static str,
    names: BTreeMap<String, String>,
}

impl CountedNames {
    /// Counts names that their page shows as code.
    fn new(
        kind: &'static str,
        fewest: usize,
        page: &'static str,
        names: impl IntoIterator<Item = String>,
    ) -> Self {
        let shown = |name: String| (name.clone(), format!("`{name}`"));
        Self { kind, fewest, page, names: names.into_iter().map(shown).collect() }
    }

    /// Returns the names that the page does not have.
    fn find_missing(&self) -> Vec<&str> {
        let page = std::fs::read_to_string(docs(self.page)).unwrap();
        let missing = self.names.iter().filter(|(_, text)| !page.contains(text.as_str()));
        missing.map(|(name, _)| name.as_str()).collect()
    }
}

/// Adds the keys of a schema of settings below a section; a table without keys is one setting.
fn add_settings(schema: &Value, section: &str, settings: &mut BTreeSet<String>) {
    let keys = schema["properties"].as_object().into_iter().flatten();
    for (key, inner) in keys {
        let path = if section.is_empty() { key.clone() } else { format!("{section}.{key}") };
        if inner["properties"].is_object() {
            add_settings(inner, &path, settings);
        } else {
            settings.insert(path);
        }
    }
}

fn settings() -> CountedNames {
    let mut settings = BTreeSet::new();
    add_settings(&config_schema(), "", &mut settings);
    let mut counted = CountedNames::new("settings", 190, "configuration.md", settings);
    for (path, text) in &mut counted.names {
        // Tables of the names of users have a section in place of a row, and their own keys are in its text.
        if !path.contains('.') && path != "environment" {
            *text = format!("## `[{path}]`");
        } else if let Some(key) = path.strip_prefix("secrets.") {
            *text = format!("`{key}`");
        }
    }
    counted
}

/// Returns the metrics that a service shows.
fn metrics(running: &RunningService) -> CountedNames {
    let shown = running.client().get("/metrics").unwrap().text();
    let kinds = shown.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next());
    CountedNames::new("metrics", 60, "metrics.md", kinds.map(str::to_owned))
}

fn functions(running: &RunningService) -> CountedNames {
    let names = running.service.state().serving.engine.catalogue().names();
    CountedNames::new("functions", 34, "functions.md", names.map(str::to_owned))
}

fn codes() -> CountedNames {
    let entries = Code::ALL.iter().map(|code| code.entry());
    let entries = entries.chain(ErrorCode::ALL.iter().map(|code| code.entry()));
    let entries = entries.chain(FieldCode::ALL.iter().map(|code| code.entry()));
    CountedNames::new("error codes", 50, "errors.md", entries.map(|entry| entry.name.to_owned()))
}

/// Adds a command and those below it, hidden ones too.
fn add_commands(command: &Command, path: &str, names: &mut BTreeMap<String, String>) {
    names.insert(path.to_owned(), format!("\n## {path}\n"));
    for inner in command.get_subcommands().filter(|inner| inner.get_name() != "help") {
        add_commands(inner, &format!("{path} {}", inner.get_name()), names);
    }
}

/// Returns the commands of the server; those of `svc-cli` are counted by its own test.
fn commands() -> CountedNames {
    let mut names = BTreeMap::new();
    add_commands(&Cli::command(), "svc-server", &mut names);
    CountedNames { kind: "commands", fewest: 40, page: "server-reference.md", names }
}

fn described_endpoints() -> CountedNames {
    let requests = endpoints::all().map(|endpoint| format!("{} {}", endpoint.method.name(), endpoint.path));
    CountedNames::new("endpoints", 130, "endpoints.md", requests)
}

#[test]
fn everything_named_is_on_a_page() {
    with_service(Options::default(), |running| {
        let summary = std::fs::read_to_string(docs("SUMMARY.md")).unwrap();
        let all =
            [settings(), metrics(running), functions(running), codes(), commands(), described_endpoints()];
        for counted in all {
            let CountedNames { kind, fewest, page, names } = &counted;
            assert!(names.len() >= *fewest, "{kind}: {} alone were counted", names.len());
            assert!(summary.contains(&format!("]({page})")), "{page} is not in the book");
            let missing = counted.find_missing();
            assert!(missing.is_empty(), "docs/{page} lacks {} {kind}: {missing:?}", missing.len());
        }
    });
}
