//! The alert rules as the file that Prometheus reads.

use std::fmt::Write;

use serde_json::Value;

use super::alerts::{Alert, GROUPS};

/// Returns the file. `runbooks` is the address of the page of alerts.
pub(super) fn render(runbooks: &str) -> String {
    let mut text =
        "# Made by `svc-server monitoring rules`: change the declarations, not this file.\ngroups:\n"
            .to_owned();
    for group in GROUPS {
        push(&mut text, format_args!("  - name: {}\n    rules:", group.name));
        for alert in group.alerts {
            push_alert(&mut text, alert, runbooks);
        }
    }
    text
}

fn push_alert(text: &mut String, alert: &Alert, runbooks: &str) {
    let runbook = format!("{runbooks}#{}", alert.name.to_ascii_lowercase());
    push(text, format_args!("      - alert: {}", alert.name));
    push(text, format_args!("        expr: {}", quote(alert.expr)));
    push(text, format_args!("        for: {}", alert.hold));
    push(text, format_args!("        labels:\n          severity: {}", alert.severity.name()));
    push(text, format_args!("        annotations:\n          summary: {}", quote(alert.summary)));
    push(text, format_args!("          description: {}", quote(alert.description)));
    push(text, format_args!("          runbook_url: {}", quote(&runbook)));
}

/// Quotes a text. A string of JSON is one of YAML.
fn quote(text: &str) -> String {
    Value::from(text).to_string()
}

fn push(text: &mut String, line: std::fmt::Arguments<'_>) {
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{line}");
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_unique_and_texts_are_sentences() {
        let mut names = BTreeSet::new();
        for alert in GROUPS.iter().flat_map(|group| group.alerts) {
            assert!(names.insert(alert.name) && alert.name.starts_with("Svc"), "{}", alert.name);
            assert!(alert.description.ends_with('.'), "{}", alert.name);
            assert!(!alert.summary.ends_with('.'), "{}", alert.name);
        }
        assert_eq!(render("docs/alerts.md").matches("\n      - alert: ").count(), names.len());
    }
}
