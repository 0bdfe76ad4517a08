//! `case`: makes a test case of the trace of a run.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::Value;
use svc_outbound::describe_cause;
use svc_project::case::{ExpectedEnd, TracedCase, case_from_trace};
use svc_project::{SourceFile, walk};

use super::definitions::Definitions;
use super::offline_files::{read_source, read_value, relative_path};
use crate::exit::{EXIT_FAILURE, EXIT_OK, write_error};
use crate::output::{named_file, write_file};

/// The arguments of `case`.
#[derive(Args, Clone, Debug, PartialEq, Eq)]
pub struct CaseArgs {
    /// Answer of GET /api/v1/admin/traces/{id} for a run with task details; - reads standard input
    #[arg(long, value_name = "FILE")]
    from_trace: PathBuf,
    /// Workflow of the run; by default the one of its id in the project directory
    #[arg(short, long, value_name = "FILE")]
    workflow: Option<PathBuf>,
    /// Project directory that is searched for the workflow
    #[arg(long, value_name = "DIR", default_value = ".")]
    project: PathBuf,
    /// Directory with shared definitions
    #[arg(long, value_name = "DIR")]
    definitions: Option<PathBuf>,
    /// Expect the run to end as it did, even if it failed
    #[arg(long)]
    as_observed: bool,
    /// Case to write; standard output by default
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Writes the case and returns the exit code. Remarks go to `err`.
pub(crate) fn case(args: &CaseArgs, out: &mut dyn Write, err: &mut dyn Write) -> io::Result<u8> {
    let trace = match read_value(&args.from_trace) {
        Ok(trace) => trace,
        Err(problem) => return writeln!(err, "Error: {problem}").map(|()| EXIT_FAILURE),
    };
    let workflow = match find_workflow(args, &trace) {
        Ok(workflow) => workflow,
        Err(problem) => return writeln!(err, "Error: {problem}").map(|()| EXIT_FAILURE),
    };
    let Some(definitions) = Definitions::read(args.definitions.as_deref(), err)? else {
        return Ok(EXIT_FAILURE);
    };
    let mut document = workflow.as_ref().map(|(_, source)| source.value.clone());
    if let Some(document) = &mut document {
        let findings = definitions.with_expansion(|expand| expand.map(|expand| expand(document)));
        findings.unwrap_or_default().iter().try_for_each(|finding| writeln!(err, "{finding}"))?;
    }
    let output = named_file(args.output.as_deref());
    let path = match &workflow {
        Some((path, _)) => relative_path(path, output.and_then(Path::parent).unwrap_or(Path::new("")))?,
        None => format!("workflows/{}.json", workflow_id(&trace).unwrap_or("workflow")),
    };
    let end = if args.as_observed { ExpectedEnd::Observed } else { ExpectedEnd::Corrected };
    match case_from_trace(&trace, document.as_ref(), &path, end) {
        Ok(TracedCase { document, notes }) => {
            let text = format!("{document:#}\n");
            match output {
                None => out.write_all(text.as_bytes())?,
                Some(path) => {
                    if let Err(error) = write_file(path, &text) {
                        return write_error(&error, err).map(|()| EXIT_FAILURE);
                    }
                }
            }
            notes.iter().try_for_each(|note| writeln!(err, "note: {note}"))?;
            Ok(EXIT_OK)
        }
        Err(error) => write_error(&error, err).map(|()| EXIT_FAILURE),
    }
}

/// Returns the file of the workflow: the one that was named, else the one of its id in the project directory.
fn find_workflow(args: &CaseArgs, trace: &Value) -> Result<Option<(PathBuf, SourceFile)>, String> {
    if let Some(path) = &args.workflow {
        return read_source(path).map(|source| Some((path.clone(), source)));
    }
    let Some(id) = workflow_id(trace) else { return Ok(None) };
    let files = walk(&args.project)
        .map_err(|error| format!("{}: {}", args.project.display(), describe_cause(&error)))?;
    let of_id = |file: &SourceFile| file.value["workflow_id"] == id && file.value["tasks"].is_array();
    let mut files: Vec<_> = files.files.into_iter().filter(of_id).collect();
    if files.len() > 1 {
        let names: Vec<_> = files.iter().map(|file| file.name.as_str()).collect();
        return Err(format!("workflow '{id}' stands in {}; name one with --workflow", names.join(" and ")));
    }
    Ok(files.pop().map(|file| (args.project.join(&file.name), file)))
}

fn workflow_id(trace: &Value) -> Option<&str> {
    trace.pointer("/data/workflow_id").or_else(|| trace.get("workflow_id"))?.as_str()
}
