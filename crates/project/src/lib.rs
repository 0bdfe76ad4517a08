//! The project directory: definitions and test cases in files, checked, compiled and run without a server.
//!
//! The input is the files of a directory; the output is findings, compiled documents and the results of test
//! cases. The library reads files and nothing else: it opens no socket, reads no environment variable and
//! keeps no state.

mod analyze;
mod artifact;
pub mod backtest;
mod boundary;
pub mod case;
mod checks;
mod compile;
mod content;
mod documented_channels;
mod finding;
mod fmt;
mod ignore_file;
mod lint;
mod metadata;
mod new;
mod outline;
mod package;
mod plugins;
mod project;
mod recognize;
pub mod rules;
mod run;
pub mod schema;
pub mod shared;
mod source;
mod stand_ins;
mod statements;
mod values;
mod walk;

pub use analyze::{AnalysisFinding, AnalysisLevels, AnalysisRule, Removal, analyze};
pub use artifact::{ArtifactError, PackageArtifact, PackageItem, package_of_stored, project_item};
pub use boundary::{Boundary, check_range};
pub use checks::{Check, check_table};
pub use compile::{CompiledDocument, IMPORT_ORDER, compile, mirrored_files, to_json_text};
pub use content::EntityContent;
pub use documented_channels::documented_channels;
pub use finding::{Finding, Severity, SourcePlace};
pub use fmt::format_text;
pub use lint::{
    CheckedEntity, LintSummary, LintedFile, LintedProject, RefusedField, SetForm, lint, lint_file,
};
pub use metadata::offline_metadata;
pub use new::{PluginLanguage, TemplateFile, new_plugin, new_project};
pub use package::{CONTENT_VERSION, PackageHeader, build_package, check_package_values, lint_package};
pub use plugins::{
    PackagedPlugin, PluginFolder, plugin_files, read_packaged_plugins, read_plugin_folders,
    read_project_plugins, repeated_names,
};
pub use project::{AuthoredEntity, Project};
pub use recognize::DocumentShape;
pub use run::{Expand, OfflineInput, OfflineRecords, OfflineRun, OfflineWorkflow, describe_problem};
pub use source::{MAX_FILE_BYTES, MAX_PACKAGE_BYTES, SourceError, SourceFile, SourceFormat, read_text};
pub use stand_ins::StandIns;
pub use statements::{read_package_file, read_with_statements};
/// The documents of channels for their callers.
pub use svc_contract::{DocumentedChannel, asyncapi_document, openapi_document};
pub use values::EnvironmentValues;
pub use walk::{FoundFile, FoundFiles, LinkPolicy, ProjectFiles, UNREADABLE, find_files, is_case, walk};
