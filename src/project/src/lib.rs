//! The project directory: definitions and test cases in files, checked, compiled and run without a server.
//!
//! In go the files of a directory; out come findings, compiled documents and the results of test cases. The library
//! reads files and nothing else: it opens no socket, reads no environment variable and keeps no state.

mod finding;
pub mod rules;
mod source;
mod walk;

pub use finding::{Finding, Severity, SourcePlace};
pub use source::{MAX_FILE_BYTES, SourceError, SourceFile, SourceFormat};
pub use walk::{ProjectFiles, UNREADABLE, is_case, walk};
