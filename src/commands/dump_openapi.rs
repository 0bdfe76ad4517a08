//! `svc-server dump-openapi`: prints the OpenAPI document of the API.

use std::io::{self, Write};

use svc_api::openapi;

use crate::exit::EXIT_OK;

/// Prints the document, pretty, with a trailing newline.
pub(super) fn dump_openapi(out: &mut dyn Write) -> io::Result<u8> {
    serde_json::to_writer_pretty(&mut *out, &openapi::document(crate::VERSION))?;
    writeln!(out)?;
    Ok(EXIT_OK)
}
