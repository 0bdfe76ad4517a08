//! The lines that the author reads.

use std::io::{self, IsTerminal as _, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use svc_api::docs::DOCS;
use svc_outbound::PrintableWriter;
use svc_project::Severity;
use svc_toolkit::report::{self, TextStyle};
use svc_toolkit::{DeployedProject, ProjectUpdate};

use crate::config::Config;
use crate::http::DATA_PREFIX;

/// The standard error of the command, which its log shares.
pub(super) struct DevTerminal {
    directory: PathBuf,
    /// The address of the service, as a URL without a path.
    base: String,
    style: TextStyle,
    /// The lines about channels that were shown last.
    channels: Vec<String>,
}

impl DevTerminal {
    /// Makes the terminal of a project that is served at that address.
    pub(super) fn new(directory: &Path, base: String, environment: &[(String, String)]) -> Self {
        let style = TextStyle::detect(io::stderr().is_terminal(), environment);
        Self { directory: directory.to_owned(), base, style, channels: Vec::new() }
    }

    /// Shows the places of the service.
    pub(super) fn show_start(&self, pages: &[(&str, &str)]) {
        self.write(|out| {
            writeln!(out, "watching {}", self.directory.display())?;
            pages.iter().try_for_each(|(name, path)| writeln!(out, "  {name:<8} {}{path}", self.base))?;
            writeln!(out, "  Ctrl-C ends it")
        });
    }

    /// Shows the result of an update.
    pub(super) fn show_update(&mut self, update: &ProjectUpdate, took: Duration) {
        let channels = update.deployed.as_ref().map(|deployed| channel_lines(deployed, &self.base));
        self.write(|out| {
            report::write_text(&update.findings, &self.directory, self.style, out)?;
            match &update.deployed {
                Some(deployed) => {
                    write_deployed(deployed, took, out)?;
                    let news = channels.as_ref().filter(|channels| **channels != self.channels);
                    news.into_iter().flatten().try_for_each(|line| writeln!(out, "  {line}"))
                }
                None => write_refused(update, out),
            }
        });
        if let Some(channels) = channels {
            self.channels = channels;
        }
    }

    /// Writes to standard error. Who closed it does not want to see the progress.
    fn write(&self, lines: impl FnOnce(&mut dyn Write) -> io::Result<()>) {
        let mut err = io::stderr().lock();
        let may_color = self.style == TextStyle::Excerpt { color: true };
        let mut out = PrintableWriter::new(&mut err, may_color);
        let _closed = lines(&mut out).and_then(|()| out.flush());
    }
}

fn write_deployed(deployed: &DeployedProject, took: Duration, out: &mut dyn Write) -> io::Result<()> {
    let DeployedProject { total, changed, archived, degraded, .. } = deployed;
    writeln!(out, "served: {total} definition(s), {changed} changed, in {} ms", took.as_millis())?;
    archived.iter().try_for_each(|entity| writeln!(out, "  gone: {entity}"))?;
    degraded.iter().try_for_each(|problem| writeln!(out, "warning: {problem}"))
}

fn write_refused(update: &ProjectUpdate, out: &mut dyn Write) -> io::Result<()> {
    update.refusals.iter().try_for_each(|line| writeln!(out, "error: {line}"))?;
    let errors = update.findings.iter().filter(|finding| finding.severity == Severity::Error).count();
    let errors = errors + usize::from(!update.refusals.is_empty());
    writeln!(out, "not served: {errors} error(s); what was served before goes on serving")
}

/// Returns a line for each channel: the way in which messages reach it, and its name.
fn channel_lines(deployed: &DeployedProject, base: &str) -> Vec<String> {
    let mut lines: Vec<_> = deployed.channels.iter().map(|document| channel_line(document, base)).collect();
    lines.sort();
    lines
}

fn channel_line(document: &Value, base: &str) -> String {
    let text = |member: &str| document[member].as_str().filter(|text| !text.is_empty());
    let name = text("name").unwrap_or_default();
    match text("protocol") {
        Some("kafka") => format!("topic {}  {name}", text("topic").unwrap_or_default()),
        Some("cron") => {
            let schedule = document["transport_config"]["schedule"].as_str().unwrap_or_default();
            format!("cron '{schedule}'  {name}")
        }
        _ => {
            let methods = document["methods"].as_array().into_iter().flatten().filter_map(Value::as_str);
            let methods: Vec<_> = methods.collect();
            let methods = if methods.is_empty() { "POST".to_owned() } else { methods.join(",") };
            let route = text("route_pattern").map_or_else(|| format!("/{name}"), str::to_owned);
            format!("{methods} {base}{DATA_PREFIX}{route}  {name}")
        }
    }
}

/// Returns the pages of the service, each with its path.
pub(super) fn list_pages(config: &Config) -> Vec<(&'static str, &str)> {
    let console = config.console_page_path().map(|path| ("console", path));
    let docs = config.serves_docs().then_some(("API", DOCS));
    console.into_iter().chain(docs).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn channels_are_shown_by_their_entrance() {
        let base = "http://127.0.0.1:8080";
        for (document, expected) in [
            (
                json!({"name": "orders", "protocol": "rest", "methods": ["POST", "PUT"], "route_pattern": "/o/{id}"}),
                "POST,PUT http://127.0.0.1:8080/api/v1/data/o/{id}  orders",
            ),
            (
                json!({"name": "orders", "protocol": "http"}),
                "POST http://127.0.0.1:8080/api/v1/data/orders  orders",
            ),
            (json!({"name": "feed", "protocol": "kafka", "topic": "t"}), "topic t  feed"),
            (
                json!({"name": "night", "protocol": "cron", "transport_config": {"schedule": "0 3 * * *"}}),
                "cron '0 3 * * *'  night",
            ),
        ] {
            assert_eq!(channel_line(&document, base), expected);
        }
    }
}
