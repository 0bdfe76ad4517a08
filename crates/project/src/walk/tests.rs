use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;

use super::*;

fn names(found: &ProjectFiles) -> Vec<&str> {
    found.files.iter().map(|file| file.name.as_str()).collect()
}

fn errors(found: &ProjectFiles) -> Vec<String> {
    found.unreadable.iter().map(ToString::to_string).collect()
}

fn write(directory: &Path, name: &str, text: &[u8]) {
    let path = directory.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

#[test]
fn authored_files_are_found_in_path_order() {
    let directory = tempfile::tempdir().unwrap();
    for name in
        ["b.yml", "a/z.json", "a/b/c.yaml", "a-b.json", "a/README.md", "a/schema.sql", "tests/x.case.json"]
    {
        write(directory.path(), name, b"{}");
    }
    let contents = walk(directory.path()).unwrap();
    assert_eq!(names(&contents), ["a/b/c.yaml", "a/z.json", "a-b.json", "b.yml"]);
    assert_eq!(
        (contents.cases.as_slice(), contents.unreadable.len()),
        (["tests/x.case.json".to_owned()].as_slice(), 0)
    );
}

#[test]
fn hidden_entries_and_made_directories_are_skipped_silently() {
    let directory = tempfile::tempdir().unwrap();
    for name in [".git/a.json", ".b.json", "target/c.json", "node_modules/d/e.json", "src/target/f.json"] {
        write(directory.path(), name, b"no json");
    }
    symlink("/nowhere", directory.path().join(".broken.json")).unwrap();
    write(directory.path(), "kept/target.json", b"1");
    let contents = walk(directory.path()).unwrap();
    assert_eq!((names(&contents), errors(&contents)), (vec!["kept/target.json"], vec![]));
}

#[test]
fn extensions_are_known_in_either_case() {
    let directory = tempfile::tempdir().unwrap();
    for name in ["A.JSON", "b.Yaml", "c.YML", "D.CASE.YAML", "e.txt"] {
        write(directory.path(), name, b"1");
    }
    let contents = walk(directory.path()).unwrap();
    assert_eq!(names(&contents), ["A.JSON", "b.Yaml", "c.YML"]);
    assert_eq!(contents.cases, ["D.CASE.YAML"]);
}

#[test]
fn folders_of_plugins_are_left_to_their_language() {
    let directory = tempfile::tempdir().unwrap();
    for name in ["plugins/tax/plugin.toml", "plugins/tax/package.json", "plugins/notes.json"] {
        write(directory.path(), name, b"1");
    }
    assert_eq!(names(&walk(directory.path()).unwrap()), ["plugins/notes.json"]);
}

#[test]
fn named_directory_is_walked_despite_a_skipped_name() {
    let directory = tempfile::tempdir().unwrap();
    write(directory.path(), ".hidden/target/a.json", b"1");
    assert_eq!(names(&walk(&directory.path().join(".hidden/target")).unwrap()), ["a.json"]);
}

#[test]
fn unreadable_entries_become_errors_without_ending_walk() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    write(root, "a/broken.json", b"{\n  \"x\": 1,\n}");
    write(root, "binary.json", b"{\"x\": \"\xff\"}");
    write(root, "good.json", b"{}");
    symlink("missing", root.join("gone.json")).unwrap();
    symlink(root, root.join("a/loop")).unwrap();
    make_pipe(&root.join("pipe.json"));
    let contents = walk(root).unwrap();
    assert_eq!(names(&contents), ["good.json"]);
    assert_eq!(
        errors(&contents),
        [
            "error: [project.unreadable] a/broken.json: trailing comma at line 3 column 1\n        fix: remove the comma before the closing bracket",
            "error: [project.unreadable] a/loop: is a link back to the project directory\n        fix: remove the link",
            "error: [project.unreadable] binary.json: is not UTF-8 at line 1 column 8\n        fix: save it as UTF-8",
            "error: [project.unreadable] gone.json: cannot be read: No such file or directory\n        fix: check that the file exists and may be read",
            "error: [project.unreadable] pipe.json: is not a regular file\n        fix: remove it from the project directory, or leave it out by a line in .svcignore",
        ]
    );
}

/// Makes a named pipe by the tool of the system.
fn make_pipe(path: &Path) {
    assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[test]
fn non_utf8_name_becomes_an_error() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join(OsStr::from_bytes(b"a\xff.json")), "{}").unwrap();
    let contents = walk(directory.path()).unwrap();
    assert_eq!(
        errors(&contents),
        ["error: [project.unreadable] a\u{FFFD}.json: the name is not UTF-8\n        fix: rename the file"]
    );
}

#[test]
fn links_to_files_and_directories_are_followed() {
    let (directory, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write(other.path(), "x.json", b"1");
    symlink(other.path(), directory.path().join("linked")).unwrap();
    symlink(other.path().join("x.json"), directory.path().join("y.json")).unwrap();
    assert_eq!(names(&walk(directory.path()).unwrap()), ["linked/x.json", "y.json"]);
}

#[test]
fn entries_in_svcignore_are_left_out() {
    let directory = tempfile::tempdir().unwrap();
    for name in ["a.json", "b.json", "deploy/x.yaml", "deploy/keep.yaml", "c/d.json", "c/vendor/e.json"] {
        write(directory.path(), name, b"1");
    }
    make_pipe(&directory.path().join("pipe.json"));
    symlink("missing", directory.path().join("gone.json")).unwrap();
    write(
        directory.path(),
        ".svcignore",
        b"# comment\n/a.json\ndeploy/*\n!deploy/keep.yaml\nvendor/\npipe.json\ngone.*\n",
    );
    let contents = walk(directory.path()).unwrap();
    assert_eq!(
        (names(&contents), errors(&contents)),
        (vec!["b.json", "c/d.json", "deploy/keep.yaml"], vec![])
    );
}

#[test]
fn broken_pattern_is_named_by_its_line() {
    let directory = tempfile::tempdir().unwrap();
    write(directory.path(), ".svcignore", b"a.json\ns3cret}\n");
    let contents = walk(directory.path()).unwrap();
    let [error] = &errors(&contents)[..] else { panic!("one fault") };
    assert!(error.contains(".svcignore: line 2: ") && !error.contains("s3cret"), "{error}");
}

#[test]
fn directory_that_is_not_there_is_an_error() {
    assert!(walk(Path::new("/nowhere")).is_err());
}
