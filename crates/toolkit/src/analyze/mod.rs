//! `analyze`: looks for probable mistakes of a project that lint does not refuse.

mod mend;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;
use svc_engine::Engine;
use svc_outbound::describe_cause;
use svc_project::{AnalysisFinding, AnalysisLevels, AnalysisRule, Finding, Project, Severity};

use crate::exit::{EXIT_OK, EXIT_USAGE};
use crate::lint::{exit_code, refuse_input};
use crate::plugins::{PluginArgs, write_problems};
use crate::project_files::{read_project, read_values};
use crate::report::{self, FindingReport, ReportFormat, ReportRule, TextStyle};

/// The file of a project with the levels of the rules.
const SETTINGS: &str = "svc.analyze.toml";

/// The one table of that file.
const LEVELS: &str = "levels";

/// Bytes of that file.
const MAX_SETTINGS: u64 = 64 << 10;

/// The arguments of `analyze`.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
pub struct AnalyzeArgs {
    /// Project directory; svc.analyze.toml in it sets the levels of rules
    #[arg(value_name = "DIR", required_unless_present = "explain")]
    pub directory: Option<PathBuf>,
    /// Fail on warnings too
    #[arg(long)]
    pub deny_warnings: bool,
    /// Say what a rule finds, why, and what to do; `all` lists the rules
    #[arg(long, value_name = "RULE")]
    pub explain: Option<String>,
    /// Mend what can be mended without a change of meaning, proven by compiling the project again
    #[arg(long)]
    pub fix: bool,
    /// Check secrets against `values/NAME.yaml` of the directory, or against a file
    #[arg(long, value_name = "NAME|FILE")]
    pub values: Option<String>,
    /// Form of the report on standard output
    #[arg(long, value_enum, default_value_t)]
    pub format: ReportFormat,
    /// The plugins that workflows may call.
    #[command(flatten)]
    pub plugins: PluginArgs,
}

/// Runs `analyze` and returns the exit code.
///
/// # Errors
/// The output cannot be written.
pub(crate) fn analyze(
    args: &AnalyzeArgs,
    style: TextStyle,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> io::Result<u8> {
    if let Some(rule) = &args.explain {
        return explain(rule, out, err);
    }
    let Some(directory) = &args.directory else { return Ok(EXIT_USAGE) };
    let levels = match read_levels(directory) {
        Ok(levels) => levels,
        Err(problem) => {
            writeln!(err, "Error: {}: {problem}", directory.join(SETTINGS).display())?;
            return refuse_input(&[], args.format, out);
        }
    };
    let project = match read_expanded(directory, style, err)? {
        Ok(project) => project,
        Err(findings) => return refuse_input(&findings, args.format, out),
    };
    let values = match &args.values {
        None => None,
        Some(name) => match read_values(name, directory, style, err)? {
            Ok(values) => Some(values),
            Err(findings) => return refuse_input(&findings, args.format, out),
        },
    };
    let engine = match args.plugins.checking_engine(Some(directory)) {
        Ok(engine) => engine,
        Err(problems) => {
            write_problems(&problems, err)?;
            return refuse_input(&[], args.format, out);
        }
    };
    let declared = values.as_ref().map(|values| &values.secrets);
    let find = |project: &Project, engine: &Engine| svc_project::analyze(project, engine, &levels, declared);
    let mut found = find(&project, &engine);
    if args.fix {
        match mend::mend(directory, &project, &found, &engine) {
            Ok((mended, files)) => {
                files.iter().try_for_each(|file| writeln!(err, "note: {file}: mended"))?;
                found = find(&mended, &engine);
            }
            Err(problem) => writeln!(err, "note: nothing was mended: {problem}")?,
        }
    }
    write_findings(args, directory, found, style, out, err)
}

/// Reads a project without errors in its files and their expansion.
fn read_expanded(
    directory: &Path,
    style: TextStyle,
    err: &mut dyn Write,
) -> io::Result<Result<Project, Vec<Finding>>> {
    let project = match read_project(directory, style, err)? {
        Ok(project) => project,
        Err(findings) => return Ok(Err(findings)),
    };
    let expanded = project.entities.iter().flat_map(|entity| &entity.expansion.findings);
    let all = project.findings.iter().chain(expanded);
    let errors: Vec<_> = all.filter(|finding| finding.severity == Severity::Error).cloned().collect();
    if errors.is_empty() {
        return Ok(Ok(project));
    }
    report::write_text(&errors, directory, style, err)?;
    Ok(Err(errors))
}

fn write_findings(
    args: &AnalyzeArgs,
    directory: &Path,
    found: Vec<AnalysisFinding>,
    style: TextStyle,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> io::Result<u8> {
    let findings: Vec<Finding> = found.into_iter().map(|found| found.finding).collect();
    let count = |severity| findings.iter().filter(|finding| finding.severity == severity).count();
    let (errors, warnings, notes) = (count(Severity::Error), count(Severity::Warning), count(Severity::Note));
    report::write_text(&findings, directory, style, err)?;
    match args.format {
        ReportFormat::Text => {
            writeln!(out, "{errors} error(s), {warnings} warning(s), {notes} note(s)")?;
        }
        format => {
            let rules: Vec<_> = AnalysisRule::ALL.iter().map(|rule| report_rule(*rule)).collect();
            let report = FindingReport { findings: &findings, base: directory, rules: &rules };
            let summary = json!({"errors": errors, "warnings": warnings, "notes": notes});
            report::write_machine(&report, format, &summary, out)?;
        }
    }
    Ok(exit_code(errors == 0 && !(args.deny_warnings && warnings > 0)))
}

fn report_rule(rule: AnalysisRule) -> ReportRule {
    ReportRule {
        id: rule.id(),
        severity: rule.severity(),
        description: rule.condition(),
        remedy: rule.remedy(),
    }
}

/// Writes what a rule finds, why, and what to do.
fn explain(name: &str, out: &mut dyn Write, err: &mut dyn Write) -> io::Result<u8> {
    if name == "all" {
        for rule in AnalysisRule::ALL {
            writeln!(out, "{} ({}): {}", rule.name(), rule.severity().name(), rule.condition())?;
        }
        return Ok(EXIT_OK);
    }
    match AnalysisRule::find(name) {
        Ok(rule) => {
            let level = rule.severity().name();
            writeln!(out, "{} ({level})\n{}\n{}", rule.id(), rule.condition(), rule.reason())?;
            writeln!(out, "fix: {}", rule.remedy())?;
            Ok(EXIT_OK)
        }
        Err(problem) => writeln!(err, "Error: {problem}").map(|()| EXIT_USAGE),
    }
}

/// Reads the levels that a project sets.
fn read_levels(directory: &Path) -> Result<AnalysisLevels, String> {
    let path = directory.join(SETTINGS);
    let mut levels = AnalysisLevels::default();
    let metadata = match fs::metadata(&path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(levels),
        Err(error) => return Err(format!("cannot be read: {}", describe_cause(&error))),
    };
    if !metadata.is_file() || metadata.len() > MAX_SETTINGS {
        return Err(format!("is no file of at most {} KiB", MAX_SETTINGS >> 10));
    }
    let text =
        fs::read_to_string(&path).map_err(|error| format!("cannot be read: {}", describe_cause(&error)))?;
    let document: toml::Table =
        toml::from_str(&text).map_err(|error| format!("is no TOML: {}", error.message()))?;
    for (key, value) in &document {
        let table = value.as_table().filter(|_| key == LEVELS);
        let table =
            table.ok_or_else(|| format!("'{key}' is not known here; it has one table, [{LEVELS}]"))?;
        for (rule, level) in table {
            let level =
                level.as_str().ok_or_else(|| format!("{rule}: a level is a text, such as \"off\""))?;
            levels.set(rule, level)?;
        }
    }
    Ok(levels)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::EXIT_FAILURE;

    const WORKFLOW: &str = r#"{"workflow_id": "w", "name": "W", "tasks": [
        {"id": "a", "name": "A", "condition": true, "function": {"name": "map", "input": {"mappings": [
            {"path": "data.x", "logic": null}]}}}]}"#;

    fn run(directory: &Path, change: impl Fn(&mut AnalyzeArgs)) -> (u8, String, String) {
        let mut args = AnalyzeArgs {
            directory: Some(directory.to_owned()),
            deny_warnings: false,
            explain: None,
            fix: false,
            values: None,
            format: ReportFormat::Text,
            plugins: PluginArgs::default(),
        };
        change(&mut args);
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let code = analyze(&args, TextStyle::Plain, &mut out, &mut err).unwrap();
        (code, String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap())
    }

    #[test]
    fn levels_of_a_project_decide_what_counts() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        fs::write(root.join("w.json"), WORKFLOW).unwrap();
        let (code, out, err) = run(root, |_| {});
        assert_eq!((code, out.as_str()), (EXIT_OK, "0 error(s), 1 warning(s), 1 note(s)\n"), "{err}");
        assert!(
            err.contains("warning: [analyze.mapping_always_null] workflow 'w' (w.json): tasks[0]"),
            "{err}"
        );
        assert_eq!(run(root, |args| args.deny_warnings = true).0, EXIT_FAILURE);
        let settings = |text: &str| fs::write(root.join(SETTINGS), text).unwrap();
        settings("[levels]\nmapping_always_null = \"error\"\nredundant_condition = \"off\"\n");
        let (code, out, _) = run(root, |_| {});
        assert_eq!((code, out.as_str()), (EXIT_FAILURE, "1 error(s), 0 warning(s), 0 note(s)\n"));
        for (text, why) in [
            ("[levels]\nmapping_alway_null = \"off\"", "did you mean 'mapping_always_null'?"),
            ("[level]\n", "one table, [levels]"),
            ("[levels]\nmapping_always_null = true", "a level is a text"),
            ("levels", "is no TOML"),
        ] {
            settings(text);
            let (code, _, err) = run(root, |_| {});
            assert!(code == EXIT_FAILURE && err.contains(why), "{text}: {err}");
        }
    }

    #[test]
    fn rule_is_explained_without_a_project() {
        let explained = |rule: &str| run(Path::new("/nowhere"), |args| args.explain = Some(rule.to_owned()));
        let (code, out, _) = explained("analyze.unordered_page");
        assert!(code == EXIT_OK && out.contains("fix: name the order in `sort`"), "{out}");
        assert_eq!(explained("all").1.lines().count(), AnalysisRule::ALL.len());
        let (code, _, err) = explained("unordered_pages");
        assert!(code == EXIT_USAGE && err.contains("did you mean 'unordered_page'?"), "{err}");
    }

    #[test]
    fn proven_fix_removes_the_condition_alone() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        fs::write(root.join("w.json"), WORKFLOW).unwrap();
        let (code, out, err) = run(root, |args| args.fix = true);
        assert_eq!((code, out.as_str()), (EXIT_OK, "0 error(s), 1 warning(s), 0 note(s)\n"), "{err}");
        assert!(err.contains("note: w.json: mended"), "{err}");
        let mended = fs::read_to_string(root.join("w.json")).unwrap();
        assert!(!mended.contains("condition") && mended.contains("\"id\": \"a\""), "{mended}");
        let yaml = "workflow_id: y\nname: Y\ntasks:\n  - id: a\n    name: A\n    condition: true # kept\n    function:\n      name: log\n      input: {message: x}\n";
        fs::write(root.join("y.yaml"), yaml).unwrap();
        let (_, out, _) = run(root, |args| args.fix = true);
        assert!(out.ends_with("1 note(s)\n"), "{out}");
        assert_eq!(fs::read_to_string(root.join("y.yaml")).unwrap(), yaml);
    }

    #[test]
    fn linked_file_outside_of_the_project_stays() {
        let directory = tempfile::tempdir().unwrap();
        let (root, outside) = (directory.path().join("project"), directory.path().join("outside"));
        fs::create_dir_all(root.join("own")).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("w.json"), WORKFLOW).unwrap();
        std::os::unix::fs::symlink(&outside, root.join("linked")).unwrap();
        let own = WORKFLOW.replace(r#""workflow_id": "w""#, r#""workflow_id": "own""#);
        fs::write(root.join("own/w.json"), own).unwrap();
        let (_, out, err) = run(&root, |args| args.fix = true);
        assert!(err.contains("note: own/w.json: mended") && !err.contains("linked/w.json: mended"), "{err}");
        assert!(out.ends_with("1 note(s)\n"), "{out}");
        assert_eq!(fs::read_to_string(outside.join("w.json")).unwrap(), WORKFLOW);
    }
}
