//! The checks of project directories and packages, in one table: their stable ids, severities, conditions and
//! remedies. The manual is made from it.

use std::fmt::Write as _;

use svc_model::EntityKind;

use crate::finding::{Finding, Severity};
use crate::source::SourceError;

macro_rules! checks {
    ($($name:ident = $id:literal, $severity:ident, $fires:literal, $fix:literal;)*) => {
        /// A check with a stable id.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Check {
            $(#[doc = $fires] $name,)*
        }

        impl Check {
            /// All checks, in the order of the manual.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// Returns the stable id.
            pub const fn id(self) -> &'static str {
                match self { $(Self::$name => $id,)* }
            }

            pub const fn severity(self) -> Severity {
                match self { $(Self::$name => Severity::$severity,)* }
            }

            /// Returns the condition under which the check fires.
            pub const fn condition(self) -> &'static str {
                match self { $(Self::$name => $fires,)* }
            }

            /// Returns the remedy; empty for an entry of an inventory.
            pub const fn remedy(self) -> &'static str {
                match self { $(Self::$name => $fix,)* }
            }
        }
    };
}

checks! {
    ParseConnector = "parse.connector", Error,
        "A connector document, or one of its top-level fields, has the wrong JSON type.",
        "give the field the type that the message names";
    ParseWorkflow = "parse.workflow", Error,
        "A workflow document, or one of its top-level fields, has the wrong JSON type.",
        "give the field the type that the message names";
    ParseChannel = "parse.channel", Error,
        "A channel document, or one of its top-level fields, has the wrong JSON type.",
        "give the field the type that the message names";
    SchemaConnector = "schema.connector", Error,
        "The admin API refuses to create the connector.",
        "change the field as the message says";
    SchemaWorkflow = "schema.workflow", Error,
        "The admin API refuses to create the workflow.",
        "change the field as the message says";
    SchemaChannel = "schema.channel", Error,
        "The admin API refuses to create the channel.",
        "change the field as the message says";
    ProjectUnreadable = "project.unreadable", Error,
        "A file of the directory that ends in .json, .yaml or .yml cannot be read, or holds no value of its notation.",
        "correct the file, or leave it out by a line in .svcignore";
    ProjectUnknownShape = "project.unknown_shape", Warning,
        "A file is neither an entity nor shared definitions, and one of its keys is, or nearly is, one that they have.",
        "correct the key, or leave the file out by a line in .svcignore";
    DuplicateConnectorName = "duplicate.connector_name", Error,
        "Two connectors of the set have the same name.",
        "rename one of them, or remove it";
    DuplicateWorkflowId = "duplicate.workflow_id", Error,
        "Two workflows of the set have the same id.",
        "change one of the ids, or remove one of the workflows";
    DuplicateChannelId = "duplicate.channel_id", Error,
        "Two channels of the set have the same id.",
        "change one of the ids, or remove one of the channels";
    DuplicateChannelName = "duplicate.channel_name", Error,
        "Two channels of the set have the same name.",
        "rename one of them, or remove it";
    DuplicateRoutePattern = "duplicate.route_pattern", Error,
        "Two HTTP channels of the set take the same paths and a common method at the same priority.",
        "change a pattern or a method, or give one of the channels another `priority`";
    MissingWorkflowId = "missing.workflow_id", Error,
        "A workflow of a package has no `workflow_id`.",
        "add a `workflow_id`: it is the key under which a package is promoted";
    MissingChannelId = "missing.channel_id", Error,
        "A channel of a package has no `channel_id`.",
        "add a `channel_id`: it is the key under which a package is promoted";
    MissingWorkflowIdRef = "missing.workflow_id_ref", Error,
        "A channel names no `workflow_id`.",
        "add the `workflow_id` of the workflow that the channel runs";
    ClosureWorkflow = "closure.workflow", Error,
        "The workflow of a channel is not in the set.",
        "add the workflow to the set, or correct the `workflow_id`";
    ClosureConnector = "closure.connector", Error,
        "A task or channel names a connector that is neither in the set nor on its boundary.",
        "add the connector to the set, or name it with --requires-connector";
    ClosureChannelCall = "closure.channel_call", Error,
        "A task calls, or a channel reports to, a channel that is neither in the set nor on its boundary.",
        "add the channel to the set, or name it with --requires-channel";
    ClosureChannelCallDynamic = "closure.channel_call_dynamic", Warning,
        "A task computes the channel that it calls, so that nobody can check it before it runs.",
        "name the channel in `channel` where it is known";
    TypeConnector = "type.connector", Error,
        "The function of a task cannot use a connector of this type.",
        "name a connector of an accepted type, or use another function";
    EnvUnresolved = "env.unresolved", Error,
        "A secret reference stands in a field that resolves none.",
        "move it to a field that takes references, or declare the secret and read it with {\"secret\": name}";
    LogicUnresolvable = "logic.unresolvable", Warning,
        "An expression stands in a field that folds only {\"var\": path}; it is kept as data.",
        "compute the value with `map` before, and read it here with {\"var\": path}";
    LogicUnknownOperator = "logic.unknown_operator", Warning,
        "An object in a computed value reads like the call of an operator that does not exist; it is data.",
        "use the operator that the message names; leave it where data is meant";
    PathRoot = "path.root", Warning,
        "A task writes to a path that begins with none of `data`, `metadata` and `temp_data`.",
        "begin the path with one of them; leave it where only later tasks read the value";
    OutputDefault = "output.default", Warning,
        "A task has no `output`, so that its result replaces the whole of `data`.",
        "name the path of the result in `output`; `\"output\": \"data\"` says that it is meant";
    ProjectStatement = "project.statement", Error,
        "A `$sql` names no file of SQL in the project directory, or one whose statement databases read in different ways.",
        "name a file below the project directory by its path relative to this file, and write it as the message says";
    ClosureFragment = "closure.fragment", Error,
        "A task calls a fragment that no shared document defines.",
        "define the fragment under `fragments` of a shared document, or correct the name";
    ClosureSharedValue = "closure.shared_value", Error,
        "A `$from` names no shared value, or stands inside of one.",
        "write `namespace.key` of a shared document; write values inside of shared values out";
    SharedNamespace = "shared.namespace", Error,
        "A namespace of a shared document is not an object.",
        "make it an object of names and values";
    SharedFragment = "shared.fragment", Error,
        "A fragment is no object with a `tasks` array.",
        "give the fragment a `tasks` array, and `params` as an object where it takes any";
    SharedDuplicate = "shared.duplicate", Error,
        "Two shared documents define the same name; the first one by path counts.",
        "remove or rename one of the two";
    SharedFragmentParam = "shared.fragment_param", Error,
        "The arguments of a fragment call and the parameters of the fragment do not fit each other.",
        "pass each parameter without a default in `with`, and nothing else";
    SharedFragmentNested = "shared.fragment_nested", Error,
        "A fragment is called inside of a task group or inside of a fragment.",
        "call fragments from the `tasks` of the workflow; a fragment may hold groups";
    SharedUnparseable = "shared.unparseable", Warning,
        "A file below `--definitions` cannot be read, so that its shared definitions are missing.",
        "correct the file";
    PackageName = "package.name", Error,
        "A package has no name, or one that no server takes.",
        "compile the package with --name";
    PackageVersion = "package.version", Error,
        "A package has no version, or one that no server takes.",
        "compile the package with --version";
    PackageContentHash = "package.content_hash", Error,
        "The content of a package does not have the hash that its header names.",
        "compile the package again; do not edit it";
    PackagePlugin = "package.plugin", Error,
        "A plugin of a package has no manifest or no component, an unknown key, or the name of another one.",
        "compile the package again; do not edit it";
    PackageRequires = "package.requires", Error,
        "The member `requires` of a package, or of a file of a project, has an unknown key or a value of another form.",
        "write `{\"channels\": [names], \"connectors\": [names], \"svc\": \">=0.2, <1\"}`, each of them optional";
    CronSlotsMismatch = "cron.slots_mismatch", Warning,
        "Scheduled channels share a concurrency key and declare different `slots`.",
        "declare the same `slots` in each of them, or use keys of their own";
    CronExcludedInstants = "cron.excluded_instants", Note,
        "A schedule catches up on several instants, which are due at once, and its concurrency key has one slot.",
        "";
    EnvEmbedded = "env.embedded", Warning,
        "A secret reference stands inside of a longer text, or is written with capital letters, and is kept as text.",
        "let the reference be the whole text; a connector takes `${VAR}` inside of a text";
    SuspectConnector = "suspect.connector", Warning,
        "The admin API accepts the connector and warns of a probable mistake.",
        "change the field as the message says";
    SuspectWorkflow = "suspect.workflow", Warning,
        "The admin API accepts the workflow and warns of a probable mistake.",
        "change the field as the message says";
    SuspectChannel = "suspect.channel", Warning,
        "The admin API accepts the channel and warns of a probable mistake.",
        "change the field as the message says";
    ValuesForm = "values.form", Error,
        "A file of values has an unknown key, a name that no server can declare, or a value of another form.",
        "write `{\"vars\": {name: value}, \"secrets\": [names]}`, each of them optional";
    ValuesUndeclared = "values.undeclared", Error,
        "The set reads a value or a secret that the file of `--values` does not declare.",
        "declare it in the file and on the servers of the environment, or correct the name";
    ValuesType = "values.type", Error,
        "A value that the file of `--values` declares does not fit the field that names it.",
        "declare a value of the type that the message names";
    EnvReference = "env.reference", Note,
        "Inventory: an environment variable or secret reference that the set reads, with its users.",
        "";
    SecretsReference = "secrets.reference", Note,
        "Inventory: a declared secret that the set reads, with its users.",
        "";
}

impl Check {
    /// Returns the check with this id.
    pub fn from_id(id: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|check| check.id() == id)
    }

    /// Returns `parse.<kind>`.
    pub const fn parse(kind: EntityKind) -> Self {
        match kind {
            EntityKind::Connector => Self::ParseConnector,
            EntityKind::Workflow => Self::ParseWorkflow,
            EntityKind::Channel => Self::ParseChannel,
        }
    }

    /// Returns `schema.<kind>`.
    pub const fn schema(kind: EntityKind) -> Self {
        match kind {
            EntityKind::Connector => Self::SchemaConnector,
            EntityKind::Workflow => Self::SchemaWorkflow,
            EntityKind::Channel => Self::SchemaChannel,
        }
    }

    /// Returns `suspect.<kind>`.
    pub const fn suspect(kind: EntityKind) -> Self {
        match kind {
            EntityKind::Connector => Self::SuspectConnector,
            EntityKind::Workflow => Self::SuspectWorkflow,
            EntityKind::Channel => Self::SuspectChannel,
        }
    }

    /// Creates a finding of this check about an unreadable file, with the remedy of the error.
    pub fn source_finding(self, error: &SourceError, file: &str) -> Finding {
        error.to_finding(self.severity(), self.id(), file)
    }

    /// Creates a finding of this check, with the remedy of the table.
    pub fn finding(self, entity: impl Into<String>, message: impl Into<String>) -> Finding {
        Finding {
            severity: self.severity(),
            check: self.id(),
            entity: entity.into(),
            message: message.into(),
            fix: Some(self.remedy()).filter(|fix| !fix.is_empty()).map(str::to_owned),
            place: None,
        }
    }
}

/// Returns the table of the checks for the manual, in Markdown.
pub fn check_table() -> String {
    let mut table = String::from("| Id | Severity | Fires when | Fix |\n|---|---|---|---|\n");
    for check in Check::ALL {
        let cell = |text: &str| text.replace('|', "\\|");
        let _ = writeln!(
            table,
            "| `{}` | {} | {} | {} |",
            check.id(),
            check.severity().name(),
            cell(check.condition()),
            cell(check.remedy())
        );
    }
    table
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn each_id_occurs_once_and_finds_its_check() {
        let ids: HashSet<_> = Check::ALL.iter().map(|check| check.id()).collect();
        assert_eq!(ids.len(), Check::ALL.len());
        for check in Check::ALL {
            assert_eq!(Check::from_id(check.id()), Some(*check));
            assert_eq!(check.severity() == Severity::Note, check.remedy().is_empty(), "{}", check.id());
        }
        assert_eq!(Check::from_id("schema.table"), None);
    }

    #[test]
    fn table_has_a_row_for_each_check() {
        let table = check_table();
        assert_eq!(table.lines().count(), Check::ALL.len() + 2);
        assert!(table.contains("| `env.unresolved` | error | "), "{table}");
    }
}
