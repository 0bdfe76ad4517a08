//! Documents given by the user: a file, an argument, or standard input.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::Value;

use crate::error::CliError;

/// The source of a document. At most one.
#[derive(Args, Clone, Debug)]
pub(crate) struct InputArgs {
    /// Read JSON from a file; `-` is standard input
    #[arg(short, long, value_name = "FILE", conflicts_with_all = ["data", "stdin"])]
    file: Option<PathBuf>,
    /// Take the argument as JSON
    #[arg(short, long, value_name = "JSON", conflicts_with = "stdin")]
    data: Option<String>,
    /// Read JSON from standard input
    #[arg(long)]
    stdin: bool,
}

/// A document as it was given.
#[derive(Clone, Debug)]
pub(crate) struct InputDocument {
    /// The file or option that it came from, for errors.
    pub(crate) place: String,
    /// The text, without a byte order mark.
    pub(crate) text: String,
}

impl InputArgs {
    /// Reads the document; `None` if none was named.
    pub(crate) fn read(&self) -> Result<Option<InputDocument>, CliError> {
        let is_stdin = self.stdin || self.file.as_deref().is_some_and(|file| file.as_os_str() == "-");
        let (place, bytes) = if is_stdin {
            let mut bytes = Vec::new();
            let read = std::io::stdin().lock().read_to_end(&mut bytes);
            read.map_err(|source| CliError::File { path: "standard input".into(), source })?;
            ("standard input".to_owned(), bytes)
        } else if let Some(file) = &self.file {
            return InputDocument::open(file).map(Some);
        } else if let Some(data) = &self.data {
            ("--data".to_owned(), data.clone().into_bytes())
        } else {
            return Ok(None);
        };
        InputDocument::decode(place, bytes).map(Some)
    }

    /// Reads the document, which must be there.
    pub(crate) fn require(&self) -> Result<InputDocument, CliError> {
        let missing =
            || CliError::Usage("a document is wanted: --file <FILE>, --data <JSON> or --stdin".to_owned());
        self.read()?.ok_or_else(missing)
    }
}

impl InputDocument {
    /// Reads a file.
    pub(crate) fn open(file: &Path) -> Result<Self, CliError> {
        let bytes = std::fs::read(file).map_err(|source| CliError::File { path: file.to_owned(), source })?;
        Self::decode(file.display().to_string(), bytes)
    }

    fn decode(place: String, bytes: Vec<u8>) -> Result<Self, CliError> {
        let text = String::from_utf8(bytes)
            .map_err(|error| input_error(&place, &format!("it is not UTF-8 ({})", error.utf8_error())))?;
        let text = text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text);
        Ok(Self { place, text })
    }

    /// Parses the document.
    pub(crate) fn json(&self) -> Result<Value, CliError> {
        serde_json::from_str(&self.text)
            .map_err(|error| input_error(&self.place, &format!("it is not JSON: {error}")))
    }

    /// Parses the document as a list: an array, an export with its envelope, or a single object.
    pub(crate) fn items(&self) -> Result<Vec<Value>, CliError> {
        match self.json()? {
            Value::Array(items) => Ok(items),
            Value::Object(mut envelope) => match envelope.get_mut("data").map(Value::take) {
                Some(Value::Array(items)) => Ok(items),
                Some(_) => Err(input_error(&self.place, "its member 'data' is no array of definitions")),
                None => Ok(vec![Value::Object(envelope)]),
            },
            _ => Err(input_error(&self.place, "an array of definitions is wanted")),
        }
    }
}

/// Builds the error of an input.
pub(crate) fn input_error(place: &str, cause: &str) -> CliError {
    CliError::Input { place: place.to_owned(), cause: cause.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(text: &str) -> InputDocument {
        InputDocument { place: "a.json".to_owned(), text: text.to_owned() }
    }

    #[test]
    fn list_is_an_array_an_export_or_one_object() {
        for (text, count) in [("[{}, {}]", 2), (r#"{"data": [{}]}"#, 1), (r#"{"name": "a"}"#, 1), ("[]", 0)] {
            assert_eq!(document(text).items().unwrap().len(), count, "{text}");
        }
        for text in ["1", r#"{"data": 1}"#, "[", ""] {
            let error = document(text).items().unwrap_err().to_string();
            assert!(error.starts_with("a.json: "), "{error}");
        }
    }

    #[test]
    fn error_of_a_document_names_line_and_column() {
        let error = document("{\n  \"a\": ,\n}").json().unwrap_err().to_string();
        assert!(error.contains("line 2 column 8"), "{error}");
    }
}
