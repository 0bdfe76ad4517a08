//! `compile`: makes of a project directory what the admin API imports.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde_json::Value;
use svc_model::{FieldError, check_package_name, check_package_version};
use svc_project::shared::ExpansionPass;
use svc_project::{
    IMPORT_ORDER, LintedProject, PackageHeader, PackagedPlugin, Project, SetForm, build_package,
    mirrored_files, to_json_text,
};

use super::project_files::{Boundaries, read_project};
use crate::exit::{self, EXIT_FAILURE, EXIT_OK, EXIT_USAGE};
use crate::output::{self, OutputError};
use crate::plugins::{PluginArgs, read_built_plugins, write_problems};
use crate::report::{self, TextStyle};

/// The arguments of `compile`.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
pub struct CompileArgs {
    /// Project directory
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
    /// File of the package, or directory of the documents; a package goes to standard output without it
    #[arg(short, long, value_name = "PATH")]
    pub output: Option<PathBuf>,
    /// Form of the output
    #[arg(long, value_enum, default_value_t = CompileFormat::Artifact)]
    pub format: CompileFormat,
    /// Name of the package
    #[arg(long)]
    pub name: Option<String>,
    /// Version of the package; `content` makes one from the content, which is the same for the same content
    #[arg(long, value_name = "VERSION")]
    pub version: Option<String>,
    /// The boundary of the project.
    #[command(flatten)]
    pub boundary: Boundaries,
    /// The plugins that workflows may call.
    #[command(flatten)]
    pub plugins: PluginArgs,
    /// Fail on warnings too
    #[arg(long)]
    pub deny_warnings: bool,
    /// Leave activation to those who apply the package
    #[arg(long)]
    pub no_activate: bool,
}

/// The form of the compiled output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CompileFormat {
    /// One document: the package that is promoted from server to server
    Artifact,
    /// A directory that mirrors that of the sources
    Dir,
    /// A directory with one import body for each kind
    Bulk,
}

/// A check of the name or the version of a package, by the name of the argument.
type LabelCheck = fn(&str, &str) -> Option<FieldError>;

/// The place and the form of the output, checked.
enum CompileTarget<'a> {
    Package { header: PackageHeader, output: Option<&'a Path> },
    Mirror(&'a Path),
    Bulk(&'a Path),
}

/// Runs `compile` and returns the exit code.
///
/// # Errors
/// The output cannot be written.
pub(crate) fn compile(
    args: &CompileArgs,
    style: TextStyle,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> io::Result<u8> {
    let mut target = match compile_target(args) {
        Ok(target) => target,
        Err(problem) => {
            writeln!(err, "error: {problem}")?;
            return Ok(EXIT_USAGE);
        }
    };
    let Ok(project) = read_project(&args.directory, style, err)? else {
        return Ok(EXIT_FAILURE);
    };
    if let CompileTarget::Package { header, .. } = &mut target {
        header.requires = std::mem::take(&mut header.requires).union(&project.requires);
    }
    let engine = match args.plugins.checking_engine(Some(&args.directory)) {
        Ok(engine) => engine,
        Err(problems) => return write_problems(&problems, err).map(|()| EXIT_FAILURE),
    };
    let plugins = match read_plugins(args) {
        Ok(plugins) => plugins,
        Err(problems) => return write_problems(&problems, err).map(|()| EXIT_FAILURE),
    };
    let form = match target {
        CompileTarget::Package { .. } => SetForm::Package,
        CompileTarget::Mirror(_) | CompileTarget::Bulk(_) => SetForm::Directory,
    };
    let linted = svc_project::lint(&project, &engine, &args.boundary.to_boundary(), form);
    report::write_text(&linted.findings, &args.directory, style, err)?;
    // Standard output belongs to the package where it is written there.
    let summary: &mut dyn Write = match target {
        CompileTarget::Package { output: None, .. } => &mut *err,
        _ => &mut *out,
    };
    if !linted.summary.passes(args.deny_warnings) {
        writeln!(summary, "{}", linted.summary)?;
        return Ok(EXIT_FAILURE);
    }
    if let CompileTarget::Package { header, output: None } = &target {
        write_passes(&project, &linted, err)?;
        out.write_all(to_json_text(&build_package(&linted, plugins, header)).as_bytes())?;
        return Ok(EXIT_OK);
    }
    match write_output(&linted, plugins, &target, &args.directory) {
        Ok(()) => write_passes(&project, &linted, out).map(|()| EXIT_OK),
        Err(error) => exit::write_error(&error, err).map(|()| EXIT_FAILURE),
    }
}

/// Reads the plugins of the project for an output that has them.
fn read_plugins(args: &CompileArgs) -> Result<Vec<PackagedPlugin>, Vec<String>> {
    match args.format {
        CompileFormat::Artifact | CompileFormat::Bulk => read_built_plugins(&args.directory),
        // It mirrors the authored files, and a plugin is in its folder already.
        CompileFormat::Dir => Ok(Vec::new()),
    }
}

/// Returns the target of the output.
///
/// # Errors
/// The argument that is missing.
fn compile_target(args: &CompileArgs) -> Result<CompileTarget<'_>, String> {
    let output = args.output.as_deref();
    let directory = |format: &str| output.ok_or_else(|| format!("--format {format} needs --output <DIR>"));
    let text = |argument: &Option<String>, name: &str, check: LabelCheck| {
        let value = argument.clone().filter(|text| !text.trim().is_empty());
        let value = value.ok_or_else(|| format!("a package needs --{name}"))?;
        match check(name, &value) {
            None => Ok(value),
            Some(refused) => {
                Err(format!("--{name} {value:?}: {}; no server takes it otherwise", refused.message))
            }
        }
    };
    Ok(match args.format {
        CompileFormat::Dir => CompileTarget::Mirror(directory("dir")?),
        CompileFormat::Bulk => CompileTarget::Bulk(directory("bulk")?),
        CompileFormat::Artifact => {
            let header = PackageHeader {
                name: text(&args.name, "name", check_package_name)?,
                version: text(&args.version, "version", check_package_version)?,
                tool_version: crate::VERSION.to_owned(),
                requires: args.boundary.to_boundary(),
                activates: !args.no_activate,
            };
            CompileTarget::Package { header, output: output::named_file(output) }
        }
    })
}

fn write_output(
    linted: &LintedProject<'_>,
    plugins: Vec<PackagedPlugin>,
    target: &CompileTarget<'_>,
    sources: &Path,
) -> Result<(), OutputError> {
    match target {
        CompileTarget::Package { output: None, .. } => Ok(()),
        CompileTarget::Package { header, output: Some(path) } => {
            output::write_file(path, &to_json_text(&build_package(linted, plugins, header)))
        }
        CompileTarget::Mirror(directory) => {
            let files = mirrored_files(linted).map_err(OutputError::Collision)?;
            let files: Vec<_> =
                files.iter().map(|(name, document)| (name.clone(), to_json_text(document))).collect();
            output::replace_directory(directory, sources, &files)
        }
        CompileTarget::Bulk(directory) => {
            let mut files = Vec::from(IMPORT_ORDER.map(|kind| {
                let items = svc_project::compile(linted, kind).into_iter().map(|compiled| compiled.document);
                (format!("{}.json", kind.plural()), to_json_text(&items.collect::<Value>()))
            }));
            if !plugins.is_empty() {
                let items = plugins.iter().map(PackagedPlugin::to_item);
                files.push(("plugins.json".to_owned(), to_json_text(&items.collect::<Value>())));
            }
            output::write_files(directory, &files)
        }
    }
}

/// Prints what each pass has rewritten, and the counts of the project.
fn write_passes(project: &Project, linted: &LintedProject<'_>, summary: &mut dyn Write) -> io::Result<()> {
    let rewritten = project.rewritten_counts();
    for pass in ExpansionPass::ALL {
        if let Some(count) = rewritten.get(&pass) {
            writeln!(summary, "compiled: {} rewrote {count} document(s)", pass.name())?;
        }
    }
    writeln!(summary, "{}", linted.summary)
}
