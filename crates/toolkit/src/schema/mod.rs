//! `schema`: prints the JSON Schemas of the authored documents, for editors.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use svc_engine::catalogue::Catalogue;
use svc_outbound::describe_cause;
use svc_project::schema::DocumentKind;

use crate::exit::{EXIT_FAILURE, EXIT_OK};
use crate::plugins::{PluginArgs, write_problems};

/// The schema of a configuration file, which is made from the settings of the server.
const CONFIG_SCHEMA: &str = include_str!("config.schema.json");

/// The kinds of documents that have a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum SchemaKind {
    /// A channel
    Channel,
    /// A workflow
    Workflow,
    /// A connector
    Connector,
    /// Shared definitions of a project
    Shared,
    /// A test case
    Case,
    /// A configuration file of the server
    Config,
}

/// The arguments of `schema`.
#[derive(Clone, Debug, PartialEq, Eq, clap::Args)]
pub struct SchemaArgs {
    /// The kind of document; without it all of them, in one object
    #[arg(value_enum)]
    kind: Option<SchemaKind>,
    /// Write `<kind>.schema.json` files into this directory instead
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// The plugins that workflows may call.
    #[command(flatten)]
    plugins: PluginArgs,
}

impl SchemaKind {
    const ALL: [Self; 6] =
        [Self::Channel, Self::Workflow, Self::Connector, Self::Shared, Self::Case, Self::Config];

    const fn name(self) -> &'static str {
        match self.document() {
            Some(document) => document.name(),
            None => "config",
        }
    }

    const fn document(self) -> Option<DocumentKind> {
        Some(match self {
            Self::Channel => DocumentKind::Channel,
            Self::Workflow => DocumentKind::Workflow,
            Self::Connector => DocumentKind::Connector,
            Self::Shared => DocumentKind::Shared,
            Self::Case => DocumentKind::Case,
            Self::Config => return None,
        })
    }

    fn schema(self, catalogue: &Catalogue) -> Value {
        match self.document() {
            Some(document) => document.schema(catalogue),
            // A test of the server compares the text with its settings, so it is JSON.
            None => serde_json::from_str(CONFIG_SCHEMA).unwrap_or_default(),
        }
    }
}

/// Prints a schema, or writes the files of an editor.
pub(crate) fn schema(args: &SchemaArgs, out: &mut dyn Write, err: &mut dyn Write) -> io::Result<u8> {
    let engine = match args.plugins.checking_engine(None) {
        Ok(engine) => engine,
        Err(problems) => return write_problems(&problems, err).map(|()| EXIT_FAILURE),
    };
    let kinds = args.kind.map_or_else(|| SchemaKind::ALL.to_vec(), |kind| vec![kind]);
    let schemas = kinds.into_iter().map(|kind| (kind.name(), kind.schema(engine.catalogue())));
    if let Some(directory) = &args.output {
        return match write_files(directory, schemas) {
            Ok(files) => {
                files.iter().try_for_each(|file| writeln!(out, "{}", file.display()))?;
                Ok(EXIT_OK)
            }
            Err((file, error)) => {
                let cause = describe_cause(&error);
                writeln!(err, "Error: cannot write {}\n  Caused by: {cause}", file.display())?;
                Ok(EXIT_FAILURE)
            }
        };
    }
    let mut schemas: Map<String, Value> = schemas.map(|(name, schema)| (name.to_owned(), schema)).collect();
    let shown = match args.kind {
        Some(kind) => schemas.remove(kind.name()).unwrap_or_default(),
        None => Value::Object(schemas),
    };
    writeln!(out, "{shown:#}")?;
    Ok(EXIT_OK)
}

/// Writes a file for each schema and returns their paths. A file is complete or as it was before.
fn write_files(
    directory: &Path,
    schemas: impl Iterator<Item = (&'static str, Value)>,
) -> Result<Vec<PathBuf>, (PathBuf, io::Error)> {
    fs::create_dir_all(directory).map_err(|error| (directory.to_owned(), error))?;
    let mut files = Vec::new();
    for (name, schema) in schemas {
        let file = directory.join(format!("{name}.schema.json"));
        let unfinished = directory.join(format!(".{name}.schema.json.tmp"));
        fs::write(&unfinished, format!("{schema:#}\n"))
            .and_then(|()| fs::rename(&unfinished, &file))
            .map_err(|error| (file.clone(), error))?;
        files.push(file);
    }
    Ok(files)
}

#[cfg(test)]
mod tests;
