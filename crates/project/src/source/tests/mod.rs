//! Reading of texts into values and places.

mod hostile;
mod json;
mod yaml;

use serde_json::Value;

use super::*;

fn parse(format: SourceFormat, text: &str) -> Result<SourceFile, SourceError> {
    SourceFile::parse("a.txt", format, text.to_owned())
}

/// Returns the value of a text, or the message that refuses it.
fn read(format: SourceFormat, text: &str) -> Result<Value, String> {
    parse(format, text).map(|file| file.value).map_err(|error| error.to_string())
}

/// Returns line, column and text of the place at a path.
fn locate<'f>(file: &'f SourceFile, path: &str) -> (usize, usize, &'f str) {
    let place = file.place(path).unwrap();
    (place.line, place.column, &file.text[place.span])
}
