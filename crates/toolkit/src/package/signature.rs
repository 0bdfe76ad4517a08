//! `package sign` and `package verify`.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use svc_auth::{FileKeyError, FileSigningKey, FileVerifyingKey, SignatureError, signature_path, verify_file};

use super::signed_file::read_signature;
use super::{PackageSignArgs, PackageVerifyArgs};
use crate::exit::{EXIT_FAILURE, EXIT_OK, write_error};

/// The reason why a file was not signed, or not found trusted.
#[derive(Debug, thiserror::Error)]
enum SigningError {
    /// A file cannot be read or written.
    #[error("{file} cannot be {what}")]
    File {
        file: String,
        what: &'static str,
        /// The reason.
        source: io::Error,
    },
    /// The key is of another kind.
    #[error("{file}: {problem}")]
    Key {
        file: String,
        /// The problem and the remedy.
        problem: FileKeyError,
    },
    /// The file has no signature.
    #[error("{file} has no signature: there is no {signature}; `package sign` makes one")]
    Unsigned { file: String, signature: String },
    /// The signature does not fit.
    #[error("{file}: {problem}")]
    Untrusted {
        file: String,
        /// The problem.
        problem: SignatureError,
    },
}

/// Runs `package sign`.
pub(super) fn sign(args: &PackageSignArgs, out: &mut dyn Write, err: &mut dyn Write) -> io::Result<u8> {
    let target = args.output.clone().unwrap_or_else(|| signature_path(&args.file));
    match write_signature(&args.key, &args.file, &target) {
        Ok(()) => writeln!(out, "{} is the signature of {}", target.display(), args.file.display())
            .map(|()| EXIT_OK),
        Err(error) => write_error(&error, err).map(|()| EXIT_FAILURE),
    }
}

fn write_signature(key: &Path, file: &Path, target: &Path) -> Result<(), SigningError> {
    let refused = |problem| SigningError::Key { file: key.display().to_string(), problem };
    let key = FileSigningKey::from_pem(&read_text(key)?).map_err(refused)?;
    let line = key.sign(&read(file)?).map_err(refused)?;
    fs::write(target, format!("{line}\n")).map_err(|source| failed(target, "written", source))
}

/// Runs `package verify`; exit 1 if none of the keys has signed the file.
pub(super) fn verify(args: &PackageVerifyArgs, out: &mut dyn Write, err: &mut dyn Write) -> io::Result<u8> {
    match check_signature(args) {
        Ok(()) => writeln!(out, "{} has a signature of the key", args.file.display()).map(|()| EXIT_OK),
        Err(error) => write_error(&error, err).map(|()| EXIT_FAILURE),
    }
}

fn check_signature(args: &PackageVerifyArgs) -> Result<(), SigningError> {
    let read_key = |path: &PathBuf| {
        FileVerifyingKey::from_pem(&read_text(path)?)
            .map_err(|problem| SigningError::Key { file: path.display().to_string(), problem })
    };
    let keys = args.key.iter().map(read_key).collect::<Result<Vec<_>, _>>()?;
    let content = read(&args.file)?;
    let file = || args.file.display().to_string();
    let place = args.signature.clone().unwrap_or_else(|| signature_path(&args.file));
    let line = read_signature(&place).map_err(|source| failed(&place, "read", source))?;
    let unsigned = || SigningError::Unsigned { file: file(), signature: place.display().to_string() };
    verify_file(&keys, &content, &line.ok_or_else(unsigned)?)
        .map_err(|problem| SigningError::Untrusted { file: file(), problem })
}

fn read(path: &Path) -> Result<Vec<u8>, SigningError> {
    fs::read(path).map_err(|source| failed(path, "read", source))
}

fn read_text(path: &Path) -> Result<String, SigningError> {
    fs::read_to_string(path).map_err(|source| failed(path, "read", source))
}

fn failed(path: &Path, what: &'static str, source: io::Error) -> SigningError {
    SigningError::File { file: path.display().to_string(), what, source }
}
