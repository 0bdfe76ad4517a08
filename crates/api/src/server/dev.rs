//! The project that `svc-server dev` watches.

use svc_model::Timestamp;

use crate::api_types::api_types;

api_types! {
    /// The project that `svc-server dev` watches.
    #[derive(Eq)]
    pub struct DevProject {
        /// Its directory.
        pub directory: String,
        /// `loading` until it was checked for the first time, `served`, or `refused`: what was saved last does not
        /// serve, and what served before goes on.
        pub state: String,
        /// Instant of the end of the last check.
        pub checked_at: nullable Timestamp,
        /// Instant since which the definitions serve that serve now.
        pub served_at: nullable Timestamp,
        /// The errors and warnings of the last check.
        pub findings: Vec<DevFinding>,
        /// The reasons for which a definition was refused by the server, or is stored and cannot be loaded.
        pub problems: Vec<String>,
    }

    /// A problem of a file of the project.
    #[derive(Eq)]
    pub struct DevFinding {
        /// `error` or `warning`.
        pub severity: String,
        /// The stable id of the check.
        pub check: String,
        /// The entity or file that it is about.
        pub entity: String,
        /// The problem; begins with the path of the field, if there is one.
        pub message: String,
        /// The remedy.
        pub fix: optional String,
        /// The file, relative to the directory.
        pub file: optional String,
        /// The line, counted from 1.
        pub line: optional usize,
        /// The column in characters, counted from 1.
        pub column: optional usize,
    }
}
