//! Removes what may go from the files of a project, and proves that the rest compiles to the same.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use svc_engine::Engine;
use svc_outbound::describe_cause;
use svc_project::{AnalysisFinding, Boundary, Project, Removal, SetForm, SourceFormat, format_text};

use crate::fmt::replace;

/// A file with its texts before and after.
struct MendedFile {
    name: String,
    path: PathBuf,
    before: String,
    after: String,
}

/// Mends the files of a project in plain JSON, and returns the project that they make and the names of those that
/// changed. All of them change, or none.
///
/// # Errors
/// The reason why nothing changed.
pub(super) fn mend(
    directory: &Path,
    project: &Project,
    found: &[AnalysisFinding],
    engine: &Arc<Engine>,
) -> Result<(Project, Vec<String>), String> {
    let mut by_file: BTreeMap<&str, Vec<&Removal>> = BTreeMap::new();
    for removal in found.iter().filter_map(|found| found.removal.as_ref()) {
        by_file.entry(&removal.file).or_default().push(removal);
    }
    let mut files = Vec::new();
    let mut expected: Vec<Value> = project.entities.iter().map(|entity| entity.document.clone()).collect();
    for (name, removals) in by_file {
        let Some(file) = mended_file(directory, name, &removals)? else { continue };
        for removal in removals {
            if let Some(document) = expected.get_mut(removal.entity) {
                remove_member(document, &removal.member);
            }
        }
        files.push(file);
    }
    if files.is_empty() {
        return Err("no finding can be mended in a file of plain JSON".to_owned());
    }
    let proven =
        write_files(&files, |file| &file.after).and_then(|()| prove(directory, project, &expected, engine));
    match proven {
        Ok(mended) => Ok((mended, files.into_iter().map(|file| file.name).collect())),
        Err(problem) => {
            write_files(&files, |file| &file.before)?;
            Err(problem)
        }
    }
}

/// Returns a file without some members; `None` for one that is no plain JSON, or to which a link leads out of the
/// directory.
fn mended_file(directory: &Path, name: &str, removals: &[&Removal]) -> Result<Option<MendedFile>, String> {
    let path = directory.join(name);
    let unreadable = |error: io::Error| format!("{name}: {}", describe_cause(&error));
    let is_inside =
        || -> io::Result<bool> { Ok(path.canonicalize()?.starts_with(directory.canonicalize()?)) };
    if SourceFormat::from_path(&path) != Some(SourceFormat::Json) || !is_inside().map_err(unreadable)? {
        return Ok(None);
    }
    let before = fs::read_to_string(&path).map_err(unreadable)?;
    let Ok(mut document) = serde_json::from_str::<Value>(&before) else { return Ok(None) };
    if !removals.iter().all(|removal| remove_member(&mut document, &removal.path)) {
        return Ok(None);
    }
    let after = format_text(name, SourceFormat::Json, &document.to_string());
    let after = after.map_err(|error| error.report(name))?;
    Ok(Some(MendedFile { name: name.to_owned(), path, before, after }))
}

fn write_files(files: &[MendedFile], text: impl Fn(&MendedFile) -> &str) -> Result<(), String> {
    files.iter().try_for_each(|file| {
        replace(&file.path, text(file)).map_err(|error| format!("{}: {}", file.name, describe_cause(&error)))
    })
}

/// Reads the project again: its documents are the expected ones, and lint refuses no more than before.
fn prove(
    directory: &Path,
    project: &Project,
    expected: &[Value],
    engine: &Arc<Engine>,
) -> Result<Project, String> {
    let walked = svc_project::walk(directory).map_err(|error| describe_cause(&error))?;
    let mended = Project::read(walked.files.into_iter().map(Arc::new).collect());
    let documents = mended.entities.iter().map(|entity| &entity.document);
    if !documents.eq(expected) {
        return Err("the files would compile to something else".to_owned());
    }
    let errors = |project: &Project| {
        svc_project::lint(project, engine, &Boundary::default(), SetForm::Directory).summary.errors
    };
    match errors(&mended) > errors(project) {
        true => Err("lint would refuse the result".to_owned()),
        false => Ok(mended),
    }
}

/// Removes the member at a path such as `tasks[0].condition`; `false` if there is none.
fn remove_member(document: &mut Value, path: &str) -> bool {
    let (parent, key) = path.rsplit_once('.').unwrap_or(("", path));
    let pointer = match parent {
        "" => String::new(),
        parent => format!("/{}", parent.replace(['.', '['], "/").replace(']', "")),
    };
    let members = document.pointer_mut(&pointer).and_then(Value::as_object_mut);
    members.is_some_and(|members| members.shift_remove(key).is_some())
}
