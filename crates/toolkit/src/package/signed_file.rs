//! A package with its signature, as a verb shows it to a server that asks for one.

use std::fs;
use std::io;
use std::path::Path;

use svc_auth::signature_path;

/// A file with the line of its signature, to be shown to a server.
#[derive(Clone)]
pub(super) struct SignedFile {
    pub(super) content: Vec<u8>,
    pub(super) signature: String,
}

impl SignedFile {
    /// Reads a file and its signature; `None` for one without a signature.
    pub(super) fn read(file: &Path) -> io::Result<Option<Self>> {
        let Some(line) = read_signature(&signature_path(file))? else { return Ok(None) };
        let signature = line.trim_end_matches(['\r', '\n']).to_owned();
        Ok(Some(Self { content: fs::read(file)?, signature }))
    }
}

/// Reads the file of a signature; `None` if there is none.
pub(super) fn read_signature(path: &Path) -> io::Result<Option<String>> {
    match fs::read_to_string(path) {
        Ok(line) => Ok(Some(line)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
