//! `openapi` and `asyncapi`: the documents of the channels of a project, for their callers.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;
use serde_json::Value;
use svc_project::{
    DocumentedChannel, SetForm, asyncapi_document, documented_channels, openapi_document, to_json_text,
};

use crate::exit::{self, EXIT_FAILURE, EXIT_OK};
use crate::output;
use crate::plugins::{PluginArgs, write_problems};
use crate::project_files::{Boundaries, read_project, read_values};
use crate::report::{self, TextStyle};

/// The arguments of both commands.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
pub struct ContractArgs {
    /// Project directory
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Channels with this tag alone
    #[arg(long)]
    tag: Option<String>,
    /// Title of the document
    #[arg(long, default_value = "Channels")]
    title: String,
    /// Take values from `values/NAME.yaml` of the directory, or from a file
    #[arg(long, value_name = "NAME|FILE")]
    values: Option<String>,
    /// File of the document; standard output without it
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The boundary of the project.
    #[command(flatten)]
    boundary: Boundaries,
    /// The plugins that workflows may call.
    #[command(flatten)]
    plugins: PluginArgs,
}

/// The arguments of `openapi`.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
pub struct OpenapiArgs {
    /// The arguments of both commands.
    #[command(flatten)]
    contract: ContractArgs,
    /// Path that the routes of channels begin at
    #[arg(long, value_name = "PATH", default_value = "/api/v1/data")]
    base: String,
}

/// Runs `openapi` and returns the exit code.
pub(crate) fn openapi(
    args: &OpenapiArgs,
    style: TextStyle,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> io::Result<u8> {
    let ContractArgs { title, tag, .. } = &args.contract;
    let base = args.base.trim_end_matches('/');
    write_document(&args.contract, style, out, err, &|channels| {
        openapi_document(title, base, channels, tag.as_deref())
    })
}

/// Runs `asyncapi` and returns the exit code.
pub(crate) fn asyncapi(
    args: &ContractArgs,
    style: TextStyle,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> io::Result<u8> {
    write_document(args, style, out, err, &|channels| {
        asyncapi_document(&args.title, channels, args.tag.as_deref())
    })
}

fn write_document(
    args: &ContractArgs,
    style: TextStyle,
    out: &mut dyn Write,
    err: &mut dyn Write,
    make: &dyn Fn(&[DocumentedChannel]) -> Value,
) -> io::Result<u8> {
    let Ok(project) = read_project(&args.directory, style, err)? else { return Ok(EXIT_FAILURE) };
    let engine = match args.plugins.checking_engine(Some(&args.directory)) {
        Ok(engine) => engine,
        Err(problems) => return write_problems(&problems, err).map(|()| EXIT_FAILURE),
    };
    let linted = svc_project::lint(&project, &engine, &args.boundary.to_boundary(), SetForm::Directory);
    report::write_text(&linted.findings, &args.directory, style, err)?;
    if !linted.summary.passes(false) {
        return Ok(EXIT_FAILURE);
    }
    let values = match &args.values {
        None => None,
        Some(name) => match read_values(name, &args.directory, style, err)? {
            Ok(values) => Some(values),
            Err(_) => return Ok(EXIT_FAILURE),
        },
    };
    let channels = match documented_channels(&linted, values.as_ref()) {
        Ok(channels) => channels,
        Err(findings) => {
            report::write_text(&findings, &args.directory, style, err)?;
            return Ok(EXIT_FAILURE);
        }
    };
    let document = make(&channels);
    let has_no = |part: &str| document[part].as_object().is_some_and(|members| members.is_empty());
    if has_no("paths") || has_no("channels") {
        let tag = args.tag.as_ref().map(|tag| format!(" with the tag '{tag}'")).unwrap_or_default();
        writeln!(err, "note: the document is empty: no channel{tag} is of its kind")?;
    }
    let text = to_json_text(&document);
    match output::named_file(args.output.as_deref()) {
        None => out.write_all(text.as_bytes()).map(|()| EXIT_OK),
        Some(path) => match output::write_file(path, &text) {
            Ok(()) => Ok(EXIT_OK),
            Err(error) => exit::write_error(&error, err).map(|()| EXIT_FAILURE),
        },
    }
}
