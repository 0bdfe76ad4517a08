//! Answers as JSON and YAML.

use serde_json::Value;
use svc_client::printable_json;

use crate::error::CliError;
use crate::globals::OutputFormat;

/// Returns a document in a format, with a final newline.
pub(super) fn write(body: &Value, format: OutputFormat) -> Result<String, CliError> {
    match format {
        OutputFormat::Yaml => yaml_text(body),
        OutputFormat::Json | OutputFormat::Table => json_text(body),
    }
}

fn json_text(body: &Value) -> Result<String, CliError> {
    let text = serde_json::to_string_pretty(body);
    text.map(|text| printable_json(text) + "\n")
        .map_err(|error| CliError::Format { format: "JSON", cause: error.to_string() })
}

/// Returns JSON of one line.
pub(crate) fn json_line(body: &Value) -> String {
    printable_json(format!("{body}\n"))
}

fn yaml_text(body: &Value) -> Result<String, CliError> {
    let text = serde_saphyr::to_string(body);
    let mut text = text.map_err(|error| CliError::Format { format: "YAML", cause: error.to_string() })?;
    if !text.ends_with('\n') {
        text.push('\n');
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn json_keeps_member_order_and_number_digits() {
        let body = json!({"b": 1.5, "a": 18_446_744_073_709_551_615_u64, "c": []});
        let expected = "{\n  \"b\": 1.5,\n  \"a\": 18446744073709551615,\n  \"c\": []\n}\n";
        assert_eq!(json_text(&body).unwrap(), expected);
    }

    #[test]
    fn json_of_a_server_steers_no_terminal() {
        let body = json!({"name": "a\u{9b}31m"});
        assert_eq!(json_line(&body), "{\"name\":\"a\\u009b31m\"}\n");
        assert_eq!(serde_json::from_str::<Value>(&json_text(&body).unwrap()).unwrap(), body);
        assert!(!json_text(&body).unwrap().contains('\u{9b}'));
    }

    #[test]
    fn yaml_quotes_what_would_read_as_another_type() {
        let body = json!({"b": "no", "a": "1e3", "c": "plain text", "d": null, "e": "2026-01-01", "f": "", "g": "~"});
        let text = yaml_text(&body).unwrap();
        assert!(text.starts_with("b: "), "{text}");
        for bare in ["b: no\n", "a: 1e3\n", "f: \n", "g: ~\n"] {
            assert!(!text.contains(bare), "{text}");
        }
        assert!(text.contains("c: plain text\n") && text.contains("d: null\n"), "{text}");
    }
}
