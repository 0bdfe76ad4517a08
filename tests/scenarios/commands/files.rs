//! Files that cannot be read or written: every command names the file and the cause in plain words, without the numbers
//! of the operating system.

use serde_json::json;

use super::{stderr, stdout};
use crate::support::launch;

/// Commands whose file cannot be used; `@` means the scratch directory, which holds the file `file`, the directory
/// `directory` and the project `project`.
const COMMANDS: &[&[&str]] = &[
    &["-c", "@/absent.toml"],
    &["-c", "@/directory", "validate-config"],
    &["-c", "@/file/a.toml", "migrate"],
    &["backup", "-o", "@/file/copy.db"],
    &["case", "--from-trace", "@/absent.json"],
    &["case", "--from-trace", "@/trace.json", "--project", "@/absent"],
    &["compile", "@/absent", "--name", "p", "--version", "1"],
    &["compile", "@/project", "--name", "p", "--version", "1", "-o", "@/file/package.json"],
    &["compile", "@/project", "--name", "p", "--version", "1", "-o", "@/directory"],
    &["compile", "@/project", "--format", "dir", "-o", "@/file/out"],
    &["dry-run", "-w", "@/absent.json", "-i", "@/trace.json"],
    &["dry-run", "-w", "@/project/workflows/w.json", "-i", "@/directory"],
    &["fmt", "@/absent.json"],
    &["lint", "@/absent"],
    &["lint", "@/absent.json"],
    &["lint", "@/file/a.json"],
    &["lint", "@/absent", "--format", "json"],
    &["lint", "@/project/workflows/w.json", "--definitions", "@/absent"],
    &["man", "@/file"],
    &["new", "@/file"],
    &["new", "@/file/project"],
    &["package", "lint", "-f", "@/absent.json"],
    &["package", "plan", "-s", "http://127.0.0.1:1", "-f", "@/absent.json"],
    &["restore", "@/absent.db"],
    &["schema", "-o", "@/file"],
    &["test", "@/absent"],
    &["test", "@/absent.case.json"],
];

#[test]
fn unusable_files_are_named_with_plain_causes() {
    let scratch = tempfile::tempdir().unwrap();
    let root = scratch.path();
    std::fs::write(root.join("file"), "{}").unwrap();
    std::fs::write(root.join("trace.json"), json!({"id": "t", "workflow_id": "w"}).to_string()).unwrap();
    std::fs::create_dir(root.join("directory")).unwrap();
    std::fs::create_dir_all(root.join("project/workflows")).unwrap();
    let workflow = json!({"workflow_id": "w", "name": "w", "tasks": [{"id": "t", "name": "t",
        "function": {"name": "log", "input": {"message": "m"}}}]});
    std::fs::write(root.join("project/workflows/w.json"), workflow.to_string()).unwrap();
    for command in COMMANDS {
        let args: Vec<_> = command.iter().map(|arg| arg.replace('@', root.to_str().unwrap())).collect();
        let args: Vec<_> = args.iter().map(String::as_str).collect();
        let output = launch().args(&args).run_to_end().unwrap();
        let text = format!("{}{}", stdout(&output), stderr(&output));
        assert!(!output.status.success(), "{command:?}: {text}");
        assert!(!text.contains("os error"), "{command:?}: {text}");
        let causes = [
            "No such file or directory",
            "Not a directory",
            "Is a directory",
            "File exists",
            "there is no such file",
        ];
        assert!(causes.iter().any(|cause| text.contains(cause)), "{command:?}: {text}");
        assert!(text.contains(root.to_str().unwrap()), "{command:?}: {text}");
    }
}

#[test]
fn absent_certificate_or_database_file_is_named() {
    let scratch = tempfile::tempdir().unwrap();
    let absent = scratch.path().join("absent.pem");
    let absent = absent.to_str().unwrap();
    let root = scratch.path().to_str().unwrap();
    for (settings, subject) in [
        (
            vec![
                ("SVC_SERVER__TLS__ENABLED", "true".to_owned()),
                ("SVC_SERVER__TLS__CERT_PATH", absent.to_owned()),
                ("SVC_SERVER__TLS__KEY_PATH", absent.to_owned()),
            ],
            "server.tls.cert_path",
        ),
        (
            vec![(
                "SVC_STORAGE__URL",
                format!("postgres://svc@127.0.0.1:1/svc?sslmode=verify-full&sslrootcert={absent}"),
            )],
            "sslrootcert",
        ),
        (vec![("SVC_STORAGE__URL", format!("sqlite:{root}/absent/svc.db"))], "absent/svc.db"),
    ] {
        let mut command = launch();
        for (name, value) in &settings {
            command = command.env(name, value);
        }
        let output = command.run_to_end().unwrap();
        let text = stderr(&output);
        assert!(!output.status.success(), "{subject}: {text}");
        assert!(text.contains(subject) && !text.contains("os error"), "{text}");
    }
}
