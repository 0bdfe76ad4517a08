//! `svc-server key-id`: prints the id under which the audit log shows an admin key without a name.

use std::io::{self, Write};

use clap::Args;

use crate::config::{AdminKey, key_id};
use crate::exit::{EXIT_FAILURE, EXIT_OK};

/// The arguments of `key-id`.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
pub struct KeyIdArgs {
    /// The key, or its sha256: digest; without it, it is read from standard input, where no other user sees it
    #[arg(value_name = "KEY")]
    pub key: Option<String>,
}

/// Prints the id of a key.
///
/// # Errors
/// The input cannot be read or the output not written.
pub(super) fn key_id_of(args: &KeyIdArgs, out: &mut dyn Write, err: &mut dyn Write) -> io::Result<u8> {
    let text = match &args.key {
        Some(key) => key.clone(),
        None => io::read_to_string(io::stdin().lock())?,
    };
    match AdminKey::unnamed(text.trim_end_matches(['\r', '\n'])).digest() {
        Some(digest) => writeln!(out, "{}", key_id(&digest)).map(|()| EXIT_OK),
        None => {
            writeln!(err, "Error: a key is a text that is not empty, or sha256: and 64 hexadecimal digits")?;
            Ok(EXIT_FAILURE)
        }
    }
}
