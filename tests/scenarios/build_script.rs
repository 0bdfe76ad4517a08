//! The commit and the time of a build: reported by a build from a checkout, and the same for every build of one
//! commit.

use std::path::{Path, PathBuf};
use std::process::Command;

use svc_testkit::server::ServerCommand;

const COMMITTED: &str = "2024-02-29T12:30:45Z";

/// The build script, compiled as a program.
struct BuildScript {
    directory: tempfile::TempDir,
    program: PathBuf,
}

impl BuildScript {
    fn compile() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let program = directory.path().join("build-script");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("build.rs");
        let status = Command::new("rustc")
            .args(["--edition", "2024", "--crate-name", "build_script", "-o"])
            .args([&program, &source])
            .status()
            .unwrap();
        assert!(status.success(), "rustc: {status}");
        Self { directory, program }
    }

    /// Makes a checkout of one commit that is the package, and returns the package and the commit.
    fn checkout(&self) -> (PathBuf, String) {
        let package = self.directory.path().join("checkout");
        std::fs::create_dir(&package).unwrap();
        std::fs::write(package.join("build.rs"), "").unwrap();
        git(&package, &["init", "--quiet"]);
        git(&package, &["add", "."]);
        git(&package, &["commit", "--quiet", "--message", "One"]);
        let commit = git(&package, &["rev-parse", "HEAD"]);
        (package, commit)
    }

    /// Runs the script in a package and returns its instructions to the compiler.
    fn run(&self, package: &Path, variables: &[(&str, &str)]) -> Vec<String> {
        let mut command = Command::new(&self.program);
        command.current_dir(package).env("GIT_CEILING_DIRECTORIES", self.directory.path());
        for name in ["SVC_BUILD_COMMIT", "SVC_BUILD_TIME", "SOURCE_DATE_EPOCH"] {
            command.env_remove(name);
        }
        let output = command.envs(variables.iter().copied()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let lines = String::from_utf8(output.stdout).unwrap();
        lines.lines().filter_map(|line| line.strip_prefix("cargo:rustc-env=")).map(str::to_owned).collect()
    }
}

fn git(directory: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=Test", "-c", "user.email=test@example.com"])
        .args(arguments)
        .current_dir(directory)
        .env("GIT_COMMITTER_DATE", COMMITTED)
        .output()
        .unwrap();
    assert!(output.status.success(), "git {arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[test]
fn checkout_build_reports_commit_time_and_given_values() {
    let script = BuildScript::compile();
    let (package, commit) = script.checkout();
    let tells = |commit: &str, time: &str| {
        vec![format!("SVC_BUILD_COMMIT={commit}"), format!("SVC_BUILD_TIME={time}")]
    };
    assert_eq!(script.run(&package, &[]), tells(&commit, COMMITTED));
    let epoch = [("SOURCE_DATE_EPOCH", "1700000000")];
    assert_eq!(script.run(&package, &epoch), tells(&commit, "2023-11-14T22:13:20Z"));
    let given = [("SVC_BUILD_COMMIT", "abc"), ("SVC_BUILD_TIME", "today"), epoch[0]];
    assert_eq!(script.run(&package, &given), tells("abc", "today"));
    let elsewhere = script.directory.path().join("unpacked");
    std::fs::create_dir(&elsewhere).unwrap();
    assert_eq!(script.run(&elsewhere, &[]), [""; 0], "an unpacked archive knows neither");
    assert_eq!(script.run(&elsewhere, &epoch), ["SVC_BUILD_TIME=2023-11-14T22:13:20Z"]);
    let vendored = package.join("vendor/svc");
    std::fs::create_dir_all(&vendored).unwrap();
    assert_eq!(script.run(&vendored, &[]), [""; 0], "a checkout of others tells nothing");
}

#[test]
fn console_files_are_listed_with_their_compressed_forms() {
    let script = BuildScript::compile();
    let package = script.directory.path().join("package");
    let target = script.directory.path().join("target");
    let dist = package.join("console/dist");
    std::fs::create_dir_all(&target).unwrap();
    std::fs::create_dir_all(&package).unwrap();
    let table = || {
        let paths = [&package, &target].map(|path| path.to_str().unwrap());
        let console =
            [("CARGO_FEATURE_CONSOLE", "1"), ("CARGO_MANIFEST_DIR", paths[0]), ("OUT_DIR", paths[1])];
        script.run(&package, &console);
        std::fs::read_to_string(target.join("console_files.rs")).unwrap()
    };
    assert_eq!(table(), "&[\n]\n", "nothing is built");
    std::fs::create_dir_all(dist.join("assets")).unwrap();
    for name in ["index.html", "assets/b.js", "assets/b.js.gz", "assets/a.js", "assets/a.js.br", "notes.br"] {
        std::fs::write(dist.join(name), name).unwrap();
    }
    let rows: Vec<String> = table().lines().filter(|line| line.contains("path")).map(str::to_owned).collect();
    let of = |name: &str| {
        let rows: Vec<_> = rows.iter().filter(|row| row.contains(&format!("path: {name:?}"))).collect();
        assert_eq!(rows.len(), 1, "{name}: {rows:?}");
        (rows[0].contains("a.js.br"), rows[0].contains("b.js.gz"))
    };
    assert_eq!(rows.len(), 4, "{rows:?}");
    assert_eq!(
        [of("assets/a.js"), of("assets/b.js"), of("index.html"), of("notes.br")],
        [(true, false), (false, true), (false, false), (false, false)]
    );
    assert!(rows[0].contains("assets/a.js") && rows[3].contains("notes.br"), "by their paths: {rows:?}");
}

#[test]
fn binary_tells_the_commit_it_was_built_from() {
    let binary = ServerCommand::new(env!("CARGO_BIN_EXE_svc-server")).unwrap();
    let output = binary.args(&["--version"]).run_to_end().unwrap();
    let version = String::from_utf8(output.stdout).unwrap();
    let (Some(commit), Some(time)) = (option_env!("SVC_BUILD_COMMIT"), option_env!("SVC_BUILD_TIME")) else {
        assert!(version.contains("commit: unknown"), "outside a checkout: {version}");
        return;
    };
    assert!(commit.len() >= 7, "{commit}");
    assert!(version.contains(&format!("commit: {commit}\n")), "{version}");
    assert!(version.contains(&format!("built: {time}")), "{version}");
}
